"""The cheapest choice of a program against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attain.methods.recourse import program as programs
from attain.methods.recourse.program import Choices, Program, cheapest, most_gain, not_all

ACTION = st.tuples(st.integers(1, 40), st.integers(-20, 40), st.integers(1, 2))
GROUPS = st.lists(st.lists(ACTION, min_size=1, max_size=5), min_size=1, max_size=4)


@pytest.mark.parametrize("listed", [20_000, 0], ids=["listed", "HiGHS"])
@pytest.mark.parametrize("kind", ["total", "max"])
@settings(max_examples=40, deadline=None)
@given(actions=GROUPS, need=st.integers(-10, 120), most=st.integers(1, 8), seed=st.integers(0, 99))
def test_the_optimum_is_that_of_all_choices(listed: int, kind, actions, need: int, most: int, seed: int) -> None:
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

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs, "_MOST_LISTED", listed)
        chosen, proven = cheapest(Program(groups, wanted, most, rows), kind, np.inf)
        guessed, _ = cheapest(Program(groups, wanted, most, rows), kind, np.inf, proving=False)
    assert proven
    assert guessed is None or tuple(guessed) in good
    if not good:
        assert chosen is None
        assert fits or most_gain(groups, most) < wanted
    else:
        assert tuple(chosen) in good
        assert cost(chosen) == pytest.approx(min(map(cost, good)), abs=1e-9)
        assert most_gain(groups, most) == pytest.approx(max(g for g, k in zip(gain, changes, strict=True) if k <= most))


def test_choices_are_listed_among_more_groups_than_an_array_has_dimensions() -> None:
    still = Choices(np.array([0]), np.zeros((1, 1)), np.zeros((1, 1), dtype=bool), np.zeros(1), np.zeros(1))
    moved = Choices(
        np.array([1]), np.zeros((3, 1)), np.array([[False], [True], [True]]), np.arange(3.0), np.arange(3.0)
    )
    program = Program([*[still] * 50, moved, *[still] * 49, moved], 3.0, 2)
    assert programs._listed(program).actions == [*[0] * 50, 1, *[0] * 49, 2]


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
    every = programs._programmed(program, np.inf)
    found = cheapest(program, "total", np.inf)
    assert every.actions is not None
    assert found.actions is not None
    assert program.total(found.actions) == pytest.approx(program.total(every.actions), abs=1e-7)


def test_nothing_is_begun_without_time_left() -> None:
    stay = Choices(np.array([0]), np.zeros((1, 1)), np.zeros((1, 1), dtype=bool), np.zeros(1), np.zeros(1))
    program = Program([stay], 0.0, 1)
    assert cheapest(program, "total", 0.0) == (None, False)
    assert cheapest(program, "total", 1.0) == ([0], True)
