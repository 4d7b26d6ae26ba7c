"""Expressions, which are computed from the columns of a row, and formulas: what rules say about rows.

An `Expression` is a short program in postfix order: each step puts a value on a stack, or replaces the topmost values
by what an operation makes of them. `attain.schema.language` describes and parses the text of both. Both are
compiled for `attain.engine.rules`, which alone evaluates them.

Formulas are in three-valued logic: true, false, or unknown. A comparison is unknown where one of its numbers is missing
or a special code, or where its value is undefined (NaN). Special codes count as values where a column is tested for
one: `a = -9`, `a ≠ -9`, `a in (-9, -8)`, and in the keys of tables. `is missing` is always known. What is joined by
`and`, `or`, `not` and `if … then …` is true or false where that follows whatever the unknown parts are taken to be. A
row breaks a rule only where the rule is certainly false.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, ClassVar, TypeAlias

import numpy as np

from attain.engine.cells import COLUMN, grid
from attain.engine.rules import DERIVATION, INSTRUCTION, OPERATIONS, RULE, Rules
from attain.schema.feature import Feature

Step: TypeAlias = tuple[str, Any]
"""(`number`, its value), (`column`, its name), (`table`, a `Lookup`), or (an operation, the number of its operands)."""
LinearForm: TypeAlias = tuple[dict[str, float], float]
"""Σ weights[name] · column + constant."""

FUNCTIONS = ("sum", "min", "max", "abs", "round", "floor", "ceil", "sqrt", "log", "exp")
OF_SEVERAL = ("sum", "min", "max")
"""The functions that take any number of arguments; the others take one."""
_OPERATIONS = ("+", "-", "*", "/", "**", "negate", *FUNCTIONS)


@dataclass(frozen=True)
class Lookup:
    """The value that a table has for the cell of a column, NaN for a cell that is not in the table.

    Keys and values are numbers, or positions of levels.
    """

    name: str
    keys: tuple[float, ...]
    values: tuple[float, ...]

    @cached_property
    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """The keys in order, and their values."""
        order = np.argsort(self.keys)
        return np.array(self.keys)[order], np.array(self.values)[order]


@dataclass(frozen=True)
class Expression:
    """A value that is computed from columns. Two expressions are equal if their steps are."""

    text: str = field(compare=False)
    steps: tuple[Step, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns it is computed from, in the order of their first use."""
        used = (
            content if kind == "column" else content.name for kind, content in self.steps if kind in ("column", "table")
        )
        return tuple(dict.fromkeys(used))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The columns whose cells it uses as numbers, so that special codes have no meaning; not those of tables."""
        return tuple(dict.fromkeys(content for kind, content in self.steps if kind == "column"))

    @property
    def column(self) -> str | None:
        """The column that the expression is, if it is nothing else."""
        return self.steps[0][1] if len(self.steps) == 1 and self.steps[0][0] == "column" else None

    def solved_for(self, name: str) -> tuple[tuple[str, Expression], ...]:
        """The columns of an operation on two columns, each computed from the other and its value, the column `name`."""
        if len(self.steps) != 3 or self.steps[2][0] not in _INVERSES or len(self.names) != 2:
            return ()
        (_, first), (_, second), (operation, _) = self.steps
        (of_first, left, right), (of_second, other_left, other_right) = _INVERSES[operation]
        sides = {"value": name, "first": first, "second": second}
        return tuple(
            (target, Expression(self.text, (("column", sides[a]), ("column", sides[b]), (inverse, 2))))
            for target, inverse, a, b in ((first, of_first, left, right), (second, of_second, other_left, other_right))
        )

    @property
    def distance(self) -> tuple[str, Expression] | None:
        """The column and the other expression, if the expression is `abs(column - other)`."""
        (kind, name), end = self.steps[0], self.steps[-2:]
        between = self.steps[1:-2]
        depth = 0
        for step, content in between:
            depth += 1 - (content if step in _OPERATIONS else 0)
            if depth < 1:
                return None
        if kind != "column" or end != (("-", 2), ("abs", 1)) or depth != 1:
            return None
        return name, Expression(self.text, between)

    def linear(self) -> LinearForm | None:
        """The weight of each column and the constant of a linear expression; None for any other."""
        stack: list[LinearForm] = []
        for kind, content in self.steps:
            if kind == "number":
                stack.append(({}, content))
            elif kind == "column":
                stack.append(({content: 1.0}, 0.0))
            elif kind == "table" or (made := _linear(kind, stack[-content:])) is None:
                return None
            else:
                stack[-content:] = [made]
        return stack.pop()


_INVERSES = {
    "+": (("-", "value", "second"), ("-", "value", "first")),
    "-": (("+", "value", "second"), ("-", "first", "value")),
    "*": (("/", "value", "second"), ("/", "value", "first")),
    "/": (("*", "value", "second"), ("/", "first", "value")),
}
"""For `value = first operation second`, how `first` and how `second` is computed."""


def _linear(operation: str, operands: list[LinearForm]) -> LinearForm | None:
    first, last = operands[0], operands[-1]
    if operation == "negate":
        return scaled(first, -1.0)
    if operation == "-":
        return added(first, scaled(last, -1.0))
    if operation in ("+", "sum"):
        return reduce(added, operands)
    if operation == "*" and not (first[0] and last[0]):
        return scaled(first, last[1]) if not last[0] else scaled(last, first[1])
    if operation == "/" and not last[0] and last[1]:
        return scaled(first, 1.0 / last[1])
    return None


def added(left: LinearForm, right: LinearForm) -> LinearForm:
    """left + right; the weights of `left` are changed in place, so that a long sum takes linear time."""
    weights = left[0]
    for name, weight in right[0].items():
        weights[name] = weights.get(name, 0.0) + weight
    return weights, left[1] + right[1]


def scaled(form: LinearForm, factor: float) -> LinearForm:
    return {name: factor * weight for name, weight in form[0].items()}, factor * form[1]


@dataclass(frozen=True)
class Comparison:
    """`left <= right`; levels are compared by their positions."""

    text: str = field(compare=False)
    left: Expression
    operator: str
    right: Expression

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.left.names, *self.right.names)))

    @cached_property
    def tests_a_state(self) -> bool:
        """Whether it compares one column with one constant for equality, which is meaningful for special codes too."""
        column = self.left.column if self.left.names else self.right.column
        constant = not (self.left.names and self.right.names)
        return self.operator in ("=", "≠") and constant and column is not None

    def linear(self) -> LinearForm | None:
        """left - right as the weight of each column and a constant; None where it is not linear."""
        left, right = self.left.linear(), self.right.linear()
        return None if left is None or right is None else added(left, scaled(right, -1.0))


@dataclass(frozen=True)
class _OfColumn:
    """What is said about one column."""

    text: str = field(compare=False)
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True)
class Among(_OfColumn):
    """`name in (…)`: the column has one of some numbers, or levels, given by their positions."""

    values: tuple[float, ...]


class Missing(_OfColumn):
    """`name is missing`."""


@dataclass(frozen=True)
class Not:
    """`not part`."""

    part: Formula

    @property
    def names(self) -> tuple[str, ...]:
        return self.part.names

    @property
    def text(self) -> str:
        return f"not {_within(self.part)}"


@dataclass(frozen=True)
class _Joined:
    """Parts joined by a word."""

    parts: tuple[Formula, ...]
    word: ClassVar[str]

    @property
    def names(self) -> tuple[str, ...]:
        return _names(self.parts)

    @property
    def text(self) -> str:
        return f" {self.word} ".join(map(_within, self.parts))


class And(_Joined):
    """Parts joined by `and`."""

    word = "and"


class Or(_Joined):
    """Parts joined by `or`."""

    word = "or"


@dataclass(frozen=True)
class Implication:
    """`if condition then consequence`: false where the condition is certainly true and the consequence is false."""

    condition: Formula
    consequence: Formula

    @property
    def names(self) -> tuple[str, ...]:
        return _names((self.condition, self.consequence))

    @property
    def text(self) -> str:
        condition, consequence = (
            f"({part.text})" if isinstance(part, Implication) else part.text
            for part in (self.condition, self.consequence)
        )
        return f"if {condition} then {consequence}"


Formula: TypeAlias = Comparison | Among | Missing | Not | And | Or | Implication


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that hold together where this one does: the parts of an `and`, or the formula itself."""
    return formula.parts if isinstance(formula, And) else (formula,)


