"""The conformance suite of densities: `check_density(make)` tests one, built in or from outside."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from attain.schema import Feature, Schema
from attain.tables import Table
from attain.tables.cells import ordinary, unchanged
from attain.tables.grid import is_on_grid
from attain.testing.tables import SCHEMA, example, parameters

DRAWS = 4000
SMALL = Schema(
    (
        Feature("sex", "categorical", levels=("f", "m"), immutable=True),
        Feature("visits", "count", bounds=(0, 4), special={-1: "never asked"}),
        Feature("home", "categorical", levels=("rents", "owns", "other")),
        Feature("grade", "ordinal", levels=("low", "mid", "high")),
    )
)
"""A table with so few possible rows that they can be listed."""
LINE = Schema(
    (
        Feature("sex", "categorical", levels=("f", "m"), immutable=True),
        Feature("share", "real", bounds=(0, 10)),
        Feature("points", "interval", bounds=(0, 5), step=0.5),
    )
)
"""A table with a continuous column and one with a step."""


def check_density(make: Callable[[Schema], Any], *, seed: int = 0) -> None:
    """Raises AssertionError, with a sentence, where a density breaks the contract `attain.densities.Density`.

    `make` builds one, not fitted, for a schema. Tested are scikit-learn's rules, shapes and finiteness; that given
    columns stay as they are, bit for bit, and drawn cells are within bounds, on their steps and valid levels; that a
    row's results do not depend on the rows beside it, and the same seed gives the same bytes; that `restore` takes back
    what `state` gave. Of a density that is `exact`, that it sums to one over all rows of a small table, missing cells
    and special codes included, and integrates to one over continuous and stepped columns, and that draws are as
    frequent as it says; of a bound, that it sums to at most one. With `any_given`, all this for other columns too.
    """
    values = Table.read(example(seed=seed), SCHEMA).values
    model = make(SCHEMA)
    name = type(model).__name__
    assert parameters(clone(model)) == parameters(model), f"{name}: clone changes parameters"
    assert not hasattr(model, "schema_"), f"{name}: schema_ says that it is fitted before it is"
    assert model.fit(values) is model, f"{name}: fit must return self"
    assert model.schema_ == SCHEMA, f"{name}: schema_ is not the schema it was fitted with"
    for given in (None, (), ("age", "home"), ("balance", "visits")) if model.any_given else (None,):
        _check_rows(model, name, values, given)
        _check_rows_alone(model, name, values[:40], given)
    _check_equal(name, "the same seed, fitted again,", clone(model).fit(values), model, values[:40])
    _check_state(name, make(SCHEMA), model, values[:40])
    _check_mass(make(SMALL), name, seed)
    if model.exact:
        _check_line(make(LINE), name, seed)


def _check_rows(model: Any, name: str, values: np.ndarray, given: Sequence[str] | None) -> None:
    density = model.log_density(values, given=given)
    assert density.shape == (len(values),), f"{name}: log_density does not give one number per row"
    assert np.isfinite(density).all(), f"{name}: log_density of training rows is not finite, given {given}"
    some = values[:20]
    draws = model.sample(some, 3, given=given)
    assert draws.shape == (60, len(SCHEMA)), f"{name}: sample(20 rows, 3) has the shape {draws.shape}"
    held = list(SCHEMA.immutable_columns) if given is None else [SCHEMA.position(column) for column in given]
    kept = draws[:, held].tobytes() == np.repeat(some, 3, axis=0)[:, held].tobytes()
    assert kept, f"{name}: sample changes cells of the columns that are given, {given}"
    for j in (j for j in range(len(SCHEMA)) if j not in held):
        _check_cells(name, SCHEMA.features[j], draws[:, j], values[:, j])


def _check_cells(name: str, feature: Feature, cells: np.ndarray, training: np.ndarray) -> None:
    usual = cells[ordinary(feature, cells)]
    if not np.isnan(training).any():
        assert not np.isnan(cells).any(), f"{name}: draws of {feature.name} are missing, which no training cell is"
    if feature.levels:
        valid = np.isin(usual, np.arange(len(feature.levels))).all()
        assert valid, f"{name}: draws of {feature.name} are not positions of levels"
        return
    low, high = (np.inf * sign if side is None else side for side, sign in zip(feature.bounds, (-1, 1), strict=True))
    assert ((usual >= low) & (usual <= high)).all(), f"{name}: draws leave the bounds of {feature.name}"
    if feature.step is not None:
        assert is_on_grid(usual, feature.step).all(), f"{name}: draws of {feature.name} are not multiples of its step"


def _check_rows_alone(model: Any, name: str, values: np.ndarray, given: Sequence[str] | None) -> None:
    density, draws = model.log_density(values, given=given), model.sample(values, 2, given=given, random_state=3)
    for row in (0, 1, len(values) - 1):
        alone = model.log_density(values[[row]], given=given)
        assert alone.tobytes() == density[[row]].tobytes(), f"{name}: a row's density depends on the rows beside it"
        own = model.sample(values[[row]], 2, given=given, random_state=3)
        expected = draws[2 * row : 2 * row + 2]
        assert own.tobytes() == expected.tobytes(), f"{name}: a row's draws depend on the rows beside it"
    backwards = model.sample(values[::-1].copy(), 2, given=given, random_state=3).reshape(len(values), 2, -1)[::-1]
    assert unchanged(backwards.reshape(draws.shape), draws).all(), f"{name}: draws depend on the order of the rows"


def _check_equal(name: str, what: str, other: Any, model: Any, values: np.ndarray) -> None:
    same = other.log_density(values).tobytes() == model.log_density(values).tobytes()
    assert same, f"{name}: {what} gives other densities"
    same = other.sample(values, 2, random_state=1).tobytes() == model.sample(values, 2, random_state=1).tobytes()
    assert same, f"{name}: {what} gives other draws"


def _check_state(name: str, fresh: Any, model: Any, values: np.ndarray) -> None:
    facts, arrays = model.state()
    facts = json.loads(json.dumps(facts, allow_nan=False))
    arrays = {key: np.array(array) for key, array in arrays.items()}
    assert fresh.restore(facts, arrays) is fresh, f"{name}: restore must return self"
    assert fresh.schema_ == SCHEMA, f"{name}: restore does not set schema_"
    _check_equal(name, "the restored model", fresh, model, values)


def _check_mass(model: Any, name: str, seed: int) -> None:
    """All rows of a small table have probabilities that sum to one, or to less if they are bounds."""
    model.fit(_small(seed))
    sets: list[Sequence[str] | None] = [None, (), ("sex", "grade"), ("grade",)] if model.any_given else [None]
    for given in sets:
        held = list(SMALL.immutable_columns) if given is None else [SMALL.position(column) for column in given]
        for row in itertools.islice(_listed(held), 2):
            rows = np.array(list(_listed([j for j in range(len(SMALL)) if j not in held], row)))
            if not model.exact:
                rows = rows[~np.isnan(rows).any(axis=1)]  # missing cells are left out, so they have no probability
            mass = np.exp(model.log_density(rows, given=given))
            if not model.exact:
                # a bound is estimated from a few draws
                assert mass.sum() < 1.1, f"{name}: the bound sums to {mass.sum():.4f} over all rows, which is above 1"
                continue
            # where probabilities of the given cells are estimated, the sum is one but for the error of the estimate
            close = 1e-5 if given is None or not held else 0.1
            assert abs(mass.sum() - 1) < close, (
                f"{name}: densities sum to {mass.sum():.5f} over all rows, given {given}"
            )
            draws = model.sample(rows[:1], DRAWS, given=given, random_state=seed)
            observed = (unchanged(draws[:, None], rows)).all(axis=2).sum(axis=0)
            assert observed.sum() == DRAWS, f"{name}: draws are not among the possible rows, given {given}"
            chance = _chance(observed, mass / mass.sum(), floor=0.0 if close < 0.1 else 0.02)
            assert chance > 1e-4, f"{name}: draws do not fit the density (p = {chance:.2g}), given {given}"


def _chance(observed: np.ndarray, share: np.ndarray, floor: float) -> float:
    """The p-value of Pearson's test; `floor` is a relative error of shares that is not held against them."""
    common = DRAWS * share >= 5
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(DRAWS * share[common], DRAWS * share[~common].sum())
    observed, expected = observed[expected > 1], expected[expected > 1]
    squares = np.maximum(np.abs(observed - expected) - floor * expected, 0.0) ** 2 / expected
    return float(stats.chi2.sf(squares.sum(), max(len(expected) - 1, 1)))


