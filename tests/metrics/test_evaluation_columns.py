"""What an evaluation reports beyond the headline: every column is what its function gives, and what costs is opt-in."""

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attain import GrowingSpheres, metrics
from attain.core.intervals import mean_interval
from attain.metrics import DEFAULT, Measure, RealPeople, evaluate, measures
from attain.metrics.laws import Relations
from attain.metrics.measures import MEASURES
from attain.models import Goal
from attain.population.measuring import Percentiles
from attain.population.population import Reference
from attain.schema import Constraints
from attain.tables import Region, Table
from attain.testing import people
from tests.metrics.conftest import LABELS, TEST, TEST_LABELS, TRAIN, asked


@pytest.fixture(scope="module")
def result(model: Any) -> Any:
    rows = asked(model, 7, 2)
    constraints = Constraints(people={rows.index[1]: Constraints(immutable=list(people.schema().free))})
    explainer = GrowingSpheres(people.schema(), budget=3000).fit(TRAIN, LABELS)
    return explainer.explain(model, rows, target=people.DESIRED, n=2, constraints=constraints)


@pytest.fixture(scope="module")
def against(result: Any, model: Any) -> RealPeople:
    schema, desired = result.table.schema, people.DESIRED
    return RealPeople(schema, model, TRAIN, LABELS, target=desired, X_test=TEST, y_test=TEST_LABELS)


@pytest.fixture(scope="module")
def evaluation(result: Any, model: Any) -> Any:
    return evaluate(result, model, TRAIN, LABELS, X_test=TEST, y_test=TEST_LABELS)


def test_columns_are_those_of_the_functions(result: Any, model: Any, evaluation: Any) -> None:
    answers, factuals, found = result.answers, result.table.values, result.found
    train, test = Table.read(TRAIN, result.table.schema), Table.read(TEST, result.table.schema)
    schema, reference = result.table.schema, evaluation.reference
    goal = Goal(model, train.layout, target=people.DESIRED, margin=0.0, probe=train.values)
    region = Region.of(result.table, Constraints())
    held_out = Reference.build(
        schema,
        test.values,
        desired_labels=TEST_LABELS.to_numpy() == people.DESIRED,
        met=model.predict(TEST) == people.DESIRED,
        space=reference.space,
    )
    relations = Relations.learn(schema, Table.read(TEST, schema).values)

    def broken(limits: float) -> np.ndarray:
        result = np.zeros(len(found))
        result[found] = relations.broken(answers[found], factuals[found], limits).any(axis=1)
        return result

    epsilon = reference.epsilon
    expected = {
        "valid": metrics.valid(answers, goal, found),
        "type_valid": metrics.type_valid(answers, region, goal, found),
        "violations": metrics.violations(answers, region, found).sum(axis=1),
        "redundant": metrics.redundant(answers, factuals, goal, region, found),
        "total_shift": metrics.total_shift(answers, factuals, Percentiles.fit(schema, train.values), found),
        **{norm: metrics.distance(answers, factuals, reference.space, norm, found) for norm in ("l1", "l2", "linf")},
        "proximity": metrics.proximity(answers, reference, found),
        "local_outlier_factor": metrics.local_outlier_factor(answers, reference, 20, found),
        "inlier": 1 - metrics.outlier(answers, reference, 20, found),
        **{f"inlier_{k}": 1 - metrics.outlier(answers, reference, k, found) for k in (5, 10, 20, 40)},
        "held_out_inlier": 1 - metrics.outlier(answers, held_out, 20, found),
        "nearest_distance": metrics.nearest_distance(answers, reference, found),
        **{f"connected_{100 * q:.0f}": metrics.connected(answers, reference, epsilon[q], found=found) for q in epsilon},
        **{f"relations_broken{far}": broken(limits) for far, limits in (("", 1.0), ("_by_far", 2.0))},
        "copied": metrics.copies(answers, train.values, schema, found),
        "copied_free": metrics.copies(answers, train.values, schema, found, free=True),
        "diversity": metrics.mean_pairwise_distance(result.rows, result.owners, len(found), reference.space),
        "rows_scored": result.person_figures["rows_scored"],
    }
    assert reference.space.dimension > 15  # so that one search served all of them
    assert {*expected, "found", "max_shift", "changed"} == set(evaluation.frame.columns)
    for name, column in expected.items():
        values = np.where(found | (name == "rows_scored"), column, np.nan)
        np.testing.assert_allclose(evaluation.frame[name], values, rtol=1e-12, err_msg=name)


