"""Reversion: changes are taken back, those first that lose the least score per percentile point."""

from __future__ import annotations

import numpy as np

from attain.methods.search.pool import rank_within
from attain.methods.search.problem import Problem
from attain.population.percentiles import Percentiles

_LEAST_GAIN = 1e-9


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

        start = region.clocks_reset(rows[active], owners[active])
        own = region.factuals[owners[active]]
        place, column = np.nonzero(changed)
        trial = start[place]
        trial[np.arange(len(place)), column] = own[place, column]
        hits, trial, score = _fewer(problem, trial, owners[active[place]], number[place], reserve)
        place, column = place[hits], column[hits]
        gain = _total(percentiles, own, rows[active], free)[place] - _total(percentiles, own[place], trial, free)
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
        hits, trial, score = _fewer(problem, trial, owners[active[at]], number[at], reserve)
        rows[active[at[hits]]], scores[active[at[hits]]] = trial, score  # the largest number comes last, and stays
        active = active[count > 0]
    return rows


def _fewer(
    problem: Problem, rows: np.ndarray, owners: np.ndarray, number: np.ndarray, reserve: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which rows have fewer changes than `number`, (n,), and meet the goal; these in final form, and their scores."""

    def fewer(rows: np.ndarray) -> np.ndarray:
        return np.asarray(problem.region.changed(rows, owners).sum(axis=1) < number)

    tried = problem.evaluate(rows, owners, reserve=reserve, where=fewer)
    return tried.hits, tried.rows[tried.hits], tried.score[tried.met]


def _total(percentiles: Percentiles, own: np.ndarray, rows: np.ndarray, free: np.ndarray) -> np.ndarray:
    return percentiles.interpolated_shift(own, rows)[:, free].sum(axis=1)
