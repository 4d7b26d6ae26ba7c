"""Rules between features: which rows keep them, and how a row is repaired."""

import math

import numpy as np
import pytest

from attain.schema import Constraints, Feature, Schema
from attain.schema.formulas import Comparison
from attain.tables import Region, RuleBook, Table
from tests.both_paths import by

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
    book = RuleBook(schema(rule))
    made = book.repaired(np.array([row], float), np.array([factual], float), np.zeros((1, 3), dtype=bool))
    np.testing.assert_allclose(made, [repaired])


def test_frozen_cells_are_not_used_for_repairs() -> None:
    book = RuleBook(schema("a = b"))
    frozen = np.array([[True, False, False]])
    made = book.repaired(np.array([[1.0, 4.0, 0.0]]), np.array([[1.0, 1.0, 0.0]]), frozen)
    assert made.tolist() == [[1.0, 1.0, 0.0]]


def test_a_consequence_that_cannot_be_had_takes_the_condition_back() -> None:
    book = RuleBook(schema("if owner = no then b = 0"))
    frozen = np.array([[False, True, False]])
    made = book.repaired(np.array([[1.0, 7.0, 0.0]]), np.array([[1.0, 7.0, 1.0]]), frozen)
    assert made.tolist() == [[1.0, 7.0, 1.0]]


def test_each_rule_is_evaluated_once_for_a_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 40
    wide = Schema(tuple(Feature(f"x{j}", "real") for j in range(n)), tuple(f"x{j} <= 1" for j in range(n)))
    book, calls = RuleBook(wide), []
    original = Comparison.judge
    monkeypatch.setattr(Comparison, "judge", lambda self, view: (calls.append(1), original(self, view))[1])
    factuals = np.zeros((5, n))
    repaired = book.repaired(np.full((5, n), 2.0), factuals, np.zeros((5, n), dtype=bool))
    assert (repaired == 1).all()
    assert len(calls) == 2 * n  # once to find the rows that violate it, once to repair them


def test_only_rows_that_violate_a_rule_are_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table.read(np.zeros((1, 2)), Schema((Feature("a", "real"), Feature("b", "real")), ("a <= b",)))
    region, seen = Region.of(table, Constraints()), []
    original = RuleBook.repaired
    monkeypatch.setattr(
        RuleBook, "repaired", lambda self, rows, *rest: (seen.append(rows), original(self, rows, *rest))[1]
    )
    owners = np.zeros(3, dtype=np.intp)
    rows = np.array([[1.0, 2.0], [3.0, 1.0], [1.0, 1.0]])
    final = by(False, lambda: region.final_form(rows, owners))
    np.testing.assert_allclose(final, [[1, 2], [0, 0], [1, 1]])
    assert len(seen[0]) == 1
    region.final_form(final, owners)
    assert len(seen) == 1
