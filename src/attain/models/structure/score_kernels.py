"""Kernels of `attain.models.structure.compiled`."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from attain.core.compiled import inlined, kernel
from attain.models.structure.states import NUMBER, UNKNOWN

Arrays: TypeAlias = tuple[np.ndarray, ...]

_BLOCK = 64
"""How many rows go down a tree side by side: they wait for memory together, and its nodes stay in the cache."""
_NAN, _STATE = 0x7FF8 << 48, (1 << 32) - 1
"""The bits of a NaN, and those of it that hold a state."""


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


@kernel(
    "f8[:, ::1](f8[:, ::1], Tuple((b1[::1], i8[::1], f8[::1], b1[::1])), "
    "Tuple((i4[:, ::1], f8[:, ::1], b1[::1], i8[::1], i8[::1], f8[:, ::1])), f8[::1], b1)"
)
def tree_sums(rows: np.ndarray, states: Arrays, trees: Arrays, start: np.ndarray, single: bool) -> np.ndarray:
    """As `TreeSum.__call__`."""
    numeric, first, codes, refused = states
    nodes, thresholds, sides, roots, group, value = trees
    n, d = rows.shape
    result = np.empty((n, len(start)))
    cells = np.empty((_BLOCK, d))
    state = cells.view(np.int64)  # that of a cell which is not a number, as the end of a NaN
    node = np.empty(_BLOCK, dtype=np.uintp)
    active = np.empty(_BLOCK, dtype=np.uintp)
    for begin in range(0, n, _BLOCK):
        size = min(_BLOCK, n - begin)
        for i in range(size):
            known = True
            for j in range(d):
                cells[i, j] = rows[begin + i, j]
                own = _state(rows[begin + i, j], j, numeric, first, codes)
                if own == UNKNOWN or (own >= 0 and refused[own]):
                    known = False
                    own = first[j]
                if own >= 0:
                    state[i, j] = _NAN | own
            for v in range(len(start)):  # a slice would compile the message of an error, for seconds
                result[begin + i, v] = start[v] if known else np.nan
        for t in range(len(roots)):
            left = np.uintp(0)
            for i in range(size):
                node[i] = roots[t]
                active[left] = i
                left += np.uintp(nodes[roots[t], 0] >= 0)
            while left > 0:  # the rows that are not at a leaf yet, one step down
                waiting, left = left, np.uintp(0)
                for a in range(waiting):
                    i = active[a]
                    at = node[i]
                    column = np.uintp(nodes[at, 0])
                    cell = cells[i, column]
                    # both ways are computed, for a wrong guess of a branch costs more
                    listed = cell != cell
                    entry = sides[np.uintp(listed * (nodes[at, 2] + (state[i, column] & _STATE)))]
                    at = np.uintp(nodes[at, 1] + ((cell > thresholds[at, 2]) | (listed & entry)))
                    node[i] = at
                    active[left] = i
                    left += np.uintp(nodes[at, 0] >= 0)
            for i in range(size):
                for v in range(value.shape[1]):
                    total = result[begin + i, group[t] + v] + value[node[i], v]
                    result[begin + i, group[t] + v] = np.float32(total) if single else total
    return result
