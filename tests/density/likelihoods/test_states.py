"""States of columns: total mass one, and values that lie where they should."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from attain.core.errors import DataError
from attain.density.likelihoods.states import States
from attain.schema import Feature

GENERATOR = np.random.default_rng(0)
COLUMNS = {
    "counts": (Feature("a", "count"), GENERATOR.negative_binomial(1, 0.02, 500).astype(float)),
    "bounded counts": (Feature("a", "count", bounds=(0, 60), special=(-9, -8)), np.r_[3.0, -9.0, 40:50]),
    "steps": (Feature("a", "interval", bounds=(0, 10), step=0.1), np.round(10 * GENERATOR.beta(2, 2, 400), 1)),
    "open steps": (Feature("a", "real", step=5), 5.0 * GENERATOR.integers(-20, 30, 100)),
    "reals": (Feature("a", "real"), GENERATOR.standard_t(3, 300)),
    "atoms": (Feature("a", "positive"), np.r_[np.zeros(80), np.full(30, 2.5), GENERATOR.exponential(2.0, 300)]),
    "bounded reals": (Feature("a", "real", bounds=(-1, 2)), GENERATOR.uniform(-0.5, 2.0, 150)),
    "off the grid": (Feature("a", "real", step=1), GENERATOR.normal(0, 3, 100)),
    "constant": (Feature("a", "real"), np.full(50, 3.0)),
}


@pytest.fixture(params=COLUMNS)
def fitted(request: pytest.FixtureRequest) -> Any:
    feature, values = COLUMNS[request.param]
    return States.fit(feature, np.append(values, np.nan)), values


def position(column: States, cells: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of its state's mass below each cell, and up to and with it: equal within a continuous interval."""
    below, above = np.zeros(len(cells)), np.ones(len(cells))
    for i, (cell, state) in enumerate(zip(cells, states, strict=True)):
        place = state - column.first
        if place < 0:
            continue
        size, side = column.sizes[place], {0: 0, len(column.starts) - 1: 1}.get(place, -1)
        if side >= 0 and column.tails[side] > 0:
            edge, scale = column.starts[1] if side == 0 else column.starts[-1], column.tails[side]
            away, whole = abs(cell - edge), np.expm1(-size * (column.step or 1.0) / scale)
            step = column.step
            ends = [step * (np.floor(away / step) + end) for end in (0, 1)] if step else [away, away]
            inner, outer = (np.expm1(-end / scale) / whole for end in ends)
            below[i], above[i] = (inner, outer) if side else (1 - outer, 1 - inner)
        elif column.step:
            below[i] = np.floor((cell - column.starts[place]) / column.step) / size
            above[i] = below[i] + 1 / size
        elif size > 0:
            below[i] = above[i] = (cell - column.starts[place]) / size
    return below, above


def test_each_state_has_mass_one(fitted: Any) -> None:
    column, _ = fitted
    for state in range(column.first, column.count):
        place = state - column.first
        start, size = column.starts[place], column.sizes[place]
        if column.step:
            number = np.arange(min(size, 20_000))
            below = column.tails[0] > 0 and place == 0
            first = column.starts[1] - column.step / 2 if below else start + column.step / 2
            points = first + (-1 if below else 1) * number * column.step
            unit = 1.0 if column.feature.kind == "count" else column.step
            mass = np.exp(column.log_within(points, np.full(len(points), state))).sum() * unit
        elif size == 0:
            mass = np.exp(column.log_within(np.array([start]), np.array([state])))[0]
        else:
            end = column.starts[place + 1] if place + 1 < len(column.starts) else start + size
            density = lambda x, s=state: np.exp(column.log_within(np.array([x]), np.array([s])))[0]  # noqa: E731
            mass = integrate.quad(density, start, end)[0]
        assert mass == pytest.approx(1.0, abs=1e-4), f"state {state}"


def test_drawn_cells_are_in_their_state_and_at_their_share(fitted: Any) -> None:
    column, cells = fitted
    generator = np.random.default_rng(1)
    states, u = generator.integers(0, column.count, 3000), generator.random(3000)
    drawn = column.draw(states, u)
    assert np.array_equal(column.encode(drawn), states)
    below, above = position(column, drawn, states)
    assert ((below <= u + 1e-6) & (u <= above + 1e-6)).all()
    assert np.isfinite(column.log_within(drawn, states)).all()
    assert np.isfinite(column.log_within(cells, column.encode(cells))).all()


def test_a_value_beyond_the_bounds_is_impossible_and_one_beyond_the_data_is_not() -> None:
    for name in ("steps", "bounded reals", "bounded counts"):
        column = States.fit(*COLUMNS[name])
        low, high = column.feature.bounds
        outside = np.array([low - 1.0, high + 1.0])  # type: ignore[operator]
        assert np.isneginf(column.log_within(outside, column.encode(outside))).all()
    column = States.fit(*COLUMNS["reals"])
    far = np.array([-1e3, 1e3, 1e6])
    density = column.log_within(far, column.encode(far))
    assert np.isfinite(density).all()
    assert density[2] < density[1] < -10


def test_a_tail_ends_at_the_bound_though_rounding_goes_beyond() -> None:
    parts = (np.array([-0.5, 15.5]), np.array([16.0, 5.0]), np.array([0.0, 3.0]))
    column = States(Feature("a", "count", bounds=(0, 20)), 1.0, *parts)
    assert column.draw(np.array([1]), np.array([np.nextafter(1.0, 0.0)])) == 20


def test_values_that_many_rows_share_are_states_of_their_own() -> None:
    column = States.fit(*COLUMNS["atoms"])
    states = column.encode(np.array([0.0, 2.5, 2.5 + 1e-9, 2.5 - 1e-9]))
    assert len(set(states)) == 4
    assert np.array_equal(column.sizes[states - column.first] == 0, [True, True, False, False])


def test_special_codes_come_first() -> None:
    column = States.fit(*COLUMNS["bounded counts"])
    assert np.array_equal(column.encode(np.array([-9.0, -8.0])), [0, 1])


def test_a_column_without_values_has_states() -> None:
    column = States.fit(Feature("a", "interval", bounds=(2, 4), step=1), np.full(5, np.nan))
    points = np.array([2.0, 3.0, 4.0])
    assert np.isfinite(column.log_within(points, column.encode(points))).all()


def test_infinite_values_are_refused() -> None:
    with pytest.raises(DataError, match="'a' has infinite values"):
        States.fit(Feature("a", "real"), np.array([1.0, np.inf]))


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=60), st.integers(-60, 60))
def test_on_a_grid_values_off_it_belong_to_the_nearest(values: list[int], asked: int) -> None:
    column = States.fit(Feature("a", "real", step=1), np.array(values, dtype=np.float64))
    near = asked + np.array([-0.4, 0.0, 0.4])
    assert len(set(column.encode(near))) == 1
    density = column.log_within(near, column.encode(near))
    assert np.ptp(density) == 0
