"""The classifier named by `--model`: a file in a format that runs no code, a module's object, or a trusted pickle."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attain.cli.exits import RUNS_CODE
from attain.core.errors import AttainError, FileError, MissingExtraError, ModelError, listed
from attain.core.files import file_digest
from attain.models import Model, probe_rows
from attain.models.reader import Reader
from attain.tables import Layout

if TYPE_CHECKING:
    from attain.methods.base import Explainer

_PICKLES: Final = (".pkl", ".pickle", ".joblib")


def read_model(given: argparse.Namespace) -> Model:
    """The model that the flags of `add_model` name."""
    return load_classifier(
        given.model,
        classes=None if given.classes is None else [name.strip() for name in given.classes.split(",")],
        trusted=given.trust,
        trust_pickle=given.trust_pickle,
    )


def load_classifier(
    text: str, *, classes: Sequence[str] | None = None, trusted: Sequence[str] = (), trust_pickle: bool = False
) -> Model:
    """The model in a file, by the file's ending, or the object `module:object`."""
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
        raise FileError(f"--model must be a file ending with {known}, or module:object, got {text!r}")
    wrapped = _wrapped(model, classes)
    if Path(text).is_file():
        wrapped.file_digest = file_digest(text)
    return wrapped


def _wrapped(model: Any, classes: Sequence[str] | None) -> Model:
    if isinstance(model, Model):
        if classes:
            raise ModelError(
                "--classes cannot rename the classes of an attain.Model; pass classes= where it is created"
            )
        return model
    return Model(model, classes=_named(classes) if classes else None)


def read_target(given: argparse.Namespace, model: Model, explainer: Explainer) -> Any:
    """The class that the flags of `add_target` name; the model is told what texts call its classes."""
    classes = known_classes(model, explainer.layout_, explainer.table_.values)
    if given.class_names is not None:
        model.class_names = _class_names(given.class_names, classes)
    return find_target(given.target, classes)


def _class_names(text: str, classes: Sequence[Any]) -> dict[Any, str]:
    """What texts call each class, from `bad,good`."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != len(classes) or not all(names):
        raise ModelError(f"--class-names must be a name for each class, {listed(classes)}, in this order; got {text!r}")
    return dict(zip(classes, names, strict=True))


def find_target(text: str, classes: Sequence[Any]) -> Any:
    """The class with this name: `1` finds the label 1, `true` the label True."""
    exact = [label for label in classes if str(label) == text]
    alike = exact or [label for label in classes if str(label).strip().lower() == text.strip().lower()]
    if not alike:
        number = _number(text)
        alike = [] if number is None else [c for c in classes if not isinstance(c, str | bool) and c == number]
    if len(alike) != 1:
        problem = "is ambiguous among" if alike else "is not among"
        raise ModelError(
            f"--target {text!r} {problem} the model's classes: {listed(classes)}; pass one of them, or rename them "
            "with --classes"
        )
    return alike[0]


def known_classes(model: Model, layout: Layout, values: np.ndarray) -> tuple[Any, ...]:
    """The model's classes; those of a model that does not list them are read from its decisions on training rows."""
    return model.adapter.classes or Reader(model, layout, probe_rows(values)).classes


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _named(classes: Sequence[str]) -> list[Any]:
    """Names of classes, as integers if all are integers."""
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


def _unreadable(path: str, error: Exception, library: str) -> FileError:
    reason = " ".join(str(error).split())
    return FileError(f"{path!r} cannot be read by {library}: {reason[:300]}")


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
            f"{path!r} contains types that skops does not trust by default: {listed(unknown, 40)}; if you trust the "
            f"source of the file, pass {flags}"
        )
    try:
        return library.load(path, trusted=list(trusted))
    except Exception as error:
        raise _unreadable(path, error, "skops") from None


def _pickle(path: str, trust: bool) -> Any:
    if not trust:
        raise FileError(
            f"{path!r} is a pickle, and reading one {RUNS_CODE}. If you do, pass --trust-pickle; it is safer to save "
            "the model with skops, as ONNX, or in the format of its library"
        )
    try:
        return importlib.import_module("joblib").load(path)
    except Exception as error:
        raise _unreadable(path, error, "joblib") from None


def _object(text: str) -> Any:
    """An object of a module, which is imported, so its code runs; the current folder is searched first."""
    module_name, _, path = text.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.startswith(error.name):
            raise ModelError(
                f"--model {text!r}: module {module_name!r} is neither in this folder nor installed"
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
