"""Hill climbing over single cells, with random starts and a local search; it needs nothing but scores."""

from __future__ import annotations

import numpy as np

from attain.methods.search.costs import Costs
from attain.methods.search.neighbourhood import Neighbourhood
from attain.methods.search.options import diverse
from attain.methods.search.pool import Pool
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.streams import streams

_SPARE_OPTIONS = 3
_NEGLIGIBLE = 1e-9
_EXCHANGED = (0.4, 0.7, 0.95)
"""Shares of a cost spent elsewhere, when a cheaper answer is looked for."""


class Climb:
    """The search of one batch. Climbers are rows, each with its owner; an owner may have several.

    Parameters
    ----------
    problem
        The batch, and how to ask the model.
    costs
        What changes cost.
    pools
        The sorted ordinary cells of each training column.
    training
        The training rows, whose free cells are the random starts.
    starts, restarts, turns
        Random starts at a time; how often rows without an answer get new ones; the most moves of a climb.
    limit
        The most a change may cost, within which the best score is looked for. None looks for the least cost instead.
    aim
        The score to come near to, in squares; None climbs the score itself.
    """

    def __init__(
        self,
        problem: Problem,
        costs: Costs,
        pools: list[np.ndarray],
        training: np.ndarray,
        *,
        starts: int,
        restarts: int,
        turns: int,
        limit: float | None = None,
        aim: float | None = None,
    ) -> None:
        self.problem, self.costs, self.training = problem, costs, training
        self.starts, self.restarts, self.turns, self.aim = starts, restarts, turns, aim
        region = problem.region
        self.neighbourhood = Neighbourhood(region, costs, pools)
        self.generators = streams(region.factuals, problem.seed)
        keep = 1 if problem.options == 1 else _SPARE_OPTIONS * problem.options
        self.pool = Pool(len(problem), len(region.schema), keep)
        self.fixed = limit is not None
        self.limit = np.inf if limit is None else float(limit) + _NEGLIGIBLE

    def answers(self, figure: str) -> Answers:
        """Climbs, restarts and local search; `figure` names the cost of an answer among its figures."""
        problem, region, pool = self.problem, self.problem.region, self.pool
        owners = np.arange(len(problem))
        owners = owners[problem.affordable(owners)]
        score = np.zeros(len(problem))
        score[owners] = problem.ask(region.factuals[owners], owners)[1]
        self._climb(region.factuals[owners], owners, score[owners])
        for turn in range(1 + self.restarts):
            waiting = owners if turn == 0 else owners[pool.size[owners] == 0]
            if waiting.size and self.starts:
                self._restart(waiting, score)
        self._search_locally()
        rows, owners, ranking = diverse(pool.rows, pool.owners, pool.distances, region, problem.options)
        status = problem.statuses(pool.owners)
        return Answers(rows, owners, ranking, status, {figure: self.costs.of(rows, owners)})

    def _ask(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The positions of the candidates asked about; their final form, which flip the decision, and their score.

        Hits go into the pool.
        """
        cheap = (lambda rows: self.costs.of(rows, owners) <= self.limit) if self.fixed else None
        rows, asked, met, score, _ = tried = self.problem.evaluate(rows, owners, where=cheap)
        hits = tried.hits
        ranking = -score[met] if self.fixed else self.costs.of(rows[hits], owners[hits])
        self.pool.add(rows[hits], owners[hits], ranking)
        return asked, rows[asked], met, score

    def _climb(self, rows: np.ndarray, owners: np.ndarray, score: np.ndarray) -> None:
        """Each climber takes the best move, turn after turn; without a cost limit it stops at the first hit."""
        rows, score = rows.copy(), score.copy()
        active = np.arange(len(rows))
        for _ in range(self.turns):
            if not active.size:
                break
            trials, parents = self.neighbourhood.around(rows[active], owners[active])
            asked, trials, met, gained = self._ask(trials, owners[active][parents])
            parents = active[parents[asked]]
            gain = value = self._gain(score[parents], gained)
            if not self.fixed:
                spent = self.costs.of(trials, owners[parents]) - self.costs.of(rows, owners)[parents]
                value = gain / np.maximum(spent, _NEGLIGIBLE)
                value[np.isin(parents, parents[met])] = -np.inf
            value = np.where(gain > 0, value, -np.inf)
            best = _best(parents, value)
            best = best[np.isfinite(value[best])]
            active = parents[best]
            rows[active], score[active] = trials[best], gained[best]

    def _gain(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """How much better a score is: by itself, or by its squared distance from the aim."""
        if self.aim is None:
            return np.asarray(after - before)
        return np.asarray((before - self.aim) ** 2 - (after - self.aim) ** 2)

    def _restart(self, waiting: np.ndarray, score: np.ndarray) -> None:
        """Random training rows' free cells as starts; the best start of an owner without an answer is climbed."""
        picked = [self.generators[i].integers(len(self.training), size=self.starts) for i in waiting]
        owners = np.repeat(waiting, self.starts)
        rows = self._within_limit(self.training[np.concatenate(picked)], owners)
        asked, rows, _, gained = self._ask(rows, owners)
        owners = owners[asked]
        best = _best(owners, gained)
        if not self.fixed:
            best = best[(self.pool.size[owners[best]] == 0) & (gained[best] > score[owners[best]])]
        self._climb(rows[best], owners[best], gained[best])

    def _within_limit(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The starts in final form; where one costs too much, drawn back along its scales, and to its own states."""
        region = self.problem.region
        rows = region.final_form(rows, owners)
        cost = self.costs.of(rows, owners)
        over = cost > self.limit
        own, slides = region.factuals[owners], self.costs.slides[owners]
        share = np.divide(self.limit, cost, out=np.ones(len(rows)), where=over)
        drawn = np.where(slides, own + share[:, None] * (rows - own), own)
        return np.where(over[:, None], drawn, rows)

    def _search_locally(self) -> None:
        """Improves the pool's rows: cheaper ones that still flip the decision, or a better score within the limit."""
        rows, owners, rank = self.pool.rows.copy(), self.pool.owners.copy(), self.pool.distances.copy()
        active, exchanging = np.arange(len(rows)), np.zeros(len(rows), dtype=bool)
        for _ in range(self.turns):
            if not active.size:
                break
            improved = np.zeros(len(rows), dtype=bool)
            for exchange in (False, True):
                some = active[exchanging[active] == exchange]
                if not some.size:
                    continue
                trials, parents = self._varied(rows[some], owners[some], exchange)
                parents = some[parents]
                if not self.fixed:  # only what is cheaper is worth asking about
                    cheaper = self.costs.of(trials, owners[parents]) < rank[parents] - _NEGLIGIBLE
                    trials, parents = trials[cheaper], parents[cheaper]
                asked, trials, met, score = self._ask(trials, owners[parents])
                parents = parents[asked]
                value = score if self.fixed else -self.costs.of(trials, owners[parents])
                best = _best(parents, np.where(met, value, -np.inf))
                best = best[met[best] & (-value[best] < rank[parents[best]] - _NEGLIGIBLE)]
                rows[parents[best]], rank[parents[best]] = trials[best], -value[best]
                improved[parents[best]] = True
            # a change that cannot be made smaller is exchanged; what cannot be exchanged either is done
            active = active[improved[active] | ~exchanging[active]]
            exchanging[active] = ~improved[active]

    def _varied(self, rows: np.ndarray, owners: np.ndarray, exchange: bool) -> tuple[np.ndarray, np.ndarray]:
        if exchange:
            return self.neighbourhood.exchanges(rows, owners, (1.0,) if self.fixed else _EXCHANGED)
        return self.neighbourhood.around(rows, owners) if self.fixed else self.neighbourhood.back(rows, owners)


def _best(parents: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The position of the largest value of each parent, the first of equal ones."""
    order = np.lexsort((-value, parents))
    _, first = np.unique(parents[order], return_index=True)
    return np.asarray(order[first])
