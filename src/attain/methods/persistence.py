"""Saving fitted explainers, and loading them again.

A file names classes, and never code. `load` knows the explainers and autoencoders of this package; any other class
has to be passed as `trusted`. Every name is checked before anything is built.
"""

from __future__ import annotations

import inspect as signatures
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np
from sklearn.base import BaseEstimator

from attain.core import container
from attain.core.arrays import as_python
from attain.core.errors import AttainError, MissingExtraError, listed
from attain.core.files import as_json, as_kind, data_digest, versions
from attain.core.frames import library_named
from attain.population.population import Population
from attain.schema import Schema
from attain.schema.laws import Law
from attain.schema.text import from_toml, stated_properties
from attain.tables import Layout, Table

if TYPE_CHECKING:
    from attain.methods.base import Explainer

_STATE, _SCHEMA = "explainer.json", "schema.toml"
_LEARNED: Final = "learned."
_MALFORMED: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What building from the content of a file raises where it is not what `save` writes."""
_MARGINAL_ROWS: Final = 1000
"""How finely each column's distribution is kept where the rows are not."""
_MARGINAL_SEED: Final = 0
"""A constant, so that equal explainers give equal files."""
HOLDS: Final = {
    "rows": "This file holds training rows: real people's records. Treat it like the data it was fitted on.",
    "none": "This file holds no training rows, only each column's distribution.",
}
"""By what `save` was told to keep, what a file holds."""


class _Facts(msgspec.Struct, forbid_unknown_fields=True):
    """What the manifest of a file says."""

    format: str
    explainer: str
    reference: Literal["rows", "none"]
    rows: int
    versions: dict[str, str]


class _State(msgspec.Struct, forbid_unknown_fields=True, rename={"class_name": "class"}):
    """What `fit` learned, but for the schema and arrays, and the parameters."""

    class_name: str
    parameters: dict[str, Any]
    library: str
    columns: list[str]
    dtypes: dict[str, str]
    labels: list[str | int | float | bool | None] | None
    laws: tuple[Law, ...]
    learned: dict[str, Any]


def save(explainer: Explainer, path: str | os.PathLike[str], reference: str) -> None:
    """Writes a fitted explainer into one file."""
    if reference not in HOLDS:
        raise AttainError(f"reference must be 'rows' or 'none', got {reference!r}")
    population = explainer.population_
    kept = reference if population.has_rows else "none"
    if kept == "none":
        check_needs_no_rows(explainer)
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
    reduced = kept == "none" and population.has_rows
    container.write(
        path,
        container.Contents(
            {"explainer": state["class"], "reference": kept, "rows": len(population.values), "versions": versions()},
            {_STATE: text, _SCHEMA: population.schema.to_toml()},
            {
                "table": marginals(population) if reduced else population.values,
                **{f"{_LEARNED}{key}": array for key, array in arrays.items()},
            },
        ),
    )


def _fitted_state(explainer: Explainer) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `fit` learned besides the schema and the matrix, as JSON and arrays."""
    population = explainer.population_
    layout = population.table.layout
    facts, arrays = explainer._learned()
    state = {
        "class": class_name(type(explainer)),
        "library": layout.library.name,
        "columns": list(layout.columns),
        "dtypes": {key: layout.library.dtype_text(dtype) for key, dtype in layout.dtypes.items()},
        "labels": None if population.labels is None else list(population.labels),
        "laws": [asdict(law) for law in population.laws],
        "learned": facts,
    }
    return state, arrays


def fitted_digest(explainer: Explainer) -> str | None:
    """A hash of everything that `fit` learned, the same after saving and loading; None where it cannot be saved."""
    try:
        state, arrays = _fitted_state(explainer)
    except AttainError:  # an autoencoder of the user's own may have no state to save
        return None
    schema = explainer.population_.schema
    stated = [
        [(name, list(value.items()) if isinstance(value, Mapping) else value) for name, value in properties.items()]
        for properties in map(stated_properties, schema)
    ]
    laws = None if schema.laws is None else [law.text for law in schema.laws]
    facts = (state, stated, schema.rules, laws, schema.max_months)
    return data_digest(facts, {**arrays, "table": explainer.population_.values})


def described(explainer: Explainer) -> dict[str, Any]:
    """What a fitted explainer's answers follow from, as JSON; what cannot be saved is named by its class."""
    population = explainer.population_
    if explainer._digests is None:
        explainer._digests = fitted_digest(explainer), _training_digest(population) if population.has_rows else None
    fitted, training = explainer._digests
    return {
        "method": class_name(type(explainer)),
        "parameters": {key: _description(key, value) for key, value in _parameters(explainer).items()},
        "seed": explainer._seed,
        "explainer_digest": fitted,
        "training": {
            "rows": len(population.values) if population.has_rows else None,
            "columns": len(population.schema),
            "labels": population.labels is not None,
            "digest": training,
        },
    }


