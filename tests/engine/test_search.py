"""The engine's search, beside the guard itself and beside brute force over all that a person can become."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from attain import Feature, Guarded, Schema
from attain.engine.search import Search
from attain.methods.guarded.settings import GuardedSettings
from attain.models import Goal, Model
from attain.models.compiled import compile_score
from attain.population.guard import GuardSettings
from attain.population.population import DecidedPopulation
from attain.population.relations import Relations
from attain.schema import Constraints
from attain.search.problem import Ledger, Problem
from attain.tables import Region, Table

GRADES, HOMES = ("low", "middle", "high", "top"), ("rents", "owns", "parents")
SCHEMA = Schema(
    (
        Feature("age", "count", immutable=True),
        Feature("late", "count", bounds=(0, 6), special={-8: "never"}),
        Feature("grade", "ordinal", levels=GRADES),
        Feature("home", "categorical", levels=HOMES),
    ),
    rules=("if home = 'owns' then late <= 4",),
)


def frame(number: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    late = np.minimum(random.poisson(2, number), 6)
    home = random.choice(HOMES, number, p=[0.5, 0.3, 0.2])
    return pd.DataFrame({
        "age": random.integers(0, 4, number),
        "late": np.where(random.random(number) < 0.1, -8, np.where(home == "owns", np.minimum(late, 4), late)),
        "grade": np.array(GRADES)[np.clip(np.rint(random.normal(1.4, 0.9, number)), 0, 3).astype(int)],
        "home": home,
    })  # fmt: skip


TRAIN = frame(240, 0)
MERIT = (
    TRAIN["age"] / 4 - TRAIN["late"].clip(lower=0) / 2 + TRAIN["grade"].map(GRADES.index) + (TRAIN["home"] == "owns")
)
LABELS = np.where(MERIT + np.random.default_rng(1).normal(0, 0.4, 240) > 1, "yes", "no")
ENCODED = make_column_transformer((OneHotEncoder(sparse_output=False), ["grade", "home"]), remainder="passthrough")
CLASSIFIERS = {
    "linear": LogisticRegression(C=10, max_iter=1000),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "boosted": HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5, random_state=0),
}
MODELS: dict[str, Any] = {name: make_pipeline(ENCODED, c).fit(TRAIN, LABELS) for name, c in CLASSIFIERS.items()}
MODELS["black box"] = Model(MODELS["boosted"].predict_proba, classes=["no", "yes"], returns="probabilities")


def parts(
    setting: str, model: str = "linear", people: int = 12, crowd: int = 8000, limit: int | None = None, **settings: Any
) -> Any:
    """The guarded search of people whom a model refuses, and what it is made of."""
    explainer = Guarded(SCHEMA, laws=None, guard=setting, rate=0.2)
    explainer._settings = GuardedSettings(guard=GuardSettings(neighbours=(5, 10, 20), max_crowd=crowd), **settings)
    values = explainer.fit(TRAIN, calibration=frame(200, 5)).population_.values
    goal = Goal(Model.of(MODELS[model]), explainer.population_.table.layout, target="yes", probe=values[:64])
    met, score, _, _ = goal.score_rows(values)
    goal.compiled = compile_score(goal, values, lambda: (met, score))
    search = explainer.inspect(DecidedPopulation(explainer.population_, goal))
    search = replace(search, relations=Relations.fit(SCHEMA, values[:0]))
    region = Region.of(Table.read(TRAIN[~met].iloc[:people], SCHEMA), Constraints(max_changes=limit))
    problem = Problem(goal, region, Ledger(len(region), 5000), 1, 0)
    rates = np.geomspace(0.2, 0.02, search.settings.relaxations)
    return SimpleNamespace(search=search, problem=problem, region=region, goal=goal, guard=search.guard, rates=rates)


def every_record(region: Region, i: int) -> np.ndarray:
    """All records that keep the rules and that the person i can become, (n, d)."""
    own = region.factuals[i]
    rows = np.array(list(product([own[0]], [*range(7), -8.0], range(4), range(3))), dtype=float)
    rows = rows[region.allows(rows, np.full(len(rows), i))]
    return rows[region.changed(rows, np.full(len(rows), i)).any(axis=1)]


def result_of(search: Search, owner: int, row: np.ndarray) -> np.ndarray:
    """What a search ends with that learns of one row only that it flips the decision."""
    search.begin(owner, 1, row[None])
    asked = search.propose()
    np.testing.assert_array_equal(asked, row[None])
    search.receive(np.ones(1, dtype=np.uint8), np.zeros(1))
    assert not len(search.propose())
    return np.asarray(search.answers())


@pytest.mark.parametrize("crowd", [8000, 40])
@pytest.mark.parametrize("setting", ["connected", "typical"])
def test_a_record_passes_at_the_rates_at_which_the_guard_accepts_it(setting: str, crowd: int) -> None:
    made = parts(setting, crowd=crowd, people=4)
    assert (made.guard.crowd is made.guard.reference) == (crowd > 40)
    search, levels = Search(made.search._engine_people(made.problem, None)), set()
    for i in range(4):
        rows = every_record(made.region, i)
        accepted = np.argmax([*(made.guard.accepts(rows, rate) for rate in made.rates), rows[:, 0] >= 0], axis=0)
        within = first_within(made, *made.guard.measurements(rows))
        assert (within == accepted).mean() > 0.9  # the guard also minds the last bits of equal distances
        for row, first in zip(rows, within, strict=True):
            np.testing.assert_array_equal(result_of(search, i, row), row[None])
            assert search.person.level == first
            levels.add(search.person.level)
    assert len(levels) > 2


def first_within(made: Any, factors: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """The first level at which measurements are within the guard's limits, (n,)."""
    passes = [np.ones(len(distance), dtype=bool)]
    for limits in map(made.guard.limits, made.rates[::-1]):
        near = distance <= limits.distance * (1 + 1e-9)
        passes.append(near & (factors <= limits.factors * (1 + 1e-9)).all(axis=1))
    return np.argmax(passes[::-1], axis=0)


