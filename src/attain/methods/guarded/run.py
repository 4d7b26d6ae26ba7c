"""The guarded search of a batch of people: starts, the last mile, and a ladder where nothing usual is in reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from attain.methods.guarded.balls import Coordinates
from attain.methods.guarded.evolution import evolved, latent_starts
from attain.methods.guarded.last_mile import walked
from attain.methods.guarded.objective import Objective
from attain.methods.guarded.starts import Starts
from attain.methods.guarded.surrogate import Surrogate
from attain.methods.guarded.trials import Points, Trials
from attain.methods.guarded.vicinity import Vicinity
from attain.methods.search.latent_space import Latent
from attain.methods.search.moves import Scale, fewest_changes
from attain.methods.search.pool import first_of_each, rank_within
from attain.methods.search.problem import Answers, Problem
from attain.population.guard import Guard, Limits
from attain.population.percentiles import Percentiles
from attain.results.status import Typicality
from attain.tables import Region

_WALKERS: Final = 4
_MORE_WALKERS: Final = 8
"""Walkers a person where the line through the scores decides like the model, and where it does not."""
_ROUNDS: Final = 10
_FEWER_ROUNDS: Final = 5
"""Rounds of the last mile, and on each rung down the ladder."""
_KEPT: Final = 8
"""So many of a person's best rows are put to the guard itself."""
_RUNGS: Final = 4
"""In so many steps the guard's rate falls from that of typical answers to that of unusual ones."""
_NEAR: Final = 0.95
"""Where closeness is not asked for, balls reach as far as this share of real people have somebody near."""


LatentOf: TypeAlias = Callable[[Region], Latent | None]
"""The latent space around a batch of rows, or None without an autoencoder."""


class GuardedAnswers(NamedTuple):
    """Answers grouped by person, best first: what each costs, its level, and its p-value among real people."""

    rows: np.ndarray
    owners: np.ndarray
    cost: np.ndarray
    level: np.ndarray
    p_value: np.ndarray


