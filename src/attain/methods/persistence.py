"""Saving fitted explainers, and loading them again.

A file names classes, and never code. `load` knows the explainers and autoencoders of this package; any other class
has to be passed as `trusted`. Every name is checked before anything is built.
"""

from __future__ import annotations

import hashlib
import inspect as signatures
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from attain.core import container
from attain.core.arrays import as_python
from attain.core.errors import AttainError, MissingExtraError, listed
from attain.core.files import as_kind
from attain.core.frames import library_named
from attain.schema import Schema, toml
from attain.schema.laws import Law
from attain.tables import Layout, Table

_STATE, _SCHEMA = "explainer.json", "schema.toml"
_FACTS: Final = {"format", "explainer", "reference", "rows", "versions"}
_KEYS: Final = {"class", "parameters", "library", "columns", "dtypes", "labels", "laws", "learned"}
_LEARNED: Final = "learned."
_MALFORMED: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What building from the content of a file raises where it is not what `save` writes."""
_MARGINAL_ROWS: Final = 1000
"""How finely each column's distribution is kept where the rows are not."""
_MARGINAL_SEED: Final = 0
"""A constant, so that equal explainers give equal files."""
_VERSIONED: Final = ("numpy", "scipy", "scikit-learn", "pandas", "jax", "equinox")
HOLDS: Final = {
    "rows": "This file holds training rows: real people's records. Treat it like the data it was fitted on.",
    "none": "This file holds no training rows, only each column's distribution.",
}
"""By what `save` was told to keep, what a file holds."""


class Savable(Protocol):
    """What saving and loading need of a fitted explainer."""

    table_: Table
    labels_: np.ndarray | None
    laws_: tuple[Law, ...]
    has_rows_: bool
    needs_rows: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def _check_parameters(self) -> None: ...

    def _remember(
        self, table: Table, labels: np.ndarray | None, laws: tuple[Law, ...], *, has_rows: bool = True
    ) -> None: ...

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]: ...

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None: ...


