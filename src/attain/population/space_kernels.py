"""Kernels of `space`: the points of rows, and what a cell adds to squared distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from attain.core.compiled import kernel, lean
from attain.population.space import SpaceArrays

_FLOATS, _INTEGERS = np.zeros(1), np.zeros(1, dtype=np.int64)
SPACE = SpaceArrays(
    *(_INTEGERS, _INTEGERS, _INTEGERS, _FLOATS, _INTEGERS, _FLOATS, _FLOATS, _INTEGERS, _FLOATS, _INTEGERS)
)
"""An example of an argument."""


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
def find_point(row: np.ndarray, space: SpaceArrays, point: np.ndarray) -> None:
    """`MeasuringSpace.points` of a row (d,) into (cells,)."""
    stated, states, scaled, codes = space.stated, space.states, space.scaled, space.codes
    for k in range(len(stated)):
        cell, start, known = row[stated[k]], space.first[k], space.levels[k]
        point[k] = 0.0
        if 0 <= cell < known and cell == np.floor(cell):
            point[k] = cell + 1.0
            continue
        for state in range(start + known, space.first[k + 1]):
            if cell == states[state] or (cell != cell and states[state] != states[state]):
                point[k] = state - start + 1
    for k in range(len(scaled)):
        cell = row[scaled[k]]
        ordinary = cell == cell
        for c in range(space.code_starts[k], space.code_starts[k + 1]):
            ordinary = ordinary and cell != codes[c]
        point[len(stated) + k] = (cell - space.mean[k]) / space.scale[k] if ordinary else 0.0
    missing = 0
    for k in range(len(space.complete)):
        missing += row[space.complete[k]] != row[space.complete[k]]
    point[len(point) - 1] = np.sqrt(missing)


@kernel((np.zeros((1, 1)), SPACE, np.zeros((1, 1))))
def pointed(rows: np.ndarray, space: SpaceArrays, points: np.ndarray) -> None:
    """`MeasuringSpace.points` of rows (n, d) into (n, cells)."""
    for i in range(len(rows)):
        find_point(rows[i], space, points[i])
