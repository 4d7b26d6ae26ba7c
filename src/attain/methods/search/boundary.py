"""Where the decision flips, as a score: read from training rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attain.models import probe_rows

_ROWS = 2_000
"""Training rows from which the boundary is read."""


class Probe(NamedTuple):
    """Training rows (m, d), spread over all of them, which meet the goal, and the model's own score, (m,) each."""

    rows: np.ndarray
    met: np.ndarray
    score: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, judged: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> Probe:
        """At most 2,000 of the training rows; `judged` says of those at some positions which are met, and scores."""
        at = probe_rows(np.arange(len(values)), _ROWS)
        return cls(values[at], *judged(at))


def boundary(score: np.ndarray, met: np.ndarray) -> float:
    """The score at which the decision flips, as seen on these rows; 0 where that agrees with all of them."""
    if not met.any():
        return max(float(score.max()), 0.0)
    if met.all():
        return min(float(score.min()), 0.0)
    inside, outside = float(score[met].min()), float(score[~met].max())
    return 0.0 if outside <= 0 <= inside else (inside + outside) / 2
