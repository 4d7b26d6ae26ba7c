"""The search: proposed on one half of the rows, tested on the other, confirmed on all.

What holds on the first half is a candidate; each candidate is tested on the second half, against the number of rows
that would break it if its columns were independent, and the number of tests is accounted for (Bonferroni). What follows
from other findings is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from attain.schema.finding.dependencies import Dependencies
from attain.schema.finding.grouping import grouped, grouped_presence, grouped_ranges
from attain.schema.finding.implications import (
    Exclusion,
    Implications,
    independent_dependencies,
    independent_relations,
)
from attain.schema.finding.pairs import Pairs, counted
from attain.schema.finding.ranges import Ranges, Side
from attain.schema.finding.relations import Relations, measured
from attain.schema.finding.rows import Rows, rows_of
from attain.schema.finding.statements import Excludes, Finding, States, Table, Within
from attain.schema.finding.states import Feature
from attain.schema.finding.statistics import ALPHA, SMALLEST, Counts


class Kind(Protocol):
    """Candidates of one kind."""

    def __len__(self) -> int:
        """The number of tests."""

    def propose(self, half: Rows) -> None:
        """Takes what holds on these rows."""

    def test(self, half: Rows, threshold: float) -> None:
        """Keeps what holds on these rows, and would with probability `threshold` at most if it were chance."""

    def confirm(self, rows: Rows, threshold: float) -> None:
        """Keeps what holds on all rows."""


class _Found(NamedTuple):
    """What holds, kind by kind."""

    relations: Relations
    dependencies: Dependencies
    pairs: Pairs
    ranges: Ranges


def search(features: Sequence[Feature], values: np.ndarray, coin: np.ndarray, exceptions: float) -> Iterator[Finding]:
    """What holds in a matrix (n, d) whose rows are in random order; `coin` (n,) are the rows of the first half."""
    if len(values) < SMALLEST or len(features) < 2:
        return
    rows = rows_of(features, values)
    first, second = rows[coin], rows[~coin]
    found = _Found(Relations(exceptions), Dependencies(exceptions), Pairs(exceptions), Ranges(exceptions))
    kinds: tuple[Kind, ...] = found
    for kind in kinds:
        kind.propose(first)
        threshold = ALPHA / len(kinds) / max(len(kind), 1)
        kind.test(second, threshold)
        kind.confirm(rows, threshold)
    yield from _Selection(features, rows, found).findings()


class _Selection:
    """What is worth saying of all that holds: nothing that follows from something else.

    States are counted over all columns here: those of column j begin at `starts[j]`.
    """

    def __init__(self, features: Sequence[Feature], rows: Rows, found: _Found) -> None:
        self.features, self.rows, self.columns, self.found = features, rows, rows.columns, found
        self.starts = np.cumsum([0, *(column.n_states for column in rows.columns)])
        self.relations = independent_relations(found.relations.found, features)
        equal = [(r.a, r.b) for r in self.relations if r.sign == "="]
        self.tables, self.leader = independent_dependencies(found.dependencies.found, features, equal)

    def findings(self) -> Iterator[Finding]:
        """All findings, kind by kind."""
        for relation in self.relations:
            yield Finding(relation, measured(relation, self.rows).expected)
        for a, b in self.tables:
            yield Finding(Table(a, b, self._entries(a, b)), self.found.dependencies.expected((a, b), self.rows))
        known = self._known()
        exclusions = self._exclusions(known)
        strongest = sorted(exclusions, key=lambda e: (-exclusions[e], len(e.pairs()), self._names(e.a, e.b), e))
        implications = Implications(self.rows, known, self.starts, strongest)
        kept = implications.without_repetitions(strongest)
        sides = self._sides(implications)
        yield from self._excluded(implications.without_ranges(kept, sides), exclusions)
        for members in grouped_ranges(self.columns, sides):
            limits = {side.sign: side.limit for side in members}
            given = self._states(members[0].a, sorted({side.state for side in members}))
            within = Within(given, self.columns[members[0].b], limits.get(-1), limits.get(1))
            yield Finding(within, sum(sides[side].expected for side in members))

    def _states(self, column: int, states: Sequence[int]) -> States:
        return States(self.columns[column], tuple(states))

    def _names(self, *columns: int) -> tuple[str, ...]:
        return tuple(self.features[j].name for j in columns)

    def _leads(self, *columns: int) -> bool:
        """Whether none of the columns repeats another."""
        return all(self.leader[j] == j for j in columns)

    def _entries(self, a: int, b: int) -> dict[float, float]:
        """The value of b that goes with each value of a."""
        first, second = self.rows.distinct[a], self.rows.distinct[b]
        fixed = self.found.dependencies.found[a, b]
        return {float(first[x]): float(second[y]) for x, y in enumerate(fixed) if y >= 0}

    def _known(self) -> np.ndarray:
        """Which states exclude each other because of tables, equalities and orders, (states, states)."""
        known = np.zeros((self.starts[-1], self.starts[-1]), dtype=bool)

        def exclude(a: int, x: int, b: int, y: int) -> None:
            known[self.starts[a] + x, self.starts[b] + y] = known[self.starts[b] + y, self.starts[a] + x] = True

        for a, b in self.found.dependencies.found:
            entries = self._entries(a, b)
            for x, left in self.columns[a].ordinary_states:
                value = entries.get(left.low) if left.kind != "gap" else None
                for y, right in self.columns[b].ordinary_states:
                    if value is not None and not right.least <= value <= right.most:
                        exclude(a, x, b, y)
        for relation in self.found.relations.found:
            a, b = relation.a, relation.b
            for x, left in self.columns[a].ordinary_states:
                for y, right in self.columns[b].ordinary_states:
                    if left.above(right) or (relation.sign == "=" and right.above(left)):
                        exclude(a, x, b, y)
        return known

    def _exclusions(self, known: np.ndarray) -> dict[Exclusion, float]:
        """Pairs that are not known, as laws, with the number of rows expected to break them."""
        found = {}
        for (a, b), mask in self.found.pairs.found.items():
            if self._leads(a, b):
                new = mask & ~known[self.starts[a] : self.starts[a + 1], self.starts[b] : self.starts[b + 1]]
                for e in grouped(self.columns, a, b, new):
                    expected = counted(self.rows, e.a, e.b).expected
                    found[e] = float(expected[np.ix_(e.states, e.excluded)].sum())
        return found

    def _excluded(self, kept: Sequence[Exclusion], expected: dict[Exclusion, float]) -> Iterator[Finding]:
        """Exclusions one by one, and patterns of missing cells and codes together."""
        single, patterns = grouped_presence(self.columns, kept)
        for e in single:
            yield Finding(Excludes((self._states(e.a, e.states),), (self._states(e.b, e.excluded),)), expected[e])
        for pattern in patterns:
            given = dict.fromkeys((e.a, e.states) for e in pattern)
            excluded = dict.fromkeys((e.b, e.excluded) for e in pattern)
            none = np.prod([1.0 - self._share(*states) for states in given])
            all_kept = np.prod([1.0 - self._share(*states) for states in excluded])
            statement = Excludes(
                tuple(self._states(*states) for states in given), tuple(self._states(*states) for states in excluded)
            )
            yield Finding(statement, float(len(self.rows) * (1.0 - none) * (1.0 - all_kept)))

    def _share(self, column: int, states: Sequence[int]) -> float:
        inside = self.columns[column].members[list(states)].sum(axis=0) > 0
        return float(inside[self.rows.codes[column]].mean())

    def _sides(self, implications: Implications) -> dict[Side, Counts]:
        """The sides of ranges that say something new."""
        counts = {
            side: found
            for side, found in self.found.ranges.counts(self.rows)
            if self._leads(side.a, side.b) and (side.a, side.b) not in self.found.dependencies.found
        }
        strongest = sorted(counts, key=lambda s: (-counts[s].expected, self._names(s.a, s.b), s.state, s.sign))
        orders = [(r.a, r.b) for r in self.found.relations.found if r.sign == "<="]
        return {side: counts[side] for side in implications.without_implied_sides(strongest, orders)}
