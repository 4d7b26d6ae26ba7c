"""Diversity of options: closed forms, and the plain loop over pairs."""

from itertools import combinations

import numpy as np
import pytest

from attain.core.errors import DataError
from attain.methods.figures import diversity
from attain.metrics import count_diversity, determinant_diversity, distinct_changes, mean_pairwise_distance
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
    np.testing.assert_allclose(determinant_diversity(rows, owners, 3, SPACE), [NAN, 1 - (1 + apart) ** -2, NAN])
    np.testing.assert_allclose(count_diversity(rows, owners, 3, SCHEMA), [NAN, 2 / 3, NAN])


def test_every_figure_is_that_of_a_loop_over_pairs() -> None:
    rng = np.random.default_rng(1)
    owners = np.array([2, 0, 0, 2, 4, 0, 2, 2])
    rows = rng.integers(0, 2, size=(8, 4)).astype(float)
    rows[3, 1] = NAN
    factuals = np.zeros((5, 4))
    points = SPACE.transform(rows)
    for person in range(5):
        own = np.flatnonzero(owners == person)
        pairs = list(combinations(own, 2))
        results = (
            mean_pairwise_distance(rows, owners, 5, SPACE)[person],
            determinant_diversity(rows, owners, 5, SPACE)[person],
            count_diversity(rows, owners, 5, SCHEMA)[person],
        )
        sets = {tuple((rows[i] != factuals[person])[:3]) for i in own}
        assert distinct_changes(rows, owners, factuals, SCHEMA)[person] == pytest.approx(len(sets) or NAN, nan_ok=True)
        if not pairs:
            assert np.isnan(results).all()
            continue
        apart = np.array([[np.linalg.norm(points[i] - points[j]) for j in own] for i in own])
        differ = [
            np.mean([not np.array_equal(rows[i, c], rows[j, c], equal_nan=True) for c in range(3)]) for i, j in pairs
        ]
        expected = (np.mean([np.linalg.norm(points[i] - points[j]) for i, j in pairs]), np.linalg.det(1 / (1 + apart)))
        np.testing.assert_allclose(results[:2], expected, atol=1e-12)
        assert results[2] == pytest.approx(np.mean(differ))


def test_equal_options_have_none() -> None:
    rows, owners = np.ones((3, 4)), np.zeros(3, dtype=int)
    assert mean_pairwise_distance(rows, owners, 1, SPACE) == [0]
    assert determinant_diversity(rows, owners, 1, SPACE) == [0]
    assert count_diversity(rows, owners, 1, SCHEMA) == [0]
    np.testing.assert_array_equal(distinct_changes(rows, owners, np.zeros((2, 4)), SCHEMA), [1, NAN])


def test_the_figure_of_a_result_is_the_mean_pairwise_distance() -> None:
    rows, owners = np.random.default_rng(2).normal(size=(6, 4)), np.array([0, 0, 2, 2, 2, 3])
    rows[:, 2] = 0
    figure = diversity(rows, owners, 4, SPACE)
    np.testing.assert_array_equal(figure, mean_pairwise_distance(rows, owners, 4, SPACE))
    assert diversity(np.empty((0, 4)), np.empty(0, dtype=int), 2, SPACE).shape == (2,)


def test_misuse_is_told() -> None:
    with pytest.raises(DataError, match=r"owners has the shape \(1,\)"):
        count_diversity(np.ones((2, 4)), [0], 1, SCHEMA)
    with pytest.raises(DataError, match="owners runs from 0 to 3; positions of 2 people"):
        count_diversity(np.ones((2, 4)), [0, 3], 2, SCHEMA)
