"""The cheapest row in any of many balls: one mixed-integer program per ball, of which most are never solved.

Column j has options o with shift s_jo, gain g_jo and squared distance d_jo(b) to what the centre of ball b has there;
option 0 is to stay. With x_jo ∈ {0, 1}, Σ_o x_jo = 1, and t the largest shift, the program of ball b is

    min  Σ (s_jo + λ [o > 0]) x_jo + w t
    s.t. Σ g_jo x_jo ≥ G                     (gain)
         Σ d_jo(b) x_jo ≤ ρ²_b               (distance)
         Σ [o > 0] x_jo ≤ K                  (changes)
         Σ_o s_jo x_jo ≤ t  for each j       (largest shift).

Any multipliers γ of gain, δ of distance, κ of changes and σ_j of the largest shift, Σ σ_j ≤ w, give a Lagrange bound
for every ball at once, column by column:

    γ G − κ K − δ ρ²_b + Σ_j min_o [ s_jo (1 + σ_j) + (λ + κ) [o > 0] − γ g_jo + δ d_jo(b) ].

They are taken from the linear relaxations of the most promising balls. A ball is solved only while its bound is below
the cheapest row known, and only with the options that could be part of a cheaper one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from attain.core.checks import TIMEOUT

_EQUAL = 1e-9
"""Costs closer than this are equal to the search."""
_CLOSED = 2e-6
"""Costs closer than this are equal to the proof: the solver proves optima to a millionth."""
NODES = 20_000
"""Nodes after which the solver leaves a ball; its bound holds all the same."""
_PENALTY = 1e3
"""The cost of a unit of squared distance beyond a ball in its relaxation: more than it is ever worth."""


@dataclass(frozen=True)
class ColumnOptions:
    """The options of one column; the first is to stay.

    Attributes
    ----------
    shift, gain
        The shift of each option, and the score it gains, (options,).
    gaps
        Its squared distance to each kind of cell that centres have, (options, kinds).
    kinds
        The kind of cell of each centre, (balls,).
    """

    shift: np.ndarray
    gain: np.ndarray
    gaps: np.ndarray
    kinds: np.ndarray

    def where(self, keep: np.ndarray) -> ColumnOptions:
        """Some of the options."""
        return ColumnOptions(self.shift[keep], self.gain[keep], self.gaps[keep], self.kinds)


@dataclass(frozen=True)
class Proof:
    """No row in any ball costs less than `bound`; the cheapest one known costs `least`; `balls` were relaxed."""

    bound: float
    least: float
    balls: int

    @property
    def closed(self) -> bool:
        """Whether the bound is the optimum."""
        return self.least - self.bound <= _CLOSED


@dataclass(frozen=True)
class _Multipliers:
    """δ, γ, κ and σ of the module's text; the last is (columns,)."""

    distance: float
    gain: float
    change: float
    shares: np.ndarray


