"""Shared parts of the per-row measures: which rows have an answer, and one number for each that does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import AttainError, DataError
from attain.population.percentiles import as_matrix


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


def measured(
    answers: ArrayLike, found: ArrayLike | None, width: int, measure: Callable[[FloatArray, BoolArray], FloatArray]
) -> FloatArray:
    """The measure of every answer, NaN for rows without one.

    `measure(rows, present)` gets the answers, (n_found, width), and the mask of the rows that have one.
    """
    matrix = as_matrix(answers, width)
    present = answered(matrix, found)
    result = np.full(len(matrix), np.nan)
    if present.any():
        result[present] = measure(matrix[present], present)
    return result


def own_rows(factuals: ArrayLike, width: int, present: BoolArray) -> FloatArray:
    """The factuals of the rows that have an answer; raises unless there is one factual per answer."""
    matrix = as_matrix(factuals, width)
    if len(matrix) != len(present):
        raise DataError(f"factuals must have one row for each of the {len(present)} answers, got {len(matrix)} rows")
    return matrix[present]


def positive_integer(name: str, value: int) -> int:
    """The value; raises unless it is an integer ≥ 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise AttainError(f"{name} must be an integer ≥ 1, got {value!r}")
    return int(value)
