"""What rules say about rows, against a plain evaluation cell by cell in three-valued logic."""

import itertools
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attain.schema import Feature, Rule, Schema
from attain.schema.formulas import And, Comparison, Formula, Implication, Missing, Not, Or, conjuncts, evaluate
from attain.schema.language import parse_rule
from tests import rules
from tests.rules import Truth, conjunction, disjunction, negation

NAN = math.nan
FEATURES = (
    Feature("a", "real", special={-9: "none"}),
    Feature("b c", "real"),
    Feature("owner", "categorical", levels=("no", "yes")),
    Feature("partner", "categorical", levels=("no", "yes")),
    Feature("grade", "ordinal", levels=("low", "mid", "high")),
    Feature("flag", "categorical", levels=(False, True)),
    Feature("code", "ordinal", levels=(-1, 0, 2)),
)
COLUMNS = {feature.name: feature for feature in FEATURES}
NUMBERS = {"a": (NAN, -9.0, 0.0, 1.0, 2.0), "b c": (NAN, 0.0, 1.0, 1.5)}
ROWS = np.array(
    list(itertools.product(*NUMBERS.values(), (NAN, 0, 1), (0, 1), (NAN, 0, 1, 2), (0, 1), (0, 1, 2))), dtype=np.float64
)

Cells = dict[str, float]
Plain = Callable[[Cells], Truth]


def judged(text: str, rows: np.ndarray = ROWS) -> list[Truth]:
    verdicts = evaluate(FEATURES, rows, parse_rule(text, COLUMNS))
    assert verdicts.shape == (len(rows), 1)
    return [{1.0: True, 0.0: None, -1.0: False}[verdict] for verdict in verdicts[:, 0].tolist()]


def cells_of(rows: np.ndarray) -> list[Cells]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows.tolist()]


OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda x, y: x <= y,
    "≥": lambda x, y: x >= y,
    "<": lambda x, y: x < y,
    ">": lambda x, y: x > y,
    "==": lambda x, y: x == y,
    "<>": lambda x, y: x != y,
}
VALUES: list[tuple[str, Callable[[Cells], float], tuple[str, ...]]] = [
    ("a", lambda c: c["a"], ("a",)),
    ("`b c`", lambda c: c["b c"], ("b c",)),
    ("a + 2 * `b c`", lambda c: c["a"] + 2 * c["b c"], ("a", "b c")),
    ("sum(a, `b c`, 1)", lambda c: c["a"] + c["b c"] + 1, ("a", "b c")),
    ("a ** 0", lambda c: c["a"] ** 0, ("a",)),
    ("table(grade, {low: 0, high: 1})", lambda c: {0: 0, 2: 1}.get(c["grade"], NAN), ()),
    ("table(a, {-9: 0, 1: 1.5})", lambda c: {-9: 0, 1: 1.5}.get(c["a"], NAN), ()),
]


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[str, Plain]:
    """A comparison of numbers, and what it says about one row."""
    left, value, used = draw(st.sampled_from(VALUES))
    sign = draw(st.sampled_from(list(OPERATORS)))
    if draw(st.booleans()):
        constant = draw(st.sampled_from((-9, 0, 1, 2)))
        right, other, more = str(constant), lambda c: constant, ()
    else:
        right, other, more = draw(st.sampled_from(VALUES))
    state = left in ("a", "`b c`") and not more and right.lstrip("-").isdigit() and sign in ("==", "<>")

    def plain(cells: Cells) -> Truth:
        numbers = value(cells), other(cells)
        special = not state and any(cells[name] == -9 for name in (*used, *more) if name == "a")
        missing = any(math.isnan(cells[name]) for name in (*used, *more)) or any(map(math.isnan, numbers))
        return None if special or missing else OPERATORS[sign](*numbers)

    return f"{left} {sign} {right}", plain


def level_test(text: str, name: str, holds: Callable[[float], bool]) -> tuple[str, Plain]:
    return text, lambda cells: None if math.isnan(cells[name]) else holds(cells[name])


