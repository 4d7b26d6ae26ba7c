"""Shapley values of small games: brute force over all orders, closed forms, and what drawn orders keep."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.methods.importance import added, along, coalitions, drawn_orders, exact_values


def by_all_orders(worth: np.ndarray, players: int) -> np.ndarray:
    values = np.zeros(players)
    for order in permutations(range(players)):
        before = 0
        for j in order:
            values[j] += worth[before | 1 << j] - worth[before]
            before |= 1 << j
    return values / factorial(players)


@pytest.mark.parametrize("players", [0, 1, 2, 3, 4, 5])
def test_exact_values_are_the_mean_over_all_orders(players: int) -> None:
    worth = np.random.default_rng(players).normal(size=2**players)
    np.testing.assert_allclose(exact_values(worth), by_all_orders(worth, players), atol=1e-12)


@given(st.integers(1, 10), st.integers(0, 2**32 - 1))
def test_the_sum_is_exact_and_a_player_who_adds_nothing_has_nothing(players: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    members, idle = coalitions(players), int(random.integers(players))
    drawn = random.normal(size=2**players)
    worth = drawn[np.arange(2**players) & ~(1 << idle)]  # the same with and without the idle player
    values = exact_values(worth)
    assert members[-1].all()
    assert not members[0].any()
    assert values.sum() == pytest.approx(worth[-1] - worth[0])
    assert values[idle] == pytest.approx(0)


def test_players_who_add_the_same_have_the_same() -> None:
    members = coalitions(6)
    worth = np.sqrt(members[:, :3].sum(axis=1)) * (members[:, 3:] @ [1.0, 2.0, 4.0])
    values = exact_values(worth)
    assert np.ptp(values[:3]) < 1e-12
    assert values[3] < values[4] < values[5]


def test_a_sum_over_players_is_its_own_answer_also_along_drawn_orders() -> None:
    weights = np.random.default_rng(0).normal(size=13)
    orders = drawn_orders(np.random.default_rng(1), 4, 13)
    np.testing.assert_allclose(added(orders, along(orders) @ weights), np.tile(weights, (8, 1)), atol=1e-12)


def test_orders_and_their_reverses_cancel_what_depends_on_the_place_alone() -> None:
    orders = drawn_orders(np.random.default_rng(2), 3, 14)
    assert (np.sort(orders, axis=1) == np.arange(14)).all()
    values = added(orders, along(orders).sum(axis=2) ** 2.0).mean(axis=0)  # v(S) = |S|², so 14 for each
    np.testing.assert_allclose(values, 14.0)


def test_drawn_orders_come_close_to_the_exact_values() -> None:
    random = np.random.default_rng(3)
    pairs = np.triu(random.normal(size=(10, 10)), 1)
    members = coalitions(10)
    exact = exact_values(np.einsum("si,ij,sj->s", members, pairs, members))
    orders = drawn_orders(np.random.default_rng(4), 128, 10)
    worth = np.einsum("woi,ij,woj->wo", along(orders), pairs, along(orders))
    drawn = added(orders, worth).mean(axis=0)
    np.testing.assert_allclose(exact, (pairs + pairs.T).sum(axis=1) / 2)  # a pair is shared by halves
    np.testing.assert_allclose(drawn, exact)  # and so by every order together with its reverse
