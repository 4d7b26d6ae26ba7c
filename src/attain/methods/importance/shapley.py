"""Shapley values of games with m players, from the worth v(S) of all coalitions or of those along random orders.

    φ_j = Σ_{S ∌ j} |S|! (m − |S| − 1)! / m! · (v(S ∪ {j}) − v(S)),

which is the mean, over all orders of the players, of what j adds when it joins those before it. They sum to
v(all) − v(∅). Orders that are drawn come in pairs, each with its reverse: what depends on a player's place alone
cancels, and the sum stays exact.
"""

from __future__ import annotations

import math

import numpy as np


def coalitions(players: int) -> np.ndarray:
    """All subsets of the players, (2^m, m); the one at position p has the players whose bit of p is set."""
    return (np.arange(2**players)[:, None] >> np.arange(players)) % 2 == 1


def exact_values(worth: np.ndarray) -> np.ndarray:
    """The Shapley values, (m,), from the worth of all `coalitions`, (2^m,)."""
    players = len(worth).bit_length() - 1
    every = np.arange(len(worth))
    size = coalitions(players).sum(axis=1)
    weight = np.array([1 / (players * math.comb(players - 1, k)) for k in range(players)])
    values = np.empty(players)
    for j in range(players):
        without = every[every >> j & 1 == 0]
        values[j] = weight[size[without]] @ (worth[without | 1 << j] - worth[without])
    return values


def drawn_orders(generator: np.random.Generator, pairs: int, players: int) -> np.ndarray:
    """Random orders of the players, (2 · pairs, m): those of the second half reverse those of the first."""
    orders = generator.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1)
    return np.concatenate((orders, orders[:, ::-1]))


def along(orders: np.ndarray) -> np.ndarray:
    """The coalitions of the first 0 to m players of each order, (orders, m + 1, m)."""
    place = np.argsort(orders, axis=1)
    return np.asarray(place[:, None, :] < np.arange(orders.shape[1] + 1)[:, None])


def added(orders: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """What each player adds in each order, (orders, m), from the worth `along` them, (orders, m + 1)."""
    result = np.empty(orders.shape)
    np.put_along_axis(result, orders, np.diff(worth, axis=1), axis=1)
    return result
