"""A guarded search: made-up rows, a known density, and every part of the search."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attain import Constraints, Feature, Guarded, Model, Schema
from attain.methods.guarded.evaluator import CandidateEvaluator
from attain.methods.guarded.local_guard import LocalGuard
from attain.methods.guarded.objective import Objective
from attain.methods.guarded.search import GuardedSearch
from attain.methods.guarded.settings import GuardedSettings
from attain.methods.guarded.surrogate import Surrogate
from attain.methods.search.moves import Scale
from attain.methods.search.problem import Ledger, Problem
from attain.models import Goal
from attain.population.guard import Guard
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.tables import Region, Table

SCHEMA = Schema(
    (
        Feature("age", "real", immutable=True),
        Feature("x", "real"),
        Feature("y", "positive", step=0.1),
        Feature("n", "count", bounds=(0, 20)),
        Feature("grade", "ordinal", levels=("low", "middle", "high")),
        Feature("house", "categorical", levels=("rents", "owns", "parents")),
    )
)
SETTINGS = GuardedSettings()
QUICK = GuardedSettings(rounds=3, relaxed_rounds=1, relaxations=2, score_weight_halvings=2, multiplier_halvings=8)
WEIGHTS = {"age": 0.1, "x": 1.0, "y": -0.8, "n": 0.15, "grade": 0.5}
HOUSES = {"rents": -0.4, "owns": 0.6, "parents": 0.0}


def frame(number, seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=number)
    return pd.DataFrame(
        {
            "age": random.normal(size=number),
            "x": x,
            "y": np.round(np.exp(0.5 * random.normal(size=number) + 0.3 * x), 1),
            "n": random.poisson(3, number),
            "grade": random.choice(["low", "middle", "high"], number, p=[0.4, 0.4, 0.2]),
            "house": random.choice(["rents", "owns", "parents"], number, p=[0.5, 0.3, 0.2]),
        }
    )


def merit(X):
    grade = pd.Series(X["grade"]).map({"low": 0, "middle": 1, "high": 2}).astype(float).to_numpy()
    house = pd.Series(X["house"]).map(HOUSES).astype(float).to_numpy()
    numbers = sum(WEIGHTS[name] * X[name].to_numpy(dtype=float) for name in ("age", "x", "y", "n"))
    return numbers + WEIGHTS["grade"] * grade + house - 1.0


class Linear:
    """A logistic regression whose weights are known."""

    classes_ = np.array([0, 1])

    def score(self, X):
        return 2 * merit(X)

    def predict_proba(self, X):
        yes = 1 / (1 + np.exp(-self.score(X)))
        return np.column_stack((1 - yes, yes))

    def predict(self, X):
        return (self.score(X) > 0).astype(int)


class Bent(Linear):
    """A model that no line follows."""

    def score(self, X):
        return 2 * merit(X) + 2 * np.sin(3 * X["x"].to_numpy()) - 1.5 * (X["n"].to_numpy() > 5)


def density(rows):
    """A known log-density."""
    return -0.5 * (rows[:, 0] ** 2 + rows[:, 1] ** 2) - 0.1 * (rows[:, 3] - 3) ** 2


def built(
    model=None, setting="connected", *, train=600, people=12, rates=(0.15, 0.015), constraints=None, options=1,
    budget=50_000, seed=0, probability=None, calibrated=200, age=None, settings=SETTINGS,
):  # fmt: skip
    """Every part of a guarded search over made-up rows."""
    model = Linear() if model is None else model
    table = Table.read(frame(train, (seed, 0)), SCHEMA)
    values = table.values
    goal = Goal(Model.of(model), table.layout, target=1, probability=probability, probe=values[:64])
    space, percentiles = MeasuringSpace.fit(SCHEMA, values), Percentiles.fit(SCHEMA, values, method="midrank")
    reference = Reference.build(SCHEMA, values, met=goal.judge(values).met, space=space)
    others = Table.read(frame(calibrated, (seed, 1)), SCHEMA).values
    guard = Guard.fit(setting, reference, others[goal.judge(others).met], density, settings.guard)
    surrogate, scale = Surrogate.fit(goal, values, goal.judge(values)[:2], space, settings), Scale(SCHEMA, values)
    persons = frame(10 * people + 100, (seed, 2))
    if age is not None:
        persons["age"] = age
    judged = goal.judge(Table.read(persons, SCHEMA).values).met
    persons = persons[~judged].iloc[:people].reset_index(drop=True)
    region = Region.of(Table.read(persons, SCHEMA), Constraints.of(constraints))
    problem = Problem(goal, region, Ledger(len(region), budget), options, seed)
    objective = Objective(percentiles, region, 0.5, 0.02)
    limits = [guard.limits(rate) for rate in np.geomspace(*rates, 4)]
    evaluator = CandidateEvaluator(problem, objective, guard, surrogate, limits, region.max_changes, settings)
    places = np.repeat(space.points(region.factuals)[:, None, :], 2, axis=1)
    evaluator.local_guard = LocalGuard(guard, places, settings)
    accepted = np.unique(values[goal.judge(values).met], axis=0)
    search = GuardedSearch(guard, rates, surrogate, accepted, percentiles, scale, 0.5, 0.02, None, 1, settings)
    return SimpleNamespace(
        schema=SCHEMA, table=table, values=values, goal=goal, space=space, percentiles=percentiles, guard=guard,
        reference=reference, surrogate=surrogate, scale=scale, persons=persons, region=region, problem=problem,
        objective=objective, limits=limits, evaluator=evaluator, search=search,
        places=places, rates=rates, accepted=accepted,
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Fewer rounds: what is tested here holds for any number of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Guarded, "_settings", QUICK)
        yield


@pytest.fixture(scope="session")
def case():
    """The function that builds a search, and the two models."""
    return SimpleNamespace(built=built, Linear=Linear, Bent=Bent, merit=merit, frame=frame, density=density)
