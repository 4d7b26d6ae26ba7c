"""The menu of one person: which sets of features suffice, compared with every choice of values on small grids."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from attain import AttainError, Feature, GrowingSpheres, Guarded, Schema
from attain.core.errors import DataError
from attain.methods import ActionableRecourse
from attain.testing import people

RANDOM = np.random.default_rng(0)
NAMES = ["x", "y", "z", "w"]
GRID = pd.DataFrame(RANDOM.integers(0, 8, (500, 4)), columns=NAMES)
MERIT = 3 * GRID["x"] + GRID["y"] * GRID["z"] - 4 * GRID["w"]
LABELS = (RANDOM.normal(MERIT, 4) > 18).astype(int)
KEEPS = {None: lambda rows: np.ones(len(rows), bool), "x <= y + 2": lambda rows: rows["x"] <= rows["y"] + 2}
MODELS = {
    "linear": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(10, max_depth=6, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=25, random_state=0),
}


def schema(rule: str | None = None) -> Schema:
    return Schema(tuple(Feature(name, "count") for name in NAMES), rules=() if rule is None else (rule,))


def enough(model: Any, person: pd.Series, names: tuple[str, ...], rule: Any) -> pd.DataFrame:
    """All records that flip the decision and differ from the person's in these features only."""
    points = np.array([*product(range(8), repeat=len(names))])
    rows = pd.DataFrame([person] * len(points)).reset_index(drop=True)
    rows[list(names)] = points
    return rows[(model.predict(rows) == 1) & rule(rows)]