@dataclass(frozen=True)
class GuardedSearch:
    """How a guarded search is done.

    Attributes
    ----------
    rates
        The shares of real people that the guard may refuse: of a typical answer, and of an unusual one.
    largest, number
        The weights of the largest shift and of each change in what is minimised.
    effort
        How many times as many walkers go the last mile.
    """

    guard: Guard
    rates: tuple[float, float]
    surrogate: Surrogate
    percentiles: Percentiles
    scale: Scale
    largest: float
    number: float
    effort: int = 1

    def search(self, problem: Problem, latent_of: LatentOf, easiest: Answers | None = None) -> GuardedAnswers:
        """The best answers of each row; rows without any are those that no start could be found for.

        `easiest` are answers to start from, too.
        """
        region, most = problem.region, problem.region.max_changes
        problem = replace(
            problem, region=replace(problem.region, max_changes=np.full(len(most), len(problem.region.schema)))
        )
        rungs = np.geomspace(*self.rates, _RUNGS)
        limits = [*(self.guard.limits(float(rate)) for rate in rungs), self._none()]
        objective = Objective(self.percentiles, problem.region, self.largest, self.number)
        trials = Trials(
            problem, objective, limits, 2 * problem.options, _KEPT * problem.options,
            self.guard.density, self.surrogate, self.guard.people.space, most,
        )  # fmt: skip
        rows, owners = self._started(trials, latent_of(problem.region), easiest)
        trials.vicinity = self._vicinity(rows, owners, trials)
        walkers = _WALKERS if self.surrogate.exact else _MORE_WALKERS
        points = trials.measured(rows, owners)
        short = np.flatnonzero(trials.pool.size == 0)
        latent = latent_of(region) if short.size else None
        if latent is not None:
            points = points.join(trials.measured(*evolved(trials, latent, short)))
        best = self._best(points, trials, walkers * self.effort * problem.options)
        best = walked(best, trials, self.surrogate, self.guard.people.space, _ROUNDS)
        ways, lower = best.take(np.flatnonzero(best.excess <= 0)), best
        for rung in range(1, len(limits)):
            lower = self._lower(lower, trials, rung)
        return self._minimal(self._answers(trials, ways), trials)

    def _best(self, points: Points, trials: Trials, number: int) -> Points:
        """The best starts of each person, and of people who may change only so much, also the best that change more."""
        over = trials.too_many(points.rows, points.owners)
        if not over.any():
            return points.best(number)
        free = replace(points, excess=points.excess - over).best(number)
        free = replace(free, excess=free.excess + trials.too_many(free.rows, free.owners))
        return points.best(number).join(free).best(2 * number)

    def _none(self) -> Limits:
        """The limits of the last level: there are none."""
        return Limits(np.full(len(self.guard.own_factors), np.inf), np.inf, -np.inf)

    def _started(self, trials: Trials, latent: Latent | None, easiest: Answers | None) -> tuple[np.ndarray, np.ndarray]:
        """Rows that turn the decision, from every kind of start, and whose they are."""
        reach = trials.limits[0].distance
        radius = min(reach, float(np.quantile(self.guard.own_distances, _NEAR)))
        starts = Starts(
            trials, self.guard, self.surrogate, Coordinates(self.guard.people), self.percentiles, self.scale, radius
        )
        parts = [starts.real_people()]
        further = [] if latent is None else [latent_starts(trials.problem, latent)]
        further += [] if easiest is None else [(easiest.rows, easiest.owners)]
        for rows, owners in further:
            turned = trials.turning(rows, owners)
            parts.append((rows[turned], owners[turned]))
        parts.append(self._fewer(trials, *(np.concatenate(part) for part in zip(*parts, strict=True))))
        short = np.setdiff1d(np.arange(len(trials.problem)), np.concatenate([owners for _, owners in parts]))
        parts.append(starts.climb(short))
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([owners for _, owners in parts])

    def _fewer(self, trials: Trials, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The starts of people who may change only so many features, with the largest changes alone."""
        region = trials.problem.region
        chosen = np.flatnonzero(region.changed(rows, owners).sum(axis=1) > trials.most[owners])
        owners = owners[chosen]
        limited = replace(region, max_changes=trials.most)
        fewer = region.final_form(fewest_changes(rows[chosen], owners, limited, self.scale), owners)
        turned = trials.turning(fewer, owners)
        return fewer[turned], owners[turned]

    def _vicinity(self, rows: np.ndarray, owners: np.ndarray, trials: Trials) -> Vicinity:
        """The guard near each person, and near the cheapest of their starts."""
        space = self.guard.people.space
        order = np.lexsort((trials.objective.cost(rows, owners), owners))
        first = order[rank_within(owners[order]) == 0]
        places = np.repeat(space.transform(trials.problem.region.factuals)[:, None, :], 2, axis=1)
        places[owners[first], 1] = space.transform(rows[first])
        return Vicinity(self.guard, places)

    def _lower(self, walkers: Points, trials: Trials, rung: int) -> Points:
        """The walkers of people who have nothing within their limits yet, one rung down the ladder."""
        short = np.flatnonzero(trials.pool.size == 0)
        trials.level[short] = rung
        chosen = np.flatnonzero(np.isin(walkers.owners, short))
        again = trials.measured(walkers.rows[chosen], walkers.owners[chosen])
        return walked(again, trials, self.surrogate, self.guard.people.space, _FEWER_ROUNDS)

    def _answers(self, trials: Trials, ways: Points) -> GuardedAnswers:
        """The best rows of each person, as the guard itself sees them; of several options, where walkers ended, too."""
        rows, owners, cost = trials.pool.rows, trials.pool.owners, trials.pool.distances
        if trials.problem.options > 1:
            rows, cost = np.concatenate((rows, ways.rows)), np.concatenate((cost, ways.cost))
            owners = np.concatenate((owners, ways.owners))
            order = np.lexsort((cost, owners))
            order = order[first_of_each(rows[order], owners[order])]
            rows, owners, cost = rows[order], owners[order], cost[order]
        p_value = np.full(len(rows), np.nan)
        # who is asked for one answer and has a typical one first needs no other looked at
        first = rank_within(owners) == 0 if trials.problem.options == 1 else np.ones(len(rows), dtype=bool)
        p_value[first] = self._p_value(rows[first])
        settled = np.isin(owners, owners[first & (p_value > self.rates[0])]) if trials.problem.options == 1 else first
        p_value[~first & ~settled] = self._p_value(rows[~first & ~settled])
        known = np.flatnonzero(~np.isnan(p_value))
        rows, owners, cost, p_value = rows[known], owners[known], cost[known], p_value[known]
        level = (p_value <= self.rates[0]).astype(np.intp) + (p_value <= self.rates[1])
        order = np.lexsort((cost, level, owners))
        return GuardedAnswers(rows[order], owners[order], cost[order], level[order], p_value[order])

    def _p_value(self, rows: np.ndarray) -> np.ndarray:
        return self.guard.p_value(self.guard.score(rows)) if len(rows) else np.empty(0)

    def _minimal(self, found: GuardedAnswers, trials: Trials) -> GuardedAnswers:
        """Each person's best answer after taking back whole changes, while it turns the decision and stays as usual.

        Shortlists, and looking at the density of few versions only, may have left a change that nothing asks for. The
        model is asked first: next to none of these versions turn the decision, and the guard costs more.
        """
        region = trials.problem.region
        rows, owners, cost, level, p_value = (part.copy() for part in found)
        active = np.flatnonzero(rank_within(owners) == 0)
        while active.size:
            place, column = np.nonzero(region.changed(rows[active], owners[active]))
            whose = active[place]
            versions = rows[whose]
            versions[np.arange(len(whose)), column] = region.factuals[owners[whose], column]
            versions = region.final_form(versions, owners[whose])
            price = trials.objective.cost(versions, owners[whose])
            worth = np.flatnonzero(price < cost[whose])
            worth = worth[self.surrogate.hopeful(trials.space.transform(versions[worth]))]
            worth = worth[trials.turning(versions[worth], owners[whose[worth]])]
            share = self._p_value(versions[worth])
            typical = level[whose[worth]] == Typicality.TYPICAL
            usual = np.where(typical, share > self.rates[0], share >= p_value[whose[worth]])
            worth, share = worth[usual], share[usual]
            order = np.lexsort((price[worth], whose[worth]))
            order = order[rank_within(whose[worth[order]]) == 0]
            best, active = worth[order], whose[worth[order]]
            rows[active], cost[active], p_value[active] = versions[best], price[best], share[order]
        return GuardedAnswers(rows, owners, cost, level, p_value)
