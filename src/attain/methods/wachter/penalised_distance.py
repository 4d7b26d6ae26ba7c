"""The least λ for which minimising λ (f(x′) − y′)² + d(x, x′) turns the decision, by proximal gradient steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attain.methods.lash.relaxation import Relaxation, roundings, switched
from attain.methods.search.costs import Costs, switches
from attain.methods.search.options import diverse
from attain.methods.search.pool import Pool
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.sparsity import sparse
from attain.models.structure.smooth import Smooth

if TYPE_CHECKING:
    from attain.methods.wachter.wachter import Wachter

_NEGLIGIBLE = 1e-12


class PenalisedDistance:
    """The gradient method for one batch of people; `aim` is y′."""

    def __init__(self, settings: Wachter, problem: Problem, smooth: Smooth, aim: float) -> None:
        self.settings = settings
        self.problem = problem
        self.costs = Costs(problem.region, settings.deviation_)
        self.smooth = smooth
        self.aim = aim
        self.movable = self.costs.slides.copy()
        self.switches = switches(problem.region, settings.scale_.pools)

    def answers(self) -> Answers:
        """One answer a person and round; in each round the main change of the last answer is ruled out."""
        problem, region = self.problem, self.problem.region
        pools: list[Pool] = []
        people = np.arange(len(problem))
        for _ in range(1 if problem.options == 1 else problem.options + 1):
            pool = Pool(len(problem), len(region.schema), 1)
            missed = self._search(people, region.factuals, pool)
            base = switched(missed, self.smooth, region, self.costs, self.switches, np.inf)
            differ = region.changed(base[missed], missed).any(axis=1)
            self._search(missed[differ], base, pool)
            pools.append(pool)
            people = pool.owners
            self.movable[people, self.costs.cells(pool.rows, people).argmax(axis=1)] = False
        rows, owners = np.concatenate([p.rows for p in pools]), np.concatenate([p.owners for p in pools])
        if self.settings.sparsity:
            rows = sparse(rows, owners, self.costs.cells(rows, owners), region, problem.accepts)
        status = problem.statuses(owners)
        rows, owners, cost = diverse(rows, owners, self.costs.of(rows, owners), region, problem.options)
        return Answers(rows, owners, cost, status, {"distance": cost})

    def _search(self, people: np.ndarray, base: np.ndarray, pool: Pool) -> np.ndarray:
        """λ up until the decision turns, then halved back; says who had no answer."""
        settings, region = self.settings, self.problem.region
        relaxation = Relaxation(self.smooth, region, base, settings.deviation_)
        moves = np.zeros((len(self.problem), len(region.schema)))
        score, gradient = relaxation.slope(moves[people], people)
        pull = np.abs(np.where(self.movable[people], gradient, 0.0)).max(axis=1, initial=0.0)
        first = 1 / np.maximum(2 * np.abs(self.aim - score) * pull, _NEGLIGIBLE)
        weight = np.zeros(len(self.problem))
        weight[people] = first
        low, below = weight.copy(), moves.copy()
        waiting = people[pull > 0]
        for _ in range(settings.rounds):
            if not waiting.size:
                break
            weight[waiting] *= settings.growth
            moves[waiting] = self._minimised(relaxation, moves[waiting], waiting, weight[waiting])
            hit = self._try(relaxation, moves[waiting], waiting, weight[waiting], pool)
            waiting = waiting[~hit]
            low[waiting], below[waiting] = weight[waiting], moves[waiting]
        turned = people[np.isin(people, pool.owners)]
        high = weight.copy()
        for _ in range(settings.rounds // 2):
            middle = np.sqrt(low * high)
            trial = self._minimised(relaxation, below[turned], turned, middle[turned])
            hit = self._try(relaxation, trial, turned, middle[turned], pool)
            high[turned[hit]] = middle[turned[hit]]
            low[turned[~hit]], below[turned[~hit]] = middle[turned[~hit]], trial[~hit]
        return people[~np.isin(people, pool.owners)]

    def _minimised(
        self,
        relaxation: Relaxation,
        moves: np.ndarray,
        people: np.ndarray,
        weight: np.ndarray,
        movable: np.ndarray | None = None,
    ) -> np.ndarray:
        """The moves that minimise the objective for these λ, by proximal gradient steps from the moves given.

        The proximal step of the distance shortens each move by its price over L, stops at 0 and stays within limits.
        """
        costs = self.costs
        free = self.movable[people] if movable is None else movable
        lower, upper = np.where(free, costs.lower[people], 0.0), np.where(free, costs.upper[people], 0.0)
        rise, fall = costs.rise[people], costs.fall[people]
        moves = np.clip(moves, lower, upper)

        def loss(at: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            score, gradient = relaxation.slope(at, people[which])
            gap = score - self.aim
            return weight[which] * gap**2, (2 * weight[which] * gap)[:, None] * gradient

        active = np.arange(len(people))
        value, gradient = loss(moves, active)
        inverse_step = np.maximum((gradient**2).sum(axis=1) / np.maximum(2 * value, _NEGLIGIBLE), _NEGLIGIBLE)
        for _ in range(self.settings.iterations):
            if not active.size:
                break
            scale = inverse_step[active, None]
            point = moves[active] - gradient[active] / scale
            price = np.where(point > 0, rise[active], fall[active]) / scale
            trial = np.clip(np.copysign(np.maximum(np.abs(point) - price, 0.0), point), lower[active], upper[active])
            trial_value, trial_gradient = loss(trial, active)
            step = trial - moves[active]
            bound = value[active] + (gradient[active] * step).sum(axis=1) + (scale * step**2).sum(axis=1) / 2
            good = trial_value <= bound + 1e-9 * np.abs(bound)
            inverse_step[active] *= np.where(good, 0.9, 2.0)
            moved = np.abs(step).max(axis=1, initial=0.0) > 1e-6 * (1 + np.abs(moves[active]).max(axis=1, initial=0.0))
            taken = active[good]
            moves[taken], value[taken], gradient[taken] = trial[good], trial_value[good], trial_gradient[good]
            active = active[~good | moved]
        return moves

    def _try(
        self, relaxation: Relaxation, moves: np.ndarray, people: np.ndarray, weight: np.ndarray, pool: Pool
    ) -> np.ndarray:
        """Puts the moves on the grid and asks the model; says for whom one turned the decision."""
        problem, region = self.problem, self.problem.region
        reached = relaxation.rows(moves, people)
        changed = region.changed(reached, people)
        crowded = changed.sum(axis=1) > region.max_changes[people]
        if crowded.any():
            some = people[crowded]
            fixed = (changed[crowded] & (moves[crowded] == 0)).sum(axis=1)
            rank = np.argsort(np.argsort(-np.abs(moves[crowded]), axis=1, kind="stable"), axis=1)
            movable = self.movable[some] & (rank < (region.max_changes[some] - fixed)[:, None])
            fewer = self._minimised(relaxation, moves[crowded], some, weight[crowded], movable)
            reached[crowded] = relaxation.rows(fewer, some)
        rows, owners = roundings(reached, people, region)
        tried = problem.evaluate(rows, owners, distinct=owners)
        rows, owners = tried.rows[tried.hits], owners[tried.hits]
        pool.add(rows, owners, self.costs.of(rows, owners))
        return np.isin(people, owners)