def test_who_is_granted_already_is_not_charged(result: Any, evaluation: Any) -> None:
    summary = evaluation.summary
    assert result.found.sum() == 6
    assert evaluation.asked.tolist() == [True] * 7 + [False] * 2
    assert (summary["n"] == 7).all()
    assert summary.loc["found", ["mean", "charged"]].tolist() == pytest.approx([1.0, 6 / 7])
    free = len(people.schema().free)
    shifts = evaluation.frame["total_shift"].to_numpy()[result.found]
    assert summary.loc["total_shift", "charged"] == pytest.approx((shifts.sum() + free) / 7)
    charged = evaluation.charged
    assert charged["total_shift"].iloc[1] == free
    assert charged.iloc[7:].isna().all(axis=None)
    assert np.isnan(charged["proximity"].iloc[1])
    assert summary.loc["rows_scored", "charged"] == pytest.approx(result.person_figures["rows_scored"][:7].mean())


def test_both_averages_have_their_intervals(result: Any, evaluation: Any) -> None:
    summary = evaluation.summary
    names = ["mean", "low", "high", "answered", "charged", "charged_low", "charged_high", "n", "real"]
    assert summary.columns.tolist() == names
    wilson = stats.binomtest(6, 7).proportion_ci(method="wilson")
    assert summary.loc["found", ["charged_low", "charged_high"]].tolist() == pytest.approx([wilson.low, wilson.high])
    for measure, mean, low, high in (
        ("total_shift", "charged", "charged_low", "charged_high"),
        ("l2", "mean", "low", "high"),
    ):
        column = evaluation.charged[measure].to_numpy()[:7]
        interval = mean_interval(column)
        np.testing.assert_allclose(summary.loc[measure, [low, high]].tolist(), interval, rtol=1e-12)
        assert summary.loc[measure, low] < summary.loc[measure, mean] < summary.loc[measure, high]
    uncharged = [name for name in summary.index if MEASURES[name].worst is None and not MEASURES[name].known]
    assert summary.loc[uncharged, ["charged", "charged_low", "charged_high"]].isna().all(axis=None)
    assert (summary.loc[uncharged, "answered"] == 6).all()


def test_every_measure_is_in_the_catalogue_in_its_order(evaluation: Any) -> None:
    order = list(MEASURES)
    columns = list(evaluation.frame.columns)
    assert columns == sorted(columns, key=order.index)


def test_the_page_of_measures_lists_every_one_with_its_charge() -> None:
    page = (Path(__file__).parents[2] / "docs" / "understand" / "measures.md").read_text(encoding="utf-8")
    charges = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) in (4, 5):  # the charge stands before what the measure is good for
            charges |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), cells[-2].replace("\\", ""))
    shown = {"free": "|F|", None: "–", 0.0: "0", 1.0: "1"}
    made = measures.valid_after_retraining([])
    every = {**MEASURES, made.name: made}
    expected = {name: "own" if measure.known else shown[measure.worst] for name, measure in every.items()}
    assert charges == expected