@dataclass(frozen=True)
class BallProgram:
    """The options of one row, and the balls.

    Attributes
    ----------
    need
        The gain G that is needed.
    slack_sq
        The squared radius ρ²_b that is left after what cannot change, (balls,).
    max_changes
        The largest number K of changes.
    max_shift_weight, change_weight
        The weights w of the largest shift and λ of each change.
    max_nodes
        Nodes after which the solver leaves a ball.
    """

    columns: list[ColumnOptions]
    need: float
    slack_sq: np.ndarray
    max_changes: int
    max_shift_weight: float
    change_weight: float
    max_nodes: int = NODES

    def prove(self, known: float, first: int, limit: int) -> Proof:
        """The least cost over all balls, given a row that costs `known` in the ball `first`.

        At most `limit` balls are relaxed; if that is not enough, the bound may be less than the optimum.
        """
        low = np.where(self.slack_sq < 0, math.inf, 0.0)
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
        """The column of each option."""
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
        """The cost of each option under multipliers, without its distance."""
        shifts = self._shift * (1 + by.shares[self._owner])
        return np.asarray(shifts + (self.change_weight + by.change) * self._moved - by.gain * self._gain)

    def _bounds(self, by: _Multipliers) -> np.ndarray:
        """The Lagrange bound of every ball, (balls,)."""
        total = by.gain * self.need - by.change * self.max_changes - by.distance * self.slack_sq
        parts = np.split(self._priced(by), self._starts[1:])
        for column, priced in zip(self.columns, parts, strict=True):
            total += (priced[:, None] + by.distance * column.gaps).min(axis=0)[column.kinds]
        return np.where(self.slack_sq < 0, math.inf, total)

    def _worth(self, ball: int, by: _Multipliers, low: float, least: float) -> np.ndarray:
        """The options that a row in a ball can have that costs less than `least`: reduced costs close the others."""
        priced = self._priced(by) + by.distance * self._gaps(ball)
        over = priced - np.minimum.reduceat(priced, self._starts)[self._owner]
        return np.flatnonzero(low + over < least - _EQUAL)

    def _relaxation(self, ball: int) -> _Multipliers:
        """The multipliers of a ball's linear relaxation: the best for this ball, and good ones for similar balls."""
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
        # rounding must not make the shares more than w
        shares = shares * min(1.0, self.max_shift_weight / max(shares.sum(), _EQUAL))
        return _Multipliers(float(prices[1]), float(prices[0]), float(prices[2]), shares)

    def _conditions(self, ball: int, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Costs of (x, t); the inequalities' rows and upper ends; the equations that choose one option per column."""
        owner, shift, moved = self._owner[keep], self._shift[keep], self._moved[keep]
        choose = np.zeros((len(self.columns), len(keep) + 1))
        choose[owner, np.arange(len(keep))] = 1.0
        below = choose * np.append(shift, 0.0)
        below[:, -1] = -1.0
        rows = np.zeros((3, len(keep) + 1))
        rows[:, :-1] = -self._gain[keep], self._gaps(ball)[keep], moved
        high = np.array([-self.need, self.slack_sq[ball], self.max_changes, *np.zeros(len(self.columns))])
        return (
            np.append(shift + self.change_weight * moved, self.max_shift_weight),
            np.vstack((rows, below)),
            high,
            choose,
        )

    def _solved(self, ball: int, keep: np.ndarray, least: float) -> tuple[float, float]:
        """A lower bound of the cost of rows in a ball, at most `least`, and the cost of the cheapest one found."""
        costs, rows, high, choose = self._conditions(ball, keep)
        result = milp(
            costs,
            integrality=np.append(np.ones(len(keep)), 0),
            bounds=Bounds(0, np.append(np.ones(len(keep)), np.inf)),
            constraints=[
                LinearConstraint(csr_array(np.vstack((rows, costs))), -np.inf, np.append(high, least)),
                LinearConstraint(csr_array(choose), 1, 1),
            ],
            options={"mip_rel_gap": 0.0, "node_limit": self.max_nodes, "time_limit": TIMEOUT},
        )
        if result.status == 2:
            return least, math.inf
        bound = -math.inf if result.mip_dual_bound is None else min(float(result.mip_dual_bound), least)
        return bound, math.inf if result.x is None else self._cost(ball, keep[result.x[:-1] > 0.5])

    def _cost(self, ball: int, chosen: np.ndarray) -> float:
        """The exact cost of a row; infinite if it is not an answer in this ball."""
        moved = self._moved[chosen].sum()
        answer = self._gain[chosen].sum() >= self.need and self._gaps(ball)[chosen].sum() <= self.slack_sq[ball]
        if len(chosen) != len(self.columns) or not answer or moved > self.max_changes:
            return math.inf
        shift = self._shift[chosen]
        return float(shift.sum() + self.max_shift_weight * shift.max(initial=0.0) + self.change_weight * moved)
