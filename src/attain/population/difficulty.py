"""How much answers ask for: shifts in percentiles, and the number of features that change.

Free features only: immutable ones do not change, and derived ones follow from others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attain.core.arrays import BoolArray, FloatArray
from attain.population import percentiles as shifts
from attain.population.measuring import measured, own_rows
from attain.population.percentiles import Percentiles
from attain.schema import Schema
from attain.tables import unchanged


def total_shift(
    answers: ArrayLike, factuals: ArrayLike, percentiles: Percentiles, found: ArrayLike | None = None
) -> FloatArray:
    """TS = Σ_d |Q_d(x̃_d) − Q_d(x_d)| over the free features d: from 0 to their number."""
    return _shifted(shifts.total_shift, answers, factuals, percentiles, found)


def max_shift(
    answers: ArrayLike, factuals: ArrayLike, percentiles: Percentiles, found: ArrayLike | None = None
) -> FloatArray:
    """MS = max_d |Q_d(x̃_d) − Q_d(x_d)| over the free features d: from 0 to 1."""
    return _shifted(shifts.max_shift, answers, factuals, percentiles, found)


def changed(answers: ArrayLike, factuals: ArrayLike, schema: Schema, found: ArrayLike | None = None) -> FloatArray:
    """L0: the number of free features that change; clocks, which advance with time, do not count."""

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        free, own = np.setdiff1d(schema.free_columns, schema.clocks), own_rows(factuals, len(schema), present)
        return np.asarray((~unchanged(own[:, free], rows[:, free])).sum(axis=1), dtype=np.float64)

    return measured(answers, found, len(schema), measure)


def _shifted(
    summary: Callable[[FloatArray, NDArray[np.intp]], FloatArray],
    answers: ArrayLike,
    factuals: ArrayLike,
    percentiles: Percentiles,
    found: ArrayLike | None,
) -> FloatArray:
    schema = percentiles.schema

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        return summary(percentiles.shift(own_rows(factuals, len(schema), present), rows), schema.free_columns)

    return measured(answers, found, len(schema), measure)
