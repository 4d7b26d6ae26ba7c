"""Rules about single cells as tables: `if a = x then b not in (y, z)` for all rows at once, in one look-up.

Many rules, and most laws, compare columns with constants only. Such a rule depends on a cell only through which part of
its column the cell is in: a level, a missing cell, a constant that some rule names, or what lies between two of them.
So the parts of each column are numbered, every rule over the same columns becomes one entry for each combination of
parts, and rows are judged by looking up the combination they are in. What an entry says comes from the rule itself,
judged on one representative of each combination.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attain.schema.feature import Feature
from attain.schema.formulas import All, Among, Any, Comparison, Formula, Implication, Missing, Not, View

_MOST_COLUMNS = 3
_MOST_ENTRIES = 1_000_000
"""Rules over more columns, or with more combinations of parts, are judged row by row."""


@dataclass(frozen=True)
class Parts:
    """The parts of one column.

    Attributes
    ----------
    edges
        For a number, the ends of the small interval around each constant, sorted; None for levels.
    representatives
        A cell of each part; NaN, a missing cell, is the last.
    """

    edges: np.ndarray | None
    representatives: np.ndarray

    @classmethod
    def of(cls, feature: Feature, values: set[float]) -> Parts | None:
        """The parts of a column that rules compare with these values; None where two are too close together."""
        if not feature.numeric:
            # levels that are not in the schema come after those that are, and are one part
            return cls(None, np.append(np.arange(len(feature.levels) + 1, dtype=np.float64), math.nan))
        points = np.array(sorted(values | set(feature.special)))
        if not points.size:
            return cls(points, np.array([0.0, math.nan]))
        slack = 1e-9 * np.maximum(1.0, np.abs(points))  # as comparisons have it
        edges = np.column_stack((points - slack, points + slack)).ravel()
        if (np.diff(edges) <= 0).any():
            return None
        ends = np.concatenate(([points[0] - 1 - abs(points[0])], points, [points[-1] + 1 + abs(points[-1])]))
        between = (ends[:-1] + ends[1:]) / 2
        between[[0, -1]] = ends[[0, -1]]
        representatives = np.empty(2 * len(points) + 2)
        representatives[:-1:2], representatives[1:-1:2], representatives[-1] = between, points, math.nan
        return cls(edges, representatives)

    def __len__(self) -> int:
        return len(self.representatives)


@dataclass(frozen=True)
class Lookup:
    """Rules over the same columns.

    Attributes
    ----------
    columns, strides
        The columns, and what the number of a part of each counts in the table.
    rules
        The position of the rule that each entry of `broken` belongs to: the rule itself, or a part of it.
    broken
        Which of them (first dimension) each combination of parts breaks (second dimension).
    """

    columns: tuple[int, ...]
    strides: tuple[int, ...]
    rules: np.ndarray
    broken: np.ndarray

    @cached_property
    def any_broken(self) -> np.ndarray:
        """Which combinations break any of the rules."""
        return np.asarray(self.broken.any(axis=0))


class Lookups:
    """The rules of a book that depend on parts of at most three columns.

    Attributes
    ----------
    groups
        One look-up for each set of columns.
    rest
        The positions of all other rules.
    """

    def __init__(self, features: Sequence[Feature], formulas: Sequence[Formula]) -> None:
        positions = {feature.name: j for j, feature in enumerate(features)}
        pieces = [(k, piece) for k, formula in enumerate(formulas) for piece in _pieces(formula)]
        columns = [_columns(piece, positions) for _, piece in pieces]
        values: dict[int, set[float]] = {}
        for (_, piece), some in zip(pieces, columns, strict=True):
            for leaf in _leaves(piece) if some else ():
                values.setdefault(positions[leaf.names[0]], set()).update(_constants(leaf) or ())
        parts = {j: Parts.of(features[j], found) for j, found in values.items()}
        self._parts = {j: part for j, part in parts.items() if part is not None}
        fits = [bool(some) and 0 < math.prod(map(self._size, some)) <= _MOST_ENTRIES for some in columns]
        self.rest = sorted({k for (k, _), fit in zip(pieces, fits, strict=True) if not fit})
        members: dict[tuple[int, ...], list[tuple[int, Formula]]] = {}
        for (k, piece), some in zip(pieces, columns, strict=True):
            if k not in self.rest:
                members.setdefault(some, []).append((k, piece))
        self.groups = [self._lookup(features, some, listed) for some, listed in members.items()]

    def _size(self, j: int) -> int:
        return len(self._parts[j]) if j in self._parts else 0

    def _lookup(
        self, features: Sequence[Feature], columns: tuple[int, ...], pieces: list[tuple[int, Formula]]
    ) -> Lookup:
        cells = np.meshgrid(*(self._parts[j].representatives for j in columns), indexing="ij")
        view = View([features[j] for j in columns], np.column_stack([some.ravel() for some in cells]))
        broken = np.stack([piece.judge(view)[1] for _, piece in pieces])
        sizes = [len(self._parts[j]) for j in columns]
        strides = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
        return Lookup(columns, strides, np.array([k for k, _ in pieces]), broken)

    def edges(self, j: int) -> np.ndarray:
        """The edges of the parts of column j; none for levels, and for columns that no look-up is about."""
        edges = self._parts[j].edges if j in self._parts else None
        return np.empty(0) if edges is None else edges


def _columns(formula: Formula, positions: dict[str, int]) -> tuple[int, ...]:
    """The columns of a formula that compares each of at most three columns with constants; empty for any other."""
    found: dict[int, None] = {}
    for leaf in _leaves(formula):
        if _constants(leaf) is None:
            return ()
        found[positions[leaf.names[0]]] = None
    return tuple(sorted(found)) if len(found) <= _MOST_COLUMNS else ()


def _pieces(formula: Formula) -> Iterator[Formula]:
    """Formulas that are certainly false together where this one is: `if a or b then c and d` is four implications."""
    if isinstance(formula, All):
        for part in formula.parts:
            yield from _pieces(part)
    elif isinstance(formula, Implication):
        given = formula.condition.parts if isinstance(formula.condition, Any) else (formula.condition,)
        yield from (Implication(one, other) for one in given for other in _pieces(formula.consequence))
    else:
        yield formula


def _leaves(formula: Formula) -> Iterator[Comparison | Among | Missing]:
    """The parts of a formula that are not made of others."""
    waiting: list[Formula] = [formula]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Comparison | Among | Missing):
            yield part
        elif isinstance(part, Not):
            waiting.append(part.part)
        elif isinstance(part, Implication):
            waiting += [part.condition, part.consequence]
        elif isinstance(part, All | Any):
            waiting += part.parts


def _constants(leaf: Comparison | Among | Missing) -> tuple[float, ...] | None:
    """The values that one column is compared with; None where it is not one column, or not with constants."""
    if isinstance(leaf, Missing):
        return ()
    if isinstance(leaf, Among):
        return leaf.values
    for one, other in ((leaf.left, leaf.right), (leaf.right, leaf.left)):
        if one.column is not None and not other.names:
            value = float(other({}))
            return (value,) if math.isfinite(value) else None
    return None
