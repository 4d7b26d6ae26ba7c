"""Hill climbing with local search: against every record there is, on small grids."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from attain import Feature, Model, Schema
from attain.methods import HillClimbingLocalSearch
from attain.results.status import Status
from attain.search import climb
from attain.search.problem import Problem

SCHEMA = Schema(
    (
        Feature("a", "count", bounds=(0, 9)),
        Feature("b", "count", bounds=(0, 9), cost=2.0),
        Feature("c", "ordinal", levels=("low", "middle", "high")),
        Feature("d", "categorical", levels=("x", "y", "z"), cost=0.5),
    )
)
SPAN = np.array([9.0, 9.0, 2.0])


def frame(n=400, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"a": random.integers(0, 10, n), "b": random.integers(0, 10, n)})
    X["c"] = random.choice(["low", "middle", "high"], n)
    X["d"] = random.choice(["x", "y", "z"], n)
    merit = X["a"] + 1.5 * X["b"] + 2 * (X["c"] == "high") + 3 * (X["d"] == "z")
    return X, (merit + random.normal(0, 1, n) > 18).astype(int)


def coded(X):
    codes = {"low": 0, "middle": 1, "high": 2, "x": 0, "y": 1, "z": 2}
    return np.column_stack([X["a"], X["b"], X["c"].map(codes), X["d"].map(codes)]).astype(float)


def encoded(X):
    X = coded(X)
    return np.column_stack((X[:, :3], X[:, 3:] == [0, 1, 2]))


class Encoded:
    """A classifier on the frame's own values."""

    def __init__(self, model, labels_only=False):
        X, y = frame()
        self.model = model.fit(encoded(X), y)
        self.classes_ = model.classes_
        if not labels_only:
            self.predict_proba = lambda X: self.model.predict_proba(encoded(X))

    def predict(self, X):
        return self.model.predict(encoded(X))


EVERYBODY = pd.DataFrame(
    list(itertools.product(range(10), range(10), ("low", "middle", "high"), ("x", "y", "z"))), columns=list("abcd")
)


def costs(own):
    """What each record there is costs this person."""
    every, own = coded(EVERYBODY), coded(own)[0]
    moves = np.abs(every[:, :3] - own[:3]) / SPAN * [1.0, 2.0, 1.0]
    return moves.sum(axis=1) + 0.5 * (every[:, 3] != own[3])


@pytest.mark.parametrize("labels_only", [False, True])
@pytest.mark.parametrize("model", [LogisticRegression(max_iter=1000), DecisionTreeClassifier(max_depth=6)], ids=str)
def test_answers_cost_hardly_more_than_the_cheapest_of_all_records(model, labels_only):
    classifier = Encoded(model, labels_only)
    X, y = frame()
    people = X[classifier.predict(X) == 0].iloc[:40]
    result = HillClimbingLocalSearch(SCHEMA, figures=False).fit(X, y).explain(classifier, people, target=1)
    assert result.found.all()
    good = classifier.predict(EVERYBODY) == 1
    least = np.array([costs(people.iloc[[i]])[good].min() for i in range(len(people))])
    found = result.option_figures["cost"]
    assert (found >= least - 1e-9).all()
    assert np.mean(found <= least + 1e-9) >= (0.6 if labels_only else 0.75)
    assert found.mean() <= 1.15 * least.mean()


@pytest.mark.parametrize("budget", [0.3, 0.8])
def test_a_fixed_budget_is_kept_and_buys_the_best_score(budget):
    classifier = Encoded(LogisticRegression(max_iter=1000))
    X, y = frame()
    people = X[classifier.predict(X) == 0].iloc[:40]
    explainer = HillClimbingLocalSearch(SCHEMA, cost_budget=budget, figures=False).fit(X, y)
    result = explainer.explain(classifier, people, target=1)
    chance = classifier.predict_proba(EVERYBODY)[:, 1]
    best = np.array([chance[costs(people.iloc[[i]]) <= budget + 1e-9].max() for i in range(len(people))])
    assert (result.option_figures["cost"] <= budget + 1e-9).all()
    assert not (result.found & (best < 0.5)).any()
    assert np.mean(result.found[best > 0.5]) >= 0.95
    reached = classifier.predict_proba(result.frame[result.found])[:, 1]
    assert np.mean(reached >= best[result.found] - 1e-9) >= 0.8
    assert {status for status in result.statuses if status is not Status.FOUND} <= {Status.OUT_OF_REACH}


def test_candidates_come_in_blocks_of_bounded_size(monkeypatch):
    """Exchanges of many changes for one another are more than memory holds."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(100, 40)), columns=[f"x{j}" for j in range(40)])
    model = Model(lambda X: (np.asarray(X).sum(axis=1) > 0).astype(int), classes=[0, 1])
    schema = Schema(tuple(Feature(name, "real") for name in X))
    explainer = HillClimbingLocalSearch(schema, figures=False, laws=None, budget=1_000).fit(X)
    people = X[X.sum(axis=1) < 0].iloc[:3]
    expected = explainer.explain(model, people, target=1)
    blocks, ask = [], Problem.ask

    def counting(self, rows, owners, **more):
        blocks.append(len(rows))
        return ask(self, rows, owners, **more)

    monkeypatch.setattr(Problem, "ask", counting)
    monkeypatch.setattr(climb, "_CELLS", 20_000)
    result = explainer.explain(model, people, target=1)
    assert max(blocks) <= 2 * 20_000 / 40
    assert result.found.all()
    assert (result.option_figures["cost"] <= expected.option_figures["cost"] * 1.05).all()
