"""Flip sets: the cheapest choice of actions that flips the decision, then the cheapest that change other features.

A choice takes one action a_g from each group g:

    minimise Σ_g cost[g, a_g]   subject to   Σ_g gain[g, a_g] ≥ need,   Σ_g changes[g, a_g] ≤ most,

and, where groups depend on each other, further linear conditions. Without those it is solved by the exact knapsack of
`knapsack`, with them by HiGHS. It is solved without the conditions of rules first: where the choice keeps the rules, it
is the cheapest of all that do. Further choices come from splitting what is left into parts, each with some features
that must change and some that must not (Lawler's procedure), and always opening the part with the cheapest choice.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from attain.methods.recourse.actions import RecourseCost
from attain.methods.recourse.knapsack import Group, cheapest, least_limit, most_gain
from attain.methods.recourse.program import Choices, Program, Row
from attain.methods.search.integer_program import solve


class Check(Protocol):
    """Whether choices are answers; asked only where a choice of the program may break a rule."""

    def __call__(self, item: Item, as_chosen: bool = False) -> bool:
        """Whether the item is an answer, with `as_chosen` without any repair."""
        ...

    def seconds_left(self) -> float:
        """How long the search may still take."""
        ...

    def broken(
        self, columns: np.ndarray, cells: np.ndarray, chosen: np.ndarray
    ) -> Iterator[tuple[list[int], np.ndarray]]:
        """For each rule that the `chosen` cells (m,) break: its columns, and which of the cells (n, m) break it too."""
        ...


Features: TypeAlias = frozenset[int]

MOST_REJECTED: Final = 50
"""How many choices of one part may fail their check before the part is given up."""
_SLACK: Final = 1e-9


@dataclass(frozen=True)
class Item:
    """One choice of actions.

    Attributes
    ----------
    columns, cells
        What it writes where.
    changed
        The columns that change.
    cost
        What the items of a row are ordered by: the total, or the largest and then the total.
    proven
        Whether no cheaper item is left, as shown by the solver.
    """

    columns: np.ndarray
    cells: np.ndarray
    changed: Features
    cost: float
    proven: bool = True


class Chosen(NamedTuple):
    """The action of each group, None where there is no choice; `proven` where the solver has shown that."""

    actions: list[int] | None
    proven: bool = True


class FlipSet:
    """The items of one program, cheapest first.

    Once a part was left unsolved because of a limit, a cheaper item may hide there: later items are not `proven`.
    """

    def __init__(
        self,
        program: Program,
        cost: RecourseCost,
        check: Check,
        most_rejected: int = MOST_REJECTED,
        proving: bool = True,
    ) -> None:
        self._program, self._cost, self._check, self._most_rejected = program, cost, check, most_rejected
        self._proving = proving
        self._complete = True

    @cached_property
    def _full(self) -> Program | None:
        return self._program.full() if self._program.full is not None and self._proving else None

    def exclusive(self) -> Iterator[Item]:
        """Items of which no two change the same feature."""
        used: Features = frozenset()
        while (item := self._cheapest(frozenset(), used)) is not None:
            yield replace(item, proven=self._complete)
            if not item.changed:
                return
            used |= item.changed

    def distinct(self) -> Iterator[Item]:
        """Items that change different sets of features."""
        number = count()
        heap: list[tuple[float, int, Item, Features, Features]] = []

        def open_part(required: Features, forbidden: Features) -> None:
            item = self._cheapest(required, forbidden)
            if item is not None:
                heapq.heappush(heap, (item.cost, next(number), item, required, forbidden))

        columns = [int(j) for some in self._program.choices for j in some.columns]
        open_part(frozenset(), frozenset())
        while heap:
            _, _, item, required, forbidden = heapq.heappop(heap)
            yield replace(item, proven=self._complete)
            for j in columns:
                if j in required or j in forbidden:
                    continue
                if j in item.changed:
                    open_part(required, forbidden | {j})
                    required |= {j}
                else:
                    open_part(required | {j}, forbidden)
                    forbidden |= {j}

    def _cheapest(self, required: Features, forbidden: Features) -> Item | None:
        """The cheapest item in which these features change and those do not."""
        program, first = _part(self._program, required, forbidden), True
        for _ in range(self._most_rejected):
            if program is None or any(not len(some.cost) for some in program.choices):
                return None
            solver = by_programming if program.rows else by_knapsack
            actions, proven = solver(program, self._cost, self._check.seconds_left(), self._proving)
            self._complete &= proven and program.exact
            if actions is None:
                return None
            item, relaxed = _item(program, actions, self._cost), first and self._full is not None
            if program.whole or self._check(item, as_chosen=relaxed):
                return item
            if relaxed:
                assert self._full is not None
                program = _part(self._full, required, forbidden)
            else:
                program = (_without if self._proving else _thinned)(program, actions, self._check)
            first = False
        self._complete = False
        return None


def certainly_none(program: Program) -> bool:
    """Whether no allowed change at all gains enough, whatever values the grid has."""
    if program.reach is None or not all(len(some.cost) for some in program.reach):
        return False
    groups = [_group(some) for some in program.reach]
    return most_gain(groups, np.inf, program.most) < program.need - _SLACK * max(1.0, abs(program.need))


def _part(program: Program, required: Features, forbidden: Features) -> Program | None:
    """The program in which these features must change and those must not; None where a group has no action left."""
    if not required and not forbidden:
        return program
    keeps = []
    for some in program.choices:
        must = np.array([int(j) in required for j in some.columns])
        never = np.array([int(j) in forbidden for j in some.columns])
        keeps.append(~(~some.moved & must).any(axis=1) & ~(some.moved & never).any(axis=1))
    if not all(keep.any() for keep in keeps):
        return None
    return program.where(keeps)


def _without(program: Program, chosen: list[int], check: Check) -> Program:
    """The program with cuts that rule out the chosen actions.

    Where they break a rule, it is broken by one of each group of its features: with all but one of them, none of the
    actions of that group that break it too is possible. Otherwise not all of the actions together are.
    """
    cuts: list[Row] = []
    for g, groups, broken in _breaking(program, chosen, check):
        parts = [_only(other, a, h in groups) for h, (other, a) in enumerate(zip(program.choices, chosen, strict=True))]
        parts[g] = broken.astype(float)
        cuts.append(Row(tuple(parts), -np.inf, len(groups) - 1.0))
    if not cuts:
        parts = [_only(some, a, True) for some, a in zip(program.choices, chosen, strict=True)]
        cuts.append(Row(tuple(parts), -np.inf, len(chosen) - 1.0))
    return replace(program, rows=[*program.rows, *cuts])


def _breaking(program: Program, chosen: list[int], check: Check) -> Iterator[tuple[int, list[int], np.ndarray]]:
    """For each rule that the chosen actions break, and each group g in it: g, all groups, and what breaks it too, (A,).

    The last are actions of g, beside what is chosen in the other groups.
    """
    columns = np.concatenate([some.columns for some in program.choices])
    of_group = np.repeat(np.arange(len(program.choices)), [len(some.columns) for some in program.choices])
    cells = np.concatenate([some.cells[a] for some, a in zip(program.choices, chosen, strict=True)])
    rules = [involved for involved, _ in check.broken(columns, cells[None], cells)]
    touched = np.unique(of_group[np.isin(columns, [j for involved in rules for j in involved])]).tolist()
    places, versions = {}, np.empty((0, len(cells)))
    for g in touched:
        some = np.tile(cells, (len(program.choices[g].cost), 1))
        some[:, of_group == g] = program.choices[g].cells
        places[g] = slice(len(versions), len(versions) + len(some))
        versions = np.concatenate((versions, some))
    for involved, broken in check.broken(columns, versions, cells) if touched else ():
        groups = np.unique(of_group[np.isin(columns, involved)]).tolist()
        yield from ((g, groups, broken[places[g]]) for g in groups)


def _thinned(program: Program, chosen: list[int], check: Check) -> Program | None:
    """The program without the actions of one group of each broken rule that break it; None where nothing is left.

    That is the group whose action gains the least; what is lost with it is not proven to be of no use.
    """
    keeps: dict[int, np.ndarray] = {}
    for g, _, broken in _breaking(program, chosen, check):
        if broken[chosen[g]] and not broken.all():
            keeps[g] = keeps.get(g, np.ones(len(broken), dtype=bool)) & ~broken
    gains = {g: program.choices[g].gain[chosen[g]] for g, keep in keeps.items() if np.any(keep)}
    if not gains:
        return None
    least = min(gains, key=lambda g: gains[g])
    choices = [some.where(keeps[least]) if g == least else some for g, some in enumerate(program.choices)]
    return replace(program, choices=choices)


def _only(some: Choices, action: int, involved: bool) -> np.ndarray:
    """1 for one action of a group, if the group takes part."""
    return (np.arange(len(some.cost)) == action).astype(float) * involved


def _group(choices: Choices) -> Group:
    return Group(choices.cost, choices.gain, choices.changes)


def by_knapsack(program: Program, cost: RecourseCost, seconds: float, proving: bool = True) -> Chosen:
    """The choice by dynamic programming, which is not begun without time left; a good one if it is not `proving`."""
    if seconds <= 0:
        return Chosen(None, False)
    groups = [_group(some) for some in program.choices]
    if cost != "max":
        return Chosen(cheapest(groups, program.need, program.most, proving))
    limit = least_limit(groups, program.need, program.most)
    if limit is None:
        return Chosen(None)
    within = [np.flatnonzero(group.cost <= limit) for group in groups]
    groups = [group.where(keep) for group, keep in zip(groups, within, strict=True)]
    chosen = cheapest(groups, program.need, program.most, proving)
    return Chosen(None if chosen is None else [int(keep[a]) for keep, a in zip(within, chosen, strict=True)])


def by_programming(program: Program, cost: RecourseCost, seconds: float, proving: bool = True) -> Chosen:
    """The same choice by HiGHS; for the largest cost, first the least limit, then the least total within it.

    `seconds` is the most time that each of them may take.
    """
    costs = np.concatenate([some.cost for some in program.choices])
    if cost != "max":
        return _programmed(program, costs, None, seconds)
    first = _programmed(program, np.zeros(len(costs)), costs, seconds / 2)
    if first.actions is None:
        return first
    limit = max(some.cost[action] for some, action in zip(program.choices, first.actions, strict=True))
    second = _programmed(program, np.where(costs > limit + _SLACK, np.inf, costs), None, seconds / 2)
    if second.actions is None:
        return Chosen(first.actions, False)
    return Chosen(second.actions, first.proven and second.proven)


def _programmed(program: Program, objective: np.ndarray, largest: np.ndarray | None, seconds: float) -> Chosen:
    """One binary variable for each action; with `largest`, one more variable that no chosen action's cost exceeds."""
    sizes = [len(some.cost) for some in program.choices]
    total, extra = sum(sizes), 0 if largest is None else 1
    groups = np.repeat(np.arange(len(sizes)), sizes)
    gain = np.concatenate([some.gain for some in program.choices])
    changes = np.concatenate([some.moved.sum(axis=1) for some in program.choices]).astype(np.float64)
    one_each = csr_array((np.ones(total), (groups, np.arange(total))), shape=(len(sizes), total + extra))
    dense = [gain, changes, *(np.concatenate(row.coefficients) for row in program.rows)]
    low = [program.need, -np.inf, *(row.low for row in program.rows)]
    high = [np.inf, float(program.most), *(row.high for row in program.rows)]
    matrix = np.column_stack((np.array(dense), np.zeros((len(dense), extra))))
    conditions = [LinearConstraint(one_each, 1, 1), LinearConstraint(matrix, low, high)]
    if largest is not None:
        below = csr_array((largest, (groups, np.arange(total))), shape=(len(sizes), total + 1)).tolil()
        below[:, total] = -1.0
        conditions.append(LinearConstraint(below.tocsr(), -np.inf, 0))
    allowed = np.isfinite(objective)
    solution = solve(
        np.append(np.where(allowed, objective, 0.0), np.ones(extra)),
        conditions,
        upper=np.append(allowed.astype(np.float64), np.full(extra, np.inf)),
        integral=np.append(np.ones(total), np.zeros(extra)),
        seconds=seconds,
        presolve=False,  # with it, HiGHS may print a line of its own, where a program reads our output
    )
    if solution.x is None:
        return Chosen(None, solution.proven)
    parts = np.split(solution.x[:total], np.cumsum(sizes)[:-1])
    return Chosen([int(np.argmax(part)) for part in parts], solution.proven)


def _item(program: Program, chosen: list[int], cost: RecourseCost) -> Item:
    pairs = list(zip(program.choices, chosen, strict=True))
    columns = np.concatenate([some.columns for some, _ in pairs])
    cells = np.concatenate([some.cells[action] for some, action in pairs])
    moved = np.concatenate([some.moved[action] for some, action in pairs])
    costs = [float(some.cost[action]) for some, action in pairs]
    value = max(costs) + 1e-6 * sum(costs) if cost == "max" else sum(costs)
    return Item(columns, cells, frozenset(int(j) for j in columns[moved]), value)
