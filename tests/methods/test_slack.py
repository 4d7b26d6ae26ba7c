"""Answers that hold when changes are carried out roughly: worst executions by hand, draws, and what is left without."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import AttainError, Feature, GrowingSpheres, Guarded, Schema, methods
from attain.metrics.robustness import unmargined_goal, valid_after_inexact_execution
from attain.schema import Constraints
from attain.tables import Region
from attain.testing import people
from attain.testing.explainer import digest

GRID = np.arange(1001) / 1000
RANDOM = np.random.default_rng(0)
PLANE = pd.DataFrame({"x": RANDOM.permutation(GRID), "y": RANDOM.permutation(GRID)})
SCHEMA = Schema((Feature("x", "real"), Feature("y", "real")))


def executions(answer: pd.Series, own: pd.Series, size: float) -> pd.DataFrame:
    """The corners of what becomes of a change carried out to ± size, where percentiles are the values themselves."""
    moves = [(-size, size) if answer[name] != own[name] else (0.0,) for name in answer.index]
    return pd.DataFrame([answer + np.array(move) for move in product(*moves)]).clip(0, 1)


def linear(X: pd.DataFrame) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(X, (X.sum(axis=1) > 1).astype(int))
    model.coef_, model.intercept_ = np.array([[1.0, 2.0]]), np.array([-1.5])
    return model


@pytest.mark.parametrize("method", [GrowingSpheres, Guarded])
def test_every_execution_of_an_answer_holds_for_a_linear_model(method: Any) -> None:
    model = linear(PLANE)
    refused = PLANE[model.predict(PLANE) == 0].head(15)
    explainer = method(SCHEMA, figures=False, laws=None).fit(PLANE, model.predict(PLANE))
    result = explainer.explain(model, refused, target=1, slack=5)
    assert result.found.all()
    assert (result.of_best("holds_within_slack") == 1).all()
    for label, answer in result.frame.iterrows():
        tried = executions(answer, refused.loc[label], 0.0499)
        assert (model.predict(tried) == 1).all()
    plain = explainer.explain(model, refused, target=1)
    assert "holds_within_slack" not in plain.option_figures
    short = [model.predict(executions(row, refused.loc[label], 0.0499)).min() for label, row in plain.frame.iterrows()]
    assert np.mean(short) < 0.5


def test_answers_of_other_models_hold_in_most_draws() -> None:
    def decide(rows: pd.DataFrame) -> np.ndarray:
        return ((rows["x"] > 0.6) & (np.abs(rows["y"] - 0.5) < 0.2)).astype(int).to_numpy()

    refused = PLANE[decide(PLANE) == 0].head(20)
    explainer = GrowingSpheres(SCHEMA, figures=False, laws=None).fit(PLANE)
    result = explainer.explain(decide, refused, target=1, slack=5)
    region = Region.of(result.table, Constraints(), explainer.observed_)
    goal = unmargined_goal(decide, explainer.table_, 1, None)
    share = valid_after_inexact_execution(result.answers, region, goal, explainer.percentiles_, draws=200)
    assert np.nanmean(share) > 0.95
    np.testing.assert_allclose(result.of_best("holds_within_slack"), share, atol=0.15)


def test_without_such_an_answer_there_is_one_that_holds_as_it_is() -> None:
    counts = pd.DataFrame({"n": np.arange(100) % 10, "m": np.arange(100) // 10})
    schema = Schema((Feature("n", "count"), Feature("m", "count", immutable=True)))
    explainer = GrowingSpheres(schema, figures=False, laws=None).fit(counts)
    result = explainer.explain(lambda rows: (rows["n"] == 5).astype(int), counts.head(5), target=1, slack=30)
    assert result.found.all()
    assert (result.frame["n"] == 5).all()
    assert (result.of_best("holds_within_slack") < 1).all()
    assert (result.of_best("holds_within_slack") > 0).all()


def test_levels_without_an_order_are_carried_out_exactly() -> None:
    frame = pd.DataFrame({"home": np.where(np.arange(100) % 2, "owns", "rents"), "n": np.arange(100)})
    schema = Schema((Feature("home", "categorical", levels=("owns", "rents")), Feature("n", "count", immutable=True)))
    explainer = GrowingSpheres(schema, figures=False, laws=None).fit(frame)
    person = frame[frame["home"] == "rents"].head(3)
    result = explainer.explain(lambda rows: (rows["home"] == "owns").astype(int), person, target=1, slack=40)
    assert (result.of_best("holds_within_slack") == 1).all()


def test_budgets_are_kept_and_batches_do_not_matter() -> None:
    X = people.frame()
    y = people.labels(X)
    model = people.tree_model(X, y)
    others = people.frame(80, seed=7)
    refused = others[model.predict(others) == people.REFUSED].head(5)
    explainer = GrowingSpheres(people.schema(), figures=False, budget=1500, laws=people.LAWS).fit(X, y)
    result = explainer.explain(model, refused, target=people.DESIRED, slack=5, n=2)
    assert (result.person_figures["rows_scored"] <= 1500).all()
    shuffled = explainer.explain(model, refused.iloc[::-1], target=people.DESIRED, slack=5, n=2)
    assert digest(result) == digest(shuffled)
    few = GrowingSpheres(people.schema(), figures=False, budget=40, laws=None).fit(X, y)
    result = few.explain(model, refused, target=people.DESIRED, slack=5)
    assert (result.person_figures["rows_scored"] <= 40).all()
    assert np.isnan(result.of_best("holds_within_slack")).all()


@pytest.mark.parametrize("slack", [0, 100, -1, "five"])
def test_the_slack_is_between_0_and_100(slack: Any) -> None:
    explainer = GrowingSpheres(SCHEMA, laws=None).fit(PLANE)
    with pytest.raises(AttainError, match="slack must be"):
        explainer.explain(linear(PLANE), PLANE.head(1), target=1, slack=slack)


@pytest.mark.parametrize(
    "name", ["ActionableRecourse", "FACE", "FeatureTweaking", "HillClimbingLocalSearch", "NearestUnlike"]
)
def test_every_method_takes_slack_and_ranges(name: str) -> None:
    X = people.frame()
    y = people.labels(X)
    model = people.tree_model(X, y) if name == "FeatureTweaking" else people.linear_model(X, y)
    others = people.frame(80, seed=7)
    refused = others[model.predict(others) == people.REFUSED].head(4)
    explainer = getattr(methods, name)(people.schema(), figures=False, laws=None).fit(X, y)
    result = explainer.explain(model, refused, target=people.DESIRED, slack=5, ranges=True)
    assert (result.found == explainer.explain(model, refused, target=people.DESIRED).found).all()
    assert (model.predict(result.frame[result.found]) == people.DESIRED).all()
    assert (result.person_figures["rows_scored"] <= explainer.budget).all()
    assert not np.isnan(result.of_best("holds_within_slack")[result.found]).any()
    assert set(result.ranges["person"]) == set(refused.index[result.found])
