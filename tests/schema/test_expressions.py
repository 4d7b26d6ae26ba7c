"""The language of derived columns and rules, against Python's own arithmetic."""

import contextlib
import time
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.core.errors import SchemaError
from attain.schema.expressions import Expression, parse_rule

A, B = np.array([1.0, 4.0, -2.0]), np.array([0.5, 0.0, 3.0])
COLUMNS = {"a": A, "b": B, "days past due": A + 1, "größe": B, "if": A}


@dataclass
class Column:
    levels: tuple[object, ...] = ()
    ordered: bool = True


KNOWN = {
    "a": Column(),
    "b": Column(),
    "days past due": Column(),
    "owner": Column(("no", "yes"), ordered=False),
    "grade": Column(("low", "mid", "high")),
    "flag": Column((False, True), ordered=False),
    "code": Column((-1, 0, 2)),
    "word": Column(("then", "if"), ordered=False),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * 2", A + B * 2),
        ("-(a - b) ** 2", -((A - B) ** 2)),
        ("+a", A),
        ("`days past due` / 2", (A + 1) / 2),
        ("größe * 1e3", B * 1000),
        ("`if` + 1", A + 1),
        ("min(a, b, 1)", np.minimum(np.minimum(A, B), 1)),
        ("max(a, 0)", np.maximum(A, 0)),
        ("round(abs(a) / 3)", np.round(np.abs(A) / 3)),
        ("floor(b) + ceil(b) + exp(0) + sqrt(4)", np.floor(B) + np.ceil(B) + 3),
        ("3", np.float64(3)),
    ],
)
def test_an_expression_is_evaluated_as_it_reads(text: str, expected: np.ndarray) -> None:
    np.testing.assert_allclose(Expression.parse(text)(COLUMNS), expected)


def test_what_is_not_defined_is_no_error() -> None:
    assert np.isinf(Expression.parse("a / b")(COLUMNS)[1])
    assert np.isnan(Expression.parse("log(a)")(COLUMNS)[2])


@pytest.mark.parametrize(
    "text",
    [
        *("__import__('os').system('true')", "a.b", "a[0]", "lambda: a", "(a for a in b)", "a if b else 1", "a and b"),
        *("'text'", "True", "a @ b", "a // b", "a % b", "~a", "f(a)", "abs(a, b)", "log(a, b)", "round(a, 2)", "abs()"),
        *("min(*a)", "max(a, key=b)", "a +", "", "a b", "a\0", "1j", "1" + "0" * 400, "1e999", "(" * 500, "a <= b"),
    ],
)
def test_whatever_is_no_plain_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        Expression.parse(text)


def test_evaluating_leaves_the_columns_alone() -> None:
    columns = {"a": A.copy(), "b": B.copy()}
    Expression.parse("min(a, b) + abs(a) - max(a, b)")(columns)
    np.testing.assert_array_equal(columns["a"], A)
    np.testing.assert_array_equal(columns["b"], B)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 * a - b / 4 + 3", ({"a": 2.0, "b": -0.25}, 3.0)),
        ("-(a + a) * 3", ({"a": -6.0}, 0.0)),
        ("a - a", ({"a": 0.0}, 0.0)),
        ("(1 + 2) * 3", ({}, 9.0)),
        ("a * b", None),
        ("1 / a", None),
        ("a / 0", None),
        ("abs(a)", None),
        ("a ** 2", None),
    ],
)
def test_linear_expressions_are_recognised(text: str, expected: object) -> None:
    assert Expression.parse(text).linear() == expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), st.floats(-100, 100), st.floats(-100, 100))
