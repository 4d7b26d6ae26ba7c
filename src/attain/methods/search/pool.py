"""The nearest hits of each row, while a search goes on."""

from __future__ import annotations

import numpy as np


class Pool:
    """Keeps, for each of n owners, the `keep` nearest distinct rows that were added; equal rows are equally near."""

    def __init__(self, n_owners: int, features: int, keep: int) -> None:
        self.keep = keep
        self._rows = np.empty((n_owners, keep, features))
        self._distances = np.full((n_owners, keep), np.inf)
        self.size = np.zeros(n_owners, dtype=np.intp)
        self.nearest = np.full(n_owners, np.inf)

    def add(self, rows: np.ndarray, owners: np.ndarray, distances: np.ndarray) -> None:
        """Adds rows, each with its owner and its distance from it."""
        if not len(rows):
            return
        touched = np.unique(owners)
        places = np.arange(self.keep) < self.size[touched, None]
        rows = np.concatenate((self._rows[touched][places], rows))
        distances = np.concatenate((self._distances[touched][places], distances))
        owners = np.concatenate((np.repeat(touched, self.size[touched]), owners))
        distinct = first_of_each(rows, owners)
        rows, owners, distances = rows[distinct], owners[distinct], distances[distinct]
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


def rank_within(owners: np.ndarray) -> np.ndarray:
    """The position of each entry among those of its owner; owners are sorted."""
    every = np.arange(len(owners))
    first = np.zeros(len(owners), dtype=np.intp)
    first[1:] = np.where(owners[1:] != owners[:-1], every[1:], 0)
    return every - np.maximum.accumulate(first)


def marked(n: int, places: np.ndarray) -> np.ndarray:
    """Which of n positions are among `places`, (n,)."""
    found = np.zeros(n, dtype=bool)
    found[places] = True
    return found


def first_of_each(rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Positions of the first copy of each distinct (owner, row), in order."""
    keyed = np.ascontiguousarray(np.column_stack((owners.astype(np.float64), rows)) + 0.0)
    keyed[np.isnan(keyed)] = np.nan  # one bit pattern for all
    keys = keyed.view(np.dtype((np.void, keyed.shape[1] * keyed.itemsize))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])
