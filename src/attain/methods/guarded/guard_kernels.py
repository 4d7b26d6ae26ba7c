"""Kernels of `local_guard`: how far a candidate exceeds the guard's limits, and the real rows nearest to it."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import inlined, kernel, lean
from attain.core.order_kernels import BUCKETS, ZERO, order
from attain.methods.guarded.local_guard import Near, Room
from attain.population.space_kernels import add_squares, add_states
from attain.tables.cell_kernels import FLOATS, INTEGERS

POINTS, _SHORTLISTS = np.zeros((1, 1), np.float32), np.zeros((1, 1, 1), np.float32)
_INDICES = np.zeros((1, 1), np.int64)
NEAR = Near(1, FLOATS, _SHORTLISTS, _INDICES, _SHORTLISTS, _INDICES, FLOATS[None], INTEGERS, FLOATS, FLOATS[0])
"""Examples of arguments."""
_ONE = np.float32(1)


@lean
def squared(point: np.ndarray, states: int, shortlist: np.ndarray, apart: np.ndarray) -> None:
    """Squared distances (s,) of a point (cells,) to those of a shortlist (cells, s), one cell after the other."""
    for i in range(len(apart)):
        apart[i] = 0.0
    add_states(point, shortlist, ZERO, states, apart, _ONE)
    add_squares(point, shortlist, states, len(point), apart)


@inlined
def room_for(near: Near) -> Room:
    """Room for the distances of a point."""
    s, t = near.crowd.shape[2], near.known.shape[2]
    n = max(s, t)
    return Room(
        *(np.empty(s, np.float32), np.empty(t, np.float32), np.empty(n, np.float32), np.empty(n, np.int64)),
        *(np.empty(n), np.empty(n, np.int64), np.empty(BUCKETS + 1, np.int64)),
    )


@lean
def overrun_of(point: np.ndarray, owner: int, level: int, most: float, near: Near, room: Room) -> float:
    """Π_k max(factor_k / limit_k, 1) · max(distance / limit, 1)² of a point; infinite where it is beyond `most`.

    The distance comes first, then the factors, those of few neighbours first: each only makes the product larger.
    """
    product, least = 1.0, np.float32(np.inf)
    squared(point, near.states, near.crowd[owner], room.apart)
    if len(room.other):
        squared(point, near.states, near.known[owner], room.other)
        for j in range(len(room.other)):
            least = min(least, room.other[j])
    else:
        for j in range(len(room.apart)):
            least = min(least, room.apart[j])
    ratio = np.float64(np.sqrt(least)) / near.farthest[level]
    if ratio > 1.0:
        product = ratio * ratio
    if product > most:
        return np.inf
    sizes, place, distance = near.sizes, room.place, room.distance
    order(room.apart, room.ordered, place, room.bucket, room.start, sizes[-1])
    for j in range(sizes[-1]):
        distance[j], place[j] = np.sqrt(room.ordered[j]), near.indices[owner, place[j]]
    for part in range(len(sizes)):
        k, reached, dense = sizes[part], 0.0, 0.0
        for j in range(k):
            reached += max(distance[j], near.facts[place[j], part, 0])
            dense += near.facts[place[j], part, 1]
        ratio = dense / k * (reached / k + 1e-10) / near.largest[level, part]
        if ratio > 1.0:
            product *= ratio
        if product > most:
            return np.inf
    return product


@kernel((POINTS, INTEGERS, INTEGERS, NEAR, INTEGERS, FLOATS[0]))
def overrun(
    points: np.ndarray, grouped: np.ndarray, owners: np.ndarray, near: Near, which: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """`overrun_of` points (n, cells); `grouped` are their positions owner by owner."""
    products, room = np.ones(len(points)), room_for(near)
    for i in grouped:
        products[i] = overrun_of(points[i], owners[i], which[i], most[i], near, room)
    return products


@lean
def find_nearest(point: np.ndarray, owner: int, near: Near, room: Room, found: np.ndarray) -> None:
    """The real rows nearest to a point, by its owner's shortlist."""
    if len(room.other):
        squared(point, near.states, near.known[owner], room.other)
        order(room.other, room.ordered, room.place, room.bucket, room.start, len(found))
    else:
        squared(point, near.states, near.crowd[owner], room.apart)
        order(room.apart, room.ordered, room.place, room.bucket, room.start, len(found))
    for j in range(len(found)):
        found[j] = near.known_indices[owner, room.place[j]]


@kernel((POINTS, INTEGERS, NEAR, 1))
def nearest(points: np.ndarray, owners: np.ndarray, near: Near, k: int) -> np.ndarray:
    """The k real rows nearest to each point, by the shortlists, (n, k)."""
    found, room = np.empty((len(points), k), np.int64), room_for(near)
    for i in range(len(points)):
        find_nearest(points[i], owners[i], near, room, found[i])
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