def test_the_weights_of_a_linear_expression_give_its_value(cells: list[float], one: float, two: float) -> None:
    expression = Expression.parse(f"{one!r} * x - (y - {two!r}) / 2 + z")
    columns = {name: np.array([cell]) for name, cell in zip("xyz", cells, strict=True)}
    weights, constant = expression.linear()  # type: ignore[misc]
    total = sum(weight * columns[name][0] for name, weight in weights.items()) + constant
    assert total == pytest.approx(expression(columns)[0], rel=1e-9, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "cells", "holds"),
    [
        ("a <= b", {"a": 1, "b": 1}, True),
        ("a < b", {"a": 1, "b": 1}, False),
        ("a + b = 0.3", {"a": 0.1, "b": 0.2}, True),
        ("a ≠ b", {"a": 1, "b": 2}, True),
        ("a >= b >= 0", {"a": 3, "b": -1}, False),
        ("a ≥ 0 and b ≤ 0", {"a": 3, "b": -1}, True),
        ("owner = yes", {"owner": 1}, True),
        ('owner != "no"', {"owner": 0}, False),
        ("grade >= mid", {"grade": 2}, True),
        ("grade < mid", {"grade": 1}, False),
        ("flag = true", {"flag": 1}, True),
        ("code = -1", {"code": 0}, True),
        ("code = 2", {"code": 1}, False),
    ],
)
def test_a_rule_holds_where_it_says_so(text: str, cells: dict[str, float], holds: bool) -> None:
    condition, consequence = parse_rule(text, KNOWN)
    assert condition is None
    assert consequence({name: np.array([float(cell)]) for name, cell in cells.items()}).tolist() == [holds]


def test_an_implication_is_split_at_its_own_then() -> None:
    condition, consequence = parse_rule("if word = 'then' and owner = no then `days past due` = 0", KNOWN)
    assert condition is not None
    assert condition.names == ("word", "owner")
    assert consequence.names == ("days past due",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a + b", "not a comparison"),
        ("a <= b or b <= a", "not a comparison"),
        ("a in b", "not a comparison"),
        ("not a <= b", "not a comparison"),
        ("c <= 1", "no column 'c'"),
        ("owner <= yes", "not ordered"),
        ("owner = maybe", "not a level of 'owner'"),
        ("a <= grade", "column of levels"),
        ("grade + 1 <= 2", "column of levels"),
        ("grade = a + 1", "compare it with one of them"),
        ("if owner = no then", "cannot be parsed"),
        ("if a <= 1", "`if` needs a `then`"),
    ],
)
def test_a_rule_that_cannot_be_understood_says_why(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        parse_rule(text, KNOWN)


MALFORMED = {
    "no then": ("if ", "`days past due` = 1 and word = 'x' and owner = \"no\" and ", "a = 1"),
    "a mistyped then": ("if ", "`days past due` = 1 and word = 'x' and ", "a = 1 than b = 1"),
    "an open quote": ("if ", "word = 'x' and ", "word = 'y then b = 1"),
    "an open backtick": ("if ", "`days past due` = 1 and ", "`a = 1 then b = 1"),
    "a broken word": ("if ", "`days past due` = 1 and ", "a = 1 the n b = 1"),
    "open parentheses": ("", "(", "a <= b"),
    "closed parentheses": ("a <= b", ")", ""),
    "operators": ("a <= ", "- + ** ", "b"),
    "a long sum": ("a <= ", "b + ", "b"),
    "nested powers": ("a <= ", "b ** ", "b"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_rule_of_any_length_parses_or_fails_in_linear_time(name: str) -> None:
    start, middle, end = MALFORMED[name]
    before = time.perf_counter()
    for length in (10, 100, 1000, 5000):
        with contextlib.suppress(SchemaError):
            parse_rule(start + middle * length + end, KNOWN)
    assert time.perf_counter() - before < 10


PIECES = ["if", "then", "and", "or", "a", "`days past due`", "owner", "yes", "'", '"', "`", "'then'", "=", "<=", "≠"]
PIECES += ["(", ")", "[", "{", ":", ",", "+", "-", "**", "1", "1e999", " ", "\n", "\\", "#", "lambda", "min", "\0", "é"]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)))
def test_any_text_is_a_rule_or_a_schema_error(text: str) -> None:
    try:
        condition, consequence = parse_rule(text, KNOWN)
    except SchemaError:
        return
    names = {*consequence.names, *(condition.names if condition else ())}
    consequence({name: np.zeros(2) for name in names})
