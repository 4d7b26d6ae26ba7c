"""Features and schemas: what they hold, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from attain.core.errors import AttainError, SchemaError
from attain.schema import Feature, Schema
from attain.schema.laws import Law
from tests.counting import Name, counted


def test_kinds_imply_what_they_say() -> None:
    count = Feature("n", "count")
    assert (count.bounds, count.step, count.integral, count.numeric) == ((0.0, None), 1.0, True, True)
    assert Feature("p", "positive").bounds == (0.0, None)
    assert Feature("r", "real").bounds == (None, None)
    assert Feature("r", "real", bounds=(-np.inf, np.inf)).bounds == (None, None)
    assert not Feature("c", "categorical", levels=("a",)).ordered
    assert Feature("o", "ordinal", levels=("a",)).ordered
    assert Feature("d", "real", derived="2 * r").searched is False
    assert Feature("f", "real", follows="2 * r").searched is False
    assert Feature("f", "real", follows="2 * r").computed == Feature("d", "real", derived="2 * r").computed == "2 * r"
    assert Feature("d", "real", label="Debt").title == "Debt"


def test_numpy_scalars_become_plain_ones() -> None:
    feature = Feature("g", "ordinal", levels=tuple(np.array([1, 2])), cost=np.int64(2), immutable=np.True_)  # type: ignore[arg-type]
    assert [type(level) for level in feature.levels] == [int, int]
    assert feature == Feature("g", "ordinal", levels=(1, 2), cost=2.0, immutable=True)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"kind": "integer"}, "got 'integer'"),
        ({"name": ""}, "name"),
        ({"name": 3}, "name"),
        ({"levels": ("a",)}, "no levels"),
        ({"kind": "interval"}, "both bounds"),
        ({"kind": "count", "bounds": (-1, 5)}, "below 0"),
        ({"kind": "count", "step": 0.5}, "must be an integer"),
        ({"bounds": (5, 1)}, "above the upper"),
        ({"bounds": 5}, "pair"),
        ({"bounds": ("a", "b")}, "pair"),
        ({"bounds": (0, 10**400)}, "bounds of 'x' must be a pair"),
        ({"pace": 10**400}, "pace must be a finite number"),
        ({"special": {10**400: ""}}, "not a finite number"),
        ({"bounds": (float("nan"), 1)}, "pair"),
        ({"range": (1, 2)}, "must include 0"),
        ({"reach": 5}, "pair"),
        ({"reach": (2, 1)}, "reach is above"),
        ({"reach": (0, 9), "bounds": (0, 5)}, "bounds are the values that data may hold"),
        ({"kind": "ordinal", "levels": ("a", "b"), "reach": ("c", None)}, "reach names 'c'; its levels are 'a', 'b'"),
        ({"kind": "ordinal", "levels": ("a", "b"), "reach": ("b", "a")}, "reach is above"),
        ({"kind": "ordinal", "levels": ("a", "b"), "reach": 5}, "pair of levels"),
        ({"kind": "categorical", "levels": ("a", "b"), "reach": ("a", None)}, "not ordered"),
        ({"step": 0}, "step must be a finite number > 0, got 0"),
        ({"step": "1"}, "got '1'"),
        ({"step": float("inf")}, "got inf"),
        ({"pace": 0}, "pace must be a finite number > 0, got 0"),
        ({"pace": True}, "got True"),
        ({"pace": "fast"}, "got 'fast'"),
        ({"pace": 1, "derived": "y + 1"}, "cannot have pace; set that of the columns it is computed from"),
        ({"clock": -1}, "clock must be a finite number > 0, got -1"),
        ({"clock": float("inf")}, "got inf"),
        ({"clock": 1, "direction": "decrease"}, "cannot go backwards"),
        ({"clock": 1, "pace": 1}, "never chosen, so it cannot have pace"),
        ({"clock": 1, "fillable": True}, "never chosen, so it cannot have fillable"),
        ({"clock": 1, "derived": "y + 1"}, "never chosen, so it cannot have derived"),
        ({"clock": True, "special": {-9: ""}, "transitions": {-9: ("value",)}}, "so it cannot have transitions"),
        ({"kind": "categorical", "levels": ("a", "b"), "clock": 1}, "clock is given, but its levels are not ordered"),
        ({"cost": -1}, "cost must be a finite number ≥ 0, got -1"),
        ({"cost": "much"}, "got 'much'"),
        ({"direction": "up"}, "got 'up'"),
        ({"immutable": "yes"}, "immutable must be True or False"),
        ({"fillable": 1}, "fillable must be True or False"),
        ({"label": 3}, "label must be a string"),
        ({"reviewed": None}, "reviewed must be a string, such as 'Ada, 2026-11-19', got None"),
        ({"derived": 3}, "derived must be a string"),
        ({"special": 9}, "special of 'x'"),
        ({"special": {"none": "a"}}, "not a finite number"),
        ({"special": {float("nan"): "a"}}, "not a finite number"),
        ({"transitions": {1: (2,)}}, "use direction and range"),
        ({"transitions": ["a"]}, "transitions of 'x'"),
        ({"derived": "y + 1", "immutable": True}, "a computed column cannot have immutable"),
        ({"derived": "y + 1", "immutable_if": "y > 1"}, "a computed column cannot have immutable_if"),
        ({"follows": 3}, "follows must be a string"),
        (
            {"follows": "y + 1", "derived": "2 * y"},
            "derived is '2 * y' and follows is 'y + 1'; leave one of the two",
        ),
        ({"follows": "y + 1", "immutable": True}, "a computed column cannot have immutable; set that of the columns"),
        ({"follows": "y + 1", "clock": 1}, "never chosen, so it cannot have follows"),
        ({"kind": "categorical", "levels": ("a",), "follows": "y"}, "only a numeric column can be computed"),
        ({"avoid": ("a",)}, "a column of numbers has no avoid"),
        ({"kind": "categorical", "levels": ("a", "b"), "avoid": ("c",)}, "its levels are 'a', 'b'"),
        ({"kind": "categorical", "levels": ("a", "b"), "avoid": "a"}, "avoid of 'x' must be a list"),
        ({"immutable_if": True}, "immutable_if must be a string"),
        ({"clock": 1, "immutable_if": "y > 1"}, "never chosen, so it cannot have immutable_if"),
        ({"kind": "categorical"}, "needs its levels"),
        ({"kind": "categorical", "levels": "abc"}, "list of levels"),
        ({"kind": "categorical", "levels": None}, "list of levels"),
        ({"kind": "categorical", "levels": ("a", "a")}, "repeated: 'a'"),
        ({"kind": "categorical", "levels": (1, True)}, "repeated"),
        ({"kind": "categorical", "levels": ("a", None)}, "None cannot be a level"),
        ({"kind": "categorical", "levels": ("a", float("nan"))}, "nan cannot be a level"),
        ({"kind": "categorical", "levels": ("a",), "special": {-9: "a"}}, "has no special"),
        ({"kind": "categorical", "levels": ("a",), "bounds": (0, 1)}, "no bounds"),
        ({"kind": "categorical", "levels": ("a",), "step": 1}, "no step"),
        ({"kind": "categorical", "levels": ("a",), "derived": "y"}, "only a numeric column"),
        ({"kind": "categorical", "levels": ("a",), "direction": "increase"}, "not ordered"),
        ({"kind": "categorical", "levels": ("a",), "range": (0, 1)}, "not ordered"),
        ({"kind": "categorical", "levels": ("a", "b"), "transitions": {"a": ("c",)}}, "'c'"),
        ({"kind": "categorical", "levels": ("a", "b"), "transitions": {"a": "b"}}, "list of levels"),
    ],
)
def test_a_feature_that_contradicts_itself_is_refused(properties: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Feature(**{"name": "x", "kind": "real", **properties})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("features", "rules", "words"),
    [
        ((), (), "at least one"),
        (None, (), "got None"),
        (("x",), (), "got a str"),
        ((Feature("x", "real"), Feature("x", "real")), (), "same name: 'x'"),
        ((Feature("x", "real"),), (5,), "rules must be a list"),
        ((Feature("x", "real"),), None, "rules must be a list"),
        ((Feature("x", "real"),), "y <= 1", "no column `y`"),
        ((Feature("x", "real", derived="y"),), (), "no column `y`"),
        ((Feature("x", "real", follows="y"),), (), "no column `y`"),
        (
            (Feature("x", "real", follows="y"), Feature("y", "real", derived="x")),
            (),
            "'x', 'y' depend on each other in",
        ),
        ((Feature("x", "real", follows="x / 2"),), (), "cycle"),
        (
            (Feature("x", "real", follows="table(y, {a: 1})"), Feature("y", "categorical", levels=("a",))),
            (),
            "feature 'x' follows 'y', which is not numeric",
        ),
        ((Feature("x", "real", immutable_if="y > 1"),), (), "immutable_if of 'x' cannot be parsed"),
        ((Feature("x", "real", derived="inc"), Feature("income", "real")), (), "did you mean `income`?"),
        ((Feature("x", "real", derived="y"), Feature("y", "real", derived="x")), (), "cycle"),
        ((Feature("x", "real", derived="y"), Feature("y", "categorical", levels=("a",))), (), "column of levels"),
        (
            (Feature("x", "real", derived="table(y, {a: 1})"), Feature("y", "categorical", levels=("a",))),
            (),
            "not numeric",
        ),
    ],
)
def test_a_schema_that_contradicts_itself_is_refused(features: Any, rules: Any, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(features, rules)
    assert words in str(caught.value)


def schema() -> Schema:
    return Schema(
        (
            Feature("age", "count", immutable=True),
            Feature("debt", "positive"),
            Feature("ratio", "real", derived="total / age"),
            Feature("total", "real", derived="debt * 2"),
            Feature("house", "categorical", levels=("rents", "owns")),
        ),
        rules="debt <= 100",
    )


def test_a_schema_knows_its_columns() -> None:
    made = schema()
    assert made.names == ("age", "debt", "ratio", "total", "house")
    assert made.free == ("debt", "house")
    assert made.immutable == ("age",)
    assert made.free_columns.tolist() == [1, 4]
    assert made.immutable_columns.tolist() == [0]
    assert made["house"] is made.features[made.position("house")]
    assert "age" in made
    assert "height" not in made
    assert [position for position, _ in made.derivations] == [3, 2]
    assert "rule: debt <= 100" in str(made)
    assert made.with_rules("age <= 99").rules == ("debt <= 100", "age <= 99")


@pytest.mark.parametrize(
    ("properties", "decided"),
    [
        ({}, False),
        ({"label": "L", "unit": "€", "bounds": (0, 9), "step": 1, "special": {-9: ""}, "likelihood": "normal"}, False),
        ({"reviewed": "Ada, 2026-11-19"}, True),
        ({"immutable": True}, True),
        ({"direction": "increase"}, True),
        ({"range": (-1, None)}, True),
        ({"reach": (None, 5)}, True),
        ({"pace": 2}, True),
        ({"clock": 1}, True),
        ({"cost": 2}, True),
        ({"fillable": True}, True),
        ({"follows": "debt"}, True),
        ({"special": {-9: ""}, "transitions": {-9: ("value",)}}, True),
    ],
)
def test_a_feature_is_reviewed_once_a_person_has_said_how_it_may_change(
    properties: dict[str, Any], decided: bool
) -> None:
    feature = Feature("x", "real", **properties)
    assert feature.is_reviewed is decided
    assert Schema((feature, Feature("debt", "real", reviewed="Ada"))).unreviewed == (() if decided else ("x",))


def test_a_change_makes_a_copy() -> None:
    made = schema()
    changed = made.change(["debt", "house"], immutable=True, label="L")
    assert made.free == ("debt", "house")
    assert changed.free == ()
    assert changed["debt"].label == "L"
    assert made.change("age", immutable=False).free == ("age", "debt", "house")
    for names, properties, words in (("height", {"cost": 1}, "'height'"), ("age", {"colour": 1}, "'colour'")):
        with pytest.raises(AttainError, match=words):
            made.change(names, **properties)


def test_laws_are_kept_by_changes_and_fit_the_features() -> None:
    made = schema().with_laws(["age <= debt", Law("house = owns", "All own.", 300, 0, 100.0, 0.01)])
    assert made.laws == (Law("age <= debt"), Law("house = owns"))
    assert [rule.text for rule in made.parsed_laws] == ["age <= debt", "house = owns"]
    assert made.change("debt", cost=2).with_rules("age <= 99").laws == made.laws
    assert repr(made) == "<Schema of 5 features, 1 of them immutable, 1 rules, 2 laws>"
    assert schema().laws is None
    assert schema().with_laws(()).laws == ()
    for change in ({"name": "home"}, {"levels": ("rents",)}):
        with pytest.raises(SchemaError, match="the law 'house = owns' does not fit the features"):
            made.change("house", **change)
    with pytest.raises(SchemaError, match="laws must be a list"):
        schema().with_laws([5])  # type: ignore[list-item]


def test_names_are_compared_in_linear_time() -> None:
    features, Name.compared = [Feature(Name(f"x{j}"), "real") for j in range(3_000)], 0
    with counted() as calls:
        Schema(tuple(features))
        with pytest.raises(SchemaError, match="'x7'"):
            Schema((*features, Feature(Name("x7"), "real")))
    assert Name.compared < 10 * len(features)
    assert calls.number < 50 * len(features)


@pytest.mark.parametrize(
    ("given", "meant"), [(True, 1), (False, None), (0.083, 1 / 12), (0.0833, 1 / 12), (0.09, 0.09)]
)
def test_a_rate_close_to_one_unit_in_whole_months_is_meant_to_be_that(given: Any, meant: float | None) -> None:
    assert Feature("age", "count", clock=given).clock == meant
    assert Feature("days", "count", clock=30.4).clock == 30.4


def test_a_schema_knows_its_clocks_and_paces() -> None:
    schema = Schema((Feature("a", "count", clock=1), Feature("b", "real"), Feature("c", "real", pace=2)), max_months=6)
    assert (schema.clocks, schema.paced, schema.max_months) == ((0,), (2,), 6)
    assert schema.with_max_months(None).max_months is None
    with pytest.raises(SchemaError, match="max_months must be an integer"):
        schema.with_max_months(True)
