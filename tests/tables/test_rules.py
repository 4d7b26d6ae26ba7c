"""Rules between features: which rows keep them, and how a row is repaired."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain.schema import Constraints, Feature, Schema
from attain.tables import Region, RuleBook, Table

NAN = math.nan


def schema(*rules: str) -> Schema:
    return Schema(
        (
            Feature("a", "real", special={-9: "none"}),
            Feature("b", "real"),
            Feature("owner", "categorical", levels=("no", "yes")),
        ),
        rules,
    )


@pytest.mark.parametrize(
    ("rule", "row", "kept"),
    [
        ("a <= b", [1, 2, 0], True),
        ("a <= b", [3, 2, 0], False),
        ("a <= b", [NAN, 2, 0], True),  # an unknown value violates no rule
        ("a >= b", [-9, 2, 0], True),  # a special code is not a number
        ("a = -9", [-9, 2, 0], True),  # but can be tested for
        ("a = -9", [3, 2, 0], False),
        ("if owner = no then b = 0", [1, 2, 0], False),
        ("if owner = no then b = 0", [1, 2, 1], True),
        ("if owner = no then b = 0", [1, 2, NAN], True),
        ("if owner = no then b = 0", [1, NAN, 0], True),
        ("if a > 1 and b > 1 then owner = yes", [2, 2, 0], False),
        ("a + b <= 1 and a >= 0", [-0.5, 0.2, 0], False),
        ("owner = yes or b in (0, 1)", [0, 2, 0], False),
        ("owner = yes or a <= b", [-9, 2, 0], True),
        ("not (owner = no and a is missing)", [NAN, 2, 0], False),
    ],
)
def test_a_row_keeps_or_breaks_a_rule(rule: str, row: list[float], kept: bool) -> None:
    assert RuleBook(schema(rule)).kept(np.array([row], dtype=np.float64)).tolist() == [[kept]]


def final(schema: Schema, factual: list[float], row: list[float], **constraints: Any) -> list[float]:
    """The final form of a row."""
    frame = pd.DataFrame([[*map(float, factual[:2]), ("no", "yes")[int(factual[2])]]], columns=list(schema.names))
    region = Region.of(Table.read(frame, schema), Constraints.of(constraints))
    return region.final_form(np.array([row], dtype=np.float64), np.zeros(1, dtype=np.intp))[0].tolist()


@pytest.mark.parametrize(
    ("rule", "factual", "row", "repaired"),
    [
        ("a + b <= 10", [2, 3, 0], [6, 9, 0], [4, 6, 0]),  # back towards the factual, just far enough
        ("a <= b", [1, 5, 0], [8, 5, 0], [8, 8, 0]),  # the other side follows the one that moved
        ("a <= b", [1, 5, 0], [8, 2, 0], [3.8, 3.8, 0]),  # where both moved, both go back
        ("a = b", [1, 1, 0], [4, 1, 0], [4, 4, 0]),  # the feature that was left alone takes up the gap
        ("if owner = no then b = 0", [1, 0, 1], [1, 7, 0], [1, 0, 0]),
        ("if owner in (no) or a > 9 then 0 <= b <= 1", [1, 0, 1], [1, 7, 0], [1, 1, 0]),
        ("a <= b and b <= 4", [NAN, 2, 0], [NAN, 6, 0], [NAN, 4, 0]),  # an unknown part is left alone
    ],
)
def test_a_broken_rule_is_repaired(rule: str, factual: list[float], row: list[float], repaired: list[float]) -> None:
    np.testing.assert_allclose(final(schema(rule), factual, row), repaired)


def test_frozen_cells_are_not_used_for_repairs() -> None:
    assert final(schema("a = b"), [1, 1, 0], [1, 4, 0], immutable=["a"]) == [1, 1, 0]


def test_a_consequence_that_cannot_be_had_takes_the_condition_back() -> None:
    rule = schema("if owner = no then b = 0")
    assert final(rule, [1, 7, 1], [1, 7, 0], immutable=["b"]) == [1, 7, 1]
