"""Kernels of `local_guard`: how far a candidate exceeds the guard's limits, and the real rows nearest to it."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernel, lean
from attain.core.order_kernels import BUCKETS, ZERO, order
from attain.population.space_kernels import add_squares, add_states

ONE = np.float32(1)


@lean
def squared(point: np.ndarray, states: int, shortlist: np.ndarray, apart: np.ndarray) -> None:
    """Squared distances (s,) of a point (cells,) to those of a shortlist (cells, s), one cell after the other."""
    for i in range(len(apart)):
        apart[i] = 0.0
    add_states(point, shortlist, ZERO, states, apart, ONE)
    add_squares(point, shortlist, states, len(point), apart)


@kernel(
    "f8[::1](f4[:, ::1], i8, i8[::1], i8[::1], f4[:, :, ::1], i8[:, ::1], f4[:, :, ::1], f8[:, :, ::1], i8[::1], "
    "f8[:, ::1], f8[::1], i8[::1], f8[::1])"
)
def overrun(
    points: np.ndarray,
    states: int,
    grouped: np.ndarray,
    owners: np.ndarray,
    crowd: np.ndarray,
    indices: np.ndarray,
    known: np.ndarray,
    facts: np.ndarray,
    sizes: np.ndarray,
    largest: np.ndarray,
    farthest: np.ndarray,
    which: np.ndarray,
    most: np.ndarray,
) -> np.ndarray:
    """Π_k max(factor_k / limit_k, 1) · max(distance / limit, 1)² of each point; infinite where it is beyond `most`.

    The distance comes first, then the factors, those of few neighbours first: each only makes the product larger.
    `grouped` are the positions of points owner by owner, and `facts` (crowd, sizes, 2) each real row's distance to its
    k-th neighbour and its local density.
    """
    n, s = len(points), crowd.shape[2]
    apart, near, place = np.empty(s, np.float32), np.empty(s, np.float32), np.empty(s, np.int64)
    other, distance = np.empty(known.shape[2], np.float32), np.empty(s)
    bucket, start = np.empty(s, np.int64), np.empty(BUCKETS + 1, np.int64)
    products = np.ones(n)
    for i in grouped:
        owner, level, product, least = owners[i], which[i], 1.0, np.float32(np.inf)
        squared(points[i], states, crowd[owner], apart)
        if len(other):
            squared(points[i], states, known[owner], other)
            for j in range(len(other)):
                least = min(least, other[j])
        else:
            for j in range(s):
                least = min(least, apart[j])
        ratio = np.float64(np.sqrt(least)) / farthest[level]
        if ratio > 1.0:
            product = ratio * ratio
        if product <= most[i]:
            order(apart, near, place, bucket, start, sizes[-1])
            for j in range(sizes[-1]):
                distance[j], place[j] = np.sqrt(near[j]), indices[owner, place[j]]
        for part in range(len(sizes)):
            if product > most[i]:
                break
            k, reached, dense = sizes[part], 0.0, 0.0
            for j in range(k):
                reached += max(distance[j], facts[place[j], part, 0])
                dense += facts[place[j], part, 1]
            ratio = dense / k * (reached / k + 1e-10) / largest[level, part]
            if ratio > 1.0:
                product *= ratio
        products[i] = product if product <= most[i] else np.inf
    return products


@kernel("i8[:, ::1](f4[:, ::1], i8, i8[::1], f4[:, :, ::1], i8[:, ::1], i8)")
def nearest(
    points: np.ndarray, states: int, owners: np.ndarray, known: np.ndarray, indices: np.ndarray, k: int
) -> np.ndarray:
    """The k real rows nearest to each point, by the shortlists, (n, k)."""
    found = np.empty((len(points), k), np.int64)
    apart = np.empty(known.shape[2], np.float32)
    near, place = np.empty(len(apart), np.float32), np.empty(len(apart), np.int64)
    bucket, start = np.empty(len(apart), np.int64), np.empty(BUCKETS + 1, np.int64)
    for i in range(len(points)):
        squared(points[i], states, known[owners[i]], apart)
        order(apart, near, place, bucket, start, k)
        for j in range(k):
            found[i, j] = indices[owners[i], place[j]]
    return found


@kernel("f4[:, :, ::1](f8[:, ::1], f8[:, ::1], i8[:, ::1])")
def shortlisted(points: np.ndarray, centres: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The points of shortlists relative to their centres, (n, cells, s); the second copy of one is out of reach."""
    found = np.empty((len(indices), points.shape[1], indices.shape[1]), np.float32)
    for i in range(len(indices)):
        for j in range(indices.shape[1]):
            row = indices[i, j]
            if j and row == indices[i, j - 1]:
                for dimension in range(points.shape[1]):
                    found[i, dimension, j] = 1e15
            else:
                for dimension in range(points.shape[1]):
                    found[i, dimension, j] = points[row, dimension] - centres[i, dimension]
    return found
