"""The easiest row in any of many balls, as a mixed-integer program a ball, of which most are never solved.

A row is one option of each column: what it costs, what score it gains, how far it is from what each centre has there.
In one ball the easiest row is a small program: enough gain, not too far from the centre, and one more variable for the
largest shift. Any multipliers of gain, distance, largest shift and number of changes give a bound for every ball at
once, column by column (Lagrange). They are taken from the linear relaxations of the most promising balls. A ball is
opened only while its bound is less than the easiest row known, with only the options that could make it easier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

_EQUAL: Final = 1e-9
"""Costs closer than this are equal to the search."""
_CLOSED: Final = 2e-6
"""Costs closer than this are equal to the proof: the solver proves optima to a millionth."""
_PENALTY: Final = 1e3
"""What a unit of squared distance beyond a ball costs in its relaxation: more than it is ever worth."""
_NODES: Final = 20_000
"""After so many nodes the solver leaves a ball; its bound holds all the same."""


@dataclass(frozen=True)
class Column:
    """The options of one column; the first is to stay.

    Attributes
    ----------
    shift, gain
        How far each option moves the person, and the score it gains, (options,).
    gaps
        Its squared distance to each kind of cell that centres have, (options, kinds).
    kinds
        Which kind of cell each centre has, (balls,).
    """

    shift: np.ndarray
    gain: np.ndarray
    gaps: np.ndarray
    kinds: np.ndarray

    def where(self, keep: np.ndarray) -> Column:
        """Some of the options."""
        return Column(self.shift[keep], self.gain[keep], self.gaps[keep], self.kinds)


@dataclass(frozen=True)
class Proof:
    """No row in any ball costs less than `bound`; the easiest one known costs `least`.

    `balls` is how many of them were looked into.
    """

    bound: float
    least: float
    balls: int

    @property
    def closed(self) -> bool:
        """Whether the bound is the optimum."""
        return self.least - self.bound <= _CLOSED


@dataclass(frozen=True)
class _Multipliers:
    """What a unit of squared distance, gain and change costs, and how the largest shift's weight is shared out."""

    distance: float
    gain: float
    change: float
    shares: np.ndarray


