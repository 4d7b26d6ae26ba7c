"""Kernel of `actions`: the actions of one column that no other beats in cost and gain, for all rows."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernel
from attain.core.order_kernels import ZERO
from attain.methods.recourse.knapsack_kernels import frontier, grown


@kernel(
    "Tuple((i8[::1], f8[:, ::1]))(f8[:, ::1], f8[::1], f8[:, ::1], i8[:, ::1], f8[:, :, ::1], f8[:, ::1], b1[:, ::1], "
    "b1[::1], f8)"
)
def frontiers(
    own: np.ndarray,
    place: np.ndarray,
    grid: np.ndarray,
    within: np.ndarray,
    ends: np.ndarray,
    states: np.ndarray,
    allowed: np.ndarray,
    numeric: np.ndarray,
    per_change: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Where each row's actions begin (n + 1,), and their cells, costs and gains (3, actions); the first is to stay.

    Cells come with their percentile and with what they add to the score: `own` (n, 4), the row's, with the cost of the
    column; `grid` (m, 3), of which those from `within[i, 0]` to `within[i, 1]` can be reached, all but the `place` of
    the row's own; `ends` (n, 2, 3) of what can be reached; and `states` (s, 3), those `allowed` (n, s). Rows that are
    not `numeric` (n,) can reach states only.
    """
    n, room = len(own), len(grid) + 2 + len(states)
    cells, costs, gains = np.empty(room), np.empty(room), np.empty(room)
    ordered, index, kept = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
    best = np.zeros(room, np.bool_)
    start = np.zeros(n + 1, np.int64)
    out_cells, out_costs, out_gains = np.empty(4 * n + 64), np.empty(4 * n + 64), np.empty(4 * n + 64)
    filled = 0
    for i in range(n):
        number, at, end = 0, within[i, 0], 0
        last = within[i, 1] if numeric[i] else at
        ends_left = 2 if numeric[i] else 0
        # the grid and the ends, both in order, each value once; then the states
        while at < last or end < ends_left:
            if end < ends_left and not np.isfinite(ends[i, end, 0]):
                end += 1
                continue
            from_grid = at < last and (end >= ends_left or grid[at, 0] <= ends[i, end, 0])
            value = grid[at, 0] if from_grid else ends[i, end, 0]
            standing = grid[at, 1] if from_grid else ends[i, end, 1]
            weight = grid[at, 2] if from_grid else ends[i, end, 2]
            if from_grid:
                at += 1
            while end < ends_left and ends[i, end, 0] == value:
                end += 1
            usable = value != place[i] and value != own[i, 0]
            for s in range(len(states)):
                usable = usable and value != states[s, 0]
            if usable:
                cells[number], costs[number], gains[number] = value, standing, weight
                number += 1
        for s in range(len(states)):
            if allowed[i, s] and states[s, 0] != own[i, 0]:
                cells[number], costs[number], gains[number] = states[s, 0], states[s, 1], states[s, 2]
                number += 1
        known = ZERO
        for a in range(number):
            gain = gains[a] - own[i, 2]
            way = abs(costs[a] - own[i, 1])
            if gain == gain:
                costs[known] = (way if way == way else 1.0) * own[i, 3] + per_change
                cells[known], gains[known] = cells[a], gain
                ordered[known], index[known] = costs[known], known
                known += 1
        for a in range(frontier(ordered, gains, index, known, kept)):
            best[kept[a]] = True
        while filled + known + 1 > len(out_cells):
            out_cells, out_costs, out_gains = grown(out_cells), grown(out_costs), grown(out_gains)
        out_cells[filled], out_costs[filled], out_gains[filled] = own[i, 0], 0.0, 0.0
        filled += 1
        for a in range(known):
            if best[a]:
                out_cells[filled], out_costs[filled], out_gains[filled] = cells[a], costs[a], gains[a]
                filled += 1
                best[a] = False
        start[i + 1] = filled
    found = np.empty((3, filled))
    for a in range(filled):
        found[0, a], found[1, a], found[2, a] = out_cells[a], out_costs[a], out_gains[a]
    return start, found
