"""Importance of changes: closed forms for linear scores, brute force, what is needed for what, and what follows."""

import re
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from attain import Counterfactuals, Feature, GrowingSpheres, Guarded, Schema
from attain.answers.importance import find_importances
from attain.models import Goal
from attain.results.details import Importances
from attain.schema import Constraints
from attain.search.problem import Ledger, Problem
from attain.tables import Region, RuleBook, Table
from attain.testing import people
from tests.results.handmade import result_of

RANDOM = np.random.default_rng(0)
GRID = pd.DataFrame(RANDOM.integers(0, 10, (300, 4)), columns=["a", "b", "c", "d"])
COUNTS = Schema(tuple(Feature(name, "count") for name in GRID))


def plane(weights: list[float], X: pd.DataFrame = GRID) -> RidgeClassifier:
    """A classifier whose score is weights · row − 10."""
    model = RidgeClassifier().fit(X, np.arange(len(X)) % 2)
    model.coef_, model.intercept_ = np.array([weights]), np.array([-10.0])
    return model


def bent(X: pd.DataFrame) -> np.ndarray:
    """A probability with products of columns in it."""
    score = X["a"] * X["b"] / 10 - X["c"] * (X["d"] > 4) + np.sqrt(X["a"] + X["c"]) - 3
    chance = 1 / (1 + np.exp(-np.asarray(score)))
    return np.column_stack((1 - chance, chance))


def importances(
    model: Any,
    own: pd.DataFrame,
    answers: pd.DataFrame,
    schema: Schema = COUNTS,
    level: Any = lambda rows, own: np.full(len(rows), np.nan),
    laws: tuple[Any, ...] = (),
) -> tuple[Importances, Problem]:
    """The importance of answers that are given."""
    table, rows = Table.read(own, schema), Table.read(answers, schema).values
    goal = Goal(model, table.layout, target=1, probe=table.values)
    region = Region.of(table, Constraints(), book=RuleBook(schema, laws))
    problem = Problem(goal, region, Ledger(len(table), 10), 1, seed=0)
    return find_importances(problem, rows, np.arange(len(rows)), level), problem


def gains(found: Importances, schema: Schema = COUNTS) -> dict[tuple[int, str], float]:
    return {(int(i), schema.names[j]): gain for i, j, gain in zip(found.option, found.column, found.gain, strict=True)}


def test_a_linear_score_is_shared_by_what_each_change_adds() -> None:
    weights = [1.0, -2.0, 0.5, 0.0]
    own, answers = GRID.iloc[:20], GRID.iloc[20:40].set_index(GRID.index[:20])
    found, problem = importances(plane(weights), own, answers)
    expected = (answers - own) * weights
    for (i, name), gain in gains(found).items():
        assert gain == pytest.approx(expected.iloc[i][name], abs=1e-6)
    assert len(found.gain) == (answers != own).sum().sum()
    assert problem.ledger.spent.sum() == 0


def test_values_are_the_mean_over_all_orders_of_the_changes() -> None:
    own, answers = GRID.iloc[:6], GRID.iloc[6:12].set_index(GRID.index[:6])
    found, _ = importances(bent, own, answers)
    for i in range(6):
        changed = [name for name in GRID if own.iloc[i][name] != answers.iloc[i][name]]
        expected = dict.fromkeys(changed, 0.0)
        every = list(permutations(changed))
        for order in every:
            row = own.iloc[[i]].copy()
            for name in order:
                before = bent(row)[0]
                row[name] = answers.iloc[i][name]
                after = bent(row)[0]
                expected[name] += ((after[1] - after[0]) - (before[1] - before[0])) / len(every)
        mine = {name: gain for (k, name), gain in gains(found).items() if k == i}
        assert mine == pytest.approx(expected, abs=1e-6)


def test_more_than_twelve_changes_are_drawn_and_their_sum_is_exact() -> None:
    names = [f"x{k}" for k in range(14)]
    X = pd.DataFrame(RANDOM.integers(0, 10, (30, 14)), columns=names)
    schema = Schema(tuple(Feature(name, "count") for name in names))
    own, answers = X.iloc[:3], X.iloc[:3] + 1

    def product(rows: pd.DataFrame) -> np.ndarray:
        chance = 1 / (1 + np.exp(-(rows["x0"] * rows["x1"] + rows.sum(axis=1) - 90) / 10))
        return np.column_stack((1 - chance, chance))

    found, problem = importances(product, own, answers, schema)
    totals = found.gain.reshape(3, 14).sum(axis=1)
    expected = 2 * (product(answers)[:, 1] - product(own)[:, 1])
    np.testing.assert_allclose(totals, expected, atol=14e-6)
    others = found.gain.reshape(3, 14)[:, 2:]
    assert (np.ptp(others, axis=1) < 0.3 * others.mean(axis=1)).all()  # twelve alike
    alone, _ = importances(product, own.iloc[[2]], answers.iloc[[2]], schema)
    np.testing.assert_array_equal(alone.gain, found.gain[28:])
    before = problem.goal.rows_asked
    again = find_importances(problem, answers.to_numpy(float), np.arange(3), lambda rows, own: np.zeros(len(rows)))
    np.testing.assert_array_equal(again.gain, found.gain)
    assert problem.goal.rows_asked - before == 3 * (256 * 15 + 14)