def _training_digest(population: Population) -> str:
    """A hash of the cells and labels: other rules about the same data change nothing."""
    columns = [(feature.name, [str(level) for level in feature.levels]) for feature in population.schema]
    labels = None if population.labels is None else list(population.labels)
    return data_digest((columns, labels), {"table": population.values + 0.0})  # turns -0.0 into 0.0


def _description(name: str, value: Any) -> Any:
    try:
        return _described(_packed(name, value))
    except AttainError:
        return class_name(type(value))


def check_needs_no_rows(explainer: Explainer) -> None:
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
    contents, facts, state = _opened(path)
    known.setdefault(state.class_name, class_named(state.class_name))
    for name in _estimator_names(path, state.parameters):
        known.setdefault(name, autoencoder_named(name))
    unknown = [name for name, found in known.items() if found is None]
    if unknown:
        raise container.refused(
            path,
            f"it names {listed(unknown)}, not part of attain; if you trust that class, pass it: "
            "attain.load(path, trusted=[MyClass])",
        )
    parameters = set(signatures.signature(known[state.class_name]).parameters) - {"schema"}
    container.check_keys(path, "its parameters", state.parameters, parameters)
    try:
        return _built(contents, facts, state, known)
    except MissingExtraError:
        raise
    except _MALFORMED as error:
        reason = str(error) if isinstance(error, AttainError) else f"{type(error).__name__}: {error}"
        raise container.refused(path, f"its parts do not fit together ({reason})") from None


def _built(contents: container.Contents, facts: _Facts, state: _State, known: Mapping[str, Any]) -> Any:
    schema = from_toml(contents.texts[_SCHEMA])
    table = _table(schema, state, contents.arrays["table"])
    if facts.reference == "rows" and facts.rows != len(table):
        raise ValueError("the manifest and the table differ in the number of rows")
    if state.labels is not None and len(state.labels) != len(table):
        raise ValueError("there must be one label per row")
    labels = None if state.labels is None else np.array(state.labels, dtype=object)

    def build(name: str, given: dict[str, Any]) -> Any:
        return known[name](schema=schema, **given)

    explainer = build(state.class_name, {key: _unpacked(value, build) for key, value in state.parameters.items()})
    explainer._check_parameters()
    population = Population(table, labels, state.laws, has_rows=facts.reference == "rows")
    _ = population.rule_book  # laws that cannot be read are refused here, not when they are first used
    explainer._keep(population)
    learned = {key.removeprefix(_LEARNED): array for key, array in contents.arrays.items() if key != "table"}
    explainer._restore(state.learned, learned)
    _check_restored(explainer, state.learned, learned)
    return explainer


def _checked_classes(trusted: Any) -> Sequence[type]:
    if isinstance(trusted, type) or not all(isinstance(one, type) for one in trusted):
        raise AttainError(f"trusted must be a list of classes, got {trusted!r}")
    classes: Sequence[type] = trusted
    return classes


