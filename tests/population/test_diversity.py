"""Diversity of options: closed forms, and the plain loop over pairs."""

from itertools import combinations

import numpy as np

from attain.metrics import mean_pairwise_distance
from attain.population.space import MeasuringSpace
from attain.schema import Feature, Schema

NAN = float("nan")
SCHEMA = Schema(
    (
        Feature("a", "real"),
        Feature("b", "real", fillable=True),
        Feature("home", "categorical", levels=("rents", "owns")),
        Feature("age", "real", immutable=True),
    )
)
TRAIN = np.random.default_rng(0).normal(size=(50, 4)) * [2, 3, 0, 1]
SPACE = MeasuringSpace.fit(SCHEMA, TRAIN)


def test_two_options_have_the_closed_form() -> None:
    rows = np.array([[0, 0, 0, 1], [3, 4, 0, 1.0]])
    apart = float(np.hypot(*(np.array([3, 4]) / TRAIN[:, :2].std(axis=0))))
    owners = np.array([1, 1])
    np.testing.assert_allclose(mean_pairwise_distance(rows, owners, 3, SPACE), [NAN, apart, NAN])


def test_it_is_that_of_a_loop_over_pairs() -> None:
    rng = np.random.default_rng(1)
    owners = np.array([2, 0, 0, 2, 4, 0, 2, 2])
    rows = rng.integers(0, 2, size=(8, 4)).astype(float)
    rows[3, 1] = NAN
    points = SPACE.transform(rows)
    expected = []
    for row in range(5):
        pairs = list(combinations(np.flatnonzero(owners == row), 2))
        expected.append(np.mean([np.linalg.norm(points[i] - points[j]) for i, j in pairs]) if pairs else NAN)
    np.testing.assert_allclose(mean_pairwise_distance(rows, owners, 5, SPACE), expected, rtol=1e-12)


def test_equal_options_have_none() -> None:
    assert mean_pairwise_distance(np.ones((3, 4)), np.zeros(3, dtype=int), 1, SPACE) == [0]
