"""Intervals, against SciPy's bootstrap and its Wilson interval, and by coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attain.core.errors import AttainError, DataError
from attain.core.intervals import mean_interval, mean_intervals, share_interval

NAN = float("nan")
SKEWED = np.random.default_rng(0).lognormal(size=40)


def test_equal_to_scipys_bootstrap_with_the_same_draws() -> None:
    expected = stats.bootstrap(
        (SKEWED,),
        np.mean,
        n_resamples=500,
        method="percentile",
        confidence_level=0.9,
        rng=np.random.default_rng(3),
    ).confidence_interval
    np.testing.assert_allclose(
        mean_interval(SKEWED, confidence=0.9, resamples=500, random_state=3), expected, rtol=1e-12
    )


def test_intervals_of_many_means_are_those_of_each() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(60, 4))
    table[rng.random(60) < 0.3, 1] = NAN
    table[:, 3] = table[:, 3] > 0
    for column, interval in zip(table.T, mean_intervals(table, random_state=5), strict=True):
        np.testing.assert_allclose(interval, mean_interval(column, random_state=5), rtol=1e-12)


def test_people_without_an_answer_are_drawn_too() -> None:
    values = np.array([1.0, 2.0, NAN, NAN, 4.0, NAN])
    drawn = np.random.default_rng(0).integers(0, 6, (200, 6))
    means = [np.nanmean(values[people]) for people in drawn if not np.isnan(values[people]).all()]
    expected = np.quantile(means, (0.025, 0.975))
    np.testing.assert_allclose(mean_interval(values, resamples=200), expected)
    np.testing.assert_allclose(mean_intervals(values[:, None], resamples=200)[0], expected)


def test_blocks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mean_interval(SKEWED), mean_intervals(SKEWED[:, None])[0]
    monkeypatch.setattr("attain.core.intervals._BLOCK", 100)
    np.testing.assert_allclose((mean_interval(SKEWED), mean_intervals(SKEWED[:, None])[0]), whole, rtol=1e-12)


def test_nothing_is_said_of_fewer_than_two_people() -> None:
    for values in ([], [1.0], [1.0, NAN]):
        assert np.isnan(mean_interval(values)).all()
        assert np.isnan(mean_intervals(np.array(values).reshape(-1, 1))[0]).all()
    assert mean_intervals(np.array([[2.0], [2.0]]))[0] == (2.0, 2.0)


def test_infinite_values_give_infinite_ends_and_no_warning() -> None:
    values = np.array([1.0, 2.0, np.inf, 3.0, 2.0])
    assert mean_intervals(values[:, None])[0].high == np.inf
    assert mean_interval(values).high == np.inf
    assert np.isfinite(mean_intervals(values[:, None])[0].low)


@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_equal_to_scipys_wilson_interval(number: int, share: float, confidence: float) -> None:
    successes = round(share * number)
    expected = stats.binomtest(successes, number).proportion_ci(confidence, method="wilson")
    values = [1.0] * successes + [0.0] * (number - successes) + [NAN]
    np.testing.assert_allclose(share_interval(values, confidence=confidence), (expected.low, expected.high), atol=1e-12)


def test_nobody_has_no_share() -> None:
    assert np.isnan(share_interval([NAN])).all()


def test_misuse_is_told() -> None:
    with pytest.raises(AttainError, match="confidence must be a number between 0 and 1"):
        mean_interval(SKEWED, confidence=95)
    with pytest.raises(AttainError, match="resamples must be an integer ≥ 1, got 0"):
        mean_interval(SKEWED, resamples=0)
    with pytest.raises(DataError, match=r"values must hold one number per row, got an array of shape \(2, 2\)"):
        mean_interval(np.ones((2, 2)))
    with pytest.raises(DataError, match=r"columns must be a table .* shape \(3,\)"):
        mean_intervals([1.0, 2.0, 3.0])
