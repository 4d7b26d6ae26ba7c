"""The kernel of tree densities: probabilities of states, for blocks of rows that walk through trees side by side.

It gives the bytes of `TreeDensity._probability`.
"""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernel

_BLOCK = 256
"""Rows that take each step together: their steps do not wait for one another, as those of one row do."""


@kernel("f8[:, ::1](i2[:, ::1], i2[:, ::1], i8, i8[:, ::1], i8[:, ::1], i4[:, ::1], i4[::1], f4[::1], f8[::1])")
def probabilities(
    groups: np.ndarray,
    states: np.ndarray,
    depth: int,
    columns: np.ndarray,
    trees: np.ndarray,
    nodes: np.ndarray,
    ends: np.ndarray,
    mass: np.ndarray,
    sums: np.ndarray,
) -> np.ndarray:
    """p(x_j | columns before j) of each row, (columns, n), from groups and states (d, n) of rows.

    No tree is deeper than `depth`. `columns` (m, 3): column j, its first tree, its number of trees. `trees` (t, 4):
    where the nodes, the leaves and the masses of a tree start, and its number of states. `nodes` (k, 4): the column,
    the group and the first child, as in `Tree`, and whether the column's groups have no order; a leaf is its own
    child. `ends` (k,): the number of each leaf. `mass`: those of all leaves, whose sums are `sums`.
    """
    rows = groups.shape[1]
    result = np.zeros((len(columns), rows))
    at = np.empty(_BLOCK, dtype=np.int64)
    for begin in range(0, rows, _BLOCK):
        size = min(_BLOCK, rows - begin)
        for place in range(len(columns)):
            j, first, number = columns[place]
            for tree in range(first, first + number):
                start, leaf, offset, count = trees[tree]
                at[:size] = start
                for _ in range(depth):
                    for i in range(size):
                        node = at[i]
                        group, limit = groups[nodes[node, 0], begin + i], nodes[node, 1]
                        at[i] = nodes[node, 2] + ((group > limit) | (nodes[node, 3] & (group < limit)))
                for i in range(size):
                    end = ends[at[i]]
                    share = np.float64(mass[offset + end * count + states[j, begin + i]]) / sums[leaf + end]
                    result[place, begin + i] += share
            for row in range(begin, begin + size):
                total = result[place, row]
                result[place, row] = 1.0 if states[j, row] == 0 and total == 0.0 else total / number
    return result
