"""Saving fitted explainers, and loading them again."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attain import container
from attain.errors import AttainError, FileError
from attain.libraries import Library
from attain.schema import Schema
from attain.table import Layout, Table

if TYPE_CHECKING:
    from attain.explainers.base import Explainer

_STATE, _SCHEMA = "explainer.json", "schema.toml"
_KEYS: Final = {"class", "parameters", "library", "columns", "dtypes", "labels", "learned"}
_MARGINAL_ROWS: Final = 1000
"""How finely each column's distribution is kept where the rows are not."""
_VERSIONED: Final = ("numpy", "scipy", "scikit-learn", "pandas", "jax", "equinox")
WARNING: Final = "This file holds training rows: real people's records. Treat it like the data it was fitted on."


def save(explainer: Explainer, path: str | os.PathLike[str], reference: str) -> None:
    """Writes a fitted explainer into one file."""
    if reference not in ("rows", "none"):
        raise AttainError(f"reference is {reference!r}; it takes 'rows' or 'none'")
    name = type(explainer).__name__
    if _class_named(name) is not type(explainer):
        raise AttainError(f"{name} is no explainer of this package, so no file could be loaded again")
    keeps_rows = reference == "rows" and explainer.rows_are_real_
    if explainer.needs_rows and not keeps_rows:
        raise AttainError(f"{name} works on the training rows themselves; save it with reference='rows'")
    table = explainer.table_
    facts, arrays = explainer._learned()
    state = {
        "class": name,
        "parameters": {key: _packed(value) for key, value in explainer.get_params(deep=False).items() if key != "schema"},
        "library": table.layout.library.name,
        "columns": list(table.layout.columns),
        "dtypes": {key: table.layout.library.dtype_text(dtype) for key, dtype in table.layout.dtypes.items()},
        "labels": None if explainer.labels_ is None or not keeps_rows else list(explainer.labels_),
        "learned": facts,
    }
    values = table.values if keeps_rows or not explainer.rows_are_real_ else marginals(table.values)
    container.write(
        path,
        container.Contents(
            {"explainer": name, "training_rows": keeps_rows, "people": len(table), "versions": _versions()},
            {_STATE: json.dumps(state, ensure_ascii=False, allow_nan=False), _SCHEMA: table.schema.to_toml()},
            {"table": values, **{f"learned.{key}": array for key, array in arrays.items()}},
        ),
    )


def load(path: str | os.PathLike[str]) -> Explainer:
    """The explainer that `save` wrote; a file that is not exactly that is refused in words."""
    contents = container.read(path, {_STATE, _SCHEMA})
    container.check_keys(path, "its manifest", contents.facts, {"format", "explainer", "training_rows", "people", "versions"})
    state = container.parse_json(path, _STATE, contents.texts[_STATE])
    container.check_keys(path, _STATE, state, _KEYS)
    found = _class_named(state["class"])
    if found is None:
        raise FileError(f"{str(path)!r} is refused: it holds an unknown explainer, {state['class']!r}")
    try:
        schema = Schema.from_toml(contents.texts[_SCHEMA])
        parameters = {key: _unpacked(value) for key, value in state["parameters"].items()}
        explainer = found(schema=schema, **parameters)
        table = _table(schema, state, contents.arrays["table"])
        labels = None if state["labels"] is None else _object_array(state["labels"])
        if labels is not None and len(labels) != len(table):
            raise ValueError("labels and rows differ in number")
        explainer._remember(table, labels, real=bool(contents.facts["training_rows"]))
        learned = {key.removeprefix("learned."): a for key, a in contents.arrays.items() if key != "table"}
        explainer._restore(state["learned"], learned)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        reason = str(error) if isinstance(error, AttainError) else f"{type(error).__name__}: {error}"
        raise FileError(f"{str(path)!r} is refused: its parts do not fit together ({reason})") from None
    return explainer


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a saved explainer is, without building it; its first entry says whether it holds training rows."""
    contents = container.read(path, {_STATE, _SCHEMA})
    state = container.parse_json(path, _STATE, contents.texts[_STATE])
    container.check_keys(path, _STATE, state, _KEYS)
    holds = bool(contents.facts["training_rows"])
    return {
        "training_rows": WARNING if holds else "This file holds no training rows, only each column's distribution.",
        "explainer": state["class"],
        "parameters": {key: _unpacked(value) for key, value in state["parameters"].items()},
        "people": contents.facts["people"],
        "labels": state["labels"] is not None,
        "arrays": {name: list(array.shape) for name, array in contents.arrays.items()},
        "versions": contents.facts["versions"],
        "schema": Schema.from_toml(contents.texts[_SCHEMA]),
    }


def marginals(values: np.ndarray) -> np.ndarray:
    """Rows that have each column's distribution, and belong to nobody: every column's quantiles, shuffled by itself."""
    rows = min(len(values), _MARGINAL_ROWS)
    random = np.random.default_rng(0)
    result = np.empty((rows, values.shape[1]))
    places = np.round(np.linspace(0, len(values) - 1, rows)).astype(np.intp)
    for j in range(values.shape[1]):
        result[:, j] = random.permutation(np.sort(values[:, j])[places])
    return result


def _table(schema: Schema, state: Mapping[str, Any], values: np.ndarray) -> Table:
    library = Library.named(state["library"])
    dtypes = {name: library.dtype_named(state["dtypes"][name]) for name in state["columns"]}
    layout = Layout(schema, library, tuple(state["columns"]), dtypes)
    if values.ndim != 2 or values.shape[1] != len(schema) or values.dtype != np.float64:
        raise ValueError("the table has another shape than the schema")
    return Table(schema, values, layout, range(len(values)), layout.frame(values))


def _class_named(name: object) -> type[Explainer] | None:
    from attain import explainers

    found = getattr(explainers, str(name), None) if name in explainers.__all__ else None
    return found if isinstance(found, type) else None


def _object_array(items: list[Any]) -> np.ndarray:
    result = np.empty(len(items), dtype=object)
    result[:] = items
    return result


def _versions() -> dict[str, str]:
    found = {"attain": _version("attain")}
    return found | {name: _version(name) for name in _VERSIONED}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _packed(value: Any) -> Any:
    """A parameter as JSON: what JSON lacks (tuples, infinity, nested estimators) is written as an object with one key."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return {"tuple": [_packed(item) for item in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[_packed(key), _packed(item)] for key, item in value.items()]}
    autoencoder = _autoencoder_named(type(value).__name__)
    if autoencoder is type(value):
        given = value.get_params(deep=False)
        return {"autoencoder": [type(value).__name__, {k: _packed(v) for k, v in given.items() if k != "schema"}]}
    raise AttainError(f"the parameter {value!r} cannot be saved; only numbers, texts, lists and our own autoencoders can")


def _unpacked(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(_unpacked(item) for item in content)
    if kind == "mapping":
        return {_unpacked(key): _unpacked(item) for key, item in content}
    found = _autoencoder_named(content[0]) if kind == "autoencoder" else None
    if found is None:
        raise ValueError(f"the parameter {value!r} is unknown")
    return found(**{key: _unpacked(item) for key, item in content[1].items()})


def _autoencoder_named(name: object) -> Any:
    from attain import autoencoders

    return getattr(autoencoders, str(name), None) if name in autoencoders.__all__ else None
