"""The two averages of every measure, over people answered and charged over all, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from attain.metrics.catalogue import MEASURES
from attain.metrics.intervals import NOTHING, Interval, mean_intervals, share_interval
from attain.population.measuring import BoolArray, FloatArray


def charged_values(name: str, column: FloatArray, found: BoolArray, free: int) -> FloatArray:
    """The column with what people without an answer are charged, `free` features being free; NaN without a worst case.

    What a search cost is known of everybody and stays as it is.
    """
    if MEASURES[name].known:
        return column
    worst = MEASURES[name].charge(free)
    return np.where(found, column, np.nan if worst is None else worst)


def summarised(
    columns: Mapping[str, FloatArray], found: BoolArray, free: int, confidence: float, resamples: int, random_state: int
) -> pd.DataFrame:
    """One row per measure: `mean`, `low`, `high`, `answered`, `charged`, `charged_low`, `charged_high` and `n`."""
    answered = {name: np.where(found, column, np.nan) for name, column in columns.items()}
    charged = {name: charged_values(name, column, found, free) for name, column in columns.items()}
    numbers = [name for name in columns if not MEASURES[name].share]
    table = np.column_stack([values[name] for values in (answered, charged) for name in numbers])
    drawn = mean_intervals(table, confidence=confidence, resamples=resamples, random_state=random_state)
    over_answered = dict(zip(numbers, drawn[: len(numbers)], strict=True))
    over_all = dict(zip(numbers, drawn[len(numbers) :], strict=True))
    rows = []
    for name in columns:
        present = answered[name][~np.isnan(answered[name])]
        mean, interval = _average(present, over_answered.get(name), confidence)
        bearing = MEASURES[name].known or MEASURES[name].worst is not None
        charge, all_interval = (
            _average(charged[name], over_all.get(name), confidence) if bearing else (float("nan"), NOTHING)
        )
        rows.append(
            {
                "measure": name,
                "mean": mean,
                "low": interval.low,
                "high": interval.high,
                "answered": len(present),
                "charged": charge,
                "charged_low": all_interval.low,
                "charged_high": all_interval.high,
                "n": len(found),
            }
        )
    return pd.DataFrame(rows).set_index("measure")


def _average(values: FloatArray, drawn: Interval | None, confidence: float) -> tuple[float, Interval]:
    """The mean and its interval; NaN without anybody, and where somebody lacks a value."""
    if not len(values) or np.isnan(values).any():
        return float("nan"), NOTHING
    return float(values.mean()), share_interval(values, confidence=confidence) if drawn is None else drawn
