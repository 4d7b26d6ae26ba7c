"""Budget-constrained inverse classification: projection and optima against other solvers."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog, minimize
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from attain import Feature, Schema
from attain.methods import BudgetedInverseClassification, HillClimbingLocalSearch
from attain.methods.budgeted_inverse import project
from attain.results.status import Status

SCHEMA = Schema(
    (
        Feature("a", "real", cost=1.0),
        Feature("b", "real", cost=2.0),
        Feature("c", "real", cost=0.5),
        Feature("d", "count", bounds=(0, 20)),
    )
)


def frame(n=300, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.uniform(-1, 1, size=(n, 3)) * [1.0, 100.0, 0.01], columns=list("abc"))
    X["d"] = random.integers(0, 11, n)
    return X, (X["a"] + X["b"] / 80 + 60 * X["c"] - X["d"] / 10 + random.normal(0, 0.3, n) > 0).astype(int)


def random_projection(seed):
    random = np.random.default_rng(seed)
    shape = (3, int(random.integers(1, 7)))
    point = 2 * random.normal(size=shape)
    lower, upper = (random.random(shape) * 2 * (random.random(shape) < 0.8) for _ in range(2))
    fall, rise = (random.random(shape) * 3 * (random.random(shape) < 0.8) for _ in range(2))
    return point, -lower, upper, fall, rise, random.random(3) * 2


@pytest.mark.parametrize("seed", range(12))
def test_the_projection_is_the_solution_of_the_quadratic_programme(seed):
    point, lower, upper, fall, rise, limit = random_projection(seed)
    found = project(point, lower, upper, fall, rise, limit)
    for i in range(len(point)):
        k = point.shape[1]
        # t = p − q with p, q ≥ 0 makes the cost linear; at the solution one of the two can be 0
        solved = minimize(
            lambda v, y=point[i], k=k: ((v[:k] - v[k:] - y) ** 2).sum() / 2,
            np.zeros(2 * k),
            jac=lambda v, y=point[i], k=k: np.concatenate((v[:k] - v[k:] - y, -(v[:k] - v[k:] - y))),
            bounds=[(0, high) for high in upper[i]] + [(0, -low) for low in lower[i]],
            constraints={
                "type": "ineq",
                "fun": lambda v, i=i: limit[i] - np.concatenate((rise[i], fall[i])) @ v,
                "jac": lambda v, i=i: -np.concatenate((rise[i], fall[i])),
            },
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-14},
        )
        assert solved.success
        np.testing.assert_allclose(found[i], solved.x[:k] - solved.x[k:], atol=1e-5)


def test_a_fixed_budget_is_spent_like_the_linear_programme_would():
    X, y = frame()
    model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X, y)
    schema = SCHEMA.change("d", immutable=True)
    people = X[model.predict(X) == 0].iloc[:25]
    budget = 0.9
    explainer = BudgetedInverseClassification(schema, cost_budget=budget, figures=False).fit(X, y)
    result = explainer.explain(model, people, target=1)
    assert result.found.sum() > 10
    span = X.max() - X.min()
    weights = model[-1].coef_[0] * model[0].scale_ * span.to_numpy()
    for i in np.flatnonzero(result.found):
        own = people.iloc[i]
        room_up, room_down = ((X.max() - own) / span).to_numpy()[:3], ((own - X.min()) / span).to_numpy()[:3]
        costs = np.array([1.0, 2.0, 0.5])
        solved = linprog(
            np.concatenate((-weights[:3], weights[:3])),
            A_ub=[np.concatenate((costs, costs))],
            b_ub=[budget],
            bounds=[(0, room) for room in (*room_up, *room_down)],
        )
        before, after = (
            model.decision_function(f)[0] for f in (people.iloc[[i]], result.frame.iloc[[i]].astype(float))
        )
        assert after - before == pytest.approx(-solved.fun, rel=1e-3)
        assert result.option_figures["cost"][list(result.owners).index(i)] <= budget + 1e-6


def test_the_least_budget_of_a_linear_model_is_the_closed_form():
    X, y = frame()
    model = LogisticRegression(C=100.0, max_iter=5000).fit(X, y)
    schema = SCHEMA.change("d", immutable=True)
    people = X[model.predict(X) == 0]
    score = model.decision_function(people)
    people = people[(score < -0.2) & (score > -0.8)].iloc[:30]
    result = BudgetedInverseClassification(schema, figures=False).fit(X, y).explain(model, people, target=1)
    assert result.found.all()
    span = (X.max() - X.min()).to_numpy()[:3]
    ratio = np.abs(model.coef_[0][:3]) * span / np.array([1.0, 2.0, 0.5])
    # one feature gives the most for its cost; it has room enough for these people
    expected = -model.decision_function(people) / ratio.max()
    cost = result.option_figures["cost"]
    assert (cost >= expected - 1e-9).all()
    room = ((X.max() - people) / (X.max() - X.min())).to_numpy()[:, ratio.argmax()]
    enough = room > expected / [1.0, 2.0, 0.5][ratio.argmax()]
    assert enough.sum() > 10
    np.testing.assert_allclose(cost[enough], expected[enough], rtol=0.06)


@pytest.mark.parametrize("method", [BudgetedInverseClassification, HillClimbingLocalSearch])
def test_the_free_direction_is_free(method):
    X, y = frame()
    model = LogisticRegression(max_iter=5000).fit(X, y)
    people = X[model.predict(X) == 0].iloc[:10]
    explainer = method(
        SCHEMA.change(("b", "c", "d"), immutable=True), directions={"a": "decrease"}, cost_budget=0.01, figures=False
    )
    result = explainer.fit(X, y).explain(model, people, target=1)
    assert result.found.any()
    assert (result.option_figures["cost"] == 0).all()
    assert (result.changes["counterfactual"] > result.changes["current"]).all()


def test_other_states_are_tried_where_numbers_do_not_suffice():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"level": random.choice(["x", "y", "z"], 200), "number": random.normal(size=200)})
    y = ((X["level"] == "z") * 4 + X["number"] * 0.1 > 2).astype(int)
    schema = Schema(
        (Feature("level", "categorical", levels=("x", "y", "z"), reviewed="here"), Feature("number", "real"))
    )
    encoder = make_column_transformer((OneHotEncoder(), ["level"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(X, y)
    people = X[model.predict(X) == 0].iloc[:10]
    explainer = BudgetedInverseClassification(schema, figures=False).fit(X, y)
    result = explainer.explain(model, people, target=1)
    assert result.found.all()
    assert (result.frame["level"] == "z").all()
    assert (result.option_figures["cost"] == 1.0).all()
    poor = BudgetedInverseClassification(schema, cost_budget=0.5, figures=False).fit(X, y)
    assert set(poor.explain(model, people, target=1).statuses) == {Status.OUT_OF_REACH}
