"""Ranges round answers: closed forms, brute force over small grids, and points of boxes that were proven."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from attain import AttainError, Counterfactuals, Feature, GrowingSpheres, Schema
from attain.methods.ranges.box import CHECKED, upper_bound
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
    """Every interval is the connected one, all of every box holds, and no side of it can move out."""
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
            assert (entry["low"], entry["high"]) == (low, high)
        sides = {name: (int(entry["box_low"]), int(entry["box_high"])) for name, entry in mine.iterrows()}
        assert _whole(model, answer, sides, rule)
        for name, (low, high) in sides.items():
            for wider in ((low - 1, high), (low, high + 1)):
                if wider[0] >= 0 and wider[1] <= 9:
                    assert not _whole(model, answer, {**sides, name: wider}, rule)
        assert (mine["box_failing"] == 0).all()


def _whole(model: Any, answer: pd.Series, sides: dict[str, tuple[int, int]], rule: Any) -> bool:
    points = [*product(*(range(low, high + 1) for low, high in sides.values()))]
    rows = pd.DataFrame([answer] * len(points)).assign(**dict(zip(sides, zip(*points, strict=True), strict=True)))
    return bool(holds(model, rows[list(answer.index)], rule).all())


def test_the_interval_of_a_linear_model_is_a_closed_form() -> None:
    result = explained(plane([1.0, 2.0, 0.0], 14.5))
    for label, answer in answers(result).items():
        mine = result.ranges[result.ranges["person"] == label].set_index("feature")
        assert set(mine.index) <= {"x", "y"}
        if "x" in mine.index:
            assert mine.loc["x", "low"] == max(0, np.ceil(14.5 - 2 * answer["y"]))
        if "y" in mine.index:
            assert mine.loc["y", "low"] == max(0, np.ceil((14.5 - answer["x"]) / 2))
        assert (mine["high"] == 9).all()
        corner = answer.copy()
        corner[mine.index] = mine["box_low"]
        assert corner["x"] + 2 * corner["y"] > 14.5
    assert (result.ranges["box_failing"] == 0).all()


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
def test_ranges_and_boxes_are_those_of_brute_force(model: Any, rule: str | None) -> None:
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


def test_a_large_ensemble_is_bounded_and_still_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attain.models.structure.products._MOST_CELLS", 1)
    target = (GRID["x"] + GRID["y"] - GRID["z"] > 5).astype(int)
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(GRID, target)
    result = explained(model)
    for label, answer in answers(result).items():
        mine = result.ranges[result.ranges["person"] == label].set_index("feature")
        sides = {name: (int(entry["box_low"]), int(entry["box_high"])) for name, entry in mine.iterrows()}
        assert _whole(model, answer, sides, lambda rows: np.ones(len(rows), bool))


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


@given(weights=st.tuples(*[st.floats(-2, 2)] * 3), offset=st.floats(-5, 15), seed=st.integers(0, 100))
@settings(max_examples=8, deadline=None)
def test_every_point_of_a_proven_box_flips_the_decision(weights: Any, offset: float, seed: int) -> None:
    model = plane(list(weights), offset)
    rows = pd.DataFrame(np.random.default_rng(seed).uniform(0, 10, (60, 3)).round(3), columns=[*"xyz"])
    if len(set(model.predict(rows))) < 2:
        return
    schema = Schema(tuple(Feature(name, "real") for name in "xyz"))
    result = explained(model, schema, rows)
    for label, answer in answers(result).items():
        mine = result.ranges[result.ranges["person"] == label].set_index("feature")
        assert (mine["box_failing"] == 0).all()
        assert (mine["box_low"] <= answer[mine.index]).all()
        assert (mine["box_high"] >= answer[mine.index]).all()
        points = pd.DataFrame([answer] * 200)
        low, high = mine["box_low"].astype(float), mine["box_high"].astype(float)
        shares = np.random.default_rng(seed).random((200, len(mine)))
        shares[:100] = np.rint(shares[:100])
        points[mine.index] = low.to_numpy() + shares * (high - low).to_numpy()
        assert (model.predict(points) == 1).all()


def test_where_nothing_is_proven_the_share_that_may_fail_is_bounded() -> None:
    assert upper_bound(0, CHECKED) == pytest.approx(1 - 0.05 ** (1 / CHECKED))
    assert upper_bound(0, CHECKED) < 0.01
    for failed in (0, 3, 20):
        expected = binomtest(failed, 50, alternative="less").proportion_ci(0.95, method="exact").high
        assert upper_bound(failed, 50) == pytest.approx(expected)
    assert upper_bound(50, 50) == 1.0
    rows = pd.DataFrame(RANDOM.uniform(0, 10, (300, 3)).round(3), columns=[*"xyz"])
    schema = Schema(tuple(Feature(name, "real") for name in "xyz"))

    def ring(frame: pd.DataFrame) -> np.ndarray:
        return (((frame - 5) ** 2).sum(axis=1) < 9).astype(int).to_numpy()

    result = explained(ring, schema, rows)
    assert (result.ranges["box_failing"] > 0).all()
    failing = []
    for label, answer in answers(result).items():
        mine = result.ranges[result.ranges["person"] == label].set_index("feature")
        points = pd.DataFrame([answer] * 2000)
        shares = np.random.default_rng(1).random((2000, len(mine)))
        low, high = mine["box_low"].astype(float).to_numpy(), mine["box_high"].astype(float).to_numpy()
        points[mine.index] = low + shares * (high - low)
        failing.append((ring(points) == 0).mean() <= mine["box_failing"].iloc[0] + 0.005)
        for name, entry in mine.iterrows():
            rest = ((answer.drop(name) - 5) ** 2).sum()
            half = np.sqrt(9 - rest)
            assert entry["low"] == pytest.approx(5 - half, abs=1e-2)
            assert entry["high"] == pytest.approx(5 + half, abs=1e-2)
    assert np.mean(failing) >= 0.75


def test_few_points_are_all_asked_about() -> None:
    result = explained(lambda frame: ((frame["x"] + frame["y"]) % 2 == 1).astype(int).to_numpy())
    # whatever is even or odd changes at the next value: a box is one point
    assert (result.ranges["low"] == result.ranges["high"]).all()
    assert (result.ranges["box_failing"] == 0).all()


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
    assert (mine.loc["size", "box_low"], mine.loc["size", "box_high"]) == ("m", "l")


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
            assert entry["low"] <= entry["box_low"] <= entry["counterfactual"] <= entry["box_high"] <= entry["high"]
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


def test_ranges_are_kept_in_json_and_said_to_be_missing_otherwise() -> None:
    model = plane([1.0, 2.0, 0.0], 14.5)
    result = explained(model)
    again = Counterfactuals.from_json(result.to_json())
    pd.testing.assert_frame_equal(result.ranges, again.ranges)
    plain = GrowingSpheres(SCHEMA, laws=None).fit(GRID).explain(model, GRID.head(5), target=1)
    with pytest.raises(AttainError, match=r"explain\(..., ranges=True\)"):
        _ = plain.ranges


def test_other_frame_libraries() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(GRID)
    model = plane([1.0, 2.0, 0.0], 14.5)
    result = (
        GrowingSpheres(SCHEMA, laws=None, figures=False)
        .fit(frame)
        .explain(lambda rows: model.predict(rows.to_pandas()), frame.head(5), target=1, ranges=True)
    )
    assert isinstance(result.ranges, polars.DataFrame)
    assert result.ranges.columns[:3] == ["person", "option", "feature"]
