"""Candidates put to the rules, the guard and the model, in this order: the model is asked about as few as possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from attain.methods.guarded.objective import Objective
from attain.methods.guarded.surrogate import Surrogate
from attain.methods.guarded.vicinity import Vicinity
from attain.methods.search.pool import Pool, first_of_each, rank_within
from attain.methods.search.problem import Problem
from attain.population.guard import Density, Limits
from attain.population.space import MeasuringSpace

_NATS: Final = 10.0
"""So many nats of density count as much as an outlier factor e times its limit."""
_EXCESS: Final = 50.0
"""What being odd costs, per unit of excess: more than any change, so that a search first becomes usual, then easy."""


CELLS_AT_ONCE: Final = 8_000_000
"""The most cells of candidates in one array: 64 MB."""


def slices(number: int, cells: int, most: int) -> Iterator[slice]:
    """Consecutive parts of `number` items of so many cells each, such that no part has more cells than `most`."""
    size = max(most // max(cells, 1), 1)
    return (slice(start, min(start + size, number)) for start in range(0, number, size))


@dataclass(frozen=True)
class Points:
    """Rows that turn the decision, whose each is, what it costs, and by how much it exceeds the guard's limits."""

    rows: np.ndarray
    owners: np.ndarray
    cost: np.ndarray
    excess: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def merit(self) -> np.ndarray:
        """What the search makes smaller."""
        return self.cost + _EXCESS * self.excess

    def take(self, chosen: np.ndarray) -> Points:
        return Points(self.rows[chosen], self.owners[chosen], self.cost[chosen], self.excess[chosen])

    def join(self, other: Points) -> Points:
        return Points(
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.owners, other.owners)),
            np.concatenate((self.cost, other.cost)),
            np.concatenate((self.excess, other.excess)),
        )

    def best(self, number: int) -> Points:
        """The best rows of each person, different ones, grouped by person, best first."""
        distinct = first_of_each(self.rows, self.owners)
        order = distinct[np.lexsort((self.merit[distinct], self.owners[distinct]))]
        return self.take(order[rank_within(self.owners[order]) < number])


@dataclass
class Trials:
    """One batch of people: what has been tried for them, and the best of it.

    Attributes
    ----------
    limits, level
        What the guard asks for at each level, and at which level each person is.
    pool
        The cheapest rows of each person that keep the limits of the level they are at.
    """

    problem: Problem
    objective: Objective
    limits: list[Limits]
    reserve: int
    keep: int
    density: Density | None
    surrogate: Surrogate
    space: MeasuringSpace
    most: np.ndarray
    """How many features each person may change. The region asks for less: who changes more exceeds a limit, and may
    come down to it."""
    cells_at_once: int = CELLS_AT_ONCE
    vicinity: Vicinity | None = None
    level: np.ndarray = field(init=False)
    pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        self.level = np.zeros(len(self.problem), dtype=np.intp)
        self.pool = Pool(len(self.problem), len(self.problem.region.schema), self.keep)

    def turning(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows in final form turn the decision, keep the rules, and could be afforded."""
        turns = np.zeros(len(rows), dtype=bool)
        turns[self.problem.evaluate(rows, owners, reserve=self.reserve, in_final_form=True).hits] = True
        return turns

    def measured(self, rows: np.ndarray, owners: np.ndarray) -> Points:
        """Rows that turn the decision, with their cost and excess; those within limits go into the pool."""
        points = Points(rows, owners, self.objective.cost(rows, owners), self._excess(rows, owners))
        return self.settled(points)

    def _excess(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        assert self.vicinity is not None
        excess = self.vicinity.excess(rows, owners, self.limits, self.level[owners])
        return excess + self.too_many(rows, owners)

    def too_many(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """By how many changes each row exceeds what its person may change."""
        if (self.most >= rows.shape[1]).all():
            return np.zeros(len(rows))
        changes = self.problem.region.changed(rows, owners).sum(axis=1)
        return np.maximum(changes - self.most[owners], 0).astype(np.float64)

    def settled(self, points: Points) -> Points:
        """The points with what they lack in density added to their excess; those within all limits go into the pool."""
        if self.density is not None:
            least = np.array([limit.density for limit in self.limits])[self.level[points.owners]]
            asked = np.flatnonzero(np.isfinite(least))
            lacking = np.zeros(len(points))
            lacking[asked] = np.maximum(least[asked] - self.density(points.rows[asked]), 0.0) / _NATS
            points = replace(points, excess=points.excess + np.round(lacking, 9))
        usual = np.flatnonzero(points.excess <= 0)
        self.pool.add(points.rows[usual], points.owners[usual], points.cost[usual])
        return points

    def improving(self, rows: np.ndarray, walkers: np.ndarray, than: Points) -> tuple[Points, np.ndarray]:
        """Among changed versions of walkers those that are better and turn the decision, and whose version each is.

        Their density is not looked at yet.
        """
        region = self.problem.region
        owners = than.owners[walkers]
        rows = region.final_form(rows, owners)
        chosen = np.flatnonzero(region.admits(rows, owners))
        chosen = chosen[first_of_each(rows[chosen], walkers[chosen])]
        cost = self.objective.cost(rows[chosen], owners[chosen])
        # without an excess to lose, a version must be cheaper to be better
        hopeful = (cost < than.cost[walkers[chosen]]) | (than.excess[walkers[chosen]] > 0)
        hopeful &= self.surrogate.hopeful(self.space.transform(rows[chosen]))
        chosen, cost = chosen[hopeful], cost[hopeful]
        points = Points(rows[chosen], owners[chosen], cost, self._excess(rows[chosen], owners[chosen]))
        better = np.flatnonzero(points.merit < than.merit[walkers[chosen]])
        points, walkers = points.take(better), walkers[chosen[better]]
        hits = self.problem.evaluate(points.rows, points.owners, reserve=self.reserve, in_final_form=True).hits
        return points.take(hits), walkers[hits]
