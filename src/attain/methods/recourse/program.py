"""The program of a row: one action from each group of features, enough gain, and the least cost; and its flip set.

A choice takes one action a_g from each group g:

    minimise Σ_g cost[g, a_g]   subject to   Σ_g gain[g, a_g] ≥ need,   Σ_g changes[g, a_g] ≤ most,

and further linear conditions. HiGHS solves it, with one binary variable for each action that a cheapest choice may
have.

A flip set is the cheapest choice, then the cheapest ones that change other sets of features: each set that was found is
ruled out by one more condition. A program is solved without any rule first. Where the choice breaks one, conditions
that rule it out are added, and the program is solved again: a choice that keeps all rules is the cheapest of those that
do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from attain.search.problem import Deadline

RecourseCost: TypeAlias = Literal["total", "max", "local"]

NODES: Final = 10_000
"""The most nodes HiGHS may open; then the best solution so far is taken."""
MOST_ROUNDS: Final = 200
"""How often a part is solved again, with further conditions, before it is given up."""
_SLACK: Final = 1e-9
_UNIT: Final = 1e-4
"""The unit of cost in which programs are solved: HiGHS takes totals for equal that differ by less than 1e-6."""
_WIDER: Final = 4.0
"""How much farther from the bound actions are taken, where those nearer to it allow no choice."""
_DEAREST: Final = 1e12
"""The highest price of a unit of gain that is looked at."""
_HALVINGS: Final = 20
"""How often the interval of that price is halved."""


@dataclass(frozen=True)
class Choices:
    """The A actions of one group of m features.

    Attributes
    ----------
    columns
        The features, (m,).
    cells, moved
        The cells that each action writes, and which of them are changes, (A, m).
    cost, gain
        What each costs and adds to the score, (A,); the gain is −inf where the model does not take the cells.
    exhaustive
        Whether these are all actions that there are, not only those on a grid.
    """

    columns: np.ndarray
    cells: np.ndarray
    moved: np.ndarray
    cost: np.ndarray
    gain: np.ndarray
    exhaustive: bool = False

    def __len__(self) -> int:
        return len(self.cost)

    @cached_property
    def changes(self) -> np.ndarray:
        """How many features each action changes, (A,)."""
        return np.asarray(self.moved.sum(axis=1))

    def unbeaten(self, conditions: Sequence[np.ndarray]) -> np.ndarray:
        """The positions of actions that no other of the same changes and conditions, (A,) each, beats.

        One action beats another if it costs no more and gains no less.
        """
        marks = np.vstack((self.moved @ (1 << np.arange(len(self.columns))), *conditions))
        order = np.lexsort((-self.gain, self.cost, *marks))
        kept = []
        for group in np.split(order, np.flatnonzero((np.diff(marks[:, order]) != 0).any(axis=0)) + 1):
            most = np.maximum.accumulate(np.append(-np.inf, self.gain[group]))
            kept.append(group[self.gain[group] > most[:-1]])
        return np.sort(np.concatenate(kept))

    def where(self, keep: np.ndarray) -> Choices:
        return Choices(self.columns, self.cells[keep], self.moved[keep], self.cost[keep], self.gain[keep])


@dataclass(frozen=True)
class Row:
    """A linear condition on the actions a_g that are chosen: Σ_g weights[g][a_g] ≤ most, over some groups g."""

    weights: dict[int, np.ndarray]
    most: float


def not_all(sets: dict[int, np.ndarray]) -> Row:
    """The condition that not all of these groups have their action in these sets, (A,) each."""
    return Row(sets, len(sets) - 1.0)


class Chosen(NamedTuple):
    """The action of each group, None where there is no choice; `proven` where that is shown."""

    actions: list[int] | None
    proven: bool = True


@dataclass(frozen=True)
class Program:
    """One row's problem: one action from each group, a gain of `need`, at most `most` changes, and further conditions.

    `exact` says that the gain of a choice is the sum of those of its actions.
    """

    choices: list[Choices]
    need: float
    most: int
    rows: Sequence[Row] = ()
    exact: bool = True

    @property
    def sizes(self) -> list[int]:
        return [len(group) for group in self.choices]

    def joined(self, name: str) -> np.ndarray:
        """An attribute of the actions of all groups, one group after the other."""
        return np.concatenate([getattr(group, name) for group in self.choices])

    def pairs(self, actions: Sequence[int]) -> list[tuple[Choices, int]]:
        """Each group with its action."""
        return list(zip(self.choices, actions, strict=True))

    def total(self, actions: Sequence[int]) -> float:
        """What a choice costs in total."""
        return sum(float(group.cost[a]) for group, a in self.pairs(actions))

    def where(self, keeps: Sequence[np.ndarray]) -> Program:
        """The program with some actions of each group, those at `keeps`."""
        choices = [group.where(keep) for group, keep in zip(self.choices, keeps, strict=True)]
        rows = [Row({g: part[keeps[g]] for g, part in row.weights.items()}, row.most) for row in self.rows]
        return replace(self, choices=choices, rows=rows)

    @cached_property
    def useful(self) -> list[np.ndarray]:
        """The positions of actions of each group that a cheapest choice may have."""
        return [
            group.unbeaten([row.weights[g] for row in self.rows if g in row.weights])
            for g, group in enumerate(self.choices)
        ]


def cheapest(program: Program, cost: RecourseCost, seconds: float) -> Chosen:
    """The cheapest choice; for the largest cost, the least limit, then the least total within it.

    `seconds` is the most time that HiGHS may take; without any, nothing is begun.
    """
    if seconds <= 0:
        return Chosen(None, False)
    part = program.where(program.useful)
    if not all(part.sizes) or most_gain(part.choices, part.most) < part.need:
        return Chosen(None)
    if not part.choices:
        return Chosen([])
    return _among(program.useful, (_least_largest if cost == "max" else _least_total)(part, seconds))


def most_gain(choices: list[Choices], most: int) -> float:
    """The largest total gain of one action from each group, with at most `most` changes; −inf for none."""
    best = np.zeros(1)
    for group in choices:
        gains = np.full(int(group.changes.max()) + 1, -np.inf)
        np.maximum.at(gains, group.changes, group.gain)
        total = np.full(len(best) + len(gains) - 1, -np.inf)
        for changes, gain in enumerate(gains):
            part = total[changes : changes + len(best)]
            np.maximum(part, best + gain, out=part)
        best = total[: most + 1]
    return float(best.max())


def _among(kept: list[np.ndarray], found: Chosen) -> Chosen:
    """A choice among some actions of each group, those at `kept`, as one of all actions."""
    if found.actions is None:
        return found
    return found._replace(actions=[int(actions[a]) for actions, a in zip(kept, found.actions, strict=True)])


def _least_largest(program: Program, seconds: float) -> Chosen:
    """The choice whose largest cost is least, and of these the one of least total cost."""
    first = _solved(program, seconds / 2, largest=True)
    if first.actions is None:
        return first
    limit = max(float(group.cost[a]) for group, a in program.pairs(first.actions))
    within = [np.flatnonzero(group.cost <= limit + _SLACK) for group in program.choices]
    second = _among(within, _least_total(program.where(within), seconds / 2))
    found = first if second.actions is None else second
    return found._replace(proven=first.proven and second.proven and second.actions is not None)


def _least_total(program: Program, seconds: float) -> Chosen:
    """The choice of least total cost, found among as few actions as are enough.

    No choice costs less than a bound, and with another action of a group than the one that the bound counts, it costs
    as much more as that one is `above`. So what is found among actions that are not above some room is the cheapest of
    all if it costs no more than the bound and that room.
    """
    above, bound, known = _bound(program)
    room = max(program.total(known) - bound, 0.0)
    ends = np.cumsum(program.sizes)[:-1]
    while True:
        kept = [np.flatnonzero(within) for within in np.split(above <= room + _SLACK, ends)]
        found = _among(kept, _solved(program.where(kept), seconds))
        if not found.proven or room >= above.max():
            return found
        total = math.inf if found.actions is None else program.total(found.actions)
        if total <= bound + room + _SLACK:
            return found
        room = max(_WIDER * room, _UNIT) if found.actions is None else total - bound


def _solved(program: Program, seconds: float, largest: bool = False) -> Chosen:
    """One binary variable for each action; with `largest`, one more variable that no chosen action's cost exceeds."""
    cost, gain, sizes = program.joined("cost"), program.joined("gain"), program.sizes
    ends = np.cumsum([0, *sizes])
    total, variables = len(cost), len(cost) + largest
    places = np.repeat(np.arange(len(sizes)), sizes), np.arange(total)
    scale = float(np.abs(gain).max()) or 1.0
    matrix = np.zeros((2 + len(program.rows), variables))
    matrix[0, :total], matrix[1, :total] = -gain / scale, program.joined("changes")
    for line, row in zip(matrix[2:], program.rows, strict=True):
        for g, weights in row.weights.items():
            line[ends[g] : ends[g + 1]] = weights
    most = [-program.need / scale, float(program.most), *(row.most for row in program.rows)]
    one_each = csr_array((np.ones(total), places), shape=(len(sizes), variables))
    conditions = [LinearConstraint(one_each, 1, 1), LinearConstraint(csr_array(matrix), -np.inf, most)]
    price, upper, integral = cost / _UNIT, np.ones(variables), np.ones(variables, dtype=np.int64)
    if largest:
        below = csr_array((cost, places), shape=(len(sizes), variables)).tolil()
        below[:, total] = -1.0
        conditions.append(LinearConstraint(below.tocsr(), -np.inf, 0))
        price, upper[total], integral[total] = np.append(np.zeros(total), 1.0), np.inf, 0
    solution: Any = milp(
        price,
        integrality=integral,
        bounds=Bounds(0.0, upper),
        constraints=conditions,
        options={"mip_rel_gap": 0.0, "node_limit": NODES, "presolve": False, "time_limit": seconds},
    )
    if solution.x is None:
        return Chosen(None, solution.status == 2)  # 2: there is no solution
    chosen = [int(np.argmax(part)) for part in np.split(solution.x[:total], ends[1:-1])]
    return Chosen(chosen, solution.status == 0)


