"""The conformance suite of autoencoders: `check_autoencoder(make)` tests one, built in or from outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from sklearn.base import clone

from attain.density.estimator import Codes
from attain.schema import Schema
from attain.tables import Table
from attain.testing import people
from attain.testing.explainer import parameters

SCHEMA: Final = people.schema()


def check_autoencoder(make: Callable[[Schema], Any], *, seed: int = 0) -> None:
    """Raises AssertionError, with a sentence, where an autoencoder breaks the contract `attain.density.Autoencoder`.

    `make` builds one, not fitted, for a schema. Everything is tested that explainers call: scikit-learn's rules, shapes
    and types, that decoding is deterministic and gives finite cells and valid levels, that a row's results do not
    depend on the rows beside it, that the same seed gives the same bytes, that densities are finite, that missing
    cells and tables without immutable features are taken, and that `restore` takes back what `state` gave. Where there
    is a `decode_vjp`, it is compared with finite differences; where there is a `sample`, draws must lie within bounds.
    """
    values = Table.read(people.frame(200, seed), SCHEMA).values
    model = make(SCHEMA)
    name = type(model).__name__
    assert parameters(clone(model)) == parameters(model), f"{name}: clone changes parameters"
    assert not hasattr(model, "schema_"), f"{name}: schema_ says that it is fitted before it is"
    assert model.fit(values) is model, f"{name}: fit must return self"
    assert model.schema_ == SCHEMA, f"{name}: schema_ is not the schema it was fitted with"
    codes = _check_codes(model, name, values)
    _check_cells(name, "decode", model.decode(codes), values)
    _check_rows_alone(model, name, values, codes)
    _check_equal(name, "the same seed, fitted again,", clone(model).fit(values), model, values)
    _check_state(name, make(SCHEMA), model, values)
    if hasattr(model, "decode_vjp"):
        _check_gradient(model, name, codes)
    if hasattr(model, "sample"):
        draws = model.sample(values[:5], 3)
        assert draws.shape == (15, len(SCHEMA)), f"{name}: sample(5 rows, 3) has the shape {draws.shape}"
        _check_bounds(name, draws)
    free = SCHEMA.change(SCHEMA.immutable, immutable=False)
    assert np.isfinite(make(free).fit(values).encode(values).z).all(), f"{name}: fails without immutable features"


def _check_codes(model: Any, name: str, values: np.ndarray) -> Codes:
    codes = model.encode(values)
    for part, array in zip(("z", "context"), codes, strict=True):
        assert array.ndim == 2, f"{name}: encode gives a {part} of the shape {array.shape}, not one row per row"
        assert len(array) == len(values), f"{name}: encode gives {len(array)} rows of {part} for {len(values)} rows"
        assert np.isfinite(array).all(), f"{name}: encode gives a {part} that is not finite"
    units = np.asarray(model.active_units)
    assert units.dtype == np.bool_, f"{name}: active_units has the type {units.dtype}, not bool"
    assert units.shape == codes.z.shape[1:], f"{name}: active_units has the shape {units.shape}"
    density = model.log_density(values, samples=4)
    assert density.shape == (len(values),), f"{name}: log_density does not give one number per row"
    assert np.isfinite(density).all(), f"{name}: log_density is not finite"
    return Codes(*codes)


def _check_cells(name: str, what: str, cells: np.ndarray, values: np.ndarray) -> None:
    expected = (len(values), len(SCHEMA.free_columns))
    assert cells.shape == expected, f"{name}: {what} gives the shape {cells.shape}, not {expected}"
    assert np.isfinite(cells).all(), f"{name}: {what} gives cells that are not finite"
    for column, position in enumerate(SCHEMA.free_columns):
        feature = SCHEMA.features[position]
        if feature.levels:
            valid = np.isin(cells[:, column], np.arange(len(feature.levels)))
            assert valid.all(), f"{name}: {what} gives {feature.name} a value that is not the position of a level"


def _check_bounds(name: str, rows: np.ndarray) -> None:
    for position, feature in enumerate(SCHEMA):
        low, high = (np.inf * sign if b is None else b for b, sign in zip(feature.bounds, (-1, 1), strict=True))
        cells = rows[:, position]
        inside = ((cells >= low) & (cells <= high)) | np.isin(cells, list(feature.special))
        assert inside.all(), f"{name}: sample leaves the bounds of {feature.name}"


def _check_rows_alone(model: Any, name: str, values: np.ndarray, codes: Codes) -> None:
    cells, density = model.decode(codes), model.log_density(values, samples=4)
    for row in (0, 1, len(values) - 1):
        own = model.encode(values[[row]])
        alone = Codes(codes.z[[row]], codes.context[[row]])
        assert _equal(own, alone), f"{name}: the code of a row depends on the rows beside it"
        assert _equal(model.decode(alone), cells[[row]]), f"{name}: a decoded row depends on the rows beside it"
        assert _equal(model.log_density(values[[row]], samples=4), density[[row]]), (
            f"{name}: the density of a row depends on the rows beside it"
        )


def _check_equal(name: str, what: str, other: Any, model: Any, values: np.ndarray) -> None:
    codes = model.encode(values)
    assert _equal(other.encode(values), codes), f"{name}: {what} gives other codes"
    assert _equal(other.decode(codes), model.decode(codes)), f"{name}: {what} decodes differently"
    assert _equal(other.log_density(values, samples=4), model.log_density(values, samples=4)), (
        f"{name}: {what} gives other densities"
    )


def _check_state(name: str, fresh: Any, model: Any, values: np.ndarray) -> None:
    facts, arrays = model.state()
    facts = json.loads(json.dumps(facts, allow_nan=False))
    arrays = {key: np.array(array) for key, array in arrays.items()}
    assert fresh.restore(facts, arrays) is fresh, f"{name}: restore must return self"
    assert fresh.schema_ == SCHEMA, f"{name}: restore does not set schema_"
    assert np.array_equal(fresh.active_units, model.active_units), f"{name}: restore changes active_units"
    _check_equal(name, "the restored model", fresh, model, values)


def _check_gradient(model: Any, name: str, codes: Codes) -> None:
    """gradient · ∂decode/∂z · v against a central difference along v, over the free numbers of a few rows."""
    some = Codes(codes.z[:20].astype(np.float64), codes.context[:20])
    numbers = np.array([SCHEMA.features[j].numeric and not SCHEMA.features[j].special for j in SCHEMA.free_columns])
    rng = np.random.default_rng(0)
    gradient = np.where(numbers, 1 / np.maximum(np.abs(model.decode(some)).max(axis=0), 1e-6), 0.0)
    gradient = gradient * rng.normal(size=(20, len(numbers)))
    direction, step = rng.normal(size=some.z.shape), 1e-2
    ends = [model.decode(Codes(some.z + side * step * direction, some.context)) for side in (1, -1)]
    change = (gradient * (ends[0].astype(np.float64) - ends[1])).sum(axis=1) / (2 * step)
    pulled = np.asarray(model.decode_vjp(some, gradient))
    assert pulled.shape == some.z.shape, f"{name}: decode_vjp gives the shape {pulled.shape}, not {some.z.shape}"
    slope = (pulled * direction).sum(axis=1)
    apart = np.abs(change - slope) / (1 + np.abs(slope))
    # a decoder may have kinks, such as bounds: a row that crosses one does not count against it
    assert np.quantile(apart, 0.8) < 0.02, f"{name}: decode_vjp differs from finite differences by {apart.max():.2g}"


def _equal(one: Any, other: Any) -> bool:
    pairs = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)
