"""The guarded search of a batch of people: the engine searches, and the guard judges."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from attain.core.arrays import marked, positions, rank_within
from attain.engine.person import People
from attain.engine.price import Price
from attain.engine.score import Score
from attain.engine.search import Search
from attain.engine.typical import Crowd
from attain.methods.guarded.settings import GuardedSettings
from attain.models import JointGoal
from attain.population.guard import Guard
from attain.population.measuring import Percentiles
from attain.population.population import Scale
from attain.population.relations import Relations
from attain.results.status import Status, Typicality
from attain.schema import Schema
from attain.search.pool import different_changes
from attain.search.problem import Answers, Problem
from attain.tables import Region, unchanged

LEVEL_PENALTY = 1e3
"""Added to the cost for each level below typical; far more than a change costs with the default weights."""
_PEOPLE_PER_CALL = 128
"""How many people's searches ask the model in one call."""


class RatedRows(NamedTuple):
    """Candidate answers, grouped by owner, best first: rows (n, d), and the other fields of each, (n,)."""

    rows: np.ndarray
    owners: np.ndarray
    cost: np.ndarray
    typicality: np.ndarray
    p_value: np.ndarray


@dataclass(frozen=True)
class ShiftCosts:
    """What a change costs: Σ_j c_j |ΔF_j| + w max_j c_j |ΔF_j| + λ #changes.

    c_j is the schema's cost of column j, F the midrank of a value, w `max_shift_weight` and λ `change_weight`.
    """

    percentiles: Percentiles
    max_shift_weight: float
    change_weight: float

    @cached_property
    def engine(self) -> Price:
        """The same costs, for the engine."""
        schema = self.percentiles.schema
        values, shares = self.percentiles.points, self.percentiles.shares
        codes = [list(feature.special) for feature in schema]
        return Price(
            ranks=(np.concatenate([*values, np.empty(0)]), np.concatenate([*shares, np.empty(0)]), _begins(values)),
            codes=(np.array([code for special in codes for code in special], dtype=np.float64), _begins(codes)),
            priced=np.isin(range(len(schema)), schema.free_columns).view(np.uint8),
            counted=schema.counted.view(np.uint8),
            max_shift_weight=self.max_shift_weight,
            change_weight=self.change_weight,
        )

    def shifts(self, own: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """|ΔF| of each cell, 0 to 1, (n, d): 1 where either value has no rank, 0 where nothing changed."""
        moved = np.abs(self.engine.ranks(rows) - self.engine.ranks(own))
        return np.where(unchanged(own, rows), 0.0, np.where(np.isnan(moved), 1.0, moved))

    def of(self, rows: np.ndarray, owners: np.ndarray, region: Region) -> np.ndarray:
        """What rows cost their owners, (n,)."""
        costs: np.ndarray = self.engine.costs(np.ascontiguousarray(rows), region.factuals[owners], region.cost[owners])
        return costs


def engine_crowds(guard: Guard) -> tuple[Crowd, Crowd]:
    """Real rows for the engine: those among which outlier factors are taken, and all.

    They are one object where the guard knows no more rows than `max_crowd`.
    """
    crowd, sizes = guard.crowd, np.array([part.k for part in guard.local_densities], dtype=np.intp)
    reaches = guard.reaches_and_densities if len(sizes) else np.empty((len(crowd), 0, 2))
    dense = Crowd(crowd.space.engine, crowd.values, crowd.points, np.ascontiguousarray(reaches), sizes)
    if guard.reference is crowd:
        return dense, dense
    every, no_sizes = guard.reference, np.empty(0, dtype=np.intp)
    return dense, Crowd(crowd.space.engine, every.values, every.points, np.empty((len(every), 0, 2)), no_sizes)


def compared_values(schema: Schema, scale: Scale, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` values of each free feature, (f, G), padded with NaN, and how many there are, (f,).

    These are all levels where they are few enough, else training values: half of them picked evenly by rows, and the
    rest evenly by distinct value, because most rows may share one.
    """
    values = []
    for j in schema.free_columns:
        levels = len(schema.features[j].levels)
        picked = np.arange(float(levels)) if 0 < levels <= most else np.unique(scale.pools[j])
        if len(picked) > most:
            halves = (scale.pools[j], most - most // 2), (picked, most // 2)
            picked = np.unique([cells[np.linspace(0, len(cells) - 1, n).astype(np.intp)] for cells, n in halves])
        values.append(picked)
    grid = np.full((len(values), max(map(len, values), default=0)), np.nan)
    for k, cells in enumerate(values):
        grid[k, : len(cells)] = cells
    return grid, np.array([len(cells) for cells in values], dtype=np.intp)


@dataclass(frozen=True)
class GuardedSearch:
    """The guarded search for one model and target: the guard, the costs and the settings, applied to batches.

    Attributes
    ----------
    relations
        What columns predict for each other.
    crowds
        The guard's real rows for the engine.
    rates
        Two shares of real rows that the guard may refuse: an answer that passes at the first is typical, one that
        passes only at the second unusual.
    effort
        Multiplies the numbers of starts and candidates in the settings.
    month_weight
        What a month that an answer takes adds to its price; clocks then cost nothing. None where months cost nothing.
    has_class_guard
        Whether enough real rows of the desired class are known; if not, the guard is that of all training rows.
    notes
        What a reader of the answers must know about the guard.
    """

    guard: Guard
    relations: Relations
    crowds: tuple[Crowd, Crowd]
    rates: tuple[float, float]
    costs: ShiftCosts
    scale: Scale
    effort: int
    settings: GuardedSettings
    month_weight: float | None = None
    has_class_guard: bool = True
    notes: tuple[str, ...] = ()

    def figures_of(self, rows: np.ndarray, own: np.ndarray | None) -> dict[str, np.ndarray]:
        """The typicality of rows (m, d), by the guard and relations but not laws, and the guard's p-value.

        `own` are the records that they were made from, (m, d), or None.
        """
        if not self.has_class_guard or not len(rows):
            outside, unknown = np.full(len(rows), float(Typicality.OUTSIDE)), np.full(len(rows), np.nan)
            return {"typicality": outside, "typicality_p": unknown}
        p_value, least = self._p_values(rows, own)
        level = np.sum([least <= rate for rate in self.rates], axis=0).astype(np.float64)
        return {"typicality": level, "typicality_p": np.round(p_value, 6)}

    def price(self, problem: Problem, answers: Answers) -> np.ndarray:
        """What answers found for different spans of time are sorted by, (m,): cost, months and typicality."""
        region = self.with_free_clocks(problem.region)
        cost = self.costs.of(answers.rows, answers.owners, region)
        cost = cost + (self.month_weight or 0.0) * region.months(answers.rows, answers.owners)
        return np.asarray(cost + LEVEL_PENALTY * answers.figures["typicality"])

    def with_free_clocks(self, region: Region) -> Region:
        """The region, with clocks free of cost where months have a weight of their own."""
        if self.month_weight is None or not region.schema.clocks:
            return region
        cost = region.cost.copy()
        cost[:, list(region.schema.clocks)] = 0.0
        return replace(region, cost=cost)

    def answers(self, problem: Problem) -> Answers:
        """The options of each person of a batch, within the months of its region, with typicality and p-value.

        With other models, a person gets answers that are valid under all of them or, if there are none, answers that
        are valid under the first.
        """
        problem = replace(problem, region=self.with_free_clocks(problem.region))
        holds_under = None
        if problem.others:
            found, holds_under = self._robust(problem)
        else:
            found = self._rated(*self._versions(problem), problem)
        sort_key = found.cost + LEVEL_PENALTY * found.typicality
        changed = problem.region.changed(found.rows, found.owners)
        chosen = different_changes(sort_key, found.owners, changed, problem.options)
        chosen = chosen[np.lexsort((sort_key[chosen], found.owners[chosen]))]
        owners = found.owners[chosen]
        level, p_value = found.typicality[chosen].astype(np.float64), np.round(found.p_value[chosen], 6)
        if not self.has_class_guard:
            level, p_value = np.full(len(chosen), float(Typicality.OUTSIDE)), np.full(len(chosen), np.nan)
        figures = {"typicality": level, "typicality_p": p_value}
        if holds_under is not None:
            figures["holds_under"] = holds_under[chosen]
        status = problem.statuses(owners, problem.out_of_budget(_reserve(problem)), Status.NO_CHANGE_FOUND)
        return Answers(found.rows[chosen], owners, sort_key[chosen], status, figures)

    def _robust(self, problem: Problem) -> tuple[RatedRows, np.ndarray]:
        """Answers valid under all models, or else under the first; and the share of the others each is valid under."""
        joint = JointGoal(problem.goal, problem.others)
        # half the budget is kept for rows without an answer that is valid under all models
        half = problem.ledger.subset(np.arange(len(problem)), problem.ledger.budget // 2)
        narrow = replace(problem, goal=joint, ledger=half)
        found = self._rated(*self._versions(narrow), narrow)
        rest = np.setdiff1d(np.arange(len(problem)), found.owners)
        if rest.size:
            wide = problem.subset(rest)
            more = self._rated(*self._versions(wide), wide)
            more = more._replace(owners=rest[more.owners])
            found = RatedRows(*(np.concatenate(pair) for pair in zip(found, more, strict=True)))
        return found, joint.share(found.rows) if len(found.rows) else np.empty(0)

    def walked_back(self, problem: Problem, rows: np.ndarray) -> np.ndarray:
        """Answers (n, d), one of each person of the problem, without changes that only the guard asks for."""
        rows, left = rows.copy(), np.arange(len(rows))
        while left.size:  # with one change gone, another that was needed before may not be
            before = rows[left]
            found, owners = self._versions(problem.subset(left), before)
            first = rank_within(owners) == 0
            rows[left[owners[first]]] = found[first]
            left = left[~np.asarray(unchanged(rows[left], before).all(axis=1))]
        return rows

    def _versions(self, problem: Problem, given: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """What the engine found to pass, (m, d), and its owner, (m,); for each owner, the cheapest first.

        Rows that break a law, as their owner does, come last. The engine starts from real rows. Where answers are
        `given`, one of each person, it only takes changes of these back; the guard then has no limits, while relations
        keep theirs.
        """
        score = problem.goal.compiled_score()
        # where the compiled score does not know a person's record, the model is asked
        scored = np.zeros(len(problem), dtype=bool) if score is None else ~np.isnan(score.leads(problem.region.start))
        no_rows = problem.region.factuals[:0]
        given_rows = [no_rows] * len(problem) if given is None else given[:, None]
        found, left = [no_rows] * len(problem), problem.rows_left(_reserve(problem))
        if scored.any():
            search = Search(self._engine_people(problem, score, given is not None))
            for i in positions(scored).tolist():
                if problem.ledger.deadline.passed:
                    break
                search.begin(i, int(left[i]), given_rows[i])
                search.run()
                problem.charge_scored(i, search.person.asked)
                found[i] = search.answers()
        # the engine counts surplus changes as excess, so final form must not refuse them
        unscored, unlimited = positions(~scored), replace(problem, region=_any_number_of_changes(problem.region))
        for start in range(0, len(unscored), _PEOPLE_PER_CALL):
            people = self._engine_people(problem, None, given is not None)
            searches = [Search(people) for _ in unscored[start : start + _PEOPLE_PER_CALL]]
            for search, i in zip(searches, unscored[start : start + _PEOPLE_PER_CALL].tolist(), strict=True):
                search.begin(i, int(left[i]), given_rows[i])
            waiting = searches
            while waiting:
                parts = [search.propose() for search in waiting]
                ends = np.cumsum([len(part) for part in parts])
                whose = np.repeat([search.person.owner for search in waiting], [len(part) for part in parts])
                tried = unlimited.ask(np.concatenate(parts), whose, reserve=_reserve(problem))
                met, scores = np.zeros(len(whose), dtype=bool), np.full(len(whose), problem.goal.lowest)
                met[tried.asked], scores[tried.asked] = tried.met, tried.score
                for search, part, end in zip(waiting, parts, ends, strict=True):
                    search.receive(met[end - len(part) : end].view(np.uint8), scores[end - len(part) : end])
                # a search that proposes nothing has ended
                waiting = [search for search, part in zip(waiting, parts, strict=True) if len(part)]
            for search in searches:
                found[search.person.owner] = search.answers()
        owners = np.repeat(np.arange(len(problem)), [len(rows) for rows in found])
        return np.concatenate([no_rows, *found]), owners

    def _limits(self, rate: float) -> list[float]:
        """The largest outlier factors and distance, and how far off its relations a row may be."""
        limits = self.guard.limits(rate)
        # the engine needs limits of 0 or more; 0 lets nothing but exact copies of real rows pass
        return [max(limit, 0.0) for limit in (*limits.factors, limits.distance, self.relations.limit(rate))]

    @cached_property
    def _limit_table(self) -> np.ndarray:
        """The limits after each relaxation, (rows, factors + 2); the last two columns are distance and relations.

        Where there are relations, the first row is tighter by them; the last row has no limits.
        """
        rates = np.geomspace(*self.rates, self.settings.relaxations)
        table = np.array([self._limits(rate) for rate in rates.tolist()])
        if len(self.relations):
            table = np.concatenate((table[:1], table))
            table[0, -1] *= self.settings.inside_relations
        return np.concatenate((table, np.full((1, table.shape[1]), np.inf)))

    @cached_property
    def _radius(self) -> float:
        """How far from its real row a start may be pulled towards the person."""
        usual = float(np.quantile(self.guard.own_distances, self.settings.radius_quantile))
        return self.settings.inside * min(float(self._limit_table[0, -2]), usual)

    @cached_property
    def _grids(self) -> dict[bool, tuple[np.ndarray, np.ndarray]]:
        """The values of each feature that are compared, by whether the model is compiled."""
        schema = self.costs.percentiles.schema
        most = {True: self.settings.grid_values, False: self.settings.asked_values}
        return {compiled: compared_values(schema, self.scale, number) for compiled, number in most.items()}

    def _engine_people(self, problem: Problem, score: Score | None, only_back: bool = False) -> People:
        """The batch as the engine takes it; with `only_back`, for taking changes back without the guard's limits."""
        region, schema, settings = problem.region, problem.region.schema, self.settings
        limits = self._limit_table.copy()
        if only_back:
            limits[:, :-1] = np.inf
        grid, n_values = self._grids[score is not None]
        movable = np.zeros(region.frozen.shape, dtype=bool)
        movable[:, schema.free_columns] = ~region.frozen[:, schema.free_columns]
        return People(
            settler=_any_number_of_changes(region).settler,
            price=self.costs.engine,
            guard=(*self.crowds, limits),
            score=score,
            relations=self.relations.engine,
            region={
                "own": region.factuals,
                "start": region.start,
                "weights": region.cost,
                "low": region.low,
                "high": region.high,
                "movable": movable.view(np.uint8),
                "most": region.max_changes.astype(np.intp),
            },
            columns={
                "free": np.asarray(schema.free_columns, dtype=np.intp),
                "grid": grid,
                "values": n_values,
                "ordered": np.array([feature.ordered for feature in schema]).view(np.uint8),
                "together": (self.relations.together & settings.families).view(np.uint8),
            },
            settings=settings.engine(
                radius=self._radius,
                effort=self.effort,
                options=problem.options,
                compiled=score is not None,
                only_back=only_back,
            ),
        )

    def _rated(self, rows: np.ndarray, owners: np.ndarray, problem: Problem) -> RatedRows:
        """The rows that the engine found, with their figures; of each owner the most typical first, then the cheapest.

        Where one option is wanted and the cheapest is typical, the others are left out.
        """
        cost = self.costs.of(rows, owners, problem.region)
        lawful = ~problem.region.breaks_law(rows, owners)
        p_value, own = np.full(len(rows), np.nan), problem.region.factuals[owners]
        least = p_value.copy()
        # these are measured in any case, and the others of an owner only if its cheapest is not typical
        measured = rank_within(owners) == 0 if problem.options == 1 else np.ones(len(rows), dtype=bool)
        p_value[measured], least[measured] = self._p_values(rows[measured], own[measured])
        done = marked(len(problem), owners[measured & lawful & (least > self.rates[0])])
        rest = ~measured & ~done[owners]
        p_value[rest], least[rest] = self._p_values(rows[rest], own[rest])
        # a record that breaks a law, because its row does, is not typical, however close to real rows it is
        typicality = np.maximum(np.sum([least <= rate for rate in self.rates], axis=0), ~lawful)
        order = np.lexsort((cost, typicality, owners))
        order = order[(measured | rest)[order]]
        return RatedRows(rows[order], owners[order], cost[order], typicality[order], p_value[order])

    def _p_values(self, rows: np.ndarray, own: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The p-values of rows by the guard, and the lesser of these and those by relations, (n,) each."""
        if not len(rows):
            return np.empty(0), np.empty(0)
        by_guard = self.guard.p_value(self.guard.score(rows))
        return by_guard, np.minimum(by_guard, self.relations.p_value(rows, own))


def _any_number_of_changes(region: Region) -> Region:
    """The region without `max_changes`."""
    return replace(region, max_changes=np.full(len(region), len(region.schema)))


def _reserve(problem: Problem) -> int:
    """How many rows per owner to keep budget for: one per option for the last check, and as many spare."""
    return 2 * problem.options


def _begins(parts: Sequence[Sized]) -> np.ndarray:
    """Where each part begins if all are put one after the other, and where the last one ends."""
    return np.cumsum([0, *map(len, parts)]).astype(np.intp)
