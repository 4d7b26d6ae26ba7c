"""Counterfactuals by a penalised distance (Wachter et al. 2017): near the row, and near the score aimed at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attain.methods.base import Explainer, choice, integer, number
from attain.models.scores import Smooth, smooth_if_possible
from attain.population.population import DecidedPopulation, Population
from attain.results.status import Status
from attain.search.climb import Climb, Probe, boundary
from attain.search.moves import Costs
from attain.search.pool import Pool
from attain.search.problem import Answers, Problem
from attain.search.relaxed import Limits, RelaxedSearch, Step

Method = Literal["auto", "gradient", "search"]

_ROWS_AT_ONCE = 500
_NEGLIGIBLE = 1e-12


@dataclass(kw_only=True, eq=False, repr=False)
class Wachter(Explainer):
    """The record that minimises λ (f(x′) − y′)² + d(x, x′), with the least λ that flips the decision.

    Takes any classifier. Where the slope of its score is known (linear models and Gaussian or linear support vector
    machines, also in scikit-learn pipelines whose steps scale, fill in or encode single columns; torch modules; JAX
    functions), the objective is minimised by proximal gradient steps for all rows at once; else, and for rows that the
    gradient leads into a local optimum, by a pattern search over single cells, with random training rows as further
    starts, and a local search.

    d is the sum of moves, each divided by the column's median absolute deviation (MAD) and weighted by the feature's
    `cost`; another level, special code or filled cell counts 1. f is the score: log-odds or decision function where the
    slope is known, else the lead in probability. y′ lies `aim` standard deviations of the training rows' scores
    beyond the boundary. λ starts where the first move pays and grows until the decision flips; then the least that is
    enough is found by bisection.

    Levels without an order, special codes and missing cells stay fixed in the gradient method; only where that does not
    flip the decision, the switches that raise the score are made first. Ordered levels are relaxed to their positions.
    The pattern search tries every state as it goes.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, missing cells, derived
    columns. `max_changes`: by solving again with the largest moves only, else by rejection. Rules between features: by
    repair where that is easy, else by rejection.

    Departures from the publication: proximal steps in place of Adam, so that cells which do not matter stay exactly as
    they are; a column whose MAD is 0 is measured by its mean absolute deviation, or by 1 where that is 0 too; the
    gradient method has no random starts, as it begins at the row itself; where a relaxed answer is put on its grid, it
    is tried rounded to the nearest, outward and inward; last, changes that are not needed are taken back (`sparsity`).

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    method
        `auto`: the gradient where there is one, then the search. `gradient`: nothing else, and a model without one is
        refused. `search`: never the gradient.
    aim
        How far beyond the boundary y′ lies, in standard deviations of the training rows' scores.
    growth
        The factor by which λ grows.
    rounds
        The most values of λ on the way up; half as many on the way back.
    iterations
        Proximal gradient steps for one λ.
    sparsity
        Whether changes that are not needed are taken back.
    budget
        The most rows the model is asked about for each row explained. The gradient method itself does not ask it.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed of the random starts. Each row has its own stream of random numbers.

    References
    ----------
    S. Wachter, B. Mittelstadt, C. Russell: Counterfactual Explanations without Opening the Black Box: Automated
    Decisions and the GDPR, Harvard Journal of Law & Technology 31(2), 2018.
    """

    needs_rows = True

    citation = "wachter2018counterfactual"
    own_figures = ("distance",)

    method: Method = choice("auto", Method)
    aim: float = number(0.25, above=0)
    growth: float = number(2.0, above=1)
    rounds: int = integer(16, least=1)
    iterations: int = integer(50, least=1)
    sparsity: bool = True

    def prepare(self, population: Population) -> None:
        self.deviation_ = np.array([absolute_deviation(cells) for cells in population.scale.pools])

    def inspect(self, decided: DecidedPopulation) -> tuple[Smooth | None, float, float]:
        """The score as a smooth function, if it is one, and y′ on its scale and on that of the model's own score."""
        population = decided.population
        smooth = smooth_if_possible(decided.goal, population.schema, population.values, self.method, "search")
        rows, met, score = Probe.of(population.values, decided.judged)
        own = self._beyond(score, met)
        return smooth, own if smooth is None else self._beyond(smooth.score(rows), met), own

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _ROWS_AT_ONCE

    def search(self, problem: Problem) -> Answers:
        smooth, smooth_aim, aim = problem.inspected
        if smooth is None:
            return self._pattern_search(problem, aim)
        answers = PenalisedDistance(self, problem, smooth, smooth_aim).answers()
        missed = np.flatnonzero([status is Status.OUT_OF_REACH for status in answers.status])
        if self.method == "gradient" or not missed.size:
            return answers
        return answers.with_answers_to(self._pattern_search(problem.subset(missed), aim), missed)

    def _beyond(self, score: np.ndarray, met: np.ndarray) -> float:
        """y′, from the training rows' scores and whether they meet the goal."""
        return boundary(score, met) + self.aim * max(float(score.std()), _NEGLIGIBLE)

    def _pattern_search(self, problem: Problem, aim: float) -> Answers:
        costs = Costs(problem.region, self.deviation_)
        return Climb(problem, costs, self.population_.scale.pools, self.population_.values, aim=aim).answers("distance")


def absolute_deviation(cells: np.ndarray) -> float:
    """The median absolute deviation; where that is 0 the mean absolute deviation from the median, or else 1."""
    if not len(cells):
        return 1.0
    deviations = np.abs(cells - np.median(cells))
    return float(np.median(deviations)) or float(deviations.mean()) or 1.0


class PenalisedDistance(RelaxedSearch):
    """The gradient method for one batch; `aim` is y′."""

    figure, shrink, counts_refused, keeps_best, warm = "distance", 0.9, True, False, True

    def __init__(self, settings: Wachter, problem: Problem, smooth: Smooth, aim: float) -> None:
        super().__init__(
            problem,
            smooth,
            Costs(problem.region, settings.deviation_),
            settings.population_.scale.pools,
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

    def _first_inverse_step(self, value: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return np.maximum((gradient**2).sum(axis=1) / np.maximum(2 * value, _NEGLIGIBLE), _NEGLIGIBLE)

    def _taken_and_done(self, step: Step) -> tuple[np.ndarray, np.ndarray]:
        """Taken below the quadratic f(t) + ∇f·Δ + L‖Δ‖²/2; done where no cell moves any more."""
        before, after, moves, move, gradient, inverse_step = step
        bound = before + (gradient * move).sum(axis=1) + (inverse_step[:, None] * move**2).sum(axis=1) / 2
        still = np.abs(move).max(axis=1, initial=0.0) <= 1e-6 * (1 + np.abs(moves).max(axis=1, initial=0.0))
        return after <= bound + 1e-9 * np.abs(bound), still
