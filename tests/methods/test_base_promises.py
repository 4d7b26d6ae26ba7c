"""What `Explainer` promises for every method, held once with a method of a few lines."""

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attain import methods
from attain.answers import result, session
from attain.methods import Explainer
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from attain.search.pool import Pool
from attain.search.problem import Answers, Problem
from attain.testing import ExplainerSuite, people
from attain.testing.explainer import digest

METHODS = tuple(name for name in methods.__all__ if name != "Explainer")


@dataclass(kw_only=True, eq=False, repr=False)
class RealRows(Explainer):
    """The free cells of a training row: the one with the least total shift."""

    citation = "@misc{real_rows, title = {An example}, year = {2026}}"

    def _batch_size(self, n: int, inspected: object) -> int:
        return 4

    def search(self, problem: Problem) -> Answers:
        owners = np.repeat(np.arange(len(problem)), len(self.population_.values))
        tried = problem.ask(np.tile(self.population_.values, (len(problem), 1)), owners)
        rows, owners = tried.rows[tried.hits], owners[tried.hits]
        pool = Pool(len(problem), rows.shape[1], problem.options)
        shifts = self.population_.percentiles.shift(problem.region.factuals[owners], rows)
        pool.add(rows, owners, shifts.sum(axis=1))
        return Answers(pool.rows, pool.owners, pool.distances, problem.statuses(pool.owners))


class AsksTheModel(RealRows):
    """The same, but it looks for itself whether the model decides for a row."""

    def search(self, problem: Problem) -> Answers:
        problem.goal.score_rows(self.population_.values[:1])
        return super().search(problem)


class Conforming(ExplainerSuite):
    explainer = RealRows


class Bypassing(ExplainerSuite):
    explainer = AsksTheModel


def test_a_method_that_asks_for_a_decision_another_way_fails_its_suite() -> None:
    Conforming().test_only_ask_says_whether_candidates_flip_the_decision()
    with pytest.raises(AssertionError, match=r"asks the model itself \(score_rows\); use `problem.ask`"):
        Bypassing().test_only_ask_says_whether_candidates_flip_the_decision()


@cache
def world() -> tuple[RealRows, Any, pd.DataFrame]:
    """A fitted explainer, a model and people whom it refuses."""
    X, others = people.frame(150), people.frame(60, seed=7)
    y = people.labels(X)
    model = people.linear_model(X, y)
    explainer = RealRows(people.schema(), laws=people.LAWS, budget=500).fit(X, y)
    return explainer, model, others[model.predict(others) == people.REFUSED].iloc[:12]


def explain(X: Any, **more: Any) -> Counterfactuals:
    explainer, model, _ = world()
    return explainer.explain(model, X, target=people.DESIRED, **more)


def test_constraints_of_one_call_are_kept() -> None:
    X = world()[2]
    first = X.index[0]
    constraints = {
        "immutable": ["debt"],
        "direction": {"score": "increase"},
        "range": {"months_late": (-2, 0)},
        "max_changes": 8,
        "people": {first: {"immutable": ["income", "score"]}},
    }
    result = explain(X, constraints=constraints)
    assert result.found.any()
    assert "debt" not in set(result.changes["feature"])
    for row in result.changes.itertuples():
        if row.feature == "score":
            assert row.counterfactual > row.current
        if row.feature == "months_late" and row.current >= 0:
            assert -2 <= row.counterfactual - row.current <= 0
    own = result.changes[result.changes["person"] == first]["feature"]
    assert not set(own) & {"income", "score"}
    assert np.nanmax(result.option_figures["features_changed"], initial=0) <= 8


def test_who_needs_no_change_or_may_change_nothing_is_told_so() -> None:
    others = people.frame(100, seed=11)
    granted = others[world()[1].predict(others) == people.DESIRED].iloc[:3]
    assert set(explain(granted).statuses) == {Status.ALREADY_DESIRED}
    everything = {"immutable": list(people.schema().names)}
    assert set(explain(world()[2], constraints=everything).statuses) == {Status.NOTHING_FREE}


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda X: pa.Table.from_pandas(X, preserve_index=False)])
def test_the_library_of_the_frame_does_not_matter(convert: Any) -> None:
    X = world()[2]
    expected, other = explain(X), explain(convert(X))
    assert other.answers.tobytes() == expected.answers.tobytes()
    assert other.statuses == expected.statuses
    assert type(other.frame) is type(convert(X))


@dataclass(kw_only=True, eq=False, repr=False)
class Faulty(RealRows):
    """Fails where a batch has somebody of a certain income."""

    income: float = 0.0

    def search(self, problem: Problem) -> Answers:
        found = super().search(problem)
        if (problem.region.factuals[:, self.population_.schema.position("income")] == self.income).any():
            raise ZeroDivisionError("an example")
        return found


