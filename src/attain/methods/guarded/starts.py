"""Where the guarded search starts from: near real rows, and by hill-climbing where that finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attain.core.arrays import positions
from attain.core.compiled import kernels
from attain.methods.guarded.balls import BallSubproblems
from attain.methods.guarded.evaluator import CandidateEvaluator, slices
from attain.methods.guarded.local_guard import squared_distances
from attain.methods.guarded.single_changes import cheapest_changes, grid_of
from attain.methods.search.moves import Scale
from attain.methods.search.pool import rank_within

_FAR = 1e6
"""Larger than any distance, shift or score."""


@dataclass(frozen=True)
class Starts:
    """The starts of a batch of rows.

    `radius` is that of the balls around real rows; `accepted` (n, d) are all training rows that meet the goal.
    """

    evaluator: CandidateEvaluator
    scale: Scale
    radius: float
    accepted: np.ndarray

    def near_real_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows near real rows that flip the decision, and their owners.

        Owners without one go on to the next real rows, four times as many each time.
        """
        settings = self.evaluator.settings
        order, fixed_sq = self._ranked()
        every, part = np.arange(len(order)), slice(0, settings.n_balls)
        balls = self._balls(every, order[:, part], fixed_sq[:, part])
        parts = [self._searched(balls)]
        if not self.evaluator.surrogate.exact:
            few = np.bincount(parts[0][1], minlength=len(order)) < settings.enough_starts
            parts.append(self._transplants(balls.take(positions(few[balls.owners]))))
        while part.stop < order.shape[1]:
            short = np.setdiff1d(every, np.concatenate([owners for _, owners in parts]))
            if not short.size:
                break
            part = slice(part.stop, 4 * part.stop)
            balls = self._balls(short, order[short, part], fixed_sq[short, part])
            parts += [self._searched(balls), self._transplants(balls)]
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([owners for _, owners in parts])

    def _ranked(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of real rows, the most promising first, and the squared distances that cannot change, (rows, n).

        Real rows are ranked by distance and by shift; the better of their two ranks comes first, then the other.
        """
        region, crowd = self.evaluator.problem.region, self.evaluator.guard.crowd
        settings, percentiles = self.evaluator.settings, self.evaluator.objective.percentiles
        free, reach_sq = region.schema.free_columns, (settings.inside * self.radius) ** 2
        points, states, columns = crowd.space.points(region.factuals), len(crowd.space.stated), crowd.space.columns
        movable = np.ascontiguousarray(np.isin(columns, free) & ~region.frozen[:, columns])
        mine = (region.factuals, percentiles.interpolated(region.factuals))
        theirs = (crowd.values, crowd.ranks(percentiles))
        cells = [np.ascontiguousarray(part[:, free]) for part in (*mine, *theirs, region.cost)]
        shape = (len(region), min(settings.nearest, len(crowd)))
        compiled = kernels("attain.methods.guarded.start_kernels")
        if compiled is not None:
            order, fixed_sq = np.empty(shape, dtype=np.intp), np.empty(shape)
            compiled.ranked(points, states, movable, crowd.columns, reach_sq, _FAR, *cells, order, fixed_sq)
            return order, fixed_sq
        fixed_sq = squared_distances(points, crowd.points, states, ~movable)
        whole = fixed_sq + squared_distances(points, crowd.points, states, movable)
        whole += _FAR * (fixed_sq > reach_sq)
        near = _smallest(whole, shape[1])
        far, shift = np.take_along_axis(whole, near, axis=1), np.zeros(shape)
        for own, own_ranks, real, ranks, cost in zip(*(part.T for part in cells), strict=True):
            apart = np.abs(ranks[near] - own_ranks[:, None])
            same = (real[near] == own[:, None]) | (np.isnan(real)[near] & np.isnan(own)[:, None])
            shift += cost[:, None] * np.where(same, 0.0, np.where(np.isnan(apart), 1.0, apart))
        shift += np.where(far >= _FAR, _FAR, 0.0)
        by_distance, by_shift = _ranks(far), _ranks(shift)
        key = np.minimum(by_distance, by_shift) * shape[1] + np.maximum(by_distance, by_shift)
        order = np.take_along_axis(near, np.argsort(key, axis=1, kind="stable"), axis=1)
        return order, np.take_along_axis(fixed_sq, order, axis=1)

    def _balls(self, rows: np.ndarray, centres: np.ndarray, fixed_sq: np.ndarray) -> BallSubproblems:
        """The balls of some rows (m,) around real rows (m, n), whose squared distances that cannot change are given."""
        evaluator = self.evaluator
        return BallSubproblems.of(
            evaluator.objective,
            evaluator.guard.crowd,
            evaluator.surrogate,
            np.repeat(rows, centres.shape[1]),
            centres.ravel(),
            fixed_sq.ravel(),
            evaluator.settings.inside * self.radius,
            evaluator.settings,
        )

    def _searched(self, balls: BallSubproblems) -> tuple[np.ndarray, np.ndarray]:
        """Answers in the most promising balls: the least ν that flips the decision, by asking the model."""
        settings, flips = self.evaluator.settings, self.evaluator.flips
        order = np.lexsort((balls.estimated_cost(self.evaluator.surrogate.threshold), balls.owners))
        chosen = order[rank_within(balls.owners[order]) < settings.n_searched]
        balls = balls.take(np.tile(chosen, len(settings.radii)))
        slack_sq = balls.slack_sq * np.repeat(settings.radii, len(chosen)) ** 2
        low, high = (np.full(len(balls), end) for end in settings.score_weights)
        rows = self._rows(balls, high, slack_sq)
        flipped = flips(rows, balls.owners)
        active = positions(flipped)
        for _ in range(settings.score_weight_halvings):
            middle = np.sqrt(low[active] * high[active])
            tried = self._rows(balls.take(active), middle, slack_sq[active])
            good = flips(tried, balls.owners[active])
            rows[active[good]], high[active[good]] = tried[good], middle[good]
            low[active[~good]] = middle[~good]
        return rows[flipped], balls.owners[flipped]

    def _rows(self, balls: BallSubproblems, score_weight: np.ndarray, slack_sq: np.ndarray) -> np.ndarray:
        return balls.rows(*balls.cheapest(score_weight, slack_sq))

    def _transplants(self, balls: BallSubproblems) -> tuple[np.ndarray, np.ndarray]:
        """Real rows' cells, where these flip the decision, and points from there towards the cheapest of the ball."""
        evaluator, region = self.evaluator, self.evaluator.problem.region
        whole = balls.transplants
        flipped = positions(evaluator.flips(whole, balls.owners))
        cost = evaluator.objective.cost(whole[flipped], balls.owners[flipped])
        order = flipped[np.lexsort((cost, balls.owners[flipped]))]
        every = whole[order], balls.owners[order]
        chosen = order[rank_within(balls.owners[order]) < evaluator.settings.n_searched]
        balls, whole = balls.take(chosen), whole[chosen]
        rows, aim = whole.copy(), self._rows(balls, np.full(len(chosen), 1.0), balls.slack_sq)
        low, high = np.zeros(len(chosen)), np.ones(len(chosen))
        ordered = np.array([feature.ordered for feature in region.schema])
        for _ in range(evaluator.settings.score_weight_halvings):
            share = (low + high) / 2
            between = np.where(ordered, whole + (aim - whole) * share[:, None], aim)
            between = region.final_form(between, balls.owners)
            good = evaluator.flips(between, balls.owners)
            rows[good], low = between[good], np.where(good, share, low)
            high = np.where(good, high, share)
        return np.concatenate((rows, every[0])), np.concatenate((balls.owners, every[1]))

    def single_changes(self) -> tuple[np.ndarray, np.ndarray]:
        """Changes of one feature that may flip the decision, and their owners.

        Where the model is compiled, these are each feature's cheapest; elsewhere the cheapest of all on a coarser grid.
        """
        evaluator, region = self.evaluator, self.evaluator.problem.region
        if evaluator.single_changes is not None:
            every = np.arange(len(region))
            rows, owners = evaluator.single_changes.of(region.factuals, every, np.full(len(region), np.inf))
        else:
            grid = grid_of(region.schema, self.scale, evaluator.settings.climb_values)
            rows, owners = cheapest_changes(evaluator.objective, grid, evaluator.settings.singles_asked)
        return region.final_form(rows, owners), owners

    def several_changes(self) -> tuple[np.ndarray, np.ndarray]:
        """Changes of a few features that may flip the decision, where the model is compiled, and their owners.

        They gain most for what they cost, one after the other; the last is the cheapest that flips the decision.
        """
        evaluator, region, settings = self.evaluator, self.evaluator.problem.region, self.evaluator.settings
        rows, every, changes = region.factuals, np.arange(len(region)), evaluator.single_changes
        number, versions = settings.several_changes
        parts = [(rows[:0], every[:0])]
        for _ in range(number):
            if changes is not None:
                rows = changes.steepest(rows, every)
                some, owners = changes.of(rows, every, np.full(len(rows), np.inf), versions)
                parts.append((region.final_form(some, owners), owners))
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([owners for _, owners in parts])

    def drawn(self, draw: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The cheapest draws of a density for each row, given its immutable features, and their owners."""
        evaluator, region = self.evaluator, self.evaluator.problem.region
        drawn, free = draw(region.factuals), region.schema.free_columns
        owners = np.repeat(np.arange(len(region)), len(drawn) // max(len(region), 1))
        rows = region.factuals[owners]
        rows[:, free] = drawn[:, free]
        rows = region.final_form(rows, owners)
        able = positions(evaluator.surrogate.may_meet_goal(evaluator.guard.reference.space.points(rows)))
        rows, owners = rows[able], owners[able]
        order = np.lexsort((evaluator.objective.cost(rows, owners), owners))
        order = order[rank_within(owners[order]) < evaluator.settings.n_drawn]
        return rows[order], owners[order]

    def climb(self, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows that flip the decision, for rows without any start: the score is climbed cell by cell.

        It begins with the row itself, and with the real rows' cells for which the score is largest.
        """
        evaluator = self.evaluator
        if not len(owners):
            return evaluator.problem.region.factuals[owners], owners
        rows, owners = self._beginnings(owners)
        score, done = np.full(len(rows), -np.inf), np.zeros(len(rows), dtype=bool)
        cells = sum(len(self._values[j]) for j in evaluator.problem.region.schema.free_columns) * rows.shape[1]
        for _ in range(evaluator.settings.climb_rounds):
            active = positions(~done)
            done[active] = True
            for part in slices(len(active), cells, evaluator.settings.cells_at_once):
                some = active[part]
                versions, of = self._versions(rows[some])
                tried = evaluator.problem.evaluate(versions, owners[some[of]], reserve=evaluator.reserve)
                versions, of = tried.rows[tried.asked], of[tried.asked]
                reached = np.round(tried.score, 9) + _FAR * tried.met
                order = np.lexsort((-reached, of))
                first = order[rank_within(of[order]) == 0]
                first = first[reached[first] > score[some[of[first]]]]
                chosen = some[of[first]]
                rows[chosen], score[chosen], done[chosen] = versions[first], reached[first], tried.met[first]
        won = score > _FAR / 2
        return rows[won], owners[won]

    def _beginnings(self, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows themselves, and those with all that may change taken from real rows, of the largest scores."""
        evaluator, region = self.evaluator, self.evaluator.problem.region
        real, free = self.accepted, region.schema.free_columns
        real = real[np.linspace(0, len(real) - 1, min(len(real), evaluator.settings.climb_rows)).astype(np.intp)]
        best = [(region.factuals[owners], owners)]
        for part in slices(len(owners) if len(real) else 0, real.size, evaluator.settings.cells_at_once):
            some = np.repeat(owners[part], len(real))
            rows = region.factuals[some]
            rows[:, free] = np.tile(real[:, free], (len(owners[part]), 1))
            tried = evaluator.problem.evaluate(rows, some, reserve=evaluator.reserve)
            rows, some, score = tried.rows[tried.asked], some[tried.asked], np.round(tried.score, 9)
            order = np.lexsort((-score, some))
            order = order[rank_within(some[order]) < evaluator.settings.enough_starts // 2]
            best.append((rows[order], some[order]))
        return np.concatenate([rows for rows, _ in best]), np.concatenate([some for _, some in best])

    @cached_property
    def _values(self) -> list[np.ndarray]:
        """The values tried in each column: all levels, or some that training rows have."""
        values = []
        for feature, pool in zip(self.evaluator.problem.region.schema, self.scale.pools, strict=True):
            at = np.linspace(0, max(len(pool) - 1, 0), self.evaluator.settings.climb_values).astype(np.intp)
            observed = np.unique(pool[at]) if len(pool) else pool
            values.append(np.arange(len(feature.levels)) if feature.levels else observed)
        return values

    def _versions(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Versions of rows with one cell changed, and whose version each is."""
        versions, of = [], []
        for j in self.evaluator.problem.region.schema.free_columns:
            values = self._values[j]
            changed = np.repeat(rows, len(values), axis=0)
            changed[:, j] = np.tile(values, len(rows))
            versions.append(changed)
            of.append(np.repeat(np.arange(len(rows)), len(values)))
        return np.concatenate(versions), np.concatenate(of)


def _smallest(values: np.ndarray, n: int) -> np.ndarray:
    """The positions of the n smallest of each row, in order of position; of equal ones, the first."""
    last = np.partition(values, n - 1, axis=1)[:, [n - 1]]
    below, tied = values < last, values == last
    taken = below | (tied & (tied.cumsum(axis=1) <= n - below.sum(axis=1, keepdims=True)))
    return np.nonzero(taken)[1].reshape(len(values), n)


def _ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value in its row."""
    ranks = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(ranks, np.argsort(values, axis=1, kind="stable"), np.arange(values.shape[1])[None, :], axis=1)
    return ranks
