"""Budget-constrained inverse classification (Lash et al. 2017): the least risk that a budget of costs can buy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.core.errors import ModelError
from attain.methods.base import Explainer, integer, number
from attain.models.scores import LinearScore, Smooth, smooth_score
from attain.population.population import DecidedPopulation, Population
from attain.schema import Direction
from attain.search.moves import Costs, check_directions, units
from attain.search.pool import Pool
from attain.search.problem import Answers, Problem
from attain.search.relaxed import Limits, RelaxedSearch, Step

_ROWS_AT_ONCE = 1_000
_LEAST_SHARE = 1e-3
"""The smallest budget tried, as a share of what the largest moves cost."""
_OTHERS = 64
"""Training rows whose values are tried as a second start."""
_FIRST, _LARGEST = 10.0, 1000.0
"""L at the start, and the value from which a step is taken even if the risk rises, as published."""
_NEGLIGIBLE = 1e-9


@dataclass(kw_only=True, eq=False, repr=False)
class BudgetedInverseClassification(Explainer):
    """The change that lowers the risk most within a budget of costs, or the least budget that flips the decision.

    Takes classifiers whose score has a known slope: support vector machines with a Gaussian or linear kernel, logistic
    regression and other linear models, alone or in scikit-learn pipelines whose steps scale, fill in or encode single
    columns; torch modules and JAX functions too. `HillClimbingLocalSearch` takes any other.

    Moves are measured as shares of each feature's range in the training data and cost that share times the feature's
    `cost`. A projected gradient method finds the moves of least risk within a budget. With a number as `cost_budget`
    that is done once, as published, which need not flip the decision; without, the least budget that flips it is found
    by bisection. The method starts at the row itself; where a score that is not linear has other local optima, it
    starts once more at the values of the best of 64 training rows.

    Ordered levels are relaxed to their positions. Levels without an order, special codes and missing cells stay fixed
    in the gradient method; only where that does not flip the decision, the switches that raise the score are made
    first, the most gain per cost first, each at the cost of a whole range.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, missing cells, derived
    columns. `max_changes`: by keeping the moves that matter most and solving again, else by rejection. Rules between
    features: by repair where that is easy, else by rejection.

    Departures from the publication and its released code: directions come from the schema, and where it has none
    both are tried and have a cost (the published second setting, in which one is free, is `directions`); the projection
    is exact; no feature changes indirectly, as estimated from the others (the schema says by `follows` how one moves
    with others); the best move on the way is kept, not the last; answers are on their grid, and within `cost_budget`
    there too.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    cost_budget
        The most a change may cost; None looks for the least that flips the decision. Unrelated to `budget`.
    directions
        For each feature named, the direction that has a cost; the other is free where the schema allows it.
    iterations, tolerance
        The most steps of the gradient method, and the relative change of the risk at which it ends.
    bisections
        How often the range of budgets is halved.
    budget
        The most rows the model is asked about for each row explained. The gradient method itself does not ask it.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed of the training rows that are tried as a second start.

    References
    ----------
    M. T. Lash, Q. Lin, W. N. Street, J. G. Robinson: A Budget-Constrained Inverse Classification Framework for Smooth
    Classifiers, ICDM Workshops, 2017.
    """

    needs_rows = True

    citation = "lash2017budget"
    own_figures = ("cost",)

    cost_budget: float | None = number(None, above=0)
    directions: Mapping[str, Direction] | None = None
    iterations: int = integer(50, least=1)
    tolerance: float = number(1e-4, least=0)
    bisections: int = integer(8, least=0)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_directions(self.directions)

    def prepare(self, population: Population) -> None:
        check_directions(self.directions, population.schema)
        self.unit_ = units(population.schema, population.observed)

    def inspect(self, decided: DecidedPopulation) -> Smooth:
        try:
            return smooth_score(decided.goal, decided.population.schema, decided.population.values)
        except ModelError as error:
            raise ModelError(
                f"BudgetedInverseClassification follows the slope of the model's score, and {error}. "
                "HillClimbingLocalSearch solves the same problem for any classifier"
            ) from error

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _ROWS_AT_ONCE

    def search(self, problem: Problem) -> Answers:
        return BudgetSearch(self, problem).answers()


class BudgetSearch(RelaxedSearch):
    """The search of one batch: projected gradient descent on the risk −s(t) within a budget of costs."""

    figure, shrink, counts_refused, keeps_best, warm = "cost", 1 / 1.5, False, True, False

    def __init__(self, settings: BudgetedInverseClassification, problem: Problem) -> None:
        super().__init__(
            problem,
            problem.inspected,
            Costs(problem.region, settings.unit_, settings.directions),
            settings.population_.scale.pools,
            iterations=settings.iterations,
            sparsity=settings.cost_budget is None,
            most_cost=settings.cost_budget,
        )
        self.settings = settings

    def _from_other_starts(self, missed: np.ndarray, pool: Pool) -> np.ndarray:
        if isinstance(self.smooth, LinearScore):  # it has no other local optimum
            return missed
        self.start[missed] = self._toward_best_row(missed)
        missed = self._search(missed, self.problem.region.start, pool)
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

    def _first_inverse_step(self, value: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return np.full(len(value), _FIRST)

    def _taken_and_done(self, step: Step) -> tuple[np.ndarray, np.ndarray]:
        rose = (step.after > step.before) & (step.inverse_step < _LARGEST)
        return ~rose, np.abs(step.after - step.before) <= self.settings.tolerance * np.abs(step.before)

    def _importance(self, moves: np.ndarray, owners: np.ndarray) -> np.ndarray:
        return np.abs(self.relaxation.slope(moves, owners)[1] * moves)

    def _toward_best_row(self, owners: np.ndarray) -> np.ndarray:
        """The moves (m, d) of each owner to the best-scoring of 64 training rows."""
        values, own = self.settings.population_.values, self.problem.region.start[owners]
        others = np.random.default_rng(self.problem.seed).permutation(len(values))[:_OTHERS]
        lower, upper, _, _ = self._limits(owners, self.movable)
        best, highest = np.zeros(own.shape), np.full(len(owners), -np.inf)
        for other in values[others]:
            moves = np.clip(np.nan_to_num((other - own) / self.costs.unit), lower, upper)
            score = self.relaxation.slope(moves, owners)[0]
            better = score > highest
            best[better], highest[better] = moves[better], score[better]
        return best


def project(
    point: np.ndarray, lower: np.ndarray, upper: np.ndarray, fall: np.ndarray, rise: np.ndarray, limit: np.ndarray
) -> np.ndarray:
    """The nearest t to each point with lower ≤ t ≤ upper and Σ rise·max(t, 0) + fall·max(−t, 0) ≤ limit.

    All arrays are (m, d), `limit` is (m,); each row is a problem of its own, with lower ≤ 0 ≤ upper. The solution keeps
    the point's signs, and its sizes are min(max(|y| − λ·cost, 0), room) with one λ ≥ 0 per row. Its total cost is a
    decreasing piecewise linear function of λ, whose corners are sorted, so that λ is found exactly.
    """
    size = np.abs(point)
    room = np.where(point > 0, upper, -lower)
    cost = np.where(point > 0, rise, fall)
    moved = np.minimum(size, room)
    over = (cost * moved).sum(axis=1) > limit
    if over.any():
        price = _price(size[over], room[over], cost[over], limit[over])
        moved[over] = np.clip(size[over] - price[:, None] * cost[over], 0.0, room[over])
    return np.asarray(np.copysign(moved, point))


def _price(size: np.ndarray, room: np.ndarray, cost: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """λ, for rows in which λ = 0 costs more than the limit."""
    charged = cost > 0
    divisor = np.where(charged, cost, 1.0)
    # the total falls by cost² per unit of λ, from where a cell leaves its bound to where it is 0
    starts = np.where(charged, np.maximum(size - room, 0.0) / divisor, 0.0)
    stops = np.where(charged, size / divisor, 0.0)
    corners = np.concatenate((starts, stops), axis=1)
    turns = np.concatenate((cost**2, -(cost**2)), axis=1)
    order = np.argsort(corners, axis=1, kind="stable")
    corners, turns = np.take_along_axis(corners, order, axis=1), np.take_along_axis(turns, order, axis=1)
    rates = np.maximum(turns.cumsum(axis=1), 0.0)
    fallen = np.zeros_like(corners)
    fallen[:, 1:] = (rates[:, :-1] * np.diff(corners, axis=1)).cumsum(axis=1)
    excess = (cost * np.minimum(size, room)).sum(axis=1) - limit
    last = np.maximum((fallen <= excess[:, None]).sum(axis=1) - 1, 0)
    at = np.arange(len(size)), last
    rate = rates[at]
    step = np.divide(excess - fallen[at], rate, out=np.zeros_like(excess), where=rate > 0)
    return np.asarray(corners[at] + step)
