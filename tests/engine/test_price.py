"""The engine's costs, beside plain Python of the formula that they document."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attain.methods.guarded.search import ShiftCosts
from attain.population.measuring import Percentiles
from attain.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature("x", "real", special={-9: "none"}),
        Feature("n", "count"),
        Feature("grade", "ordinal", levels=("low", "middle", "high")),
        Feature("house", "categorical", levels=("rents", "owns")),
        Feature("fixed", "real", immutable=True),
        Feature("double", "real", derived="2 * n"),
        Feature("empty", "real"),
    )
)
NAN = math.nan
CELLS = (
    st.sampled_from([-9.0, NAN, -3.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.25, 7.0]),
    st.sampled_from([0.0, 1.0, 2.0, 3.0, 9.0, NAN]),
    st.sampled_from([0.0, 1.0, 2.0, NAN]),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.0, 2.0, 4.0]),
    st.sampled_from([0.0, 1.0, NAN]),
)
ROWS = st.lists(st.tuples(*CELLS), min_size=1, max_size=12)


def rank(column: np.ndarray, special: list[float], cell: float) -> float:
    """The documented interpolated midrank of a cell among the ordinary ones of a column."""
    known = sorted(value for value in column.tolist() if not math.isnan(value) and value not in special)
    if not known or math.isnan(cell) or cell in special:
        return NAN
    share = {value: known.count(value) / len(known) for value in known}
    below = sum(share[value] for value in share if value <= cell)
    if cell in share:
        return below - share[cell] / 2
    before, after = [v for v in share if v < cell], [v for v in share if v > cell]
    if not before or not after:
        return below
    left, right = max(before), min(after)
    along = (cell - left) / (right - left)
    return below - 0.05 * share[left] + 0.05 * (share[left] + share[right]) * along


@settings(max_examples=60, deadline=None)
@given(train=ROWS, rows=ROWS, seed=st.integers(0, 9))
def test_ranks_and_costs_are_those_of_the_formula(train: list, rows: list, seed: int) -> None:
    random, values, changed = np.random.default_rng(seed), np.array(train), np.array(rows)
    largest, number = 0.5 * (seed % 3), 0.02 * (seed % 2)
    price = ShiftCosts(Percentiles.fit(SCHEMA, values), largest, number).engine
    own, weights = values[random.integers(len(values), size=len(changed))], random.random(changed.shape) + 0.5
    ranks = np.full(changed.shape, NAN)
    for j, feature in enumerate(SCHEMA):
        if feature.ordered:
            ranks[:, j] = [rank(values[:, j], list(feature.special), cell) for cell in changed[:, j]]
    np.testing.assert_allclose(price.ranks(changed), ranks, atol=1e-12)
    apart = ~((changed == own) | (np.isnan(changed) & np.isnan(own)))
    moved = np.nan_to_num(np.abs(ranks - price.ranks(own)), nan=1.0)
    shifts = weights * moved * apart * np.isin(range(len(SCHEMA)), SCHEMA.free_columns)
    changes = apart[:, [feature.derived is None for feature in SCHEMA]].sum(axis=1)
    costs = shifts.sum(axis=1) + largest * shifts.max(axis=1) + number * changes
    np.testing.assert_allclose(price.costs(changed, own, weights), costs, atol=2e-10)


def test_costs_of_a_column_worked_out_by_hand() -> None:
    schema = Schema((Feature("x", "real"),))
    values = np.array([[0.0], [0.0], [0.0], [2.0], [4.0]])
    price = ShiftCosts(Percentiles.fit(schema, values), 0.5, 0.02).engine
    cells = np.array([[-1.0], [0.0], [1.0], [2.0], [4.0], [5.0]])
    # at 1, half way from 0 to 2: 0.6 − 0.05 · 0.6 + 0.05 · (0.6 + 0.2) / 2
    assert price.ranks(cells).ravel() == pytest.approx([0, 0.3, 0.59, 0.7, 0.9, 1])
    costs = price.costs(cells, np.zeros((6, 1)), np.ones((6, 1)))
    assert costs == pytest.approx([0.47, 0, 1.5 * 0.29 + 0.02, 0.62, 0.92, 1.07])