@dataclass(frozen=True)
class BallProgram:
    """One person's options, the gain they need, and the room that is left in each ball.

    Attributes
    ----------
    room
        The squared radius left after what the person cannot change, (balls,).
    most
        The largest number of changes.
    largest, number
        The weights of the largest shift and of each change in what is minimised, besides the sum of shifts.
    """

    columns: list[Column]
    need: float
    room: np.ndarray
    most: int
    largest: float
    number: float

    def prove(self, known: float, first: int, limit: int) -> Proof:
        """The least cost over all balls, given a row that costs `known` in the ball `first`.

        At most `limit` balls are looked into; where that is not enough the bound may be less than the optimum.
        """
        low = np.where(self.room < 0, math.inf, 0.0)
        by = [_Multipliers(0.0, 0.0, 0.0, np.zeros(len(self.columns)))]
        best = np.zeros(len(low), dtype=np.intp)
        relaxed, solved = np.zeros(len(low), dtype=bool), np.zeros(len(low), dtype=bool)
        least, ball = known, first
        while True:
            if not relaxed[ball]:
                relaxed[ball] = True
                by.append(self._relaxation(ball))
                bounds = self._bounds(by[-1])
                better = bounds > low
                low[better], best[better] = bounds[better], len(by) - 1
            else:
                solved[ball] = True
                keep = self._worth(ball, by[best[ball]], low[ball], least)
                bound, cost = self._solved(ball, keep, least)
                low[ball], least = max(low[ball], bound), min(least, cost)
            waiting = np.where(solved | (low >= least - _EQUAL), math.inf, low)
            ball = int(np.argmin(waiting))
            if math.isinf(waiting[ball]) or (not relaxed[ball] and relaxed.sum() >= limit):
                return Proof(min(least, float(low.min())), least, int(relaxed.sum()))

    @cached_property
    def _owner(self) -> np.ndarray:
        """Whose option each is: the position of its column."""
        return np.repeat(np.arange(len(self.columns)), [len(column.shift) for column in self.columns])

    @cached_property
    def _shift(self) -> np.ndarray:
        return np.concatenate([column.shift for column in self.columns])

    @cached_property
    def _gain(self) -> np.ndarray:
        return np.concatenate([column.gain for column in self.columns])

    @cached_property
    def _moved(self) -> np.ndarray:
        return np.concatenate([np.arange(len(column.shift)) > 0 for column in self.columns]).astype(np.float64)

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.searchsorted(self._owner, np.arange(len(self.columns)))

    def _gaps(self, ball: int) -> np.ndarray:
        """The squared distance of each option to the centre of a ball."""
        return np.concatenate([column.gaps[:, column.kinds[ball]] for column in self.columns])

    def _priced(self, by: _Multipliers) -> np.ndarray:
        """What each option costs under multipliers, but for its distance."""
        shifts = self._shift * (1 + by.shares[self._owner])
        return np.asarray(shifts + (self.number + by.change) * self._moved - by.gain * self._gain)

    def _bounds(self, by: _Multipliers) -> np.ndarray:
        """What a row costs at least, in every ball."""
        total = by.gain * self.need - by.change * self.most - by.distance * self.room
        parts = np.split(self._priced(by), self._starts[1:])
        for column, priced in zip(self.columns, parts, strict=True):
            total += (priced[:, None] + by.distance * column.gaps).min(axis=0)[column.kinds]
        return np.where(self.room < 0, math.inf, total)

    def _worth(self, ball: int, by: _Multipliers, low: float, least: float) -> np.ndarray:
        """Which options a row of a ball can have that costs less than `least`, by what the others cost at least."""
        priced = self._priced(by) + by.distance * self._gaps(ball)
        over = priced - np.minimum.reduceat(priced, self._starts)[self._owner]
        return np.flatnonzero(low + over < least - _EQUAL)

    def _relaxation(self, ball: int) -> _Multipliers:
        """The multipliers of a ball's linear relaxation: they give the largest bound for this ball, and a good one for
        others like it.
        """
        costs, rows, high, choose = self._conditions(ball, np.arange(len(self._owner)))
        beyond = np.zeros((len(high), 1))
        beyond[1] = -1.0
        result = linprog(
            np.append(costs, _PENALTY),
            A_ub=np.hstack((rows, beyond)),
            b_ub=high,
            A_eq=np.hstack((choose, np.zeros((len(choose), 1)))),
            b_eq=np.ones(len(choose)),
            method="highs",
        )
        if result.status != 0:
            return _Multipliers(0.0, 0.0, 0.0, np.zeros(len(self.columns)))
        prices = np.maximum(-result.ineqlin.marginals, 0.0)
        shares = prices[3:]
        # rounding must not share out more than there is
        shares = shares * min(1.0, self.largest / max(shares.sum(), _EQUAL))
        return _Multipliers(float(prices[1]), float(prices[0]), float(prices[2]), shares)

    def _conditions(self, ball: int, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Costs of the options and of the largest shift; rows and their upper ends; the choice of one a column."""
        owner, shift, moved = self._owner[keep], self._shift[keep], self._moved[keep]
        choose = np.zeros((len(self.columns), len(keep) + 1))
        choose[owner, np.arange(len(keep))] = 1.0
        below = choose * np.append(shift, 0.0)
        below[:, -1] = -1.0
        rows = np.zeros((3, len(keep) + 1))
        rows[:, :-1] = -self._gain[keep], self._gaps(ball)[keep], moved
        high = np.array([-self.need, self.room[ball], self.most, *np.zeros(len(self.columns))])
        return np.append(shift + self.number * moved, self.largest), np.vstack((rows, below)), high, choose

    def _solved(self, ball: int, keep: np.ndarray, least: float) -> tuple[float, float]:
        """What a row of a ball costs at least, if less than `least`, and what the easiest one found costs."""
        costs, rows, high, choose = self._conditions(ball, keep)
        result = milp(
            costs,
            integrality=np.append(np.ones(len(keep)), 0),
            bounds=Bounds(0, np.append(np.ones(len(keep)), np.inf)),
            constraints=[
                LinearConstraint(csr_array(np.vstack((rows, costs))), -np.inf, np.append(high, least)),
                LinearConstraint(csr_array(choose), 1, 1),
            ],
            options={"mip_rel_gap": 0.0, "node_limit": _NODES},
        )
        if result.status == 2:
            return least, math.inf
        bound = -math.inf if result.mip_dual_bound is None else min(float(result.mip_dual_bound), least)
        return bound, math.inf if result.x is None else self._cost(ball, keep[result.x[:-1] > 0.5])

    def _cost(self, ball: int, chosen: np.ndarray) -> float:
        """What a row costs, exactly; infinite where it is no answer in this ball."""
        moved = self._moved[chosen].sum()
        answer = self._gain[chosen].sum() >= self.need and self._gaps(ball)[chosen].sum() <= self.room[ball]
        if len(chosen) != len(self.columns) or not answer or moved > self.most:
            return math.inf
        shift = self._shift[chosen]
        return float(shift.sum() + self.largest * shift.max(initial=0.0) + self.number * moved)