LEVEL_TESTS = [
    level_test("owner = yes", "owner", lambda x: x == 1),
    level_test('"no" != owner', "owner", lambda x: x != 0),
    level_test("grade >= mid", "grade", lambda x: x >= 1),
    level_test("grade in (low, 'high')", "grade", lambda x: x in (0, 2)),
    level_test("owner not in [no,]", "owner", lambda x: x != 0),
    level_test("low < grade <= high", "grade", lambda x: 0 < x <= 2),
    level_test("a in (-9, 1)", "a", lambda x: x in (-9, 1)),
    level_test("`b c` not in (1.5, 0)", "b c", lambda x: x not in (0, 1.5)),
    ("a is missing", lambda c: math.isnan(c["a"])),
    ("owner = partner", lambda c: None if math.isnan(c["owner"]) else c["owner"] == c["partner"]),
    ("owner is not missing", lambda c: not math.isnan(c["owner"])),
    (
        "owner = table(grade, {low: no, mid: yes})",
        lambda c: None if math.isnan(c["owner"]) or c["grade"] not in (0, 1) else c["owner"] == c["grade"],
    ),
    ("flag = true", lambda c: c["flag"] == 1),
    ("code in (-1, 2)", lambda c: c["code"] in (0, 2)),
]


def compound(parts: st.SearchStrategy[tuple[str, Plain]]) -> st.SearchStrategy[tuple[str, Plain]]:
    several = st.lists(parts, min_size=2, max_size=3)
    return st.one_of(
        several.map(lambda p: (" and ".join(f"({t})" for t, _ in p), lambda c: conjunction([f(c) for _, f in p]))),
        several.map(lambda p: (" or ".join(f"({t})" for t, _ in p), lambda c: disjunction([f(c) for _, f in p]))),
        parts.map(lambda p: (f"not ({p[0]})", lambda c: negation(p[1](c)))),
        st.tuples(parts, parts).map(
            lambda p: (
                f"if ({p[0][0]}) then ({p[1][0]})",
                lambda c: disjunction([negation(p[0][1](c)), p[1][1](c)]),
            )
        ),
    )


FORMULAS = st.recursive(st.one_of(comparisons(), st.sampled_from(LEVEL_TESTS)), compound, max_leaves=6)


@settings(max_examples=60)
@given(FORMULAS, st.randoms(use_true_random=False))
def test_formulas_say_what_three_valued_logic_says(formula: tuple[str, Plain], random: object) -> None:
    text, plain = formula
    rows = ROWS[random.sample(range(len(ROWS)), 100)]  # type: ignore[attr-defined]
    parsed = parse_rule(text, COLUMNS)
    for verdict, cells in zip(judged(text, rows), cells_of(rows), strict=True):
        assert verdict == plain(cells) == rules.truth(parsed, cells, COLUMNS), text


@given(FORMULAS)
def test_a_formula_prints_as_a_rule_that_parses_to_itself(formula: tuple[str, Plain]) -> None:
    parsed = parse_rule(formula[0], COLUMNS)
    assert parse_rule(parsed.text, COLUMNS) == parsed
    assert pickle.loads(pickle.dumps(parsed)) == parsed


def row(**cells: float) -> np.ndarray:
    return np.array([[cells.get(name.replace(" ", "_"), 0.0) for name in COLUMNS]])


@pytest.mark.parametrize(
    ("text", "cells", "truth"),
    [
        ("a <= `b c`", {"a": 1, "b_c": 1}, True),
        ("a < `b c`", {"a": 1, "b_c": 1}, False),
        ("a + `b c` = 0.3", {"a": 0.1, "b_c": 0.2}, True),
        ("a in (0.3, 7)", {"a": 0.1 + 0.2}, True),
        ("a >= `b c` >= 0", {"a": 3, "b_c": -1}, False),
        ("a ≥ 0 and `b c` ≤ 0", {"a": 3, "b_c": -1}, True),
        ("a / `b c` <= 5", {"a": 1, "b_c": 0}, False),  # infinite
        ("a / `b c` <= 5", {"a": 0, "b_c": 0}, None),  # undefined
        ("a / `b c` <= 1 / `b c`", {"a": 1, "b_c": 0}, None),
        ("a >= `b c`", {"a": -9}, None),  # a special code is no number
        ("a = -9", {"a": -9}, True),  # but can be tested for
        ("-9 ≠ a", {"a": -9}, False),
        ("a ** 0 = 1", {"a": NAN}, None),
        ("if a > 1 then `b c` > 1", {"a": NAN, "b_c": 2}, True),
        ("if a > 1 then `b c` > 1", {"a": NAN, "b_c": 0}, None),
    ],
)
def test_a_comparison_is_true_false_or_unknown(text: str, cells: Cells, truth: Truth) -> None:
    assert judged(text, row(**cells)) == [truth]