def _names(parts: Iterable[Formula]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in part.names))


def _within(part: Formula) -> str:
    """The text of a part, in parentheses where it would otherwise read differently."""
    return f"({part.text})" if isinstance(part, Not | And | Or | Implication) else part.text


Span = tuple[int, int]
"""Where something starts and ends in a list."""

_NUMBERS, _CODED, _LEVELS, _ORDERED = range(4)
"""The kinds of columns, as numbers for the engine."""


def evaluate(features: Sequence[Feature], rows: np.ndarray, *parts: Expression | Formula) -> np.ndarray:
    """What expressions and formulas give in rows (n, d) of these features, (n, parts).

    An expression gives its value, NaN or infinite where that is undefined. A formula gives 1 where it is certainly
    true, −1 where it is certainly false, and 0 elsewhere.
    """
    program = Assembler(features)
    spans = [program.expression(part) if isinstance(part, Expression) else program.formula(part) for part in parts]
    return program.assembled().values(rows, np.array(spans, dtype=np.intp).reshape(-1, 2))


class Assembler:
    """Collects instructions, and the lists and numbers that they refer to."""

    def __init__(self, features: Iterable[Feature]) -> None:
        self._features = tuple(features)
        self._positions = {feature.name: j for j, feature in enumerate(self._features)}
        self._code: list[dict[str, Any]] = []
        self._lists: list[int] = []
        self._numbers: list[float] = []
        self._judged: dict[int, Span] = {}

    def assembled(self, derivations: Iterable[Any] = (), rules: Iterable[Any] = ()) -> Rules:
        """The collected program, for the engine."""
        columns = self._columns()
        code = np.zeros(len(self._code), dtype=INSTRUCTION)
        for at, fields in enumerate(self._code):
            for name, value in fields.items():
                code[name][at] = value
        return Rules(
            np.array(columns, dtype=COLUMN),
            code,
            np.array(list(derivations), dtype=DERIVATION),
            np.array(list(rules), dtype=RULE),
            np.array(self._lists, dtype=np.intp),
            np.array(self._numbers, dtype=np.float64),
            len(code),
        )

    def expression(self, expression: Expression) -> Span:
        """Emits an expression; the span of its instructions."""
        start = len(self._code)
        for kind, content in expression.steps:
            if kind == "number":
                self._emit(kind, number=self._pool([content])[0])
            elif kind == "column":
                self._emit(kind, column=self._positions[content])
            elif kind == "table":
                keys, values = content.sorted
                first, end = self._pool(keys)
                self._pool(values)
                self._emit(kind, column=self._positions[content.name], span=(first, end))
            else:
                self._emit(kind, count=content)
        return start, len(self._code)

    def formula(self, formula: Formula) -> Span:
        """Emits the verdict of a formula; the span of its instructions."""
        start = len(self._code)
        if isinstance(formula, Comparison):
            self.expression(formula.left)
            self.expression(formula.right)
            known = () if formula.tests_a_state else dict.fromkeys((*formula.left.numbers, *formula.right.numbers))
            self._emit(formula.operator, span=self._list(self._positions[name] for name in known))
        elif isinstance(formula, Among):
            self._emit("in", column=self._positions[formula.name], span=self._pool(sorted(formula.values)))
        elif isinstance(formula, Missing):
            self._emit("missing", column=self._positions[formula.name])
        elif isinstance(formula, Not):
            self.formula(formula.part)
            self._emit("negate", count=1)
        elif isinstance(formula, Implication):
            self.formula(formula.condition)
            self._emit("negate", count=1)
            self.formula(formula.consequence)
            self._emit("max", count=2)
        else:
            for part in formula.parts:
                self.formula(part)
            self._emit("max" if isinstance(formula, Or) else "min", count=len(formula.parts))
        self._judged[id(formula)] = start, len(self._code)
        return self._judged[id(formula)]

    def _columns(self) -> list[tuple[Any, ...]]:
        columns: list[tuple[Any, ...]] = []
        states = 0
        for feature in self._features:
            number = len(feature.levels) + len(feature.special) + bool(feature.special)
            spacing = grid(feature.step if feature.numeric else 1.0)
            columns.append((_kind(feature), spacing, self._pool(feature.special), (states, states + number)))
            states += number
        return columns

    def _list(self, entries: Iterable[int]) -> Span:
        start = len(self._lists)
        self._lists += map(int, entries)
        return start, len(self._lists)

    def _columns_of(self, formula: Formula) -> Span:
        return self._list(self._positions[name] for name in formula.names)

    def _pool(self, numbers: Iterable[float]) -> Span:
        start = len(self._numbers)
        self._numbers += map(float, numbers)
        return start, len(self._numbers)

    def _emit(self, operation: str, **fields: Any) -> dict[str, Any]:
        self._code.append({"operation": OPERATIONS[operation], **fields})
        return self._code[-1]


def _kind(feature: Feature) -> int:
    if feature.numeric:
        return _CODED if feature.special else _NUMBERS
    return _ORDERED if feature.ordered else _LEVELS