def _listed(columns: Sequence[int], row: np.ndarray | None = None) -> Iterator[np.ndarray]:
    """All rows of the small table that differ in some columns only; `home` may be missing."""
    cells: list[list[float]] = [[0, 1], [-1, 0, 1, 2, 3, 4], [0, 1, 2, np.nan], [0, 1, 2]]
    base = np.zeros(len(SMALL)) if row is None else row
    for chosen in itertools.product(*(cells[j] for j in columns)):
        made = base.copy()
        made[list(columns)] = chosen
        yield made


def _small(seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    sex = generator.integers(0, 2, 300)
    grade = np.clip(generator.integers(0, 3, 300) + sex - generator.integers(0, 2, 300), 0, 2)
    visits = np.where(generator.random(300) < 0.2, -1, np.minimum(generator.poisson(0.5 + grade), 4))
    home = np.where(visits > 1, generator.integers(0, 2, 300), 2 * generator.integers(0, 2, 300)).astype(float)
    home[generator.random(300) < 0.1] = np.nan
    return np.column_stack([sex, visits, home, grade]).astype(np.float64)


def _check_line(model: Any, name: str, seed: int) -> None:
    """The density integrates to one over a continuous column and, times the step, sums to one over one with a step."""
    generator = np.random.default_rng(seed)
    sex = generator.integers(0, 2, 400).astype(np.float64)
    share = 10 * generator.beta(1 + 3 * sex, 3, 400)
    model.fit(np.column_stack([sex, share, np.round(share + generator.random(400)) / 2]))
    middles = (np.arange(4000) + 0.5) / 400
    steps = np.arange(11) / 2
    for own in (0.0, 1.0):
        rows = np.column_stack([np.full(len(middles), own), middles, middles])
        total = np.zeros(len(rows))
        for points in steps:
            rows[:, 2] = points
            total += np.exp(model.log_density(rows)) * 0.5
        mass = total.mean() * 10
        assert abs(mass - 1) < 0.01, f"{name}: the density of a continuous column has total mass {mass:.4f}, not 1"
        draws = model.sample(rows[:1], DRAWS, random_state=seed)[:, 1]
        cumulative = np.cumsum(total) / total.sum()
        chance = stats.kstest(np.interp(draws, middles, cumulative), "uniform").pvalue
        assert chance > 1e-4, f"{name}: draws of a continuous column do not fit the density (p = {chance:.2g})"
