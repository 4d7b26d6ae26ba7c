"""The nearest hits of each person, while a search goes on."""

from __future__ import annotations

import numpy as np


class Pool:
    """Keeps, for each of n people, the `keep` nearest distinct rows that were added."""

    def __init__(self, people: int, features: int, keep: int) -> None:
        self.keep = keep
        self._rows = np.empty((0, features))
        self._owners = np.empty(0, dtype=np.intp)
        self._distances = np.empty(0)
        self.size = np.zeros(people, dtype=np.intp)
        self.nearest = np.full(people, np.inf)

    def add(self, rows: np.ndarray, owners: np.ndarray, distances: np.ndarray) -> None:
        """Takes in rows, each with its owner and its distance from them."""
        if not len(rows):
            return
        rows = np.concatenate((self._rows, rows))
        owners = np.concatenate((self._owners, owners))
        distances = np.concatenate((self._distances, distances))
        distinct = first_of_each(rows, owners)
        rows, owners, distances = rows[distinct], owners[distinct], distances[distinct]
        order = np.lexsort((distances, owners))
        order = order[rank_within(owners[order]) < self.keep]
        self._rows, self._owners, self._distances = rows[order], owners[order], distances[order]
        self.size = np.bincount(self._owners, minlength=len(self.size))
        first = rank_within(self._owners) == 0
        self.nearest[self._owners[first]] = self._distances[first]

    @property
    def rows(self) -> np.ndarray:
        """All rows kept, grouped by owner, nearest first."""
        return self._rows

    @property
    def owners(self) -> np.ndarray:
        """Whose each row is."""
        return self._owners

    @property
    def distances(self) -> np.ndarray:
        """How far each row is from its owner."""
        return self._distances


def rank_within(owners: np.ndarray) -> np.ndarray:
    """The position of each entry among those of its owner; owners are sorted."""
    return np.arange(len(owners)) - np.searchsorted(owners, owners, side="left")


def first_of_each(rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Positions of the first copy of each distinct (owner, row), in order."""
    keyed = np.ascontiguousarray(np.column_stack((owners.astype(np.float64), rows)) + 0.0)
    keyed[np.isnan(keyed)] = np.nan  # one bit pattern for all
    keys = keyed.view(np.dtype((np.void, keyed.shape[1] * keyed.itemsize))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])
