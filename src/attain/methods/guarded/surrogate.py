"""A straight line through the model's scores: which way, and how strongly, each coordinate moves the decision.

It only guides: every candidate is put to the model itself. For a linear model it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from attain.models import GoalLike
from attain.population.space import MeasuringSpace

_ROWS: Final = 20_000
_RIDGE: Final = 1e-6
_AGREES: Final = 0.999
_DOUBT: Final = 0.01
"""The line's doubt about its own level, in standard deviations of what it says of the training rows."""
_SURE: Final = 1 - 1e-9


@dataclass(frozen=True)
class Surrogate:
    """The slope of the score in each coordinate of the measuring space, and the level from which the goal is met."""

    slope: np.ndarray
    level: float
    exact: bool
    """Whether it decides like the model, as for linear models it does."""
    doubt: float
    """How far below its level a point may still meet the goal."""

    def hopeful(self, points: np.ndarray) -> np.ndarray:
        """Which points may meet the goal: all, unless the line decides like the model and clearly says no."""
        if not self.exact:
            return np.ones(len(points), dtype=bool)
        hopeful: np.ndarray = points @ self.slope >= self.level - self.doubt
        return hopeful

    @classmethod
    def fit(cls, goal: GoalLike, values: np.ndarray, space: MeasuringSpace) -> Surrogate:
        """The line of least squares through the scores of training rows."""
        chosen = np.linspace(0, len(values) - 1, min(len(values), _ROWS)).astype(np.intp)
        judged = goal.judge(values[chosen])
        points = space.transform(values[chosen])
        score = np.asarray(judged.score, dtype=np.float64)
        if goal.probability is not None:
            score = 2 * score - 1  # a probability as a lead over all other classes
        everybody = np.ones(len(score), dtype=bool)
        tried = [(score, everybody)]
        if np.abs(score).max(initial=0.0) <= 1:
            # leads and probabilities bend where they saturate; their logarithmic odds are what a model adds up, and
            # are lost where a probability is 0 or 1 to the last digits
            odds = np.arctanh(np.clip(score, -_SURE, _SURE))
            clear = np.abs(score) < _SURE
            tried = [*([] if clear.all() else [(odds, clear)]), (odds, everybody), *tried]
        lines = []
        for target, used in tried:
            lines.append(cls._through(points, target, judged.met, used))
            if lines[-1].exact:
                return lines[-1]
        return lines[max(len(lines) - 2, 0)]

    @classmethod
    def _through(cls, points: np.ndarray, score: np.ndarray, met: np.ndarray, used: np.ndarray) -> Surrogate:
        """The line through the scores of some of the points, cut such that it decides about all of them."""
        if not used.any():
            return cls(np.zeros(points.shape[1]), 0.0, False, 0.0)
        moved = points[used] - points[used].mean(axis=0)
        within = moved.T @ moved + _RIDGE * len(moved) * np.eye(moved.shape[1])
        slope = np.linalg.solve(within, moved.T @ (score[used] - score[used].mean()))
        fitted = points @ slope
        level, exact = _cut(fitted, met)
        return cls(slope, level, exact, _DOUBT * float(fitted.std()))


def _cut(fitted: np.ndarray, met: np.ndarray) -> tuple[float, bool]:
    """The level from which on the goal is met, and whether it parts those who meet it from all others."""
    if not met.any() or met.all():
        return float(fitted.min() if met.all() else fitted.max()), False
    least, most = float(fitted[met].min()), float(fitted[~met].max())
    if least > most:
        return most, True
    # where scores and decisions do not share a zero, the line is cut where it meets the goal as often
    level = float(np.quantile(fitted, 1 - met.mean()))
    return level, bool(np.mean((fitted >= level) == met) >= _AGREES)
