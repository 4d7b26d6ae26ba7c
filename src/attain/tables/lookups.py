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

    def number(self, cells: np.ndarray) -> np.ndarray:
        """The part that each cell is in."""
        missing = np.isnan(cells)
        if self.edges is None:
            return np.where(missing, len(self) - 1, np.minimum(cells, len(self) - 2)).astype(np.intp)
        found = np.searchsorted(self.edges, cells)
        found[missing] = len(self) - 1
        return found


@dataclass(frozen=True)
class Lookup:
    """Rules over the same columns.

    Attributes
    ----------
    columns, strides
        The columns, and what the number of a part of each counts in the table.
    rules
        The positions of the rules.
    broken
        Which rule (first dimension) each combination of parts breaks (second dimension).
    """

    columns: tuple[int, ...]
    strides: tuple[int, ...]
    rules: np.ndarray
    broken: np.ndarray

    @cached_property
    def any_broken(self) -> np.ndarray:
        """Which combinations break any of the rules."""
        return np.asarray(self.broken.any(axis=0))

    def combinations(self, parts: dict[int, np.ndarray]) -> np.ndarray:
        """The combination of parts that each row is in, from the parts that its cells are in."""
        total = parts[self.columns[0]] * self.strides[0]
        for column, stride in zip(self.columns[1:], self.strides[1:], strict=True):
            total = total + parts[column] * stride
        return total


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
        columns = [_columns(formula, positions) for formula in formulas]
        values: dict[int, set[float]] = {}
        for formula, some in zip(formulas, columns, strict=True):
            for leaf in _leaves(formula) if some else ():
                values.setdefault(positions[leaf.names[0]], set()).update(_constants(leaf) or ())
        parts = {j: Parts.of(features[j], found) for j, found in values.items()}
        self._parts = {j: part for j, part in parts.items() if part is not None}
        self.groups: list[Lookup] = []
        self.rest: list[int] = []
        members: dict[tuple[int, ...], list[int]] = {}
        for k, some in enumerate(columns):
            sizes = [len(self._parts[j]) if j in self._parts else 0 for j in some]
            if some and 0 < math.prod(sizes) <= _MOST_ENTRIES:
                members.setdefault(some, []).append(k)
            else:
                self.rest.append(k)
        for some, rules in members.items():
            self.groups.append(self._lookup(features, some, rules, formulas))

    def _lookup(
        self, features: Sequence[Feature], columns: tuple[int, ...], rules: list[int], formulas: Sequence[Formula]
    ) -> Lookup:
        cells = np.meshgrid(*(self._parts[j].representatives for j in columns), indexing="ij")
        view = View([features[j] for j in columns], np.column_stack([some.ravel() for some in cells]))
        broken = np.stack([formulas[k].judge(view)[1] for k in rules])
        sizes = [len(self._parts[j]) for j in columns]
        strides = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
        return Lookup(columns, strides, np.array(rules), broken)

    def parts(self, rows: np.ndarray) -> dict[int, np.ndarray]:
        """The part that each cell of the rows is in, by column."""
        return {j: part.number(rows[:, j]) for j, part in self._parts.items()}


def _columns(formula: Formula, positions: dict[str, int]) -> tuple[int, ...]:
    """The columns of a formula that compares each of at most three columns with constants; empty for any other."""
    found: dict[int, None] = {}
    for leaf in _leaves(formula):
        if _constants(leaf) is None:
            return ()
        found[positions[leaf.names[0]]] = None
    return tuple(sorted(found)) if len(found) <= _MOST_COLUMNS else ()


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
