"""The guarded search of a batch of rows: starts, a local search, and a relaxation schedule where nothing is typical."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from attain.core.arrays import positions
from attain.methods.guarded.evaluator import CandidateEvaluator, Candidates
from attain.methods.guarded.local_guard import LocalGuard
from attain.methods.guarded.local_search import local_search, reversions
from attain.methods.guarded.objective import Objective, weighted
from attain.methods.guarded.settings import GuardedSettings
from attain.methods.guarded.single_changes import SingleChanges
from attain.methods.guarded.starts import Starts
from attain.methods.guarded.surrogate import Surrogate
from attain.methods.search.moves import Scale, fewest_changes
from attain.methods.search.options import different_changes
from attain.methods.search.pool import first_of_each, marked, rank_within
from attain.methods.search.problem import Answers, Problem
from attain.models.structure.sweeps import Sweep
from attain.population.guard import Guard, Limits
from attain.population.percentiles import Percentiles
from attain.results.status import Typicality

Draw: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""From rows (n, d) to draws of a density for each, one row's after the other."""


class GuardedAnswers(NamedTuple):
    """Answers grouped by owner, best first.

    Attributes
    ----------
    rows, owners
        The answers (n, d), and which row of the batch each is for, (n,).
    cost, typicality, p_value
        The cost of each, how typical it is (a `Typicality`), and its p-value among real rows, (n,).
    """

    rows: np.ndarray
    owners: np.ndarray
    cost: np.ndarray
    typicality: np.ndarray
    p_value: np.ndarray


def _joined(one: GuardedAnswers, two: GuardedAnswers) -> GuardedAnswers:
    """The answers of both, each once."""
    joined = GuardedAnswers(*map(np.concatenate, zip(one, two, strict=True)))
    order = np.lexsort((joined.cost, joined.typicality, joined.owners))
    order = order[first_of_each(joined.rows[order], joined.owners[order])]
    return GuardedAnswers(*(part[order] for part in joined))


