"""Sums of a compiled linear model, one row after the other: kernels beside `CellSum` and `LinearSweep`."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import lean
from attain.methods.guarded.compiled_round import Score
from attain.models.structure.score_kernels import term_of


@lean
def linear_term(cell: float, j: int, score: Score) -> float:
    """What a cell adds to the sum of a linear model; NaN where only the model itself knows."""
    numeric, first, codes, _ = score.states
    return term_of(cell, j, score.slopes, score.terms, numeric, first, codes)


@lean
def linear_sum(row: np.ndarray, like: np.ndarray, like_terms: np.ndarray, score: Score) -> float:
    """As `CellSum.__call__`, of one row; cells that are those of the row `like` have its terms."""
    total = score.constant
    for j in range(len(row)):
        total += like_terms[j] if row[j] == like[j] else linear_term(row[j], j, score)
    return total


@lean
def meets(total: float, score: Score) -> bool:
    """Whether a sum meets the goal."""
    return total >= score.least if score.rising else total <= score.least


@lean
def linear_sweep(row: np.ndarray, score: Score, terms: np.ndarray, sums: np.ndarray) -> None:
    """As `LinearSweep.__call__`, of one row, into (f, G); `terms` (d,) is room."""
    whole = 0.0
    for j in range(len(row)):
        terms[j] = linear_term(row[j], j, score)
        whole = terms[0] if j == 0 else whole + terms[j]
    whole = score.constant + whole
    for k in range(len(score.columns)):
        rest = whole - terms[score.columns[k]]
        for v in range(sums.shape[1]):
            sums[k, v] = rest + score.grid_terms[k, v]