def test_an_error_in_a_search_is_a_status_of_the_people_it_was_about() -> None:
    _, model, X = world()
    faulty = Faulty(people.schema(), laws=people.LAWS, budget=500, income=X["income"].iloc[5])
    faulty.fit(people.frame(150), people.labels(people.frame(150)))
    counted = Model(model)
    result, others = faulty.explain(counted, X, target=people.DESIRED), np.delete(np.arange(len(X)), 5)
    assert result.statuses[5] is Status.FAILED
    assert result.problems.to_dict("list") == {"person": [X.index[5]], "error": ["ZeroDivisionError: an example"]}
    assert digest(result, others) == digest(explain(X), others)
    assert any("ended with an error for 1 people" in note for note in result.notes)
    assert result.person_figures["rows_scored"].sum() + result.rows_uncharged == result.rows_asked == counted.rows
    assert Counterfactuals.from_json(result.to_json()).failures == result.failures
    with pytest.raises(ZeroDivisionError):
        faulty.explain(model, X, target=people.DESIRED, errors="raise")


@pytest.mark.parametrize("place", ["last_check", "find_ranges", "find_importances", "find_contributions"])
def test_an_error_after_the_search_loses_nobody_else(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, home = world()[2], session if place == "last_check" else result
    explain(X)
    find, income = getattr(home, place), X["income"].iloc[5]
    asked = {"ranges": True, "importance": True, "contributions": True, "n": 2}
    expected = explain(X, **asked)

    def faulty(*given: Any) -> Any:
        problem = next(one for one in given if isinstance(one, Problem))
        if (problem.region.factuals[:, problem.region.schema.position("income")] == income).any():
            raise MemoryError("an example")
        return find(*given)

    monkeypatch.setattr(home, place, faulty)
    answered = explain(X, **asked)
    others = np.delete(np.arange(len(X)), 5)
    if place == "last_check":
        assert answered.statuses[5] is Status.FAILED
        assert answered.problems["error"].tolist() == ["MemoryError: an example"]
        assert digest(answered, others) == digest(expected, others)
    else:
        assert answered.answers.tobytes() == expected.answers.tobytes()
        assert answered.notes[-1].endswith("were found: this ended with MemoryError: an example")
    with pytest.raises(MemoryError):
        explain(X, **asked, errors="raise")


def test_the_frame_looks_like_the_one_that_came_in_which_is_left_as_it_was() -> None:
    X = world()[2].copy(deep=True)
    result, nobody = explain(X), explain(X.iloc[:0])
    assert (len(nobody), list(nobody.frame.columns)) == (0, list(X.columns))
    pd.testing.assert_frame_equal(X, world()[2])
    for labelled in (result.frame, result.status, result.figures):
        assert labelled.index.equals(X.index)
    assert list(result.frame.columns) == list(X.columns)
    assert result.frame.dtypes.equals(X.dtypes)


def test_a_person_without_an_answer_keeps_their_own_record() -> None:
    X = world()[2]
    result = explain(X, constraints={"max_changes": 1})
    lost = ~result.found
    assert lost.any()
    pd.testing.assert_frame_equal(result.frame[lost], X[lost])
    assert not set(result.options["person"]) & set(X.index[lost])
    assert not set(result.changes["person"]) & set(X.index[lost])


def test_one_person_may_be_a_dictionary_or_a_series() -> None:
    X = world()[2].iloc[:1]
    for one, label in ((X.iloc[0], X.index[0]), (X.iloc[0].to_dict(), 0)):
        result = explain(one)
        assert list(result.table.labels) == [label]
        assert digest(result) == digest(explain(X))


def test_a_result_survives_json() -> None:
    result = explain(world()[2], n=3)
    again = Counterfactuals.from_json(result.to_json())
    assert digest(again) == digest(result)
    pd.testing.assert_frame_equal(again.frame, result.frame)
    pd.testing.assert_frame_equal(again.changes, result.changes)


def refitted(names: tuple[str, ...]) -> list[str]:
    """The digest of one fixed task for each of some methods, all fitted anew."""
    X, others = people.frame(), people.frame(40, seed=7)
    y = people.labels(X)
    linear, tree = people.linear_model(X, y), people.tree_model(X, y)
    digests = []
    for name in names:
        model = tree if name == "FeatureTweaking" else linear
        explainer = getattr(methods, name)(people.schema(), laws=people.LAWS, budget=2_000).fit(X, y)
        refused = others[model.predict(others) == people.REFUSED].iloc[:6]
        digests.append(digest(explainer.explain(model, refused, target=people.DESIRED, n=2)))
    return digests


@pytest.mark.parametrize("names", [("GrowingSpheres", "Guarded"), pytest.param(METHODS, marks=pytest.mark.slow)])
def test_another_process_gives_the_same_bytes(names: tuple[str, ...]) -> None:
    code = f"from tests.methods.test_base_promises import refitted\nprint(*refitted({names}))"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert there.split() == refitted(names)
