"""Kernels of `attain.models.structure.compiled`."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import inlined, kernel
from attain.models.structure.states import NUMBER, UNKNOWN


@inlined
def _state(cell: float, j: int, numeric: np.ndarray, first: np.ndarray, codes: np.ndarray) -> int:
    """As `States.of_cells`, of one cell."""
    last = first[j + 1] - 1
    if np.isnan(cell):
        return last
    if numeric[j]:
        for state in range(first[j], last):
            if codes[state] == cell:
                return state
        return NUMBER
    if 0 <= cell < last - first[j] and cell == np.floor(cell):
        return first[j] + int(cell)
    return UNKNOWN


@kernel("f8[::1](f8[:, ::1], f8, f8[::1], f8[::1], b1[::1], i8[::1], f8[::1])")
def sums(
    rows: np.ndarray,
    constant: float,
    slopes: np.ndarray,
    terms: np.ndarray,
    numeric: np.ndarray,
    first: np.ndarray,
    codes: np.ndarray,
) -> np.ndarray:
    """As `CellSum.__call__`."""
    result = np.empty(len(rows))
    for i in range(len(rows)):
        total = constant
        for j in range(rows.shape[1]):
            state = _state(rows[i, j], j, numeric, first, codes)
            if state >= 0:
                total += terms[state]
            elif state == NUMBER:
                total += rows[i, j] * slopes[j]
            else:
                total = np.nan
        result[i] = total
    return result
