"""The language of rules and derived columns.

    debt / income                                       an expression, for a derived column
    revolving + instalment <= total                     a rule that compares numbers
    if owner = no then mortgage = 0                     a rule under a condition
    job in (clerk, "self employed") or 18 <= age <= 65  a rule that joins conditions

The grammar, where […] may be left out and * is any number of times::

    rule        if formula then formula  |  formula
    formula     conjunction (or conjunction)*
    conjunction negation (and negation)*
    negation    [not] test  |  [not] (rule)
    test        value (<= value)*, with any of <= >= < > = ≠, also spelt ≤ ≥ == != <>
                column [not] in (constant, …)  |  column is [not] missing
    value       numbers and columns with + - * / ** and parentheses
                sum(value, …) min(value, …) max(value, …) abs round floor ceil sqrt log exp
                table(column, {constant: constant, …})
    constant    a number or a level

Column names that are not one word go in backticks, and levels that are not one word in quotes; inside, the backtick or
quote itself is written twice. `quoted_name` and `quoted_level` write them so. A word that is compared with a column of
levels is a level of that column, or else a column with the same levels. Text is split into tokens in one pass and each
token is looked at once, so parsing takes linear time. Nothing is executed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Final, NamedTuple, TypeVar

from attain.core.errors import did_you_mean, listed
from attain.schema.feature import Feature, Level
from attain.schema.formulas import (
    FUNCTIONS,
    OF_SEVERAL,
    Among,
    And,
    Comparison,
    Expression,
    Formula,
    Implication,
    Lookup,
    Missing,
    Not,
    Or,
    Step,
)
from attain.schema.tokens import (
    BRACKETS,
    RESERVED,
    Cursor,
    LevelIndex,
    Part,
    Token,
    backticked,
    closing,
    cut,
    quoted_level,
    quoted_name,
)

_OPERATORS: Final = {
    **{sign: sign for sign in ("<=", ">=", "<", ">", "=", "≠")},
    **{"≤": "<=", "≥": ">=", "==": "=", "!=": "≠", "<>": "≠"},
}
_PRECEDENCE: Final = {"+": 1, "-": 1, "*": 2, "/": 2}


def parse_rule(text: str, columns: Mapping[str, Feature]) -> Formula:
    """The formula that `text` describes, or a `SchemaError` that says what cannot be parsed, where, and why."""
    return _Parser(text, columns, "rule").rule()


def parse_expression(text: str, columns: Mapping[str, Feature] | None = None) -> Expression:
    """The expression that `text` describes; without `columns`, its names may be any."""
    return _Parser(text, columns, "expression").expression()


_Item = TypeVar("_Item")


class _Table(NamedTuple):
    """`table(name, {…})`, whose values are numbers, or levels of the column that it is compared with."""

    name: str
    keys: tuple[float, ...]
    values: list[Part]


class _Parser(Cursor):
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, columns: Mapping[str, Feature] | None, kind: str) -> None:
        super().__init__(text, columns, kind)
        self._any_name = columns is None
        self._indexes: dict[str, LevelIndex] = {}

    def rule(self) -> Formula:
        formula = self._formula(self._rule())
        if self._token.kind != "end":
            raise self._unexpected("`and`, `or` or the end")
        return formula

    def expression(self) -> Expression:
        expression = self._expression(self._value())
        if self._token.kind != "end":
            raise self._unexpected("an operation such as `+`, or the end")
        return expression

    # The grammar

    def _rule(self) -> Part:
        start = self._token.start
        if not self._take("if"):
            return self._joined("or", Or, lambda: self._joined("and", And, self._negation))
        condition = self._formula(self._rule_without_if())
        if not self._take("then"):
            raise self._unexpected("`then`, as in `if owner = no then mortgage = 0`")
        consequence = self._formula(self._rule_without_if())
        return self._part(start, Implication(condition, consequence))

    def _rule_without_if(self) -> Part:
        if self._token.text == "if":
            raise self._unexpected("a condition; an `if` inside a rule goes in parentheses")
        return self._rule()

    def _joined(self, word: str, kind: type[And | Or], operand: Callable[[], Part]) -> Part:
        first = operand()
        if self._token.text != word:
            return first
        parts = [self._formula(first)]
        while self._take(word):
            parts.append(self._formula(operand()))
        flat = chain.from_iterable(part.parts if isinstance(part, kind) else (part,) for part in parts)
        return self._part(first.start, kind(tuple(flat)))

    def _negation(self) -> Part:
        start, signs = self._token.start, 0
        while self._take("not"):
            signs += 1
        part = self._test()
        if not signs:
            return part
        formula = self._formula(part)
        return self._part(start, Not(formula) if signs % 2 else formula)

    def _test(self) -> Part:
        first = self._value()
        if self._take("is"):
            return self._missing(first)
        following = self._tokens[self._at + 1].text if self._token.text == "not" else ""
        if self._token.text == "in" or following == "in":
            return self._among(first)
        sides, operators = [first], []
        while self._token.kind == "symbol" and self._token.text in _OPERATORS:
            operators.append(_OPERATORS[self._advance().text])
            sides.append(self._value())
        if not operators:
            return first
        pairs = zip(sides, operators, sides[1:], strict=False)
        comparisons = tuple(self._comparison(left, operator, right) for left, operator, right in pairs)
        return self._part(first.start, comparisons[0] if len(comparisons) == 1 else And(comparisons))

    def _missing(self, subject: Part) -> Part:
        name = self._column(subject, "`is missing` needs a column on its left, as in `income is missing`")
        negated = self._take("not")
        if not self._take("missing"):
            raise self._unexpected("`missing`, as in `income is missing`; to compare, write `=`")
        formula: Formula = Missing(f"{quoted_name(name)} is missing", name)
        return self._part(subject.start, Not(formula) if negated else formula)

    def _among(self, subject: Part) -> Part:
        name = self._column(subject, "`in` needs a column on its left, as in `score in (1, 2)`")
        negated = self._take("not")
        self._advance()
        opened = self._take("(", "[")
        if not opened:
            raise self._unexpected("a list in parentheses, as in `score in (1, 2)`")
        values = tuple(self._constant(part, name) for part in self._listed(self._literal, opened))
        formula: Formula = Among(
            f"{quoted_name(name)} in {self._text[opened.start : self._tokens[self._at - 1].end]}", name, values
        )
        return self._part(subject.start, Not(formula) if negated else formula)

    def _value(self, precedence: int = 1) -> Part:
        """Sums and products, by precedence climbing."""
        left = self._signed()
        while self._token.kind == "symbol" and _PRECEDENCE.get(self._token.text, 0) >= precedence:
            operation = self._advance().text
            steps = self._steps(left)
            steps += self._steps(self._value(_PRECEDENCE[operation] + 1))
            steps.append((operation, 2))
            left = self._part(left.start, steps)
        return left

    def _signed(self) -> Part:
        start, signs = self._token.start, ""
        while sign := self._take("-", "+"):
            signs += sign.text
        part = self._power()
        if not signs:
            return part
        negative = signs.count("-") % 2
        if isinstance(part.content, int | float):
            return self._part(start, -part.content if negative else part.content)
        steps = self._steps(part)
        steps += [("negate", 1)] * negative
        return self._part(start, steps)

    def _power(self) -> Part:
        base = self._primary()
        if not self._take("**"):
            return base
        steps = self._steps(base)
        with self._deeper():
            steps += self._steps(self._signed())
        steps.append(("**", 2))
        return self._part(base.start, steps)

    def _primary(self) -> Part:
        token = self._token
        if token.kind == "number":
            return self._number()
        if token.kind == "word" and self._tokens[self._at + 1].text == "(" and token.text not in RESERVED:
            with self._deeper():
                return self._call()
        if token.kind in ("name", "string") or (token.kind == "word" and token.text not in RESERVED):
            self._advance()
            return Part(token.start, token.end, token)
        if not self._take("("):
            raise self._unexpected("a column, a number or a level")
        with self._deeper():
            inner = self._rule()
        if not self._take(")"):
            raise self._unexpected(closing(token))
        return self._part(token.start, inner.content)

    def _number(self) -> Part:
        token = self._advance()
        value = int(token.text) if token.text.isdecimal() and len(token.text) < 400 else float(token.text)
        if abs(value) > sys.float_info.max:
            raise self._error(token, "the number is too large")
        return Part(token.start, token.end, value)

    def _call(self) -> Part:
        function, opened = self._advance(), self._advance()
        if function.text == "table":
            return self._part(function.start, self._table(opened))
        if function.text not in FUNCTIONS:
            meant = did_you_mean(function.text, {name: f"`{name}`" for name in (*FUNCTIONS, "table")})
            known = f"; the functions are {', '.join(FUNCTIONS)} and table"
            raise self._error(function, f"there is no function `{cut(function.text)}`", meant or known)
        arguments = self._listed(self._value, opened)
        if len(arguments) > 1 and function.text not in OF_SEVERAL:
            raise self._error(function, f"`{function.text}` takes one argument, got {len(arguments)}")
        steps = [step for argument in arguments for step in self._steps(argument)]
        return self._part(function.start, [*steps, (function.text, len(arguments))])

    def _table(self, opened: Token) -> _Table:
        """What follows `table` and its opening parenthesis."""
        form = "as in `table(job, {clerk: 1000, manager: 2000})`"
        name = self._column(self._primary(), f"`table` needs a column first, {form}")
        if not self._take(",") or not (brace := self._take("{")):
            raise self._unexpected(f"`, {{`, {form}")
        entries = self._listed(self._entry, brace)
        if not self._take(")"):
            raise self._unexpected(f"{closing(opened)}, {form}")
        keys = tuple(self._constant(key, name) for key, _ in entries)
        seen: set[float] = set()
        for number, (key, _) in zip(keys, entries, strict=True):
            if number in seen:
                raise self._error(key, "the table has this key twice")
            seen.add(number)
        return _Table(name, keys, [value for _, value in entries])

    def _entry(self) -> tuple[Part, Part]:
        key = self._literal()
        if not self._take(":"):
            raise self._unexpected("`:`, as in `{clerk: 1000, manager: 2000}`")
        return key, self._literal()

    def _literal(self) -> Part:
        """A number, with or without a sign, or a word or quoted text that names a level."""
        start, token = self._token.start, self._token
        sign = self._take("-", "+")
        if self._token.kind == "number":
            number = self._number()
            assert isinstance(number.content, int | float)
            return self._part(start, -number.content if sign and sign.text == "-" else number.content)
        if sign or token.kind not in ("string", "word") or token.text in RESERVED:
            raise self._unexpected("a level or a number")
        self._advance()
        return Part(token.start, token.end, token)

    def _listed(self, item: Callable[[], _Item], opened: Token) -> list[_Item]:
        """At least one item, with commas between them, up to the bracket that closes the opened one."""
        items, end = [item()], BRACKETS[opened.text]
        while not self._take(end):
            if not self._take(","):
                raise self._unexpected(f"`,` or {closing(opened)}")
            if self._take(end):
                break
            items.append(item())
        return items

    # What parts of the text mean

    def _formula(self, part: Part) -> Formula:
        if isinstance(part.content, Formula):
            return part.content
        if self._token.kind != "end" and self._token.text not in (")", "then", "and", "or"):
            raise self._unexpected("a comparison such as `<=`")
        raise self._error(
            part, "this is not a condition; write one like `a <= b`, `x + y <= 1` or `if owner = no then mortgage = 0`"
        )

    def _comparison(self, left: Part, operator: str, right: Part) -> Comparison:
        text = self._text[left.start : right.end].strip()
        for part, other in ((left, right), (right, left)):
            name = self._level_column(part)
            if name is None:
                continue
            if operator not in ("=", "≠") and not self._columns[name].ordered:
                raise self._error(
                    part, f"the levels of {backticked(name)} are not ordered; compare them with `=` or `≠`"
                )
            column, position = Expression(self._span(part), (("column", name),)), self._compared_with(other, name)
            sides = (column, position) if part is left else (position, column)
            return Comparison(text, sides[0], operator, sides[1])
        made = Comparison(text, self._expression(left), operator, self._expression(right))
        if not made.names:
            raise self._error(Part(left.start, right.end, right.content), "a comparison needs a column")
        return made

    def _expression(self, part: Part) -> Expression:
        return Expression(self._span(part), tuple(self._steps(part)))

    def _steps(self, part: Part) -> list[Step]:
        """The steps that compute a number."""
        content = part.content
        if isinstance(content, list):
            return content
        if isinstance(content, int | float):
            return [("number", float(content))]
        if isinstance(content, _Table):
            values = tuple(self._plain_number(value) for value in content.values)
            return [("table", Lookup(content.name, content.keys, values))]
        if not isinstance(content, Token):
            raise self._error(part, "this is a condition, where a number is expected")
        name = self._column(part, "")
        if self._level_column(part):
            advice = (
                f"; compare it with one of its levels ({self._some_levels(name)}), or make it a number with `table`"
            )
            complaint = f"{backticked(name)} is a column of levels, where a number is expected"
            raise self._error(part, complaint, advice if self._kind == "rule" else "")
        return [("column", name)]

    def _plain_number(self, part: Part) -> float:
        if not isinstance(part.content, int | float):
            raise self._error(
                part,
                "expected a number; the values of a table are levels only where a column of levels is compared with "
                "the table alone, as in `education = table(years, {9: basic, 13: college})`",
            )
        return float(part.content)

    def _column(self, part: Part, form: str) -> str:
        """The column that a part names."""
        token = part.content
        if not isinstance(token, Token):
            raise self._error(part, form)
        name = token.content
        known = self._any_name or name in self._columns
        if known and token.kind != "string":
            return name
        if known:
            raise self._error(part, f"column names go in backticks, not in quotes: {backticked(name)}")
        meant = did_you_mean(name, {column: backticked(column) for column in self._columns})
        if token.kind == "string":
            raise self._error(part, "text in quotes is a level, which only a column of levels is compared with", meant)
        columns = f"; the columns are {listed(self._columns)}"
        raise self._error(part, f"there is no column {backticked(cut(name))}", meant or columns)

    def _levels(self, name: str) -> tuple[Level, ...]:
        """The levels of a column; empty for numbers and for unknown columns."""
        return self._columns[name].levels if name in self._columns else ()

    def _level_column(self, part: Part) -> str | None:
        """The column that a part names, if it has levels."""
        name = self._known_column(part)
        return name if name is not None and self._levels(name) else None

    def _known_column(self, part: Part) -> str | None:
        token = part.content
        if not isinstance(token, Token) or token.kind == "string" or token.content not in self._columns:
            return None
        return token.content

    def _compared_with(self, part: Part, name: str) -> Expression:
        """What a column of levels is compared with, by position: a level, a column with the same levels, or a table."""
        content, text = part.content, self._span(part)
        if isinstance(content, _Table):
            values = tuple(self._position(value, name) for value in content.values)
            return Expression(text, (("table", Lookup(content.name, content.keys, values)),))
        if not isinstance(content, Token | int | float):
            raise self._error(part, f"{backticked(name)} is a column of levels; compare it with one of them")
        other = self._known_column(part)
        if other is None or self._found(part, name) is not None:
            return Expression(text, (("number", self._position(part, name)),))
        if self._levels(other) != self._levels(name):
            raise self._error(
                part,
                f"{backticked(other)} does not have the levels of {backticked(name)}; compare {backticked(name)} "
                f"with one of its levels ({self._some_levels(name)}), or with a column that has the same ones",
            )
        return Expression(text, (("column", other),))

    def _constant(self, part: Part, name: str) -> float:
        """A number, or the position of a level of the column."""
        if self._levels(name):
            return self._position(part, name)
        if not isinstance(part.content, int | float):
            raise self._error(part, f"{backticked(name)} is a column of numbers, so a number is expected here")
        return float(part.content)

    def _position(self, part: Part, name: str) -> float:
        """The position of the level that a part names."""
        position = self._found(part, name)
        if position is None:
            if isinstance(part.content, Token) and part.content.kind == "name":
                self._column(part, "")
            word = part.content.content if isinstance(part.content, Token) else self._span(part)
            complaint = f"“{cut(word)}” is not a level of {backticked(name)} ({self._some_levels(name)})"
            written = {str(level): f"`{quoted_level(level)}`" for level in self._levels(name)}
            raise self._error(part, complaint, did_you_mean(word, written))
        return float(position)

    def _found(self, part: Part, name: str) -> int | None:
        if name not in self._indexes:
            self._indexes[name] = LevelIndex(self._levels(name))
        return self._indexes[name].position(part, self._span(part))

    def _some_levels(self, name: str) -> str:
        levels = self._levels(name)
        shown = ", ".join(map(quoted_level, levels[:8]))
        return shown if len(levels) <= 8 else f"{shown} and {len(levels) - 8} more"
