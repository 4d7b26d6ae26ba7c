"""Connectedness, against a DBSCAN fitted afresh for every answer."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import DBSCAN

from attain.metrics import connected, nearest_distance
from attain.population.population import Reference
from attain.population.space import MeasuringSpace
from tests.coordinates import coordinates, real_schema, reference_of

NAN = float("nan")


def unscaled(values: np.ndarray) -> Reference:
    space = MeasuringSpace.fit(real_schema(values.shape[1]), values)
    space = replace(space, mean=np.zeros(len(space.schema)), scale=np.ones(len(space.schema)))
    return reference_of(values, space=space)


def by_dbscan(answers: np.ndarray, reference: Reference, epsilon: float, min_samples: int) -> np.ndarray:
    """The label of each answer, clustered with the reference and no other answer."""
    points = reference.space.transform(answers)
    labels = [
        DBSCAN(eps=epsilon, min_samples=min_samples).fit(np.vstack((coordinates(reference), point))).labels_[-1]
        for point in points
    ]
    return (np.array(labels) != -1).astype(float)


KNOWN = unscaled(np.array([[0], [1], [2], [3], [10], [10.1]]))


def test_known_answer() -> None:
    np.testing.assert_array_equal(connected([[4], [6]], KNOWN, epsilon=1.05), [1, 0])
    # With three, 4 is near 3, who has 2 at distance 1; 10.2 makes three with the two at 10. With four, 10.2 is alone.
    np.testing.assert_array_equal(connected([[4], [6], [10.2]], KNOWN, 1.05, 3), [1, 0, 1])
    np.testing.assert_array_equal(connected([[4], [10.2]], KNOWN, 2.05, 4), [1, 0])
    assert connected([[4]], KNOWN, 99, 8) == 0
    assert connected([[99]], KNOWN, 0, 1) == 1


@pytest.mark.parametrize("min_samples", [1, 2, 3, 4, 6, 10])
@pytest.mark.parametrize("dimensions", [2, 20])
def test_equal_to_a_dbscan_fitted_for_each_answer(min_samples: int, dimensions: int) -> None:
    rng = np.random.default_rng(min_samples)
    reference, answers = unscaled(rng.normal(size=(60, dimensions))), rng.normal(size=(40, dimensions)) * 1.3
    seen = set()
    for epsilon in np.quantile(nearest_distance(answers, reference), [0.1, 0.4, 0.7, 0.9, 1.0]):
        result = connected(answers, reference, epsilon * 1.0001, min_samples)
        np.testing.assert_array_equal(result, by_dbscan(answers, reference, epsilon * 1.0001, min_samples))
        seen |= set(result)
    assert seen == ({1.0} if min_samples == 1 else {0.0, 1.0})


lattice = arrays(float, st.tuples(st.integers(1, 16), st.just(2)), elements=st.integers(0, 6).map(float))
few = arrays(float, st.tuples(st.integers(1, 4), st.just(2)), elements=st.integers(0, 6).map(float))


@given(lattice, few, st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]), st.integers(1, 8))
def test_equal_to_dbscan_on_lattices(values: np.ndarray, answers: np.ndarray, epsilon: float, m: int) -> None:
    reference = unscaled(values)
    np.testing.assert_array_equal(connected(answers, reference, epsilon, m), by_dbscan(answers, reference, epsilon, m))


def test_nobody_to_connect_to_is_nan_and_so_is_no_answer() -> None:
    empty = Reference.build(real_schema(1), [[1.0]], met=np.array([False]))
    assert np.isnan(connected([[1.0]], empty, epsilon=1.0)).all()
    assert np.isnan(connected([[1.0]], KNOWN, epsilon=NAN)).all()
    np.testing.assert_array_equal(connected([[NAN], [4]], KNOWN, epsilon=1.05), [NAN, 1])
    np.testing.assert_array_equal(connected([[4], [4]], KNOWN, 1.05, found=[True, False]), [1, NAN])
