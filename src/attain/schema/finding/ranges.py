"""Ranges of a number given a state of another column."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from attain.schema.finding.rows import Rows
from attain.schema.finding.states import Feature
from attain.schema.finding.statistics import MOSTLY, PROPOSED, SMALLEST, Counts, edge

LEAST_EXCLUDED = 0.05
"""A range excludes at least this share of all rows; otherwise it is not worth a law."""


@dataclass(frozen=True)
class Side:
    """Cells of b are at most (`sign` 1) or at least (−1) `limit` in rows that are in this state of a."""

    b: int
    a: int
    state: int
    sign: int
    limit: float


@dataclass
class Ranges:
    """Candidates for ranges, one side at a time."""

    exceptions: float
    found: list[Side] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.found)

    def propose(self, half: Rows) -> None:
        """Takes the sides that hold on these rows and exclude enough."""
        for b in half.numeric:
            sorted_column = _Sorted(half, b, self.exceptions)
            for a, column in enumerate(half.columns):
                if a != b and any(column.atom(s) for s in range(column.n_states)):
                    self.found += sorted_column.sides(a)

    def test(self, half: Rows, threshold: float) -> None:
        """Keeps the sides that hold on these rows and would not by chance."""
        self.found = [
            side for side, c in self.counts(half) if _excludes(c) and c.hold(self.exceptions, threshold, MOSTLY)
        ]

    def confirm(self, rows: Rows, threshold: float) -> None:
        """Takes the limits from these rows."""
        moved = []
        for b, sides in groupby(self.found, key=lambda side: side.b):
            sorted_column = _Sorted(rows, b, self.exceptions)
            moved += [m for m in map(sorted_column.moved, sides) if m is not None]
        self.found = moved
        self.found = [
            side for side, c in self.counts(rows) if _excludes(c) and c.confirmed(self.exceptions, threshold, MOSTLY)
        ]

    def counts(self, rows: Rows) -> Iterator[tuple[Side, Counts]]:
        """The counts of every side."""
        for b, sides in groupby(self.found, key=lambda side: side.b):
            sorted_column = _Sorted(rows, b, self.exceptions)
            for side in sides:
                yield side, sorted_column.counts(side)


def _excludes(counts: Counts) -> bool:
    return bool(counts.expected >= LEAST_EXCLUDED * counts.applies)


class _Sorted:
    """The rows that have an ordinary b, in the order of b."""

    def __init__(self, rows: Rows, b: int, exceptions: float) -> None:
        self.rows, self.b, self.exceptions = rows, b, exceptions
        cells = rows.numbers[b]
        known = np.flatnonzero(~np.isnan(cells))
        self.order = known[np.argsort(cells[known], kind="stable")]
        self.cells = cells[self.order]
        self.feature = rows.columns[b].feature

    def sides(self, a: int) -> Iterator[Side]:
        """The sides for the states of a that exclude enough."""
        column = self.rows.columns[a]
        codes = self.rows.codes[a][self.order]
        counts = np.bincount(codes, minlength=len(column.atoms))
        by_atom = np.argsort(codes, kind="stable")
        ends = np.cumsum(counts)
        for state in range(column.n_states):
            if column.atom(state) is None:
                continue
            atom = int(np.argmax(column.members[state]))
            if counts[atom] < SMALLEST / 3:  # on half of the rows
                continue
            inside = by_atom[ends[atom] - counts[atom] : ends[atom]]
            for sign in (-1, 1):
                limit = self._limit(self.cells[inside], sign)
                if limit is None:
                    continue
                side = Side(self.b, a, state, sign, limit)
                beyond = self._beyond(side)
                excluded = beyond.stop - beyond.start
                if excluded < LEAST_EXCLUDED * len(self.cells) / 2:
                    continue
                found = self.counts(side)
                if _excludes(found) and found.hold(self.exceptions, PROPOSED, MOSTLY):
                    yield side

    def moved(self, side: Side) -> Side | None:
        """The side with the limit that these rows give."""
        limit = self._limit(self.cells[self._inside(side)], side.sign)
        return None if limit is None else Side(side.b, side.a, side.state, side.sign, limit)

    def counts(self, side: Side) -> Counts:
        """The counts of a side among the rows in which a is in the state's universe."""
        there = (self.rows.columns[side.a].universe[side.state] > 0)[self.rows.codes[side.a][self.order]]
        inside, beyond = self._inside(side), self._beyond(side)
        band = self._band(beyond, side.sign)
        applies, broken = int(inside.sum()), int(inside[beyond].sum())
        out, near = int(there[beyond].sum()), int(there[band].sum())
        return Counts(
            applies,
            broken,
            applies * out / max(int(there.sum()), 1),
            applies,
            edge(broken, int(inside[band].sum()), out / max(out + near, 1)),
        )

    def _band(self, beyond: slice, sign: int) -> slice:
        """The rows just inside the limit: as many as beyond it, and all with the same value as the last of them."""
        n = beyond.stop - beyond.start
        if sign < 0:
            last = self.cells[min(beyond.stop + n, len(self.cells)) - 1]
            return slice(beyond.stop, int(np.searchsorted(self.cells, last, "right")))
        return slice(int(np.searchsorted(self.cells, self.cells[max(beyond.start - n, 0)])), beyond.start)

    def _inside(self, side: Side) -> np.ndarray:
        atom = int(np.argmax(self.rows.columns[side.a].members[side.state]))
        return self.rows.codes[side.a][self.order] == atom

    def _beyond(self, side: Side) -> slice:
        """The sorted rows beyond the limit."""
        slack = 1e-9 * max(1.0, abs(side.limit))
        if side.sign < 0:
            return slice(0, int(np.searchsorted(self.cells, side.limit - slack)))
        return slice(int(np.searchsorted(self.cells, side.limit + slack, "right")), len(self.cells))

    def _limit(self, inside: np.ndarray, sign: int) -> float | None:
        """The extreme of these cells, moved outwards by its distance from the next: an estimate of the end point.

        Robson and Whitlock (1964), Estimation of a truncation point. The extreme without as many cells as may be
        exceptions; None beyond all values of the column.
        """
        few = int(self.exceptions * len(inside))
        extreme, following = (inside[few], inside[few + 1]) if sign < 0 else (inside[-1 - few], inside[-2 - few])
        limit = outwards(float(2 * extreme - following), sign, self.feature)
        inside = limit > self.cells[0] if sign < 0 else limit < self.cells[-1]
        return limit if inside else None


def outwards(limit: float, sign: int, feature: Feature) -> float:
    """The limit on the column's step, or with three significant digits, rounded away from the range."""
    rounded = math.ceil if sign > 0 else math.floor
    if feature.step is not None:
        step = feature.step
        decimals = max(0, -math.floor(math.log10(step))) + 2
        return round(rounded(round(limit / step, 6)) * step, decimals)
    if limit == 0:
        return 0.0
    decimals = 2 - math.floor(math.log10(abs(limit)))
    scaled = rounded(round(limit * 10.0**decimals, 6))
    return float(f"{scaled}e{-decimals}")
