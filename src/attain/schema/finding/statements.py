"""What can be found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from attain.schema.finding.states import Column


@dataclass(frozen=True)
class Relation:
    """`a <= b` or `a = b` (operator ""), or `a = b + c`; a, b and c are positions of columns.

    An equation may hold for its right side rounded to so many `decimals`, or up to `tolerance`.
    """

    sign: Literal["<=", "="]
    a: int
    b: int
    operator: str = ""
    c: int | None = None
    decimals: int | None = None
    tolerance: float = 0.0

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(j for j in (self.a, self.b, self.c) if j is not None)


@dataclass(frozen=True)
class Table:
    """The value of b that goes with each value of a: numbers, or positions of levels."""

    a: int
    b: int
    entries: Mapping[float, float]


@dataclass(frozen=True)
class States:
    """Some states of one column."""

    column: Column
    states: tuple[int, ...]


@dataclass(frozen=True)
class Excludes:
    """Rows that are in all of `given`, or in one of them if there is `either`, are in none of `excluded`."""

    given: tuple[States, ...]
    excluded: tuple[States, ...]
    either: bool = False


@dataclass(frozen=True)
class Within:
    """Rows that are in `given` have numbers of a column from `low` to `high`."""

    given: States
    column: Column
    low: float | None
    high: float | None


Statement: TypeAlias = Relation | Table | Excludes | Within


@dataclass(frozen=True)
class Finding:
    """A statement that holds, and the number of rows that would break it if its columns were independent."""

    statement: Statement
    expected: float