def test_what_costs_is_added_on_request(result: Any, against: RealPeople, evaluation: Any) -> None:
    refits = metrics.retrained(lambda X, y, _: people.linear_model(X, pd.Series(y)), TRAIN, LABELS, number=3)
    extra = [measures.valid_after_retraining(refits), "valid_after_inexact_execution"]
    whole = against.evaluate(result, measures=[*DEFAULT, *extra])
    pd.testing.assert_frame_equal(whole.frame[evaluation.frame.columns], evaluation.frame)
    pd.testing.assert_frame_equal(whole.summary.loc[evaluation.summary.index], evaluation.summary)
    found = result.found
    shares = whole.frame["valid_after_retraining"][found].to_numpy()
    assert np.isin(np.round(shares * 3, 9), [0, 1, 2, 3]).all()
    executed = whole.frame["valid_after_inexact_execution"][found]
    assert executed.between(0, 1).all()


def test_labels_in_another_order_are_put_into_the_peoples(result: Any, model: Any) -> None:
    straight = evaluate(result, model, TRAIN, LABELS)
    turned = evaluate(result, model, TRAIN, LABELS.iloc[::-1])
    pd.testing.assert_frame_equal(straight.frame, turned.frame)


def test_constraints_of_the_call_count_among_the_rules(result: Any, model: Any, evaluation: Any) -> None:
    strict = evaluate(result, model, TRAIN, LABELS, constraints=Constraints(immutable=list(people.schema().free)))
    assert (strict.frame["violations"][result.found] > evaluation.frame["violations"][result.found]).all()
    assert (strict.frame["type_valid"][result.found] == 0).all()


def test_real_people_serve_many_results_of_one_request(result: Any, against: RealPeople, evaluation: Any) -> None:
    for kept in (against, against, pickle.loads(pickle.dumps(against))):
        pd.testing.assert_frame_equal(kept.evaluate(result).frame, evaluation.frame)


def test_own_measures_are_reported_charged_and_compared_like_others(result: Any, model: Any) -> None:
    def income(context: Any) -> np.ndarray:
        return context.answers[:, context.schema.position("income")]

    poor = Measure("poor", lambda c: (income(c) < 30).astype(float), "is poor", "lower", 1.0, share=True)
    evaluation = evaluate(result, model, TRAIN, LABELS, measures=["total_shift", poor, income])
    assert evaluation.frame.columns.tolist() == ["found", "total_shift", "poor", "income"]
    found, asked = result.found, evaluation.asked
    np.testing.assert_array_equal(evaluation.frame["income"], income(evaluation.context))
    expected = np.where(found, income(evaluation.context) < 30, 1.0)[asked]
    assert evaluation.summary.loc["poor", "charged"] == pytest.approx(expected.mean())
    wilson = stats.binomtest(int(expected.sum()), len(expected)).proportion_ci(method="wilson")
    assert evaluation.summary.loc["poor", "charged_high"] == pytest.approx(wilson.high)
    assert np.isnan(evaluation.summary.loc["income", "charged"])
    table = metrics.paired_comparison({"a": evaluation, "b": evaluation}, ["poor", "income"])
    assert table["test"].tolist() == ["sign test", "signed ranks"]


def test_a_registered_measure_has_a_name(result: Any, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attain.metrics.measures.MEASURES", dict(MEASURES))
    metrics.register(Measure("zero", lambda c: np.zeros(len(c.found))))
    assert evaluate(result, model, TRAIN, LABELS, measures=["zero"]).frame["zero"].sum() == 0


def test_what_lacks_held_out_people_is_left_out(result: Any, model: Any) -> None:
    assert "held_out_inlier" not in evaluate(result, model, TRAIN, LABELS).frame


def test_groups_are_compared_by_charged_values(result: Any, evaluation: Any) -> None:
    gap = metrics.recourse_gap(evaluation, ["a", "b"] * 4 + ["a"])
    means = gap.groups.set_index(["measure", "group"])["mean"]
    charged = evaluation.charged["total_shift"].to_numpy()
    assert means["total_shift", "a"] == pytest.approx(charged[[0, 2, 4, 6]].mean())
    assert means["found", "b"] == pytest.approx(2 / 3)
