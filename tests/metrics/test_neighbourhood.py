"""Shares among nearest people, and distances relative to the nearest unlike person."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from attain.core.errors import AttainError, DataError
from attain.metrics import relative_distance, y_nearest
from attain.population.space import MeasuringSpace
from attain.schema import Feature, Schema

NAN = float("nan")


def space_of(values: np.ndarray, scaled: bool = True) -> MeasuringSpace:
    schema = Schema(tuple(Feature(f"x{j}", "real") for j in range(values.shape[1])))
    space = MeasuringSpace.fit(schema, values)
    width = values.shape[1]
    return space if scaled else replace(space, mean=np.zeros(width), scale=np.ones(width))


LINE = np.array([[0.0], [1], [2], [3], [10], [11]])
MET = np.array([False, False, True, True, True, False])


def test_known_answers() -> None:
    space = space_of(LINE, scaled=False)
    np.testing.assert_allclose(y_nearest([[2.9], [10.4], [NAN]], LINE, MET, space, k=2), [1, 0.5, NAN])
    np.testing.assert_allclose(y_nearest([[2.9]], LINE, MET, space, k=99), [0.5])
    np.testing.assert_allclose(y_nearest([[1.4], [1.4]], LINE, MET, space, 3, [True, False]), [1 / 3, NAN])
    assert np.isnan(y_nearest([[1.0]], np.empty((0, 1)), np.empty(0, dtype=bool), space)).all()


@pytest.mark.parametrize("dimensions", [3, 20])
def test_the_share_is_that_of_a_neighbours_classifier(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    rows, answers = rng.normal(size=(200, dimensions)), rng.normal(size=(50, dimensions))
    met = rows[:, 0] > 0.2
    scaled = [(x - rows.mean(axis=0)) / rows.std(axis=0) for x in (rows, answers)]
    for k in (1, 5):
        judge = KNeighborsClassifier(n_neighbors=k).fit(scaled[0], met)
        np.testing.assert_allclose(
            y_nearest(answers, rows, met, space_of(rows), k), judge.predict_proba(scaled[1])[:, 1]
        )


def test_relative_distance_by_hand_and_by_scikit_learn() -> None:
    space = space_of(LINE, scaled=False)
    answers, factuals = [[1.5], [3.0], [2.0], [0.0], [NAN]], [[0.0], [0.0], [2.0], [0.0], [0.0]]
    np.testing.assert_allclose(relative_distance(answers, factuals, LINE, MET, space), [0.75, 1.5, 0, 0, NAN])
    assert np.isposinf(relative_distance([[3.0]], [[2.0]], LINE, MET, space)).all()
    assert np.isnan(relative_distance([[3.0]], [[2.0]], LINE, ~MET & MET, space)).all()
    rng = np.random.default_rng(0)
    rows, factuals, answers = rng.normal(size=(100, 3)), rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    met, space = rows[:, 1] > 0, space_of(rows)
    near = (
        NearestNeighbors(n_neighbors=1).fit(space.transform(rows[met])).kneighbors(space.transform(factuals))[0][:, 0]
    )
    moved = np.linalg.norm((answers - factuals) / rows.std(axis=0), axis=1)
    np.testing.assert_allclose(relative_distance(answers, factuals, rows, met, space), moved / near, rtol=1e-10)


def test_misuse_is_told() -> None:
    space = space_of(LINE)
    with pytest.raises(AttainError, match="k is 0"):
        y_nearest([[1.0]], LINE, MET, space, k=0)
    with pytest.raises(DataError, match=r"met has the shape \(2,\) .* for each of the 6 rows"):
        y_nearest([[1.0]], LINE, MET[:2], space)
    with pytest.raises(DataError, match="factuals has 2 rows"):
        relative_distance([[1.0]], [[1.0], [2.0]], LINE, MET, space)
