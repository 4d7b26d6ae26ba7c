"""The classifier that `--model` names: a file of a format that runs no code, a module's object, or a trusted pickle."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from attain.cli.exits import RUNS_CODE
from attain.core.errors import AttainError, FileError, MissingExtraError, ModelError, listed
from attain.models import Model

_PICKLES: Final = (".pkl", ".pickle", ".joblib")


def load_classifier(
    text: str, *, classes: Sequence[str] | None = None, trusted: Sequence[str] = (), trust_pickle: bool = False
) -> Model:
    """The model that a file or `module:object` holds, by the file's ending."""
    ending = Path(text).suffix.lower()
    if ending in _PICKLES:
        model = _pickle(_existing(text), trust_pickle)
    elif ending == ".skops":
        model = _skops(_existing(text), trusted)
    elif ending in _READERS:
        model = _READERS[ending](_existing(text))
    elif ":" in text:
        model = _object(text)
    else:
        known = ", ".join((*_READERS, ".skops", *_PICKLES))
        raise FileError(f"--model is {text!r}; it takes a file that ends with {known}, or module:object")
    if isinstance(model, Model):
        if classes:
            raise ModelError("--classes is given, but the object is an attain.Model already; name its classes there")
        return model
    return Model(model, classes=_named(classes) if classes else None)


def find_target(text: str, classes: Sequence[Any]) -> Any:
    """The class that a text names: `1` finds the label 1, `true` the label True."""
    exact = [label for label in classes if str(label) == text]
    alike = exact or [label for label in classes if str(label).strip().lower() == text.strip().lower()]
    if not alike:
        number = _number(text)
        alike = [] if number is None else [c for c in classes if not isinstance(c, str | bool) and c == number]
    if len(alike) != 1:
        problem = "is ambiguous" if alike else "is none of the model's classes"
        raise ModelError(
            f"--target {text!r} {problem}: {listed(classes)}; pass one of them, or name the classes in their order "
            "with --classes"
        )
    return alike[0]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _named(classes: Sequence[str]) -> list[Any]:
    """Names of classes, as whole numbers where all are."""
    try:
        return [int(name) for name in classes]
    except ValueError:
        return list(classes)


def _existing(path: str) -> str:
    if not Path(path).is_file():
        raise FileError(f"--model: there is no file {path!r}")
    return path


def _library(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(f"this model needs {name}: pip install 'attain[{extra}]'") from None


def _unreadable(path: str, error: Exception, format_: str) -> FileError:
    reason = " ".join(str(error).split())
    return FileError(f"{path!r} cannot be read as a model of {format_}: {reason[:300]}")


def _onnx(path: str) -> Any:
    _library("onnxruntime", "onnx")
    return path


def _xgboost(path: str) -> Any:
    booster = _library("xgboost", "xgboost").Booster()
    try:
        booster.load_model(path)
    except Exception as error:
        raise _unreadable(path, error, "XGBoost") from None
    return booster


def _lightgbm(path: str) -> Any:
    library = _library("lightgbm", "lightgbm")
    try:
        return library.Booster(model_file=path)
    except Exception as error:
        raise _unreadable(path, error, "LightGBM") from None


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    ".onnx": _onnx,
    ".json": _xgboost,
    ".ubj": _xgboost,
    ".txt": _lightgbm,
    ".lgb": _lightgbm,
}


def _skops(path: str, trusted: Sequence[str]) -> Any:
    library = _library("skops.io", "skops")
    try:
        unknown = [name for name in library.get_untrusted_types(file=path) if name not in trusted]
    except Exception as error:
        raise _unreadable(path, error, "skops") from None
    if unknown:
        flags = " ".join(f"--trust {name}" for name in unknown)
        raise FileError(
            f"{path!r} needs types that skops does not know to be harmless: {listed(unknown, 40)}; if you know where "
            f"the file comes from and trust them, pass {flags}"
        )
    try:
        return library.load(path, trusted=list(trusted))
    except Exception as error:
        raise _unreadable(path, error, "skops") from None


def _pickle(path: str, trust: bool) -> Any:
    if not trust:
        raise FileError(
            f"{path!r} is a pickle, and reading one {RUNS_CODE}. If that is so, pass --trust-pickle; better, save the "
            "model with skops, ONNX or its own library"
        )
    try:
        return importlib.import_module("joblib").load(path)
    except Exception as error:
        raise _unreadable(path, error, "a pickle") from None


def _object(text: str) -> Any:
    """The object of a module, which is imported, so that its code runs; modules of the current folder are found."""
    module_name, _, path = text.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.startswith(error.name):
            raise ModelError(
                f"--model {text!r}: there is no module {module_name!r} in this folder or among those installed"
            ) from None
        raise _failed(text, error) from error
    except Exception as error:
        raise _failed(text, error) from error
    for name in path.split("."):
        if not hasattr(found, name):
            have = [item for item in dir(found) if not item.startswith("_")]
            raise ModelError(f"--model {text!r}: {module_name} has no {name!r}; it has {listed(have, 20)}")
        found = getattr(found, name)
    return found


def _failed(text: str, error: Exception) -> AttainError:
    return ModelError(f"--model {text!r}: importing it raised {type(error).__name__}: {error}")
