"""Functional dependencies: a level, or one of few numbers, fixes a level or a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from attain.schema.finding.rows import Rows, counts
from attain.schema.finding.statistics import LARGEST_RATE, PROPOSED, Counts, chance

_COVERED = 0.9
"""The share of rows whose value of the first column has to prove by itself that it fixes the second."""
_PROVING = 9
"""A value with fewer rows in one half cannot prove anything by itself: P(V = 0) ≥ e⁻⁹ > 10⁻⁴."""
_ROWS = 3
"""The fewest rows of a value for it to be in the table, and the fewest that would break its entry by chance."""


@dataclass
class Dependencies:
    """Candidates (a, b), and for each value of a the value of b that goes with it."""

    exceptions: float
    found: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        """Each value of a is tested by itself."""
        return sum(map(len, self.found.values()))

    def propose(self, half: Rows) -> None:
        """Takes the dependencies that hold on these rows."""
        for a, b in self._screened(half):
            goes_with = _table((a, b), half).argmax(axis=1)
            if self._proved((a, b), goes_with, half, PROPOSED):
                self.found[a, b] = goes_with

    def test(self, half: Rows, threshold: float) -> None:
        """Keeps the dependencies that hold on these rows and would not by chance, value by value."""
        self.found = {pair: fixed for pair, fixed in self.found.items() if self._proved(pair, fixed, half, threshold)}

    def confirm(self, rows: Rows, threshold: float) -> None:
        """Takes the values of b from these rows; −1 for a value of a that has too few."""
        for (a, b), _ in list(self.found.items()):
            table = _table((a, b), rows)
            goes_with = table.argmax(axis=1)
            proof = _evidence(table, goes_with)
            enough = (proof.applies >= _ROWS) & (proof.expected >= _ROWS)
            enough &= proof.broken <= LARGEST_RATE * proof.applies
            if _whole(proof, enough).confirmed(self.exceptions, threshold) and len(set(goes_with[enough])) > 1:
                self.found[a, b] = np.where(enough, goes_with, -1)
            else:
                del self.found[a, b]

    def expected(self, pair: tuple[int, int], rows: Rows) -> float:
        """The number of rows expected to break the table."""
        fixed = self.found[pair]
        return float(_whole(_evidence(_table(pair, rows), fixed), fixed >= 0).expected)

    def _proved(self, pair: tuple[int, int], fixed: np.ndarray, half: Rows, threshold: float) -> bool:
        """Whether the table holds, and most rows have a value of a that proves it by itself."""
        proof = _evidence(_table(pair, half), fixed)
        proved = chance(proof.broken, proof.expected) <= threshold
        covered = proof.applies[proved].sum() >= _COVERED * proof.applies.sum()
        holds = _whole(proof, slice(None)).hold(self.exceptions, threshold)
        return bool(covered and holds) and len(set(fixed[proved])) > 1

    def _screened(self, half: Rows) -> Iterator[tuple[int, int]]:
        """Pairs for which, on a sample sorted by a, rows with the same a seldom differ in b."""
        places = half.sample.places
        names = list(places)
        if len(names) < 2:
            return
        sample = np.stack([places[j] for j in names], axis=1)
        for k, a in enumerate(names):
            often = np.bincount(half.places[a][half.places[a] >= 0])
            if often[often >= _PROVING].sum() < _COVERED * often.sum():
                continue
            ordered = sample[np.argsort(sample[:, k], kind="stable")]
            ordered = ordered[ordered[:, k] >= 0]
            same = ordered[1:, k] == ordered[:-1, k]
            before, after = ordered[:-1][same], ordered[1:][same]
            known = (before >= 0) & (after >= 0)
            differ = np.count_nonzero((before != after) & known, axis=0)
            enough = np.count_nonzero(known, axis=0) * 0.01 + 2 >= differ
            for m, b in enumerate(names):
                if m != k and enough[m]:
                    yield a, b


def _whole(proof: Counts, chosen: np.ndarray | slice) -> Counts:
    """The counts over the chosen values of a."""
    applies = proof.applies[chosen].sum()
    return Counts(applies, proof.broken[chosen].sum(), proof.expected[chosen].sum(), applies)


def _table(pair: tuple[int, int], rows: Rows) -> np.ndarray:
    """The number of rows with each value of a and of b."""
    x, y = (rows.places[j] for j in pair)
    known = (x >= 0) & (y >= 0)
    return counts(x[known], y[known], (len(rows.distinct[pair[0]]), len(rows.distinct[pair[1]])))


def _evidence(table: np.ndarray, fixed: np.ndarray) -> Counts:
    """The counts for each value of a."""
    rows = table.sum(axis=1)
    places = np.maximum(fixed, 0)
    right = np.take_along_axis(table, places[:, None], axis=1)[:, 0]
    share = table.sum(axis=0)[places] / max(table.sum(), 1)
    return Counts(rows, rows - right, rows * (1.0 - share), rows)
