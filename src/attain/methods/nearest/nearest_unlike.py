"""Nearest unlike neighbours: real rows of the desired class, and the part of them that flips the decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.methods.base import Explainer
from attain.methods.context import ModelContext
from attain.methods.nearest.reversion import reverted
from attain.methods.parameters import integer
from attain.methods.search.options import diverse
from attain.methods.search.pool import rank_within
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.ranked import ranked_hits
from attain.models import GoalLike
from attain.population.copies import REAL_VALUES, Copies
from attain.population.percentiles import total_shift
from attain.population.reference import Reference

_ROWS_AT_ONCE = 100_000
_SPARE_OPTIONS = 4
"""Neighbours carried through for each option asked for: after taking back changes, several become the same."""


@dataclass(kw_only=True, eq=False, repr=False)
class NearestUnlike(Explainer):
    """The part of the nearest real rows that flips the decision: the simplest strong baseline.

    Takes any classifier. The values come from the nearest training rows for which the model decides as requested (and
    which are labelled so, where labels were given). Cells that may not change, or not that way, keep their own values;
    what still flips the decision is an answer. The one with the least total shift goes through reversion: changes are
    taken back, the one that loses the least score per percentile point first, until none can be.

    **Its answers contain real people's values.** The figure `copies_a_person` is 1 where an answer's free cells are
    exactly those of a training row.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, missing cells, derived
    columns. Rules between features: by repair where that is easy, else by rejection. `max_changes`: by taking back the
    smallest shifts first, else by rejection.

    Where none of the nearest `neighbours` flips the decision, farther ones are tried: a row without an answer is one
    for which no real row within the budget gives one.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    neighbours
        How many of the nearest rows are tried before the best of them is chosen.
    reversion
        Whether changes that are not needed are taken back.
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
    D. Brughmans, P. Leyman, D. Martens: NICE: an algorithm for nearest instance counterfactual explanations, Data
    Mining and Knowledge Discovery, 2023. The nearest unlike neighbour itself is older; nothing here is trained.
    """

    needs_rows = True
    citation = "brughmans2023nice"
    own_figures = ("copies_a_person",)

    neighbours: int = integer(50, least=1)
    reversion: bool = True

    def _prepare(self) -> None:
        self._copies = Copies(self.table_.values[:, self.schema_.free_columns])

    def _inspect(self, goal: GoalLike, context: ModelContext) -> Reference:
        return context.reference(goal)

    def _notes(self, inspected: Any) -> tuple[str, ...]:
        return (REAL_VALUES,)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return max(_ROWS_AT_ONCE // self.neighbours, 1)

    def _search(self, problem: Problem) -> Answers:
        region, reference = problem.region, problem.inspected
        answers = 1 if problem.options == 1 else _SPARE_OPTIONS * problem.options

        def neighbours(some: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            nearest = reference.nearest(region.factuals[some], stop)[1][:, start:]
            owners = np.repeat(some, nearest.shape[1])
            ranks = np.tile(np.arange(start, start + nearest.shape[1]), len(some))
            return self._fewer(reference.values[nearest.ravel()], owners, problem), owners, ranks

        available = np.full(len(problem), len(reference))
        rows, owners, _, scores, status = ranked_hits(
            problem, neighbours, available, block=self.neighbours, wanted=problem.options, reserve=answers
        )
        order = np.lexsort((self._difficulty(rows, owners, problem), owners))
        order = order[rank_within(owners[order]) < answers]
        rows, owners, scores = rows[order], owners[order], scores[order]
        if self.reversion:
            rows = reverted(rows, owners, scores, problem, self.percentiles_, reserve=answers)
        rows, owners, cost = diverse(rows, owners, self._difficulty(rows, owners, problem), region, problem.options)
        return Answers(
            rows, owners, cost, status, {"copies_a_person": self._copies.of(rows[:, region.schema.free_columns])}
        )

    def _difficulty(self, rows: np.ndarray, owners: np.ndarray, problem: Problem) -> np.ndarray:
        shifts = self.percentiles_.shift(problem.region.factuals[owners], rows)
        return total_shift(shifts, problem.region.schema.free_columns)

    def _fewer(self, rows: np.ndarray, owners: np.ndarray, problem: Problem) -> np.ndarray:
        """The rows with only their largest shifts kept, at most `max_changes` of them."""
        region = problem.region
        if (region.max_changes >= len(region.schema)).all():
            return rows
        rows = region.final_form(rows, owners)
        shifts = self.percentiles_.interpolated_shift(region.factuals[owners], rows)
        shifts = np.where(region.changed(rows, owners), shifts, -1.0)
        rank = np.argsort(np.argsort(-shifts, axis=1, kind="stable"), axis=1)
        return np.where(rank < region.max_changes[owners, None], rows, region.factuals[owners])
