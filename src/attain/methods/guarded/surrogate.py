"""A linear surrogate of the model's score: s(x) ≈ g · φ(x), with φ the measuring space.

It only guides the search: every candidate is put to the model itself. For a linear model it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from attain.methods.guarded.settings import GuardedSettings
from attain.models import GoalLike, probe_rows
from attain.population.space import MeasuringSpace


@dataclass(frozen=True)
class Surrogate:
    """A linear score in the measuring space.

    Attributes
    ----------
    slope
        The gradient g of the score over coordinates, (D,).
    threshold
        The score from which on the goal is met.
    exact
        Whether it decides like the model, as it does for linear models.
    tolerance
        How far below the threshold a point may still meet the goal.
    """

    space: MeasuringSpace
    slope: np.ndarray
    threshold: float
    exact: bool
    tolerance: float

    @cached_property
    def slopes(self) -> np.ndarray:
        """The slope of each cell of a point that is a number, and 0 for states, (cells,)."""
        numbers = np.append(self.slope[: len(self.space.scaled)], self.slope[-1])
        return np.concatenate((np.zeros(len(self.space.stated)), numbers))

    @cached_property
    def state_scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the scores of each cell's states begin, (states,); and all of them, from 0 for none on."""
        first = self.space.first[:-1]
        scores = np.insert(self.slope[len(self.space.scaled) : -1], first, 0.0)
        return first + np.arange(len(first)), scores

    def score(self, points: np.ndarray) -> np.ndarray:
        """The score of points (n, cells)."""
        states, (first, scores) = len(self.space.stated), self.state_scores
        total: np.ndarray = points[:, states:] @ self.slopes[states:]
        return total + scores[first + points[:, :states].astype(np.intp)].sum(axis=1)

    def gained(self, before: np.ndarray, after: np.ndarray, cell: int) -> np.ndarray:
        """What the score gains if a cell of points changes."""
        if cell >= len(self.space.stated):
            return np.asarray((after - before) * self.slopes[cell])
        first, scores = self.state_scores
        gained: np.ndarray = scores[first[cell] + after.astype(np.intp)] - scores[first[cell] + before.astype(np.intp)]
        return gained

    def may_meet_goal(self, points: np.ndarray) -> np.ndarray:
        """Which points (n, cells) may meet the goal: all, unless the surrogate is exact and clearly denies it."""
        if not self.exact:
            return np.ones(len(points), dtype=bool)
        able: np.ndarray = self.score(points) >= self.threshold - self.tolerance
        return able

    @classmethod
    def fit(
        cls,
        goal: GoalLike,
        values: np.ndarray,
        judged: tuple[np.ndarray, np.ndarray],
        space: MeasuringSpace,
        settings: GuardedSettings,
    ) -> Surrogate:
        """Least squares through the scores of training rows (n, d), `judged` to meet the goal and scored, (n,) each.

        Leads and probabilities bend where they saturate; their log-odds are what a logistic model adds up, but are
        lost where a probability is 0 or 1 to the last digit. So three fits are tried: log-odds of the rows that are
        not saturated, log-odds of all rows, and the scores themselves. The first that decides like the model wins. If
        none does, it is log-odds of all rows where there are any, because a fit without the saturated rows knows
        nothing about most of the data.
        """
        at = probe_rows(np.arange(len(values)), settings.surrogate_rows)
        rows, (met, score) = values[at], (part[at] for part in judged)
        if goal.probability is not None:
            score = 2 * score - 1  # a probability as a lead over all other classes
        every = np.ones(len(score), dtype=bool)
        if np.abs(score).max(initial=0.0) > 1:
            return cls._through(space, rows, score, met, every, settings)
        odds = np.arctanh(np.clip(score, -settings.saturated, settings.saturated))
        clear = np.abs(score) < settings.saturated
        fallback = cls._through(space, rows, odds, met, every, settings)
        if not clear.all():
            first = cls._through(space, rows, odds, met, clear, settings)
            if first.exact:
                return first
        if fallback.exact:
            return fallback
        last = cls._through(space, rows, score, met, every, settings)
        return last if last.exact else fallback

    @classmethod
    def _through(
        cls,
        space: MeasuringSpace,
        rows: np.ndarray,
        score: np.ndarray,
        met: np.ndarray,
        used: np.ndarray,
        settings: GuardedSettings,
    ) -> Surrogate:
        """The fit through the scores of the rows `used`, with the threshold that decides best about all rows."""
        flat = cls(space, np.zeros(space.dimension), 0.0, False, 0.0)
        if not used.any():
            return flat
        fitted_to = space.sparse(rows[used])
        slope = _ridge(fitted_to, score[used] - score[used].mean(), settings.ridge * fitted_to.shape[0])
        fitted = replace(flat, slope=slope).score(space.points(rows))
        threshold, agreement = _threshold(fitted, met)
        exact = agreement >= settings.agreement
        return cls(space, slope, threshold, exact, settings.tolerance * float(fitted.std()))


def _ridge(x: csr_array, y: np.ndarray, weight: float) -> np.ndarray:
    """(cᵀc + wI)⁻¹ cᵀy, of c = x less its mean, (n, D); as cᵀ(ccᵀ + wI)⁻¹ y where that is the smaller system."""
    n, dimension = x.shape
    if dimension > n:
        products = (x @ x.T).toarray()
        products = products - products.mean(axis=0) - products.mean(axis=1)[:, None] + products.mean()
        weights = np.linalg.solve(products + weight * np.eye(n), y)
        return np.asarray(x.T @ weights - x.mean(axis=0) * weights.sum())
    centred = x.toarray()
    centred -= centred.mean(axis=0)
    return np.asarray(np.linalg.solve(centred.T @ centred + weight * np.eye(dimension), centred.T @ y))


def _threshold(fitted: np.ndarray, met: np.ndarray) -> tuple[float, float]:
    """The score from which on the goal is met, and about which share of the rows that is right."""
    if not met.any() or met.all():
        return float(fitted.min() if met.all() else fitted.max()), 0.0
    least, most = float(fitted[met].min()), float(fitted[~met].max())
    if least > most:
        return most, 1.0
    # where scores and decisions do not share a zero, the goal is met as often by the surrogate as by the model
    threshold = float(np.quantile(fitted, 1 - met.mean()))
    return threshold, float(np.mean((fitted >= threshold) == met))