def shortlisted_level(made: Any, own: np.ndarray, row: np.ndarray, most: int) -> int:
    """The first level at which a row passes among the rows nearest to it and to the person's own."""
    space, crowd = made.guard.reference.space, made.guard.crowd
    where = space.transform(crowd.values)
    apart = [np.round(((where - space.transform(each[None])) ** 2).sum(axis=1), 9) for each in (own, row)]
    listed = np.union1d(*(np.argsort(part, kind="stable")[:most] for part in apart))
    near = listed[np.argsort(apart[1][listed], kind="stable")]
    distance = np.sqrt(apart[1][near])
    factors = [part.factor(distance[None, : part.k], near[None, : part.k])[0] for part in made.guard.local_densities]
    return int(first_within(made, np.array([factors]), distance[:1])[0])


@pytest.mark.parametrize("most", [4, 13, 30])
def test_among_fewer_rows_it_passes_as_among_the_nearest_by_numpy(most: int) -> None:
    made = parts("connected", people=6, shortlist=most)
    search = Search(made.search._engine_people(made.problem, None))
    levels = []
    for i in range(6):
        for row in every_record(made.region, i)[::3]:
            result_of(search, i, row)
            assert search.person.level == shortlisted_level(made, made.region.factuals[i], row, most)
            levels.append(search.person.level)
    assert len(set(levels)) > 2


@pytest.mark.parametrize("setting", ["connected", "typical"])
@pytest.mark.parametrize("model", MODELS)
def test_answers_cost_little_more_than_the_cheapest_record_that_passes(model: str, setting: str) -> None:
    made = parts(setting, model=model, people=16)
    assert (made.goal.compiled_score() is None) == (model == "black box")
    found = made.search.answers(made.problem)
    found = found.at(np.unique(found.owners, return_index=True)[1])
    pairs = []
    for i in range(len(made.region)):
        rows = every_record(made.region, i)
        rows = rows[made.goal.confirm_rows(rows).met]
        typical = rows[made.guard.accepts(rows, 0.2)] if len(rows) else rows
        answer = found.at(np.flatnonzero(found.owners == i))
        assert len(answer.rows) == (len(rows) > 0)
        assert all((rows == row).all(axis=1).any() for row in answer.rows), "a record that flips and keeps the rules"
        assert (answer.figures["typicality"] == 0).all() == (len(typical) > 0 or not len(rows))
        if len(typical):
            both = np.concatenate((answer.rows, typical))
            costs = made.search.costs.of(both, np.full(len(both), i), made.region)
            pairs.append((costs[0], costs[1:].min()))
    mine, least = np.array(pairs).T
    assert len(mine) >= 8
    assert (mine >= least - 1e-9).all()
    assert mine.mean() <= 1.03 * least.mean()
    assert (mine <= 1.25 * least + 0.02).all()


@pytest.mark.parametrize("model", ["linear", "boosted"])
def test_all_that_a_search_ends_with_passes_the_guard_where_the_shortlist_has_every_row(model: str) -> None:
    made = parts("connected", model=model, shortlist=1000)
    score, passed = made.goal.compiled_score(), 0
    search = Search(made.search._engine_people(made.problem, score))
    for i in range(len(made.region)):
        search.begin(i, 5000, np.empty((0, 4)))
        search.run()
        rows = np.asarray(search.answers())
        cost = made.search.costs.of(rows, np.full(len(rows), i), made.region)
        assert (np.diff(cost) >= 0).all()
        assert len(np.unique(rows, axis=0)) == len(rows)
        assert (score.leads(rows) >= 0).all()
        assert made.region.allows(rows, np.full(len(rows), i)).all()
        if search.person.level < len(made.rates):
            assert made.guard.accepts(rows, made.rates[search.person.level]).all()
            passed += len(rows)
    assert passed > 20


