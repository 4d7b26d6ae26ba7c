"""Which of many rows are kept for each person: the nearest (`Pool`), and those that differ (`diverse`)."""

from __future__ import annotations

import numpy as np

from attain.core.arrays import first_of_each, rank_within
from attain.tables import Region


class Pool:
    """Keeps, for each of n owners, the `keep` nearest distinct rows added; equal rows must be equally near."""

    def __init__(self, n_owners: int, features: int, keep: int) -> None:
        self.keep = keep
        self._rows = np.empty((n_owners, keep, features))
        self._distances = np.full((n_owners, keep), np.inf)
        self.size = np.zeros(n_owners, dtype=np.intp)
        self.nearest = np.full(n_owners, np.inf)

    def add(self, rows: np.ndarray, owners: np.ndarray, distances: np.ndarray) -> None:
        """Adds rows, each with its owner and how far it is from this owner."""
        if not len(rows):
            return
        touched = np.unique(owners)
        filled = self._filled[touched]
        # what is kept of these owners, then what is new; of equal rows the first stays
        rows = np.concatenate((self._rows[touched][filled], rows))
        distances = np.concatenate((self._distances[touched][filled], distances))
        owners = np.concatenate((np.repeat(touched, self.size[touched]), owners))
        distinct = first_of_each(rows, owners)
        rows, owners, distances = rows[distinct], owners[distinct], distances[distinct]
        # the nearest of each owner; the places after them are empty
        order = np.lexsort((distances, owners))
        rank = rank_within(owners[order])
        order, rank = order[rank < self.keep], rank[rank < self.keep]
        self._rows[owners[order], rank] = rows[order]
        self._distances[touched] = np.inf
        self._distances[owners[order], rank] = distances[order]
        self.size[touched] = np.bincount(np.searchsorted(touched, owners[order]), minlength=len(touched))
        self.nearest[touched] = self._distances[touched, 0]

    @property
    def _filled(self) -> np.ndarray:
        return np.arange(self.keep) < self.size[:, None]

    @property
    def rows(self) -> np.ndarray:
        """All rows kept, grouped by owner, nearest first."""
        return self._rows[self._filled]

    @property
    def owners(self) -> np.ndarray:
        """The owner of each row."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @property
    def distances(self) -> np.ndarray:
        """How far each row is from its owner."""
        return self._distances[self._filled]


def diverse(
    rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, region: Region, options: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At most `options` rows per owner: the cheapest, the cheapest that change other sets of features, then others.

    Never the same row twice.
    """
    kept = diverse_order(rows, owners, cost, region, options)
    return rows[kept], owners[kept], cost[kept]


def diverse_order(rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, region: Region, options: int) -> np.ndarray:
    """The positions of the rows that `diverse` chooses, grouped by owner, in its order."""
    distinct = first_of_each(rows, owners)
    order = distinct[np.lexsort((cost[distinct], owners[distinct]))]
    repeated = np.ones(len(order), dtype=bool)
    repeated[first_of_each(region.changed(rows[order], owners[order]), owners[order])] = False
    order = order[np.lexsort((repeated, owners[order]))]
    return np.asarray(order[rank_within(owners[order]) < options])


def different_changes(sort_key: np.ndarray, owners: np.ndarray, changed: np.ndarray, n: int) -> np.ndarray:
    """The positions of at most n rows of each owner, all firsts, then all seconds, …: the best of those left each time.

    Left are the rows that do not change every feature that an earlier one changes: a change of the same features by
    other amounts, or of more features, is not a different one. `changed` (rows, d) are the features that each row
    changes; a smaller `sort_key` is better.
    """
    left = np.lexsort((sort_key, owners))
    chosen = [left[:0]]
    for _ in range(n):
        first = left[rank_within(owners[left]) == 0]
        chosen.append(first)
        best = first[np.searchsorted(owners[first], owners[left])]
        left = left[(changed[best] & ~changed[left]).any(axis=1)]  # without the best itself
    return np.concatenate(chosen)
