"""The program of a row: one action from each group of features, enough gain, and the least cost.

A choice takes one action a_g from each group g:

    minimise Σ_g cost[g, a_g]   subject to   Σ_g gain[g, a_g] ≥ need,   Σ_g changes[g, a_g] ≤ most,

and further linear conditions. HiGHS solves it, with one binary variable for each action that a cheapest choice may
have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from attain.methods.search.programs import solve, unbeaten

RecourseCost: TypeAlias = Literal["total", "max", "local"]
Features: TypeAlias = frozenset[int]

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

    @cached_property
    def changes(self) -> np.ndarray:
        """How many features each action changes, (A,)."""
        return np.asarray(self.moved.sum(axis=1))

    def unbeaten(self, told: Sequence[np.ndarray]) -> np.ndarray:
        """The positions of actions that no other beats in cost and gain.

        That is among those with the same changes that these conditions, (A,) each, do not tell apart.
        """
        marks = np.vstack((self.moved @ (1 << np.arange(len(self.columns))), *told))
        order = np.lexsort(marks)
        kind = np.empty(len(order), dtype=np.intp)
        kind[order] = np.append(0, np.cumsum((np.diff(marks[:, order]) != 0).any(axis=0)))
        return np.flatnonzero(unbeaten(self.cost, self.gain, kind))

    def allowed(self, required: Features, forbidden: Features) -> np.ndarray:
        """The actions that change these features and not those, (A,)."""
        good = np.ones(len(self.cost), dtype=bool)
        for k, j in enumerate(self.columns.tolist()):
            if j in required:
                good &= self.moved[:, k]
            elif j in forbidden:
                good &= ~self.moved[:, k]
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

    def where(self, keeps: Sequence[np.ndarray]) -> Program:
        """The program with some actions of each group, those at `keeps`."""
        choices = [some.where(keep) for some, keep in zip(self.choices, keeps, strict=True)]
        rows = [Row({g: some[keeps[g]] for g, some in row.weights.items()}, row.most) for row in self.rows]
        return replace(self, choices=choices, rows=rows)

    @cached_property
    def useful(self) -> list[np.ndarray]:
        """The positions of actions of each group that a cheapest choice may have."""
        return [
            some.unbeaten([row.weights[g] for row in self.rows if g in row.weights])
            for g, some in enumerate(self.choices)
        ]

    def allows(self, actions: Sequence[int]) -> bool:
        """Whether a choice gains enough, changes few enough features, and keeps the further conditions."""
        pairs = list(zip(self.choices, actions, strict=True))
        enough = (
            sum(some.gain[a] for some, a in pairs) >= self.need
            and sum(some.changes[a] for some, a in pairs) <= self.most
        )
        return bool(enough) and all(
            sum(float(weights[actions[g]]) for g, weights in row.weights.items()) <= row.most for row in self.rows
        )

    def total(self, actions: Sequence[int]) -> float:
        """What a choice costs in total."""
        return sum(float(some.cost[a]) for some, a in zip(self.choices, actions, strict=True))


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
    useful = [
        best[some.allowed(required, forbidden)[best]]
        for some, best in zip(program.choices, program.useful, strict=True)
    ]
    part = program.where(useful)
    if not all(len(some.cost) for some in part.choices) or most_gain(part.choices, part.most) < part.need:
        return Chosen(None)
    if not part.choices:
        return Chosen([])
    return _among(useful, (_least_largest if cost == "max" else _least_total)(part, seconds, proving))


def most_gain(choices: list[Choices], most: int) -> float:
    """The largest total gain of one action from each group, with at most `most` changes; −inf for none."""
    best = np.zeros(1)
    for some in choices:
        own = np.full(int(some.changes.max()) + 1, -np.inf)
        np.maximum.at(own, some.changes, some.gain)
        total = np.full(len(best) + len(own) - 1, -np.inf)
        for changes, gain in enumerate(own):
            part = total[changes : changes + len(best)]
            np.maximum(part, best + gain, out=part)
        best = total[: most + 1]
    return float(best.max())


def _among(kept: list[np.ndarray], found: Chosen) -> Chosen:
    """A choice among some actions of each group, those at `kept`, as one of all actions."""
    if found.actions is None:
        return found
    return found._replace(actions=[int(some[a]) for some, a in zip(kept, found.actions, strict=True)])


def _least_largest(program: Program, seconds: float, proving: bool) -> Chosen:
    """The choice whose largest cost is least, and of these the one of least total cost."""
    first = _programmed(program, seconds / 2, largest=True)
    if first.actions is None:
        return first
    limit = max(float(some.cost[a]) for some, a in zip(program.choices, first.actions, strict=True))
    within = [np.flatnonzero(some.cost <= limit + _SLACK) for some in program.choices]
    second = _among(within, _least_total(program.where(within), seconds / 2, proving))
    return (
        first._replace(proven=False)
        if second.actions is None
        else second._replace(proven=first.proven and second.proven)
    )


def _least_total(program: Program, seconds: float, proving: bool) -> Chosen:
    """The choice of least total cost, found among as few actions as are enough.

    No choice costs less than a bound, and with another action of a group than the one that the bound counts, it costs
    as much more as that one is `above`. So what is found among actions that are not above some room is the cheapest of
    all if it costs no more than the bound and that room. Without `proving`, so few actions are taken that HiGHS is not
    needed.
    """
    above, bound, known = _above(program)
    if not proving and program.allows(known):
        return Chosen(known)
    room = max(program.total(known) - bound, 0.0)
    ends = np.cumsum([len(some.cost) for some in program.choices])[:-1]
    while True:
        kept = [np.flatnonzero(some) for some in np.split(above <= room + _SLACK, ends)]
        few = math.prod(len(some) for some in kept) <= _MOST_LISTED
        if not few and not proving and room > _SLACK:
            room /= 2
            continue
        part = program.where(kept)
        found = _among(kept, _listed(part) if few else _programmed(part, seconds))
        if not found.proven or not proving or room >= above.max():
            return found
        if found.actions is None:
            room = max(_WIDER * room, _UNIT)
        elif program.total(found.actions) <= bound + room + _SLACK:
            return found
        else:
            room = program.total(found.actions) - bound


def _above(program: Program) -> tuple[np.ndarray, float, list[int]]:
    """How much each action is above a bound of the total cost, all groups' in a row; the bound; and a cheap choice.

    With a price λ ≥ 0 of a unit of gain, no choice costs less than λ · need + Σ_g min_a (cost − λ gain). λ is that at
    which the minimal actions just gain enough, where the bound is largest. The choice is these
    minimal actions, exchanged one at a time as long as that is cheaper.
    """
    cost, gain = (np.concatenate([getattr(some, name) for some in program.choices]) for name in ("cost", "gain"))
    sizes = [len(some.cost) for some in program.choices]
    start, of = np.cumsum([0, *sizes])[:-1], np.repeat(np.arange(len(sizes)), sizes)

    def minimal(price: float) -> tuple[np.ndarray, np.ndarray]:
        """How far each action is above its group's minimum, and the largest gain of each group there."""
        reduced = cost - price * gain
        above = reduced - np.minimum.reduceat(reduced, start)[of]
        return above, np.maximum.reduceat(np.where(above <= 0, gain, -np.inf), start)

    low, high = 0.0, 1.0
    while minimal(high)[1].sum() < program.need and high < _DEAREST:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if minimal(middle)[1].sum() >= program.need else (middle, high)
    above, gains = minimal(high)
    bound = high * program.need + float((cost - high * gain - above)[start].sum())
    chosen = start + [int(np.argmax(part)) for part in np.split((above <= 0) & (gain == gains[of]), start[1:])]
    while True:
        enough = gain - gain[chosen][of] >= program.need - gain[chosen].sum()
        saved = np.where(enough, cost[chosen][of] - cost, 0.0)
        best = int(saved.argmax())
        if saved[best] <= _SLACK:
            return above, bound, (chosen - start).tolist()
        chosen[of[best]] = best


