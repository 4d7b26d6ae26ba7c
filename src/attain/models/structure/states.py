"""The cells of the matrix that are states rather than numbers: levels, special codes, missing cells.

A compiled score has one entry for each state of each column, beside what it does with numbers. The states of column j
are numbered from `first[j]`: its levels or special codes in the schema's order, then a missing cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attain.schema import Schema

NUMBER = -1
"""In place of the number of a state: the cell is a number."""
UNKNOWN = -2
"""In place of the number of a state: a level that the schema does not have, or a cell between two levels."""


@dataclass(frozen=True, eq=False)
class States:
    """The states of d columns.

    Attributes
    ----------
    numeric
        Which columns hold numbers, (d,).
    first
        The number of each column's first state, and behind the last column the number S of all states, (d + 1,).
    codes
        The cell that each state stands for, (S,).
    """

    numeric: np.ndarray
    first: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, schema: Schema) -> States:
        """The states of a schema's columns."""
        codes = [
            np.array([*(feature.special if feature.numeric else range(len(feature.levels))), np.nan], dtype=np.float64)
            for feature in schema
        ]
        first = np.cumsum([0, *(len(some) for some in codes)], dtype=np.int64)
        return cls(np.array([feature.numeric for feature in schema]), first, np.concatenate(codes))

    @cached_property
    def column(self) -> np.ndarray:
        """The column of each state, (S,)."""
        return np.repeat(np.arange(len(self.numeric)), np.diff(self.first))

    @cached_property
    def _levels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The columns of levels, the first state of each, and the number of its levels."""
        columns = np.flatnonzero(~self.numeric)
        return columns, self.first[columns], np.diff(self.first)[columns] - 1

    @cached_property
    def _special(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The states that are special codes, their columns, and the codes."""
        special = np.flatnonzero(self.numeric[self.column] & ~np.isnan(self.codes))
        return special, self.column[special], self.codes[special]

    def of_cells(self, rows: np.ndarray) -> np.ndarray:
        """The number of each cell's state, or `NUMBER`, or `UNKNOWN`, (n, d)."""
        result = np.full(rows.shape, NUMBER, dtype=np.int64)
        columns, first, count = self._levels
        if len(columns):
            cells = rows[:, columns]
            inside = (cells >= 0) & (cells < count)
            place = np.where(inside, cells, 0.0).astype(np.int64)
            result[:, columns] = np.where(inside & (place == cells), first + place, UNKNOWN)
        special, columns, codes = self._special
        if len(special):
            at, which = np.nonzero(rows[:, columns] == codes)
            result[at, columns[which]] = special[which]
        missing = np.isnan(rows)
        if missing.any():
            at, j = np.nonzero(missing)
            result[at, j] = self.first[j + 1] - 1
        return result
