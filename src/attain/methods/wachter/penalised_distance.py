"""The least λ for which minimising λ (f(x′) − y′)² + d(x, x′) flips the decision, by proximal gradient steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attain.methods.relaxed.relaxed_search import Limits, RelaxedSearch, Step
from attain.methods.search.costs import Costs
from attain.methods.search.pool import Pool
from attain.methods.search.problem import Problem
from attain.models.structure.smooth import Smooth

if TYPE_CHECKING:
    from attain.methods.wachter.wachter import Wachter

_NEGLIGIBLE = 1e-12


class PenalisedDistance(RelaxedSearch):
    """The gradient method for one batch; `aim` is y′."""

    figure, shrink, counts_refused, keeps_best, warm = "distance", 0.9, True, False, True

    def __init__(self, settings: Wachter, problem: Problem, smooth: Smooth, aim: float) -> None:
        super().__init__(
            problem,
            smooth,
            Costs(problem.region, settings.deviation_),
            settings.scale_.pools,
            iterations=settings.iterations,
            sparsity=settings.sparsity,
        )
        self.settings, self.aim = settings, aim

    def _search(self, owners: np.ndarray, base: np.ndarray, pool: Pool) -> np.ndarray:
        """λ grows until the decision flips, and is then narrowed down.

        It starts where the first move pays: at 1 / (2 |y′ − f| max |∂f|).
        """
        self._move_from(base)
        self.start[:] = 0.0
        score, gradient = self.relaxation.slope(self.start[owners], owners)
        pull = np.abs(np.where(self.movable[owners], gradient, 0.0)).max(axis=1, initial=0.0)
        weight = np.zeros(len(self.problem))
        weight[owners] = 1 / np.maximum(2 * np.abs(self.aim - score) * pull, _NEGLIGIBLE)
        low = weight.copy()
        waiting = owners[pull > 0]
        for _ in range(self.settings.rounds):
            if not waiting.size:
                break
            weight[waiting] *= self.settings.growth
            hit, moves = self._try(waiting, weight, pool)
            waiting = waiting[~hit]
            low[waiting], self.start[waiting] = weight[waiting], moves[~hit]
        flipped = np.isin(owners, pool.owners)
        self._bisect(owners[flipped], low, weight, self.settings.rounds // 2, pool)
        return owners[~flipped]

    def _loss(self, score: np.ndarray, gradient: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gap = score - self.aim
        return level * gap**2, (2 * level * gap)[:, None] * gradient

    def _prox(self, point: np.ndarray, limits: Limits, level: np.ndarray, inverse_step: np.ndarray) -> np.ndarray:
        """Each move is shortened by its price over L, stops at 0 and stays within its limits."""
        price = np.where(point > 0, limits.rise, limits.fall) / inverse_step[:, None]
        shorter = np.copysign(np.maximum(np.abs(point) - price, 0.0), point)
        return np.clip(shorter, limits.lower, limits.upper)

    def _first(self, value: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return np.maximum((gradient**2).sum(axis=1) / np.maximum(2 * value, _NEGLIGIBLE), _NEGLIGIBLE)

    def _judged(self, step: Step) -> tuple[np.ndarray, np.ndarray]:
        """Taken below the quadratic f(t) + ∇f·Δ + L‖Δ‖²/2; done where no cell moves any more."""
        before, after, moves, move, gradient, inverse_step = step
        bound = before + (gradient * move).sum(axis=1) + (inverse_step[:, None] * move**2).sum(axis=1) / 2
        still = np.abs(move).max(axis=1, initial=0.0) <= 1e-6 * (1 + np.abs(moves).max(axis=1, initial=0.0))
        return after <= bound + 1e-9 * np.abs(bound), still
