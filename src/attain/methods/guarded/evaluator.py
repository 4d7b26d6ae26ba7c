"""Candidates put to the rules, the guard and the model, in this order: the model is asked about as few as possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from attain.core.arrays import positions
from attain.methods.guarded.local_guard import LocalGuard
from attain.methods.guarded.objective import Objective
from attain.methods.guarded.settings import GuardedSettings
from attain.methods.guarded.single_changes import SingleChanges
from attain.methods.guarded.surrogate import Surrogate
from attain.methods.search.pool import Pool, first_of_each, rank_within
from attain.methods.search.problem import Problem
from attain.models.structure.sweeps import LinearSweep
from attain.population.guard import Guard, Limits
from attain.population.space import MeasuringSpace

_UNLAWFUL = 1e3
"""Added to the cost where the pool is sorted: candidates that break a law, as their owner does, come last."""


def slices(n: int, cells: int, most: int) -> Iterator[slice]:
    """Consecutive parts of n items of `cells` cells each, such that no part of several items has more than `most`."""
    size = max(most // max(cells, 1), 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


@dataclass(frozen=True)
class Candidates:
    """Rows that flip the decision.

    Attributes
    ----------
    rows, owners
        The candidates (n, d), and which row of the batch each is for, (n,).
    cost, excess
        The cost of each, and by how much it exceeds the guard's limits, (n,).
    merit
        What the local search makes smaller, (n,).
    """

    rows: np.ndarray
    owners: np.ndarray
    cost: np.ndarray
    excess: np.ndarray
    excess_weight: float

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def merit(self) -> np.ndarray:
        return self.cost + self.excess_weight * self.excess

    def take(self, chosen: np.ndarray) -> Candidates:
        """Some of the candidates."""
        return Candidates(
            self.rows[chosen], self.owners[chosen], self.cost[chosen], self.excess[chosen], self.excess_weight
        )

    def join(self, *others: Candidates) -> Candidates:
        """These candidates and others."""
        parts = (self, *others)
        return Candidates(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.owners for part in parts]),
            np.concatenate([part.cost for part in parts]),
            np.concatenate([part.excess for part in parts]),
            self.excess_weight,
        )

    def best(self, n: int, first: np.ndarray | None = None) -> Candidates:
        """The n best different candidates of each owner, grouped by owner, best first; those at `first` before others.

        Of equal ones, `first` has the earliest.
        """
        later = np.ones(len(self), dtype=bool)
        if first is not None:
            later[first] = False
        distinct = first_of_each(self.rows, self.owners)
        order = distinct[np.lexsort((self.merit[distinct], later[distinct], self.owners[distinct]))]
        return self.take(order[rank_within(self.owners[order]) < n])


@dataclass
class CandidateEvaluator:
    """Evaluates candidates of one batch of rows, and keeps the best.

    Attributes
    ----------
    problem
        The batch; its region allows any number of changes.
    max_changes
        How many features each row may change, (rows,). More is an excess, which a candidate may lose again.
    limits
        The guard's limits after each relaxation.
    relaxation
        The relaxation that each row is at, (rows,): a position in `limits`.
    pool
        The cheapest candidates of each row within the limits of its relaxation, those that break no law first.
    """

    problem: Problem
    objective: Objective
    guard: Guard
    surrogate: Surrogate
    limits: list[Limits]
    max_changes: np.ndarray
    settings: GuardedSettings
    single_changes: SingleChanges | None = None
    local_guard: LocalGuard | None = None
    relaxation: np.ndarray = field(init=False)
    pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        self.relaxation = np.zeros(len(self.problem), dtype=np.intp)
        keep = self.settings.n_kept * max(self.problem.options, 3)  # one option is the first of three
        self.pool = Pool(len(self.problem), len(self.problem.region.schema), keep)

    @cached_property
    def ordered(self) -> np.ndarray:
        """Which columns are ordered, (d,)."""
        return np.array([feature.ordered for feature in self.problem.region.schema])

    @property
    def reserve(self) -> int:
        """The part of each row's budget that is kept back."""
        return 2 * self.problem.options

    def flips(self, rows: np.ndarray, owners: np.ndarray, *, admitted: bool = False) -> np.ndarray:
        """Which rows in final form flip the decision, keep the rules, and could be afforded, (n,).

        `admitted` says that they keep the rules.
        """
        flips = np.zeros(len(rows), dtype=bool)
        if not len(rows):
            return flips
        if admitted:
            asked = positions(self.problem.affordable(owners, self.reserve))
            flips[asked] = self.problem.meets(rows[asked], owners[asked])
        else:
            flips[self.problem.evaluate(rows, owners, reserve=self.reserve, in_final_form=True).hits] = True
        return flips

    def measure(self, rows: np.ndarray, owners: np.ndarray) -> Candidates:
        """Rows that flip the decision as candidates; those within limits go into the pool."""
        points, cost = self._space.points(rows), self.objective.cost(rows, owners)
        return self.with_density_penalty(self._candidates(rows, owners, points, cost))

    def _candidates(
        self,
        rows: np.ndarray,
        owners: np.ndarray,
        points: np.ndarray,
        cost: np.ndarray,
        than: np.ndarray | None = None,
    ) -> Candidates:
        """Candidates by their points and costs; if their merit is larger than `than` (n,), it may be any larger."""
        assert self.local_guard is not None
        weight = self.settings.excess_weight
        most = None if than is None else (than - cost) / weight
        excess = self.local_guard.excess(points, owners, self.limits, self.relaxation[owners], most)
        return Candidates(rows, owners, cost, excess + self.too_many(rows, owners), weight)

    @property
    def _space(self) -> MeasuringSpace:
        return self.guard.reference.space

    def too_many(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """By how many changes each row exceeds what its owner may change, (n,)."""
        if (self.max_changes >= rows.shape[1]).all():
            return np.zeros(len(rows))
        changes = self.problem.region.changed(rows, owners).sum(axis=1)
        return np.maximum(changes - self.max_changes[owners], 0).astype(np.float64)

    def with_density_penalty(self, found: Candidates) -> Candidates:
        """Candidates with their lack of density added to the excess; those within all limits go into the pool."""
        if self.guard.density is not None:
            least = np.array([limit.density for limit in self.limits])[self.relaxation[found.owners]]
            some = positions(np.isfinite(least))
            lacking = np.zeros(len(found))
            lacking[some] = np.maximum(least[some] - self.guard.density(found.rows[some]), 0.0)
            found = replace(found, excess=found.excess + np.round(lacking / self.settings.density_scale, 9))
        within = positions(found.excess <= 0)
        rows, owners = found.rows[within], found.owners[within]
        unlawful = self.problem.region.breaks_law(rows, owners)
        self.pool.add(rows, owners, found.cost[within] + _UNLAWFUL * unlawful)
        return found

    def improvements(
        self, rows: np.ndarray, parents: np.ndarray, than: Candidates, guides: np.ndarray | None = None
    ) -> tuple[Candidates, np.ndarray]:
        """Among versions of candidates those that are better and flip the decision, and whose version each is.

        `parents` (n,) are positions in `than`; `guides` as in `Region.final_form`. Densities are not computed yet.
        """
        region = self.problem.region
        if not len(rows):
            return than.take(parents), parents
        distinct = first_of_each(rows, parents)  # many versions are equal before they are put into final form
        rows, parents = rows[distinct], parents[distinct]
        owners = than.owners[parents]
        rows, admitted = region.settled(rows, owners, None if guides is None else guides[distinct])
        chosen = positions(admitted)
        chosen = chosen[first_of_each(rows[chosen], parents[chosen])]
        cost, than_merit = self.objective.cost(rows[chosen], owners[chosen]), than.merit[parents[chosen]]
        # bounds before distances: an excess only adds to the cost
        worth = positions(cost < than_merit)
        chosen, cost, than_merit = chosen[worth], cost[worth], than_merit[worth]
        versions, better = self._better(rows[chosen], owners[chosen], cost, than_merit)
        flips = positions(self.flips(versions.rows, versions.owners, admitted=True))
        return versions.take(flips), parents[chosen[better[flips]]]

    def _better(
        self, rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, than: np.ndarray
    ) -> tuple[Candidates, np.ndarray]:
        """The rows that may flip the decision with a merit below `than` (n,), as candidates, and their positions.

        In a space of many levels, some at a time, and only while there is time.
        """
        parts = list(slices(len(rows), len(self._space.columns), self.settings.cells_at_once))
        if len(parts) > 1:
            found: list[tuple[Candidates, np.ndarray]] = []
            for part in parts:
                if found and self.problem.ledger.late.all():
                    break
                versions, better = self._better(rows[part], owners[part], cost[part], than[part])
                found.append((versions, part.start + better))
            return found[0][0].join(*(versions for versions, _ in found[1:])), np.concatenate([at for _, at in found])
        points = self._space.points(rows)
        able = positions(self._may_flip(rows, points))
        versions = self._candidates(rows[able], owners[able], points[able], cost[able], than[able])
        better = positions(versions.merit < than[able])
        return versions.take(better), able[better]

    def _may_flip(self, rows: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Which rows may flip the decision, (n,): by a linear model itself where it is compiled, else by the surrogate.

        Of what trees decide, the surrogate knows less than they take to be asked.
        """
        if self.single_changes is None:
            return self.surrogate.may_meet_goal(points)
        sweep = self.single_changes.sweep
        if not isinstance(sweep.along, LinearSweep):
            return np.ones(len(rows), dtype=bool)
        sums = sweep.along.sums(rows)
        return np.isnan(sums) | sweep.meets(sums)
