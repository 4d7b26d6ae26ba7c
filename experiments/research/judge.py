"""How well a classifier tells draws of a density from real rows."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from attain.core.arrays import FloatArray
from attain.core.intervals import resampled, times_drawn

_FOLDS: Final = 5
_RESAMPLES: Final = 200


class Judged(NamedTuple):
    """The judge's AUC, with the 95 % bootstrap interval over people."""

    auc: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.auc:.3f} [{self.low:.3f}, {self.high:.3f}]"


def judge(real: FloatArray, drawn: FloatArray) -> Judged:
    """How well boosted trees tell draws from real rows: an AUC, 0.5 where they cannot.

    Row i of both belongs to person i, such as a draw given that person's immutable columns. The trees are cross-fitted
    over five folds of people.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    fold = np.random.default_rng(0).permutation(len(real)) % _FOLDS
    scores = np.zeros((2, len(real)))
    for held in range(_FOLDS):
        rest, apart = fold != held, fold == held
        trees = HistGradientBoostingClassifier(
            max_iter=100, max_leaf_nodes=15, early_stopping=False, random_state=0
        ).fit(np.concatenate([real[rest], drawn[rest]]), np.repeat([0, 1], rest.sum()))
        scores[:, apart] = [trees.decision_function(rows[apart]) for rows in (real, drawn)]
    compared = [_comparisons(*scores[:, fold == held]) for held in range(_FOLDS)]

    def auc(times: FloatArray) -> float:
        parts = [(times[fold == k], wins) for k, wins in enumerate(compared)]
        return float(sum(t @ wins @ t for t, wins in parts) / sum(t.sum() ** 2 for t, _ in parts))

    drawn_times = times_drawn(next(resampled(len(real), _RESAMPLES, 0, rows=_RESAMPLES)))
    low, high = np.quantile([auc(times) for times in drawn_times], [0.025, 0.975])
    return Judged(auc(np.ones(len(real))), float(low), float(high))


def _comparisons(real: FloatArray, drawn: FloatArray) -> FloatArray:
    """For each pair 1 where the draw has the higher score, and a half where both are equal."""
    return np.asarray((drawn[None] > real[:, None]) + 0.5 * (drawn[None] == real[:, None]), dtype=np.float32)
