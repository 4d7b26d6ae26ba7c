"""Triples of levels that never occur together, though each two of them do."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from attain.schema.finding.rows import Rows
from attain.schema.finding.statistics import PROPOSED, Counts

MOST_LEVELS = 96
"""Triples are looked for among that many levels of all columns, the most frequent."""


@dataclass
class Triples:
    """Candidates: (k, 3) positions in `states`, each a (column, state)."""

    states: list[tuple[int, int]]
    exceptions: float
    found: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=np.intp))

    @classmethod
    def among(cls, rows: Rows, exceptions: float) -> Triples:
        """Triples of the most frequent levels."""
        ranked = []
        for j, column in enumerate(rows.columns):
            if column.feature.numeric:
                continue
            counts = np.bincount(rows.codes[j], minlength=len(column.atoms))
            for state in range(column.n_states):
                atom = column.atom(state)
                if atom is not None and atom.kind == "level":
                    ranked.append((-int(counts @ column.members[state]), column.feature.name, j, state))
        return cls(sorted((j, state) for _, _, j, state in sorted(ranked)[:MOST_LEVELS]), exceptions)

    def __len__(self) -> int:
        return len(self.found)

    def propose(self, half: Rows) -> None:
        """Takes the triples that hold on these rows."""
        columns = np.array([j for j, _ in self.states])
        if len(set(columns)) < 3:
            return
        inside = self._inside(half).astype(np.float32)
        together = (inside.T @ inside).astype(np.float64)
        found = []
        for x in range(len(columns) - 2):
            rest = inside[inside[:, x] > 0][:, x + 1 :]
            triple = (rest.T @ rest).astype(np.float64)
            y, z = np.triu_indices(triple.shape[0], 1)
            apart = (columns[y + x + 1] != columns[x]) & (columns[y + x + 1] != columns[z + x + 1])
            y, z = y[apart], z[apart]
            counts = _counts(triple[y, z], together, np.full(len(y), x), y + x + 1, z + x + 1, len(half))
            held = counts.hold(self.exceptions, PROPOSED)
            found.append(np.stack([np.full(held.sum(), x), y[held] + x + 1, z[held] + x + 1], axis=1))
        self.found = np.concatenate(found)

    def test(self, half: Rows, threshold: float) -> None:
        """Keeps the triples that hold on these rows and would not by chance."""
        self.found = self.found[self.counts(half).hold(self.exceptions, threshold)]

    def confirm(self, rows: Rows, threshold: float) -> None:
        """Keeps the triples that hold on all rows."""
        self.found = self.found[self.counts(rows).confirmed(self.exceptions, threshold)]

    def counts(self, rows: Rows) -> Counts:
        """The counts of every triple."""
        inside = self._inside(rows)
        single = inside.astype(np.float32)
        together = (single.T @ single).astype(np.float64)
        x, y, z = self.found.T
        triple = [np.count_nonzero(inside[:, i] & inside[:, j] & inside[:, k]) for i, j, k in self.found]
        return _counts(np.array(triple, dtype=np.float64), together, x, y, z, len(rows))

    def _inside(self, rows: Rows) -> np.ndarray:
        """Whether each row is in each state, (n, states)."""
        members = [rows.columns[j].members[state] > 0 for j, state in self.states]
        columns = [member[rows.codes[j]] for member, (j, _) in zip(members, self.states, strict=True)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), dtype=bool)


def _counts(triple: np.ndarray, together: np.ndarray, x: np.ndarray, y: np.ndarray, z: np.ndarray, n: int) -> Counts:
    """The counts of triples.

    Expected is the smallest of n_ab·n_c/n, n_ac·n_b/n, n_bc·n_a/n and n·n_ab·n_ac·n_bc/(n_a·n_b·n_c), so that what a
    pair explains is not expected.
    """
    single = np.diag(together)
    xy, xz, yz = together[x, y], together[x, z], together[y, z]
    nx, ny, nz = single[x], single[y], single[z]
    expected = [xy * nz / n, xz * ny / n, yz * nx / n, n * (xy / nx) * (xz / ny) * (yz / nz)]
    two = [xy, xz, yz]
    return Counts(np.maximum.reduce(two), triple, np.minimum.reduce(expected), np.minimum.reduce(two))
