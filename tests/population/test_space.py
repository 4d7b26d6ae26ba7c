"""The measuring space, against scikit-learn's scaler and hand-made rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler

from attain.population.space import MeasuringSpace, gap
from attain.schema import Feature, Schema

NAN = float("nan")
SCHEMA = Schema(
    (
        Feature("income", "real", special={-9: "no record", -8: "not asked"}),
        Feature("grade", "ordinal", levels=("low", "middle", "high")),
        Feature("colour", "categorical", levels=("red", "green", "blue")),
        Feature("age", "count", immutable=True),
        Feature("gap", "real", fillable=True),
    )
)
TRAIN = np.array([[10, 0, 0, 3, 1], [30, 2, 1, 3, 1], [-9, 1, NAN, 3, 5], [NAN, 1, 1, 3, 5]], dtype=float)


def test_numbers_are_scaled_like_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    schema = Schema(tuple(Feature(f"x{j}", "real") for j in range(4)))
    train, rows = rng.lognormal(3, 1, (80, 4)), rng.lognormal(3, 1, (9, 4))
    train[:, 3] = rows[:, 3] = 0.1
    expected = StandardScaler().fit(train).transform(rows)
    points = MeasuringSpace.fit(schema, train).transform(rows)
    np.testing.assert_allclose(points[:, :4], expected, atol=1e-12)
    np.testing.assert_array_equal(points[:, 3:], 0)


def test_each_state_of_a_cell_has_its_home() -> None:
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    half = np.sqrt(0.5)
    # income, grade, age, gap | income -9, -8, missing | red, green, blue, missing | gap missing | unforeseen
    expected = [
        [-1, -1 / half, 0, -1, 0, 0, 0, 1, 0, 0, 0, 0, 0],
        [1, 1 / half, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0],
    ]
    np.testing.assert_allclose(space.transform(TRAIN), expected, atol=1e-15)
    new = space.transform([[-8, NAN, 2, NAN, NAN]])
    np.testing.assert_allclose(new, [[0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, np.sqrt(2)]], atol=1e-15)


def test_unforeseen_missing_cells_are_as_far_from_real_people_as_an_indicator_each() -> None:
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    real, same_but_missing = space.transform([[10, 1, 0, 3, 1], [10, NAN, 0, NAN, 1]])
    assert np.linalg.norm(real - same_but_missing) == pytest.approx(np.sqrt(2))


def test_columns_without_values_and_tables_without_rows_are_spaces_too() -> None:
    schema = Schema((Feature("x", "real"), Feature("y", "real")))
    points = MeasuringSpace.fit(schema, [[NAN, 1], [NAN, 2]]).transform([[7, 1], [NAN, 2]])
    np.testing.assert_array_equal(points[:, 0], [7, 0])
    assert np.isfinite(MeasuringSpace.fit(schema, np.empty((0, 2))).transform([[1, 2.0]])).all()


def test_sparse_points_are_the_points() -> None:
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    rows = np.vstack((TRAIN, [[-8, 2, 2, NAN, NAN], [1.5, NAN, 7, 4, 0]]))
    np.testing.assert_array_equal(space.sparse(rows).toarray(), space.transform(rows))
    assert space.transform(rows[:0]).shape == (0, space.dimension)


ROWS = np.vstack((TRAIN, [[-8, 2, 2, NAN, NAN], [1.5, NAN, 7, 4, 0], [-9, 0, NAN, NAN, NAN], [20, 1, 0, NAN, -0.0]]))


def test_points_have_the_states_of_columns_then_numbers_then_unforeseen_missing_cells() -> None:
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    np.testing.assert_array_equal(space.columns, [*space.stated, *space.scaled, -1])
    points = space.points(ROWS)
    # income: none, -9, -8, missing; colour: none, red, green, blue, missing; gap: none, missing
    np.testing.assert_array_equal(points[:, 0], [0, 0, 1, 3, 2, 0, 1, 0])
    np.testing.assert_array_equal(points[:, 1], [1, 2, 4, 2, 3, 0, 4, 1])
    np.testing.assert_array_equal(points[:, 2], [0, 0, 0, 0, 1, 0, 1, 0])
    np.testing.assert_array_equal(points[:, 3:-1], space.transform(ROWS)[:, :4])


def test_gaps_of_points_add_up_to_squared_distances() -> None:
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    points, states = space.points(ROWS), len(space.stated)
    gaps = [gap(column[:, None], column, cell < states) for cell, column in enumerate(points.T)]
    np.testing.assert_allclose(sum(gaps), cdist(space.transform(ROWS), space.transform(ROWS)) ** 2, atol=1e-12)
    assert set(np.unique(gaps[:states])) == {0, 1, 2}
    assert gap(np.float32([1]), np.float32([2]), True).dtype == np.float32


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_points_of_any_cells_do_not_depend_on_the_leading_dimensions(seed: int, number: int) -> None:
    random = np.random.default_rng(seed)
    cells = [[-9, -8, NAN, 12.5, 0, 1], [0, 1, 2, NAN], [0, 1, 2, 3, -1, NAN, 0.5], [3, 4, NAN], [0, 1, NAN]]
    rows = np.column_stack([random.choice(some, number) for some in cells])
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    points = space.points(rows)
    np.testing.assert_array_equal(space.transform(rows)[:, : len(space.scaled)], points[:, 3:-1])
    assert space.points(rows[None])[0].tobytes() == points.tobytes()