def _kept(keep: np.ndarray, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return rows[keep], owners[keep]


@dataclass(frozen=True)
class GuardedSearch:
    """How a guarded search is done.

    Attributes
    ----------
    rates
        The shares of real rows that the guard may refuse: of typical answers, and of unusual ones.
    max_shift_weight, change_weight, month_weight
        The weights of the objective.
    effort
        How many times as many candidates go through the local search.
    accepted
        All training rows that meet the goal, (n, d).
    draw
        Draws of a density for rows, to start from; None without.
    sweep
        Which values of single features flip the decision; None for models that are not compiled.
    """

    guard: Guard
    rates: tuple[float, float]
    surrogate: Surrogate
    accepted: np.ndarray
    percentiles: Percentiles
    scale: Scale
    max_shift_weight: float
    change_weight: float
    month_weight: float | None
    effort: int
    settings: GuardedSettings
    draw: Draw | None = None
    sweep: Sweep | None = None

    def search(self, problem: Problem, easiest: Answers | None = None) -> GuardedAnswers:
        """The best answers of each row; rows without any are those that no start could be found for.

        `easiest` are further rows to start from. Where changes take time, answers that take less are
        searched for by themselves: a search that starts with waiting would pay for it with every clock. Climbing the
        score where no real row leads to an answer costs most, and is left out for rows that have none in more time.
        """
        region = problem.region
        found, limit = self._search(problem, easiest, np.arange(len(problem))), region.max_months
        horizons = self.settings.horizons if region.book.timing is not None else ()
        if not region.schema.clocks:  # waiting changes nothing else then: one horizon finds nearly all that two do
            horizons = horizons[:1]
        for months in horizons:
            sooner = region.in_months(months)
            some = positions((limit > months) & ~sooner.frozen.all(axis=1))
            if some.size:
                in_time = region.months(found.rows, found.owners) <= limit[found.owners]
                answered = positions(np.isin(some, found.owners[in_time]))
                part = replace(problem.subset(some), region=sooner.subset(some))
                more = self._search(part, None if easiest is None else easiest.subset(some), answered)
                found = _joined(found, more._replace(owners=some[more.owners]))
            limit = np.minimum(limit, months)
        return found

    def _search(self, problem: Problem, easiest: Answers | None, climbing: np.ndarray) -> GuardedAnswers:
        """The best answers of each row; those at the positions `climbing` may climb the score for a start."""
        settings = self.settings
        evaluator = self._evaluator(problem)
        (rows, owners), cheap = self._starts(evaluator, easiest, climbing)
        evaluator.local_guard = self._local_guard(rows, owners, evaluator)
        found = evaluator.measure(rows, owners).join(self._worth(evaluator.measure(*cheap), evaluator))
        n = settings.n_candidates if self.surrogate.exact else settings.n_candidates_inexact
        n *= self.effort
        best = local_search(self._best(found, evaluator, n), evaluator, settings.rounds)
        ways, relaxed = best.take(positions(best.excess <= 0)), best
        for relaxation in range(1, len(evaluator.limits)):
            relaxed = self._relaxed(relaxed, found, evaluator, relaxation, n)
        return self._minimal(self._answers(evaluator, ways), evaluator)

    def _evaluator(self, problem: Problem) -> CandidateEvaluator:
        """An evaluator in a region without a limit on the number of changes: that is an excess like the guard's."""
        most = problem.region.max_changes
        free = weighted(problem.region, self.month_weight)
        free = replace(free, max_changes=np.full(len(most), len(free.schema)))
        limits = [self.guard.limits(float(rate)) for rate in np.geomspace(*self.rates, self.settings.relaxations)]
        limits.append(Limits(np.full(len(self.guard.own_factors), np.inf), np.inf, -np.inf))
        objective = Objective(self.percentiles, free, self.max_shift_weight, self.change_weight, self.month_weight)
        problem = replace(problem, region=free)
        single = None if self.sweep is None else SingleChanges(self.sweep, objective, self.settings)
        return CandidateEvaluator(problem, objective, self.guard, self.surrogate, limits, most, self.settings, single)

    def _best(self, found: Candidates, evaluator: CandidateEvaluator, n: int) -> Candidates:
        """The n best candidates of each row; with a limit on changes, also the best n whatever they change.

        Half of them change different features: where all are alike, so are the answers they lead to.
        """
        over = evaluator.too_many(found.rows, found.owners)
        if not over.any():
            changed = evaluator.problem.region.changed(found.rows, found.owners)
            return found.best(n, different_changes(found.merit, found.owners, changed, n // 2))
        free = replace(found, excess=found.excess - over).best(n)
        free = replace(free, excess=free.excess + evaluator.too_many(free.rows, free.owners))
        return found.best(n).join(free).best(2 * n)

    def _starts(
        self, evaluator: CandidateEvaluator, easiest: Answers | None, climbing: np.ndarray
    ) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Rows that flip the decision, from every kind of start, and their owners; cheap ones by themselves."""
        near = float(np.quantile(self.guard.own_distances, self.settings.radius_quantile))
        starts = Starts(evaluator, self.scale, min(evaluator.limits[0].distance, near), self.accepted)
        parts = [starts.near_real_rows()]
        further = [] if self.draw is None else [starts.drawn(self.draw)]
        further.append(starts.single_changes())
        if easiest is not None:
            region = evaluator.problem.region
            further.append((region.final_form(easiest.rows, easiest.owners), easiest.owners))
        parts += [_kept(evaluator.flips(*some), *some) for some in further]
        parts.append(self._fewer(evaluator, *(np.concatenate(part) for part in zip(*parts, strict=True))))
        cheap = starts.several_changes()
        cheap = _kept(evaluator.flips(*cheap), *cheap)
        n = len(evaluator.problem)
        short = ~marked(n, np.concatenate([owners for _, owners in parts]))
        parts.append(starts.climb(positions(short & marked(n, climbing))))
        parts.append(_kept((short & ~marked(n, parts[-1][1]))[cheap[1]], *cheap))
        rows, owners = (np.concatenate(part) for part in zip(*parts, strict=True))
        return (rows, owners), cheap

    def _worth(self, cheap: Candidates, evaluator: CandidateEvaluator) -> Candidates:
        """Of starts that were chosen for their price alone, those of rows that have an answer within the limits.

        Others would take the place of starts near real rows, from which the limits are reached.
        """
        return cheap.take(positions((evaluator.pool.size > 0)[cheap.owners]))

    def _fewer(
        self, evaluator: CandidateEvaluator, rows: np.ndarray, owners: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Starts that change more features than their owner may, with the largest changes only."""
        region = evaluator.problem.region
        chosen = positions(evaluator.too_many(rows, owners))
        owners = owners[chosen]
        limited = replace(region, max_changes=evaluator.max_changes)
        fewer = region.final_form(fewest_changes(rows[chosen], owners, limited, self.scale), owners)
        flips = evaluator.flips(fewer, owners)
        return fewer[flips], owners[flips]

    def _local_guard(self, rows: np.ndarray, owners: np.ndarray, evaluator: CandidateEvaluator) -> LocalGuard:
        """The guard near each row, and near its cheapest start among those that pass, or else the most typical one.

        Near the cheapest start of all there may be nothing that passes.
        """
        space, settings = self.guard.reference.space, self.settings
        distinct = first_of_each(rows, owners)
        rows, owners = rows[distinct], owners[distinct]
        cost, passed = evaluator.objective.cost(rows, owners), np.full(len(rows), -1.0)
        order = np.lexsort((cost, owners))
        rank, looked_at = rank_within(owners[order]), 0
        # the cheapest first: once one passes, dearer ones need not be judged
        more = max(settings.judged_at_once // max(len(evaluator.problem), 1), 1)
        while (rank >= looked_at).any():
            wanted = ~marked(len(evaluator.problem), owners[passed >= self.rates[0]])[owners[order]]
            some = order[wanted & (rank >= looked_at) & (rank < looked_at + more)]
            passed[some] = np.minimum(self._p_value(rows[some]), self.rates[0])
            looked_at, more = looked_at + more, 2 * more
        order = np.lexsort((cost, -passed, owners))
        first = order[rank_within(owners[order]) == 0]
        places = np.repeat(space.points(evaluator.problem.region.factuals)[:, None, :], 2, axis=1)
        places[owners[first], 1] = space.points(rows[first])
        return LocalGuard(self.guard, places, settings)

    def _relaxed(
        self, candidates: Candidates, starts: Candidates, evaluator: CandidateEvaluator, relaxation: int, n: int
    ) -> Candidates:
        """The candidates of rows that have nothing within their limits yet, searched again with the next limits.

        Starts come in again, as many as there are candidates at most: cheap ones may be within the next limits.
        """
        short = positions(evaluator.pool.size == 0)
        if not short.size:
            return candidates.take(short)
        evaluator.relaxation[short] = relaxation
        again = marked(len(evaluator.problem), short)
        ended, first = (some.take(positions(again[some.owners])) for some in (candidates, starts))
        ended = evaluator.measure(ended.rows, ended.owners)
        first = self._best(evaluator.measure(first.rows, first.owners), evaluator, n)
        return local_search(ended.join(first), evaluator, self.settings.relaxed_rounds)

    def _answers(self, evaluator: CandidateEvaluator, ways: Candidates) -> GuardedAnswers:
        """The best candidates of each row, judged by the guard itself; for several options, also where others ended."""
        pool, single = evaluator.pool, evaluator.problem.options == 1
        rows, owners = pool.rows, pool.owners
        cost = evaluator.objective.cost(rows, owners)
        if not single:
            rows, cost = np.concatenate((rows, ways.rows)), np.concatenate((cost, ways.cost))
            owners = np.concatenate((owners, ways.owners))
            order = np.lexsort((cost, owners))
            order = order[first_of_each(rows[order], owners[order])]
            rows, owners, cost = rows[order], owners[order], cost[order]
        p_value = np.full(len(rows), np.nan)
        # if one option is wanted and the first is typical, no other has to be judged
        first = rank_within(owners) == 0 if single else np.ones(len(rows), dtype=bool)
        p_value[first] = self._p_value(rows[first])
        # a record that breaks a law, because its row does, is not typical, however close to real rows it is
        lawful = ~evaluator.problem.region.breaks_law(rows, owners)
        done = marked(len(evaluator.problem), owners[first & lawful & (p_value > self.rates[0])])
        rest = ~first & ~done[owners]
        p_value[rest] = self._p_value(rows[rest])
        typicality = (~lawful | (p_value <= self.rates[0])).astype(np.intp) + (p_value <= self.rates[1])
        order = np.lexsort((cost, typicality, owners))
        order = order[(first | rest)[order]]
        return GuardedAnswers(rows[order], owners[order], cost[order], typicality[order], p_value[order])

    def _p_value(self, rows: np.ndarray) -> np.ndarray:
        return self.guard.p_value(self.guard.score(rows)) if len(rows) else np.empty(0)

    def _minimal(self, found: GuardedAnswers, evaluator: CandidateEvaluator) -> GuardedAnswers:
        """The best answer of each row after taking back changes, or parts of them, while it stays valid and as typical.

        Shortlists, and densities of few versions only, may have left more of a change than is needed. The model is
        asked before the guard: hardly any of these versions flip the decision, and the guard costs more.
        """
        region, parts = evaluator.problem.region, (*self.settings.reversions, *self.settings.fine_reversions)
        rows, owners, cost, typicality, p_value = (part.copy() for part in found)
        active = positions(rank_within(owners) == 0)
        while active.size:
            now = region.clocks_reset(rows[active], owners[active])
            made, of = zip(*reversions(now, owners[active], evaluator, parts), strict=True)
            of = active[np.concatenate(of)]
            versions = region.final_form(np.concatenate(made), owners[of])
            price = evaluator.objective.cost(versions, owners[of])
            worth = positions(price < cost[of])
            worth = worth[self.surrogate.may_meet_goal(self.guard.reference.space.points(versions[worth]))]
            worth = worth[evaluator.flips(versions[worth], owners[of[worth]])]
            share = self._p_value(versions[worth])
            typical = typicality[of[worth]] == Typicality.TYPICAL
            lawful = ~region.breaks_law(versions[worth], owners[of[worth]])
            passes = np.where(typical, lawful & (share > self.rates[0]), share >= p_value[of[worth]])
            worth, share = worth[passes], share[passes]
            order = np.lexsort((price[worth], of[worth]))
            order = order[rank_within(of[worth[order]]) == 0]
            best, active = worth[order], of[worth[order]]
            rows[active], cost[active], p_value[active] = versions[best], price[best], share[order]
        return GuardedAnswers(rows, owners, cost, typicality, p_value)
