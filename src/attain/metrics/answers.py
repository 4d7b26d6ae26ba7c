"""Who has an answer, and a number for each who does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attain.errors import AttainError, DataError
from attain.percentiles import as_matrix

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]


def answered(answers: FloatArray, found: ArrayLike | None) -> BoolArray:
    """Who has an answer: as told, or else everybody whose row is not entirely missing."""
    if found is None:
        return np.asarray(~np.isnan(answers).all(axis=1))
    mask = np.asarray(found)
    if mask.dtype != np.bool_ or mask.shape != (len(answers),):
        raise DataError(
            f"found has the shape {mask.shape} and holds {mask.dtype}; it takes one boolean for each of the "
            f"{len(answers)} answers"
        )
    return mask


def measured(
    answers: ArrayLike, found: ArrayLike | None, width: int, measure: Callable[[FloatArray, BoolArray], FloatArray]
) -> FloatArray:
    """The measure of every answer, NaN for people without one; `measure` gets the answers and whose they are."""
    matrix = as_matrix(answers, width)
    present = answered(matrix, found)
    result = np.full(len(matrix), np.nan)
    if present.any():
        result[present] = measure(matrix[present], present)
    return result


def positive_whole(name: str, value: int) -> int:
    """The value, refused unless it is a whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise AttainError(f"{name} is {value!r}; it takes a whole number above 0")
    return int(value)
