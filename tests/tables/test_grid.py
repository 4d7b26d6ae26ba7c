"""Numbers on their grid, against Python's decimal arithmetic."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.tables import is_on_grid, on_grid, snapped

STEPS = st.sampled_from([None, 1.0, 5.0, 100.0, 0.1, 0.01, 0.5, 0.25, 1e-6, 1 / 3, 1e-20, 12.5])
NUMBERS = st.floats(-1e12, 1e12)


@given(st.lists(NUMBERS, min_size=1, max_size=20), STEPS)
def test_what_was_put_on_the_grid_lies_on_it_and_stays(values: list[float], step: float | None) -> None:
    once = on_grid(np.array(values), step)
    assert is_on_grid(once, step).all()
    assert on_grid(once, step).tobytes() == once.tobytes()


@given(NUMBERS, st.sampled_from(["0.1", "0.01", "0.5", "0.025", "3", "100"]))
def test_a_grid_value_is_the_very_number_its_decimal_writes(value: float, step: str) -> None:
    made = float(on_grid(np.array([value]), float(step))[0])
    multiple = round(Decimal(made) / Decimal(step))
    assert made == float(multiple * Decimal(step))
    assert abs(Decimal(made) - Decimal(value)) <= Decimal(step) / 2 + abs(Decimal(value)) * Decimal("1e-9")


@given(st.floats(-1e22, 1e22))
def test_without_a_step_six_significant_digits_are_kept(value: float) -> None:
    made = float(on_grid(np.array([value]), None)[0])
    if 1e-16 < abs(value) < 1e22:
        assert made == float(f"{made:.5e}")
        assert abs(Decimal(made) - Decimal(value)) <= abs(Decimal(value)) * Decimal("5.0001e-6")


def test_rounding_needs_no_neighbours() -> None:
    values = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(-20, 20).repeat(25)
    alone = np.array([on_grid(values[[i]], None)[0] for i in range(len(values))])
    assert alone.tobytes() == on_grid(values, None).tobytes()


def test_no_negative_zero_comes_out() -> None:
    for step in (None, 1.0, 0.1):
        assert not np.signbit(on_grid(np.array([-0.0, -1e-320]), step)).any()


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, st.floats(0, 1e6)), min_size=1, max_size=10),
    st.sampled_from([None, 1.0, 0.1, 50.0]),
)
def test_a_snapped_number_lies_within_its_limits_or_there_is_none(
    cases: list[tuple[float, float, float]], step: float | None
) -> None:
    values, low, width = (np.array(part) for part in zip(*cases, strict=True))
    high = low + width
    made = snapped(values, step, low, high)
    found = ~np.isnan(made)
    assert ((made >= low) & (made <= high))[found].all()
    assert is_on_grid(made[found], step).all()
    if step is not None:  # a grid value exists wherever the limits are a step apart
        assert found[width > 2 * step].all()


def test_known_answers() -> None:
    open_ = np.array([-math.inf]), np.array([math.inf])
    assert on_grid(np.array([1234567.0, 0.1 + 0.2, -99999.95]), None).tolist() == [1234570.0, 0.3, -100000.0]
    assert on_grid(np.array([0.1 + 0.2, 0.35000000001]), 0.1).tolist() == [0.3, 0.4]
    assert snapped(np.array([7.2]), 5.0, *open_).tolist() == [5.0]
    assert snapped(np.array([7.2]), 5.0, np.array([6.0]), np.array([11.0])).tolist() == [10.0]
    assert math.isnan(snapped(np.array([7.2]), 5.0, np.array([6.0]), np.array([9.0]))[0])
    assert on_grid(np.array([1e300]), 1e-10).tolist() == [1e300]


@pytest.mark.parametrize("step", [None, 1.0, 0.1])
def test_missing_stays_missing(step: float | None) -> None:
    assert np.isnan(on_grid(np.array([math.nan]), step)).all()
