"""Feature tweaking (Tolomei et al. 2017): the cheapest way into a leaf that flips a tree ensemble's decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.core.arrays import rank_within
from attain.methods.base import Explainer, integer, number
from attain.models.reader import Reader
from attain.models.trees import Ensemble, read_ensemble
from attain.population.population import DecidedPopulation, Scale
from attain.results.status import Status
from attain.schema import Feature
from attain.search.moves import SWITCH, Moves
from attain.search.pool import diverse
from attain.search.problem import Answers, Problem, ranked_hits, ranks_between, sparse
from attain.tables import Region, ordinary

_CELLS_AT_ONCE = 4_000_000
_BLOCK = 64
"""Tweaks tried first, the cheapest ones; more follow where none of them flips the decision."""
_BOOSTED_TWEAKS = 25
_LEAST_RATE = 1e-9


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureTweaking(Explainer):
    """The cheapest tweak that leads into a leaf of the desired class and flips the decision of the whole ensemble.

    Takes tree ensembles: decision trees, random forests and extra trees of scikit-learn, as published; and boosted ones
    (GradientBoosting and HistGradientBoosting of scikit-learn, XGBoost, LightGBM). All may stand last in a pipeline
    whose other steps scale, impute or encode single columns: thresholds are then in the table's own units. What cannot
    be read, or does not predict on training rows what the model predicts, is refused.

    For every tree that does not decide for the target, and every leaf of it that does, the record is changed just so
    far that it gets there: ε standard deviations beyond a threshold, or to the middle of an interval narrower than
    twice that. In a boosted ensemble a leaf qualifies when it adds more to the target than the leaf the row is in.
    Every tweak is verified with the whole ensemble, the cheapest first; the cheapest hit is the answer. Its cost is the
    Euclidean distance in standard deviations, in which another level counts √2.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions and missing cells, by leaving
    out paths that need what is forbidden; levels stay levels, as conditions on indicators are read as conditions on the
    level. Paths that need another value of a derived column are left out. Rules between features: by repair where that
    is easy, else by rejection. `max_changes`: by rejection.

    Departures from the publication: the conditions of a path are intersected first (it takes them one by one); values
    are put on their grid, outward past the threshold, before they are verified; where a single tweak of a boosted
    ensemble is not enough, several are combined greedily (`tweaks`), for which the publication has no counterpart.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    epsilon
        How far beyond a threshold a value goes, in standard deviations of the training data.
    tweaks
        How many tweaks may be combined. By default one for trees and forests, as published, and 25 for boosted ones.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        Not used: the method is deterministic.

    References
    ----------
    G. Tolomei, F. Silvestri, A. Haines, M. Lalmas: Interpretable Predictions of Tree-based Ensembles via Actionable
    Feature Tweaking, KDD 2017.
    """

    citation = "tolomei2017interpretable"

    epsilon: float = number(0.1, above=0)
    tweaks: int | None = integer(None, least=1)

    def inspect(self, decided: DecidedPopulation) -> Paths:
        ensemble = read_ensemble(decided.goal, decided.population.values)
        return Paths(ensemble, decided.goal.reader, decided.population.scale, self.epsilon)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return max(_CELLS_AT_ONCE // max(len(inspected.low), 1), 1)

    def search(self, problem: Problem) -> Answers:
        search = _Tweaks(self, problem, problem.inspected)
        rows, owners, status = search.single()
        most = self.tweaks or (1 if search.votes else _BOOSTED_TWEAKS)
        if most > 1:
            combined, whose = search.combined(most, status)
            rows, owners = np.concatenate((rows, combined)), np.concatenate((owners, whose))
        rows, owners, cost = diverse(
            rows, owners, search.moves.distances(rows, owners), problem.region, problem.options
        )
        return Answers(rows, owners, cost, status)


class _Tweaks:
    """The search of one batch."""

    def __init__(self, settings: FeatureTweaking, problem: Problem, paths: Paths) -> None:
        if problem.goal.layout.unseen:
            paths = paths.read_by(problem.goal.reader)
        self._problem, self._paths = problem, paths
        self._ensemble = paths.ensemble
        self.moves = Moves(problem.region, settings.population_.scale, problem.seed)
        self._target = problem.goal.classes.index(problem.goal.target)
        self._worth = self._leaf_worth()
        self.votes = self._ensemble.votes

    def _leaf_worth(self) -> np.ndarray:
        """The vote of each leaf for the target, 1 or 0; else the target's lead over the other classes there, (L,)."""
        value, k = self._ensemble.value, self._target
        if self._ensemble.votes:
            return np.asarray(value.argmax(axis=1) == k, dtype=np.float64)
        return 2 * value[:, k] - value.sum(axis=1)

    def _costs_and_gains(self, starts: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cost of moving from each start into each leaf, and the gain, (n, L)."""
        cost = self._paths.costs(starts, self._problem.region.subset(owners))
        own = self._worth[self._ensemble.leaves(starts, self._problem.goal.reader)]
        gain = self._worth - own[:, self._ensemble.tree]
        cost[gain <= 0] = np.inf
        return cost, gain

    def single(self) -> tuple[np.ndarray, np.ndarray, list[Status]]:
        """One tweak per row, the cheapest first, as published."""
        region = self._problem.region
        cost, _ = self._costs_and_gains(region.start, np.arange(len(self._problem)))
        order = np.argsort(cost, axis=1, kind="stable")
        available = np.isfinite(cost).sum(axis=1)

        def candidates(active: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            owners, ranks = ranks_between(active, start, stop, available)
            leaves = order[owners, ranks]
            return self._paths.tweaked(region.start[owners], leaves, region, owners), owners, ranks

        n = self._problem.options
        hits = ranked_hits(self._problem, candidates, available, block=_BLOCK, wanted=n, reserve=n)
        return hits.rows, hits.owners, hits.status

    def combined(self, most: int, status: list[Status]) -> tuple[np.ndarray, np.ndarray]:
        """Combined tweaks for the rows that none alone answers, each step the one of most gain per cost."""
        problem, region = self._problem, self._problem.region
        active = np.flatnonzero([one is Status.OUT_OF_REACH for one in status])
        active = active[problem.affordable(active)]
        starts = region.start[active]
        scores = problem.score(starts, active)
        rows, owners = [np.empty((0, len(region.schema)))], [np.empty(0, dtype=np.intp)]
        for _ in range(most):
            if not active.size:
                break
            tried, place, cost = self._promising(starts, active)
            found = problem.ask(tried, active[place], distinct=place)
            for i in active[place[found.unaffordable]]:
                status[i] = Status.BUDGET_SPENT
            for i in active[place[found.hits]]:
                status[i] = Status.FOUND
            rows.append(found.rows[found.hits])
            owners.append(active[place[found.hits]])
            tried, place, cost = found.rows[found.asked], place[found.asked], cost[found.asked]
            met, score = found.met, found.score
            rate = (score - scores[place]) / cost
            better = np.flatnonzero((rate > _LEAST_RATE) & ~np.isin(place, place[met]))
            # a model's last bits depend on the batch, and must not decide between equal rates
            better = better[np.lexsort((-np.round(rate[better], 9), place[better]))]
            better = better[rank_within(place[better]) == 0]
            active, starts, scores = active[place[better]], tried[better], score[better]
        return self._needed(np.concatenate(rows), np.concatenate(owners))

    def _promising(self, starts: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The next tweaks to try: rows in final form, the position of each one's start, and its cost from there."""
        region = self._problem.region
        cost, gain = self._costs_and_gains(starts, owners)
        with np.errstate(invalid="ignore"):
            order = np.argsort(-(gain / cost), axis=1, kind="stable")[:, :_BLOCK]
        place, leaves = np.repeat(np.arange(len(owners)), order.shape[1]), order.ravel()
        reached = np.isfinite(cost[place, leaves])
        place, leaves = place[reached], leaves[reached]
        rows = self._paths.tweaked(starts[place], leaves, region, owners[place])
        rows = region.final_form(rows, owners[place])
        moved = (rows != starts[place]) & ~(np.isnan(rows) & np.isnan(starts[place]))
        worth = np.flatnonzero(moved.any(axis=1))
        return rows[worth], place[worth], cost[place[worth], leaves[worth]]

    def _needed(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cheapest combinations of each row, with needless changes taken back, smallest first."""
        problem = self._problem
        order = np.lexsort((self.moves.distances(rows, owners), owners))
        order = order[rank_within(owners[order]) < problem.options]
        rows, owners = rows[order], owners[order]
        sizes = self.moves.sizes(rows, owners)
        return sparse(rows, owners, sizes, problem), owners


class Paths:
    """What each column must be to reach each leaf, and how to get there from a record.

    Attributes
    ----------
    low, high
        Of the columns of numbers: above `low`, at most `high`, (L, d); empty where low is not below high.
    states
        For each column that some tree compares, which of its states lead to the leaf: levels or special codes in
        order, then a missing cell, (L, S).
    levels
        For each column of levels, which of them lead to the leaf, (L, K); only levels that the training data have.
    """

    def __init__(self, ensemble: Ensemble, reader: Reader, scale: Scale, epsilon: float) -> None:
        self.ensemble, self._features = ensemble, reader.layout.schema.features
        self._scale, self._epsilon = scale, epsilon
        self._step_over = epsilon * scale.spread
        self._states, begin, sides, _ = ensemble.conditions(reader)
        shape = (len(ensemble.value), len(self._features))
        self.low, self.high = np.full(shape, -np.inf), np.full(shape, np.inf)
        leaf, node, second = ensemble.steps()
        column, threshold = ensemble.nodes["column"][node], ensemble.nodes["threshold"][node]
        np.maximum.at(self.low, (leaf[second], column[second]), threshold[second])
        np.minimum.at(self.high, (leaf[~second], column[~second]), threshold[~second])
        self.states: dict[int, np.ndarray] = {}
        self.levels: dict[int, np.ndarray] = {}
        for j in np.unique(column).tolist():
            at = np.flatnonzero(column == j)
            numbers = np.arange(self._states.first[j], self._states.first[j + 1])
            self.states[j] = np.ones((len(self.low), len(numbers)), dtype=bool)
            for k, state in enumerate(numbers):
                np.logical_and.at(self.states[j][:, k], leaf[at], sides[begin[node[at]] + state] == second[at])
            if not self._features[j].numeric:
                known = np.zeros(len(self._features[j].levels), dtype=bool)
                known[np.unique(scale.pools[j]).astype(np.intp)] = True
                self.levels[j] = self.states[j][:, : len(known)] & known

    def read_by(self, reader: Reader) -> Paths:
        """The same for rows with levels that the schema does not have."""
        return Paths(self.ensemble, reader, self._scale, self._epsilon)

    def _inside(self, j: int, cells: np.ndarray, leaves: np.ndarray | None = None) -> np.ndarray:
        """Whether cells of a column lead to each leaf, (n, L), or each to its own leaf, (n,)."""
        at = slice(None) if leaves is None else leaves
        state = self._states.of_column(j, cells)
        if leaves is None:
            cells, state = cells[:, None], state[:, None]
        inside = (cells > self.low[at, j]) & (cells <= self.high[at, j])
        place = np.maximum(state - self._states.first[j], 0)
        listed = self.states[j].T[place.ravel()] if leaves is None else self.states[j][leaves, place]
        return np.where(state >= 0, listed, inside)

    def costs(self, starts: np.ndarray, region: Region) -> np.ndarray:
        """The least distance from each start into each leaf, (n, L); infinite where the rules forbid it.

        Rounding to the grid comes later.
        """
        squares = np.zeros((len(starts), len(self.low)))
        for j in self.states:
            outside = ~self._inside(j, starts[:, j])
            move = self._number_moves if self._features[j].numeric else self._level_moves
            size, possible = move(j, starts[:, j], region)
            possible = possible & ~region.frozen[:, j, None]
            squares += np.where(outside, np.where(possible, size**2, np.inf), 0.0)
        squares[squares == 0] = np.inf  # in that leaf already
        return np.sqrt(squares)

    def _number_moves(self, j: int, own: np.ndarray, region: Region) -> tuple[np.ndarray, np.ndarray]:
        feature = self._features[j]
        low, high = self.low[:, j], self.high[:, j]
        possible = (low < high) & (low < region.high[:, j, None]) & (high >= region.low[:, j, None])
        if feature.special:
            possible &= region.states[j][:, -1:]
        with np.errstate(invalid="ignore"):
            size = np.maximum(np.maximum(low - own[:, None], own[:, None] - high), 0.0) / self._scale.spread[j]
        return np.where(ordinary(feature, own)[:, None] & ~np.isnan(size), size, SWITCH), possible

    def _level_moves(self, j: int, own: np.ndarray, region: Region) -> tuple[np.ndarray, np.ndarray]:
        leading = self.levels[j]
        possible = region.levels(j).astype(np.float32) @ leading.T.astype(np.float32) > 0
        if not self._features[j].ordered:
            return np.full(possible.shape, SWITCH), possible
        owns, which = np.unique(own, return_inverse=True)
        apart = np.where(leading, self._level_distances(j, owns)[:, None, :], np.inf).min(axis=2)
        return np.where(np.isfinite(apart), apart, 0.0)[which], possible

    def _level_distances(self, j: int, own: np.ndarray) -> np.ndarray:
        """How far each ordered level is from each row's own, (n, K)."""
        distance = np.abs(np.arange(self.levels[j].shape[1]) - own[:, None]) / self._scale.spread[j]
        return np.where(np.isnan(distance), SWITCH, distance)

    def tweaked(self, starts: np.ndarray, leaves: np.ndarray, region: Region, owners: np.ndarray) -> np.ndarray:
        """Each start with the least changes that lead into its leaf: ε-satisfactory, on the grid, within the rules.

        Entry i belongs to `owners[i]`, and goes from `starts[i]` to leaf `leaves[i]`.
        """
        rows = starts.copy()
        for j in self.states:
            outside = ~self._inside(j, starts[:, j], leaves)
            at = np.flatnonzero(outside)
            if not at.size:
                continue
            if self._features[j].numeric:
                rows[at, j] = self._numbers(j, starts[at, j], leaves[at], region, owners[at])
            else:
                rows[at, j] = self._nearest_level(j, starts[at, j], leaves[at], region, owners[at])
        return rows

    def _numbers(self, j: int, own: np.ndarray, leaves: np.ndarray, region: Region, owners: np.ndarray) -> np.ndarray:
        feature = self._features[j]
        low = np.maximum(self.low[leaves, j], np.nextafter(region.low[owners, j], -np.inf))
        high = np.minimum(self.high[leaves, j], region.high[owners, j])
        pool, step_over = self._scale.pools[j], self._step_over[j]
        # a special code or missing cell starts at the median
        middle = pool[len(pool) // 2] if len(pool) else 0.0
        start = np.where(ordinary(feature, own), own, middle)
        return outward(start, low, high, step_over, feature)

    def _nearest_level(
        self, j: int, own: np.ndarray, leaves: np.ndarray, region: Region, owners: np.ndarray
    ) -> np.ndarray:
        """The nearest level that leads to the leaf and is allowed; without an order, the most frequent one."""
        allowed = self.levels[j][leaves] & region.levels(j)[owners]
        if self._features[j].ordered:
            distance = self._level_distances(j, own)
        else:
            frequency = np.bincount(self._scale.pools[j].astype(np.intp), minlength=allowed.shape[1])
            distance = np.broadcast_to(-frequency.astype(np.float64), allowed.shape)
        best = np.where(allowed, distance, np.inf).argmin(axis=1)
        return np.where(allowed.any(axis=1), best, own)


def outward(own: np.ndarray, low: np.ndarray, high: np.ndarray, step_over: float, feature: Feature) -> np.ndarray:
    """The value in (low, high] that lies `step_over` beyond the end nearest to the own value, and on the grid.

    In an interval narrower than twice that, its middle. A grid value is taken farther from the own one, unless that
    leaves the interval; NaN where no grid value lies in it.
    """
    with np.errstate(invalid="ignore"):
        up = own <= low
        middle = low + (high - low) / 2
        narrow = high - low < 2 * step_over
        value = np.where(narrow, middle, np.where(up, low + step_over, np.where(own > high, high - step_over, own)))
        if feature.step is None:
            return np.where(low < high, value, np.nan)
        step = feature.step
        places = value / step
        rounded = np.where(up, np.ceil(places - 1e-9), np.floor(places + 1e-9)) * step
        first, last = (np.floor(low / step + 1e-9) + 1) * step, np.floor(high / step + 1e-9) * step
        rounded = np.where(rounded > high, last, np.where(rounded <= low, first, rounded))
        return np.where((rounded > low) & (rounded <= high), rounded, np.nan)