def test_needed_for_the_decision_is_what_the_decision_does_not_flip_without() -> None:
    own = pd.DataFrame({"a": [2, 2], "b": [2, 2], "c": [2, 2], "d": [0, 0]})
    answers = pd.DataFrame({"a": [9, 9], "b": [5, 2], "c": [3, 8], "d": [0, 1]})
    found, _ = importances(plane([1.0, 1.0, 1.0, 1.0]), own, answers)
    mine = dict(zip(gains(found), found.for_decision, strict=True))
    # 17 − 7, 17 − 3 and 17 − 1; 20 − 7, 20 − 6 and 20 − 1, against 10
    assert mine == {(0, "a"): 1, (0, "b"): 0, (0, "c"): 0, (1, "a"): 0, (1, "c"): 0, (1, "d"): 0}
    assert np.isnan(found.to_stay_typical).all()


def test_needed_to_stay_typical_is_what_the_level_falls_without_though_the_decision_flips() -> None:
    own = pd.DataFrame({"a": [2, 2], "b": [2, 2], "c": [2, 2], "d": [0, 0]})
    answers = pd.DataFrame({"a": [9, 9], "b": [5, 2], "c": [3, 8], "d": [0, 1]})

    def level(rows: np.ndarray, own: np.ndarray) -> np.ndarray:
        return np.where(rows[:, 1] + rows[:, 2] < 6, 1.0, 0.0)  # b + c of 6 and more is typical

    found, _ = importances(plane([1.0, 1.0, 1.0, 1.0]), own, answers, level=level)
    mine = dict(zip(gains(found), found.to_stay_typical, strict=True))
    assert mine == {(0, "a"): 0, (0, "b"): 1, (0, "c"): 0, (1, "a"): 0, (1, "c"): 1, (1, "d"): 0}
    np.testing.assert_array_equal(found.only_typical, found.to_stay_typical)


def test_changes_that_are_spare_one_by_one_but_not_together_do_not_only_keep_the_record_typical() -> None:
    own = pd.DataFrame({"a": [2], "b": [2], "c": [2], "d": [0]})
    answers = pd.DataFrame({"a": [6], "b": [6], "c": [6], "d": [0]})

    def level(rows: np.ndarray, own: np.ndarray) -> np.ndarray:
        return np.where(rows[:, :3].sum(axis=1) < 18, 1.0, 0.0)

    # 18 − 4 is above 10, and 18 − 12 is not
    found, _ = importances(plane([1.0, 1.0, 1.0, 1.0]), own, answers, level=level)
    assert found.to_stay_typical.tolist() == [1, 1, 1]
    assert found.only_typical.tolist() == [0, 0, 0]


def test_a_computed_column_belongs_to_what_it_is_computed_from() -> None:
    schema = Schema((*COUNTS.features[:3], Feature("d", "real", derived="a + 10 * b")))
    own = pd.DataFrame({"a": [1, 3], "b": [1, 0], "c": [1, 5], "d": [11.0, 3.0]})
    answers = pd.DataFrame({"a": [4, 9], "b": [2, 0], "c": [1, 6], "d": [24.0, 9.0]})
    found, _ = importances(plane([1.0, 0.0, 3.0, 0.5], own), own, answers, schema)
    mine = gains(found, schema)
    assert np.isnan(mine.pop((0, "d")))
    assert np.isnan(mine.pop((1, "d")))
    assert mine == pytest.approx({(0, "a"): 4.5, (0, "b"): 5.0, (1, "a"): 9.0, (1, "c"): 3.0})


def test_time_passes_whatever_changes() -> None:
    schema = Schema(
        (
            Feature("months", "count", clock=True),
            Feature("since", "count", clock=True),
            Feature("debt", "count", pace=2),
        )
    )
    own = pd.DataFrame({"months": [10, 10], "since": [0, 0], "debt": [20, 20]})
    answers = pd.DataFrame({"months": [15, 18], "since": [5, 8], "debt": [10, 10]})  # as long as it takes; 8 months
    found, problem = importances(plane([1.0, 2.0, -1.0], own), own, answers, schema)
    assert problem.region.changed(answers.to_numpy(float), np.arange(2)).sum() == 2
    assert gains(found, schema) == pytest.approx({(0, "debt"): 10.0, (1, "debt"): 10.0})


