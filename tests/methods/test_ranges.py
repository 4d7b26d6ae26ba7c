"""Ranges round answers: closed forms, brute force over small grids, and what was asked."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from attain import Counterfactuals, Feature, GrowingSpheres, Schema
from attain.answers.ranges import spread
from attain.methods import NearestUnlike
from attain.testing import people

RANDOM = np.random.default_rng(0)
GRID = pd.DataFrame(RANDOM.integers(0, 10, (400, 3)), columns=["x", "y", "z"])
SCHEMA = Schema((Feature("x", "count"), Feature("y", "count"), Feature("z", "count")))


def plane(weights: list[float], offset: float) -> LogisticRegression:
    """A logistic regression that decides for 1 where weights · row > offset."""
    model = LogisticRegression().fit(GRID, (GRID.sum(axis=1) > 13).astype(int))
    model.coef_, model.intercept_ = np.array([weights]), np.array([-offset])
    return model


def explained(model: Any, schema: Schema = SCHEMA, X: pd.DataFrame = GRID, **request: Any) -> Counterfactuals:
    refused = X[np.asarray(model.predict(X) if hasattr(model, "predict") else model(X)) == 0].head(8)
    explainer = GrowingSpheres(schema, figures=False, samples=100, laws=None).fit(X)
    return explainer.explain(model, refused, target=1, ranges=True, **request)


def answers(result: Counterfactuals) -> dict[Any, pd.Series]:
    return {label: row for label, row in result.frame[result.found].iterrows()}


def holds(model: Any, rows: pd.DataFrame, rule: Any) -> np.ndarray:
    met = np.asarray(model.predict(rows) if hasattr(model, "predict") else model(rows)) == 1
    return met & np.asarray(rule(rows))


def check_by_brute_force(
    model: Any, result: Counterfactuals, rule: Any = lambda rows: np.ones(len(rows), bool)
) -> None:
    """Every range is the widest run of values that hold, and all of them were checked."""
    for label, answer in answers(result).items():
        mine = result.ranges[result.ranges["person"] == label].set_index("feature")
        for name, entry in mine.iterrows():
            tried = pd.DataFrame([answer] * 10).assign(**{name: range(10)})
            good = holds(model, tried, rule)
            low = high = int(answer[name])
            while low > 0 and good[low - 1]:
                low -= 1
            while high < 9 and good[high + 1]:
                high += 1
            assert (entry["low"], entry["high"], entry["checked"]) == (low, high, high - low + 1)


@pytest.mark.parametrize(
    "model",
    [
        plane([1.0, 2.0, -1.0], 8.5),
        RandomForestClassifier(12, max_depth=5, random_state=0),
        GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=0),
    ],
    ids=["linear", "forest", "boosting"],
)
@pytest.mark.parametrize("rule", [None, "x <= y", "if x > 4 then z <= 6"])
def test_ranges_are_those_of_brute_force(model: Any, rule: str | None) -> None:
    if not hasattr(model, "coef_"):
        model = model.fit(
            GRID, (GRID["x"] * GRID["y"] - 2 * GRID["z"] + RANDOM.normal(0, 6, len(GRID)) > 12).astype(int)
        )
    keeps = {
        None: lambda rows: np.ones(len(rows), bool),
        "x <= y": lambda rows: rows["x"] <= rows["y"],
        "if x > 4 then z <= 6": lambda rows: (rows["x"] <= 4) | (rows["z"] <= 6),
    }[rule]
    X = GRID[keeps(GRID)]
    schema = Schema(SCHEMA.features, rules=() if rule is None else (rule,))
    result = explained(model, schema, X)
    assert result.found.sum() >= 5
    check_by_brute_force(model, result, keeps)


def test_limits_and_directions_end_a_range() -> None:
    schema = Schema(
        (Feature("x", "count", direction="increase", reach=(0, 7)), Feature("y", "count"), Feature("z", "count"))
    )
    result = explained(plane([1.0, 1.0, 0.0], 5.5), schema, constraints={"bounds": {"y": (0, 6)}})
    own = GRID.loc[result.ranges["person"]].reset_index(drop=True)
    for i, entry in result.ranges.iterrows():
        if entry["feature"] == "x":
            assert own.loc[i, "x"] <= entry["low"] <= entry["high"] <= max(7, own.loc[i, "x"])
        if entry["feature"] == "y":
            assert entry["high"] <= 6


class Recorder:
    """A model that remembers every row it was asked about."""

    def __init__(self, decide: Any) -> None:
        self.decide, self.asked = decide, [pd.DataFrame()]

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        self.asked.append(frame)
        return np.asarray(self.decide(frame)).astype(int)


def test_of_many_values_some_are_checked_and_all_of_them_hold() -> None:
    rows = pd.DataFrame(RANDOM.uniform(0, 10, (300, 3)).round(3), columns=[*"xyz"])
    schema = Schema(tuple(Feature(name, "real") for name in "xyz"))
    ring = Recorder(lambda frame: ((frame - 5) ** 2).sum(axis=1) < 9)
    result = explained(ring, schema, rows)
    asked = pd.concat(ring.asked)
    assert (result.ranges["checked"] > 30).any()
    for label, answer in answers(result).items():
        mine = result.ranges[result.ranges["person"] == label].set_index("feature")
        for name, entry in mine.iterrows():
            rest = ((answer.drop(name) - 5) ** 2).sum()
            half = np.sqrt(9 - rest)
            assert entry["low"] == pytest.approx(5 - half, abs=1e-2)
            assert entry["high"] == pytest.approx(5 + half, abs=1e-2)
            others = [other for other in "xyz" if other != name]
            tried = asked[(asked[others] == answer[others]).all(axis=1)]
            inside = tried[(tried[name] >= entry["low"]) & (tried[name] <= entry["high"])]
            assert {entry["low"], entry["high"]} <= set(inside[name])
            assert entry["checked"] <= inside[name].nunique()
            assert np.diff(np.sort(inside[name])).max() <= 10 / 32 + 1e-3, "evenly spaced"
            assert (ring.decide(inside)).all()


def test_a_gap_between_checked_values_ends_a_range() -> None:
    result = explained(lambda frame: ((frame["x"] + frame["y"]) % 2 == 1).astype(int).to_numpy())
    # whatever is even or odd changes at the next value
    assert (result.ranges["low"] == result.ranges["high"]).all()
    assert (result.ranges["checked"] == 1).all()


def test_values_are_spread_evenly_on_the_grid() -> None:
    assert spread(1, 9, 1.0, 33).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert spread(0.05, 0.52, 0.1, 33).tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert spread(0, 1000, 1.0, 5).tolist() == [0, 250, 500, 750, 1000]
    assert spread(0.0, 1.0, None, 3).tolist() == [0, 0.5, 1]
    assert spread(4.0, 4.0, None, 3).tolist() == [4]
    assert not len(spread(0.2, 0.4, 1.0, 3))


def test_levels_without_an_order_are_listed_and_ordered_ones_have_an_interval() -> None:
    colours, sizes = ["red", "green", "blue", "black"], ["s", "m", "l", "xl"]
    frame = pd.DataFrame({"colour": RANDOM.choice(colours, 200), "size": RANDOM.choice(sizes, 200)})
    schema = Schema((Feature("colour", "categorical", levels=colours), Feature("size", "ordinal", levels=sizes)))

    def decide(rows: pd.DataFrame) -> np.ndarray:
        return (rows["colour"].isin(["green", "blue", "black"]) & rows["size"].isin(["m", "l"])).astype(int).to_numpy()

    person = pd.DataFrame({"colour": ["red"], "size": ["s"]})
    result = GrowingSpheres(schema, laws=None).fit(frame).explain(decide, person, target=1, ranges=True)
    mine = result.ranges.set_index("feature")
    assert set(mine.loc["colour", "levels"]) == {"green", "blue", "black"} - {mine.loc["colour", "counterfactual"]}
    assert mine.loc["colour", "low"] is None or pd.isna(mine.loc["colour", "low"])
    assert (mine.loc["size", "low"], mine.loc["size", "high"]) == ("m", "l")
    assert mine["checked"].to_dict() == {"colour": 3, "size": 2}


def test_ranges_of_every_kind_of_column_hold_and_do_not_depend_on_the_batch() -> None:
    X = people.frame()
    y = people.labels(X)
    for model in (people.linear_model(X, y), people.tree_model(X, y)):
        others = people.frame(80, seed=7)
        refused = others[model.predict(others) == people.REFUSED].head(4)
        explainer = GrowingSpheres(people.schema(), laws=people.LAWS, figures=False).fit(X, y)
        result = explainer.explain(model, refused, target=people.DESIRED, n=2, ranges=True)
        assert (result.person_figures["rows_scored"] <= explainer.budget).all()
        assert len(result.ranges) >= len(result.owners)
        for _, entry in result.ranges.iterrows():
            if entry["low"] is None or pd.isna(entry["low"]) or isinstance(entry["low"], str):
                continue
            assert entry["low"] <= entry["counterfactual"] <= entry["high"]
        alone = [explainer.explain(model, refused.iloc[[i]], target=people.DESIRED, n=2, ranges=True) for i in range(2)]
        first = result.ranges[result.ranges["person"].isin(refused.index[:2])]
        joined = pd.concat([one.ranges for one in alone], ignore_index=True)
        pd.testing.assert_frame_equal(first.reset_index(drop=True), joined, check_dtype=False)


def test_a_spent_budget_leaves_ranges_out() -> None:
    schema = Schema(tuple(Feature(name, "real") for name in "xyz"))
    rows = GRID.astype(float)
    explainer = GrowingSpheres(schema, figures=False, laws=None, budget=600).fit(rows)
    result = explainer.explain(
        lambda frame: (frame["x"] > 5).astype(int).to_numpy(), rows.head(10), target=1, ranges=True
    )
    assert result.found.any()
    assert not len(result.ranges)
    assert (result.person_figures["rows_scored"] <= 600).all()


def test_a_range_is_left_out_where_the_budget_does_not_reach_all_of_its_values() -> None:
    rows = pd.DataFrame({"x": np.linspace(0, 10, 21)})
    schema = Schema((Feature("x", "real", bounds=(0, 10)),))
    for budget, number in ((80, 0), (103, 0), (104, 1)):  # the search asks 7 times, a range at most 97 times
        explainer = NearestUnlike(schema, figures=False, laws=None, budget=budget).fit(rows)
        result = explainer.explain(lambda x: x["x"].between(6, 8).astype(int), rows.head(1), target=1, ranges=True)
        assert len(result.ranges) == number, budget
