"""The linear surrogate, for models whose weights are known."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from attain import Feature, Model, Schema
from attain.methods.guarded.settings import GuardedSettings
from attain.methods.guarded.surrogate import Surrogate, _ridge
from attain.models import Goal
from attain.population.space import MeasuringSpace
from attain.tables import Table

SCHEMA = Schema(
    (
        Feature("a", "real"),
        Feature("b", "count", special={-9: "unknown"}),
        Feature("c", "real", fillable=True),
        Feature("d", "categorical", levels=("p", "q", "r")),
        Feature("e", "categorical", levels=("no", "yes")),
    )
)


def frame(number, seed):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": random.normal(2, 3, number),
            "b": np.where(random.random(number) < 0.1, -9, random.poisson(4, number)),
            "c": np.where(random.random(number) < 0.2, np.nan, random.normal(size=number)),
            "d": random.choice(["p", "q", "r"], number, p=[0.7, 0.2, 0.1]),
            "e": random.choice(["no", "yes"], number),
        }
    )


class RandomLinear:
    """A logistic regression with random weights over numbers, codes, gaps and levels."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, seed, scale=1.0, kind="probabilities"):
        random = np.random.default_rng(seed)
        self.weights, self.scale = random.normal(size=9), scale
        middle = self.raw(frame(500, 0))
        self.level = np.quantile(middle, random.uniform(0.2, 0.8))
        if kind == "probabilities":
            self.predict_proba = self._probabilities
        else:
            self.decision_function = self.score

    def raw(self, X):
        b, c = np.asarray(X["b"], dtype=float), np.asarray(X["c"], dtype=float)
        parts = [np.asarray(X["a"]) / 3, np.where(b == -9, 0, b) / 2, b == -9, np.nan_to_num(c), np.isnan(c)]
        parts += [np.asarray(X["d"]) == level for level in "pqr"] + [np.asarray(X["e"]) == "yes"]
        return sum(weight * np.asarray(part, dtype=float) for weight, part in zip(self.weights, parts, strict=True))

    def score(self, X):
        return self.scale * (self.raw(X) - self.level)

    def _probabilities(self, X):
        yes = 1 / (1 + np.exp(-self.score(X)))
        return np.column_stack((1 - yes, yes))

    def predict(self, X):
        return np.where(self.score(X) > 0, "yes", "no")


def fitted(model, *, probability=None, rows=400):
    table = Table.read(frame(rows, 0), SCHEMA)
    goal = Goal(Model.of(model), table.layout, target="yes", probability=probability, probe=table.values[:50])
    space = MeasuringSpace.fit(SCHEMA, table.values)
    return Surrogate.fit(goal, table.values, goal.judge(table.values)[:2], space, GuardedSettings()), goal, space


@given(st.integers(0, 10**6), st.sampled_from([0.3, 1.0, 3.0]), st.sampled_from([None, 0.3, 0.7, 0.9]))
@settings(max_examples=60)
def test_a_linear_model_is_followed_exactly_and_no_answer_is_ruled_out(seed, scale, probability) -> None:
    model = RandomLinear(seed, scale)
    surrogate, goal, space = fitted(model, probability=probability)
    others = Table.read(frame(600, 1), SCHEMA).values
    met = goal.judge(others).met
    known = goal.judge(Table.read(frame(400, 0), SCHEMA).values).met
    if known.all() or not known.any():
        assert not surrogate.exact
        return
    assert surrogate.exact
    able = surrogate.may_meet_goal(space.points(others))
    assert able[met].all()
    assert (able == met).mean() > 0.9


def test_its_slope_is_the_models_own() -> None:
    """Half the log-odds are what it follows: per standard deviation of a number, and between levels."""
    model = RandomLinear(3)
    surrogate, _, space = fitted(model)
    number = np.flatnonzero(space.scaled == 0)[0]
    assert surrogate.slope[number] == pytest.approx(model.weights[0] / 3 * space.scale[number] / 2, rel=1e-3)
    p, q, r = (len(space.scaled) + np.flatnonzero(space.indicated == 3))[:3]
    assert surrogate.slope[q] - surrogate.slope[p] == pytest.approx((model.weights[6] - model.weights[5]) / 2, rel=1e-2)
    assert surrogate.slope[r] - surrogate.slope[p] == pytest.approx((model.weights[7] - model.weights[5]) / 2, rel=1e-2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [0.05, 4.0])
def test_a_model_without_probabilities_is_followed_too(seed, scale) -> None:
    """Also one whose scores all lie between -1 and 1, where they could be mistaken for probabilities."""
    surrogate, goal, space = fitted(RandomLinear(seed, scale, kind="decisions"))
    others = Table.read(frame(500, 1), SCHEMA).values
    assert surrogate.exact
    assert surrogate.may_meet_goal(space.points(others))[goal.judge(others).met].all()


def test_an_inexact_surrogate_rules_nothing_out(case) -> None:
    built = case.built(case.Bent())
    assert not built.surrogate.exact
    assert built.surrogate.may_meet_goal(built.space.points(built.values)).all()


class Constant:
    classes_ = np.array(["no", "yes"])

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return np.full(len(X), self.answer)


@pytest.mark.parametrize("answer", ["no", "yes"])
def test_a_constant_model_has_no_slope(answer) -> None:
    surrogate, _, space = fitted(Constant(answer))
    assert not surrogate.exact
    assert np.abs(surrogate.slope).max() < 1e-9
    assert np.isfinite(surrogate.threshold)
    assert surrogate.may_meet_goal(np.zeros((3, len(space.columns)))).all()


def test_saturated_probabilities_do_not_break_it() -> None:
    """Beyond 16 digits a probability is 1; the line still must not rule out what meets the goal."""
    surrogate, goal, space = fitted(RandomLinear(1, 40.0))
    others = Table.read(frame(500, 1), SCHEMA).values
    assert np.isfinite(surrogate.slope).all()
    met = goal.judge(others).met
    assert surrogate.exact
    assert surrogate.may_meet_goal(space.points(others))[met].all()


@pytest.mark.parametrize("shape", [(30, 7), (7, 30)])
def test_the_ridge_fit_is_that_of_scikit_learn(shape):
    random = np.random.default_rng(0)
    x, y = random.normal(size=shape), random.normal(size=shape[0])
    assert _ridge(csr_array(x), y - y.mean(), 0.3) == pytest.approx(Ridge(alpha=0.3).fit(x, y).coef_)


@pytest.mark.parametrize("rows", [30, 400])
def test_scores_of_points_are_those_of_their_coordinates(rows) -> None:
    random = np.random.default_rng(rows)
    levels = tuple(f"l{k}" for k in range(60))
    schema = Schema((Feature("x", "real"), Feature("level", "categorical", levels=levels)))
    values = np.column_stack((random.normal(size=rows), random.integers(60, size=rows)))
    space, score = MeasuringSpace.fit(schema, values), 3 * random.normal(size=rows)
    judged = (score > 0, score)
    found = Surrogate.fit(SimpleNamespace(probability=None), values, judged, space, GuardedSettings())
    np.testing.assert_allclose(found.score(space.points(values)), space.transform(values) @ found.slope, atol=1e-9)
    points = space.points(values[:2])
    gained = [found.gained(points[:1, cell], points[1:, cell], cell) for cell in range(points.shape[1])]
    np.testing.assert_allclose(sum(gained), found.score(points[1:]) - found.score(points[:1]), atol=1e-9)
