"""Kernels of `starts`: real rows ranked for each row."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernel
from attain.core.order_kernels import BUCKETS, order, select
from attain.population.space_kernels import add_squares, add_states

ONE = np.float64(1)


@kernel(
    "void(f8[:, ::1], i8, b1[:, ::1], f8[:, ::1], f8, f8, f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], "
    "i8[:, ::1], f8[:, ::1])"
)
def ranked(
    points: np.ndarray,
    states: int,
    movable: np.ndarray,
    columns: np.ndarray,
    reach_sq: float,
    beyond: float,
    own: np.ndarray,
    own_ranks: np.ndarray,
    theirs: np.ndarray,
    their_ranks: np.ndarray,
    cost: np.ndarray,
    found: np.ndarray,
    fixed: np.ndarray,
) -> None:
    """Puts the positions of real rows, the most promising first, and squared distances that cannot change, into (n, m).

    `points` (n, cells) and `columns` (cells, N) are those of rows and real rows, the first `states` cells states;
    `movable` (n, cells) is what may change. The other arrays are of free features, (n, f) and (N, f).
    """
    number, m = columns.shape[1], found.shape[1]
    still, whole = np.empty(number), np.empty(number)
    values, which, chosen = np.empty(number), np.empty(number, np.int64), np.zeros(number, np.bool_)
    near, far, shift = np.empty(m, np.int64), np.empty(m), np.empty(m)
    ordered, bucket, start = np.empty(m), np.empty(m, np.int64), np.empty(BUCKETS + 1, np.int64)
    by_distance, by_shift = np.empty(m, np.int64), np.empty(m, np.int64)
    distance_rank, shift_rank = np.empty(m, np.int64), np.empty(m, np.int64)
    for i in range(len(points)):
        for r in range(number):
            still[r], whole[r], which[r] = 0.0, 0.0, r
        for d in range(len(columns)):
            total = whole if movable[i, d] else still
            if d < states:
                add_states(points[i], columns, d, d + 1, total, ONE)
            else:
                add_squares(points[i], columns, d, d + 1, total)
        for r in range(number):
            whole[r] = still[r] + whole[r] + (beyond if still[r] > reach_sq else 0.0)
            values[r] = whole[r]
        select(values, which, number, m)
        for j in range(m):
            chosen[which[j]] = True
        j = 0
        for r in range(number):
            if chosen[r]:
                near[j], far[j], chosen[r] = r, whole[r], False
                j += 1
        for j in range(m):
            shift[j] = 0.0
            for k in range(own.shape[1]):
                mine, real = own[i, k], theirs[near[j], k]
                if mine == real or (mine != mine and real != real):
                    continue
                apart = abs(their_ranks[near[j], k] - own_ranks[i, k])
                shift[j] += cost[i, k] * (apart if apart == apart else 1.0)
            shift[j] += beyond if far[j] >= beyond else 0.0
        order(far, ordered, by_distance, bucket, start, m)
        order(shift, ordered, by_shift, bucket, start, m)
        for rank in range(m):
            distance_rank[by_distance[rank]] = rank
            shift_rank[by_shift[rank]] = rank
        # two real rows have a rank in one of the two orders: each comes at the better of its ranks, then by the other
        at = 0
        for rank in range(m):
            one, two = by_distance[rank], by_shift[rank]
            first, second = shift_rank[one], distance_rank[two]
            if one == two:
                found[i, at], fixed[i, at] = near[one], still[near[one]]
                at += 1
                continue
            if second < first or (second == first and two < one):
                one, two, first, second = two, one, second, first
            if first > rank:
                found[i, at], fixed[i, at] = near[one], still[near[one]]
                at += 1
            if second > rank:
                found[i, at], fixed[i, at] = near[two], still[near[two]]
                at += 1
