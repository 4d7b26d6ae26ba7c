"""The cheapest choice of a program against brute force."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult

from attain.methods.recourse import program as programs
from attain.methods.recourse.program import Choices, Chosen, Program, cheap_choice, cheapest, most_gain, not_all

ACTION = st.tuples(st.integers(1, 40), st.integers(-20, 40), st.integers(1, 2))
GROUPS = st.lists(st.lists(ACTION, min_size=1, max_size=5), min_size=1, max_size=4)


@pytest.mark.parametrize("kind", ["total", "max"])
@settings(max_examples=40, deadline=None)
@given(actions=GROUPS, need=st.integers(-10, 120), most=st.integers(1, 8), seed=st.integers(0, 99))
def test_the_optimum_is_that_of_all_choices(kind, actions, need: int, most: int, seed: int) -> None:
    """With a few conditions that not all of some groups have their actions in some sets."""
    groups = [
        Choices(
            np.array([2 * g, 2 * g + 1]),
            np.zeros((len(some) + 1, 2)),
            np.array([[False, False], *([True, changes == 2] for _, _, changes in some)]),
            np.array([0, *(cost for cost, _, _ in some)]) / 40,
            np.array([0, *(gain for _, gain, _ in some)]) / 10,
        )
        for g, some in enumerate(actions)
    ]
    wanted = need / 10 - 0.05
    choices = list(itertools.product(*(range(len(group.cost)) for group in groups)))
    gain = [sum(g.gain[a] for g, a in zip(groups, c, strict=True)) for c in choices]
    changes = [sum(g.changes[a] for g, a in zip(groups, c, strict=True)) for c in choices]
    random = np.random.default_rng(seed)
    some_groups = [np.flatnonzero(random.random(len(groups)) < 0.7).tolist() for _ in range(seed % 4)]
    rows = [not_all({g: random.random(len(groups[g].cost)) < 0.6 for g in some}) for some in some_groups if some]

    def kept(choice) -> bool:
        return all(sum(float(part[choice[g]]) for g, part in row.weights.items()) <= row.most for row in rows)

    fits = [c for c, g, k in zip(choices, gain, changes, strict=True) if g >= wanted and k <= most]
    good = [c for c in fits if kept(c)]

    def cost(choice) -> tuple[float, ...]:
        costs = [float(g.cost[a]) for g, a in zip(groups, choice, strict=True)]
        return (max(costs), sum(costs)) if kind == "max" else (sum(costs),)

    chosen, proven = cheapest(Program(groups, wanted, most, rows), kind, np.inf)
    guessed = cheap_choice(Program(groups, wanted, most, rows))
    assert proven
    assert guessed is None or tuple(guessed) in fits
    if not good:
        assert chosen is None
        assert fits or most_gain(groups, most) < wanted
    else:
        assert tuple(chosen) in good
        assert cost(chosen) == pytest.approx(min(map(cost, good)), abs=1e-9)
        assert most_gain(groups, most) == pytest.approx(max(g for g, k in zip(gain, changes, strict=True) if k <= most))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), number=st.integers(1, 8), most=st.integers(2, 60), share=st.floats(0.05, 0.99))
def test_actions_that_are_left_out_are_of_no_use(seed: int, number: int, most: int, share: float) -> None:
    random = np.random.default_rng(seed)
    groups = []
    for g in range(number):
        cells = np.arange(float(random.integers(1, most)) + 1)[:, None]
        costs = np.append(0.0, np.round(random.random(len(cells) - 1), int(random.integers(1, 6))) + 1e-9)
        gains = np.append(0.0, random.normal(size=len(cells) - 1))
        groups.append(Choices(np.array([g]), cells, cells > 0, costs, gains))
    program = Program(groups, share * most_gain(groups, number), number)
    every = programs._solved(program, np.inf)
    found = cheapest(program, "total", np.inf)
    assert every.actions is not None
    assert found.actions is not None
    assert program.total(found.actions) == pytest.approx(program.total(every.actions), abs=1e-7)


def knapsack(least: float, seconds: float = np.inf) -> Chosen:
    """The cheapest of 30 items that weigh `least`: hard, as cost and weight are nearly the same."""
    random = np.random.default_rng(0)
    weights = random.integers(1000, 2000, 30).astype(float)
    moved = np.array([[False], [True]])
    groups = [
        Choices(np.array([g]), moved * 1.0, moved, np.array([0.0, cost]), np.array([0.0, weight]))
        for g, (weight, cost) in enumerate(zip(weights, weights + random.random(30), strict=True))
    ]
    total = least * weights.sum()
    found = cheapest(Program(groups, total, 30), "total", seconds)
    assert found.actions is None or weights @ found.actions >= total - 1e-6
    return found


@pytest.mark.parametrize(
    ("least", "nodes", "seconds", "found", "proven"),
    [
        (0.01, 10_000, np.inf, True, True),
        (1.01, 10_000, np.inf, False, True),
        (0.5, 1, np.inf, True, False),
        (0.5, 0, np.inf, False, False),
        (0.01, 10_000, 0.0, False, False),
    ],
    ids=["an optimum", "no solution", "a limit", "a limit before any solution", "no time"],
)
def test_what_a_limit_leaves_is_not_proven(
    monkeypatch: pytest.MonkeyPatch, least: float, nodes: int, seconds: float, found: bool, proven: bool
) -> None:
    monkeypatch.setattr(programs, "NODES", nodes)
    chosen = knapsack(least, seconds)
    assert (chosen.actions is not None, chosen.proven) == (found, proven)


def test_the_time_left_is_the_limit_of_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def stopped(*_: Any, options: dict[str, Any], **__: Any) -> OptimizeResult:
        limits.append(options["time_limit"])
        return OptimizeResult(x=None, status=1)

    monkeypatch.setattr(programs, "milp", stopped)
    assert knapsack(0.5, seconds=7.0) == (None, False)
    assert limits == [7.0]
