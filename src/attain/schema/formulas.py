"""What rules say about rows, in three-valued logic: true, false, or unknown.

A comparison is unknown where one of its numbers is missing or a special code, or where its value is undefined (NaN).
Special codes count as values where a column is tested for one: `a = -9`, `a ≠ -9`, `a in (-9, -8)`, and in the keys of
tables. `is missing` is always known. What is joined by `and`, `or`, `not` and `if … then …` is true or false where
that follows whatever the unknown parts are taken to be. A row breaks a rule only where the rule is certainly false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from attain.schema.expressions import Columns, Expression, LinearForm, added, located, scaled, tolerance
from attain.schema.feature import Feature

Verdict: TypeAlias = tuple[np.ndarray, np.ndarray]
"""The rows in which a formula is certainly true, and those in which it is certainly false, each of shape (n,)."""

_HOLDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "<=": lambda gap, slack: gap <= slack,
    ">=": lambda gap, slack: gap >= -slack,
    "<": lambda gap, slack: gap < -slack,
    ">": lambda gap, slack: gap > slack,
    "=": lambda gap, slack: np.abs(gap) <= slack,
    "≠": lambda gap, slack: np.abs(gap) > slack,
}


class View:
    """The columns of a matrix, (n, d), and which of their cells are known. The matrix must not change meanwhile."""

    def __init__(self, features: Iterable[Feature], rows: np.ndarray) -> None:
        self._features = {feature.name: feature for feature in features}
        self.columns: Columns = {name: rows[:, j] for j, name in enumerate(self._features)}
        self._known: dict[str, np.ndarray] = {}

    def known(self, name: str) -> np.ndarray:
        """Which cells of the column are neither missing nor special codes."""
        if name not in self._known:
            cells = self.columns[name]
            known = ~np.isnan(cells)
            for code in self._features[name].special:
                known &= cells != code
            self._known[name] = known
        return self._known[name]


@dataclass(frozen=True)
class Comparison:
    """`left <= right`; levels are compared by their positions."""

    text: str = field(compare=False)
    left: Expression
    operator: str
    right: Expression

    def judge(self, view: View) -> Verdict:
        """Where it holds and where it does not, up to rounding: 0.1 + 0.2 = 0.3 holds."""
        left, right = self.left(view.columns), self.right(view.columns)
        with np.errstate(invalid="ignore"):
            gap = left - right
            holds = _HOLDS[self.operator](gap, tolerance(left, right))
        known = ~np.isnan(gap)
        if not self.tests_a_state:
            for name in (*self.left.numbers, *self.right.numbers):
                known &= view.known(name)
        return known & holds, known & ~holds

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
class Among:
    """`name in (…)`: the column has one of some numbers, or levels, given by their positions."""

    text: str = field(compare=False)
    name: str
    values: tuple[float, ...]

    def judge(self, view: View) -> Verdict:
        cells = view.columns[self.name]
        with np.errstate(invalid="ignore"):
            found = located(cells, self._sorted)[1]
        return found, ~found & ~np.isnan(cells)

    @cached_property
    def _sorted(self) -> np.ndarray:
        return np.sort(self.values)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True)
class Missing:
    """`name is missing`."""

    text: str = field(compare=False)
    name: str

    def judge(self, view: View) -> Verdict:
        missing = np.isnan(view.columns[self.name])
        return missing, ~missing

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True)
class Not:
    """`not part`."""

    part: Formula

    def judge(self, view: View) -> Verdict:
        true, false = self.part.judge(view)
        return false, true

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


class All(_Joined):
    """Parts joined by `and`."""

    word = "and"

    def judge(self, view: View) -> Verdict:
        true, false = zip(*(part.judge(view) for part in self.parts), strict=True)
        return np.logical_and.reduce(true), np.logical_or.reduce(false)


class Any(_Joined):
    """Parts joined by `or`."""

    word = "or"

    def judge(self, view: View) -> Verdict:
        true, false = zip(*(part.judge(view) for part in self.parts), strict=True)
        return np.logical_or.reduce(true), np.logical_and.reduce(false)


@dataclass(frozen=True)
class Implication:
    """`if condition then consequence`: false where the condition is certainly true and the consequence is false."""

    condition: Formula
    consequence: Formula

    def judge(self, view: View) -> Verdict:
        met, unmet = self.condition.judge(view)
        true, false = self.consequence.judge(view)
        return unmet | true, met & false

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


Formula: TypeAlias = Comparison | Among | Missing | Not | All | Any | Implication


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that hold together where this one does: the parts of an `and`, or the formula itself."""
    return formula.parts if isinstance(formula, All) else (formula,)


def _names(parts: Iterable[Formula]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in part.names))


def _within(part: Formula) -> str:
    """The text of a part, in parentheses where it would otherwise read differently."""
    return f"({part.text})" if isinstance(part, Not | All | Any | Implication) else part.text
