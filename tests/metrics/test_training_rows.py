"""Copies of training rows, and distances to them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from attain.metrics import closest_training_distance, copies
from attain.population.space import MeasuringSpace
from attain.schema import Feature, Schema

NAN = float("nan")
SCHEMA = Schema(
    (
        Feature("a", "real"),
        Feature("home", "categorical", levels=("rents", "owns")),
        Feature("age", "real", immutable=True),
    )
)
TRAIN = np.array([[1, 0, 20], [2, 1, 30], [NAN, 1, 40], [0.0, 0, 50]])


def test_copies_by_hand() -> None:
    answers = np.array([[1, 0, 20], [1, 0, 30], [2, 0, 30], [NAN, 1, 40], [NAN] * 3, [-0.0, 0, 50], [NAN, 1, 20]])
    np.testing.assert_array_equal(copies(answers, TRAIN, SCHEMA), [1, 0, 0, 1, NAN, 1, 0])
    np.testing.assert_array_equal(copies(answers, TRAIN, SCHEMA, free=True), [1, 1, 0, 1, NAN, 1, 1])
    told = copies(answers, TRAIN, SCHEMA, found=np.arange(7) == 1, free=True)
    np.testing.assert_array_equal(told, [NAN, 1, NAN, NAN, NAN, NAN, NAN])


def test_nothing_to_copy() -> None:
    nobody = np.empty((0, 3))
    np.testing.assert_array_equal(copies(TRAIN, nobody, SCHEMA), [0, 0, 0, 0])
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    assert np.isnan(closest_training_distance(TRAIN, nobody, space)).all()


@pytest.mark.parametrize("dimensions", [3, 20])
def test_distance_is_that_of_all_pairs(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    schema = Schema(tuple(Feature(f"x{j}", "real") for j in range(dimensions)))
    train, answers = rng.normal(size=(70, dimensions)) * 3, rng.normal(size=(20, dimensions)) * 3
    answers[0], answers[5] = train[11], NAN
    space = MeasuringSpace.fit(schema, train)
    result = closest_training_distance(answers, train, space)
    scaled = [(rows - train.mean(axis=0)) / train.std(axis=0) for rows in (answers, train)]
    np.testing.assert_allclose(result, cdist(*scaled).min(axis=1), rtol=1e-9, atol=1e-12)
    assert result[0] == 0
    assert np.isnan(result[5])
