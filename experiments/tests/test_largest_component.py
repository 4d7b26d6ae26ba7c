"""The largest component of real rows, against a DBSCAN fitted afresh for every answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.cluster import DBSCAN

from attain.metrics import connected
from attain.population.population import Reference
from attain.population.space import Neighbours
from attain.schema import Feature, Schema
from experiments.research.largest_component import components, in_largest_component
from tests.coordinates import coordinates
from tests.population.test_connectedness import KNOWN, NAN, few, lattice, unscaled


def largest_by_dbscan(answers: np.ndarray, reference: Reference, epsilon: float, min_samples: int) -> np.ndarray:
    """Whether each answer is in the reference's largest cluster, whose core points come first: border points are put
    into the cluster that is found first."""
    clusters = DBSCAN(eps=epsilon, min_samples=min_samples)
    alone = clusters.fit(coordinates(reference))
    if (alone.labels_ == -1).all():
        return np.zeros(len(answers))
    largest = np.bincount(alone.labels_[alone.labels_ >= 0]).argmax()
    core = np.zeros(len(reference), dtype=bool)
    core[alone.core_sample_indices_] = True
    first = core & (alone.labels_ == largest)
    ordered = np.vstack((coordinates(reference)[first], coordinates(reference)[~first]))
    points = reference.space.transform(answers)
    labels = np.array([clusters.fit(np.vstack((ordered, point))).labels_ for point in points])
    return (labels[:, 0] == labels[:, -1]).astype(float)


@given(lattice, few, st.sampled_from([1.0, 1.5, 2.0]), st.integers(1, 7))
def test_largest_component_is_that_of_dbscan_on_lattices(
    values: np.ndarray, answers: np.ndarray, epsilon: float, m: int
) -> None:
    reference = unscaled(values)
    result = in_largest_component(answers, reference, epsilon, m)
    np.testing.assert_array_equal(result, largest_by_dbscan(answers, reference, epsilon, m))


@pytest.mark.parametrize("min_samples", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("dimensions", [2, 18])
def test_largest_component_is_that_of_dbscan(min_samples: int, dimensions: int) -> None:
    rng = np.random.default_rng(min_samples + dimensions)
    centres = np.zeros((3, dimensions))
    centres[1, 0], centres[2, 1] = 3.0, 4.0
    reference = unscaled(rng.normal(size=(150, dimensions)) / dimensions**0.5 + centres[rng.integers(3, size=150)])
    answers = rng.normal(size=(25, dimensions)) / dimensions**0.5 * 1.5 + centres[rng.integers(3, size=25)]
    seen = set()
    for epsilon in np.quantile(reference.own_neighbours(40)[0][:, [0, 4]], [0.5, 0.8, 0.95]) * 1.0001:
        result = in_largest_component(answers, reference, epsilon, min_samples)
        np.testing.assert_array_equal(result, largest_by_dbscan(answers, reference, epsilon, min_samples))
        assert (result <= connected(answers, reference, epsilon, min_samples)).all()
        seen |= set(result)
    assert seen == {0.0, 1.0}


def test_largest_component_by_hand() -> None:
    np.testing.assert_array_equal(in_largest_component([[4], [10.2], [6]], KNOWN, 1.05), [1, 0, 0])
    # With three, 1 and 2 are core points and 3 is at their border; the answer makes 3 a core point too.
    np.testing.assert_array_equal(in_largest_component([[4], [3.5], [10.2]], KNOWN, 1.05, 3), [1, 1, 0])
    np.testing.assert_array_equal(in_largest_component([[4], [3.5], [NAN]], KNOWN, 0.05), [0, 0, NAN])


@pytest.mark.parametrize("dimensions", [2, 20])
def test_crowds_are_joined_where_their_nearest_neighbours_show_no_link(dimensions: int) -> None:
    """Crowds of hundreds in a chain: nobody's nearest others are in another crowd."""
    rng = np.random.default_rng(dimensions)
    points = rng.normal(size=(600, dimensions)) * 0.02
    points[:, 0] += np.repeat([0.0, 1.0, 2.0, 5.0, 6.0, 20.0], 100)
    points = points[rng.permutation(600)]
    core = rng.random(600) < 0.9
    distances, indices = Neighbours(points).query(points, 6)
    for epsilon in (0.05, 1.2, 4.0):
        labels = components(Neighbours(points), distances[:, 1:], indices[:, 1:], epsilon, core)
        expected = connected_components(cdist(points[core], points[core]) <= epsilon)[1]
        np.testing.assert_array_equal(labels[core], expected)
        assert (labels[~core] == -1).all()


def test_the_largest_component_of_nobody_is_nan_and_so_is_no_answer() -> None:
    empty = Reference.build(Schema((Feature("x", "real"),)), [[1.0]], met=np.array([False]))
    assert np.isnan(in_largest_component([[1.0]], empty, 1.0)).all()
    assert np.isnan(in_largest_component([[1.0]], KNOWN, NAN)).all()
    alone = unscaled(np.array([[1.0]]))
    np.testing.assert_array_equal(in_largest_component([[1.5]], alone, 1.0, 1), [1])
    np.testing.assert_array_equal(in_largest_component([[1.5]], alone, 1.0, 2), [0])
    np.testing.assert_array_equal(in_largest_component([[4], [4]], KNOWN, 1.05, found=[True, False]), [1, NAN])
