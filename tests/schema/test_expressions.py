"""Values that are computed from columns, against NumPy's own arithmetic."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.core.errors import SchemaError
from attain.schema import Feature
from attain.schema.formulas import Expression, evaluate
from attain.schema.language import parse_expression

A, B = np.array([1.0, 4.0, -2.0]), np.array([0.5, 0.0, 3.0])
COLUMNS = {"a": A, "b": B, "days past due": A + 1, "größe": B, "if": A, "min": B}


def computed(expression: Expression | str, columns: dict[str, np.ndarray] = COLUMNS) -> np.ndarray:
    parsed = parse_expression(expression) if isinstance(expression, str) else expression
    rows = np.stack([np.asarray(cells, dtype=np.float64) for cells in columns.values()], axis=1)
    return evaluate([Feature(name, "real") for name in columns], rows, parsed)[:, 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * 2", A + B * 2),
        ("a - b - 1", A - B - 1),
        ("a / 2 / 4 * b", A / 2 / 4 * B),
        ("-(a - b) ** 2", -((A - B) ** 2)),
        ("2 ** 3 ** 2 * a", 2**3**2 * A),
        ("a ** -1", A**-1),
        ("- -+-a", -A),
        ("+a", A),
        ("`days past due` / 2", (A + 1) / 2),
        ("größe * 1e3", B * 1000),
        ("`if` + 1", A + 1),
        ("min + .5", B + 0.5),
        ("min(a, b, 1)", np.minimum(np.minimum(A, B), 1)),
        ("max(a, 0)", np.maximum(A, 0)),
        ("sum(a, b, 2 * a) - sum(b)", 3 * A),
        ("round(abs(a) / 3)", np.round(np.abs(A) / 3)),
        ("floor(b) + ceil(b) + exp(0) + sqrt(4)", np.floor(B) + np.ceil(B) + 3),
        ("table(a, {1: 10, -2: 0.5})", [10, math.nan, 0.5]),
        ("1 + table(b, {0.5: -1, 3: 2, 0: 7,})", [0, 8, 3]),
        ("3", np.float64(3)),
    ],
)
def test_an_expression_is_evaluated_as_it_reads(text: str, expected: np.ndarray) -> None:
    np.testing.assert_allclose(computed(text), np.broadcast_to(expected, 3))


def test_what_is_not_defined_is_no_error() -> None:
    assert np.isinf(computed("a / b")[1])
    assert np.isnan(computed("log(a)")[2])


@pytest.mark.parametrize(
    "text",
    [
        *("__import__('os').system('true')", "a.b", "a[0]", "lambda: a", "(a for a in b)", "a if b else 1", "a and b"),
        *("'text'", "a @ b", "a // b", "a % b", "~a", "f(a)", "abs(a, b)", "log(a, b)", "round(a, 2)", "abs()"),
        *("min(*a)", "max(a, key=b)", "a +", "", "a b", "a\0", "1j", "1" + "0" * 400, "1e999", "(" * 500, "a <= b"),
        *(
            "table(a)",
            "table(a, {})",
            "table(a, {1})",
            "table(a, {1: x})",
            "table(a, {x: 1})",
            "table(a, {1: 2, 1: 3})",
        ),
    ],
)
def test_whatever_is_no_plain_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_expression(text)


def test_evaluating_leaves_the_rows_alone() -> None:
    rows = np.stack([A, B], axis=1)
    text = "min(a, b) + abs(a) - max(a, b) + sum(a, b) - -a"
    evaluate([Feature("a", "real"), Feature("b", "real")], rows, parse_expression(text))
    np.testing.assert_array_equal(rows, np.stack([A, B], axis=1))


def test_a_table_of_levels_is_by_position() -> None:
    columns = {"job": Feature("job", "categorical", levels=("manager", "clerk", "none"))}
    expression = parse_expression("2 * table(job, {clerk: 1000, manager: 2000})", columns)
    np.testing.assert_array_equal(
        computed(expression, {"job": np.array([1, 0, 2, math.nan])}), [2000, 4000, math.nan, math.nan]
    )
    assert expression.names == ("job",)
    assert expression.numbers == ()


@given(st.dictionaries(st.integers(-50, 50), st.floats(-1e6, 1e6), min_size=1), st.lists(st.integers(-60, 60)))
def test_a_table_gives_what_a_dictionary_gives(entries: dict[int, float], cells: list[int]) -> None:
    expression = parse_expression(f"table(a, {entries})")
    found = computed(expression, {"a": np.array(cells)})
    np.testing.assert_array_equal(found, np.array([entries.get(cell, math.nan) for cell in cells]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 * a - b / 4 + 3", ({"a": 2.0, "b": -0.25}, 3.0)),
        ("-(a + a) * 3", ({"a": -6.0}, 0.0)),
        ("sum(a, 2 * b, a, 1)", ({"a": 2.0, "b": 2.0}, 1.0)),
        ("a - a", ({"a": 0.0}, 0.0)),
        ("(1 + 2) * 3", ({}, 9.0)),
        ("a * b", None),
        ("1 / a", None),
        ("a / 0", None),
        ("abs(a)", None),
        ("a ** 2", None),
        ("table(a, {1: 2})", None),
    ],
)
def test_linear_expressions_are_recognised(text: str, expected: object) -> None:
    assert parse_expression(text).linear() == expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), st.floats(-100, 100), st.floats(-100, 100))
def test_the_weights_of_a_linear_expression_give_its_value(cells: list[float], one: float, two: float) -> None:
    expression = parse_expression(f"{one!r} * x - sum(y, -{two!r}) / 2 + z")
    columns = {name: np.array([cell]) for name, cell in zip("xyz", cells, strict=True)}
    weights, constant = expression.linear()  # type: ignore[misc]
    total = sum(weight * columns[name][0] for name, weight in weights.items()) + constant
    assert total == pytest.approx(computed(expression, columns)[0], rel=1e-9, abs=1e-3)


def test_a_long_expression_is_evaluated_and_pickled() -> None:
    expression = parse_expression("a" + " + a - b" * 5000)
    np.testing.assert_allclose(computed(expression), A + 5000 * (A - B))
    assert expression.linear() == ({"a": 5001.0, "b": -5000.0}, 0.0)
    assert pickle.loads(pickle.dumps(expression)) == expression


def test_expressions_are_equal_whatever_their_spacing() -> None:
    assert parse_expression("a+(b)") == parse_expression(" a + b ")
    assert hash(parse_expression("a+(b)")) == hash(parse_expression(" a + b "))
    assert parse_expression(" a + `b c` ").text == "a + `b c`"


def test_a_lone_column_is_recognised() -> None:
    assert parse_expression("(`days past due`)").column == "days past due"
    assert parse_expression("-a").column is None
    assert parse_expression("1").column is None
    assert isinstance(parse_expression("1"), Expression)
