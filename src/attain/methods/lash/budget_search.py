"""The moves of least risk that a budget of costs can buy, and the least budget that flips the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attain.methods.lash.projection import project
from attain.methods.relaxed.relaxed_search import Limits, RelaxedSearch, Step
from attain.methods.search.costs import Costs
from attain.methods.search.pool import Pool
from attain.methods.search.problem import Problem
from attain.models.structure.linear import LinearScore

if TYPE_CHECKING:
    from attain.methods.lash.budgeted_inverse import BudgetedInverseClassification

_LEAST_SHARE = 1e-3
"""The smallest budget tried, as a share of what the largest moves cost."""
_OTHERS = 64
"""Training rows whose values are tried as a second start."""
_FIRST, _LARGEST = 10.0, 1000.0
"""L at the start, and the value from which a step is taken even if the risk rises, as published."""
_NEGLIGIBLE = 1e-9


class BudgetSearch(RelaxedSearch):
    """The search of one batch: projected gradient descent on the risk −s(t) within a budget of costs."""

    figure, shrink, counts_refused, keeps_best, warm = "cost", 1 / 1.5, False, True, False

    def __init__(self, settings: BudgetedInverseClassification, problem: Problem) -> None:
        region, indirect = problem.region, settings.indirect_
        super().__init__(
            problem,
            problem.inspected,
            Costs(region, settings.unit_, settings.directions, None if indirect is None else indirect.columns),
            settings.scale_.pools,
            iterations=settings.iterations,
            sparsity=settings.cost_budget is None and indirect is None,
            most_cost=settings.cost_budget,
            followers=None if indirect is None else indirect.within(region, settings.keep_residual),
        )
        self.settings = settings

    def _elsewhere(self, missed: np.ndarray, pool: Pool) -> np.ndarray:
        if isinstance(self.smooth, LinearScore):  # it has no other local optimum
            return missed
        self.start[missed] = self._toward_others(missed)
        missed = self._search(missed, self.problem.region.factuals, pool)
        self.start[:] = 0.0
        return missed

    def _search(self, owners: np.ndarray, base: np.ndarray, pool: Pool) -> np.ndarray:
        self._move_from(base)
        costs = self.costs
        if self.most_cost is not None:
            limit = self.most_cost - costs.of(base, np.arange(len(base)))
            hit, _ = self._try(owners, np.maximum(limit, 0.0), pool)
            return np.asarray(owners[~hit])
        most = np.maximum(costs.upper * costs.rise, -costs.lower * costs.fall)
        high = np.where(self.movable, most, 0.0).sum(axis=1) + _NEGLIGIBLE
        hit, _ = self._try(owners, high, pool)
        self._bisect(owners[hit], _LEAST_SHARE * high, high, self.settings.bisections, pool)
        return np.asarray(owners[~hit])

    def _loss(self, score: np.ndarray, gradient: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -score, -gradient

    def _prox(self, point: np.ndarray, limits: Limits, level: np.ndarray, inverse_step: np.ndarray) -> np.ndarray:
        return project(point, *limits, level)

    def _first(self, value: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return np.full(len(value), _FIRST)

    def _judged(self, step: Step) -> tuple[np.ndarray, np.ndarray]:
        rose = (step.after > step.before) & (step.inverse_step < _LARGEST)
        return ~rose, np.abs(step.after - step.before) <= self.settings.tolerance * np.abs(step.before)

    def _importance(self, moves: np.ndarray, owners: np.ndarray) -> np.ndarray:
        return np.abs(self.relaxation.slope(moves, owners)[1] * moves)

    def _toward_others(self, owners: np.ndarray) -> np.ndarray:
        """For each owner, the moves (m, d) to the values of that training row, of some, which scores best."""
        values, own = self.settings.table_.values, self.problem.region.factuals[owners]
        some = np.random.default_rng(self.problem.seed).permutation(len(values))[:_OTHERS]
        lower, upper, _, _ = self._limits(owners, self.movable)
        best, highest = np.zeros(own.shape), np.full(len(owners), -np.inf)
        for other in values[some]:
            moves = np.clip(np.nan_to_num((other - own) / self.costs.unit), lower, upper)
            score = self.relaxation.slope(moves, owners)[0]
            better = score > highest
            best[better], highest[better] = moves[better], score[better]
        return best
