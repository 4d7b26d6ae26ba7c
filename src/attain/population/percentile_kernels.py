"""Look-ups of `Percentiles`, one cell after the other: kernels beside its NumPy functions."""

from __future__ import annotations

import math

import numpy as np

from attain.core.compiled import kernel, lean
from attain.population.percentiles import EDGE, Curves

EXAMPLE = Curves(np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(1))


@lean
def midrank(cell: float, j: int, curves: Curves) -> float:
    """The interpolated midrank of a cell of column j; NaN where it has none."""
    starts, points, shares, code_starts, codes = curves
    start, end = starts[j], starts[j + 1]
    known = cell == cell and start < end
    for c in range(code_starts[j], code_starts[j + 1]):
        known = known and cell != codes[c]
    if not known:
        return math.nan
    after, stop = start, end
    while after < stop:  # the first point above the cell
        middle = (after + stop) >> 1
        if points[middle] <= cell:
            after = middle + 1
        else:
            stop = middle
    share = after + j  # each column has one share more than points
    if after > start and points[after - 1] == cell:
        return (shares[share - 1] + shares[share]) / 2
    result = (shares[share] + shares[share]) / 2
    if start < after < end:
        along = (cell - points[after - 1]) / (points[after] - points[after - 1])
        above, below = shares[share + 1] - shares[share], shares[share] - shares[share - 1]
        result += EDGE * (along * above - (1 - along) * below)
    return result


@kernel((np.zeros((1, 1)), np.zeros(1, dtype=np.int64), EXAMPLE, np.zeros((1, 1))))
def midranks(matrix: np.ndarray, columns: np.ndarray, curves: Curves, result: np.ndarray) -> None:
    """`Percentiles.interpolated` for midranks, into `result`."""
    for i in range(len(matrix)):
        for place in range(len(columns)):
            result[i, place] = midrank(matrix[i, place], columns[place], curves)
