"""Where values stand among the training rows, and measures of answers: how much they ask for, how different they are.

`Percentiles` holds one distribution function Q_d per column. The shift of a cell is |Q_d(x̃) − Q_d(x)|; the total shift
TS sums it over the free features and the maximum shift MS is the largest of them. Columns without an order, special
codes and missing cells have no percentile: there, a change counts 1.

A measure takes the answers as a matrix in original units, (n_rows, n_features), and gives NaN for rows without one.
`found` marks the rows that have an answer, by default those that are not entirely missing. How typical answers are is
measured in `faithfulness`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import AttainError, DataError, listed
from attain.schema import Feature, Schema
from attain.tables import ordinary, unchanged

if TYPE_CHECKING:
    from attain.population.space import MeasuringSpace

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


REAL_VALUES: Final = (
    "New values in these answers are those of real people in the training data; `copies_a_person` marks answers that "
    "repeat somebody's free cells exactly. Do not show them to others if the records are confidential."
)
"""Note for results whose answers reuse values of training rows."""


def measured(
    answers: ArrayLike,
    found: ArrayLike | None,
    width: int,
    measure: Callable[[FloatArray, BoolArray], FloatArray | float],
) -> FloatArray:
    """The measure of every answer, NaN for rows without one.

    `measure(rows, present)` gets the answers, (n_found, width), and the mask of the rows that have one; it returns one
    number for each, or one for all.
    """
    matrix = as_matrix(answers, width)
    present = answered(matrix, found)
    result = np.full(len(matrix), np.nan)
    if present.any():
        result[present] = measure(matrix[present], present)
    return result


def answered(answers: FloatArray, found: ArrayLike | None) -> BoolArray:
    """Which rows have an answer: as `found` says, or by default those that are not entirely missing."""
    if found is None:
        return np.asarray(~np.isnan(answers).all(axis=1))
    return booleans("found", found, len(answers), "answers")


def booleans(name: str, mask: ArrayLike, number: int, what: str) -> BoolArray:
    """The mask as an array; raises unless it holds one boolean for each of the `number` items."""
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.shape != (number,):
        raise DataError(
            f"{name} must hold one boolean for each of the {number} {what}, got {array.dtype} of shape {array.shape}"
        )
    return array


def own_rows(factuals: ArrayLike, width: int, present: BoolArray) -> FloatArray:
    """The factuals of the rows that have an answer; raises unless there is one factual per answer."""
    matrix = as_matrix(factuals, width)
    if len(matrix) != len(present):
        raise DataError(f"factuals must have one row for each of the {len(present)} answers, got {len(matrix)} rows")
    return matrix[present]


def total_shift(
    answers: ArrayLike, factuals: ArrayLike, percentiles: Percentiles, found: ArrayLike | None = None
) -> FloatArray:
    """TS = Σ_d |Q_d(x̃_d) − Q_d(x_d)| over the free features d: from 0 to their number."""
    return _shifted(lambda shifts: shifts.sum(axis=-1), answers, factuals, percentiles, found)


def max_shift(
    answers: ArrayLike, factuals: ArrayLike, percentiles: Percentiles, found: ArrayLike | None = None
) -> FloatArray:
    """MS = max_d |Q_d(x̃_d) − Q_d(x_d)| over the free features d: from 0 to 1."""
    return _shifted(lambda shifts: shifts.max(axis=-1, initial=0.0), answers, factuals, percentiles, found)


def _shifted(
    summary: Callable[[FloatArray], FloatArray],
    answers: ArrayLike,
    factuals: ArrayLike,
    percentiles: Percentiles,
    found: ArrayLike | None,
) -> FloatArray:
    schema = percentiles.schema

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        return summary(percentiles.shift(own_rows(factuals, len(schema), present), rows)[:, schema.free_columns])

    return measured(answers, found, len(schema), measure)


def changed(answers: ArrayLike, factuals: ArrayLike, schema: Schema, found: ArrayLike | None = None) -> FloatArray:
    """L0: the number of free features that change; clocks, which advance with time, do not count."""
    free = np.setdiff1d(schema.free_columns, schema.clocks)

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        return (~unchanged(own_rows(factuals, len(schema), present)[:, free], rows[:, free])).sum(axis=1)

    return measured(answers, found, len(schema), measure)


def mean_pairwise_distance(rows: ArrayLike, owners: ArrayLike, n_rows: int, space: MeasuringSpace) -> FloatArray:
    """The mean distance between the options of each factual row, in the measuring space; NaN for fewer than two.

    Parameters
    ----------
    rows, owners
        The options, (n_options, n_features), and the position of the factual that each belongs to:
        `Counterfactuals.rows` and `.owners`.
    n_rows
        The number of factual rows.
    """
    matrix, owner = as_matrix(rows, len(space.schema)), np.asarray(owners)
    if owner.shape != (len(matrix),) or not all(0 <= position < n_rows for position in owner.tolist()):
        raise DataError(
            f"owners must hold a position from 0 to {n_rows - 1} for each of the {len(matrix)} options, got "
            f"{owner.dtype} of shape {owner.shape}: {listed(owner.ravel().tolist())}"
        )
    number, result = np.bincount(owner.astype(np.intp), minlength=n_rows), np.full(n_rows, np.nan)
    several = np.flatnonzero(number[owner.astype(np.intp)] > 1)
    if len(several):
        points = space.transform(matrix[several[np.argsort(owner[several], kind="stable")]])
        groups = np.split(points, np.cumsum(number[number > 1])[:-1])
        result[number > 1] = [pdist(group).mean() for group in groups]
    return result


class Copies:
    """Recognises rows that equal a known one, cell by cell."""

    def __init__(self, rows: np.ndarray) -> None:
        self._known = set(_keys(rows))

    def of(self, rows: np.ndarray) -> np.ndarray:
        """1 for each row that is among the known ones, else 0."""
        return np.array([key in self._known for key in _keys(rows)], dtype=np.float64)


def _keys(rows: np.ndarray) -> list[bytes]:
    plain = np.where(np.isnan(rows), np.nan, rows) + 0.0  # one bit pattern for NaN, and no negative zero
    return [row.tobytes() for row in plain]


Norm: TypeAlias = Literal["l0", "l1", "l2", "linf"]
_ORDERS: Final = {"l1": 1, "l2": 2, "linf": np.inf}


def distance(
    answers: ArrayLike,
    factuals: ArrayLike,
    space: MeasuringSpace,
    norm: Norm = "l2",
    found: ArrayLike | None = None,
) -> FloatArray:
    """The distance of each answer from its factual in the measuring space, over the free features.

    `l0` counts the features that change. The others are norms of the difference of the points, in which a changed level
    without an order switches two indicators: 2 in `l1`, √2 in `l2`, 1 in `linf`.
    """
    schema = space.schema
    if norm == "l0":
        return changed(answers, factuals, schema, found)
    if norm not in _ORDERS:
        raise AttainError(f"norm must be one of l0, {', '.join(_ORDERS)}, got {norm!r}")
    free = np.isin(np.arange(len(schema)), schema.free_columns)

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        own = own_rows(factuals, len(schema), present)
        moved = space.transform(np.where(free, rows, 0.0)) - space.transform(np.where(free, own, 0.0))
        return np.asarray(np.linalg.norm(moved, _ORDERS[norm], axis=1))

    return measured(answers, found, len(schema), measure)


def copies(
    answers: ArrayLike, train_values: ArrayLike, schema: Schema, found: ArrayLike | None = None, *, free: bool = False
) -> FloatArray:
    """1 for each answer that repeats a training row exactly, cell by cell, else 0; or its free cells alone.

    An answer counts even if the training row is its own factual.
    """
    columns = np.asarray(schema.free_columns) if free else np.arange(len(schema))
    known = Copies(as_matrix(train_values, len(schema))[:, columns])
    return measured(answers, found, len(schema), lambda rows, _: known.of(rows[:, columns]))
