"""The multiple-choice knapsack against brute force."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attain.methods.recourse.knapsack import Group, cheapest, least_limit, most_gain
from tests.both_paths import by

ACTION = st.tuples(st.integers(1, 40), st.integers(-20, 40), st.integers(1, 2))
GROUPS = st.lists(st.lists(ACTION, min_size=1, max_size=5), min_size=1, max_size=4)


@given(GROUPS, st.integers(-10, 120), st.integers(1, 8))
def test_the_optimum_is_that_of_all_choices(actions, need, most) -> None:
    groups = [
        Group(
            np.array([0, *(cost for cost, _, _ in some)]) / 40,
            np.array([0, *(gain for _, gain, _ in some)]) / 10,
            np.array([0, *(changes for _, _, changes in some)]),
        )
        for some in actions
    ]
    wanted = need / 10
    choices = list(itertools.product(*(range(len(group.cost)) for group in groups)))
    gain = [sum(g.gain[a] for g, a in zip(groups, c, strict=True)) for c in choices]
    changes = [sum(g.changes[a] for g, a in zip(groups, c, strict=True)) for c in choices]
    good = [c for c, g, k in zip(choices, gain, changes, strict=True) if g >= wanted + 1e-9 and k <= most]
    best = min((sum(g.cost[a] for g, a in zip(groups, c, strict=True)) for c in good), default=None)
    chosen = by(True, lambda: cheapest(groups, wanted + 1e-9, most))
    assert chosen == by(False, lambda: cheapest(groups, wanted + 1e-9, most))
    assert (chosen is None) == (best is None)
    limit = least_limit(groups, wanted + 1e-9, most)
    if chosen is None:
        assert limit is None
        assert most_gain(groups, np.inf, most) < wanted + 1e-9
    else:
        assert abs(sum(g.cost[a] for g, a in zip(groups, chosen, strict=True)) - best) < 1e-9
        assert tuple(chosen) in good
        assert limit == min(max(g.cost[a] for g, a in zip(groups, c, strict=True)) for c in good)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(2, 60), st.floats(0.05, 1.1))
def test_programs_of_many_actions_are_solved_alike_by_both_paths(seed, number, most, share) -> None:
    random = np.random.default_rng(seed)
    groups = []
    for _ in range(number):
        size = int(random.integers(1, most))
        costs = np.append(0.0, np.round(random.random(size), int(random.integers(1, 6))) + 1e-9)
        groups.append(Group(costs, np.append(0.0, random.normal(size=size)), np.append(0, np.ones(size, dtype=int))))
    need = share * most_gain(groups, np.inf, number) + 1e-12
    for proving in (True, False):
        found = [by(kernels, lambda p=proving: cheapest(groups, need, number, p)) for kernels in (True, False)]
        assert found[0] == found[1]
