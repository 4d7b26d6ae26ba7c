"""Shapley values of small games: brute force over all orders, closed forms, and what drawn orders keep."""

import numpy as np

from attain.answers.importance import added, along, coalitions, drawn_orders, exact_values


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