def _estimator_names(path: str | os.PathLike[str], parameters: Mapping[str, Any]) -> list[str]:
    """The classes that packed parameters name."""
    names: list[str] = []
    try:
        for value in parameters.values():
            _unpacked(value, lambda name, given: names.append(str(name)))
    except _MALFORMED:
        raise container.refused(path, "its parameters cannot be read") from None
    return names


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a saved explainer is, without building it; its first entry says whether it holds training rows."""
    contents, facts, state = _opened(path)
    try:
        schema = from_toml(contents.texts[_SCHEMA])
        parameters = {key: _described(value) for key, value in state.parameters.items()}
    except _MALFORMED:
        raise container.refused(path, "its schema or its parameters cannot be read") from None
    return {
        "training_rows": HOLDS[facts.reference],
        "explainer": state.class_name,
        "parameters": parameters,
        "rows": facts.rows,
        "labels": state.labels is not None,
        "arrays": {name: list(array.shape) for name, array in contents.arrays.items()},
        "versions": facts.versions,
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


def marginals(population: Population) -> np.ndarray:
    """Rows with the distribution of each column but no real record: quantiles, each column shuffled by itself.

    A level, a special code or a missing cell that a column has is kept at least once, however rare.
    """
    values = population.values
    rows = min(len(values), _MARGINAL_ROWS)
    random = np.random.default_rng(_MARGINAL_SEED)
    result = np.empty((rows, values.shape[1]))
    places = np.round(np.linspace(0, len(values) - 1, rows)).astype(np.intp)
    for j, feature in enumerate(population.schema):
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


def _opened(path: str | os.PathLike[str]) -> tuple[container.Contents, _Facts, _State]:
    """The contents of a file whose every key is known, and every value of the right type."""
    contents = container.read(path, {_STATE, _SCHEMA})
    content = container.parse_json(path, _STATE, contents.texts[_STATE])
    try:
        facts, state = as_kind(contents.facts, _Facts), as_kind(content, _State)
    except ValueError as error:
        raise container.refused(path, f"its content is not what `save` writes ({error})") from None
    if facts.explainer != state.class_name:
        raise container.refused(path, "its manifest and its content name different explainers")
    strange = [name for name in contents.arrays if name != "table" and not name.startswith(_LEARNED)]
    if strange or "table" not in contents.arrays:
        raise container.refused(path, f"its arrays are {sorted(contents.arrays)}, not those of an explainer")
    return contents, facts, state


def _table(schema: Schema, state: _State, values: np.ndarray) -> Table:
    columns, texts = state.columns, state.dtypes
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
    library = library_named(state.library)
    layout = Layout(schema, library, tuple(columns), {name: library.dtype_named(texts[name]) for name in columns})
    return Table(schema, values, layout, range(len(values)), layout.frame(values))


def _check_restored(explainer: Explainer, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuses a file with anything that the restored explainer would not write itself: unknown keys, other types."""
    own_facts, own_arrays = explainer._learned()
    if json.loads(json.dumps(own_facts)) != facts or set(own_arrays) != set(arrays):
        raise ValueError("what was learned has unknown or missing keys")
    for name, array in arrays.items():
        own = np.asarray(own_arrays[name])
        if own.dtype != array.dtype or own.shape != array.shape:
            raise ValueError(f"the array {name!r} has the wrong shape or type")


def _parameters(explainer: Explainer) -> dict[str, Any]:
    return {key: value for key, value in explainer.get_params(deep=False).items() if key != "schema"}


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


def _unpacked(value: Any, build: Callable[[str, dict[str, Any]], Any]) -> Any:
    """A parameter from its JSON; `build` makes an autoencoder of the name of its class and its parameters."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(_unpacked(item, build) for item in content)
    if kind == "mapping":
        return {_unpacked(key, build): _unpacked(item, build) for key, item in content}
    if kind != "estimator":
        raise ValueError(f"the parameter {value!r} is unknown")
    name, given = content
    return build(name, {key: _unpacked(item, build) for key, item in given.items()})


def _described(value: Any) -> Any:
    """A packed parameter in plain JSON."""
    return as_json(_unpacked(value, lambda name, given: {str(name): given}))
