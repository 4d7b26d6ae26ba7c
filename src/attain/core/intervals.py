"""Groups of people as bands of numbers; intervals of averages over rows: of means by bootstrap, of shares by Wilson.

Rows are resampled, not answers: a row without an answer stays among those drawn, with NaN for a value. So both the mean
over answered rows and the mean charged over all rows vary as they would with other rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import FloatArray, IndexArray
from attain.core.errors import AttainError, DataError, check_integer

MISSING: Final = "missing"
"""The group of people whose group is not known."""
CONFIDENCE: Final = 0.95
RESAMPLES: Final = 1000

_BLOCK: Final = 4_000_000
"""The number of cells drawn at once, which bounds the memory for a million rows."""


class Interval(NamedTuple):
    """The ends of a confidence interval; NaN if there is too little to compute it from."""

    low: float
    high: float


NOTHING: Final = Interval(float("nan"), float("nan"))


def mean_intervals(
    columns: ArrayLike, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, random_state: int = 0
) -> list[Interval]:
    """The percentile bootstrap interval of the mean of each column, (n_rows, n_columns), from the same resamples.

    Cells that are NaN are left out of the means. NaN if fewer than two rows have a value.
    """
    table = np.asarray(columns, dtype=np.float64)
    if table.ndim != 2:
        raise DataError(f"columns must be a table of rows and columns, got an array of shape {table.shape}")
    tail = (1.0 - checked_confidence(confidence)) / 2.0
    present, infinite = ~np.isnan(table), np.isposinf(table)
    plain = np.where(present & ~infinite, table, 0.0)
    means: list[list[FloatArray]] = [[] for _ in range(table.shape[1])]
    for drawn in resampled(len(table), resamples, random_state):
        counts = times_drawn(drawn)
        # One column at a time: a product with all of them may sum in another order if there is one column more.
        for j, found in enumerate(means):
            number = counts @ present[:, j]
            mean = np.where(number > 0, counts @ plain[:, j] / np.maximum(number, 1), np.nan)
            found.append(np.where(counts @ infinite[:, j] > 0, np.inf, mean) if infinite[:, j].any() else mean)
    enough = present.sum(axis=0) >= 2
    return [
        quantile_interval(np.concatenate(found), tail, 1.0 - tail) if enough[j] else NOTHING
        for j, found in enumerate(means)
    ]


def mean_interval(
    values: ArrayLike, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, random_state: int = 0
) -> Interval:
    """`mean_intervals` of one column, (n_rows,)."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise DataError(f"values must hold one number per row, got an array of shape {column.shape}")
    return mean_intervals(column[:, None], confidence=confidence, resamples=resamples, random_state=random_state)[0]


def share_interval(values: ArrayLike, *, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's interval of the share of ones among zeros and ones; NaN is left out.

    Unlike the bootstrap's, it has a width if all values are equal.
    """
    from scipy.stats import binomtest

    column = np.asarray(values, dtype=np.float64)
    present = column[~np.isnan(column)]
    confidence = checked_confidence(confidence)
    if not len(present):
        return NOTHING
    interval = binomtest(int(present.sum()), len(present)).proportion_ci(confidence, method="wilson")
    return Interval(float(interval.low), float(interval.high))


def resampled(number: int, resamples: int, random_state: int, rows: int | None = None) -> Iterator[IndexArray]:
    """Positions drawn with replacement, (resamples, number), in blocks of `rows` resamples."""
    check_integer("resamples", resamples, 1)
    generator = np.random.default_rng(random_state)
    rows = max(_BLOCK // max(number, 1), 1) if rows is None else rows
    for start in range(0, resamples, rows):
        yield generator.integers(0, max(number, 1), (min(rows, resamples - start), number))


def times_drawn(drawn: IndexArray) -> FloatArray:
    """How often each position is in each resample, (resamples, number)."""
    rows, number = drawn.shape
    places = drawn + number * np.arange(rows)[:, None]
    return np.bincount(places.ravel(), minlength=rows * number).reshape(rows, number).astype(np.float64)


def quantile_interval(replicates: FloatArray, low: float, high: float) -> Interval:
    """Two quantiles of the replicates; NaN is left out."""
    known = replicates[~np.isnan(replicates)]
    if not len(known):
        return NOTHING
    if np.isinf(known).any():
        # There is nothing to interpolate between a number and infinity: take the outer of the two.
        return Interval(
            float(np.quantile(known, low, method="lower")), float(np.quantile(known, high, method="higher"))
        )
    first, last = np.quantile(known, (low, high))
    return Interval(float(first), float(last))


def checked_confidence(confidence: float) -> float:
    """The confidence; raises unless it is strictly between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise AttainError(f"confidence must be a number between 0 and 1, such as 0.95, got {confidence!r}")
    return float(confidence)


def bands(values: ArrayLike, number: int = 4) -> list[str | None]:
    """Numbers as up to `number` bands of about equal size, such as `18 to 29`; None for missing ones."""
    column = np.asarray(values, dtype=np.float64)
    present = column[~np.isnan(column)]
    if not len(present):
        return [None] * len(column)
    edges = np.unique(np.quantile(present, np.linspace(0, 1, number + 1)[1:-1], method="inverted_cdf"))
    place = np.searchsorted(edges, column, side="left")
    names = {}
    for band in set(place[~np.isnan(column)].tolist()):
        inside = column[place == band]
        low, high = np.nanmin(inside), np.nanmax(inside)
        names[band] = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return [None if np.isnan(value) else names[band] for value, band in zip(column, place.tolist(), strict=True)]


def in_reading_order(label: object) -> list[tuple[float, str]]:
    """So that `9 to 17` comes before `18 to 30`, and `-2 to -1` before both."""
    parts = re.split(r"((?:(?<!\w)-)?\d+(?:\.\d+)?)", str(label))
    return [(float(part), "") if place % 2 else (math.inf, part) for place, part in enumerate(parts) if part]
