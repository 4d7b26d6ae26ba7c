"""Reversion: changes are taken back one by one, the one that loses the least score per percentile point first."""

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

    In each round every change of every answer is taken back alone; of those that still flip the decision, the one with
    the least score lost per percentile point gained stays taken back. `reserve` rows of each budget are kept.
    """
    rows, scores = rows.copy(), scores.copy()
    region, free = problem.region, problem.region.schema.free_columns
    active = np.arange(len(rows))
    while active.size:
        place, column = np.nonzero(region.changed(rows[active], owners[active]))
        answer = active[place]
        trial = region.clocks_reset(rows[answer], owners[answer])
        trial[np.arange(len(answer)), column] = region.factuals[owners[answer], column]
        number = region.changed(rows[answer], owners[answer]).sum(axis=1)

        def simpler(trial: np.ndarray, whose: np.ndarray = owners[answer], number: np.ndarray = number) -> np.ndarray:
            return np.asarray(region.changed(trial, whose).sum(axis=1) < number)

        tried = problem.evaluate(trial, owners[answer], reserve=reserve, where=simpler)
        trial, answer, score = tried.rows[tried.hits], answer[tried.hits], tried.score[tried.met]
        own = region.factuals[owners[answer]]
        gain = _total(percentiles, own, rows[answer], free) - _total(percentiles, own, trial, free)
        rate = (scores[answer] - score) / np.maximum(gain, _LEAST_GAIN)
        # a model's last bits depend on the batch, and must not decide between equal rates
        order = np.lexsort((-gain, np.round(rate, 9), answer))
        first = order[rank_within(answer[order]) == 0]
        active = answer[first]
        rows[active], scores[active] = trial[first], score[first]
    return rows


def _total(percentiles: Percentiles, own: np.ndarray, rows: np.ndarray, free: np.ndarray) -> np.ndarray:
    return percentiles.interpolated_shift(own, rows)[:, free].sum(axis=1)
