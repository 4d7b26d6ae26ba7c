"""Saving fitted explainers, and loading them again."""

from __future__ import annotations

import inspect as signatures
import json
import math
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.base import BaseEstimator

from attain.core import container
from attain.core.errors import AttainError, MissingExtraError
from attain.core.frames import library_named
from attain.schema import Schema
from attain.tables import Layout, Table

if TYPE_CHECKING:
    from attain.methods.base import Explainer

_STATE, _SCHEMA = "explainer.json", "schema.toml"
_FACTS: Final = {"format", "explainer", "training_rows", "people", "versions"}
_KEYS: Final = {"class", "parameters", "library", "columns", "dtypes", "labels", "learned"}
_LEARNED: Final = "learned."
_MARGINAL_ROWS: Final = 1000
"""How finely each column's distribution is kept where the rows are not."""
_VERSIONED: Final = ("numpy", "scipy", "scikit-learn", "pandas", "jax", "equinox")
HOLDS_ROWS: Final = "This file holds training rows: real people's records. Treat it like the data it was fitted on."
HOLDS_NO_ROWS: Final = "This file holds no training rows, only each column's distribution."


def save(explainer: Explainer, path: str | os.PathLike[str], reference: str) -> None:
    """Writes a fitted explainer into one file."""
    if reference not in ("rows", "none"):
        raise AttainError(f"reference is {reference!r}; it takes 'rows' or 'none'")
    name = type(explainer).__name__
    if class_named(name) is not type(explainer):
        raise AttainError(f"{name} is no explainer of this package, so no file could be loaded again")
    keeps_rows = reference == "rows" and explainer.rows_are_real_
    if not keeps_rows:
        check_needs_no_rows(explainer)
    table = explainer.table_
    facts, arrays = explainer._learned()
    state = {
        "class": name,
        "parameters": {key: _packed(key, value) for key, value in _parameters(explainer).items()},
        "library": table.layout.library.name,
        "columns": list(table.layout.columns),
        "dtypes": {key: table.layout.library.dtype_text(dtype) for key, dtype in table.layout.dtypes.items()},
        "labels": None if explainer.labels_ is None or not keeps_rows else list(explainer.labels_),
        "learned": facts,
    }
    try:
        text = json.dumps(state, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AttainError(f"this {name} cannot be saved: {error}; labels are texts, numbers or booleans") from None
    kept = keeps_rows or not explainer.rows_are_real_
    container.write(
        path,
        container.Contents(
            {"explainer": name, "training_rows": keeps_rows, "people": len(table), "versions": versions()},
            {_STATE: text, _SCHEMA: table.schema.to_toml()},
            {
                "table": table.values if kept else marginals(table.values, table.schema),
                **{f"{_LEARNED}{key}": array for key, array in arrays.items()},
            },
        ),
    )


def check_needs_no_rows(explainer: Explainer) -> None:
    """Refuses to save without rows what cannot work without them."""
    if explainer.needs_rows:
        raise AttainError(
            f"{type(explainer).__name__} works on the training rows themselves; save it with them (reference='rows')"
        )


def load(path: str | os.PathLike[str]) -> Explainer:
    """The explainer that `save` wrote; a file that is not exactly that is refused in words."""
    contents, state = _opened(path)
    found = class_named(state["class"])
    if found is None:
        raise container.refused(path, f"it holds an explainer that this version does not know, {state['class']!r}")
    known = set(signatures.signature(found).parameters) - {"schema"}
    container.check_keys(path, "its parameters", state["parameters"], known)
    try:
        schema = Schema.from_toml(contents.texts[_SCHEMA])
        table = _table(schema, state, contents.arrays)
        labels = _labels(state["labels"], len(table))
        real = contents.facts["training_rows"]
        if real and contents.facts["people"] != len(table):
            raise ValueError("the manifest and the table differ in the number of people")
        explainer = found(
            schema=schema, **{key: _unpacked(value, schema) for key, value in state["parameters"].items()}
        )
        explainer._check_parameters()
        explainer._remember(table, labels, real=real)
        learned = {key.removeprefix(_LEARNED): a for key, a in contents.arrays.items() if key != "table"}
        explainer._restore(state["learned"], learned)
        _check_restored(explainer, state["learned"], learned)
    except MissingExtraError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        reason = str(error) if isinstance(error, AttainError) else f"{type(error).__name__}: {error}"
        raise container.refused(path, f"its parts do not fit together ({reason})") from None
    return explainer


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a saved explainer is, without building it; its first entry says whether it holds training rows."""
    contents, state = _opened(path)
    try:
        schema = Schema.from_toml(contents.texts[_SCHEMA])
        parameters = {key: _described(value) for key, value in state["parameters"].items()}
    except (TypeError, ValueError, RecursionError):
        raise container.refused(path, "its schema or its parameters cannot be read") from None
    return {
        "training_rows": HOLDS_ROWS if contents.facts["training_rows"] else HOLDS_NO_ROWS,
        "explainer": state["class"],
        "parameters": parameters,
        "people": contents.facts["people"],
        "labels": state["labels"] is not None,
        "arrays": {name: list(array.shape) for name, array in contents.arrays.items()},
        "versions": contents.facts["versions"],
        "schema": schema,
    }


def marginals(values: np.ndarray, schema: Schema) -> np.ndarray:
    """Rows that have each column's distribution, and belong to nobody: every column's quantiles, shuffled by itself.

    However rare, a level, a special code or a missing cell that a column has is kept at least once.
    """
    rows = min(len(values), _MARGINAL_ROWS)
    random = np.random.default_rng(0)
    result = np.empty((rows, values.shape[1]))
    places = np.round(np.linspace(0, len(values) - 1, rows)).astype(np.intp)
    for j, feature in enumerate(schema):
        ordered = np.sort(values[:, j])
        column = ordered[places]
        states = (
            ordered if not feature.numeric else ordered[np.isnan(ordered) | np.isin(ordered, list(feature.special))]
        )
        for state in np.unique(states):
            if _equal(column, state).any():
                continue
            common, counts = np.unique(column, return_counts=True)
            column[np.flatnonzero(_equal(column, common[counts.argmax()]))[-1]] = state
        result[:, j] = random.permutation(column)
    return result


def _equal(column: np.ndarray, value: float) -> np.ndarray:
    return np.asarray(np.isnan(column) if math.isnan(value) else column == value)


def versions() -> dict[str, str]:
    """The versions of this package and of those that its numbers depend on."""
    return {name: _version(name) for name in ("attain", *_VERSIONED)}


def class_named(name: object) -> type[Explainer] | None:
    """The explainer of this package with that name."""
    from attain import methods

    found = getattr(methods, name) if isinstance(name, str) and name in methods.__all__ else None
    return found if isinstance(found, type) and issubclass(found, methods.Explainer) else None


def _opened(path: str | os.PathLike[str]) -> tuple[container.Contents, dict[str, Any]]:
    """The contents and the state of a file whose every key is known, and every value of the right type."""
    contents = container.read(path, {_STATE, _SCHEMA})
    container.check_keys(path, "its manifest", contents.facts, _FACTS)
    state = container.parse_json(path, _STATE, contents.texts[_STATE])
    container.check_keys(path, _STATE, state, _KEYS)
    kinds = {"class": str, "parameters": dict, "library": str, "columns": list, "dtypes": dict, "learned": dict}
    wrong = [key for key, kind in kinds.items() if not isinstance(state[key], kind)]
    facts = {"explainer": str, "training_rows": bool, "people": int, "versions": dict}
    wrong += [key for key, kind in facts.items() if not isinstance(contents.facts[key], kind)]
    if wrong:
        raise container.refused(path, f"its {' and '.join(wrong)} are of the wrong type")
    if contents.facts["explainer"] != state["class"]:
        raise container.refused(path, "its manifest names another explainer than it holds")
    strange = [name for name in contents.arrays if name != "table" and not name.startswith(_LEARNED)]
    if strange or "table" not in contents.arrays:
        raise container.refused(path, f"its arrays are {sorted(contents.arrays)}, not those of an explainer")
    return contents, state


def _table(schema: Schema, state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Table:
    columns, texts, values = state["columns"], state["dtypes"], arrays["table"]
    if sorted(columns) != sorted(schema.names) or set(texts) != set(columns):
        raise ValueError("its columns are not those of the schema")
    if values.ndim != 2 or values.shape[1] != len(schema) or values.dtype != np.float64 or len(values) < 2:
        raise ValueError("the table has another shape or type than the schema asks for")
    if np.isinf(values).any():
        raise ValueError("the table holds infinite values")
    for j, feature in enumerate(schema):
        present = values[~np.isnan(values[:, j]), j]
        if not feature.numeric and not np.isin(present, np.arange(len(feature.levels))).all():
            raise ValueError(f"the table's column {feature.name!r} has a level that the schema does not have")
    library = library_named(state["library"])
    layout = Layout(schema, library, tuple(columns), {name: library.dtype_named(texts[name]) for name in columns})
    return Table(schema, values, layout, range(len(values)), layout.frame(values))


def _labels(items: Any, rows: int) -> np.ndarray | None:
    if items is None:
        return None
    if not isinstance(items, list) or len(items) != rows or isinstance(items[0], list | dict):
        raise ValueError("labels and rows differ in number or kind")
    result = np.empty(len(items), dtype=object)
    result[:] = items
    return result


def _check_restored(explainer: Explainer, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuses what the explainer did not take from the file as it stands there: unknown keys, arrays of other types."""
    own_facts, own_arrays = explainer._learned()
    if json.loads(json.dumps(own_facts)) != facts or set(own_arrays) != set(arrays):
        raise ValueError("what was learned has unknown or missing keys")
    for name, array in arrays.items():
        own = np.asarray(own_arrays[name])
        if own.dtype != array.dtype or own.shape != array.shape:
            raise ValueError(f"the array {name!r} has another shape or type")


def _parameters(explainer: Explainer) -> dict[str, Any]:
    return {key: value for key, value in explainer.get_params(deep=False).items() if key != "schema"}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _packed(name: str, value: Any) -> Any:
    """A parameter as JSON: what JSON lacks (tuples, infinity, autoencoders) is an object with one key."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return {"tuple": [_packed(name, item) for item in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[_packed(name, key), _packed(name, item)] for key, item in value.items()]}
    if autoencoder_named(type(value).__name__) is type(value):
        given = {key: item for key, item in value.get_params(deep=False).items() if key != "schema"}
        return {"autoencoder": [type(value).__name__, {key: _packed(key, item) for key, item in given.items()}]}
    raise AttainError(
        f"the parameter {name} is a {type(value).__name__}, which cannot be saved; numbers, texts, lists, dictionaries "
        "and our own autoencoders can"
    )


def _unpacked(value: Any, schema: Schema) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(_unpacked(item, schema) for item in content)
    if kind == "mapping":
        return {_unpacked(key, schema): _unpacked(item, schema) for key, item in content}
    found = autoencoder_named(content[0]) if kind == "autoencoder" else None
    if found is None:
        raise ValueError(f"the parameter {value!r} is unknown")
    return found(schema=schema, **{key: _unpacked(item, schema) for key, item in content[1].items()})


def _described(value: Any) -> Any:
    """A packed parameter as a person or a program reads it."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return str(content)
    if kind == "tuple":
        return [_described(item) for item in content]
    if kind == "mapping":
        return {str(_described(key)): _described(item) for key, item in content}
    name, given = content
    return {str(name): {key: _described(item) for key, item in given.items()}}


def autoencoder_named(name: object) -> Any:
    """The autoencoder of this package with that name; None where there is none."""
    from attain import density

    found = getattr(density, name) if isinstance(name, str) and name in density.__all__ else None
    return found if isinstance(found, type) and issubclass(found, BaseEstimator) else None
