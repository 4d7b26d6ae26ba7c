"""Models named by a text: a file in a format that runs no code, an object of a module, or a trusted pickle."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from attain.core.errors import FileError, MissingExtraError, ModelError, listed
from attain.core.files import MODEL, file_digest, readable
from attain.models.model import Model
from attain.models.reader import Reader, probe_rows
from attain.tables import Layout

_PICKLES: Final = (".pkl", ".pickle", ".joblib")


class _Format(NamedTuple):
    """A library that reads models: its module, its name, and the call with the module, the path and trusted types."""

    module: str
    name: str
    read: Callable[[Any, str, Sequence[str]], Any]


def load_model(
    text: str, *, classes: Sequence[str] | None = None, trusted: Sequence[str] = (), trust_pickle: bool = False
) -> Model:
    """The model in a file, by the file's ending, or the object `module:object`."""
    ending = Path(text).suffix.lower()
    if ending not in _FORMATS and ":" not in text:
        raise FileError(f"--model must be a file ending with {', '.join(_FORMATS)}, or module:object, got {text!r}")
    model = _read(text, ending, trusted, trust_pickle) if ending in _FORMATS else _imported(text)
    if isinstance(model, Model) and classes:
        raise ModelError("--classes cannot rename the classes of an attain.Model; pass classes= where it is created")
    if not isinstance(model, Model):
        model = Model(model, classes=_labels(classes) if classes else None)
    if ending in _FORMATS:
        model.file_digest = file_digest(text)
    return model


def known_classes(model: Model, layout: Layout, values: np.ndarray) -> tuple[Any, ...]:
    """The model's classes; those of a model that does not list them are read from its decisions on training rows."""
    if model.adapter.classes is not None:
        return model.adapter.classes
    reader = Reader(model, layout, probe_rows(values))
    reader.settle()
    return reader.classes


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


def class_names(text: str, classes: Sequence[Any]) -> dict[Any, str]:
    """What texts call each class, from `bad,good`."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != len(classes) or not all(names):
        raise ModelError(f"--class-names must be a name for each class, {listed(classes)}, in this order; got {text!r}")
    return dict(zip(classes, names, strict=True))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _labels(names: Sequence[str]) -> list[Any]:
    """Names of classes, as integers if all are integers."""
    try:
        return [int(name) for name in names]
    except ValueError:
        return list(names)


def _read(path: str, ending: str, trusted: Sequence[str], trust_pickle: bool) -> Any:
    known = _FORMATS[ending]
    readable(path, MODEL, "--model:")
    if ending in _PICKLES and not trust_pickle:
        raise FileError(
            f"{path!r} is a pickle, and reading one runs whatever code the file contains, with your permissions: only "
            "for files you trust like programs. If you do, pass --trust-pickle; it is safer to save the model with "
            "skops, as ONNX, or in the format of its library"
        )
    try:
        library = importlib.import_module(known.module)
    except ImportError:
        raise MissingExtraError(
            f"this model needs {known.module}: pip install 'attain[{known.name.lower()}]'"
        ) from None
    try:
        untrusted = library.get_untrusted_types(file=path) if ending == ".skops" else ()
        unknown = [name for name in untrusted if name not in trusted]
        model = None if unknown else known.read(library, path, trusted)
    except Exception as error:
        raise FileError(f"{path!r} cannot be read by {known.name}: {' '.join(str(error).split())[:300]}") from None
    if unknown:
        flags = " ".join(f"--trust {name}" for name in unknown)
        raise FileError(
            f"{path!r} contains types that skops does not trust by default: {listed(unknown, 40)}; if you trust the "
            f"source of the file, pass {flags}"
        )
    return model


def _booster(library: Any, path: str, _: Sequence[str]) -> Any:
    booster = library.Booster()
    booster.load_model(path)
    return booster


_XGBOOST: Final = _Format("xgboost", "XGBoost", _booster)
_LIGHTGBM: Final = _Format("lightgbm", "LightGBM", lambda library, path, _: library.Booster(model_file=path))
_FORMATS: Final = {
    ".onnx": _Format("onnxruntime", "ONNX", lambda library, path, _: path),
    ".json": _XGBOOST,
    ".ubj": _XGBOOST,
    ".txt": _LIGHTGBM,
    ".lgb": _LIGHTGBM,
    ".skops": _Format("skops.io", "skops", lambda library, path, trusted: library.load(path, trusted=list(trusted))),
    **dict.fromkeys(_PICKLES, _Format("joblib", "joblib", lambda library, path, _: library.load(path))),
}


def _imported(text: str) -> Any:
    """An object of a module, which is imported, so its code runs; the current folder is searched first."""
    module_name, _, path = text.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and module_name.startswith(error.name):
            raise ModelError(
                f"--model {text!r}: module {module_name!r} is neither in this folder nor installed"
            ) from None
        raise ModelError(f"--model {text!r}: importing it raised {type(error).__name__}: {error}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            have = [item for item in dir(found) if not item.startswith("_")]
            raise ModelError(f"--model {text!r}: {module_name} has no {name!r}; it has {listed(have, 20)}")
        found = getattr(found, name)
    return found