def save(explainer: Savable, path: str | os.PathLike[str], reference: str) -> None:
    """Writes a fitted explainer into one file."""
    if reference not in HOLDS:
        raise AttainError(f"reference must be 'rows' or 'none', got {reference!r}")
    kept = reference if explainer.has_rows_ else "none"
    if kept == "none":
        check_needs_no_rows(explainer)
    table = explainer.table_
    state, arrays = _fitted_state(explainer)
    state["parameters"] = {key: _packed(key, value) for key, value in _parameters(explainer).items()}
    if kept == "none":
        state["labels"] = None
    try:
        text = json.dumps(state, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AttainError(
            f"this {type(explainer).__name__} cannot be saved: {error}; labels must be strings, numbers or booleans"
        ) from None
    reduced = kept == "none" and explainer.has_rows_
    container.write(
        path,
        container.Contents(
            {"explainer": state["class"], "reference": kept, "rows": len(table), "versions": versions()},
            {_STATE: text, _SCHEMA: table.schema.to_toml()},
            {
                "table": marginals(table.values, table.schema) if reduced else table.values,
                **{f"{_LEARNED}{key}": array for key, array in arrays.items()},
            },
        ),
    )


def _fitted_state(explainer: Savable) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `fit` learned besides the schema and the matrix, as JSON and arrays."""
    layout = explainer.table_.layout
    facts, arrays = explainer._learned()
    state = {
        "class": class_name(type(explainer)),
        "library": layout.library.name,
        "columns": list(layout.columns),
        "dtypes": {key: layout.library.dtype_text(dtype) for key, dtype in layout.dtypes.items()},
        "labels": None if explainer.labels_ is None else list(explainer.labels_),
        "laws": [asdict(law) for law in explainer.laws_],
        "learned": facts,
    }
    return state, arrays


def fitted_digest(explainer: Savable) -> str | None:
    """A hash of everything that `fit` learned, the same after saving and loading; None where it cannot be saved."""
    try:
        state, arrays = _fitted_state(explainer)
    except AttainError:  # an autoencoder of the user's own may have no state to save
        return None
    schema = explainer.table_.schema
    stated = [
        [(name, list(value.items()) if isinstance(value, Mapping) else value) for name, value in properties.items()]
        for properties in map(toml.stated_properties, schema)
    ]
    laws = None if schema.laws is None else [law.text for law in schema.laws]
    facts = (state, stated, schema.rules, laws, schema.max_months)
    return data_digest(facts, {**arrays, "table": explainer.table_.values})


def data_digest(facts: Any, arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of JSON and arrays."""
    digest = hashlib.blake2b(digest_size=32)
    digest.update(json.dumps(facts, sort_keys=True, default=str).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def described_parameters(explainer: Savable) -> dict[str, Any]:
    """The parameters in plain JSON; one that cannot be saved is named by its class."""
    return {key: _description(key, value) for key, value in _parameters(explainer).items()}


def _description(name: str, value: Any) -> Any:
    try:
        return _described(_packed(name, value))
    except AttainError:
        return class_name(type(value))


def check_needs_no_rows(explainer: Savable) -> None:
    """Refuses an explainer that cannot work without its training rows."""
    if explainer.needs_rows:
        raise AttainError(
            f"{type(explainer).__name__} searches among its training rows, so it cannot be saved without them; "
            "save it with reference='rows'"
        )


def load(path: str | os.PathLike[str], *, trusted: Sequence[type] = ()) -> Any:
    """The explainer that `save` wrote; any other file is refused, with the reason.

    Parameters
    ----------
    path
        The file.
    trusted
        Your own explainers and autoencoders that the file may name. Those of this package are always known.
    """
    known = {class_name(one): one for one in _checked_classes(trusted)}
    contents, state = _opened(path)
    known.setdefault(state["class"], class_named(state["class"]))
    for name in _estimator_names(state["parameters"]):
        known.setdefault(name, autoencoder_named(name))
    unknown = [name for name, found in known.items() if found is None]
    if unknown:
        raise container.refused(
            path,
            f"it names {listed(unknown)}, not part of attain; if you trust that class, pass it: "
            "attain.load(path, trusted=[MyClass])",
        )
    explainer_class = known[state["class"]]
    parameters = set(signatures.signature(explainer_class).parameters) - {"schema"}
    container.check_keys(path, "its parameters", state["parameters"], parameters)
    try:
        return _built(explainer_class, contents, state, known)
    except MissingExtraError:
        raise
    except _MALFORMED as error:
        reason = str(error) if isinstance(error, AttainError) else f"{type(error).__name__}: {error}"
        raise container.refused(path, f"its parts do not fit together ({reason})") from None


def _built(found: Any, contents: container.Contents, state: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    schema = toml.read(contents.texts[_SCHEMA])
    table = _table(schema, state, contents.arrays)
    labels = _labels(state["labels"], len(table))
    kept = contents.facts["reference"]
    if kept not in HOLDS:
        raise ValueError(f"its reference is {kept!r}, not one of {', '.join(HOLDS)}")
    if kept != "none" and contents.facts["rows"] != len(table):
        raise ValueError("the manifest and the table differ in the number of rows")
    explainer = found(
        schema=schema, **{key: _unpacked(value, schema, known) for key, value in state["parameters"].items()}
    )
    explainer._check_parameters()
    explainer._remember(table, labels, as_kind(state["laws"], tuple[Law, ...]), has_rows=kept == "rows")
    learned = {key.removeprefix(_LEARNED): array for key, array in contents.arrays.items() if key != "table"}
    explainer._restore(state["learned"], learned)
    _check_restored(explainer, state["learned"], learned)
    return explainer


def _checked_classes(trusted: Any) -> Sequence[type]:
    if isinstance(trusted, type) or not all(isinstance(one, type) for one in trusted):
        raise AttainError(f"trusted must be a list of classes, got {trusted!r}")
    classes: Sequence[type] = trusted
    return classes


def _estimator_names(parameters: Mapping[str, Any]) -> list[str]:
    """The classes that packed parameters name."""
    names: list[str] = []
    waiting: list[Any] = [parameters]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("estimator"), list):
                names += [str(name) for name in value["estimator"][:1]]
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return names


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a saved explainer is, without building it; its first entry says whether it holds training rows."""
    contents, state = _opened(path)
    try:
        schema = toml.read(contents.texts[_SCHEMA])
        parameters = {key: _described(value) for key, value in state["parameters"].items()}
    except _MALFORMED:
        raise container.refused(path, "its schema or its parameters cannot be read") from None
    return {
        "training_rows": HOLDS.get(contents.facts["reference"], "unknown"),
        "explainer": state["class"],
        "parameters": parameters,
        "rows": contents.facts["rows"],
        "labels": state["labels"] is not None,
        "arrays": {name: list(array.shape) for name, array in contents.arrays.items()},
        "versions": contents.facts["versions"],
        "schema": schema,
    }


def class_name(one: type) -> str:
    """How a file names a class: those of this package by their name, all others with their module."""
    for found in (class_named(one.__name__), autoencoder_named(one.__name__)):
        if found is one:
            return one.__name__
    return f"{one.__module__}.{one.__qualname__}"


def class_named(name: object) -> Any:
    """The explainer of this package with that name; None where there is none."""
    from attain import methods

    return _concrete(methods, name)


def autoencoder_named(name: object) -> Any:
    """The autoencoder of this package with that name; None where there is none."""
    from attain import density

    return _concrete(density, name)


def _concrete(room: Any, name: object) -> Any:
    found = getattr(room, name) if isinstance(name, str) and name in room.__all__ else None
    estimator = isinstance(found, type) and issubclass(found, BaseEstimator)
    return found if estimator and not signatures.isabstract(found) else None


def marginals(values: np.ndarray, schema: Schema) -> np.ndarray:
    """Rows with the distribution of each column but no real record: quantiles, each column shuffled by itself.

    A level, a special code or a missing cell that a column has is kept at least once, however rare.
    """
    rows = min(len(values), _MARGINAL_ROWS)
    random = np.random.default_rng(_MARGINAL_SEED)
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
    """The versions of this package and of those that its numbers depend on, as far as they are installed."""
    known = {name: _version(name) for name in ("attain", *_VERSIONED)}
    return {name: number for name, number in known.items() if number is not None}


def _opened(path: str | os.PathLike[str]) -> tuple[container.Contents, dict[str, Any]]:
    """The contents and the state of a file whose every key is known, and every value of the right type."""
    contents = container.read(path, {_STATE, _SCHEMA})
    container.check_keys(path, "its manifest", contents.facts, _FACTS)
    state = container.parse_json(path, _STATE, contents.texts[_STATE])
    container.check_keys(path, _STATE, state, _KEYS)
    kinds = {"class": str, "parameters": dict, "library": str, "columns": list, "dtypes": dict}
    kinds |= {"laws": list, "learned": dict}
    wrong = [key for key, kind in kinds.items() if not isinstance(state[key], kind)]
    facts = {"explainer": str, "reference": str, "rows": int, "versions": dict}
    wrong += [key for key, kind in facts.items() if not isinstance(contents.facts[key], kind)]
    if wrong:
        raise container.refused(path, f"it has the wrong type for {', '.join(wrong)}")
    if contents.facts["explainer"] != state["class"]:
        raise container.refused(path, "its manifest and its content name different explainers")
    strange = [name for name in contents.arrays if name != "table" and not name.startswith(_LEARNED)]
    if strange or "table" not in contents.arrays:
        raise container.refused(path, f"its arrays are {sorted(contents.arrays)}, not those of an explainer")
    return contents, state


def _table(schema: Schema, state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Table:
    columns, texts, values = state["columns"], state["dtypes"], arrays["table"]
    if sorted(columns) != sorted(schema.names) or set(texts) != set(columns):
        raise ValueError("its columns are not those of the schema")
    if values.ndim != 2 or values.shape[1] != len(schema) or values.dtype != np.float64 or len(values) < 2:
        raise ValueError("the shape or type of the table does not fit the schema")
    if np.isinf(values).any():
        raise ValueError("the table holds infinite values")
    for j, feature in enumerate(schema):
        present = values[~np.isnan(values[:, j]), j]
        if not feature.numeric and not np.isin(present, np.arange(len(feature.levels))).all():
            raise ValueError(f"the table's column {feature.name!r} has a level that is not in the schema")
    library = library_named(state["library"])
    layout = Layout(schema, library, tuple(columns), {name: library.dtype_named(texts[name]) for name in columns})
    return Table(schema, values, layout, range(len(values)), layout.frame(values))


def _labels(items: Any, rows: int) -> np.ndarray | None:
    if items is None:
        return None
    if not isinstance(items, list) or len(items) != rows or isinstance(items[0], list | dict):
        raise ValueError("labels must be a list with one string, number or boolean per row")
    result = np.empty(len(items), dtype=object)
    result[:] = items
    return result


def _check_restored(explainer: Savable, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuses a file with anything that the restored explainer would not write itself: unknown keys, other types."""
    own_facts, own_arrays = explainer._learned()
    if json.loads(json.dumps(own_facts)) != facts or set(own_arrays) != set(arrays):
        raise ValueError("what was learned has unknown or missing keys")
    for name, array in arrays.items():
        own = np.asarray(own_arrays[name])
        if own.dtype != array.dtype or own.shape != array.shape:
            raise ValueError(f"the array {name!r} has the wrong shape or type")


def _parameters(explainer: Savable) -> dict[str, Any]:
    return {key: value for key, value in explainer.get_params(deep=False).items() if key != "schema"}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _packed(name: str, value: Any) -> Any:
    """A parameter as JSON: what JSON lacks (tuples, infinity, autoencoders) is an object with one key."""
    value = as_python(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Law):
        return value.text
    if isinstance(value, tuple | list):
        return {"tuple": [_packed(name, item) for item in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[_packed(name, key), _packed(name, item)] for key, item in value.items()]}
    if hasattr(value, "get_params"):
        given = {key: _packed(key, item) for key, item in _parameters(value).items()}
        return {"estimator": [class_name(type(value)), given]}
    raise AttainError(
        f"{name} is a {type(value).__name__}, which cannot be saved; numbers, strings, lists, dictionaries and "
        "autoencoders that are scikit-learn estimators can"
    )


def _unpacked(value: Any, schema: Schema, known: Mapping[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(_unpacked(item, schema, known) for item in content)
    if kind == "mapping":
        return {_unpacked(key, schema, known): _unpacked(item, schema, known) for key, item in content}
    if kind != "estimator":
        raise ValueError(f"the parameter {value!r} is unknown")
    name, given = content
    return known[name](schema=schema, **{key: _unpacked(item, schema, known) for key, item in given.items()})


def _described(value: Any) -> Any:
    """A packed parameter in plain JSON."""
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