def test_clocks_follow_from_time() -> None:
    clocks = tuple(Feature(name, "count", clock=True) for name in ("months", "since"))
    schema = Schema((*clocks, Feature("debt", "count")), rules=("if debt = 0 then since >= 6",))
    own = pd.DataFrame({"months": [10, 10], "since": [2, 2], "debt": [4, 4]})
    result = result_of(schema, own, {0: [{"months": 14, "since": 6, "debt": 0}], 1: [{"months": 14, "since": 6}]})
    assert result.needed_by_law.tolist() == [[True, True, False], [True, True, False]]


def explained(**request: Any) -> Counterfactuals:
    X = people.frame(200)
    y = people.labels(X)
    model = people.linear_model(X, y)
    refused = X[model.predict(X) == people.REFUSED].head(6)
    explainer = GrowingSpheres(people.schema(), laws=people.LAWS, figures=False, samples=60).fit(X, y)
    return explainer.explain(model, refused, target=people.DESIRED, **request)


def test_the_frame_has_a_row_for_each_change_and_sums_to_the_score_gained() -> None:
    result = explained(n=2, importance=True)
    frame, changes = result.importance, result.changes
    assert list(frame.columns[:4]) == ["person", "option", "feature", "label"]
    pd.testing.assert_frame_equal(frame[["person", "option", "feature"]], changes[["person", "option", "feature"]])
    total = frame.groupby(["person", "option"], sort=False)["gain"].sum().to_numpy()
    gained = result.option_figures["score_after"] - result.person_figures["score_before"][result.owners]
    np.testing.assert_allclose(total, gained, atol=1e-5)
    derived = frame["feature"] == "debt_ratio"
    assert frame.loc[derived, "gain"].isna().all()
    assert frame.loc[derived, "needed_by_law"].all()
    known = frame[~derived & (changes["shift"] > 0)]
    np.testing.assert_allclose(
        known["per_point"], known["gain"] / changes.loc[known.index, "shift"], rtol=1e-3, atol=1e-8
    )
    assert frame["needed_to_stay_typical"].isna().all()
    plain = explained(n=2)
    assert plain.to_json() != result.to_json()
    np.testing.assert_array_equal(plain.person_figures["rows_scored"], result.person_figures["rows_scored"])
    number = frame[~derived].groupby(["person", "option"]).size()
    assert result.rows_asked - plain.rows_asked == (2**number + number).sum()


@pytest.mark.parametrize("given", [{"rules": ("a <= b",)}, {"laws": ("a <= b",)}])
def test_what_a_rule_or_law_asks_for_is_marked(given: dict[str, Any]) -> None:
    X = GRID[GRID["a"] <= GRID["b"]]
    schema = Schema(COUNTS.features, rules=given.get("rules", ()))
    explainer = GrowingSpheres(schema, laws=given.get("laws"), figures=False, samples=60).fit(X)
    model = plane([2.0, 0.0, 0.0, 0.0])  # a of 6 and more
    person = pd.DataFrame({"a": [2], "b": [3], "c": [1], "d": [1]})
    frame = explainer.explain(model, person, target=1, importance=True).importance.set_index("feature")
    assert list(frame.index) == ["a", "b"]
    assert frame["needed_by_law"].tolist() == [False, True]
    assert frame["needed_for_decision"].tolist() == [True, False]
    assert frame["gain"].tolist() == [8.0, 0.0]


def test_guarded_answers_say_what_keeps_them_typical() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=400)
    X = pd.DataFrame({"x": x, "y": x + random.normal(0, 0.05, 400)})  # y goes with x
    model = LogisticRegression().fit(X[["x"]].assign(y=0.0), x > 0)
    schema = Schema((Feature("x", "real"), Feature("y", "real")))
    explainer = Guarded(schema, laws=None).fit(X, x > 0)
    result = explainer.explain(model, X[x < -1].head(5), target=True, importance=True)
    assert result.found.all()
    frame = result.importance.set_index("feature").loc[["x", "y"]]
    assert (frame["needed_for_decision"] == (frame.index == "x")).all()
    assert (frame["needed_to_stay_typical"] == (frame.index == "y")).all()
    assert (frame.loc["y", "gain"] == 0).all()
    typical = result.sentences[result.verdict == "typical"]
    assert all(re.match(r"For .*, increase x from \S+ to .*; with it goes y from .* to .*\.", s) for s in typical)
    first = result.frame.index[result.verdict == "typical"][0]
    assert "To stay typical, also increase y from" in result.describe(first, width=200)
    without = explainer.explain(model, X[x < -1].head(5), target=True)
    assert not any("also" in sentence for sentence in without.sentences)
