"""The recourse gap: worked out by hand, with an exact permutation test beside it."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from attain.core.intervals import bands
from attain.metrics.differences import recourse_gap

NAN = float("nan")
SHIFTS = np.array([0.2, 0.4, 0.6, 1.0, 3.0, 2.0])
GROUPS = ["f", "f", "f", "m", "m", "m"]


def test_means_and_gap_by_hand() -> None:
    found = recourse_gap({"total_shift": SHIFTS, "found": [1, 1, 1, 1, 0, 1]}, GROUPS)
    means = found.groups.set_index(["measure", "group"])
    assert means.loc[("total_shift", "f"), "mean"] == pytest.approx(0.4)
    assert means.loc[("total_shift", "m"), "mean"] == pytest.approx(2.0)
    assert means.loc[("found", "m"), "mean"] == pytest.approx(2 / 3)
    assert (means["n"] == 3).all()
    wilson = stats.binomtest(2, 3).proportion_ci(method="wilson")
    assert means.loc[("found", "m"), ["low", "high"]].tolist() == pytest.approx([wilson.low, wilson.high])
    gap = found.gaps.loc["total_shift"]
    assert (gap["highest"], gap["lowest"]) == ("m", "f")
    assert gap["gap"] == pytest.approx(1.6)
    assert 0 < gap["low"] < 1.6 < gap["high"] <= 2.8
    assert found.gaps.loc["found", "gap"] == pytest.approx(1 / 3)


def test_the_interval_is_scipys_for_the_difference_of_two_samples() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 1, 80), rng.normal(0, 2, 50)
    expected = stats.bootstrap(
        (first, second),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    gap = recourse_gap({"x": np.concatenate((first, second))}, ["a"] * 80 + ["b"] * 50, resamples=4000).gaps.loc["x"]
    np.testing.assert_allclose([gap["low"], gap["high"]], expected, atol=0.05)


def test_the_p_value_is_that_of_all_assignments() -> None:
    gaps = [abs(SHIFTS[list(chosen)].mean() * 2 - SHIFTS.sum() / 3) for chosen in combinations(range(6), 3)]
    exact = np.mean(np.array(gaps) >= 1.6 - 1e-9)
    found = recourse_gap({"x": SHIFTS}, GROUPS, resamples=4000).gaps.loc["x", "p_value"]
    assert found == pytest.approx(exact, abs=0.02)


def test_no_gap_is_no_finding() -> None:
    rng = np.random.default_rng(3)
    gap = recourse_gap({"x": rng.normal(size=300)}, rng.choice(["a", "b", "c"], 300)).gaps.loc["x"]
    assert gap["p_value"] > 0.05
    same = recourse_gap({"x": np.ones(6)}, GROUPS).gaps.loc["x"]
    assert (same["gap"], same["low"], same["high"], same["p_value"]) == (0.0, 0.0, 0.0, 1.0)


def test_people_without_a_value_are_left_out_and_without_a_group_are_one() -> None:
    found = recourse_gap({"x": [1.0, NAN, 3.0, 5.0]}, ["a", "a", None, NAN])
    assert found.groups[["group", "n", "mean"]].values.tolist() == [["a", 1, 1.0], ["missing", 2, 4.0]]


def test_one_group_has_no_gap_and_nobody_none() -> None:
    gap = recourse_gap({"x": [1.0, 2.0]}, ["a", "a"]).gaps.loc["x"]
    assert np.isnan([gap["gap"], gap["low"], gap["p_value"]]).all()
    assert recourse_gap({"x": []}, []).groups.empty


def test_numbers_are_cut_into_bands_of_about_equally_many() -> None:
    assert bands([1, 2, 3, 4, 5, 6, 7, NAN, 8]) == [
        *("1 to 2", "1 to 2", "3 to 4", "3 to 4", "5 to 6", "5 to 6", "7 to 8", None, "7 to 8")
    ]
    assert bands([5, 5, 5, 9]) == ["5", "5", "5", "9"]
    assert bands([NAN]) == [None]
    assert bands([1, 2, 3, 4], 2) == ["1 to 2", "1 to 2", "3 to 4", "3 to 4"]
    ordered = recourse_gap({"x": [1.0, 2.0, 3.0]}, ["18 to 30", "9 to 17", "100 to 110"]).groups["group"]
    assert ordered.tolist() == ["9 to 17", "18 to 30", "100 to 110"]