@pytest.mark.parametrize("limit", [None, 1])
def test_all_that_a_search_proposes_is_in_final_form_and_keeps_the_rules(limit: int | None) -> None:
    made = parts("connected", limit=limit)
    search, most, limit = Search(made.search._engine_people(made.problem, None)), 0, limit or 3
    for i in range(len(made.region)):
        search.begin(i, 400, made.region.factuals[:3])
        while len(rows := search.propose()):
            whose, (met, score, _, _) = np.full(len(rows), i), made.goal.score_rows(rows)
            settled, _ = made.region.form_and_admit(rows, whose)
            assert settled.tobytes() == rows.tobytes()
            assert made.region.tolerates(rows, whose).all()
            most = max(most, made.region.changed(rows, whose).sum(axis=1).max())
            search.receive(met.view(np.uint8), score)
        answers = search.answers()
        assert (made.region.changed(answers, np.full(len(answers), i)).sum(axis=1) <= limit).all()
    assert most == 3


@pytest.mark.parametrize("model", ["linear", "black box"])
def test_a_search_ends_within_any_budget_and_finds_no_less_with_more(model: str) -> None:
    found = []
    people = TRAIN[MODELS["boosted" if model == "black box" else model].predict(TRAIN) == "no"].iloc[:6]
    explainer = Guarded(SCHEMA, figures=False).fit(TRAIN, LABELS)
    for budget in (2, 3, 5, 8, 13, 40, 100, 400):
        result = explainer.set_params(budget=budget).explain(MODELS[model], people, target="yes")
        assert (result.person_figures["rows_scored"] <= budget).all()
        found.append(result.found.sum())
    assert found[-1] == 6
    assert found == sorted(found)


# edges


def by_x(frame: pd.DataFrame) -> np.ndarray:
    return np.where(frame["x"].astype(float) > 0.5, "yes", "no")


RANDOM = np.random.default_rng(0)
TWO = pd.DataFrame({"x": np.round(RANDOM.normal(size=200), 1), "y": RANDOM.integers(0, 5, 200) * 1.0})
REFUSED = TWO[TWO["x"] < 0].iloc[:4]
PLAIN = Schema((Feature("x", "real"), Feature("y", "real")))


def answered(schema: Schema, X: pd.DataFrame, people: pd.DataFrame, model: Any = by_x) -> Any:
    """The answers of a guarded search, which flip the decision wherever there are any."""
    explainer = Guarded(schema, laws=None).fit(X, model(X))
    result = explainer.explain(Model(model, classes=["no", "yes"]), people, target="yes", n=2)
    answers = result.frame[result.found]
    assert (model(answers.astype(people.dtypes)) == "yes").all() if len(answers) else True
    return result


def test_one_column_is_searched() -> None:
    result = answered(Schema((Feature("x", "real", step=0.1),)), TWO[["x"]], REFUSED[["x"]])
    assert result.found.all()
    np.testing.assert_allclose(result.answers.ravel(), 0.6)


def test_nothing_is_found_where_nothing_may_change_or_nobody_is_accepted() -> None:
    for schema in (PLAIN.change("x", immutable=True), PLAIN.change("x", immutable=True).change("y", immutable=True)):
        assert not answered(schema, TWO, REFUSED).found.any()
    nobody = TWO[TWO["x"] < 0.5]  # their own values never flip the decision
    never = Guarded(PLAIN, laws=None).fit(nobody).explain(Model(by_x, classes=["no", "yes"]), REFUSED, target="yes")
    assert not never.found.any()


def test_constant_columns_missing_ones_and_a_single_real_row_are_searched() -> None:
    for odd in (TWO.assign(y=3.0), TWO.assign(y=np.nan)):
        result = answered(PLAIN, odd, odd.loc[REFUSED.index])
        assert result.found.all()
        assert (result.frame["x"].astype(float) < 0.8).all()
    result = answered(PLAIN, pd.concat([TWO[TWO["x"] < 0], TWO[TWO["x"] > 0.5].iloc[:1]]), REFUSED)
    assert result.found.all()
    assert (result.option_figures["typicality"] == 2).all()


def test_levels_only_and_codes_only_are_searched() -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.choice(list("abc"), 150) for name in "pqr"})
    schema = Schema(tuple(Feature(name, "categorical", levels=tuple("abc")) for name in "pqr"))
    result = answered(schema, X, X[X["p"] == "b"][:5], lambda f: np.where((f == "a").sum(axis=1) >= 2, "yes", "no"))
    assert result.found[~result.status.isin(["ALREADY_DESIRED"])].all()
    codes = pd.DataFrame({"x": random.choice([-9.0, -8.0], 150)})
    schema = Schema((Feature("x", "real", special={-9: "none", -8: "other"}, transitions={-9: (-8,)}),))
    result = answered(schema, codes, codes[codes["x"] == -9].iloc[:3], lambda f: np.where(f["x"] == -8, "yes", "no"))
    assert result.found.all()
    assert (result.frame["x"] == -8).all()


def test_a_missing_cell_that_may_be_filled_in_is_filled_in() -> None:
    X = TWO.assign(y=np.where(TWO.index < 100, TWO.index % 10, np.nan))
    schema = Schema((Feature("x", "real", immutable=True), Feature("y", "real", fillable=True)))
    refused = X[X["y"].isna()].iloc[:5]
    assert answered(schema, X, refused, lambda f: np.where(f["y"].astype(float) > 5, "yes", "no")).found.all()
