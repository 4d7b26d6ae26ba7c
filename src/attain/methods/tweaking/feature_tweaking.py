"""Feature tweaking (Tolomei et al. 2017): the cheapest way into a leaf that flips a tree ensemble's decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attain.methods.base import Explainer
from attain.methods.context import ModelContext
from attain.methods.parameters import choice, integer, number
from attain.methods.search.moves import Moves, Scale
from attain.methods.search.options import diverse
from attain.methods.search.pool import rank_within
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.ranked import ranked_hits, ranks_between
from attain.methods.search.sparsity import sparse
from attain.methods.tweaking.tree_paths import Paths
from attain.models import GoalLike
from attain.models.structure.trees import read_ensemble
from attain.population.percentiles import total_shift
from attain.results.status import Status

TweakCost = Literal["euclidean", "changes", "total_shift"]

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
    Every tweak is verified with the whole ensemble, the cheapest first; the cheapest hit is the answer.

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
    cost
        What makes a tweak cheap: `euclidean` (in standard deviations; another level counts √2), `changes` (their
        number) or `total_shift` (in percentiles).
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
    cost: TweakCost = choice("euclidean", TweakCost)
    tweaks: int | None = integer(None, least=1)

    def _prepare(self) -> None:
        self.scale_ = Scale(self.schema_, self.table_.values)

    def _inspect(self, goal: GoalLike, context: ModelContext) -> Paths:
        ensemble = read_ensemble(goal, self.table_.values)
        return Paths(ensemble, self.scale_, self.percentiles_, self.epsilon)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return max(_CELLS_AT_ONCE // max(len(inspected.low), 1), 1)

    def _search(self, problem: Problem) -> Answers:
        search = _Tweaks(self, problem, problem.inspected)
        rows, owners, status = search.single()
        most = self.tweaks or (1 if search.votes else _BOOSTED_TWEAKS)
        if most > 1:
            combined, whose = search.combined(most, status)
            rows, owners = np.concatenate((rows, combined)), np.concatenate((owners, whose))
        rows, owners, cost = diverse(rows, owners, search.paid(rows, owners), problem.region, problem.options)
        return Answers(rows, owners, cost, status)


class _Tweaks:
    """The search of one batch."""

    def __init__(self, settings: FeatureTweaking, problem: Problem, paths: Paths) -> None:
        self._settings, self._problem, self._paths = settings, problem, paths
        self._nodes = paths.ensemble.nodes
        self._moves = Moves(problem.region, settings.scale_, problem.seed)
        self._target = problem.goal.classes.index(problem.goal.target)
        self._worth = self._leaf_worth()
        self.votes = self._nodes.votes

    def _leaf_worth(self) -> np.ndarray:
        """What each node, as a leaf, does for the target: 1 or 0 for a vote, else its lead over the other classes."""
        value, k = self._nodes.value, self._target
        if self._nodes.votes:
            return np.asarray(value.argmax(axis=1) == k, dtype=np.float64)
        return 2 * value[:, k] - value.sum(axis=1)

    def paid(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each row costs, (m,)."""
        region = self._problem.region
        if self._settings.cost == "changes":
            return region.changed(rows, owners).sum(axis=1).astype(np.float64)
        if self._settings.cost == "total_shift":
            shifts = self._settings.percentiles_.shift(region.factuals[owners], rows)
            return total_shift(shifts, region.schema.free_columns)
        return self._moves.distances(rows, owners)

    def _ways(self, starts: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The starts as the trees see them, what each leaf costs from there and what it gains, (n, L)."""
        encoded = self._paths.ensemble.encode(starts, self._problem.goal.reader)
        boxes = self._paths.boxes
        cost = self._paths.costs(starts, encoded, self._problem.region.subset(owners), self._settings.cost)
        gain = self._worth[boxes.leaf] - self._worth[self._nodes.leaves(encoded)][:, boxes.tree]
        cost[gain <= 0] = np.inf
        return encoded, cost, gain

    def single(self) -> tuple[np.ndarray, np.ndarray, list[Status]]:
        """One tweak per row, the cheapest first, as published."""
        region = self._problem.region
        encoded, cost, _ = self._ways(region.factuals, np.arange(len(self._problem)))
        order = np.argsort(cost, axis=1, kind="stable")
        available = np.isfinite(cost).sum(axis=1)

        def candidates(active: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            owners, ranks = ranks_between(active, start, stop, available)
            leaves = order[owners, ranks]
            return self._paths.tweaked(region.factuals[owners], encoded[owners], leaves, region, owners), owners, ranks

        n = self._problem.options
        hits = ranked_hits(self._problem, candidates, available, block=_BLOCK, wanted=n, reserve=n)
        return hits.rows, hits.owners, hits.status

    def combined(self, most: int, status: list[Status]) -> tuple[np.ndarray, np.ndarray]:
        """Several tweaks one after the other, where none alone is enough: each the best gain per cost."""
        problem, region = self._problem, self._problem.region
        active = np.flatnonzero([one is Status.OUT_OF_REACH for one in status])
        active = active[problem.affordable(active)]
        starts = region.factuals[active]
        _, scores = problem.ask(starts, active)
        rows, owners = [np.empty((0, len(region.schema)))], [np.empty(0, dtype=np.intp)]
        for _ in range(most):
            if not active.size:
                break
            tried, place, cost = self._promising(starts, active)
            found = problem.evaluate(tried, active[place], distinct=place)
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
        """The next tweaks worth trying: rows in final form, which start each is from, and what it costs from there."""
        region = self._problem.region
        encoded, cost, gain = self._ways(starts, owners)
        with np.errstate(invalid="ignore"):
            order = np.argsort(-(gain / cost), axis=1, kind="stable")[:, :_BLOCK]
        place, leaves = np.repeat(np.arange(len(owners)), order.shape[1]), order.ravel()
        reached = np.isfinite(cost[place, leaves])
        place, leaves = place[reached], leaves[reached]
        rows = self._paths.tweaked(starts[place], encoded[place], leaves, region, owners[place])
        rows = region.final_form(rows, owners[place])
        moved = (rows != starts[place]) & ~(np.isnan(rows) & np.isnan(starts[place]))
        worth = np.flatnonzero(moved.any(axis=1))
        return rows[worth], place[worth], cost[place[worth], leaves[worth]]

    def _needed(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cheapest combinations of each row, without the changes that are not needed, smallest first."""
        problem = self._problem
        order = np.lexsort((self.paid(rows, owners), owners))
        order = order[rank_within(owners[order]) < problem.options]
        rows, owners = rows[order], owners[order]
        sizes = self._moves.sizes(rows, owners)
        return sparse(rows, owners, sizes, problem), owners
