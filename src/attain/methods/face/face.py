"""FACE (Poyiadzi et al. 2020): a feasible path over real rows to one of the desired class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attain.core.errors import AttainError
from attain.core.frames import Frame
from attain.methods.base import Explainer
from attain.methods.context import ModelContext
from attain.methods.face.graph import FlatSpace, GaussianDensity, RowGraph, admissible_rows
from attain.methods.parameters import choice, integer, number
from attain.methods.search.moves import Scale
from attain.methods.search.options import diverse_order
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.ranked import ranked_hits, ranks_between
from attain.models import GoalLike
from attain.population.copies import REAL_VALUES, Copies
from attain.population.reference import distinct
from attain.population.space import MeasuringSpace
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Constraints
from attain.tables import Region

Kernel = Literal["kde", "knn"]

_STEPS_AT_ONCE = 10_000_000
_BLOCK = 25
"""End points tried first, the nearest by path; more follow where none of them flips the decision."""
_MOST_FLAT = 2_000
"""The most rows for which a space with more coordinates is flattened: that takes time in the cube of their number."""
_CENTRES = 1_000
"""The most rows a kernel density is made of."""


@dataclass(kw_only=True, eq=False, repr=False)
class FACE(Explainer):
    """The nearest real row of the desired class along a path of real rows, through regions of high density.

    Takes any classifier; `least_probability` needs one that gives probabilities. Training rows are joined to their
    nearest neighbours in the measuring space; a step weighs its length times −log of the density at its midpoint. The
    path is the shortest to a row for which the model decides as requested and where the density is not too low. The
    answer is its end with the cells that may not change put back, if that still flips the decision; else the next end
    is tried.

    **Its answers and paths contain real people's values.** The figure `copies_a_person` is 1 where an answer's free
    cells are exactly those of a training row; `endpoint` is the training row, by position, that the path leads to;
    `path_length` its weight. `paths(result)` gives the steps.

    Keeps on every step of the path: immutable levels and special codes (the same), immutable numbers (within
    `tolerance`), directions of the schema (no step back), bounds, ranges, transitions and the constraints of the call
    (relative to the row explained). Keeps in the answer, by construction: all of them exactly, and steps, missing
    cells, derived columns. Rules between features: by repair where that is easy, else by rejection. `max_changes`: by
    rejection.

    Departures from the publication: the density is scaled so that its largest value at a row is 1, and no step weighs
    less than its length, so that weights are never negative; t_d is a quantile; numbers that cannot change are held
    within a tolerance along the path, as no other row has exactly the same, and exactly in the answer.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    neighbours
        How many of its nearest rows each row is joined to.
    density
        `kde`: a Gaussian kernel density at the midpoint of a step; `knn`: from the length of the step alone.
    bandwidth
        Of the kernel, in the measuring space; None applies Scott's rule.
    least_probability
        t_p: the least probability of the target at the end of a path; None asks for the decision only.
    least_density
        t_d: the end of a path is denser than this share of the training rows.
    tolerance
        How far a number that cannot change may lie from the row's own along the path, in standard deviations.
    max_rows
        The most training rows in the graph; where there are more, a random sample of them.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed of the samples, where there are more rows than the graph or the kernel density takes.

    References
    ----------
    R. Poyiadzi, K. Sokol, R. Santos-Rodriguez, T. De Bie, P. Flach: FACE: Feasible and Actionable Counterfactual
    Explanations, AIES 2020.
    """

    needs_rows = True
    citation = "poyiadzi2020face"
    own_figures = ("path_length", "endpoint", "copies_a_person")

    neighbours: int = integer(20, least=1)
    density: Kernel = choice("kde", Kernel)
    bandwidth: float | None = number(None, above=0)
    least_probability: float | None = number(None, least=0, below=1)
    least_density: float = number(0.05, least=0, below=1)
    tolerance: float = number(1.0, least=0)
    max_rows: int = integer(10_000, least=2)

    def _prepare(self) -> None:
        values = self.table_.values
        random = np.random.default_rng(self._seed)
        wide = self.space_.dimension > 2 * len(values) and len(values) <= _MOST_FLAT
        points, first = distinct(values if wide else self.space_.transform(values))
        if len(points) > self.max_rows:
            chosen = np.sort(random.choice(len(points), self.max_rows, replace=False))
            points, first = points[chosen], first[chosen]
        self.points_of_: MeasuringSpace | FlatSpace = self.space_
        if wide:
            self.points_of_ = FlatSpace(self.space_, points)
            points = self.points_of_.points
        density = None
        if self.density == "kde":
            centres = points[random.choice(len(points), min(_CENTRES, len(points)), replace=False)]
            density = GaussianDensity(centres, self.bandwidth)
        self.rows_ = first
        self.graph_ = RowGraph(self.schema_, values[first], points, self.neighbours, density)
        self.spread_ = Scale(self.schema_, values).spread
        self._copies = Copies(values[:, self.schema_.free_columns])

    def _inspect(self, goal: GoalLike, context: ModelContext) -> np.ndarray:
        """Which vertices may stand at the end of a path."""
        graph = self.graph_
        good = context.judged(goal, self.rows_)[0] & (graph.height >= np.quantile(graph.height, self.least_density))
        if self.least_probability:
            surer = self._goal(goal.model, goal.target, self.least_probability, tolerant=goal.reader.tolerant)
            good &= surer.judge(graph.values).met
            goal.reader.count.add(surer.rows_asked)
        return good

    def _notes(self, inspected: Any) -> tuple[str, ...]:
        return (REAL_VALUES,)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return max(_STEPS_AT_ONCE // max(len(self.graph_.starts), 1), 1)

    def _routes(self, region: Region) -> tuple[np.ndarray, np.ndarray]:
        admissible = admissible_rows(region, self.graph_.values, self.spread_, self.tolerance)
        return self.graph_.routes(region, self.points_of_.transform(region.factuals), admissible)

    def _search(self, problem: Problem) -> Answers:
        region = problem.region
        lengths, _ = self._routes(region)
        lengths[:, ~problem.inspected] = np.inf
        order = np.argsort(lengths, axis=1, kind="stable")
        available = np.isfinite(lengths).sum(axis=1)

        def ends(active: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            owners, ranks = ranks_between(active, start, stop, available)
            return self.graph_.values[order[owners, ranks]], owners, ranks

        rows, owners, ranks, _, status = ranked_hits(
            problem, ends, available, block=_BLOCK, wanted=problem.options, reserve=problem.options
        )
        vertex = order[owners, ranks]
        cost = lengths[owners, vertex]
        kept = diverse_order(rows, owners, cost, region, problem.options)
        figures = {
            "path_length": np.round(cost[kept], 6),
            "endpoint": self.rows_[vertex[kept]].astype(np.float64),
            "copies_a_person": self._copies.of(rows[kept][:, region.schema.free_columns]),
        }
        return Answers(rows[kept], owners[kept], cost[kept], status, figures)

    def paths(self, result: Counterfactuals, constraints: Constraints | Mapping[str, Any] | None = None) -> Frame:
        """The path of every option: one row per step, with the columns person, option, step and the features.

        Step 0 is the row explained, then come real rows as they are, and last the answer. Pass the
        constraints with which `result` was made, if there were any; the result may have come back from JSON.
        """
        self._check_fitted()
        missing = {"endpoint", "path_length"} - set(result.option_figures)
        if missing:
            raise AttainError(f"result was made by {result.method}, which has no paths; pass a result of FACE")
        region = Region.of(result.table, Constraints.of(constraints), self.observed_)
        places = np.searchsorted(self.rows_, result.option_figures["endpoint"], sorter=np.argsort(self.rows_))
        vertices = np.argsort(self.rows_)[np.minimum(places, len(self.rows_) - 1)]
        steps: list[tuple[int, int, int, np.ndarray]] = []
        owners = np.unique(result.owners)
        size = self._batch_size(1, None)
        for start in range(0, len(owners), size):
            some = owners[start : start + size]
            lengths, before = self._routes(region.subset(some))
            for option in np.flatnonzero(np.isin(result.owners, some)):
                place = int(np.searchsorted(some, result.owners[option]))
                if not abs(lengths[place, vertices[option]] - result.option_figures["path_length"][option]) < 1e-5:
                    raise AttainError(
                        "the path of result was not found again: it was made by another explainer or with other "
                        "constraints; pass the same constraints"
                    )
                steps += self._steps(result, int(option), before[place], int(vertices[option]))
        return self._listed(result, steps)

    def _steps(
        self, result: Counterfactuals, option: int, before: np.ndarray, vertex: int
    ) -> list[tuple[int, int, int, np.ndarray]]:
        """(owner, option, step, record) from the row explained to the answer."""
        on_the_way: list[np.ndarray] = []
        vertex = int(before[vertex])
        while vertex >= 0:
            on_the_way.insert(0, self.graph_.values[vertex])
            vertex = int(before[vertex])
        owner = int(result.owners[option])
        rank = int((result.owners[:option] == owner).sum()) + 1
        records = [result.table.values[owner], *on_the_way, result.rows[option]]
        return [(owner, rank, step, record) for step, record in enumerate(records)]

    def _listed(self, result: Counterfactuals, steps: list[tuple[int, int, int, np.ndarray]]) -> Frame:
        table = result.table
        owners = np.array([owner for owner, *_ in steps], dtype=np.intp)
        records = np.array([record for *_, record in steps]).reshape(len(steps), len(table.schema))
        leading = {
            "person": [table.labels[owner] for owner in owners],
            "option": [rank for _, rank, *_ in steps],
            "step": [step for _, _, step, _ in steps],
        }
        return table.layout.library.with_leading(table.take(owners, records), leading)
