"""How dense answers are among real rows of the desired class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attain.methods.context import ModelContext
from attain.models import GoalLike, probe_rows

_RANKED = 1000
"""Among how many real rows an answer's density is ranked."""


def density_rank(
    rows: np.ndarray, goal: GoalLike, context: ModelContext, log_density: Callable[[np.ndarray], np.ndarray]
) -> dict[str, np.ndarray]:
    """The share of real rows of the desired class with a lower log-density than each answer (n,), as a figure."""
    values = context.reference(goal).values
    if not len(rows) or not len(values):
        return {"density_rank": np.full(len(rows), np.nan)}
    some = probe_rows(values, _RANKED)
    real = context.kept("densities", lambda: np.sort(log_density(some)))
    return {"density_rank": np.round(np.searchsorted(real, log_density(rows)) / len(real), 3)}
