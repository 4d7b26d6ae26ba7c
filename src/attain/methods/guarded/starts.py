"""Where the guarded search starts from: near real people, and by a climb where that will not do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from attain.methods.guarded.balls import Balls, Coordinates
from attain.methods.guarded.surrogate import Surrogate
from attain.methods.guarded.trials import Trials, slices
from attain.methods.guarded.vicinity import squared_distances
from attain.methods.search.moves import Scale, fewest_changes
from attain.methods.search.pool import rank_within
from attain.population.guard import Guard
from attain.population.percentiles import Percentiles

_NEAREST: Final = 512
_BALLS: Final = 48
"""Real people looked at for each person: by distance, and of these the nearest by distance and by percentiles."""
_SEARCHED: Final = 12
"""In so many of their balls the model is asked."""
_RADII: Final = (1.0, 0.75)
_INSIDE: Final = 0.97
"""Balls are searched a little inside the guard's limit: final form moves a point."""
_PULL: Final = (0.025, 10.0)
_HALVINGS: Final = 5
_FAR: Final = 1e6
_ENOUGH: Final = 6
"""With so many starts a person needs no more real people."""
_VALUES: Final = 12
_CLIMBS: Final = 10
"""Values tried for each feature, and rounds, of a climb."""
_CLIMBED: Final = 256
"""So many real people are tried as its beginning."""