@pytest.mark.parametrize("rule", KEEPS)
@pytest.mark.parametrize("kind", MODELS)
def test_what_suffices_and_what_cannot_is_that_of_brute_force(kind: str, rule: str | None) -> None:
    keeps = KEEPS[rule]
    X = GRID[keeps(GRID)]
    model = MODELS[kind].fit(X, LABELS[keeps(GRID)])
    explainer = GrowingSpheres(schema(rule), laws=None, figures=False).fit(X)
    refused = X[model.predict(X) == 0].drop_duplicates()
    for _, person in refused.iloc[:: len(refused) // 6].iterrows():
        menu = explainer.menu(model, person, target=1, most=2)
        listed = {tuple(entry.features): entry for entry in menu.itertuples()}
        for name in NAMES:
            found = enough(model, person, (name,), keeps)
            assert listed[(name,)].suffices == ("yes" if len(found) else "no")
        for pair in combinations(NAMES, 2):
            found = enough(model, person, pair, keeps)
            if not len(found):
                assert pair not in listed
            elif not any(listed[(name,)].suffices == "yes" for name in pair):
                assert listed[pair].suffices == "yes"
        for names, entry in listed.items():
            if entry.suffices == "yes":
                answer = person.copy()
                answer[list(names)] = [int(value) for value in entry.values]
                assert (enough(model, person, names, keeps) == answer).all(axis=1).any()
                assert (answer[list(names)] != person[list(names)]).all()
                assert entry.change == "; ".join(f"{name}: {person[name]} → {answer[name]}" for name in names)
            else:
                assert entry.change == ""
        shifts = menu["total_shift"].dropna()
        assert shifts.is_monotonic_increasing
        assert menu["suffices"].tolist() == sorted(menu["suffices"], key=["yes", "not found", "no"].index)


def test_the_cheapest_answers_of_a_linear_model_are_those_of_brute_force() -> None:
    model = MODELS["linear"].fit(GRID, LABELS)
    explainer = ActionableRecourse(schema(), laws=None, figures=False).fit(GRID)
    ranks = {name: np.array([(GRID[name] <= value).mean() for value in range(8)]) for name in NAMES}
    for _, person in GRID[model.predict(GRID) == 0].head(6).iterrows():
        for entry in explainer.menu(model, person, target=1, most=3).itertuples():
            if entry.suffices == "yes":
                rows = enough(model, person, tuple(entry.features), KEEPS[None])
                shift = sum(np.abs(ranks[name][rows[name]] - ranks[name][person[name]]) for name in NAMES)
                assert entry.total_shift == pytest.approx(100 * shift.min(), abs=0.01)


def test_of_three_features_only_sets_of_which_none_is_enough_are_listed() -> None:
    model = Threshold({"x": 5, "y": 5, "z": 5})
    explainer = GrowingSpheres(schema(), laws=None, figures=False).fit(GRID)
    menu = explainer.menu(model, {"x": 1, "y": 1, "z": 1, "w": 1}, target=1)
    assert menu["features"].tolist() == [["x", "y", "z"], ["x"], ["y"], ["z"], ["w"]]
    assert menu["suffices"].tolist() == ["yes", *["not found"] * 4]
    menu = explainer.menu(model, {"x": 1, "y": 7, "z": 1, "w": 1}, target=1)
    assert menu.loc[menu["suffices"] == "yes", "features"].tolist() == [["x", "z"]]


class Threshold:
    """A model that nothing can be read from: 1 where every column reaches its threshold."""

    classes_ = np.array([0, 1])

    def __init__(self, least: dict[str, int]) -> None:
        self.least = least

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        return np.all([rows[name] >= value for name, value in self.least.items()], axis=0).astype(int)


def test_constraints_and_columns_of_every_kind() -> None:
    X = people.frame()
    y = people.labels(X)
    model = people.tree_model(X, y)
    others = people.frame(80, seed=7)
    person = others[model.predict(others) == people.REFUSED].iloc[0]
    explainer = GrowingSpheres(people.schema(), laws=people.LAWS, figures=False).fit(X, y)
    menu = explainer.menu(model, person, target=people.DESIRED, most=2, constraints={"immutable": ["score"]})
    used = {name for names in menu["features"] for name in names}
    assert not used & {"score", "age", "sex", "debt_ratio"}
    for entry in menu[menu["suffices"] == "yes"].itertuples():
        held = [name for name in people.schema().names if name not in entry.features and name != "debt_ratio"]
        held = {"immutable": [name for name in held if people.schema()[name].searched]}
        result = explainer.explain(model, person, target=people.DESIRED, constraints=held)
        assert result.found.all()
        assert result.of_best("total_shift")[0] * 100 == pytest.approx(entry.total_shift, abs=0.01)


def test_time_that_a_change_takes_is_not_forgotten() -> None:
    timed = Schema((Feature("x", "count", pace=1), Feature("age", "count", clock=1), Feature("w", "count")))
    frame = GRID.rename(columns={"y": "age"})[["x", "age", "w"]].assign(age=GRID["y"] * 10 + GRID["z"])
    model = LogisticRegression().fit(frame, LABELS)
    model.coef_, model.intercept_ = np.array([[1.0, 1.0, 0.0]]), np.array([-40.5])
    explainer = GrowingSpheres(timed, laws=None, figures=False).fit(frame)
    menu = explainer.menu(model, {"x": 1, "age": 30, "w": 3}, target=1, most=1).set_index("suffices")
    # x can only become 7, which alone is too little; but in these six months the person becomes 36
    assert ["x"] in menu.loc[["yes"], "features"].tolist()
    of = {tuple(entry.features): entry for entry in menu.loc[["yes"]].itertuples()}
    assert (of["x",].change, of["x",].months) == ("x: 1 → 6; takes 5 months", 5)  # 6 + 35 > 40.5
    assert (of["age",].change, of["age",].months) == ("wait 10 months", 10)
    assert menu.loc["no", "features"] == ["w"]
    result = explainer.explain(model, {"x": 1, "age": 30, "w": 3}, target=1, ranges=True)
    assert (result.ranges["box_failing"] < 0.01).all()


def test_a_guard_says_how_typical_each_answer_is() -> None:
    model = MODELS["boosting"].fit(GRID, LABELS)
    explainer = Guarded(schema(), laws=None, figures=False).fit(GRID, LABELS)
    person = GRID[model.predict(GRID) == 0].iloc[[0]]
    menu = explainer.menu(model, person, target=1, most=2)
    enough = menu["suffices"] == "yes"
    assert enough.any()
    assert menu.loc[enough, "typicality"].isin(["typical", "unusual", "outside what we have seen"]).all()
    assert menu.loc[~enough, "typicality"].isna().all()


def test_a_menu_is_for_one_person_who_is_refused() -> None:
    model = Threshold({"x": 4})
    explainer = GrowingSpheres(schema(), laws=None).fit(GRID)
    with pytest.raises(AttainError, match="decides for 1 already"):
        explainer.menu(model, {"x": 7, "y": 1, "z": 1, "w": 1}, target=1)
    with pytest.raises(DataError, match="person has 2 rows"):
        explainer.menu(model, GRID.head(2), target=1)
    with pytest.raises(AttainError, match="most must be an integer ≥ 1"):
        explainer.menu(model, GRID.head(1), target=1, most=0)


def test_other_frame_libraries() -> None:
    polars = pytest.importorskip("polars")
    explainer = GrowingSpheres(schema(), laws=None).fit(GRID)
    person = polars.DataFrame({"x": [1], "y": [1], "z": [1], "w": [1]})
    menu = explainer.menu(Threshold({"x": 4}), person, target=1, most=1)
    assert isinstance(menu, polars.DataFrame)
    assert menu["features"].to_list()[0] == ["x"]
