"""Kernels of `attain.models.structure.compiled`."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from attain.core.compiled import inlined, kernel, lean
from attain.models.structure.states import NUMBER, UNKNOWN

Arrays: TypeAlias = tuple[np.ndarray, ...]

_BLOCK = 64
"""How many rows go down a tree side by side: they wait for memory together, and its nodes stay in the cache."""
_NAN, _STATE = 0x7FF8 << 48, (1 << 32) - 1
"""The bits of a NaN, and those of it that hold a state."""


@inlined
def state_of(cell: float, j: int, numeric: np.ndarray, first: np.ndarray, codes: np.ndarray) -> int:
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


@lean
def term_of(
    cell: float,
    j: int,
    slopes: np.ndarray,
    terms: np.ndarray,
    numeric: np.ndarray,
    first: np.ndarray,
    codes: np.ndarray,
) -> float:
    """What a cell adds to a `CellSum`; NaN where its state is unknown or not taken."""
    state = state_of(cell, j, numeric, first, codes)
    return terms[state] if state >= 0 else cell * slopes[j] if state == NUMBER else np.nan


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
            total += term_of(rows[i, j], j, slopes, terms, numeric, first, codes)
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
                own = state_of(rows[begin + i, j], j, numeric, first, codes)
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


@lean
def _second(at: int, cells: np.ndarray, state: np.ndarray, nodes: np.ndarray, bound: float, sides: np.ndarray) -> int:
    """Whether a row goes to the second child of an inner node, 0 or 1."""
    column = nodes[at, 0]
    cell = cells[column]
    if cell != cell:
        return int(sides[nodes[at, 2] + (state[column] & _STATE)])
    return int(cell > bound)


@kernel(
    "void(f8[:, ::1], Tuple((b1[::1], i8[::1], f8[::1], b1[::1])), "
    "Tuple((i4[:, ::1], f8[:, ::1], b1[::1], i8[::1], f8[:, ::1])), f8, Tuple((i8[::1], i8[::1], i8[::1])), "
    "f8[:, :, ::1])"
)
def tree_sweeps(
    rows: np.ndarray, states: Arrays, trees: Arrays, start: float, along: Arrays, result: np.ndarray
) -> None:
    """As `TreeSweep.__call__`, into `result`."""
    numeric, first, codes, refused = states
    nodes, thresholds, sides, roots, value = trees
    place, every, right = along
    n, d = rows.shape
    f, g = result.shape[1:]
    cells, alive = np.empty(d), np.empty(f, np.int64)
    state = cells.view(np.int64)
    waiting, wanted = np.empty(64, np.int64), np.empty(64, np.int64)
    for i in range(n):
        known = True
        for j in range(d):
            cells[j] = rows[i, j]
            own = state_of(rows[i, j], j, numeric, first, codes)
            known = known and own != UNKNOWN and not (own >= 0 and refused[own])
            if own >= 0:
                state[j] = _NAN | own
        for k in range(f):
            for v in range(g):
                result[i, k, v] = 0.0 if known and every[k] >> v & 1 else np.nan
        total = start
        for t in range(len(roots) if known else 0):
            leaf = roots[t]
            while nodes[leaf, 0] >= 0:
                leaf = nodes[leaf, 1] + _second(leaf, cells, state, nodes, thresholds[leaf, 2], sides)
            total += value[leaf, 0]
            for k in range(f):
                alive[k] = every[k]
            at = roots[t]
            while nodes[at, 0] >= 0:
                side = _second(at, cells, state, nodes, thresholds[at, 2], sides)
                k, step = place[nodes[at, 0]], at
                at = nodes[at, 1] + side
                if k < 0:
                    continue
                leaving = alive[k] & (~right[step] if side else right[step])
                if not leaving:
                    continue
                alive[k] &= ~leaving  # the others stay with the row
                waiting[0], wanted[0], left = nodes[step, 1] + 1 - side, leaving, 1
                while left:
                    left -= 1
                    there, bits = waiting[left], wanted[left]
                    while nodes[there, 0] >= 0:
                        child = np.int64(nodes[there, 1])
                        if place[nodes[there, 0]] != k:
                            there = child + _second(there, cells, state, nodes, thresholds[there, 2], sides)
                            continue
                        second = bits & right[there]
                        if second == bits:
                            there = child + 1
                        else:
                            if second:
                                waiting[left], wanted[left] = child + 1, second
                                left += 1
                            bits &= ~second
                            there = child
                    gained, v = value[there, 0] - value[leaf, 0], 0
                    while bits:
                        if bits & 1:
                            result[i, k, v] += gained
                        bits >>= 1
                        v += 1
        for k in range(f):
            for v in range(g):
                result[i, k, v] += total
