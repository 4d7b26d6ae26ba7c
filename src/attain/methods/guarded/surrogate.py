"""A linear surrogate of the model's score: s(x) ≈ g · φ(x), with φ the measuring space.

It only guides the search: every candidate is put to the model itself. For a linear model it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attain.methods.guarded.settings import GuardedSettings
from attain.models import GoalLike, probe_rows
from attain.population.space import MeasuringSpace


@dataclass(frozen=True)
class Surrogate:
    """A linear score in the measuring space.

    Attributes
    ----------
    slope
        The gradient g of the score, (D,).
    threshold
        The score from which on the goal is met.
    exact
        Whether it decides like the model, as it does for linear models.
    tolerance
        How far below the threshold a point may still meet the goal.
    """

    slope: np.ndarray
    threshold: float
    exact: bool
    tolerance: float

    def may_meet_goal(self, points: np.ndarray) -> np.ndarray:
        """Which points (n, D) may meet the goal: all, unless the surrogate is exact and clearly denies it."""
        if not self.exact:
            return np.ones(len(points), dtype=bool)
        able: np.ndarray = points @ self.slope >= self.threshold - self.tolerance
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
        points, (met, score) = space.transform(values[at]), (part[at] for part in judged)
        if goal.probability is not None:
            score = 2 * score - 1  # a probability as a lead over all other classes
        every = np.ones(len(score), dtype=bool)
        if np.abs(score).max(initial=0.0) > 1:
            return cls._through(points, score, met, every, settings)
        odds = np.arctanh(np.clip(score, -settings.saturated, settings.saturated))
        clear = np.abs(score) < settings.saturated
        fallback = cls._through(points, odds, met, every, settings)
        if not clear.all():
            first = cls._through(points, odds, met, clear, settings)
            if first.exact:
                return first
        if fallback.exact:
            return fallback
        last = cls._through(points, score, met, every, settings)
        return last if last.exact else fallback

    @classmethod
    def _through(
        cls, points: np.ndarray, score: np.ndarray, met: np.ndarray, used: np.ndarray, settings: GuardedSettings
    ) -> Surrogate:
        """The fit through the scores of the rows `used`, with the threshold that decides best about all rows."""
        if not used.any():
            return cls(np.zeros(points.shape[1]), 0.0, False, 0.0)
        moved = points[used] - points[used].mean(axis=0)
        slope = _ridge(moved, score[used] - score[used].mean(), settings.ridge * len(moved))
        fitted = points @ slope
        threshold, agreement = _threshold(fitted, met)
        exact = agreement >= settings.agreement
        return cls(slope, threshold, exact, settings.tolerance * float(fitted.std()))


def _ridge(x: np.ndarray, y: np.ndarray, weight: float) -> np.ndarray:
    """(xᵀx + wI)⁻¹ xᵀy, of x (n, D); as xᵀ(xxᵀ + wI)⁻¹ y where that is the smaller system."""
    n, dimension = x.shape
    if dimension > n:
        return np.asarray(x.T @ np.linalg.solve(x @ x.T + weight * np.eye(n), y))
    return np.asarray(np.linalg.solve(x.T @ x + weight * np.eye(dimension), x.T @ y))


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
