"""The nearest move within a budget of costs and a box."""

from __future__ import annotations

import numpy as np


def project(
    point: np.ndarray, lower: np.ndarray, upper: np.ndarray, fall: np.ndarray, rise: np.ndarray, limit: np.ndarray
) -> np.ndarray:
    """The nearest t to each point with lower ≤ t ≤ upper and Σ rise·max(t, 0) + fall·max(−t, 0) ≤ limit.

    All arrays are (m, d), `limit` is (m,); each row is a problem of its own, with lower ≤ 0 ≤ upper. The solution keeps
    the point's signs, and its sizes are min(max(|y| − λ·cost, 0), room) with one λ ≥ 0 per row. Its total cost is a
    decreasing piecewise linear function of λ, whose corners are sorted, so that λ is found exactly.
    """
    size = np.abs(point)
    room = np.where(point > 0, upper, -lower)
    cost = np.where(point > 0, rise, fall)
    moved = np.minimum(size, room)
    over = (cost * moved).sum(axis=1) > limit
    if over.any():
        price = _price(size[over], room[over], cost[over], limit[over])
        moved[over] = np.clip(size[over] - price[:, None] * cost[over], 0.0, room[over])
    return np.asarray(np.copysign(moved, point))


def _price(size: np.ndarray, room: np.ndarray, cost: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """λ, for rows in which λ = 0 costs more than the limit."""
    charged = cost > 0
    divisor = np.where(charged, cost, 1.0)
    # the total falls by cost² per unit of λ, from where a cell leaves its bound to where it is 0
    starts = np.where(charged, np.maximum(size - room, 0.0) / divisor, 0.0)
    stops = np.where(charged, size / divisor, 0.0)
    corners = np.concatenate((starts, stops), axis=1)
    turns = np.concatenate((cost**2, -(cost**2)), axis=1)
    order = np.argsort(corners, axis=1, kind="stable")
    corners, turns = np.take_along_axis(corners, order, axis=1), np.take_along_axis(turns, order, axis=1)
    rates = np.maximum(turns.cumsum(axis=1), 0.0)
    fallen = np.zeros_like(corners)
    fallen[:, 1:] = (rates[:, :-1] * np.diff(corners, axis=1)).cumsum(axis=1)
    excess = (cost * np.minimum(size, room)).sum(axis=1) - limit
    last = np.maximum((fallen <= excess[:, None]).sum(axis=1) - 1, 0)
    at = np.arange(len(size)), last
    rate = rates[at]
    step = np.divide(excess - fallen[at], rate, out=np.zeros_like(excess), where=rate > 0)
    return np.asarray(corners[at] + step)
