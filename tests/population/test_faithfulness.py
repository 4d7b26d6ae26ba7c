"""Proximity and outlier factors, against the known answers, scikit-learn and brute force."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import LocalOutlierFactor

from attain.metrics import local_outlier_factor, nearest_distance, outlier, proximity
from attain.population.population import Reference
from tests.coordinates import coordinates, real_schema, reference_of

NAN = float("nan")


KNOWN = reference_of(np.array([[0], [1], [2], [3], [10], [10.1]]))


def test_known_answers_of_proximity_and_outlier_factor_disagree_in_order() -> None:
    answers = np.array([[4], [10.3]])
    np.testing.assert_allclose(proximity(answers, KNOWN), [1, 2], rtol=1e-9)
    np.testing.assert_allclose(local_outlier_factor(answers, KNOWN, k=2), [4 / 3, 1.0], atol=5e-5)


def test_duplicates_do_not_divide_by_zero() -> None:
    twice = reference_of(np.array([[0], [1], [2], [3], [10], [10.1], [3], [3]]))
    np.testing.assert_allclose(proximity([[4], [10.3], [3]], twice), [1, 2, 0], rtol=1e-9)


def test_two_rows_too_close_for_a_number_make_proximity_infinite() -> None:
    # Their squared distance underflows to 0 although the rows differ.
    reference = reference_of(np.array([[0, 0], [1e-200, 0], [1, 0], [-1.0, 0]]))
    result = proximity([[1e-3, 0], [0, 0]], reference)
    assert np.isposinf(result[0])
    assert result[1] == 0


@pytest.mark.parametrize("seed", range(4))
def test_proximity_is_its_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reference, answers = reference_of(rng.normal(size=(50, 3))), rng.normal(size=(20, 3))
    points = reference.space.transform(answers)
    apart = cdist(coordinates(reference), coordinates(reference))
    np.fill_diagonal(apart, np.inf)
    to_reference = cdist(points, coordinates(reference))
    expected = to_reference.min(axis=1) / apart.min(axis=1)[to_reference.argmin(axis=1)]
    np.testing.assert_allclose(proximity(answers, reference), expected, rtol=1e-9)
    np.testing.assert_allclose(nearest_distance(answers, reference), to_reference.min(axis=1), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 5, 20, 40])
@pytest.mark.parametrize("dimensions", [2, 25])
def test_outlier_factor_and_verdict_are_those_of_scikit_learn(k: int, dimensions: int) -> None:
    rng = np.random.default_rng(k + dimensions)
    reference = reference_of(rng.standard_t(4, size=(300, dimensions)))
    answers = rng.standard_t(4, size=(200, dimensions)) * 1.4
    judge = LocalOutlierFactor(n_neighbors=k, contamination=0.01, novelty=True).fit(coordinates(reference))
    points = reference.space.transform(answers)
    np.testing.assert_allclose(local_outlier_factor(answers, reference, k), -judge.score_samples(points), rtol=1e-7)
    verdict = outlier(answers, reference, k)
    np.testing.assert_array_equal(verdict, judge.predict(points) == -1)
    assert 0 < verdict.mean() < 1


def test_k_beyond_the_reference_means_all_others() -> None:
    answers = [[4], [10.3]]
    np.testing.assert_array_equal(local_outlier_factor(answers, KNOWN, k=99), local_outlier_factor(answers, KNOWN, k=5))


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_measures_of_tiny_references_are_nan_where_they_have_no_meaning(number: int) -> None:
    train = np.arange(10.0).reshape(5, 2)
    reference = Reference.build(real_schema(2), train, met=np.arange(5) < number)
    answers = train + 0.3
    assert np.isnan(nearest_distance(answers, reference)).all() == (number < 1)
    assert np.isnan(proximity(answers, reference)).all() == (number < 2)
    assert np.isnan(local_outlier_factor(answers, reference)).all() == (number < 3)
    assert np.isnan(outlier(answers, reference)).all() == (number < 3)


def test_people_without_an_answer_are_nan_and_stay_in_place() -> None:
    answers = np.array([[4], [NAN], [10.3], [4]])
    for measure in (nearest_distance, proximity, local_outlier_factor, outlier):
        np.testing.assert_array_equal(np.isnan(measure(answers, KNOWN)), [False, True, False, False])
        told = measure(answers, KNOWN, found=np.array([False, False, True, True]))
        np.testing.assert_array_equal(np.isnan(told), [True, True, False, False])
        assert measure(np.empty((0, 1)), KNOWN).shape == (0,)
