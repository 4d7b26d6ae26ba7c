"""The reference: who is in it, its neighbours, densities and ε grid, against scikit-learn and brute force."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from attain.population.faithfulness import local_density
from attain.population.population import Reference, distinct
from attain.population.space import MeasuringSpace, Neighbours
from tests.coordinates import coordinates, real_schema, reference_of


def test_reference_is_who_is_predicted_and_labelled_so_each_once() -> None:
    values = np.array([[1, 1], [2, 2], [1, 1], [3, 3], [4, 4], [0.0, 5], [-0.0, 5]])
    met = np.array([True, True, True, False, True, True, True])
    desired = np.array([True, False, True, True, True, True, True])
    schema = real_schema(2)
    both = Reference.build(schema, values, desired_labels=desired, met=met)
    assert sorted(both.rows) == [0, 4, 5]
    assert both.labelled
    np.testing.assert_array_equal(both.values, values[both.rows])
    verdict = Reference.build(schema, values, met=met)
    assert sorted(verdict.rows) == [0, 1, 4, 5]
    assert not verdict.labelled


def test_reference_does_not_depend_on_the_order_of_training_rows() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, size=(60, 3)).astype(float)
    met = rng.random(60) < 0.6
    order = rng.permutation(60)
    one = Reference.build(real_schema(3), values, met=met)
    other = Reference.build(real_schema(3), values[order], met=met[order], space=one.space)
    np.testing.assert_array_equal(one.points, other.points)
    np.testing.assert_array_equal(one.values, other.values)


def test_space_is_that_of_all_training_rows_unless_given() -> None:
    values = np.array([[0.0], [10], [20]])
    met = np.array([True, True, False])
    assert Reference.build(real_schema(1), values, met=met).space.mean[0] == 10
    space = MeasuringSpace.fit(real_schema(1), [[5.0], [7.0]])
    assert Reference.build(real_schema(1), values, met=met, space=space).space is space


def test_a_smaller_k_after_a_larger_one_gives_what_it_gives_alone() -> None:
    lattice = np.random.default_rng(0).integers(0, 40, size=(500, 2)).astype(float)
    reference = reference_of(lattice)
    for before in (45, 30, 1):
        local_density(reference, before)
    for k in (1, 4, 30):
        alone, after = local_density(reference_of(lattice), k), local_density(reference, k)
        assert alone is not None
        assert after is not None
        np.testing.assert_array_equal(after.density, alone.density)
        assert after.threshold == alone.threshold


def test_epsilon_is_the_quantiles_of_leave_one_out_distances() -> None:
    values = np.random.default_rng(3).normal(size=(120, 2))
    reference = reference_of(np.concatenate((values, values[:40])))
    apart = cdist(coordinates(reference), coordinates(reference))
    np.fill_diagonal(apart, np.inf)
    expected = np.quantile(apart.min(axis=1), [0.5, 0.75, 0.9, 0.95])
    assert list(reference.epsilon) == [0.5, 0.75, 0.9, 0.95]
    np.testing.assert_allclose(list(reference.epsilon.values()), expected, rtol=1e-12)


def test_epsilon_of_held_out_people_is_their_own() -> None:
    rng = np.random.default_rng(4)
    reference = reference_of(rng.normal(size=(90, 2)))
    others = rng.normal(size=(33, 2))
    calibrated = reference.with_held_out(others)
    nearest = cdist(reference.space.transform(others), coordinates(reference)).min(axis=1)
    np.testing.assert_allclose(list(calibrated.epsilon.values()), np.quantile(nearest, [0.5, 0.75, 0.9, 0.95]))
    assert calibrated.epsilon != reference.epsilon
    assert np.isnan(list(reference.with_held_out(np.empty((0, 2))).epsilon.values())).all()


def test_distinct_rows_are_each_row_once() -> None:
    points = np.array([[1.0, 0.0], [1.0, -0.0], [0.5, 2.0], [1.0, 0.0]])
    rows, first = distinct(points)
    assert sorted(first) == [0, 2]
    np.testing.assert_array_equal(rows, points[first])


def test_rows_that_were_searched_have_the_neighbours_they_have_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = reference_of(np.random.default_rng(0).integers(0, 9, size=(90, 2)).astype(float))
    rows = np.array([[3.0, 4.5], [np.nan, 2.0], [0.0, 0.0]])
    expected = [reference.nearest(rows, k) for k in (1, 7, 20)]
    searched, other = reference.searched(rows, 20), reference.nearest(rows[:2], 3)
    np.testing.assert_array_equal(searched.nearest(rows[:2], 3)[1], other[1])
    np.testing.assert_array_equal(searched.nearest(rows, 30)[1], reference.nearest(rows, 30)[1])
    monkeypatch.setattr(Neighbours, "query", None)  # not asked again
    for k, (distances, indices) in zip((1, 7, 20), expected, strict=True):
        np.testing.assert_array_equal(searched.nearest(rows.copy(), k)[0], distances)
        np.testing.assert_array_equal(searched.nearest(rows.copy(), k)[1], indices)
