"""Pairs of states that never occur together, though often enough expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from attain.schema.finding.rows import Rows
from attain.schema.finding.statistics import PROPOSED, Counts


def counted(rows: Rows, a: int, b: int) -> Counts:
    """The counts of every state of a with every state of b, (states of a, states of b).

    A pair is read in either direction, so it applies to the rows of the more frequent of the two.
    """
    left, right = rows.columns[a], rows.columns[b]
    table = rows.table(a, b)
    both = left.members @ table @ right.members.T
    first = left.members @ table @ right.universe.T
    second = left.universe @ table @ right.members.T
    whole = left.universe @ table @ right.universe.T
    expected = first * second / np.maximum(whole, 1.0)
    return Counts(np.maximum(first, second), both, expected, np.minimum(first, second))


@dataclass
class Pairs:
    """Candidates, by pair of columns: which states of a and b exclude each other."""

    exceptions: float
    found: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(mask)) for mask in self.found.values())

    def propose(self, half: Rows) -> None:
        """Takes the pairs that hold on these rows."""
        spoken = [j for j, column in enumerate(half.columns) if column.n_states]
        self.found = {(a, b): np.array(True) for k, a in enumerate(spoken) for b in spoken[k + 1 :]}
        self._keep(half, lambda counts: counts.hold(self.exceptions, PROPOSED))

    def test(self, half: Rows, threshold: float) -> None:
        """Keeps the pairs that hold on these rows and would not by chance."""
        self._keep(half, lambda counts: counts.hold(self.exceptions, threshold))

    def confirm(self, rows: Rows, threshold: float) -> None:
        """Keeps the pairs that hold on all rows."""
        self._keep(rows, lambda counts: counts.confirmed(self.exceptions, threshold))

    def _keep(self, rows: Rows, condition: Callable[[Counts], np.ndarray]) -> None:
        held = {pair: mask & condition(counted(rows, *pair)) for pair, mask in self.found.items()}
        self.found = {pair: mask for pair, mask in held.items() if mask.any()}