@dataclass(frozen=True)
class Starts:
    """The starts of a batch of people."""

    trials: Trials
    guard: Guard
    surrogate: Surrogate
    coordinates: Coordinates
    percentiles: Percentiles
    scale: Scale
    radius: float

    def real_people(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows near real people that turn the decision, and whose they are."""
        order, fixed = self._ranked()
        people = np.arange(len(order))
        balls = self._balls(people, order[:, :_BALLS], fixed)
        parts = [self._searched(balls)]
        number = np.bincount(parts[0][1], minlength=len(order))
        if not self.surrogate.exact:
            parts.append(self._grafts(balls, number))
        start, stop = _BALLS, 4 * _BALLS
        while start < order.shape[1]:
            number = np.bincount(np.concatenate([owners for _, owners in parts]), minlength=len(order))
            short = np.flatnonzero(number == 0)
            if not short.size:
                break
            more = self._balls(short, order[short, start:stop], fixed)
            parts.append(self._searched(more))
            parts.append(self._grafts(more, np.zeros(len(order), dtype=np.intp)))
            start, stop = stop, 4 * stop
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([owners for _, owners in parts])

    def _ranked(self) -> tuple[np.ndarray, np.ndarray]:
        """For each person real people, the most promising first, and the squared distances nothing can change."""
        region, people = self.trials.problem.region, self.guard.crowd
        space = people.space
        points = space.transform(region.factuals)
        movable = np.zeros((len(region), len(self.coordinates.owner)), dtype=bool)
        for j in region.schema.free_columns:
            movable[:, self.coordinates.of[j]] = ~region.frozen[:, [j]]
        fixed = squared_distances(points, people.points, (~movable).astype(np.float64))
        whole = fixed + squared_distances(points, people.points, movable.astype(np.float64))
        whole += _FAR * (fixed > (_INSIDE * self.radius) ** 2)
        number = min(_NEAREST, len(people))
        near = np.argpartition(whole, number - 1, axis=1)[:, :number] if number < len(people) else None
        near = np.sort(near, axis=1) if near is not None else np.tile(np.arange(len(people)), (len(region), 1))
        far = np.take_along_axis(whole, near, axis=1)
        shift = np.zeros(near.shape)
        for j in region.schema.free_columns:
            own, theirs = region.factuals[:, j], people.values[:, j]
            standing = self.percentiles.interpolated(own[:, None], [j])[:, 0]
            apart = np.abs(self.percentiles.interpolated(theirs[:, None], [j])[:, 0][near] - standing[:, None])
            same = (theirs[near] == own[:, None]) | (np.isnan(theirs)[near] & np.isnan(own)[:, None])
            shift += region.cost[:, [j]] * np.where(same, 0.0, np.where(np.isnan(apart), 1.0, apart))
        shift += np.where(far >= _FAR, _FAR, 0.0)
        by_distance, by_shift = _ranks(far), _ranks(shift)
        key = np.minimum(by_distance, by_shift) * number + np.maximum(by_distance, by_shift)
        order = np.take_along_axis(near, np.argsort(key, axis=1, kind="stable"), axis=1)
        return order, fixed

    def _balls(self, people: np.ndarray, centres: np.ndarray, fixed: np.ndarray) -> Balls:
        owners, whom = np.repeat(people, centres.shape[1]), centres.ravel()
        return Balls.of(
            self.trials.objective, self.guard.crowd, self.surrogate, self.coordinates,
            owners, whom, fixed[owners, whom], _INSIDE * self.radius,
        )  # fmt: skip

    def _searched(self, balls: Balls) -> tuple[np.ndarray, np.ndarray]:
        """Answers in the most promising balls: the least ν that turns the decision, by asking the model."""
        promise = balls.promise(self.surrogate)
        order = np.lexsort((promise, balls.people))
        balls = balls.subset(order[rank_within(balls.people[order]) < _SEARCHED])
        found, owners = [], []
        for radius in _RADII:
            room = balls.room * radius**2
            low, high = (np.full(len(balls.people), end) for end in _PULL)
            rows = self._rows(balls, high, room)
            turned = self.trials.turning(rows, balls.people)
            active = np.flatnonzero(turned)
            for _ in range(_HALVINGS):
                middle = np.sqrt(low[active] * high[active])
                tried = self._rows(balls.subset(active), middle, room[active])
                turns = self.trials.turning(tried, balls.people[active])
                rows[active[turns]], high[active[turns]] = tried[turns], middle[turns]
                low[active[~turns]] = middle[~turns]
            found.append(rows[turned])
            owners.append(balls.people[turned])
        return np.concatenate(found), np.concatenate(owners)

    def _rows(self, balls: Balls, pull: np.ndarray, room: np.ndarray) -> np.ndarray:
        rows = balls.rows(*balls.cheapest(pull, room))
        region = self.trials.problem.region
        return region.final_form(fewest_changes(rows, balls.people, region, self.scale), balls.people)

    def _grafts(self, balls: Balls, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What real people have, where that turns the decision, and points from there towards the ball's cheapest."""
        region = self.trials.problem.region
        few = np.flatnonzero(number[balls.people] < _ENOUGH)
        balls = balls.subset(few)
        owners = balls.people
        grafts = region.final_form(fewest_changes(balls.grafts.copy(), balls.people, region, self.scale), balls.people)
        turned = np.flatnonzero(self.trials.turning(grafts, balls.people))
        order = turned[
            np.lexsort((self.trials.objective.cost(grafts[turned], balls.people[turned]), balls.people[turned]))
        ]
        chosen = order[rank_within(balls.people[order]) < _SEARCHED]
        balls, rows = balls.subset(chosen), grafts[chosen]
        aim = self._rows(balls, np.full(len(chosen), 1.0), balls.room)
        low, high = np.zeros(len(chosen)), np.ones(len(chosen))
        ordered = np.array([feature.ordered for feature in region.schema])
        for _ in range(_HALVINGS):
            share = (low + high) / 2
            between = np.where(ordered, grafts[chosen] + (aim - grafts[chosen]) * share[:, None], aim)
            between = region.final_form(between, balls.people)
            turns = self.trials.turning(between, balls.people)
            rows[turns], low = between[turns], np.where(turns, share, low)
            high = np.where(turns, high, share)
        return np.concatenate((rows, grafts[order])), np.concatenate((balls.people, owners[order]))

    def climb(self, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows that turn the decision for people near whom nobody real has one: the score climbed, cell by cell.

        It starts from what some real people have, those with whose cells the score comes closest, and from the person.
        """
        problem = self.trials.problem
        rows, owners = self._closest(people)
        score = np.full(len(rows), -np.inf)
        done = np.zeros(len(rows), dtype=bool)
        for _ in range(_CLIMBS):
            active = np.flatnonzero(~done)
            if not active.size:
                break
            done[active] = True
            for part in slices(len(active), self._values * rows.shape[1], self.trials.cells_at_once):
                some = active[part]
                versions, whose = self._cells(rows[some])
                tried = problem.evaluate(versions, owners[some[whose]], reserve=self.trials.reserve)
                whose, versions, met = whose[tried.asked], tried.rows[tried.asked], tried.met
                reached = np.round(tried.score, 9) + _FAR * met
                order = np.lexsort((-reached, whose))
                first = order[rank_within(whose[order]) == 0]
                first = first[reached[first] > score[some[whose[first]]]]
                chosen = some[whose[first]]
                rows[chosen], score[chosen], done[chosen] = versions[first], reached[first], met[first]
        won = score > _FAR / 2
        return rows[won], owners[won]

    def _closest(self, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The people's rows, and those with all that may change taken from real people, of the best scores."""
        problem, region = self.trials.problem, self.trials.problem.region
        real = self.guard.crowd.values
        real = real[np.linspace(0, len(real) - 1, min(len(real), _CLIMBED)).astype(np.intp)]
        best = [(region.factuals[people], people)]
        for part in slices(len(people), real.size, self.trials.cells_at_once):
            owners = np.repeat(people[part], len(real))
            rows = region.factuals[owners]
            free = region.schema.free_columns
            rows[:, free] = np.tile(real[:, free], (len(people[part]), 1))
            tried = problem.evaluate(rows, owners, reserve=self.trials.reserve)
            rows, owners, score = tried.rows[tried.asked], owners[tried.asked], np.round(tried.score, 9)
            order = np.lexsort((-score, owners))
            order = order[rank_within(owners[order]) < _ENOUGH // 2]
            best.append((rows[order], owners[order]))
        return np.concatenate([rows for rows, _ in best]), np.concatenate([owners for _, owners in best])

    @cached_property
    def _known(self) -> list[np.ndarray]:
        """The values tried in each column: all levels, or some that real rows have."""
        known = []
        for feature, pool in zip(self.trials.problem.region.schema, self.scale.pools, strict=True):
            some = pool[np.linspace(0, len(pool) - 1, _VALUES).astype(np.intp)] if len(pool) else np.empty(0)
            known.append(np.arange(len(feature.levels)) if feature.levels else np.unique(some))
        return known

    @property
    def _values(self) -> int:
        return max(sum(len(self._known[j]) for j in self.trials.problem.region.schema.free_columns), 1)

    def _cells(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Versions of rows with one cell changed, over values that real rows have."""
        region = self.trials.problem.region
        versions, whose = [], []
        for j in region.schema.free_columns:
            known = self._known[j]
            changed = np.repeat(rows, len(known), axis=0)
            changed[:, j] = np.tile(known, len(rows))
            versions.append(changed)
            whose.append(np.repeat(np.arange(len(rows)), len(known)))
        return np.concatenate(versions), np.concatenate(whose)


def _ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value in its row."""
    ranks = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(ranks, np.argsort(values, axis=1, kind="stable"), np.arange(values.shape[1])[None, :], axis=1)
    return ranks