def shape(formula: Formula) -> object:
    """The kinds of nodes of a formula."""
    if isinstance(formula, And | Or):
        return type(formula), [shape(part) for part in formula.parts]
    if isinstance(formula, Implication):
        return Implication, [shape(formula.condition), shape(formula.consequence)]
    return (Not, [shape(formula.part)]) if isinstance(formula, Not) else type(formula)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1 or a = 2 and a = 3", (Or, [Comparison, (And, [Comparison, Comparison])])),
        ("not a = 1 and a = 2", (And, [(Not, [Comparison]), Comparison])),
        ("not not a = 1", Comparison),
        ("a = 1 and (a = 2 and a = 3)", (And, [Comparison] * 3)),
        ("0 <= a <= 1 and a = 2", (And, [Comparison] * 3)),
        ("a is not missing", (Not, [Missing])),
        ("if a = 1 or a = 2 then a = 3 or a = 4", (Implication, [(Or, [Comparison] * 2)] * 2)),
        ("(if a = 1 then a = 2) and a = 3", (And, [(Implication, [Comparison] * 2), Comparison])),
        ("if (if a = 1 then a = 2) then (if a = 3 then a = 4)", (Implication, [(Implication, [Comparison] * 2)] * 2)),
        ("((a) + (1)) * 2 <= (((`b c`)))", Comparison),
    ],
)
def test_words_bind_as_in_python(text: str, expected: object) -> None:
    formula = parse_rule(text, COLUMNS)
    assert shape(formula) == expected
    assert parse_rule(formula.text, COLUMNS) == formula


def test_parts_that_hold_together() -> None:
    parts = conjuncts(parse_rule("0 <= a <= 1 and owner = no", COLUMNS))
    assert [part.text for part in parts] == ["0 <= a", "a <= 1", "owner = no"]
    assert len(conjuncts(parse_rule("a = 1 or a = 2", COLUMNS))) == 1


def test_names_are_in_the_order_of_their_first_use() -> None:
    text = "if grade in (low) or `b c` is missing then not (owner = yes and a <= `b c`) and a = table(code, {2: 1})"
    assert parse_rule(text, COLUMNS).names == ("grade", "b c", "owner", "a", "code")


def rule(text: str) -> Rule:
    return Schema(FEATURES, (text,)).parsed_rules[0]


def test_a_rule_is_broken_only_where_it_is_certainly_false() -> None:
    rows = np.vstack([row(a=2, b_c=1), row(a=1, b_c=1), row(a=NAN, b_c=1), row(a=-9, b_c=1)])
    assert evaluate(FEATURES, rows, rule("a <= `b c`").formula)[:, 0].tolist() == [-1, 1, 0, 0]


@pytest.mark.parametrize(
    ("text", "name", "others"),
    [
        ("a = 2 * `b c` + 1", "a", ("b c",)),
        ("owner = table(grade, {low: no, mid: yes})", "owner", ("grade",)),
        ("owner = partner", "owner", ("partner",)),
    ],
)
def test_a_rule_that_determines_a_column_says_so(text: str, name: str, others: tuple[str, ...]) -> None:
    found = rule(text).determines
    assert found is not None
    assert (found[0], found[1].names) == (name, others)


@pytest.mark.parametrize(
    "text", ["a = 1", "a <= `b c`", "a = a + 1", "a + 1 = `b c`", "if a = 1 then a = `b c`", "owner = no"]
)
def test_other_rules_determine_nothing(text: str) -> None:
    assert rule(text).determines is None


def test_a_determined_level_is_its_position() -> None:
    found = rule("grade = table(`b c`, {0: high, 1: 'low'})").determines
    assert found is not None
    cells = np.array([[0.0], [1], [2], [NAN]])
    np.testing.assert_array_equal(evaluate([COLUMNS["b c"]], cells, found[1])[:, 0], [2, 0, NAN, NAN])
