"""Kernels of `space`: the points of rows, and what a cell adds to squared distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from attain.core.compiled import kernel, lean


@lean
def apart_by(x: Any, y: Any, one: Any) -> Any:
    """`gap` of two states; `one` is a 1 of their type."""
    on = one - one if x == one - one else one
    return one - one if x == y else (on if y == one - one else on + one)


@lean
def add_states(point: np.ndarray, others: np.ndarray, first: int, last: int, apart: np.ndarray, one: Any) -> None:
    """Adds what states differ by, of cells from `first` to `last`, to the squared distances (s,) of a point (cells,).

    Those to other points, (cells, s); four cells at a time, because reading and writing distances takes longest.
    """
    cell = first
    while cell + 4 <= last:
        a, b, c, d = point[cell], point[cell + 1], point[cell + 2], point[cell + 3]
        for i in range(len(apart)):
            two = apart_by(a, others[cell, i], one) + apart_by(b, others[cell + 1, i], one)
            apart[i] += two + apart_by(c, others[cell + 2, i], one) + apart_by(d, others[cell + 3, i], one)
        cell += 4
    while cell < last:
        for i in range(len(apart)):
            apart[i] += apart_by(point[cell], others[cell, i], one)
        cell += 1


@lean
def add_squares(point: np.ndarray, others: np.ndarray, first: int, last: int, apart: np.ndarray) -> None:
    """Adds (x − y)² of the numbers in cells from `first` to `last`, one cell after the other; see `add_states`."""
    cell = first
    while cell + 4 <= last:
        a, b, c, d = point[cell], point[cell + 1], point[cell + 2], point[cell + 3]
        for i in range(len(apart)):
            total = apart[i]
            total += (a - others[cell, i]) * (a - others[cell, i])
            total += (b - others[cell + 1, i]) * (b - others[cell + 1, i])
            total += (c - others[cell + 2, i]) * (c - others[cell + 2, i])
            total += (d - others[cell + 3, i]) * (d - others[cell + 3, i])
            apart[i] = total
        cell += 4
    while cell < last:
        for i in range(len(apart)):
            apart[i] += (point[cell] - others[cell, i]) * (point[cell] - others[cell, i])
        cell += 1


@lean
def place(
    row: np.ndarray,
    stated: np.ndarray,
    levels: np.ndarray,
    first: np.ndarray,
    states: np.ndarray,
    scaled: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    code_starts: np.ndarray,
    codes: np.ndarray,
    complete: np.ndarray,
    point: np.ndarray,
) -> None:
    """Puts the point of a row (d,) into (cells,); the arrays in between are `MeasuringSpace.for_kernels`."""
    for k in range(len(stated)):
        cell, start, known = row[stated[k]], first[k], levels[k]
        point[k] = 0.0
        if 0 <= cell < known and cell == np.floor(cell):
            point[k] = cell + 1.0
            continue
        for state in range(start + known, first[k + 1]):
            if cell == states[state] or (cell != cell and states[state] != states[state]):
                point[k] = state - start + 1
    for k in range(len(scaled)):
        cell = row[scaled[k]]
        known = cell == cell
        for c in range(code_starts[k], code_starts[k + 1]):
            known = known and cell != codes[c]
        point[len(stated) + k] = (cell - mean[k]) / scale[k] if known else 0.0
    missing = 0
    for k in range(len(complete)):
        missing += row[complete[k]] != row[complete[k]]
    point[len(point) - 1] = np.sqrt(missing)


@kernel(
    "void(f8[:, ::1], i8[::1], i8[::1], i8[::1], f8[::1], i8[::1], f8[::1], f8[::1], i8[::1], f8[::1], i8[::1], "
    "f8[:, ::1])"
)
def pointed(
    rows: np.ndarray,
    stated: np.ndarray,
    levels: np.ndarray,
    first: np.ndarray,
    states: np.ndarray,
    scaled: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    code_starts: np.ndarray,
    codes: np.ndarray,
    complete: np.ndarray,
    points: np.ndarray,
) -> None:
    """Puts the points of rows (n, d) into (n, cells)."""
    for i in range(len(rows)):
        place(rows[i], stated, levels, first, states, scaled, mean, scale, code_starts, codes, complete, points[i])
