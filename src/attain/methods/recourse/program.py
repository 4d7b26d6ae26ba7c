"""The program of a row: one action from each group of features, enough gain, and the least cost; and its flip set.

A choice takes one action a_g from each group g:

    minimise Σ_g cost[g, a_g]   subject to   Σ_g gain[g, a_g] ≥ need,   Σ_g changes[g, a_g] ≤ most,

and further linear conditions. HiGHS solves it, with one binary variable for each action that a cheapest choice may
have.

A flip set is the cheapest choice, then the cheapest ones that change other features. A program is solved without any
rule first. Where the choice breaks one, that rule is added as a condition, and the program is solved again: a choice
that keeps all rules is the cheapest of those that do. Further choices come from splitting what is left into parts, each
with some features that must change and some that must not (Lawler's procedure), and always opening the part with the
cheapest choice.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import count
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from attain.search.problem import Deadline
from attain.search.programs import solve, unbeaten

RecourseCost: TypeAlias = Literal["total", "max", "local"]
Features: TypeAlias = frozenset[int]

MOST_ROUNDS: Final = 200
"""How often a part is solved again, with further conditions, before it is given up."""
_SLACK: Final = 1e-9
_UNIT: Final = 1e-4
"""The unit of cost in which programs are solved: HiGHS takes totals for equal that differ by less than 1e-6."""
_MOST_LISTED: Final = 20_000
"""The most choices of a program that are listed; HiGHS takes some milliseconds for the smallest program."""
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
        """The positions of actions that no other beats in cost and gain.

        That is among those with the same changes that these conditions, (A,) each, do not tell apart.
        """
        marks = np.vstack((self.moved @ (1 << np.arange(len(self.columns))), *conditions))
        order = np.lexsort(marks)
        kind = np.empty(len(order), dtype=np.intp)
        kind[order] = np.append(0, np.cumsum((np.diff(marks[:, order]) != 0).any(axis=0)))
        return np.flatnonzero(unbeaten(self.cost, self.gain, kind))

    def allowed(self, required: Features, forbidden: Features) -> np.ndarray:
        """The actions that change these features and not those, (A,)."""
        good = np.ones(len(self), dtype=bool)
        for k, j in enumerate(self.columns.tolist()):
            if j in required or j in forbidden:
                good &= self.moved[:, k] == (j in required)
        return good

    def where(self, keep: np.ndarray) -> Choices:
        return Choices(self.columns, self.cells[keep], self.moved[keep], self.cost[keep], self.gain[keep])


@dataclass(frozen=True)
class Row:
    """A linear condition on the actions a_g that are chosen: Σ_g weights[g][a_g] ≤ most, over some groups g."""

    weights: dict[int, np.ndarray]
    most: float


def not_all(sets: dict[int, np.ndarray]) -> Row:
    """That not all of these groups have their action in these sets, (A,) each."""
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
        """How many actions each group has."""
        return [len(group) for group in self.choices]

    def joined(self, name: str) -> np.ndarray:
        """An attribute of the actions of all groups, one group after the other."""
        return np.concatenate([getattr(group, name) for group in self.choices])

    def at(self, actions: Sequence[int]) -> list[tuple[Choices, int]]:
        """Each group with its action."""
        return list(zip(self.choices, actions, strict=True))

    def total(self, actions: Sequence[int]) -> float:
        """What a choice costs in total."""
        return sum(float(group.cost[a]) for group, a in self.at(actions))

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


def cheapest(
    program: Program,
    cost: RecourseCost,
    seconds: float,
    required: Features = frozenset(),
    forbidden: Features = frozenset(),
    proving: bool = True,
) -> Chosen:
    """The cheapest choice that changes these features and not those.

    For the largest cost, that is the least limit, then the least total within it. `seconds` is the most time that HiGHS
    may take; without any, nothing is begun. Without `proving`, a choice may cost a little more than another.
    """
    if seconds <= 0:
        return Chosen(None, False)
    pairs = zip(program.choices, program.useful, strict=True)
    useful = [best[group.allowed(required, forbidden)[best]] for group, best in pairs]
    part = program.where(useful)
    if not all(part.sizes) or most_gain(part.choices, part.most) < part.need:
        return Chosen(None)
    if not part.choices:
        return Chosen([])
    return _among(useful, (_least_largest if cost == "max" else _least_total)(part, seconds, proving))


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


def _least_largest(program: Program, seconds: float, proving: bool) -> Chosen:
    """The choice whose largest cost is least, and of these the one of least total cost."""
    first = _programmed(program, seconds / 2, largest=True)
    if first.actions is None:
        return first
    limit = max(float(group.cost[a]) for group, a in program.at(first.actions))
    within = [np.flatnonzero(group.cost <= limit + _SLACK) for group in program.choices]
    second = _among(within, _least_total(program.where(within), seconds / 2, proving))
    found = first if second.actions is None else second
    return found._replace(proven=first.proven and second.proven and second.actions is not None)


def _least_total(program: Program, seconds: float, proving: bool) -> Chosen:
    """The choice of least total cost, found among as few actions as are enough.

    No choice costs less than a bound, and with another action of a group than the one that the bound counts, it costs
    as much more as that one is `above`. So what is found among actions that are not above some room is the cheapest of
    all if it costs no more than the bound and that room. Without `proving`, so few actions are taken that HiGHS is not
    needed.
    """
    above, bound, known = _above(program)
    if not proving and _listed(program.where([np.array([a]) for a in known])).actions is not None:
        return Chosen(known)
    room = max(program.total(known) - bound, 0.0)
    ends = np.cumsum(program.sizes)[:-1]
    while True:
        kept = [np.flatnonzero(within) for within in np.split(above <= room + _SLACK, ends)]
        few = math.prod(map(len, kept)) <= _MOST_LISTED
        if not few and not proving and room > _SLACK:
            room /= 2
            continue
        part = program.where(kept)
        found = _among(kept, _listed(part) if few else _programmed(part, seconds))
        if not found.proven or not proving or room >= above.max():
            return found
        total = math.inf if found.actions is None else program.total(found.actions)
        if total <= bound + room + _SLACK:
            return found
        room = max(_WIDER * room, _UNIT) if found.actions is None else total - bound


def _above(program: Program) -> tuple[np.ndarray, float, list[int]]:
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


def _listed(program: Program) -> Chosen:
    """The choice of least total cost among all, which are few; if equal, the one that gains more."""

    def total(parts: Sequence[np.ndarray]) -> np.ndarray:
        return reduce(lambda sums, part: np.add.outer(sums, part).ravel(), parts, np.zeros(1))

    sizes = program.sizes
    cost, gain, changes = (
        total([getattr(group, name) for group in program.choices]) for name in ("cost", "gain", "changes")
    )
    good = (gain >= program.need) & (changes <= program.most)
    for row in program.rows:
        good &= total([row.weights.get(g, np.zeros(size)) for g, size in enumerate(sizes)]) <= row.most
    cost = np.where(good, cost, np.inf)
    if np.isinf(cost.min()):
        return Chosen(None)
    best = int(np.where(cost == cost.min(), gain, -np.inf).argmax())
    # A position has more parts than an array has dimensions, where there are many groups.
    return Chosen([best // math.prod(sizes[g + 1 :]) % size for g, size in enumerate(sizes)])


def _programmed(program: Program, seconds: float, largest: bool = False) -> Chosen:
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
    price, upper, integral = cost / _UNIT, np.ones(variables), np.ones(variables)
    if largest:
        below = csr_array((cost, places), shape=(len(sizes), variables)).tolil()
        below[:, total] = -1.0
        conditions.append(LinearConstraint(below.tocsr(), -np.inf, 0))
        price, upper[total], integral[total] = np.append(np.zeros(total), 1.0), np.inf, 0
    solution = solve(price, conditions, upper=upper, integral=integral, seconds=seconds)
    if solution.x is None:
        return Chosen(None, solution.proven)
    return Chosen([int(np.argmax(part)) for part in np.split(solution.x[:total], ends[1:-1])], solution.proven)


@dataclass(frozen=True)
class Item:
    """One choice of actions.

    Attributes
    ----------
    actions
        The action of each group.
    changed
        The columns that change.
    cost
        What the items of a row are ordered by: the total, or the largest and then the total.
    proven
        Whether no cheaper item is left, as shown by the solver.
    """

    actions: list[int]
    changed: Features
    cost: float
    proven: bool = True


class FlipSet:
    """The items of one program, cheapest first.

    `check` gives conditions that a choice breaks, none where it is an answer; `program` gets them, too. Once a part was
    left unsolved because of a limit, a cheaper item may hide there: later items are not `proven`. Without `proving`, an
    item may cost a little more than another.
    """

    def __init__(
        self,
        program: Program,
        cost: RecourseCost,
        check: Callable[[list[int]], list[Row]],
        until: Deadline,
        most_rounds: int = MOST_ROUNDS,
        proving: bool = True,
    ) -> None:
        self.program, self._cost = program, cost
        self._check, self._until, self._most_rounds, self._proving = check, until, most_rounds, proving
        self._complete = program.exact

    def none(self) -> bool:
        """Whether, once the first item was looked for in vain, it is certain that there is none, on the grid or not."""
        limited = {g for row in self.program.rows for g in row.weights}
        limited |= {g for g, group in enumerate(self.program.choices) if len(group.columns) > 1}
        return self._complete and all(self.program.choices[g].exhaustive for g in limited)

    def items(self) -> Iterator[Item]:
        """Items that change different sets of features."""
        number = count()
        heap: list[tuple[float, int, Item, Features, Features]] = []

        def open_part(required: Features, forbidden: Features) -> None:
            item = self._cheapest(required, forbidden)
            if item is not None:
                heapq.heappush(heap, (item.cost, next(number), item, required, forbidden))

        columns = [int(j) for group in self.program.choices for j in group.columns]
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
        for _ in range(self._most_rounds):
            seconds = self._until.seconds_left
            actions, proven = cheapest(self.program, self._cost, seconds, required, forbidden, self._proving)
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
        pairs = self.program.at(actions)
        if sum(group.gain[a] for group, a in pairs) >= self.program.need:
            return []
        return [not_all({g: group.gain <= group.gain[a] for g, (group, a) in enumerate(pairs)})]

    def _item(self, actions: list[int]) -> Item:
        pairs = self.program.at(actions)
        changed = frozenset(int(j) for group, a in pairs for j in group.columns[group.moved[a]])
        costs = [float(group.cost[a]) for group, a in pairs]
        value = max(costs, default=0.0) + 1e-6 * sum(costs) if self._cost == "max" else sum(costs)
        return Item(actions, changed, value)