def cheap_choice(program: Program) -> list[int] | None:
    """A cheap choice that gains enough, without regard to further conditions; None where none is found."""
    if not program.choices or most_gain(program.choices, program.most) < program.need:
        return None
    actions = _bound(program)[2]
    changes = np.array([group.changes[a] for group, a in program.pairs(actions)])
    if changes.sum() <= program.most:
        return actions
    # the changes that gain the most, as many as may be; the other groups stay
    first = np.argsort([-group.gain[a] for group, a in program.pairs(actions)], kind="stable")
    stays = set(first[np.cumsum(changes[first]) > program.most].tolist())
    return cheap_choice(program.where([np.arange(1 if g in stays else size) for g, size in enumerate(program.sizes)]))


def _bound(program: Program) -> tuple[np.ndarray, float, list[int]]:
    """How much each action is above a bound of the total cost, all groups' in a row; the bound; and a cheap choice.

    With a price λ ≥ 0 of a unit of gain, no choice costs less than λ · need + Σ_g min_a (cost − λ gain). λ is that at
    which the minimal actions just gain enough, where the bound is largest. The choice is these minimal actions,
    exchanged one at a time as long as that is cheaper.
    """
    cost, gain, sizes = program.joined("cost"), program.joined("gain"), program.sizes
    start, group = np.cumsum([0, *sizes])[:-1], np.repeat(np.arange(len(sizes)), sizes)

    def minimal(price: float) -> tuple[np.ndarray, np.ndarray]:
        """How far each action is above its group's minimum, and the largest gain of each group there."""
        reduced = cost - price * gain
        above = reduced - np.minimum.reduceat(reduced, start)[group]
        return above, np.maximum.reduceat(np.where(above <= 0, gain, -np.inf), start)

    low, high = 0.0, 1.0
    while minimal(high)[1].sum() < program.need and high < _DEAREST:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if minimal(middle)[1].sum() >= program.need else (middle, high)
    above, gains = minimal(high)
    bound = high * program.need + float((cost - high * gain - above)[start].sum())
    chosen = start + [int(np.argmax(part)) for part in np.split((above <= 0) & (gain == gains[group]), start[1:])]
    while True:
        enough = gain - gain[chosen][group] >= program.need - gain[chosen].sum()
        saved = np.where(enough, cost[chosen][group] - cost, 0.0)
        best = int(saved.argmax())
        if saved[best] <= _SLACK:
            return above, bound, (chosen - start).tolist()
        chosen[group[best]] = best


