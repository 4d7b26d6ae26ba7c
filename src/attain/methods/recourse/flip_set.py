"""Flip sets: the cheapest choice of actions that turns the decision, then the cheapest that changes other features.

One choice is found by the exact knapsack of `knapsack`, or by mixed-integer programming (HiGHS) where
conditions between groups remain. Further ones come from splitting what is left into parts, each with some features that
must change and some that must not, and always opening the part with the cheapest choice.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from attain.methods.recourse.actions import Choices, Cost, Program, Row
from attain.methods.recourse.knapsack import Group, cheapest, least_limit, most_gain

Check: TypeAlias = Callable[["Item"], bool]
"""Whether a choice is an answer; asked only where the program does not say so itself."""

_MOST_REJECTED: Final = 50
_SLACK: Final = 1e-9
_NODES: Final = 10_000
"""The most nodes HiGHS may open; then its best choice so far is taken."""


@dataclass(frozen=True)
class Item:
    """One choice of actions: the columns it writes, the cells, which columns change, and its cost."""

    columns: np.ndarray
    cells: np.ndarray
    changed: frozenset[int]
    cost: float
    """What the items of a person are ordered by: the total, or the largest and then the total."""


def flip_set(program: Program, cost: Cost, *, exclusive: bool, check: Check) -> Iterator[Item]:
    """Items that change different sets of features, cheapest first; with `exclusive`, no feature in two of them."""
    if exclusive:
        used: frozenset[int] = frozenset()
        while (item := _cheapest(_part(program, frozenset(), used), cost, check)) is not None:
            yield item
            if not item.changed:
                return
            used |= item.changed
        return
    number = count()
    heap: list[tuple[float, int, Item, frozenset[int], frozenset[int]]] = []

    def open_part(required: frozenset[int], forbidden: frozenset[int]) -> None:
        item = _cheapest(_part(program, required, forbidden), cost, check)
        if item is not None:
            heapq.heappush(heap, (item.cost, next(number), item, required, forbidden))

    columns = [int(j) for some in program.choices for j in some.columns]
    open_part(frozenset(), frozenset())
    while heap:
        _, _, item, required, forbidden = heapq.heappop(heap)
        yield item
        for j in columns:
            if j in required or j in forbidden:
                continue
            if j in item.changed:
                open_part(required, forbidden | {j})
                required |= {j}
            else:
                open_part(required | {j}, forbidden)
                forbidden |= {j}


def certainly_none(program: Program) -> bool:
    """Whether no allowed change at all gains enough, whatever values the grid has."""
    if program.reach is None:
        return False
    groups = [_group(some) for some in program.reach]
    return most_gain(groups, np.inf, program.most) < program.need - _SLACK * max(1.0, abs(program.need))


def _part(program: Program, required: frozenset[int], forbidden: frozenset[int]) -> Program | None:
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
    choices = [some.where(keep) for some, keep in zip(program.choices, keeps, strict=True)]
    rows = [
        replace(row, coefficients=tuple(some[keep] for some, keep in zip(row.coefficients, keeps, strict=True)))
        for row in program.rows
    ]
    return replace(program, choices=choices, rows=rows)


def _cheapest(program: Program | None, cost: Cost, check: Check) -> Item | None:
    if program is None or any(not len(some.cost) for some in program.choices):
        return None
    if not program.rows:
        chosen = _by_knapsack(program, cost)
        return None if chosen is None else _item(program, chosen, cost)
    for _ in range(_MOST_REJECTED):
        chosen = _by_programming(program, cost)
        if chosen is None:
            return None
        item = _item(program, chosen, cost)
        if check(item):
            return item
        cut = tuple(np.arange(len(some.cost)) == action for some, action in zip(program.choices, chosen, strict=True))
        row = Row(tuple(part.astype(np.float64) for part in cut), -np.inf, len(chosen) - 1.0)
        program = replace(program, rows=[*program.rows, row])
    return None


def _group(choices: Choices) -> Group:
    return Group(choices.cost, choices.gain, choices.moved.sum(axis=1))


def _by_knapsack(program: Program, cost: Cost) -> list[int] | None:
    groups = [_group(some) for some in program.choices]
    if cost != "max":
        return cheapest(groups, program.need, program.most)
    limit = least_limit(groups, program.need, program.most)
    if limit is None:
        return None
    within = [np.flatnonzero(group.cost <= limit) for group in groups]
    least = [
        Group(group.cost[keep], group.gain[keep], group.changes[keep])
        for group, keep in zip(groups, within, strict=True)
    ]
    chosen = cheapest(least, program.need, program.most)
    assert chosen is not None
    return [int(keep[action]) for keep, action in zip(within, chosen, strict=True)]


def _by_programming(program: Program, cost: Cost) -> list[int] | None:
    """The same choice by HiGHS: a binary variable for each action; the largest cost is one more variable."""
    costs = np.concatenate([some.cost for some in program.choices])
    if cost != "max":
        return _programmed(program, costs, None)
    first = _programmed(program, np.zeros(len(costs)), costs)
    if first is None:
        return None
    limit = max(some.cost[action] for some, action in zip(program.choices, first, strict=True))
    return _programmed(program, np.where(costs > limit + _SLACK, np.inf, costs), None) or first


def _programmed(program: Program, objective: np.ndarray, largest: np.ndarray | None) -> list[int] | None:
    sizes = [len(some.cost) for some in program.choices]
    total = sum(sizes)
    extra = 0 if largest is None else 1
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
    result = milp(
        np.append(np.where(allowed, objective, 0.0), np.ones(extra)),
        integrality=np.append(np.ones(total), np.zeros(extra)),
        bounds=Bounds(np.zeros(total + extra), np.append(allowed.astype(np.float64), np.full(extra, np.inf))),
        constraints=conditions,
        options={"mip_rel_gap": 0.0, "node_limit": _NODES},
    )
    if result.x is None:
        return None
    ends = np.cumsum(sizes)
    return [int(np.argmax(result.x[end - size : end])) for size, end in zip(sizes, ends, strict=True)]


def _item(program: Program, chosen: list[int], cost: Cost) -> Item:
    pairs = list(zip(program.choices, chosen, strict=True))
    columns = np.concatenate([some.columns for some, _ in pairs])
    cells = np.concatenate([some.cells[action] for some, action in pairs])
    moved = np.concatenate([some.moved[action] for some, action in pairs])
    costs = [float(some.cost[action]) for some, action in pairs]
    value = max(costs) + 1e-6 * sum(costs) if cost == "max" else sum(costs)
    return Item(columns, cells, frozenset(int(j) for j in columns[moved]), value)