def _listed(program: Program) -> Chosen:
    """The choice of least total cost among all, which are few; if equal, the one that gains more."""

    sizes = [len(some.cost) for some in program.choices]

    def total(parts: Sequence[np.ndarray]) -> np.ndarray:
        return reduce(lambda sums, part: np.add.outer(sums, part).ravel(), parts, np.zeros(1))

    cost, gain, changes = (
        total([getattr(some, name) for some in program.choices]) for name in ("cost", "gain", "changes")
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
    choices = program.choices
    sizes = [len(some.cost) for some in choices]
    ends = np.cumsum([0, *sizes])
    total, extra = int(ends[-1]), int(largest)
    places = np.repeat(np.arange(len(sizes)), sizes), np.arange(total)
    cost, gain, changes = (
        np.concatenate([getattr(some, name) for some in choices]) for name in ("cost", "gain", "changes")
    )
    scale = float(np.abs(gain).max()) or 1.0
    matrix = np.zeros((2 + len(program.rows), total + extra))
    matrix[0, :total], matrix[1, :total] = -gain / scale, changes
    for line, row in zip(matrix[2:], program.rows, strict=True):
        for g, weights in row.weights.items():
            line[ends[g] : ends[g + 1]] = weights
    most = [-program.need / scale, float(program.most), *(row.most for row in program.rows)]
    one_each = csr_array((np.ones(total), places), shape=(len(sizes), total + extra))
    conditions = [LinearConstraint(one_each, 1, 1), LinearConstraint(csr_array(matrix), -np.inf, most)]
    if largest:
        below = csr_array((cost, places), shape=(len(sizes), total + 1)).tolil()
        below[:, total] = -1.0
        conditions.append(LinearConstraint(below.tocsr(), -np.inf, 0))
    solution = solve(
        np.append(np.zeros(total), 1.0) if largest else cost / _UNIT,
        conditions,
        upper=np.append(np.ones(total), np.full(extra, np.inf)),
        integral=np.append(np.ones(total), np.zeros(extra)),
        seconds=seconds,
    )
    if solution.x is None:
        return Chosen(None, solution.proven)
    return Chosen([int(np.argmax(part)) for part in np.split(solution.x[:total], ends[1:-1])], solution.proven)
