"""What follows from what: a law that others imply is not a law of its own.

Everything is said in atoms. Two states x and z exclude each other by other laws if some column has no atom left that x
and z both allow (resolution). In the same way, the range of b given x follows from the ranges of b given the atoms that
x allows in some column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from attain.schema.finding.ranges import Side
from attain.schema.finding.rows import Rows
from attain.schema.finding.statements import Relation
from attain.schema.finding.states import Feature


@dataclass(frozen=True, order=True)
class Exclusion:
    """No row is in one of `states` of column a and one of `excluded` of column b."""

    a: int
    states: tuple[int, ...]
    b: int
    excluded: tuple[int, ...]

    def pairs(self) -> list[tuple[int, int]]:
        return [(x, y) for x in self.states for y in self.excluded]


class Implications:
    """Which atoms each state excludes, and which numbers each atom allows."""

    def __init__(self, rows: Rows, known: np.ndarray, starts: np.ndarray, laws: Iterable[Exclusion]) -> None:
        """`known` (states, states) are states that exclude each other anyway; `starts` the first of each column."""
        self.columns, self.starts, self.excludes = rows.columns, starts, known.copy()
        for law in laws:
            first, second = self._states(law)
            self.excludes[np.ix_(first, second)] = self.excludes[np.ix_(second, first)] = True
        self.atom_starts = np.cumsum([0, *(len(column.atoms) for column in rows.columns)])
        self.excluded = np.zeros((len(known), self.atom_starts[-1]), dtype=bool)
        for a, column in enumerate(rows.columns):
            own = slice(starts[a], starts[a + 1])
            number = self.excludes[:, own].astype(np.float32) @ (column.members > 0).astype(np.float32)
            self.excluded[:, self._atoms(a)] = number > 0
            self.excluded[own, self._atoms(a)] = column.members == 0
        shape = (self.atom_starts[-1], len(rows.columns))
        self.highest, self.lowest = np.full(shape, np.inf), np.full(shape, -np.inf)
        for b, column in enumerate(rows.columns):
            if column.feature.numeric:
                for t, atom in enumerate(column.atoms, self.atom_starts[b]):
                    if not atom.ordinary:
                        self.highest[t, b], self.lowest[t, b] = -np.inf, np.inf
                    elif atom.kind != "other":
                        self.highest[t, b], self.lowest[t, b] = atom.most, atom.least

    def without_repetitions(self, laws: Sequence[Exclusion]) -> list[Exclusion]:
        """The laws, the weakest last, without those that the others imply."""
        kept = list(laws)
        for law in reversed(laws):
            self._set(law, False)
            if all(self._implied(self.starts[law.a] + x, self.starts[law.b] + y) for x, y in law.pairs()):
                kept.remove(law)
            else:
                self._set(law, True)
        return kept

    def without_implied_sides(self, sides: Sequence[Side], orders: Iterable[tuple[int, int]]) -> list[Side]:
        """The sides, the weakest last, without those that the others, the exclusions and the orders imply."""
        for side in sides:
            self._limit(side, side.limit)
        kept = list(sides)
        orders = list(orders)
        for side in reversed(sides):
            self._limit(side, np.inf * side.sign)
            partners = [c if side.sign > 0 else b for b, c in orders if (b if side.sign > 0 else c) == side.b]
            x = self.starts[side.a] + side.state
            if any(side.sign * self._reach(x, b, side.sign) <= side.sign * side.limit for b in (side.b, *partners)):
                kept.remove(side)
            else:
                self._limit(side, side.limit)
        return kept

    def without_ranges(self, laws: Sequence[Exclusion], sides: Iterable[Side]) -> list[Exclusion]:
        """The laws that say more than these sides."""
        limits = {(side.a, side.state, side.b, side.sign): side.limit for side in sides}

        def said(a: int, x: int, b: int, y: int) -> bool:
            atom = self.columns[b].atom(y)
            if atom is None or not self.columns[b].feature.numeric or not atom.ordinary:
                return False
            high, low = limits.get((a, x, b, 1), np.inf), limits.get((a, x, b, -1), -np.inf)
            return atom.low >= high or atom.high <= low if atom.kind == "gap" else atom.low > high or atom.high < low

        return [
            law for law in laws if not all(said(law.a, x, law.b, y) or said(law.b, y, law.a, x) for x, y in law.pairs())
        ]

    def _atoms(self, column: int) -> slice:
        return slice(self.atom_starts[column], self.atom_starts[column + 1])

    def _refresh(self, states: Iterable[int], b: int) -> None:
        """The atoms of b that these states exclude."""
        states = list(states)
        own = slice(self.starts[b], self.starts[b + 1])
        self.excluded[states, self._atoms(b)] = self.excludes[states, own] @ (self.columns[b].members > 0)

    def _states(self, law: Exclusion) -> tuple[list[int], list[int]]:
        a, b = int(self.starts[law.a]), int(self.starts[law.b])
        return [a + x for x in law.states], [b + y for y in law.excluded]

    def _set(self, law: Exclusion, value: bool) -> None:
        first, second = self._states(law)
        self.excludes[np.ix_(first, second)] = self.excludes[np.ix_(second, first)] = value
        self._refresh(first, law.b)
        self._refresh(second, law.a)

    def _implied(self, x: int, z: int) -> bool:
        together = self.excluded[x] | self.excluded[z]
        return bool(np.logical_and.reduceat(together, self.atom_starts[:-1]).any())

    def _limit(self, side: Side, limit: float) -> None:
        where = (self.highest if side.sign > 0 else self.lowest)[self._atoms(side.a)]
        where[self.columns[side.a].members[side.state] > 0, side.b] = limit

    def _reach(self, x: int, b: int, sign: int) -> float:
        """The largest b (sign 1) or smallest (−1) that x allows by way of any column."""
        limits = (self.highest if sign > 0 else self.lowest)[:, b]
        allowed = np.where(self.excluded[x], -np.inf, sign * limits)
        return float(sign * np.maximum.reduceat(allowed, self.atom_starts[:-1]).min())


def leaders(features: Sequence[Feature], pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each column the one that stands for all columns it is paired with: levels before numbers, then by name."""
    leader = list(range(len(features)))
    for a, b in pairs:
        first, second = sorted((leader[a], leader[b]), key=lambda j: (features[j].numeric, features[j].name))
        leader = [first if other == second else other for other in leader]
    return leader


