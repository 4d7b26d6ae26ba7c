"""What can be found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from attain.schema.finding.states import Column


@dataclass(frozen=True)
class Relation:
    """`a <= b` or `a = b`, where a and b are positions of columns."""

    sign: Literal["<=", "="]
    a: int
    b: int


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
    """Rows that are in one of `given` are in none of `excluded`."""

    given: tuple[States, ...]
    excluded: tuple[States, ...]


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
