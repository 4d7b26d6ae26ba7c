"""Nearest unlike neighbours: real rows of the desired class, and the part of them that flips the decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.core.arrays import rank_within
from attain.methods.base import Explainer, integer
from attain.population.measuring import REAL_VALUES, Copies, Percentiles
from attain.population.population import DecidedPopulation, Population, Reference
from attain.search.pool import diverse
from attain.search.problem import Answers, Problem, ranked_hits

_ROWS_AT_ONCE = 100_000
_SPARE_OPTIONS = 4
"""Neighbours carried through for each option asked for: after taking back changes, several become the same."""
_LEAST_GAIN = 1e-9


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

    def prepare(self, population: Population) -> None:
        self._copies = Copies(population.values[:, population.schema.free_columns])

    def inspect(self, decided: DecidedPopulation) -> Reference:
        return decided.reference

    def _notes(self, inspected: Any) -> tuple[str, ...]:
        return (REAL_VALUES,)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return max(_ROWS_AT_ONCE // self.neighbours, 1)

    def search(self, problem: Problem) -> Answers:
        region, reference = problem.region, problem.inspected
        answers = 1 if problem.options == 1 else _SPARE_OPTIONS * problem.options

        def neighbours(active: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            nearest = reference.nearest(region.start[active], stop)[1][:, start:]
            owners = np.repeat(active, nearest.shape[1])
            ranks = np.tile(np.arange(start, start + nearest.shape[1]), len(active))
            return self._with_largest_shifts(reference.values[nearest.ravel()], owners, problem), owners, ranks

        available = np.full(len(problem), len(reference))
        rows, owners, _, scores, status = ranked_hits(
            problem, neighbours, available, block=self.neighbours, wanted=problem.options, reserve=answers
        )
        order = np.lexsort((self._total_shift(rows, owners, problem), owners))
        order = order[rank_within(owners[order]) < answers]
        rows, owners, scores = rows[order], owners[order], scores[order]
        if self.reversion:
            rows = reverted(rows, owners, scores, problem, self.population_.percentiles, reserve=answers)
        rows, owners, cost = diverse(rows, owners, self._total_shift(rows, owners, problem), region, problem.options)
        return Answers(
            rows, owners, cost, status, {"copies_a_person": self._copies.of(rows[:, region.schema.free_columns])}
        )

    def _total_shift(self, rows: np.ndarray, owners: np.ndarray, problem: Problem) -> np.ndarray:
        shifts = self.population_.percentiles.shift(problem.region.factuals[owners], rows)
        return np.asarray(shifts[:, problem.region.schema.free_columns].sum(axis=1))

    def _with_largest_shifts(self, rows: np.ndarray, owners: np.ndarray, problem: Problem) -> np.ndarray:
        """The rows with their largest shifts only, at most `max_changes` of them."""
        region = problem.region
        if (region.max_changes >= len(region.schema)).all():
            return rows
        rows = region.final_form(rows, owners)
        shifts = self.population_.percentiles.interpolated_shift(region.factuals[owners], rows)
        shifts = np.where(region.changed(rows, owners), shifts, -1.0)
        rank = np.argsort(np.argsort(-shifts, axis=1, kind="stable"), axis=1)
        return np.where(rank < region.max_changes[owners, None], rows, region.factuals[owners])


def reverted(
    rows: np.ndarray,
    owners: np.ndarray,
    scores: np.ndarray,
    problem: Problem,
    percentiles: Percentiles,
    *,
    reserve: int,
) -> np.ndarray:
    """The answers with changes taken back until no single one can be.

    In each round every change of every answer is taken back alone. Those that still flip the decision are ordered by
    the score lost per percentile point gained, and the first 1, 2, 4, 8, … of them are taken back together: as many as
    still flip the decision stay taken back. `reserve` rows of each budget are kept.
    """
    rows, scores = rows.copy(), scores.copy()
    region, free = problem.region, problem.region.schema.free_columns
    active = np.arange(len(rows))
    while active.size:
        changed = region.changed(rows[active], owners[active])
        number = changed.sum(axis=1)

        start = rows[active]
        own = region.factuals[owners[active]]
        place, column = np.nonzero(changed)
        trial = start[place]
        trial[np.arange(len(place)), column] = own[place, column]
        hits, trial, score = _hits_with_fewer_changes(problem, trial, owners[active[place]], number[place], reserve)
        place, column = place[hits], column[hits]
        gain = _interpolated_total(percentiles, own, rows[active], free)[place] - _interpolated_total(
            percentiles, own[place], trial, free
        )
        rate = (scores[active[place]] - score) / np.maximum(gain, _LEAST_GAIN)
        # a model's last bits depend on the batch, and must not decide between equal rates
        order = np.lexsort((-gain, np.round(rate, 9), place))
        rank, place, column = rank_within(place[order]), place[order], column[order]
        first = order[rank == 0]
        rows[active[place[rank == 0]]], scores[active[place[rank == 0]]] = trial[first], score[first]
        count = np.bincount(place, minlength=len(active))
        sizes = 2 ** np.arange(1, int(count.max(initial=1)).bit_length())
        at, size = np.nonzero(count[:, None] >= sizes)
        trial = start[at]
        for one, among in enumerate(zip(at, sizes[size], strict=True)):
            taken = column[(place == among[0]) & (rank < among[1])]
            trial[one, taken] = own[among[0], taken]
        hits, trial, score = _hits_with_fewer_changes(problem, trial, owners[active[at]], number[at], reserve)
        rows[active[at[hits]]], scores[active[at[hits]]] = trial, score  # the largest number comes last, and stays
        active = active[count > 0]
    return rows


def _hits_with_fewer_changes(
    problem: Problem, rows: np.ndarray, owners: np.ndarray, number: np.ndarray, reserve: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The positions of rows that meet the goal with fewer changes than `number`, (n,); their final form and scores."""

    def fewer(rows: np.ndarray) -> np.ndarray:
        return np.asarray(problem.region.changed(rows, owners).sum(axis=1) < number)

    tried = problem.ask(rows, owners, reserve=reserve, where=fewer)
    return tried.hits, tried.rows[tried.hits], tried.score[tried.met]


def _interpolated_total(percentiles: Percentiles, own: np.ndarray, rows: np.ndarray, free: np.ndarray) -> np.ndarray:
    return percentiles.interpolated_shift(own, rows)[:, free].sum(axis=1)
