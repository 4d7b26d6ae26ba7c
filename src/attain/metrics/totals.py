"""Averages of measures over any number of rows, added up batch after batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from attain.core.arrays import BoolArray, FloatArray
from attain.core.intervals import CONFIDENCE, NOTHING, Interval, checked_confidence, count_interval
from attain.metrics.measures import Measure


class _Moments(NamedTuple):
    """The number of values, their mean, and the sum of squared deviations from it."""

    number: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def with_values(self, values: FloatArray) -> _Moments:
        """With more values (Chan, Golub and LeVeque)."""
        if not len(values):
            return self
        with np.errstate(invalid="ignore"):
            mean = float(values.mean())
            squares = float(((values - mean) ** 2).sum())
            number, apart = self.number + len(values), mean - self.mean
            return _Moments(
                number,
                self.mean + apart * len(values) / number,
                self.squares + squares + apart**2 * self.number * len(values) / number,
            )


class Totals:
    """Adds up measures; `summary` has the columns of `Evaluation.summary` but `real`.

    Means are those over all rows at once. Intervals of shares are Wilson's; those of other measures are normal ones,
    ± z √(s² / n), where `evaluate` resamples rows, which needs all of them: for thousands of rows they agree.
    """

    def __init__(self) -> None:
        self.measures: dict[str, Measure] = {}
        self._answered: dict[str, _Moments] = {}
        self._charged: dict[str, _Moments] = {}
        self._n = 0

    def add(
        self, columns: Mapping[str, FloatArray], measures: Mapping[str, Measure], found: BoolArray, n_free: int
    ) -> None:
        """Adds rows that needed an answer: each measure (n,), and which rows have one (n,)."""
        self._n += len(found)
        for name, column in columns.items():
            self.measures.setdefault(name, measures[name])
            answered = column[found & ~np.isnan(column)]
            self._answered[name] = self._answered.get(name, _Moments()).with_values(answered)
            charged = measures[name].charged(column, found, n_free)
            self._charged[name] = self._charged.get(name, _Moments()).with_values(charged)

    def summary(self, confidence: float = CONFIDENCE) -> pd.DataFrame:
        """One row per measure."""
        rows = []
        for name, measure in self.measures.items():
            answered, charged = self._answered[name], self._charged[name]
            low, high = _interval(answered, measure.share, confidence)
            charge, charged_interval = _mean(charged), _interval(charged, measure.share, confidence)
            if not measure.known and measure.worst is None:
                charge, charged_interval = np.nan, NOTHING
            rows.append(
                {
                    "measure": name,
                    "mean": _mean(answered),
                    "low": low,
                    "high": high,
                    "answered": answered.number,
                    "charged": charge,
                    "charged_low": charged_interval.low,
                    "charged_high": charged_interval.high,
                    "n": self._n,
                }
            )
        return pd.DataFrame(rows).set_index("measure")


def _mean(moments: _Moments) -> float:
    return moments.mean if moments.number else np.nan


def _interval(moments: _Moments, share: bool, confidence: float) -> Interval:
    number, mean, squares = moments
    if share:
        return NOTHING if np.isnan(mean) else count_interval(round(mean * number), number, confidence=confidence)
    if number < 2:
        return NOTHING
    half = float(norm.ppf((1 + checked_confidence(confidence)) / 2)) * np.sqrt(squares / (number - 1) / number)
    return Interval(mean - half, mean + half)
