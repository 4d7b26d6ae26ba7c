"""Hill climbing over single cells, with random starts and a local search; it needs nothing but scores."""

from __future__ import annotations

import numpy as np

from attain.methods.lash.neighbours import Neighbours
from attain.methods.search.costs import Costs
from attain.methods.search.options import diverse
from attain.methods.search.pool import Pool
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.streams import streams
from attain.results.status import Status

_SPARE_OPTIONS = 3
_NEGLIGIBLE = 1e-9
_EXCHANGED = (0.4, 0.7, 0.95)
"""Shares of a cost spent elsewhere, when a cheaper answer is looked for."""


class Climb:
    """The search of one batch of people. Climbers are rows, each with its owner; a person may have several.

    Parameters
    ----------
    problem
        The people, and how to ask the model.
    costs
        What changes cost.
    pools
        The sorted ordinary cells of each training column.
    training
        The training people, whose free cells are the random starts.
    starts, restarts, turns
        Random starts at a time; how often people without an answer get new ones; the most moves of a climb.
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
        self.problem = problem
        self.costs = costs
        self.training = training
        self.starts, self.restarts, self.turns, self.aim = starts, restarts, turns, aim
        region = problem.region
        self.neighbours = Neighbours(region, costs, pools)
        self.generators = streams(region.factuals, problem.seed)
        keep = 1 if problem.options == 1 else _SPARE_OPTIONS * problem.options
        self.pool = Pool(len(problem), len(region.schema), keep)
        self.fixed = limit is not None
        self.limit = np.inf if limit is None else float(limit) + _NEGLIGIBLE

    def answers(self, figure: str) -> Answers:
        """What was found; `figure` names the cost of an answer among its figures."""
        status = self.run()
        pool = self.pool
        rows, owners, ranking = diverse(
            pool.rows, pool.owners, pool.distances, self.problem.region, self.problem.options
        )
        return Answers(rows, owners, ranking, status, {figure: self.costs.of(rows, owners)})

    def run(self) -> list[Status]:
        """Climbs, restarts and local search, until all are answered or nothing is left to try."""
        people = np.arange(len(self.problem))
        people = people[self.problem.affordable(people)]
        region = self.problem.region
        score = np.zeros(len(self.problem))
        score[people] = self.problem.ask(region.factuals[people], people)[1]
        self._climb(region.factuals[people], people, score[people])
        for turn in range(1 + self.restarts):
            waiting = people if turn == 0 else people[self.pool.size[people] == 0]
            if waiting.size:
                self._restart(waiting, score)
        self._search_locally()
        return self.problem.statuses(self.pool.owners)

    def _ask(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Which of the candidates were asked about; of those the final form, whether they turn it, and their score.

        What turns the decision goes into the pool.
        """
        cheap = (lambda rows: self.costs.of(rows, owners) <= self.limit) if np.isfinite(self.limit) else None
        rows, asked, met, score, _ = tried = self.problem.evaluate(rows, owners, where=cheap)
        hits = tried.hits
        ranking = self.costs.of(rows[hits], owners[hits]) if not self.fixed else -score[met]
        self.pool.add(rows[hits], owners[hits], ranking)
        return asked, rows[asked], met, score

    def _climb(self, rows: np.ndarray, owners: np.ndarray, score: np.ndarray) -> None:
        """Each climber takes the best move, turn after turn; without a budget of costs it stops where it has turned."""
        rows, score = rows.copy(), score.copy()
        active = np.arange(len(rows))
        for _ in range(self.turns):
            if not active.size:
                break
            trials, parents = self.neighbours.around(rows[active], owners[active])
            asked, trials, met, gained = self._ask(trials, owners[active][parents])
            parents = active[parents[asked]]
            gain = self._gain(score[parents], gained)
            if not self.fixed:
                spent = self.costs.of(trials, owners[parents]) - self.costs.of(rows, owners)[parents]
                value = np.where(gain > 0, gain / np.maximum(spent, _NEGLIGIBLE), -np.inf)
                value[np.isin(parents, parents[met])] = -np.inf
            else:
                value = np.where(gain > 0, gain, -np.inf)
            best = _best(parents, value)
            best = best[np.isfinite(value[best])]
            active = parents[best]
            rows[active], score[active] = trials[best], gained[best]

    def _gain(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """How much better a score is: by itself, or by its squared distance from the aim."""
        if self.aim is None:
            return np.asarray(after - before)
        return np.asarray((before - self.aim) ** 2 - (after - self.aim) ** 2)

    def _restart(self, people: np.ndarray, score: np.ndarray) -> None:
        """Random training people's free cells as starts; the best start of a person without an answer is climbed."""
        values, starts = self.training, self.starts
        if not starts:
            return
        picked = [self.generators[i].integers(len(values), size=starts) for i in people]
        owners = np.repeat(people, starts)
        rows = self._within_limit(values[np.concatenate(picked)], owners)
        asked, rows, _, gained = self._ask(rows, owners)
        owners = owners[asked]
        best = _best(owners, gained)
        if not self.fixed:
            best = best[(self.pool.size[owners[best]] == 0) & (gained[best] > score[owners[best]])]
        self._climb(rows[best], owners[best], gained[best])

    def _within_limit(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The starts in final form, drawn back along their scales, and to their own states, as far as costs demand."""
        region = self.problem.region
        rows = region.final_form(rows, owners)
        cost = self.costs.cells(rows, owners)
        over = cost.sum(axis=1) > self.limit
        own, slides = region.factuals[owners], self.costs.slides[owners]
        share = np.divide(self.limit, cost.sum(axis=1), out=np.ones(len(rows)), where=over)
        drawn = np.where(slides, own + share[:, None] * (rows - own), own)
        return np.where(over[:, None], drawn, rows)

    def _search_locally(self) -> None:
        """Improves what is in the pool: cheaper while it stays turned, or a better score within the budget of costs."""
        rows, owners, rank = self.pool.rows.copy(), self.pool.owners.copy(), self.pool.distances.copy()
        fixed = self.fixed
        active, exchanging = np.arange(len(rows)), np.zeros(len(rows), dtype=bool)
        for _ in range(self.turns):
            if not active.size:
                break
            improved = np.zeros(len(rows), dtype=bool)
            for swap in (False, True):
                some = active[exchanging[active] == swap]
                if not some.size:
                    continue
                if swap:
                    shares = (1.0,) if fixed else _EXCHANGED
                    trials, parents = self.neighbours.exchanges(rows[some], owners[some], shares)
                elif fixed:
                    trials, parents = self.neighbours.around(rows[some], owners[some])
                else:
                    trials, parents = self.neighbours.back(rows[some], owners[some])
                parents = some[parents]
                if not fixed:  # only what is cheaper is worth asking about
                    cheaper = self.costs.of(trials, owners[parents]) < rank[parents] - _NEGLIGIBLE
                    trials, parents = trials[cheaper], parents[cheaper]
                asked, trials, met, score = self._ask(trials, owners[parents])
                parents = parents[asked]
                value = score if fixed else -self.costs.of(trials, owners[parents])
                best = _best(parents, np.where(met, value, -np.inf))
                best = best[met[best] & (-value[best] < rank[parents[best]] - _NEGLIGIBLE)]
                rows[parents[best]], rank[parents[best]] = trials[best], -value[best]
                improved[parents[best]] = True
            # a change that cannot be made smaller is exchanged; what cannot be exchanged either is done
            active = active[improved[active] | ~exchanging[active]]
            exchanging[active] = ~improved[active]


def _best(parents: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The position of the largest value of each parent, the first of equal ones."""
    order = np.lexsort((np.arange(len(parents)), -value, parents))
    _, first = np.unique(parents[order], return_index=True)
    return np.asarray(order[first])
