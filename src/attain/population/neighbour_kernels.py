"""Kernels of `neighbours`: the nearest points, by blocks of points in boxes."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernel
from attain.core.order_kernels import ZERO, after, select, sift, sort
from attain.population.space_kernels import add_squares, add_states

ONE = np.float64(1)


@kernel("void(f8[:, ::1], i8, f8[:, :, ::1], i8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], i8[:, ::1])")
def nearest(
    points: np.ndarray,
    states: int,
    blocks: np.ndarray,
    positions: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    far: np.ndarray,
    which: np.ndarray,
) -> None:
    """The k nearest points of each of q points: squared distances (q, k), nearest first, and positions (q, k).

    `blocks` (B, D, w) are points with their `positions` (B, w), in boxes from `low` to `high` (D, B). The first
    `states` cells of points are states. Boxes are looked at nearest first, until one is farther than the k nearest
    points so far. A term of the squared distance to a box is never larger than that to a point in it, nor is any sum of
    them in the same order. A state below or above those of a box differs from all of them.
    """
    n_blocks, dimensions, width = blocks.shape
    k = far.shape[1]
    bound, boxes, apart = np.empty(n_blocks), np.empty(n_blocks, dtype=np.int64), np.empty(width)
    room = k + max(k, 8)
    near, index = np.empty(room), np.empty(room, dtype=np.int64)
    for q in range(len(points)):
        for b in range(n_blocks):
            bound[b], boxes[b] = 0.0, b
        for dimension in range(dimensions):
            x = points[q, dimension]
            for b in range(n_blocks):
                # negative: the root of the heap of boxes is the nearest
                if dimension >= states:
                    outside = max(max(low[dimension, b] - x, x - high[dimension, b]), 0.0)
                    bound[b] -= outside * outside
                elif x < low[dimension, b] or x > high[dimension, b]:
                    bound[b] -= 2.0 if x != 0.0 and low[dimension, b] != 0.0 else 1.0
        for b in range(n_blocks // 2 - 1, -1, -1):
            sift(bound, boxes, b, n_blocks, bound[b], boxes[b])
        left, number, farthest, last = n_blocks, ZERO, np.inf, np.int64(1) << 62
        while left and -bound[0] <= farthest:
            box = boxes[0]
            left -= 1
            sift(bound, boxes, ZERO, left, bound[left], boxes[left])
            for i in range(width):
                apart[i] = 0.0
            add_states(points[q], blocks[box], ZERO, states, apart, ONE)
            add_squares(points[q], blocks[box], states, dimensions, apart)
            for i in range(width):
                if apart[i] <= farthest and after(farthest, last, apart[i], positions[box, i]):
                    near[number], index[number] = apart[i], positions[box, i]
                    number += 1
                    if number == room or (number == k and farthest == np.inf):
                        select(near, index, number, k)
                        number, farthest, last = k, near[k - 1], index[k - 1]
        select(near, index, number, k)
        sort(near, index, k)
        for i in range(k):
            far[q, i], which[q, i] = near[i], index[i]
