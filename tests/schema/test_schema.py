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
