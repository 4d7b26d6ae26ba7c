"""Russell's mixed polytope against brute force, and its diversity."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attain import Feature, Schema, Status
from attain.methods import Russell
from attain.methods.recourse import program
from attain.methods.recourse.program import Chosen

FEATURES = (
    Feature("late", "count", bounds=(0, 9), special={-8: "none"}, transitions={-8: ("value",), "value": (-8,)}),
    Feature("cards", "count", bounds=(0, 12), range=(-3, 2)),
    Feature("home", "categorical", levels=("rents", "owns", "parents")),
)
RULES = ("late <= cards", "if home = owns then cards >= 4")
RANDOM = np.random.default_rng(5)
X = pd.DataFrame(
    {
        "late": np.where(RANDOM.random(150) < 0.15, -8, RANDOM.integers(0, 6, 150)),
        "cards": RANDOM.integers(5, 12, 150),
        "home": RANDOM.choice(["rents", "owns", "parents"], 150),
    }
)
MERIT = -0.5 * X["late"] + 0.2 * X["cards"] + 1.2 * (X["home"] == "owns") + RANDOM.normal(0, 0.7, 150)
Y = pd.Series(np.where(MERIT > 2, "yes", "no"))
MODEL = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["home"]), (StandardScaler(), ["late", "cards"])), LogisticRegression()
).fit(X, Y)
DENIED = X[MODEL.predict(X) == "no"].iloc[:15]


def _mad(cells: pd.Series) -> float:
    return float(np.median(np.abs(cells - np.median(cells))))


def _indicator(name: str, state: object) -> float:
    share = float((X[name] == state).mean())
    return 1 / (0.6745 * np.sqrt(share * (1 - share)))


def _distance(person: pd.Series, row: dict[str, object]) -> float:
    total = abs(int(row["cards"]) - int(person["cards"])) / _mad(X["cards"])  # type: ignore[call-overload]
    if row["home"] != person["home"]:
        total += _indicator("home", row["home"]) + _indicator("home", person["home"])
    if row["late"] != person["late"]:
        known = X["late"][X["late"] >= 0]
        if row["late"] == -8:
            total += _indicator("late", -8)
        elif person["late"] == -8:
            total += _indicator("late", -8) + abs(int(row["late"]) - np.median(known)) / _mad(known)  # type: ignore[call-overload]
        else:
            total += abs(int(row["late"]) - int(person["late"])) / _mad(known)  # type: ignore[call-overload]
    return total


def _records(person: pd.Series, rules: bool = False) -> pd.DataFrame:
    """Every record that flips the decision, with its distance."""
    low, high = X["late"][X["late"] >= 0].min(), X["late"].max()
    cards = range(max(person["cards"] - 3, X["cards"].min()), min(person["cards"] + 2, X["cards"].max()) + 1)
    every = itertools.product([-8, *range(low, high + 1)], cards, ["rents", "owns", "parents"])
    records = pd.DataFrame(list(every), columns=["late", "cards", "home"])
    good = MODEL.predict_proba(records)[:, 1] * 2 - 1 >= 1e-6
    if rules:
        good &= (
            (records["late"] <= records["cards"]) & ~((records["home"] == "owns") & (records["cards"] < 4))
        ).to_numpy()
    records = records[good]
    return records.assign(distance=[_distance(person, row) for row in records.to_dict("records")])


@pytest.mark.parametrize("rules", [False, True])
def test_the_distance_is_what_brute_force_finds(rules: bool) -> None:
    explainer = Russell(Schema(FEATURES, rules=RULES if rules else ()), figures=False).fit(X, Y)
    result = explainer.explain(MODEL, DENIED, target="yes")
    found = np.full(len(DENIED), np.nan)
    found[result.owners] = result.option_figures["distance"]
    np.testing.assert_allclose(found, [_records(p, rules)["distance"].min() for _, p in DENIED.iterrows()], atol=1e-5)


def test_distances_are_proven_unless_the_solver_limits_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = ("if home = rents then late >= 9",)  # not linear
    explainer = Russell(Schema(FEATURES, rules=rules), figures=False).fit(X, Y)
    assert (explainer.explain(MODEL, DENIED, target="yes").option_figures["proven"] == 1).all()
    solved = program._solved
    monkeypatch.setattr(program, "_solved", lambda *a, **k: solved(*a, **k)._replace(proven=False))
    assert (explainer.explain(MODEL, DENIED, target="yes").option_figures["proven"] == 0).all()
    monkeypatch.setattr(program, "_solved", lambda *a, **k: Chosen(None, False))
    assert Status.FOUND not in explainer.explain(MODEL, DENIED, target="yes").statuses


def test_the_second_option_is_the_nearest_without_the_changes_of_the_first() -> None:
    result = Russell(Schema(FEATURES), figures=False).fit(X, Y).explain(MODEL, DENIED, target="yes", n=2)
    for i, (_, person) in enumerate(DENIED.iterrows()):
        first, _ = result.options.loc[result.owners == i, list(X)].to_dict("records")
        left = _records(person)
        for name in [name for name in X if first[name] != person[name]]:
            same = left[name] == first[name]
            if name != "home" and first[name] != -8:  # a number may not move again
                same = (left[name] != person[name]) & (left[name] != -8)
            left = left[~same] if not same.all() else left
        distance = result.option_figures["distance"][result.owners == i][1]
        assert distance == pytest.approx(left["distance"].min(), abs=1e-5)
