"""The rows that laws are looked for in: all, or one half of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attain.schema.finding.states import Column, Feature, column_of

SAMPLE = 2000
"""The number of rows that candidates are screened on."""
MOST_VALUES = 1000
"""A number with more distinct values is not looked at value by value."""


@dataclass(frozen=True)
class Rows:
    """Rows, column by column: as atoms, as numbers and value by value.

    `codes` (d, n) are atoms. `numbers` (d, n) are ordinary numbers, and NaN everywhere else. Columns with few distinct
    values are in `places` (n,): positions in `distinct`, −1 where a cell is not ordinary.
    """

    columns: tuple[Column, ...]
    codes: np.ndarray
    numbers: np.ndarray
    distinct: Mapping[int, np.ndarray]
    places: Mapping[int, np.ndarray]

    def __len__(self) -> int:
        return self.codes.shape[1]

    def __getitem__(self, chosen: np.ndarray | slice) -> Rows:
        places = {j: own[chosen] for j, own in self.places.items()}
        return Rows(self.columns, self.codes[:, chosen], self.numbers[:, chosen], self.distinct, places)

    @property
    def sample(self) -> Rows:
        """The first rows, for screening."""
        return self[slice(SAMPLE)]

    @property
    def numeric(self) -> list[int]:
        """The columns of numbers."""
        return [j for j, column in enumerate(self.columns) if column.feature.numeric]

    def table(self, a: int, b: int) -> np.ndarray:
        """The number of rows in each atom of a and of b, (atoms of a, atoms of b)."""
        return counts(self.codes[a], self.codes[b], (len(self.columns[a].atoms), len(self.columns[b].atoms)))


def counts(x: np.ndarray, y: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """How often each pair of positions occurs."""
    flat = np.bincount(x.astype(np.intp) * shape[1] + y, minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float64)


def rows_of(features: Sequence[Feature], values: np.ndarray) -> Rows:
    """The rows of a matrix (n, d)."""
    columns = tuple(column_of(feature, values[:, j]) for j, feature in enumerate(features))
    numbers = np.full(values.T.shape, np.nan)
    distinct, places = {}, {}
    for j, feature in enumerate(features):
        cells = values[:, j]
        ordinary = ~np.isnan(cells) & ~np.isin(cells, list(feature.special))
        if feature.numeric:
            numbers[j, ordinary] = cells[ordinary]
            if len(np.unique(cells[:SAMPLE])) > MOST_VALUES:
                continue
        found, inverse = np.unique(cells[ordinary], return_inverse=True)
        if 2 <= len(found) <= MOST_VALUES:
            distinct[j], places[j] = found, np.full(len(cells), -1, dtype=np.int32)
            places[j][ordinary] = inverse
    return Rows(columns, np.stack([column.codes for column in columns]), numbers, distinct, places)
