"""Where a value stands among the training rows, and how far a change moves a row in that order.

`Percentiles` holds one distribution function Q_d per column. The shift of a cell is |Q_d(x̃) − Q_d(x)|; the total shift
TS sums it over the free features and the maximum shift MS is the largest of them. Columns without an order, special
codes and missing cells have no percentile: there, a change counts 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attain.core.arrays import FloatArray
from attain.core.errors import DataError
from attain.schema import Feature, Schema
from attain.tables import ordinary, unchanged

_Curve: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Percentiles:
    """The distribution functions Q_d of the training columns.

    Every argument named `values` may have any number of leading dimensions; the last one is the features in schema
    order or, where `columns` is given, those columns in that order.

    Attributes
    ----------
    schema
        What the columns are.
    points
        Per column, increasing values: the distinct training values. Special codes and missing cells are left out. Empty
        for a column without an order, and for one without training values.
    shares
        Per column, one entry more than points: 0, then the share of the training rows at or below each point.
    """

    schema: Schema
    points: tuple[FloatArray, ...]
    shares: tuple[FloatArray, ...]

    @classmethod
    def fit(cls, schema: Schema, values: ArrayLike) -> Percentiles:
        """The distribution functions of a training matrix."""
        matrix = as_matrix(values, len(schema))
        tables = [_table(feature, column) for feature, column in zip(schema, matrix.T, strict=True)]
        return cls(schema, tuple(points for points, _ in tables), tuple(shares for _, shares in tables))

    def of(self, values: ArrayLike, columns: ArrayLike | None = None) -> FloatArray:
        """The percentile of each cell, the share of training rows at or below it; NaN where a cell has none."""
        return self._apply(_at_or_below, values, columns)

    def interpolated(self, values: ArrayLike) -> FloatArray:
        """The percentile of each cell on straight lines between training values, which rise strictly."""
        return self._apply(_line, values, None)

    def shift(self, factuals: ArrayLike, counterfactuals: ArrayLike) -> FloatArray:
        """How far each cell moved, in [0, 1]: exactly 0 where it did not; NaN in rows without an answer.

        A changed cell counts 1 where either side has no percentile: another level, into or out of a special code, a
        missing cell filled or a cell emptied. So does a change in a column that has no training values at all. A row
        without an answer is one that is all NaN while its factual is not.
        """
        return _shift(self.of, factuals, counterfactuals)

    def interpolated_shift(self, factuals: ArrayLike, counterfactuals: ArrayLike) -> FloatArray:
        """`shift` by the interpolated distribution function: inside searches, never what is reported."""
        return _shift(self.interpolated, factuals, counterfactuals)

    def moved(self, rows: FloatArray, moves: FloatArray, where: NDArray[np.bool_]) -> FloatArray:
        """The rows with some cells moved among the training rows, (n, m, d).

        A cell at rank u, where rows that share its value count half, goes to the training value at rank u + move: so it
        stays where it is if many rows share that. A cell between training values moves as far as the one below it.

        Parameters
        ----------
        rows
            (n, d).
        moves
            How far each cell moves in each of m versions of its row, in percentiles from −1 to 1, (n, m, d).
        where
            The cells that move, (n, d). Those without a percentile stay.
        """
        versions = np.repeat(rows[:, None, :], moves.shape[1], axis=1)
        for j in self.schema.free_columns:
            points, shares = self.points[j], self.shares[j]
            at = np.flatnonzero(where[:, j] & ordinary(self.schema.features[j], rows[:, j]))
            if not at.size or not len(points):
                continue
            start = (np.searchsorted(points, rows[at, j], side="right") - 1).clip(min=0)
            ranks = (shares[start] + shares[start + 1])[:, None] / 2 + moves[at, :, j]
            goal = np.searchsorted(shares[1:], ranks).clip(max=len(points) - 1)
            versions[at, :, j] += points[goal] - points[start, None]
        return versions

    def _apply(self, curve: _Curve, values: ArrayLike, columns: ArrayLike | None) -> FloatArray:
        positions = np.arange(len(self.schema)) if columns is None else np.asarray(columns, dtype=np.intp)
        matrix = as_matrix(values, len(positions))
        result = np.full(matrix.shape, np.nan)
        for place, column in enumerate(positions):
            if len(self.points[column]):
                cells = np.ascontiguousarray(matrix[..., place])
                known = ordinary(self.schema.features[column], cells)
                percentiles = curve(cells, self.points[column], self.shares[column])
                result[..., place] = np.where(known, percentiles, np.nan)
        return result


def as_matrix(values: ArrayLike, width: int) -> FloatArray:
    """The values as float64; raises unless the last dimension is the expected number of columns."""
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        own = "; pass its `answers`" if hasattr(values, "answers") else ""
        raise DataError(
            f"the rows must be a matrix of numbers with {width} columns, got a {type(values).__name__}{own}"
        ) from None
    if matrix.ndim < 2 or matrix.shape[-1] != width:
        raise DataError(f"the matrix has the shape {matrix.shape}; its last dimension must be the {width} features")
    return matrix


def _shift(percentile: Callable[[FloatArray], FloatArray], factuals: ArrayLike, answers: ArrayLike) -> FloatArray:
    before, after = np.asarray(factuals, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    distance = np.abs(percentile(after) - percentile(before))
    same = unchanged(before, after)
    distance = np.where(same, 0.0, np.where(np.isnan(distance), 1.0, distance))
    unanswered = np.isnan(after).all(axis=-1, keepdims=True) & ~same.all(axis=-1, keepdims=True)
    return np.where(unanswered, np.nan, distance)


def _at_or_below(cells: FloatArray, points: FloatArray, shares: FloatArray) -> FloatArray:
    return shares[np.searchsorted(points, cells, side="right")]


def _line(cells: FloatArray, points: FloatArray, shares: FloatArray) -> FloatArray:
    return np.asarray(np.interp(cells, points, shares[1:]))


def _table(feature: Feature, cells: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The points and shares of one training column."""
    if not feature.ordered:
        return np.empty(0), np.zeros(1)
    points, counts = np.unique(cells[ordinary(feature, cells)], return_counts=True)
    return points, np.concatenate(([0], counts.cumsum())) / max(counts.sum(), 1)