def independent_relations(found: Collection[Relation], features: Sequence[Feature]) -> list[Relation]:
    """The relations without those that follow from others."""
    equal = {(r.a, r.b) for r in found if r.sign == "="}
    leader = leaders(features, equal)
    led = {j for pair in equal for j, other in (pair, pair[::-1]) if other == leader[j]}
    told = [(b, a) if leader[a] == a else (a, b) for a, b in sorted(equal) if not {a, b} <= led]
    orders = {(r.a, r.b) for r in found if r.sign == "<=" and leader[r.a] == r.a and leader[r.b] == r.b}
    transitive = {(a, c) for a, b in orders for b_, c in orders if b == b_ and (a, c) in orders}
    return [
        *(Relation("=", a, b) for a, b in told),
        *(Relation("<=", a, b) for a, b in sorted(orders - transitive)),
    ]


def independent_dependencies(
    found: Collection[tuple[int, int]], features: Sequence[Feature], equal: Iterable[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[int]]:
    """The dependencies without those that follow from others, and the leader of each column.

    Columns that fix each other have a common leader, and so have equal columns.
    """
    pairs, equal = set(found), set(equal)
    mutual = {(a, b) for a, b in pairs if (b, a) in pairs}
    leader = leaders(features, [*equal, *sorted(mutual)])
    same = leaders(features, equal)
    kept = []
    for a, b in sorted(pairs):
        if same[a] == same[b] or same[a] != a or same[b] != b:
            continue
        if leader[a] == leader[b]:
            independent = leader[a] in (a, b) or (b, a) not in pairs
        else:
            between = (c for c in range(len(features)) if (a, c) in pairs and (c, b) in pairs)
            independent = leader[a] == a and leader[b] == b and all(leader[c] in (a, b) for c in between)
        if independent:
            kept.append((a, b))
    return kept, leader
