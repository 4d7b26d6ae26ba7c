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

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Final, NamedTuple, TypeAlias, TypeVar

from attain.core.arrays import as_python
from attain.core.errors import SchemaError, did_you_mean, listed
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

_RESERVED: Final = ("if", "then", "and", "or", "not", "in", "is")
"""Words that cannot be a column or a level without backticks or quotes."""
_KEYWORDS: Final = (*_RESERVED, "missing", "true", "false")
_OPERATORS: Final = {
    **{sign: sign for sign in ("<=", ">=", "<", ">", "=", "≠")},
    **{"≤": "<=", "≥": ">=", "==": "=", "!=": "≠", "<>": "≠"},
}
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}
_PRECEDENCE: Final = {"+": 1, "-": 1, "*": 2, "/": 2}
_ADVICE: Final = {
    **dict.fromkeys(("&", "&&"), "write `and`"),
    **dict.fromkeys(("|", "||"), "write `or`"),
    "!": "write `not`, or `≠` to compare",
    "~": "write `not`",
    "=>": "did you mean `>=`, or `if … then …`?",
    "->": "did you mean `if … then …`?",
    "=<": "did you mean `<=`?",
    "^": "write `**` for a power",
    "//": "write `floor(a / b)`",
    "%": "there is no remainder; write `a - b * floor(a / b)`",
    **dict.fromkeys(("×", "·"), "write `*`"),
    "÷": "write `/`",
    "−": "write `-`",
    "between": "write a range as `18 <= age <= 65`",
    "else": "write a second rule for the other case, with `not` before its condition",
    "then": "`then` needs an `if` before its condition",
    **dict.fromkeys("'\"", "a quote is not closed"),
    "`": "a backtick is not closed, or there is no name in it",
    "[": "only `in` takes a list, as in `score in [1, 2]`",
    "{": "only `table` takes braces, as in `table(job, {clerk: 1000, manager: 2000})`",
}
_MAX_DEPTH: Final = 40
"""The largest number of parentheses inside each other: the parser is recursive, and Python's stack has a limit."""

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^']|'')*+'|"(?:[^"]|"")*+")
    |(?P<name>`(?:[^`]|``)++`)
    |(?P<number>(?>[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?+(?!\w))
    |(?P<word>[^\W0-9]\w*)
    |(?P<neither>\w+)
    |(?P<symbol><=|>=|==|!=|<>|=>|=<|->|&&|\|\||\*\*|//|.)""",
    re.DOTALL | re.VERBOSE,
)
_WORD: Final = re.compile(r"[^\W0-9]\w*")


def quoted_name(name: str) -> str:
    """A column name as rules write it: in backticks unless it is one word; a backtick in it is written twice."""
    return name if _WORD.fullmatch(name) and name.lower() not in _KEYWORDS else _backticked(name)


def quoted_level(level: Level) -> str:
    """A level as rules write it: text in quotes unless it is one word; a quote in it is written twice."""
    level = as_python(level)
    if isinstance(level, bool):
        return "true" if level else "false"
    if not isinstance(level, str):
        return repr(level)
    plain = _WORD.fullmatch(level) and level.lower() not in _KEYWORDS
    return level if plain else '"' + level.replace('"', '""') + '"'


def parse_rule(text: str, columns: Mapping[str, Feature]) -> Formula:
    """The formula that `text` describes, or a `SchemaError` that says what cannot be parsed, where, and why."""
    return _Parser(text, columns, "rule").rule()


def parse_expression(text: str, columns: Mapping[str, Feature] | None = None) -> Expression:
    """The expression that `text` describes; without `columns`, its names may be any."""
    return _Parser(text, columns, "expression").expression()


_Item = TypeVar("_Item")


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def content(self) -> str:
        """The text without its backticks or quotes."""
        if self.kind not in ("name", "string"):
            return self.text
        return self.text[1:-1].replace(self.text[0] * 2, self.text[0])


def _tokens(text: str) -> list[_Token]:
    found = [_Token(str(match.lastgroup), match[0], match.start()) for match in _TOKEN.finditer(text)]
    return [*(token for token in found if token.kind != "space"), _Token("end", "", len(text))]


class _Table(NamedTuple):
    """`table(name, {…})`, whose values are numbers, or levels of the column that it is compared with."""

    name: str
    keys: tuple[float, ...]
    values: list[_Part]


_Content: TypeAlias = "_Token | int | float | _Table | list[Step] | Formula"
"""A word, name or quoted text that may be a column or a level; a number that may be a level; a table; the steps of an
expression; or a formula."""


class _Part(NamedTuple):
    """A part of the text, from `start` to `end`, and what it is."""

    start: int
    end: int
    content: _Content


class _LevelIndex:
    """The positions of a column's levels: by level, and for those that are not text by their text."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        self._by_level = {level: k for k, level in enumerate(levels)}
        self._by_text = {str(level).lower(): k for k, level in enumerate(levels) if not isinstance(level, str)}

    def position(self, part: _Part, text: str) -> int | None:
        """The position of the level that a part of the text names, such as `yes`, `"self employed"`, `true` or `1`."""
        content = part.content
        if isinstance(content, int | float):
            return self._by_level.get(content, self._by_level.get(text))
        if not isinstance(content, _Token) or content.kind == "name":
            return None
        exact, loose = self._by_level.get(content.content), self._by_text.get(content.content.lower())
        first, second = (exact, loose) if content.kind == "string" else (loose, exact)
        return second if first is None else first


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, columns: Mapping[str, Feature] | None, kind: str) -> None:
        self._text, self._kind = text, kind
        self._columns, self._any_name = columns or {}, columns is None
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0
        self._indexes: dict[str, _LevelIndex] = {}

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

    def _rule(self) -> _Part:
        start = self._token.start
        if not self._take("if"):
            return self._joined("or", Or, lambda: self._joined("and", And, self._negation))
        condition = self._formula(self._rule_without_if())
        if not self._take("then"):
            raise self._unexpected("`then`, as in `if owner = no then mortgage = 0`")
        consequence = self._formula(self._rule_without_if())
        return self._part(start, Implication(condition, consequence))

    def _rule_without_if(self) -> _Part:
        if self._token.text == "if":
            raise self._unexpected("a condition; an `if` inside a rule goes in parentheses")
        return self._rule()

    def _joined(self, word: str, kind: type[And | Or], operand: Callable[[], _Part]) -> _Part:
        first = operand()
        if self._token.text != word:
            return first
        parts = [self._formula(first)]
        while self._take(word):
            parts.append(self._formula(operand()))
        flat = chain.from_iterable(part.parts if isinstance(part, kind) else (part,) for part in parts)
        return self._part(first.start, kind(tuple(flat)))

    def _negation(self) -> _Part:
        start, signs = self._token.start, 0
        while self._take("not"):
            signs += 1
        part = self._test()
        if not signs:
            return part
        formula = self._formula(part)
        return self._part(start, Not(formula) if signs % 2 else formula)

    def _test(self) -> _Part:
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

    def _missing(self, subject: _Part) -> _Part:
        name = self._column(subject, "`is missing` needs a column on its left, as in `income is missing`")
        negated = self._take("not")
        if not self._take("missing"):
            raise self._unexpected("`missing`, as in `income is missing`; to compare, write `=`")
        formula: Formula = Missing(f"{quoted_name(name)} is missing", name)
        return self._part(subject.start, Not(formula) if negated else formula)

    def _among(self, subject: _Part) -> _Part:
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

    def _value(self, precedence: int = 1) -> _Part:
        """Sums and products, by precedence climbing."""
        left = self._signed()
        while self._token.kind == "symbol" and _PRECEDENCE.get(self._token.text, 0) >= precedence:
            operation = self._advance().text
            steps = self._steps(left)
            steps += self._steps(self._value(_PRECEDENCE[operation] + 1))
            steps.append((operation, 2))
            left = self._part(left.start, steps)
        return left

    def _signed(self) -> _Part:
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

    def _power(self) -> _Part:
        base = self._primary()
        if not self._take("**"):
            return base
        steps = self._steps(base)
        with self._deeper():
            steps += self._steps(self._signed())
        steps.append(("**", 2))
        return self._part(base.start, steps)

    def _primary(self) -> _Part:
        token = self._token
        if token.kind == "number":
            return self._number()
        if token.kind == "word" and self._tokens[self._at + 1].text == "(" and token.text not in _RESERVED:
            with self._deeper():
                return self._call()
        if token.kind in ("name", "string") or (token.kind == "word" and token.text not in _RESERVED):
            self._advance()
            return _Part(token.start, token.end, token)
        if not self._take("("):
            raise self._unexpected("a column, a number or a level")
        with self._deeper():
            inner = self._rule()
        if not self._take(")"):
            raise self._unexpected(_closing(token))
        return self._part(token.start, inner.content)

    def _number(self) -> _Part:
        token = self._advance()
        value = int(token.text) if token.text.isdecimal() and len(token.text) < 400 else float(token.text)
        if abs(value) > sys.float_info.max:
            raise self._error(token, "the number is too large")
        return _Part(token.start, token.end, value)

    def _call(self) -> _Part:
        function, opened = self._advance(), self._advance()
        if function.text == "table":
            return self._part(function.start, self._table(opened))
        if function.text not in FUNCTIONS:
            meant = did_you_mean(function.text, {name: f"`{name}`" for name in (*FUNCTIONS, "table")})
            known = f"; the functions are {', '.join(FUNCTIONS)} and table"
            raise self._error(function, f"there is no function `{_cut(function.text)}`", meant or known)
        arguments = self._listed(self._value, opened)
        if len(arguments) > 1 and function.text not in OF_SEVERAL:
            raise self._error(function, f"`{function.text}` takes one argument, got {len(arguments)}")
        steps = [step for argument in arguments for step in self._steps(argument)]
        return self._part(function.start, [*steps, (function.text, len(arguments))])

    def _table(self, opened: _Token) -> _Table:
        """What follows `table` and its opening parenthesis."""
        form = "as in `table(job, {clerk: 1000, manager: 2000})`"
        name = self._column(self._primary(), f"`table` needs a column first, {form}")
        if not self._take(",") or not (brace := self._take("{")):
            raise self._unexpected(f"`, {{`, {form}")
        entries = self._listed(self._entry, brace)
        if not self._take(")"):
            raise self._unexpected(f"{_closing(opened)}, {form}")
        keys = tuple(self._constant(key, name) for key, _ in entries)
        seen: set[float] = set()
        for number, (key, _) in zip(keys, entries, strict=True):
            if number in seen:
                raise self._error(key, "the table has this key twice")
            seen.add(number)
        return _Table(name, keys, [value for _, value in entries])

    def _entry(self) -> tuple[_Part, _Part]:
        key = self._literal()
        if not self._take(":"):
            raise self._unexpected("`:`, as in `{clerk: 1000, manager: 2000}`")
        return key, self._literal()

    def _literal(self) -> _Part:
        """A number, with or without a sign, or a word or quoted text that names a level."""
        start, token = self._token.start, self._token
        sign = self._take("-", "+")
        if self._token.kind == "number":
            number = self._number()
            assert isinstance(number.content, int | float)
            return self._part(start, -number.content if sign and sign.text == "-" else number.content)
        if sign or token.kind not in ("string", "word") or token.text in _RESERVED:
            raise self._unexpected("a level or a number")
        self._advance()
        return _Part(token.start, token.end, token)

    def _listed(self, item: Callable[[], _Item], opened: _Token) -> list[_Item]:
        """At least one item, with commas between them, up to the bracket that closes the opened one."""
        items, closing = [item()], _BRACKETS[opened.text]
        while not self._take(closing):
            if not self._take(","):
                raise self._unexpected(f"`,` or {_closing(opened)}")
            if self._take(closing):
                break
            items.append(item())
        return items

    # What parts of the text mean

    def _formula(self, part: _Part) -> Formula:
        if isinstance(part.content, Formula):
            return part.content
        if self._token.kind != "end" and self._token.text not in (")", "then", "and", "or"):
            raise self._unexpected("a comparison such as `<=`")
        raise self._error(
            part, "this is not a condition; write one like `a <= b`, `x + y <= 1` or `if owner = no then mortgage = 0`"
        )

    def _comparison(self, left: _Part, operator: str, right: _Part) -> Comparison:
        text = self._text[left.start : right.end].strip()
        for part, other in ((left, right), (right, left)):
            name = self._level_column(part)
            if name is None:
                continue
            if operator not in ("=", "≠") and not self._columns[name].ordered:
                raise self._error(
                    part, f"the levels of {_backticked(name)} are not ordered; compare them with `=` or `≠`"
                )
            column, position = Expression(self._span(part), (("column", name),)), self._compared_with(other, name)
            sides = (column, position) if part is left else (position, column)
            return Comparison(text, sides[0], operator, sides[1])
        made = Comparison(text, self._expression(left), operator, self._expression(right))
        if not made.names:
            raise self._error(_Part(left.start, right.end, right.content), "a comparison needs a column")
        return made

    def _expression(self, part: _Part) -> Expression:
        return Expression(self._span(part), tuple(self._steps(part)))

    def _steps(self, part: _Part) -> list[Step]:
        """The steps that compute a number."""
        content = part.content
        if isinstance(content, list):
            return content
        if isinstance(content, int | float):
            return [("number", float(content))]
        if isinstance(content, _Table):
            values = tuple(self._plain_number(value) for value in content.values)
            return [("table", Lookup(content.name, content.keys, values))]
        if not isinstance(content, _Token):
            raise self._error(part, "this is a condition, where a number is expected")
        name = self._column(part, "")
        if self._level_column(part):
            advice = (
                f"; compare it with one of its levels ({self._some_levels(name)}), or make it a number with `table`"
            )
            complaint = f"{_backticked(name)} is a column of levels, where a number is expected"
            raise self._error(part, complaint, advice if self._kind == "rule" else "")
        return [("column", name)]

    def _plain_number(self, part: _Part) -> float:
        if not isinstance(part.content, int | float):
            raise self._error(
                part,
                "expected a number; the values of a table are levels only where a column of levels is compared with "
                "the table alone, as in `education = table(years, {9: basic, 13: college})`",
            )
        return float(part.content)

    def _column(self, part: _Part, form: str) -> str:
        """The name of the column that a part is."""
        token = part.content
        if not isinstance(token, _Token):
            raise self._error(part, form)
        name = token.content
        known = self._any_name or name in self._columns
        if known and token.kind != "string":
            return name
        if known:
            raise self._error(part, f"column names go in backticks, not in quotes: {_backticked(name)}")
        meant = did_you_mean(name, {column: _backticked(column) for column in self._columns})
        if token.kind == "string":
            raise self._error(part, "text in quotes is a level, which only a column of levels is compared with", meant)
        columns = f"; the columns are {listed(self._columns)}"
        raise self._error(part, f"there is no column {_backticked(_cut(name))}", meant or columns)

    def _levels(self, name: str) -> tuple[Level, ...]:
        """The levels of a column; none for one of numbers, or one about which nothing is known."""
        return self._columns[name].levels if name in self._columns else ()

    def _level_column(self, part: _Part) -> str | None:
        """The name of the column of levels that a part is, if it is one."""
        name = self._known_column(part)
        return name if name is not None and self._levels(name) else None

    def _known_column(self, part: _Part) -> str | None:
        token = part.content
        if not isinstance(token, _Token) or token.kind == "string" or token.content not in self._columns:
            return None
        return token.content

    def _compared_with(self, part: _Part, name: str) -> Expression:
        """What a column of levels is compared with, by position: a level, a column with the same levels, or a table."""
        content, text = part.content, self._span(part)
        if isinstance(content, _Table):
            values = tuple(self._position(value, name) for value in content.values)
            return Expression(text, (("table", Lookup(content.name, content.keys, values)),))
        if not isinstance(content, _Token | int | float):
            raise self._error(part, f"{_backticked(name)} is a column of levels; compare it with one of them")
        other = self._known_column(part)
        if other is None or self._found(part, name) is not None:
            return Expression(text, (("number", self._position(part, name)),))
        if self._levels(other) != self._levels(name):
            raise self._error(
                part,
                f"{_backticked(other)} does not have the levels of {_backticked(name)}; compare {_backticked(name)} "
                f"with one of its levels ({self._some_levels(name)}), or with a column that has the same ones",
            )
        return Expression(text, (("column", other),))

    def _constant(self, part: _Part, name: str) -> float:
        """A number, or the position of a level of the column."""
        if self._levels(name):
            return self._position(part, name)
        if not isinstance(part.content, int | float):
            raise self._error(part, f"{_backticked(name)} is a column of numbers, so a number is expected here")
        return float(part.content)

    def _position(self, part: _Part, name: str) -> float:
        """The position of the level that a part names."""
        position = self._found(part, name)
        if position is None:
            if isinstance(part.content, _Token) and part.content.kind == "name":
                self._column(part, "")
            word = part.content.content if isinstance(part.content, _Token) else self._span(part)
            complaint = f"“{_cut(word)}” is not a level of {_backticked(name)} ({self._some_levels(name)})"
            written = {str(level): f"`{quoted_level(level)}`" for level in self._levels(name)}
            raise self._error(part, complaint, did_you_mean(word, written))
        return float(position)

    def _found(self, part: _Part, name: str) -> int | None:
        if name not in self._indexes:
            self._indexes[name] = _LevelIndex(self._levels(name))
        return self._indexes[name].position(part, self._span(part))

    def _some_levels(self, name: str) -> str:
        levels = self._levels(name)
        shown = ", ".join(map(quoted_level, levels[:8]))
        return shown if len(levels) <= 8 else f"{shown} and {len(levels) - 8} more"

    # The cursor

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at]

    def _advance(self) -> _Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, *texts: str) -> _Token | None:
        """The current token, and on to the next, if it is one of these words or symbols."""
        return self._advance() if self._token.text in texts else None

    def _part(self, start: int, content: _Content) -> _Part:
        """The text from `start` to the end of the token that was read last."""
        return _Part(start, self._tokens[self._at - 1].end, content)

    def _span(self, part: _Part) -> str:
        return self._text[part.start : part.end]

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(self._token, f"more than {_MAX_DEPTH} parentheses, functions or powers inside each other")
        yield
        self._depth -= 1

    # What cannot be parsed

    def _unexpected(self, expected: str) -> SchemaError:
        """The error for a current token that cannot stand where it is."""
        token = self._token
        before = self._tokens[self._at - 1].text if self._at else ""
        advice = ""
        if token.kind == "neither":
            advice = "; this is neither a number nor a name"
        elif token.text.lower() in _ADVICE and not (token.text == "then" and self._tokens[0].text == "if"):
            advice = f"; {_ADVICE[token.text.lower()]}"
        elif before.lower() in _RESERVED and before not in _RESERVED:
            advice = f"; did you mean `{before.lower()}` instead of `{before}`?"
        elif token.kind == "word" and token.text not in _RESERVED:
            advice = did_you_mean(token.text, {word: f"`{word}`" for word in _RESERVED})
        return self._error(token, f"expected {expected}", advice)

    def _error(self, at: _Token | _Part, complaint: str, advice: str = "") -> SchemaError:
        start, end = at.start, at.end
        if not self._text.strip():
            return SchemaError(f"the {self._kind} is empty; write one like {_EXAMPLES[self._kind]}")
        where = f"at “{_cut(self._text[start:end])}” (character {start + 1})" if start < end else "at the end"
        shown = _cut(self._text, around=start, most=200)
        return SchemaError(f"in the {self._kind} “{shown}”, {where}: {complaint}{self._unquoted(start) or advice}")

    def _unquoted(self, at: int) -> str:
        """Advice where the text around a position is a column name or level that lacks its backticks or quotes."""
        levels = (level for column in self._columns.values() for level in column.levels if isinstance(level, str))
        candidates = [(name, quoted_name(name), "column name", "backticks") for name in self._columns]
        candidates += [(level, quoted_level(level), "level", "quotes") for level in levels]
        ends = {token.end for token in self._tokens}
        starts = [token.start for token in self._tokens if token.start <= at and token.kind not in ("name", "string")]
        for plain, written, what, marks in sorted(candidates, key=lambda candidate: -len(candidate[0])):
            if written == plain or plain.lower() in _KEYWORDS:
                continue
            for start in starts[-20:]:
                end = start + len(plain)
                if at < end and end in ends and self._text.startswith(plain, start):
                    return f"; a {what} that is not one word goes in {marks}: {written}"
        return ""


_EXAMPLES: Final = {"rule": "`debt <= income` or `if owner = no then mortgage = 0`", "expression": "`debt / income`"}


def _closing(opened: _Token) -> str:
    """The closing bracket for a message, with where it was opened."""
    return f"`{_BRACKETS[opened.text]}` for the `{opened.text}` at character {opened.start + 1}"


def _backticked(name: str) -> str:
    """A column name for a message, as it can always be written."""
    return "`" + name.replace("`", "``") + "`"


def _cut(text: str, around: int = 0, most: int = 60) -> str:
    """The text, or its part around a position where it is long."""
    start = max(0, min(around - most // 2, len(text) - most))
    part = text[start : start + most]
    return f"{'…' if start else ''}{part}{'…' if start + most < len(text) else ''}"
