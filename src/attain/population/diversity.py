"""How different the options offered to one row are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from attain.core.arrays import FloatArray
from attain.core.errors import DataError
from attain.population.percentiles import as_matrix
from attain.population.space import MeasuringSpace


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
    matrix = as_matrix(rows, len(space.schema))
    whose = _checked(owners, len(matrix), n_rows)
    number, result = np.bincount(whose, minlength=n_rows), np.full(n_rows, np.nan)
    if not (number > 1).any():
        return result
    several = np.flatnonzero(number[whose] > 1)
    points = space.transform(matrix[several[np.argsort(whose[several], kind="stable")]])
    start = 0
    for row in np.flatnonzero(number > 1):
        result[row] = pdist(points[start : start + number[row]]).mean()
        start += number[row]
    return result


def _checked(owners: ArrayLike, n_options: int, n_rows: int) -> np.ndarray:
    whose = np.asarray(owners)
    if whose.shape != (n_options,) or (n_options and whose.dtype.kind not in "iu"):
        raise DataError(
            f"owners must hold one position for each of the {n_options} options, got {whose.dtype} of shape "
            f"{whose.shape}"
        )
    if n_options and not (whose.min() >= 0 and whose.max() < n_rows):
        raise DataError(f"owners must be between 0 and {n_rows - 1}, got {whose.min()} to {whose.max()}")
    return whose.astype(np.intp)
