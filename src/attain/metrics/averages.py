"""Two averages of each measure, over answered rows and charged over all rows, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from attain.core.arrays import BoolArray, FloatArray
from attain.core.intervals import CONFIDENCE, NOTHING, RESAMPLES, Interval, mean_intervals, share_interval
from attain.metrics.measures import Measure


def summarised(
    columns: Mapping[str, FloatArray],
    measures: Mapping[str, Measure],
    found: BoolArray,
    n_free: int,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    random_state: int = 0,
) -> pd.DataFrame:
    """One row per measure: `mean`, `low`, `high`, `answered`, `charged`, `charged_low`, `charged_high` and `n`."""
    answered = {name: np.where(found, column, np.nan) for name, column in columns.items()}
    charged = {name: measures[name].charged(column, found, n_free) for name, column in columns.items()}
    numbers = [name for name in columns if not measures[name].share]
    table = np.column_stack([values[name] for values in (answered, charged) for name in numbers] or [np.empty(0)])
    drawn = mean_intervals(table, confidence=confidence, resamples=resamples, random_state=random_state)
    over_answered = dict(zip(numbers, drawn, strict=False))
    over_all = dict(zip(numbers, drawn[len(numbers) :], strict=False))
    rows = []
    for name in columns:
        present = answered[name][~np.isnan(answered[name])]
        mean, interval = _average(present, over_answered.get(name), confidence)
        charge, charged_interval = _average(charged[name], over_all.get(name), confidence)
        if not measures[name].known and measures[name].worst is None:
            charge, charged_interval = float("nan"), NOTHING
        rows.append(
            {
                "measure": name,
                "mean": mean,
                "low": interval.low,
                "high": interval.high,
                "answered": len(present),
                "charged": charge,
                "charged_low": charged_interval.low,
                "charged_high": charged_interval.high,
                "n": len(found),
            }
        )
    return pd.DataFrame(rows).set_index("measure")


def _average(values: FloatArray, drawn: Interval | None, confidence: float) -> tuple[float, Interval]:
    """The mean and its interval; NaN without rows, or if a row lacks a value."""
    if not len(values) or np.isnan(values).any():
        return float("nan"), NOTHING
    return float(values.mean()), share_interval(values, confidence=confidence) if drawn is None else drawn
