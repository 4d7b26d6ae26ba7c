"""Kernels of `space`: the points of rows, and what a cell adds to squared distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from attain.core.compiled import kernel, lean


@lean
def add_squares(x: Any, others: np.ndarray, apart: np.ndarray) -> None:
    """Adds (x − y)² of a number x and those of other points (s,) to squared distances (s,)."""
    for i in range(len(apart)):
        difference = x - others[i]
        apart[i] += difference * difference


@lean
def add_differing(x: Any, others: np.ndarray, apart: np.ndarray, one: Any) -> None:
    """Adds `gap` of a state x and those of other points (s,) to squared distances (s,); `one` is a 1 of their type."""
    none, two = one - one, one + one
    if x == none:
        for i in range(len(apart)):
            apart[i] += none if others[i] == none else one
    else:
        for i in range(len(apart)):
            apart[i] += none if others[i] == x else (one if others[i] == none else two)


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
