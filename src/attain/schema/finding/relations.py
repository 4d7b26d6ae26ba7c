"""Relations between two numbers: a <= b and a = b.

Candidates are screened on few rows and checked on more, as HyFD does for functional dependencies (Papenbrock and
Naumann 2016): what does not hold on a sample need not be counted on all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from attain.schema.finding.rows import SAMPLE, Rows
from attain.schema.finding.statements import Relation
from attain.schema.finding.statistics import BY_CHANCE, MOSTLY, PROPOSED, SMALLEST, Counts, edge


def _share(relation: Relation) -> float:
    """The share of the rows expected to break a relation that may."""
    return MOSTLY if relation.sign == "<=" else BY_CHANCE


def measured(relation: Relation, rows: Rows) -> Counts:
    """The counts of a relation."""
    left, right = rows.numbers[relation.a], rows.numbers[relation.b]
    known = ~np.isnan(left) & ~np.isnan(right)
    left, right = left[known], right[known]
    slack = 1e-9 * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    if relation.sign == "<=":
        return _order(left, right, slack)
    ordered, n = np.sort(left), len(left)
    above, below = np.searchsorted(ordered, right + slack, "right"), np.searchsorted(ordered, right - slack)
    expected = float((1.0 - (above - below) / max(n, 1)).sum())
    return Counts(n, int(np.count_nonzero(np.abs(left - right) > slack)), expected, n)


def _order(left: np.ndarray, right: np.ndarray, slack: np.ndarray) -> Counts:
    """The counts of `left <= right`. Rows are in random order, so the next row's left cell is an independent one."""
    n, broken = len(left), int(np.count_nonzero(left - right > slack))
    expected = float(np.searchsorted(np.sort(right), left - slack).sum() / max(n, 1))
    unrelated = np.sort(right - np.roll(left, 1))
    out = int(np.searchsorted(unrelated, 0.0))
    near = int(np.searchsorted(unrelated, unrelated[min(2 * out, n - 1)], "right")) - out if n else 0
    inside = int(np.count_nonzero(right - left <= unrelated[out + near - 1])) - broken if near else 0
    return Counts(n, broken, expected, n, edge(broken, max(inside, 0), out / max(out + near, 1)))


@dataclass
class Relations:
    """Candidates for relations."""

    exceptions: float
    found: list[Relation] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.found)

    def propose(self, half: Rows) -> None:
        """Takes the relations that hold on these rows."""
        self.found = list(_candidates(half))
        self.test(half, PROPOSED)

    def test(self, half: Rows, threshold: float) -> None:
        """Keeps the relations that hold on these rows and would not by chance."""
        self.found = [r for r in self.found if measured(r, half).hold(self.exceptions, threshold, _share(r))]

    def confirm(self, rows: Rows, threshold: float) -> None:
        """Keeps the relations that hold on all rows."""
        self.found = [r for r in self.found if measured(r, rows).confirmed(self.exceptions, threshold, _share(r))]


def _candidates(half: Rows) -> Iterator[Relation]:
    """Orders and equalities that hold on a sample, and could be told from chance."""
    sample, numbers = half.sample.numbers, half.numeric
    known = ~np.isnan(sample)
    for a in numbers:
        gap = sample[a] - sample[numbers]
        slack = 1e-9 * np.maximum(1.0, np.maximum(np.abs(sample[a]), np.abs(sample[numbers])))
        both = np.count_nonzero(known[a] & known[numbers], axis=1)
        few = both * 0.005 + 2
        above = np.count_nonzero(gap > slack, axis=1)
        apart = np.count_nonzero(np.abs(gap) > slack, axis=1)
        for k, b in enumerate(numbers):
            if a == b or both[k] < SMALLEST / 10:  # a column that is mostly missing
                continue
            if apart[k] <= few[k]:
                if a < b:
                    yield Relation("=", a, b)
            elif above[k] <= few[k]:
                relation = Relation("<=", a, b)
                if measured(relation, half.sample).expected * len(half) >= SAMPLE:
                    yield relation
