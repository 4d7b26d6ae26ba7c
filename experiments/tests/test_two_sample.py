"""The two-sample test: samples whose answer is known, and the weighted AUC against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from attain.population.space import MeasuringSpace
from attain.schema import Feature, Schema
from experiments.research.two_sample import _auc_within, two_sample_test

NAN = float("nan")


def weighted_auc(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> float:
    """The AUC of a single fold."""
    return float(_auc_within(scores, positive, np.zeros(len(scores), dtype=np.intp))(weights[None])[0])


SCHEMA = Schema((Feature("age", "real", immutable=True), Feature("income", "real"), Feature("debt", "real")))


def space_of(values: np.ndarray) -> MeasuringSpace:
    return MeasuringSpace.fit(SCHEMA, values)


def people(number: int, age: float, seed: int) -> np.ndarray:
    """Income follows age, debt follows nothing."""
    rng = np.random.default_rng(seed)
    ages = rng.normal(age, 1.0, number)
    return np.column_stack((ages, 0.8 * ages + rng.normal(size=number), rng.normal(size=number)))


def chance(first: int, second: float) -> float:
    """The standard deviation of the AUC of two samples of one distribution."""
    return float(np.sqrt((first + second + 1) / (12 * first * second)))


@given(st.integers(2, 40), st.integers(0, 10_000), st.booleans())
@settings(max_examples=40)
def test_weighted_auc_is_that_of_scikit_learn(number: int, seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, number).astype(float) if ties else rng.normal(size=number)
    positive = rng.permutation(np.arange(number) % 2 == 0)
    weights = rng.random(number) + 0.01
    expected = roc_auc_score(positive, scores, sample_weight=weights)
    assert weighted_auc(scores, positive, weights) == pytest.approx(expected, abs=1e-12)


def test_over_folds_it_is_the_mean_by_pairs() -> None:
    rng = np.random.default_rng(0)
    scores, positive, weights = rng.integers(0, 9, 90) * 1.0, rng.random(90) < 0.4, rng.random(90)
    fold = rng.integers(0, 4, 90)
    parts, pairs = [], []
    for k in range(4):
        inside = fold == k
        parts.append(roc_auc_score(positive[inside], scores[inside], sample_weight=weights[inside]))
        pairs.append(weights[inside & positive].sum() * weights[inside & ~positive].sum())
    found = _auc_within(scores, positive, fold)(weights[None])[0]
    assert found == pytest.approx(np.average(parts, weights=pairs), abs=1e-12)


def test_two_samples_of_one_distribution_cannot_be_told_apart() -> None:
    answers, real = people(300, 0.0, 1), people(600, 0.0, 2)
    test = two_sample_test(answers, real, space_of(real))
    assert abs(test.auc - 0.5) < 3 * chance(300, test.effective_size)
    assert abs(test.floor - 0.5) < 3 * chance(300, test.effective_size)
    assert test.interval.low < 0.5 < test.interval.high
    assert test.effective_size > 540
    assert (test.n_answers, test.n_real) == (300, 600)


def test_small_samples_of_one_distribution_are_not_told_apart_with_the_wrong_sign() -> None:
    tests = []
    for seed in range(20):
        answers, real = people(100, 0.0, 2 * seed), people(200, 0.0, 2 * seed + 1)
        tests.append(two_sample_test(answers, real, space_of(real), resamples=10, random_state=seed))
    for figures in ([test.auc for test in tests], [test.floor for test in tests]):
        assert abs(np.mean(figures) - 0.5) < 3 * np.std(figures) / np.sqrt(20)


def test_other_immutables_alone_are_no_fault_of_the_answers() -> None:
    answers, real = people(300, 1.0, 3), people(900, 0.0, 4)
    weighted = two_sample_test(answers, real, space_of(real))
    plain = two_sample_test(answers, real, space_of(real), immutable=[], folds=2)
    assert plain.auc > 0.7
    assert plain.effective_size == 900
    assert plain.floor == 0.5
    error = chance(300, weighted.effective_size)
    assert abs(weighted.auc - 0.5) < 3 * error
    assert abs(weighted.floor - 0.5) < 3 * error
    # With odds e^t of a unit normal t the effective share is (E e^t)² / E e^2t = 1/e.
    assert weighted.effective_size == pytest.approx(900 / np.e, rel=0.3)


def test_answers_that_differ_beyond_their_immutables_are_found_out() -> None:
    answers, real = people(200, 1.0, 5), people(600, 0.0, 6)
    answers[:, 1] -= 0.8 * answers[:, 0]
    shifted = two_sample_test(answers, real, space_of(real), folds=3)
    assert shifted.interval.low > 0.55
    assert abs(shifted.floor - 0.5) < 3 * chance(200, shifted.effective_size)
    answers[:, 2] += 10.0
    assert two_sample_test(answers, real, space_of(real), folds=2).auc > 0.999


def test_the_auc_of_a_known_shift_is_that_of_the_best_classifier() -> None:
    answers, real = people(400, 0.0, 7), people(800, 0.0, 8)
    answers[:, 2] += 1.0
    # Two unit normals one apart: the best AUC is Φ(1/√2) = .760.
    assert two_sample_test(answers, real, space_of(real), folds=3).auc == pytest.approx(0.76, abs=0.045)


def test_the_same_seed_gives_the_same_numbers_and_empty_rows_are_left_out() -> None:
    answers, real = people(60, 0.5, 9), people(120, 0.0, 10)
    first = two_sample_test(answers, real, space_of(real), folds=2, resamples=50)
    with_nobody = np.insert(answers, [0, 30, 60], np.full(3, NAN), axis=0)
    assert two_sample_test(with_nobody, real, space_of(real), folds=2, resamples=50) == first
    assert "AUC" in str(first)


def test_too_few_people_say_nothing() -> None:
    real = people(30, 0.0, 0)
    test = two_sample_test(real[:4], real, space_of(real))
    assert np.isnan([test.auc, test.floor, test.effective_size, *test.interval]).all()
    assert (test.n_answers, test.n_real) == (4, 30)
    assert np.isnan(weighted_auc(np.ones(1), np.ones(1, dtype=bool), np.ones(1)))
