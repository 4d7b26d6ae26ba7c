"""The moves of least risk that a budget of costs can buy, and the least budget that turns the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attain.methods.lash.descent import descend
from attain.methods.lash.projection import project
from attain.methods.lash.relaxation import Relaxation, roundings, switched
from attain.methods.search.costs import Costs, switches
from attain.methods.search.options import diverse
from attain.methods.search.pool import Pool
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.sparsity import sparse
from attain.models.structure.linear import LinearScore
from attain.models.structure.smooth import Smooth

if TYPE_CHECKING:
    from attain.methods.lash.budgeted_inverse import BudgetedInverseClassification

_LEAST_SHARE = 1e-3
"""The smallest budget tried, as a share of what the largest moves cost."""
_OTHERS = 64
"""Training people whose values are tried as a second start."""
_NEGLIGIBLE = 1e-9


class BudgetSearch:
    """The search of one batch of people."""

    def __init__(self, settings: BudgetedInverseClassification, problem: Problem) -> None:
        self.settings = settings
        self.problem = problem
        region = problem.region
        indirect = settings.indirect_
        followers = np.empty(0, dtype=np.intp) if indirect is None else indirect.columns
        self.smooth: Smooth = problem.inspected
        self.costs = Costs(region, settings.unit_, directions=settings.directions, uncharged=followers)
        self.movable = self.costs.slides.copy()
        self.movable[:, followers] = False
        self.switches = switches(region, settings.scale_.pools)

    def answers(self) -> Answers:
        """One answer a person and round; in each round the main change of the last answer is ruled out."""
        problem, region = self.problem, self.problem.region
        pools: list[Pool] = []
        people = np.arange(len(problem))
        for _ in range(1 if problem.options == 1 else problem.options + 1):
            pool = Pool(len(problem), len(region.schema), 1)
            self._round(people, pool)
            pools.append(pool)
            people = pool.owners
            main = self.costs.cells(pool.rows, people).argmax(axis=1)
            self.movable[people, main] = False
        rows, owners = np.concatenate([p.rows for p in pools]), np.concatenate([p.owners for p in pools])
        if self.settings.cost_budget is None and self.settings.indirect_ is None:
            rows = sparse(rows, owners, self.costs.cells(rows, owners), region, problem.accepts)
        ranking = self.costs.of(rows, owners)
        if self.settings.cost_budget is not None:
            ranking = np.concatenate([pool.distances for pool in pools])
        status = problem.statuses(owners)
        rows, owners, ranking = diverse(rows, owners, ranking, region, problem.options)
        return Answers(rows, owners, ranking, status, {"cost": self.costs.of(rows, owners)})

    def _round(self, people: np.ndarray, pool: Pool) -> None:
        """Numbers and ordered levels first; for whom that is not enough, from another start; then other states too."""
        region, limit = self.problem.region, self.settings.cost_budget
        self.start = np.zeros(region.factuals.shape)
        missed = self._search(people, region.factuals, pool)
        if not isinstance(self.smooth, LinearScore):  # which has no second hill
            self.start[missed] = self._toward_others(missed)
            missed = self._search(missed, region.factuals, pool)
            self.start[missed] = 0.0
        base = switched(missed, self.smooth, region, self.costs, self.switches, np.inf if limit is None else limit)
        differ = region.changed(base[missed], missed).any(axis=1)
        self._search(missed[differ], base, pool)

    def _search(self, people: np.ndarray, base: np.ndarray, pool: Pool) -> np.ndarray:
        """Fills the pool with answers that move from the base rows; says for whom there is none."""
        settings = self.settings
        relaxation = Relaxation(
            self.smooth, self.problem.region, base, settings.unit_, settings.indirect_, settings.keep_residual
        )
        limit = np.zeros(len(self.problem))
        if settings.cost_budget is not None:
            limit[people] = settings.cost_budget - self.costs.of(base[people], people)
            hit = self._try(relaxation, people, np.maximum(limit, 0.0), pool)
            return np.asarray(people[~hit])
        most = np.maximum(self.costs.upper * self.costs.rise, -self.costs.lower * self.costs.fall)
        high = np.where(self.movable, most, 0.0).sum(axis=1) + _NEGLIGIBLE
        hit = self._try(relaxation, people, high, pool)
        missed, people = people[~hit], people[hit]
        low = _LEAST_SHARE * high
        for _ in range(settings.bisections):
            # halved by ratio, since what is enough may be a small share of what is possible
            middle = np.sqrt(low * high)
            hit = self._try(relaxation, people, middle, pool)
            high[people[hit]], low[people[~hit]] = middle[people[hit]], middle[people[~hit]]
        return np.asarray(missed)

    def _try(self, relaxation: Relaxation, people: np.ndarray, limit: np.ndarray, pool: Pool) -> np.ndarray:
        """Solves for these limits, puts the moves on the grid and asks the model; says for whom it turned."""
        region, problem = self.problem.region, self.problem
        moves = self._moves(relaxation, people, limit, self.movable)
        reached = relaxation.rows(moves, people)
        crowded = region.changed(reached, people).sum(axis=1) > region.max_changes[people]
        if crowded.any():
            some = people[crowded]
            worth = np.abs(relaxation.slope(moves[crowded], some)[1] * moves[crowded])
            spare = region.max_changes[some] - (region.changed(reached[crowded], some) & (worth == 0)).sum(axis=1)
            rank = np.argsort(np.argsort(-worth, axis=1, kind="stable"), axis=1)
            movable = self.movable.copy()
            movable[some] &= rank < spare[:, None]
            reached[crowded] = relaxation.rows(self._moves(relaxation, some, limit, movable), some)
        rows, owners = roundings(reached, people, region)
        most = np.inf if self.settings.cost_budget is None else self.settings.cost_budget + _NEGLIGIBLE
        tried = problem.evaluate(rows, owners, where=lambda rows: self.costs.of(rows, owners) <= most, distinct=owners)
        rows, owners = tried.rows[tried.hits], owners[tried.hits]
        cost = self.costs.of(rows, owners) if self.settings.cost_budget is None else -tried.score[tried.met]
        pool.add(rows, owners, cost)
        return np.isin(people, owners)

    def _moves(self, relaxation: Relaxation, people: np.ndarray, limit: np.ndarray, movable: np.ndarray) -> np.ndarray:
        """The moves of least risk within each person's limit."""
        costs = self.costs
        lower, upper = np.where(movable, costs.lower, 0.0), np.where(movable, costs.upper, 0.0)

        def projection(moves: np.ndarray, who: np.ndarray) -> np.ndarray:
            return project(moves, lower[who], upper[who], costs.fall[who], costs.rise[who], limit[who])

        def risk(moves: np.ndarray, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            score, gradient = relaxation.slope(moves, who)
            return -score, -gradient

        start = projection(self.start[people], people)
        return descend(risk, projection, start, people, self.settings.iterations, self.settings.tolerance)

    def _toward_others(self, people: np.ndarray) -> np.ndarray:
        """For each of these people the moves to that one of some training people's values which scores best."""
        costs, region = self.costs, self.problem.region
        values = self.settings.table_.values
        some = np.random.default_rng(self.problem.seed).permutation(len(values))[:_OTHERS]
        relaxation = Relaxation(
            self.smooth, region, region.factuals, costs.unit, self.settings.indirect_, self.settings.keep_residual
        )
        best, highest = np.zeros((len(people), len(region.schema))), np.full(len(people), -np.inf)
        lower, upper = (
            np.where(self.movable, costs.lower, 0.0)[people],
            np.where(self.movable, costs.upper, 0.0)[people],
        )
        for other in values[some]:
            moves = np.clip(np.nan_to_num((other - region.factuals[people]) / costs.unit), lower, upper)
            score = relaxation.slope(moves, people)[0]
            better = score > highest
            best[better], highest[better] = moves[better], score[better]
        return best
