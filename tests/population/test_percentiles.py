"""Percentiles and shifts, against closed answers, SciPy and properties that must hold for any data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from attain.population.measuring import Percentiles
from attain.schema import Feature, Schema
from tests.coordinates import real_schema

NAN = float("nan")
ONE = Schema((Feature("x", "real"),))
MIXED = Schema(
    (
        Feature("income", "real", special={-9: "no record"}),
        Feature("grade", "ordinal", levels=("low", "middle", "high")),
        Feature("colour", "categorical", levels=("red", "green")),
        Feature("age", "count", immutable=True),
        Feature("ratio", "real", derived="income / age"),
    )
)


def column(*cells: float) -> np.ndarray:
    return np.array(cells, dtype=float)[:, None]


numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3))
samples = arrays(float, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=numbers)


@pytest.mark.parametrize(
    ("counterfactual", "cost"), [(3, 0), (1, 0.6), (2, 0.2), (9, 0), (10, 0.2), (0, 0.8), (2.5, 0.2), (99, 0.2)]
)
def test_shifts_from_3_in_the_sample_1_2_2_3_10(counterfactual: float, cost: float) -> None:
    percentiles = Percentiles.fit(ONE, column(1, 2, 2, 3, 10))
    assert percentiles.shift(column(3), column(counterfactual))[0, 0] == pytest.approx(cost, abs=1e-15)


def test_flat_stretches_are_not_free_when_interpolated() -> None:
    percentiles = Percentiles.fit(ONE, column(1, 2, 2, 3, 10))
    assert percentiles.interpolated_shift(column(3), column(9))[0, 0] == pytest.approx(0.2 * 6 / 7)
    np.testing.assert_allclose(percentiles.interpolated(column(0, 1, 1.5, 2, 11)), column(0.2, 0.2, 0.4, 0.6, 1))


def test_percentiles_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    sample = rng.integers(0, 20, size=(200, 1)).astype(float)
    asked = np.concatenate((np.arange(-2, 23), rng.uniform(-1, 21, 20)))[:, None]
    percentiles = Percentiles.fit(ONE, sample)
    expected = stats.percentileofscore(sample.ravel(), asked.ravel(), kind="weak") / 100
    np.testing.assert_allclose(percentiles.of(asked).ravel(), expected, atol=1e-14)
    at_points = np.unique(sample)[:, None]
    np.testing.assert_allclose(percentiles.interpolated(at_points), percentiles.of(at_points), atol=1e-15)


def test_cells_off_the_scale_have_no_percentile_and_do_not_count() -> None:
    train = np.array([[10, 0, 0, 1, 1], [20, 1, 1, 2, 1], [-9, 2, 0, 3, 1], [NAN, 2, 1, 4, 1]], dtype=float)
    found = Percentiles.fit(MIXED, train).of(train)
    np.testing.assert_array_equal(found[:, 0], [0.5, 1, NAN, NAN])
    np.testing.assert_array_equal(found[:, 1], [0.25, 0.5, 1, 1])
    assert np.isnan(found[:, 2]).all()
    np.testing.assert_array_equal(found[:, 3], [0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [(10, 20, 0.5), (10, -9, 1), (-9, 20, 1), (-9, -9, 0), (NAN, 20, 1), (10, NAN, 1), (NAN, NAN, 0), (-9, NAN, 1)],
)
def test_moves_into_and_out_of_special_and_missing_states_count_one(
    before: float, after: float, expected: float
) -> None:
    train = np.array([[10, 0, 0, 1, 1], [20, 1, 1, 2, 1]], dtype=float)
    percentiles = Percentiles.fit(MIXED, train)
    factual, counterfactual = np.array([[before, 0, 0, 1, 1]]), np.array([[after, 0, 0, 1, 1]])
    for shift in (percentiles.shift, percentiles.interpolated_shift):
        np.testing.assert_array_equal(shift(factual, counterfactual), [[expected, 0, 0, 0, 0]])


def test_another_level_counts_one_and_ordinal_levels_count_by_people() -> None:
    train = np.array([[1, 0, 0, 1, 1], [1, 1, 1, 1, 1], [1, 1, 0, 1, 1], [1, 2, 0, 1, 1]], dtype=float)
    shifts = Percentiles.fit(MIXED, train).shift(train[[0]], np.array([[1, 1, 1, 1, 1.0]]))
    np.testing.assert_array_equal(shifts, [[0, 0.5, 1, 0, 0]])


def test_a_person_without_an_answer_has_no_shift() -> None:
    percentiles = Percentiles.fit(real_schema(2), np.array([[1, 2], [3, 4.0]]))
    shifts = percentiles.shift([[1, 2], [1, NAN]], [[NAN, NAN], [3, NAN]])
    np.testing.assert_array_equal(shifts, [[NAN, NAN], [0.5, 0]])


def test_a_column_without_training_values_has_no_percentile_and_a_change_counts_one() -> None:
    percentiles = Percentiles.fit(ONE, column(NAN, NAN))
    assert np.isnan(percentiles.of(column(1))).all()
    np.testing.assert_array_equal(percentiles.shift(column(1, 1), column(1, 2)), column(0, 1))
    np.testing.assert_array_equal(Percentiles.fit(ONE, np.empty((0, 1))).shift(column(1), column(2)), column(1))


def test_chosen_columns_and_leading_dimensions_give_the_same_numbers() -> None:
    rng = np.random.default_rng(0)
    train, asked = rng.normal(size=(50, 4)), rng.normal(size=(6, 7, 4))
    percentiles = Percentiles.fit(real_schema(4), train)
    whole = percentiles.of(asked.reshape(-1, 4)).reshape(asked.shape)
    np.testing.assert_array_equal(percentiles.of(asked), whole)
    np.testing.assert_array_equal(percentiles.of(asked[..., [3, 1]], columns=[3, 1]), whole[..., [3, 1]])


@given(samples, st.data())
def test_shifts_lie_between_their_bounds(train: np.ndarray, data: st.DataObject) -> None:
    number = train.shape[1]
    rows = data.draw(arrays(float, (2, number), elements=numbers))
    percentiles = Percentiles.fit(real_schema(number), train)
    for shift in (percentiles.shift, percentiles.interpolated_shift):
        shifts = shift(rows[:1], rows[1:])
        total, largest = shifts.sum(), shifts.max()
        assert 0 <= largest <= total + 1e-12
        assert total <= number * largest + 1e-12 <= number + 1e-9
        assert not shift(rows, rows).any()


@given(samples, st.data())
def test_ecdf_shifts_survive_strictly_increasing_transforms(train: np.ndarray, data: st.DataObject) -> None:
    rows = data.draw(arrays(float, (2, train.shape[1]), elements=numbers))

    def transform(values: np.ndarray) -> np.ndarray:
        # Exactly increasing on the grid of thousandths, so that no two values merge by rounding.
        whole = np.rint(values * 1000)
        return whole * 4 + np.sign(whole)

    schema = real_schema(train.shape[1])
    plain = Percentiles.fit(schema, train).shift(rows[:1], rows[1:])
    transformed = Percentiles.fit(schema, transform(train)).shift(transform(rows[:1]), transform(rows[1:]))
    np.testing.assert_array_equal(plain, transformed)


@given(arrays(float, st.integers(1, 30), elements=numbers), numbers, st.lists(numbers, min_size=2, max_size=10))
def test_shifts_do_not_fall_further_away_on_either_side(
    sample: np.ndarray, factual: float, others: list[float]
) -> None:
    percentiles = Percentiles.fit(ONE, sample[:, None])
    for side in (sorted(o for o in others if o >= factual), sorted((o for o in others if o <= factual), reverse=True)):
        if side:
            shifts = percentiles.shift(np.full((len(side), 1), factual), np.array(side)[:, None]).ravel()
            assert (np.diff(shifts) >= -1e-12).all()


@given(arrays(float, st.integers(2, 30), elements=numbers), st.lists(st.floats(0, 1), max_size=5))
def test_interpolated_percentiles_rise_strictly_so_that_no_move_is_free(sample: np.ndarray, along: list[float]) -> None:
    percentiles = Percentiles.fit(ONE, sample[:, None])
    points = np.unique(sample)
    between = [points[:-1] + part * np.diff(points) for part in (1e-6, *np.clip(along, 1e-6, 1 - 1e-6), 1 - 1e-6)]
    asked = np.unique(np.concatenate((points, *between)))
    found = percentiles.interpolated(asked[:, None]).ravel()
    assert (np.diff(found) > 0).all()
    outside = percentiles.interpolated(column(points[0] - 1, points[0] - 2, points[-1] + 1, points[-1] + 2)).ravel()
    assert outside[0] == outside[1] <= found[0]
    assert outside[2] == outside[3] >= found[-1]


def test_cells_move_among_the_training_rows_and_stay_where_many_are() -> None:
    schema = Schema(
        (Feature("even", "real"), Feature("pile", "count"), Feature("home", "categorical", levels=("a", "b")))
    )
    values = np.column_stack((np.arange(100.0), np.r_[np.zeros(80), np.arange(1.0, 21.0)], np.arange(100) % 2))
    percentiles = Percentiles.fit(schema, values)
    rows = np.array([[50.0, 0.0, 1.0], [50.25, 5.0, 1.0], [99.0, 20.0, 0.0]])
    moves = np.array([-0.1, 0.0, 0.1])[None, :, None] * np.ones((3, 1, 3))
    found = percentiles.moved(rows, moves, np.ones((3, 3), dtype=bool))
    np.testing.assert_array_equal(found[:, :, 0], [[40, 50, 60], [40.25, 50.25, 60.25], [89, 99, 99]])
    # 0 has the ranks from 0 to 0.8, and counts as 0.4; 5 counts as 0.845
    np.testing.assert_array_equal(found[:, :, 1], [[0, 0, 0], [0, 5, 15], [10, 20, 20]])
    np.testing.assert_array_equal(found[:, :, 2], np.repeat(rows[:, 2:], 3, axis=1))
    still = percentiles.moved(rows, moves, np.zeros((3, 3), dtype=bool))
    np.testing.assert_array_equal(still, np.repeat(rows[:, None], 3, axis=1))
