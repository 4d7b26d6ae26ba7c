"""The certificate of the guarded search: bounds against brute force, and what is not certified."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attain import Feature, Guarded, Schema
from attain.datasets import load_german
from attain.methods.guarded.search import Costs
from attain.models import Goal, Model
from attain.models.scores import linear_score
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.schema import Constraints
from attain.tables import Region, Table
from experiments.data import load_heloc
from experiments.research import guarded_certificate
from experiments.research.ball_program import Proof
from experiments.research.guarded_certificate import BallPrograms, certificate
from tests.coordinates import coordinates

RADIUS = 1.2
LEVELS = ("rents", "owns", "other")
FEATURES = (
    Feature("late", "count", special={-8: "none"}, transitions={-8: ("value",), "value": (-8,)}),
    Feature("score", "real", cost=2.0),
    Feature("home", "categorical", levels=LEVELS, transitions={"owns": ("rents",)}),
    Feature("grade", "ordinal", levels=("low", "middle", "high"), direction="increase", fillable=True),
    Feature("age", "count", immutable=True),
)


def _people(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    n = 60
    late = random.integers(0, 5, n).astype(float)
    late[random.random(n) < 0.2] = -8
    grades = np.array(["low", "middle", "high"], dtype=object)[random.integers(0, 3, n)]
    grades[random.random(n) < 0.1] = None
    frame = pd.DataFrame(
        {
            "late": late,
            "score": np.round(random.choice(random.normal(size=8), n), 3),
            "home": random.choice(LEVELS, n),
            "grade": grades,
            "age": random.integers(20, 24, n),
        }
    )
    return frame, random.random(n) < 0.6


class Small:
    """A small case: rows, a linear model, and balls around those that the model accepts."""

    def __init__(self, seed: int, *, rules: tuple[str, ...] = (), constraints: dict | None = None) -> None:
        frame, labels = _people(seed)
        schema = Schema(FEATURES, rules=rules)
        grade = frame["grade"].map({"low": 0.0, "middle": 1.0, "high": 2.0}).fillna(-1.0)
        wish = -0.5 * np.maximum(frame["late"], 0) + frame["score"] + 0.6 * (frame["home"] == "owns") + 0.5 * grade
        wish += np.random.default_rng(seed).normal(scale=0.5, size=len(frame))
        model = make_pipeline(
            make_column_transformer((OneHotEncoder(), ["home", "grade"]), (StandardScaler(), ["late", "score", "age"])),
            LogisticRegression(C=10.0),
        ).fit(frame, wish > wish.median())
        table = Table.read(frame, schema)
        self.values = table.values
        self.goal = Goal(Model.of(model), table.layout, target=True, probe=self.values[:32])
        self.space = MeasuringSpace.fit(schema, self.values)
        met = self.goal.judge(self.values).met
        self.reference = Reference.build(schema, self.values, desired_labels=labels, met=met, space=self.space)
        refused = np.flatnonzero(~met)[:6]
        self.region = Region.of(Table.read(frame.iloc[refused], schema), Constraints.of(constraints))
        self.percentiles = Percentiles.fit(schema, self.values, method="midrank")

    def costs(self, largest: float = 0.5, number: float = 0.02) -> Costs:
        return Costs(self.percentiles, largest, number)

    def brute_force(self, i: int) -> np.ndarray:
        """All answers for row i that flip the decision, keep every rule, and lie near a real row."""
        own = self.region.factuals[i]
        scores = np.append(np.unique(self.values[:, 1]), own[1])
        cells = itertools.product([-8.0, 0, 1, 2, 3, 4], scores, [0.0, 1, 2], [0.0, 1, 2, np.nan], [own[4]])
        rows = np.array(list(cells))
        rows = rows[self.region.allows(rows, np.full(len(rows), i))]
        rows = rows[self.goal.decide(rows).met]
        apart = self.space.transform(rows)[:, None] - coordinates(self.reference)[None]
        return rows[(np.sqrt((apart**2).sum(axis=2)) <= RADIUS).any(axis=1)]

    def programs(self, costs: Costs, nodes: int = 20_000) -> BallPrograms:
        score = linear_score(self.goal, self.values)
        return BallPrograms(costs, self.region, score, self.reference, self.values, nodes)


def _each(small: Small, price: Costs, limit: int = 1000, nodes: int = 20_000):
    """For each row with an answer the least cost by brute force, and the proof given the costliest answer."""
    programs = small.programs(price, nodes)
    for i, own in enumerate(programs.score.score(small.region.factuals)):
        rows = small.brute_force(i)
        if len(rows):
            costs = price.of(rows, np.full(len(rows), i), small.region)
            yield costs.min(), _proof(programs, i, own, rows[costs.argmax()], limit)


def _proof(programs: BallPrograms, i: int, own: float, answer: np.ndarray, limit: int = 1000) -> Proof:
    program = programs.program(i, own, answer, RADIUS)
    assert program is not None
    return program.prove(*programs.known(i, answer), limit)


@pytest.mark.parametrize(("largest", "number"), [(0.5, 0.02), (0.0, 0.0), (3.0, 0.0), (0.0, 0.4), (2.0, 0.3)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_bound_is_what_brute_force_finds(seed: int, largest: float, number: float) -> None:
    small = Small(seed)
    proofs = list(_each(small, small.costs(largest, number)))
    assert len(proofs) >= 4
    for least, proof in proofs:
        assert proof.closed
        assert proof.bound == pytest.approx(least, abs=1e-6)
        assert proof.least == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize(
    "constraints",
    [
        {"max_changes": 2},
        {"immutable": ["home"], "direction": {"late": "decrease"}},
        {"cost": {"home": 0.1, "late": 3.0}, "bounds": {"late": (0, 3)}, "range": {"score": (-0.5, 0.8)}},
    ],
)
def test_constraints_of_a_call_are_kept(constraints: dict) -> None:
    number = 0
    for seed in range(3):
        small = Small(seed, constraints=constraints)
        for least, proof in _each(small, small.costs()):
            assert proof.closed
            assert proof.bound == pytest.approx(least, abs=1e-6)
            number += 1
    assert number >= 5


def test_the_bound_holds_where_the_solver_reaches_its_node_limit() -> None:
    unfinished = 0
    for seed in range(2):
        small = Small(seed)
        for least, proof in _each(small, small.costs(), nodes=0):
            assert proof.bound <= least + 1e-6
            assert proof.least >= least - 1e-6
            unfinished += not proof.closed
    assert unfinished


def test_the_bound_holds_however_few_balls_are_looked_into() -> None:
    unfinished = 0
    for seed in range(3):
        small = Small(seed)
        for least, proof in _each(small, small.costs(), limit=1):
            assert proof.balls <= 1
            assert proof.bound <= least + 1e-6
            assert proof.least >= least - 1e-6
            unfinished += not proof.closed
    assert unfinished


def test_rules_between_features_only_make_answers_dearer() -> None:
    free, ruled = Small(1), Small(1, rules=("late >= 2", "if home = 'owns' then late <= 3"))
    programs = ruled.programs(ruled.costs())
    dearer = 0
    for i, own in enumerate(programs.score.score(ruled.region.factuals)):
        rows = ruled.brute_force(i)
        if len(rows):
            costs = ruled.costs().of(rows, np.full(len(rows), i), ruled.region)
            proof = _proof(programs, i, own, rows[0])
            easier = free.brute_force(i)
            least = free.costs().of(easier, np.full(len(easier), i), free.region).min()
            assert proof.bound == pytest.approx(least, abs=1e-6)
            assert proof.bound <= costs.min() + 1e-6
            dearer += costs.min() > least + 1e-6
    assert dearer


@pytest.fixture(scope="module")
def german():
    data = load_german()
    schema, target = data.schema, data.desired
    known, new, labels, _ = train_test_split(data.X, data.y, test_size=0.2, random_state=0)
    numbers = [feature.name for feature in schema if feature.numeric]
    others = [feature.name for feature in schema if not feature.numeric]
    model = make_pipeline(
        make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), others)),
        LogisticRegression(max_iter=1000),
    ).fit(known, labels)
    refused = new[model.predict(new) != target].iloc[:6]
    return schema, known, labels, model, refused, target


def _explainer(german, **settings):
    schema, known, labels, _, _, _ = german
    return Guarded(schema, figures=False, **settings).fit(known, labels)


@pytest.fixture(scope="module")
def explained(german):
    _, _, _, model, refused, target = german
    explainer = _explainer(german)
    result = explainer.explain(model, refused, target=target)
    return explainer, result, certificate(explainer, model, result)


def test_no_answer_costs_less_than_its_bound(german, explained) -> None:
    _, result, frame = explained
    assert frame.index.equals(german[4].index)
    level = result.figures["typicality"].to_numpy()
    assert frame["certified"].to_numpy()[level < 2].all()
    proven = frame[frame["bound"].notna()]
    assert len(proven) >= 4
    assert (proven["bound"] <= proven["cost"]).all()
    assert (proven["bound"] <= proven["least"]).all()
    assert (proven["bound"] > 0).all()
    np.testing.assert_allclose(proven["gap"], proven["cost"] - proven["bound"], atol=2e-6)


def test_no_mixture_with_a_real_row_costs_less_than_the_bound(german, explained) -> None:
    _, _, _, model, _, target = german
    explainer, result, frame = explained
    session = explainer.session(model, target=target)
    goal, guard = session.goal, session.inspected.guard
    region = Region.of(result.table, Constraints(), explainer.observed_)
    random = np.random.default_rng(0)
    compared = 0
    for i in np.flatnonzero(frame["certified"] & (result.figures["typicality"] == 0)):
        taken = guard.reference.values[random.integers(len(guard.reference), size=1500)]
        rows = np.where(random.random(taken.shape) < random.random((1500, 1)), taken, region.factuals[i])
        people = np.full(len(rows), i)
        rows = region.final_form(rows, people)
        near = guard.position(rows)[1] <= guard.limits(explainer._rates[0]).distance
        rows = rows[near & region.allows(rows, people) & goal.decide(rows).met]
        compared += len(rows)
        cost = explainer._costs.of(rows, people[: len(rows)], region)
        assert (cost >= frame["bound"].iloc[i] - 1e-6).all()
    assert compared > 100


def test_what_cannot_be_certified_says_why(german, explained) -> None:
    schema, known, labels, model, refused, target = german
    people = refused.iloc[:2]
    typical = _explainer(german, guard="typical")
    frame = certificate(typical, model, typical.explain(model, people, target=target))
    assert not frame["certified"].any()
    assert frame["reason"].str.startswith("not certified: guard='typical' does not ask for closeness").all()
    assert frame["bound"].isna().all()
    assert frame["cost"].notna().all()

    others = [feature.name for feature in schema if not feature.numeric]
    encoded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), others), remainder="passthrough")
    forest = make_pipeline(encoded, RandomForestClassifier(20, random_state=0)).fit(known, labels)
    turned = people[forest.predict(people) != target]
    explainer = explained[0]
    frame = certificate(explainer, forest, explainer.explain(forest, turned, target=target))
    assert frame["reason"].str.contains("the model is not linear: RandomForestClassifier").all()

    limited = certificate(explainer, model, explained[1], balls=1)
    unfinished = limited[~limited["certified"]]
    assert len(unfinished)
    assert unfinished["reason"].str.contains("1 balls were not enough").all()
    assert (unfinished["bound"] <= explained[2]["bound"][unfinished.index] + 1e-6).all()

    accepted = known[model.predict(known) == target].iloc[:1]
    frame = certificate(explainer, model, explainer.explain(model, accepted, target=target))
    assert frame["reason"].tolist() == ["not certified: there is no answer"]


def test_too_much_to_look_through_is_not_certified(german, explained, monkeypatch: pytest.MonkeyPatch) -> None:
    explainer, result, _ = explained
    monkeypatch.setattr(guarded_certificate, "_MOST_DISTANCES", 10)
    frame = certificate(explainer, german[3], result)
    assert not frame["certified"].any()
    assert frame["reason"].str.contains("too many to look through").all()


def test_what_is_computed_from_free_features_is_not_certified() -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"debt": random.integers(0, 9, 300), "income": random.integers(1, 9, 300)})
    people["load"] = people["debt"] / people["income"]
    paid = people["income"] - people["debt"] + random.normal(size=300) > 0
    model = LogisticRegression().fit(people, paid)
    schema = Schema(
        (Feature("debt", "count"), Feature("income", "count"), Feature("load", "real", derived="debt / income"))
    )
    explainer = Guarded(schema, figures=False)
    explainer.fit(people, paid)
    refused = people[~model.predict(people)].iloc[:2]
    result = explainer.explain(model, refused, target=True)
    assert result.found.all()
    frame = certificate(explainer, model, result)
    assert frame["reason"].str.contains("'load' is computed from features that may change").all()
    fixed = {"immutable": ["income"]}
    result = explainer.explain(model, refused, target=True, constraints=fixed)
    assert not certificate(explainer, model, result, constraints=fixed)["certified"].any()


def test_answers_with_clocks_and_unseen_levels() -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame(
        {"since": random.integers(0, 60, 200), "town": random.choice(["Bonn", "Ulm"], 200), "debt": random.random(200)}
    )
    paid = people["since"] / 60 - people["debt"] + 0.2 * (people["town"] == "Ulm") + random.normal(0, 0.2, 200) > 0
    encoded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough")
    model = make_pipeline(encoded, LogisticRegression()).fit(people, paid)
    rest = (Feature("town", "categorical", levels=("Bonn", "Ulm"), immutable=True), Feature("debt", "real"))
    refused = people[~model.predict(people)].iloc[:3].astype({"town": object})
    refused.iloc[0] = (20, "Köln", 0.9)
    for since, certified in ((Feature("since", "count", clock=True), False), (Feature("since", "count"), True)):
        explainer = Guarded(Schema((since, *rest)), figures=False).fit(people, paid)
        result = explainer.explain(model, refused, target=True)
        frame = certificate(explainer, model, result)[result.found]
        assert result.found[0]
        assert (frame["gap"].dropna() >= -1e-6).all()
        assert frame["certified"].any() == certified
        assert frame["reason"].str.contains("clocks").all() != certified


def test_every_answer_on_heloc_is_certified(data_folder) -> None:
    data = load_heloc(version="paper", path=data_folder / "heloc")
    known, new, labels, _ = train_test_split(data.X, data.y, test_size=0.2, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(known, labels)
    refused = new[model.predict(new) != data.desired].iloc[:20]
    explainer = Guarded(data.schema, figures=False).fit(known, labels)
    result = explainer.explain(model, refused, target=data.desired)
    frame = certificate(explainer, model, result)
    inside = (result.figures["typicality"] < 2).to_numpy()
    assert inside.sum() >= 15
    assert frame["certified"].to_numpy()[inside].all()
    assert (frame["gap"][inside] >= 0).all()
    pd.testing.assert_frame_equal(frame, certificate(explainer, model, result))
