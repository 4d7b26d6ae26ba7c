"""Shares of accepted rows among the nearest ones."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from attain.core.errors import AttainError, DataError
from attain.metrics import y_nearest
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


def test_misuse_is_told() -> None:
    space = space_of(LINE)
    with pytest.raises(AttainError, match="k must be an integer ≥ 1, got 0"):
        y_nearest([[1.0]], LINE, MET, space, k=0)
    with pytest.raises(DataError, match=r"met must hold one boolean for each of the 6 rows, got bool of shape \(2,\)"):
        y_nearest([[1.0]], LINE, MET[:2], space)
