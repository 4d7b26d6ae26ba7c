"""Paired comparison of methods: differences by hand, tests by SciPy."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attain.core.errors import DataError
from attain.metrics.differences import holm, paired_comparison
from attain.metrics.evaluation import Evaluation
from attain.metrics.measures import MEASURES
from attain.population.population import Reference
from attain.schema import Feature, Schema

NAN = float("nan")
SCHEMA = Schema(tuple(Feature(name, "real") for name in "abcd"))
TRAIN = np.arange(40.0).reshape(10, 4)
REFERENCE = Reference.build(SCHEMA, TRAIN, met=np.ones(10, dtype=bool))


def context(factuals: np.ndarray, reference: Reference = REFERENCE, target: str = "good") -> Any:
    """As much of a context as a comparison looks at."""
    goal, people = SimpleNamespace(target=target, probability=None), SimpleNamespace(reference=reference)
    return SimpleNamespace(factuals=factuals, people=people, goal=goal, schema=SCHEMA)


def evaluation(**columns: Any) -> Evaluation:
    """An evaluation of as many people as the columns have, found where the first column has a number."""
    values = {name: np.asarray(column, dtype=float) for name, column in columns.items()}
    number = len(next(iter(values.values())))
    found = ~np.isnan(next(iter(values.values())))
    return Evaluation(
        frame=pd.DataFrame({"found": found, **values}),
        summary=pd.DataFrame(),
        measures={name: MEASURES[name] for name in ("found", *values)},
        context=context(factuals=np.zeros((number, 4))),
        asked=np.ones(number, dtype=bool),
    )


def test_people_without_an_answer_enter_with_what_they_are_charged() -> None:
    one, other = evaluation(total_shift=[1.0, 2.0, NAN]), evaluation(total_shift=[1.5, 2.0, 1.0])
    row = paired_comparison({"one": one, "other": other}, "total_shift").iloc[0]
    assert (row["first"], row["second"], row["n"]) == ("one", "other", 3)
    assert row["first_mean"] == pytest.approx((1 + 2 + 4) / 3)
    assert row["difference"] == pytest.approx((-0.5 + 0 + 3) / 3)
    assert (row["better"], row["worse"], row["tied"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    found = paired_comparison({"one": one, "other": other}, "found").iloc[0]
    assert found["difference"] == pytest.approx(-1 / 3)
    assert (found["better"], found["worse"]) == pytest.approx((0, 1 / 3))


def test_signed_ranks_and_interval_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(1.0, 1.0, 60), rng.normal(1.3, 1.0, 60)
    second[:10] = first[:10]
    row = paired_comparison({"a": evaluation(max_shift=first), "b": evaluation(max_shift=second)}, "max_shift").iloc[0]
    assert row["test"] == "signed ranks"
    assert row["p_value"] == stats.wilcoxon(first, second, zero_method="pratt").pvalue
    expected = stats.bootstrap(
        (first - second,), np.mean, n_resamples=1000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    np.testing.assert_allclose((row["low"], row["high"]), expected, rtol=1e-12)
    assert row["tied"] == pytest.approx(1 / 6)


def test_verdicts_are_tested_by_the_exact_sign_test() -> None:
    first, second = np.repeat([1.0, 1.0, 0.0, 0.0], [5, 9, 2, 4]), np.repeat([1.0, 0.0, 1.0, 0.0], [5, 9, 2, 4])
    row = paired_comparison({"a": evaluation(inlier=first), "b": evaluation(inlier=second)}, "inlier").iloc[0]
    assert row["test"] == "sign test"
    assert row["p_value"] == stats.binomtest(9, 11).pvalue
    assert (row["better"], row["worse"], row["tied"]) == (0.45, 0.1, 0.45)


def test_measures_without_a_worst_case_compare_people_whom_both_answered() -> None:
    one = evaluation(proximity=[1.0, NAN, np.inf, 3.0, np.inf])
    other = evaluation(proximity=[2.0, 1.0, np.inf, NAN, 2.0])
    row = paired_comparison({"one": one, "other": other}, ["proximity"]).iloc[0]
    assert row["n"] == 3
    assert (row["better"], row["worse"], row["tied"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert row["p_value"] == stats.wilcoxon([-1.0, 0.0, 9.0], zero_method="pratt").pvalue


def test_methods_that_answer_alike_are_tied_and_nobody_is_no_error() -> None:
    alike = evaluation(total_shift=[1.0, 2.0])
    row = paired_comparison({"a": alike, "b": alike}, "total_shift").iloc[0]
    assert (row["difference"], row["tied"], row["p_value"]) == (0.0, 1.0, 1.0)
    nobody = evaluation(proximity=[NAN, NAN])
    row = paired_comparison({"a": nobody, "b": nobody}, "proximity").iloc[0]
    assert row["n"] == 0
    assert np.isnan([row["difference"], row["p_value"], row["p_holm"]]).all()


def test_every_two_methods_on_every_measure_are_corrected_together() -> None:
    rng = np.random.default_rng(1)
    methods = {name: evaluation(max_shift=rng.random(12), total_shift=rng.random(12)) for name in "abc"}
    table = paired_comparison(methods, ["max_shift", "total_shift"])
    assert list(zip(table["first"], table["second"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")] * 2
    np.testing.assert_allclose(table["p_holm"], holm(table["p_value"].to_numpy()))


def test_holms_correction_by_hand() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.5, NAN, 0.01]), [0.5, NAN, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1.0, 1.0])
    assert len(holm([])) == 0


def test_different_people_requests_or_references_are_refused() -> None:
    one = evaluation(total_shift=[1.0, 2.0])
    others = {
        "are of different rows": evaluation(total_shift=[1.0, 2.0, 3.0]),
        "in another order": replace(one, context=context(np.ones((2, 4)))),
        "are of different requests: target 'good' with probability None and 'bad'": replace(
            one, context=context(np.zeros((2, 4)), target="bad")
        ),
        "have different references": replace(
            one, context=context(np.zeros((2, 4)), Reference.build(SCHEMA, TRAIN[:5], met=np.ones(5, dtype=bool)))
        ),
    }
    for sentence, other in others.items():
        with pytest.raises(DataError, match=sentence):
            paired_comparison({"one": one, "other": other}, "total_shift")
