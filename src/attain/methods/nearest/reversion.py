"""Reversion: changes given back one by one, the one that costs the least score per percentile first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attain.methods.search.pool import rank_within
from attain.population.percentiles import Percentiles

if TYPE_CHECKING:
    from attain.methods.search.problem import Problem

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

    In each round every change of every answer is taken back alone; of those that still turn the decision, the one with
    the least score lost per percentile point gained stays taken back. `reserve` rows of each budget are kept.
    """
    rows, scores = rows.copy(), scores.copy()
    region, free = problem.region, problem.region.schema.free_columns
    active = np.arange(len(rows))
    while active.size:
        place, column = np.nonzero(region.changed(rows[active], owners[active]))
        answer = active[place]
        trial = rows[answer]
        trial[np.arange(len(answer)), column] = region.factuals[owners[answer], column]
        trial = region.final_form(trial, owners[answer])
        worth = np.flatnonzero(_simpler(problem, rows[answer], trial, owners[answer]))
        worth = worth[problem.ledger.affordable(owners[answer[worth]], reserve)]
        trial, answer = trial[worth], answer[worth]
        met, score = problem.ask(trial, owners[answer])
        trial, answer, score = trial[met], answer[met], score[met]
        own = region.factuals[owners[answer]]
        gain = _total(percentiles, own, rows[answer], free) - _total(percentiles, own, trial, free)
        rate = (scores[answer] - score) / np.maximum(gain, _LEAST_GAIN)
        # a model's last bits depend on the rows beside it, and must not decide between equal rates
        order = np.lexsort((-gain, np.round(rate, 9), answer))
        first = order[rank_within(answer[order]) == 0]
        active = answer[first]
        rows[active], scores[active] = trial[first], score[first]
    return rows


def _total(percentiles: Percentiles, own: np.ndarray, rows: np.ndarray, free: np.ndarray) -> np.ndarray:
    return percentiles.interpolated_shift(own, rows)[:, free].sum(axis=1)


def _simpler(problem: Problem, rows: np.ndarray, trial: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Which trials keep every rule and change less than their answer, but something."""
    region = problem.region
    number = region.changed(trial, owners).sum(axis=1)
    simpler: np.ndarray = (number > 0) & (number < region.changed(rows, owners).sum(axis=1))
    return simpler & region.allows(trial, owners)
