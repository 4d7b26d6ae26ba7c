"""The language of rules: what can be written, what is refused and how, and how long that takes."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.core.errors import SchemaError
from attain.schema import Feature
from attain.schema.formulas import Among, Comparison, Implication, evaluate
from attain.schema.language import parse_expression, parse_rule
from attain.schema.tokens import quoted_level, quoted_name
from tests.counting import Name, calls_of, counted
from tests.schema.columns import FEATURES, parsed

PAGE = (Path(__file__).parents[2] / "docs" / "use" / "rules.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"^\|.*\| (`+) ?([^|]+?) ?\1 \|$", PAGE.partition("| form | meaning | example |")[2], re.MULTILINE
)


@pytest.mark.parametrize("example", [example for _, example in EXAMPLES])
def test_the_examples_on_the_page_are_rules(example: str) -> None:
    formula = parsed(example)
    assert parsed(formula.text) == formula


def test_the_page_has_an_example_of_every_construct() -> None:
    assert len(EXAMPLES) == 17


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("income<=debt", "income ≤ debt"),
        ("income == 1", "income = 1"),
        ("income <> 1", "income != 1"),
        ("income ≠ 1", "income != 1"),
        ("\n  18 <= age\n  <= 65\n", "18 <= age and age <= 65"),
        ("job in (clerk, 'self employed',)", 'job in [clerk, "self employed"]'),
        ("job not in (clerk)", "not job in (clerk)"),
        ("income is not missing", "not (income is missing)"),
        ("`income` <= (debt)", "income <= debt"),
        ("score in (-1, +2, 3.)", "score in (-1, 2, 3)"),
        ("digits = 1", "digits = '1'"),
        ("word ≠ 1", 'word ≠ "1"'),
    ],
)
def test_a_rule_can_be_spelt_in_several_ways(text: str, same: str) -> None:
    assert parsed(text) == parsed(same)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("word = 'then'", 0),
        ('word = "if"', 1),
        ("word = true", 2),
        ("mixed = true", 0),
        ("mixed = TRUE", 0),
        ("mixed = 'true'", 1),
        ("mixed = False", 2),
        ("mixed = 2", 3),
        ("mixed = 2.0", 3),
        ("mixed = -0.5", 4),
        ("mixed = '2'", 5),
        ('mixed = "it\'s"', 6),
        ("mixed = 'it''s'", 6),
    ],
)
def test_a_level_is_found_by_its_value_and_kind(text: str, position: int) -> None:
    formula = parsed(text)
    assert isinstance(formula, Comparison)
    assert formula.right.linear() == ({}, position)


def test_an_implication_is_split_at_its_own_then() -> None:
    formula = parsed("if word = 'then' and owner = no then `days past due` = 0")
    assert isinstance(formula, Implication)
    assert formula.condition.names == ("word", "owner")
    assert formula.consequence.names == ("days past due",)


names = st.text(min_size=1)
levels = st.one_of(
    st.text(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.one_of(names, st.sampled_from(("if", "then", "missing", "sum", "table", "a`b", "``", "1a", "größe"))))
def test_a_quoted_name_is_read_as_the_name(name: str) -> None:
    assert parse_expression(quoted_name(name)).column == name
    assert parse_expression(f"2*{quoted_name(name)}+{quoted_name(name)}").names == (name,)


@given(st.lists(levels, min_size=1, unique=True), st.data())
def test_a_quoted_level_is_read_as_the_level(known: list[str | bool | int | float], data: st.DataObject) -> None:
    position = data.draw(st.sampled_from(range(len(known))))
    columns = {"x": Feature("x", "categorical", levels=tuple(known))}
    written = quoted_level(known[position])
    for text in (f"x={written}", f"x in ({written})", f"x = table(x, {{{written}: {written}}})"):
        formula = parse_rule(text, columns)
        rows = np.arange(len(known), dtype=np.float64)[:, None]
        assert np.flatnonzero(evaluate([*columns.values()], rows, formula) == 1).tolist() == [position]


def test_plain_words_are_not_quoted() -> None:
    assert list(map(quoted_name, ("income", "days past due", "a`b"))) == ["income", "`days past due`", "`a``b`"]
    levels = ("yes", True, "true", '5" disk', np.int64(3), -0.5, "")
    assert list(map(quoted_level, levels)) == ["yes", "true", '"true"', '"5"" disk"', "3", "-0.5", '""']


LONG = {
    "no then": ("if ", "`days past due` = 1 and word = 'x' and owner = \"no\" and ", "debt = 1"),
    "a mistyped then": ("if ", "`days past due` = 1 and word = 'if' and ", "debt = 1 than age = 1"),
    "an open quote": ("if ", "word = 'if' and ", "word = 'y then age = 1"),
    "doubled quotes": ("if word = '", "''", " then age = 1"),
    "an open backtick": ("if ", "`days past due` = 1 and ", "`debt = 1 then age = 1"),
    "a broken word": ("if ", "`days past due` = 1 and ", "debt = 1 the n age = 1"),
    "one long word": ("debt <= ", "x", ""),
    "digits": ("debt <= ", "1", "x"),
    "open parentheses": ("", "(", "debt <= age"),
    "closed parentheses": ("debt <= age", ")", ""),
    "nested parentheses": ("", "(debt + ", "age <= 1"),
    "signs": ("debt <= ", "- +", "age"),
    "operators": ("debt <= ", "- + ** ", "age"),
    "a long sum": ("debt <= ", "age + ", "age"),
    "many arguments": ("debt <= sum(", "age, ", "age)"),
    "nested powers": ("debt <= ", "age ** ", "age"),
    "not": ("", "not ", "debt <= age"),
    "or": ("", "debt = 1 and age = 2 or ", "not debt <= age"),
    "implications": ("", "(if debt = 1 then age = 2) and ", "debt <= age"),
    "a chain": ("", "0 <= ", "debt"),
    "a list": ("score in (", "1, ", "2)"),
    "a list of levels": ("job in (", "clerk, 'self employed', ", "manager)"),
    "lists": ("", "score in (1, 2) or job not in (clerk) and ", "debt is missing"),
    "a list without end": ("score in (", "1, ", "x"),
    "tables": ("debt <= ", "table(job, {clerk: 1, manager: 2}) + ", "1"),
}


@pytest.mark.parametrize("name", LONG)
def test_a_rule_of_any_length_parses_or_fails_in_linear_time(name: str) -> None:
    start, middle, end = LONG[name]

    def parse(length: int) -> None:
        with contextlib.suppress(SchemaError):
            parsed(start + middle * length + end)

    parse(10)
    assert calls_of(lambda: parse(5000)) < 5.5 * calls_of(lambda: parse(1000))


def test_a_table_of_a_thousand_levels_is_read_in_linear_time() -> None:
    levels = tuple(Name(f"level {k}") for k in range(1000))
    columns = {name: Feature(name, "categorical", levels=levels) for name in ("x", "y")}
    Name.compared = 0
    entries = ", ".join(f"{quoted_level(level)}: {quoted_level(level)}" for level in levels)
    with counted() as calls:
        formula = parse_rule(f"x = table(y, {{{entries}}})", columns)
        listed = parse_rule(f"x in ({', '.join(map(quoted_level, levels))})", columns)
    assert Name.compared < 10 * len(levels)
    assert calls.number < 500 * len(levels)
    assert isinstance(listed, Among)
    rows = np.repeat(np.arange(1000.0), 2).reshape(-1, 2)
    features = [*columns.values()]
    assert (evaluate(features, rows, formula) == 1).all()
    assert (evaluate(features, rows + np.array([0, 1]), formula)[:-1] == -1).all()


PIECES = ["if", "then", "and", "or", "not", "in", "is", "missing", "debt", "`days past due`", "owner", "yes", "job"]
PIECES += ["'", '"', "`", "'then'", "''", "=", "<=", "≠", "=>", "(", ")", "[", "]", "{", "}", ":", ",", "+", "-", "**"]
PIECES += ["1", "1e999", " ", "\n", "\\", "#", "lambda", "min", "sum(", "table(", "table(job, {clerk: 1})", "\0", "²"]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)))
def test_any_text_is_a_rule_or_a_schema_error(text: str) -> None:
    try:
        formula = parsed(text)
    except SchemaError:
        return
    assert parsed(formula.text) == formula
    assert set(evaluate(FEATURES, np.zeros((2, len(FEATURES))), formula).ravel()) <= {1, 0, -1}