@dataclass(frozen=True)
class Item:
    """One choice of actions.

    Attributes
    ----------
    actions
        The action of each group.
    cost
        What the items of a row are ordered by: the total, or the largest and then the total.
    proven
        Whether no cheaper item is left, as shown by the solver.
    """

    actions: list[int]
    cost: float
    proven: bool = True


class FlipSet:
    """The items of one program, cheapest first.

    `check` gives conditions that a choice breaks, none where it is an answer; `program` gets them, too. Once a part was
    left unsolved because of a limit, a cheaper item may hide there: later items are not `proven`.
    """

    def __init__(
        self, program: Program, cost: RecourseCost, check: Callable[[list[int]], list[Row]], deadline: Deadline
    ) -> None:
        self.program, self._cost, self._check, self._deadline = program, cost, check, deadline
        self._complete = program.exact

    def proves_no_recourse(self) -> bool:
        """Whether a failed search proves that there is no item, also off the grid."""
        limited = {g for row in self.program.rows for g in row.weights}
        limited |= {g for g, group in enumerate(self.program.choices) if len(group.columns) > 1}
        return self._complete and all(self.program.choices[g].exhaustive for g in limited)

    def items(self) -> Iterator[Item]:
        """Items that change different sets of features."""
        while (item := self.cheapest()) is not None:
            yield item
            self.program = replace(self.program, rows=[*self.program.rows, self._other_features(item)])

    def _other_features(self, item: Item) -> Row:
        """The condition that another set of features changes than in an item."""
        weights, number = {}, 0
        for g, (group, a) in enumerate(self.program.pairs(item.actions)):
            weights[g] = group.moved @ np.where(group.moved[a], 1.0, -1.0)
            number += int(group.changes[a])
        return Row(weights, number - 1.0)

    def cheapest(self, kept: list[np.ndarray] | None = None) -> Item | None:
        """The cheapest item; with `kept`, among the actions of each group at these positions."""
        for _ in range(MOST_ROUNDS):
            if kept is None:
                actions, proven = cheapest(self.program, self._cost, self._deadline.seconds_left)
            else:
                part = self.program.where(kept)
                actions, proven = _among(kept, cheapest(part, self._cost, self._deadline.seconds_left))
            self._complete &= proven
            if actions is None:
                return None
            rows = self._short(actions) or self._check(actions)
            if not rows:
                return self._item(actions)
            self.program = replace(self.program, rows=[*self.program.rows, *rows])
        self._complete = False
        return None

    def _short(self, actions: list[int]) -> list[Row]:
        """A cut where the choice gains a little less than needed, which HiGHS tolerates: no less is enough either."""
        pairs = self.program.pairs(actions)
        if sum(group.gain[a] for group, a in pairs) >= self.program.need:
            return []
        return [not_all({g: group.gain <= group.gain[a] for g, (group, a) in enumerate(pairs)})]

    def _item(self, actions: list[int]) -> Item:
        costs = [float(group.cost[a]) for group, a in self.program.pairs(actions)]
        value = max(costs, default=0.0) + 1e-6 * sum(costs) if self._cost == "max" else sum(costs)
        return Item(actions, value, self._complete)
