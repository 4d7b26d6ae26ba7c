"""Who has an answer, and a number for each who does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attain.core.errors import AttainError, DataError
from attain.population.percentiles import as_matrix

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]


def answered(answers: FloatArray, found: ArrayLike | None) -> BoolArray:
    """Who has an answer: as told, or else everybody whose row is not entirely missing."""
    if found is None:
        return np.asarray(~np.isnan(answers).all(axis=1))
    return booleans("found", found, len(answers), "answers")


def booleans(name: str, mask: ArrayLike, number: int, what: str) -> BoolArray:
    """The mask, refused unless it holds one boolean for each of the things it is about."""
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.shape != (number,):
        raise DataError(
            f"{name} has the shape {array.shape} and holds {array.dtype}; it takes one boolean for each of the "
            f"{number} {what}"
        )
    return array


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


def own_rows(factuals: ArrayLike, width: int, present: BoolArray) -> FloatArray:
    """The factuals of the people who have an answer, refused unless there is one for every person."""
    matrix = as_matrix(factuals, width)
    if len(matrix) != len(present):
        raise DataError(f"factuals has {len(matrix)} rows, but there are {len(present)} answers; give one row a person")
    return matrix[present]


def mean_of_answered(values: FloatArray) -> float:
    """The mean over the people who have a number; NaN where nobody has."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def positive_whole(name: str, value: int) -> int:
    """The value, refused unless it is a whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise AttainError(f"{name} is {value!r}; it takes a whole number above 0")
    return int(value)
