"""Rules between features: which rows keep them, and how a row is mended."""

import math

import numpy as np
import pytest

from attain.schema import Feature, Schema
from attain.tables import RuleBook

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
        ("a <= b", [NAN, 2, 0], True),  # what is not known breaks no rule
        ("a >= b", [-9, 2, 0], True),  # a special code is no number
        ("a = -9", [-9, 2, 0], True),  # but can be asked for
        ("a = -9", [3, 2, 0], False),
        ("if owner = no then b = 0", [1, 2, 0], False),
        ("if owner = no then b = 0", [1, 2, 1], True),
        ("if owner = no then b = 0", [1, 2, NAN], True),
        ("if owner = no then b = 0", [1, NAN, 0], True),
        ("if a > 1 and b > 1 then owner = yes", [2, 2, 0], False),
        ("a + b <= 1 and a >= 0", [-0.5, 0.2, 0], False),
    ],
)
def test_a_row_keeps_or_breaks_a_rule(rule: str, row: list[float], kept: bool) -> None:
    assert RuleBook(schema(rule)).kept(np.array([row], dtype=np.float64)).tolist() == [[kept]]


@pytest.mark.parametrize(
    ("rule", "factual", "row", "mended"),
    [
        ("a + b <= 10", [2, 3, 0], [6, 9, 0], [4, 6, 0]),  # back towards the person, just far enough
        ("a <= b", [1, 5, 0], [8, 5, 0], [5, 5, 0]),
        ("a = b", [1, 1, 0], [4, 1, 0], [4, 4, 0]),  # the feature that was left alone takes up the gap
        ("if owner = no then b = 0", [1, 0, 1], [1, 7, 0], [1, 0, 0]),
        ("a <= b and b <= 4", [NAN, 2, 0], [NAN, 6, 0], [NAN, 4, 0]),  # an unknown part is left alone
    ],
)
def test_a_broken_rule_is_mended(rule: str, factual: list[float], row: list[float], mended: list[float]) -> None:
    book = RuleBook(schema(rule))
    made = book.mended(np.array([row], float), np.array([factual], float), np.zeros((1, 3), dtype=bool))
    np.testing.assert_allclose(made, [mended])


def test_frozen_cells_are_not_used_for_mending() -> None:
    book = RuleBook(schema("a = b"))
    frozen = np.array([[True, False, False]])
    made = book.mended(np.array([[1.0, 4.0, 0.0]]), np.array([[1.0, 1.0, 0.0]]), frozen)
    assert made.tolist() == [[1.0, 1.0, 0.0]]


def test_a_consequence_that_cannot_be_had_takes_the_condition_back() -> None:
    book = RuleBook(schema("if owner = no then b = 0"))
    frozen = np.array([[False, True, False]])
    made = book.mended(np.array([[1.0, 7.0, 0.0]]), np.array([[1.0, 7.0, 1.0]]), frozen)
    assert made.tolist() == [[1.0, 7.0, 1.0]]
