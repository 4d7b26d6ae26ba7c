"""Actionable Recourse against brute force: the optimum, the flip sets, the certificate."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attain import Feature, Schema, Status
from attain.methods import ActionableRecourse
from attain.methods.recourse import program
from attain.methods.recourse.program import Choices, Chosen, FlipSet, Program, Row, cheapest, not_all
from attain.search import problem
from attain.search.problem import Deadline

FEATURES = (
    Feature("late", "count", bounds=(0, 9), special={-8: "none"}, transitions={-8: ("value",)}),
    Feature("cards", "count", bounds=(0, 12), range=(-3, 2)),
    Feature("score", "count", bounds=(0, 20), direction="increase"),
    Feature("home", "categorical", levels=("rents", "owns", "parents")),
    Feature("age", "count", immutable=True),
)
RULES = ("late <= cards", "if home = owns then cards >= 2")


def _data(people: int = 120) -> tuple[pd.DataFrame, pd.Series]:
    random = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "late": np.where(random.random(people) < 0.1, -8, random.choice([0, 1, 2, 5, 7], people)),
            "cards": random.choice([2, 3, 5, 8, 10], people),
            "score": random.choice([0, 2, 3, 9, 12, 20], people),
            "home": random.choice(["rents", "owns", "parents"], people),
            "age": random.integers(18, 70, people),
        }
    )
    X.loc[X["late"] > X["cards"], "late"] = 2
    merit = -0.5 * X["late"] + 0.2 * X["cards"] + 0.25 * X["score"] + (X["home"] == "owns") - 0.02 * X["age"]
    return X, pd.Series(np.where(merit + random.normal(0, 1, people) > 2.5, "yes", "no"))


X, Y = _data()
MODEL = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["home"]), (StandardScaler(), ["late", "cards", "score", "age"])),
    LogisticRegression(),
).fit(X, Y)
DENIED = X[MODEL.predict(X) == "no"].iloc[:12]


def _share(name: str, value: float) -> float:
    """The empirical distribution function, over the cells that are no special code."""
    cells = X[name][X[name] >= 0]
    return float((cells <= value).mean())


def _cell_cost(name: str, old: object, new: object, kind: str) -> float:
    if old == new:
        return 0.0
    if name == "home" or -8 in (old, new):
        return 1.0
    before, after = _share(name, old), _share(name, new)  # type: ignore[arg-type]
    if kind == "local":
        least = 0.5 / len(X)
        return abs(math.log(max(1 - before, least)) - math.log(max(1 - after, least)))
    return abs(after - before)


def _reachable(person: pd.Series, *, observed: bool) -> dict[str, list[object]]:
    late, cards, score = int(person["late"]), int(person["cards"]), int(person["score"])
    seen = {name: sorted({int(v) for v in X[name] if v >= 0}) for name in ("late", "cards", "score")}
    every = {name: list(range(values[0], values[-1] + 1)) for name, values in seen.items()}
    ends = {
        "late": (seen["late"][0], seen["late"][-1]),
        "cards": (max(cards - 3, seen["cards"][0]), min(cards + 2, seen["cards"][-1])),
        "score": (score, seen["score"][-1]),
    }
    values: dict[str, list[object]] = {}
    for name, (low, high) in ends.items():
        grid = {*seen[name], low, high} if observed else set(every[name])
        values[name] = sorted({v for v in grid if low <= v <= high} | {int(person[name])})
    values["home"] = ["rents", "owns", "parents"]
    values["late"] = [v for v in values["late"] if v != -8] + ([-8] if late == -8 else [])
    return values


def _brute_force(
    person: pd.Series, kind: str, *, rules: bool = False, most: int = 9, observed: bool = True
) -> tuple[float, pd.DataFrame]:
    """The least cost of all records that turn the decision, infinite for none; and these records with their cost."""
    values = _reachable(person, observed=observed)
    names = list(values)
    records = pd.DataFrame(list(itertools.product(*values.values())), columns=names).assign(age=person["age"])
    table = {name: {v: _cell_cost(name, person[name], v, kind) for v in values[name]} for name in names}
    costs = np.column_stack([records[name].map(table[name]).to_numpy(dtype=float) for name in names])
    records["cost"] = costs.max(axis=1) if kind == "max" else costs.sum(axis=1)
    good = MODEL.predict_proba(records[X.columns])[:, 1] * 2 - 1 >= 1e-6
    good &= ((records[names] != person[names]).sum(axis=1) <= most).to_numpy()
    if rules:
        good &= ((records["late"] <= records["cards"]) | (records["late"] == -8)).to_numpy()
        good &= ~((records["home"] == "owns") & (records["cards"] < 2)).to_numpy()
    found = records[good]
    return (float(found["cost"].min()) if len(found) else math.inf), found


def _costs(explainer: ActionableRecourse, **arguments: object) -> tuple[np.ndarray, object]:
    result = explainer.explain(MODEL, DENIED, target="yes", **arguments)  # type: ignore[arg-type]
    cost = np.full(len(DENIED), math.inf)
    first = np.unique(result.owners, return_index=True)[1]
    cost[result.owners[first]] = result.option_figures["cost"][first]
    return cost, result


@pytest.mark.parametrize("kind", ["total", "max", "local"])
@pytest.mark.parametrize("most", [9, 2])
@pytest.mark.parametrize("rules", [False, True])
def test_the_answer_costs_what_brute_force_finds(kind: str, most: int, rules: bool) -> None:
    schema = Schema(FEATURES, rules=RULES if rules else ())
    explainer = ActionableRecourse(schema, cost=kind, figures=False).fit(X, Y)  # type: ignore[arg-type]
    cost, _ = _costs(explainer, constraints={"max_changes": most})
    expected = [_brute_force(person, kind, rules=rules, most=most)[0] for _, person in DENIED.iterrows()]
    np.testing.assert_allclose(cost, expected, atol=1e-6)


@pytest.mark.parametrize(("kind", "figure"), [("total", "total_shift"), ("max", "max_shift")])
def test_the_exact_grid_gives_the_least_reported_shift_of_all_allowed_records(kind: str, figure: str) -> None:
    explainer = ActionableRecourse(Schema(FEATURES), cost=kind, grid="exact", figures=False).fit(X, Y)  # type: ignore[arg-type]
    _, result = _costs(explainer)
    expected = [_brute_force(person, kind, observed=False)[0] for _, person in DENIED.iterrows()]
    reported = np.full(len(DENIED), math.inf)
    reported[result.owners] = result.option_figures[figure]
    np.testing.assert_allclose(reported, expected, atol=1e-9)


def test_rules_and_limits_of_a_computed_column_are_kept_at_the_least_cost() -> None:
    random = np.random.default_rng(2)
    frame = pd.DataFrame({name: random.integers(0, 8, 150) for name in ("a", "b", "c")})
    frame["share"] = frame["a"] / (frame["b"] + 1)
    labels = 2 * frame["share"] + frame["c"] - 0.3 * frame["a"] > 7
    model = LogisticRegression(C=100).fit(frame, labels)
    schema = Schema(
        (*(Feature(name, "count") for name in "abc"), Feature("share", "real", derived="a / (b + 1)", reach=(0, 3))),
        rules=("if share > 1 then c <= 3", "c <= a + 4"),
    )
    explainer = ActionableRecourse(schema, figures=False, laws=None).fit(frame, labels)
    people = frame[~model.predict(frame) & (frame["share"] <= 1) & (frame["c"] <= frame["a"] + 4)].iloc[:8]
    result = explainer.explain(model, people, target=True)
    grid = pd.DataFrame(list(itertools.product(range(8), repeat=3)), columns=list("abc"))
    grid["share"] = grid["a"] / (grid["b"] + 1)
    kept = (grid["share"] <= 3) & ((grid["share"] <= 1) | (grid["c"] <= 3)) & (grid["c"] <= grid["a"] + 4)
    good = grid[kept & (model.decision_function(grid) > 1e-6)]
    shares = {name: [(frame[name] <= value).mean() for value in range(8)] for name in "abc"}
    for i, (_, person) in enumerate(people.iterrows()):
        costs = sum(np.abs(np.array(shares[n])[good[n]] - shares[n][int(person[n])]) for n in "abc")
        assert result.option_figures["cost"][i] == pytest.approx(costs.min(), abs=1e-6)
        assert result.option_figures["proven"][i] == 1


def test_somebody_hard_leaves_others_their_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem, "time", SimpleNamespace(perf_counter=lambda: 7.0))
    assert Deadline(1.0, people=4).share(4).seconds_left == 1.0
    assert Deadline().share(4).seconds_left == np.inf


def test_answers_are_proven_unless_the_solver_reached_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = ActionableRecourse(Schema(FEATURES, rules=RULES), figures=False).fit(X, Y)
    proven = explainer.explain(MODEL, DENIED, target="yes", n=2)
    assert (proven.option_figures["proven"] == 1).all()

    def stopped_with_rules(program: Program, *given: object) -> Chosen:
        found = cheapest(program, *given)  # type: ignore[arg-type]
        return found._replace(proven=found.proven and not program.rows)

    monkeypatch.setattr(program, "cheapest", stopped_with_rules)
    stopped = explainer.explain(MODEL, DENIED, target="yes", n=2)
    assert stopped.statuses == proven.statuses
    # a choice that keeps the rules although the program did not have them needs no other program
    without_rules = stopped.option_figures["proven"] == 1
    assert 0 < without_rules.sum() < len(without_rules)
    np.testing.assert_array_equal(stopped.option_figures["cost"], proven.option_figures["cost"])


def test_a_limit_before_any_answer_is_not_called_no_recourse(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = ActionableRecourse(Schema(FEATURES, rules=RULES), figures=False).fit(X, Y)
    expected = explainer.explain(MODEL, DENIED, target="yes").statuses
    monkeypatch.setattr(program, "_solved", lambda *a, **k: Chosen(None, False))
    stopped = explainer.explain(MODEL, DENIED, target="yes").statuses
    assert Status.FOUND in expected
    assert stopped == tuple(Status.OUT_OF_REACH if one is Status.FOUND else one for one in expected)


def test_a_change_that_gains_nothing_is_made_where_a_rule_needs_it() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"wage": random.integers(0, 10, 200), "limit": random.integers(5, 15, 200)})
    frame["wage"] = np.minimum(frame["wage"], frame["limit"])
    model = make_pipeline(make_column_transformer((StandardScaler(), ["wage"])), LogisticRegression())
    model.fit(frame, frame["wage"] > 6)
    rules = ("wage <= limit", "if wage >= 8 then limit >= 11")
    schema = Schema((Feature("wage", "count"), Feature("limit", "count")), rules=rules)
    people = pd.DataFrame({"wage": [2, 5, 0, 3], "limit": [5, 5, 6, 12]})
    result = (
        ActionableRecourse(schema, figures=False, laws=None)
        .fit(frame, frame["wage"] > 6)
        .explain(model, people, target=True)
    )
    grid = pd.DataFrame(list(itertools.product(sorted(set(frame["wage"])), sorted(set(frame["limit"])))))
    grid.columns = frame.columns
    kept = (grid["wage"] <= grid["limit"]) & ((grid["wage"] < 8) | (grid["limit"] >= 11)) & model.predict(grid)
    shares = {name: [(frame[name] <= value).mean() for value in range(16)] for name in frame}
    for i, person in people.reset_index(drop=True).iterrows():
        costs = [
            sum(abs(shares[name][row[name]] - shares[name][person[name]]) for name in frame)
            for _, row in grid[kept].iterrows()
        ]
        assert result.option_figures["cost"][i] == pytest.approx(min(costs), abs=1e-6)
    assert (result.option_figures["proven"] == 1).all()


def test_items_after_a_part_that_was_given_up_are_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    choices = [_choices(0, [0.0, 1.0], [0.0, 1.0]), _choices(1, [0.0, 1.5], [0.0, 1.0])]
    made = Program(choices, need=1.0, most=2)
    every = FlipSet(made, "total", _Check(), Deadline()).items()  # type: ignore[arg-type]
    assert [(item.actions, item.proven) for item in every] == [([1, 0], True), ([0, 1], True), ([1, 1], True)]
    real = program.cheapest
    monkeypatch.setattr(
        program, "cheapest", lambda made, *given: real(made, *given)._replace(proven=len(made.rows) != 1)
    )
    some = FlipSet(made, "total", _Check(), Deadline()).items()  # type: ignore[arg-type]
    assert [(item.actions, item.proven) for item in some] == [([1, 0], True), ([0, 1], False), ([1, 1], False)]
    check = _Check({(0, 1): [not_all({0: np.array([True, False]), 1: np.array([False, True])})]})
    monkeypatch.setattr(program, "MOST_ROUNDS", 1)
    given_up = FlipSet(made, "total", check, Deadline())  # type: ignore[arg-type]
    assert [item.actions for item in given_up.items()] == [[1, 0]]
    assert not given_up.proves_no_recourse()


class _Check(dict[tuple[int, ...], list[Row]]):
    """What rules out each choice; other choices are answers."""

    def __call__(self, actions: list[int]) -> list[Row]:
        return self.get(tuple(actions), [])

    def row(self, actions: list[int]) -> np.ndarray:
        return np.array([actions])


def _choices(column: int, cost: list[float], gain: list[float]) -> Choices:
    cells = np.arange(len(cost), dtype=float)[:, None]
    return Choices(np.array([column]), cells, cells > 0, np.array(cost), np.array(gain))


def test_a_flip_set_lists_the_cheapest_item_of_each_set_of_features() -> None:
    explainer = ActionableRecourse(Schema(FEATURES), figures=False).fit(X, Y)
    result = explainer.explain(MODEL, DENIED, target="yes", n=4)
    names = ["late", "cards", "score", "home"]
    for i, (_, person) in enumerate(DENIED.iterrows()):
        _, found = _brute_force(person, "total")
        sets = (found[names] != person[names]).apply(frozenset_of_true, axis=1)
        expected = np.sort(found["cost"].groupby(sets).min().to_numpy())[:4]
        np.testing.assert_allclose(result.option_figures["cost"][result.owners == i], expected, atol=1e-6)


def frozenset_of_true(row: pd.Series) -> frozenset[str]:
    return frozenset(row.index[row])


def test_no_recourse_is_certified_exactly_where_brute_force_finds_none() -> None:
    schema = Schema(FEATURES)
    limits = {"range": {"score": (0, 3), "late": (-1, 0)}, "immutable": ["home"]}
    result = (
        ActionableRecourse(schema, figures=False).fit(X, Y).explain(MODEL, DENIED, target="yes", constraints=limits)
    )
    for status, (_, person) in zip(result.statuses, DENIED.iterrows(), strict=True):
        _, found = _brute_force(person, "total", observed=False)
        late = found["late"].astype(int)
        inside = (found["home"] == person["home"]) & (found["score"] <= person["score"] + 3)
        inside &= (late.between(person["late"] - 1, person["late"])) | (person["late"] == -8)
        assert (status is Status.NO_RECOURSE) == (not inside.any())
    assert Status.NO_RECOURSE in result.statuses
    assert Status.FOUND in result.statuses


def test_local_models_keep_rules() -> None:
    explainer = ActionableRecourse(Schema(FEATURES, rules=RULES), figures=False, samples=60, budget=800).fit(X, Y)
    result = explainer.explain(MODEL.predict, DENIED, target="yes", errors="raise")
    answers = result.frame[result.found]
    assert len(answers) > 6
    assert ((answers["late"] <= answers["cards"]) | (answers["late"] == -8)).all()
    assert ((answers["home"] != "owns") | (answers["cards"] >= 2)).all()


def test_any_other_classifier_gets_local_models_and_no_certificate() -> None:
    forest = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X.drop(columns="home"), Y)
    schema = Schema(tuple(f for f in FEATURES if f.name != "home"))
    people = X.drop(columns="home")
    people = people[forest.predict(people) == "no"].iloc[:10]
    explainer = ActionableRecourse(schema, figures=False, samples=100, budget=2_000).fit(X.drop(columns="home"), Y)
    result = explainer.explain(forest, people, target="yes")
    assert result.found.mean() > 0.8
    assert (forest.predict(result.frame[result.found].astype(people.dtypes)) == "yes").all()
    assert Status.NO_RECOURSE not in result.statuses
