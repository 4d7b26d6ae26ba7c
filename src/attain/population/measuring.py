"""Measures of answers, one number per row: how much they ask for, how different options are, and which are copies.

A measure takes the answers as a matrix in original units, (n_rows, n_features), and gives NaN for rows without one.
`found` marks the rows that have an answer, by default those that are not entirely missing. How typical answers are is
measured in `typical` and `connectedness`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import DataError, listed
from attain.population.percentiles import Percentiles, as_matrix
from attain.population.space import MeasuringSpace
from attain.schema import Schema
from attain.tables import unchanged

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
