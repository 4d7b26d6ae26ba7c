"""How sure an average over people is: bootstrap intervals of means and other statistics, Wilson intervals of shares.

People are drawn again, not answers: a person without an answer stays among those drawn, with NaN for a value. So the
mean over the people answered and the mean charged over all both vary as they would with other people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from attain.core.errors import AttainError, DataError
from attain.population.measuring import FloatArray, positive_whole

IndexArray: TypeAlias = NDArray[np.intp]
Statistic: TypeAlias = Callable[[FloatArray], FloatArray]

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 1000

_BLOCK: Final = 4_000_000
"""So many cells are drawn at once; a million people are drawn again without filling the memory."""


class Interval(NamedTuple):
    """Between which values a statistic lies with the confidence asked for; NaN where nothing can be said."""

    low: float
    high: float


NOTHING: Final = Interval(float("nan"), float("nan"))


def answered_mean(values: FloatArray) -> FloatArray:
    """The mean over the last axis of the people who have a value; NaN where nobody does."""
    present = ~np.isnan(values)
    number = present.sum(axis=-1)
    total = np.where(present, values, 0.0).sum(axis=-1)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1), np.nan))


def bootstrap_interval(
    values: ArrayLike,
    statistic: Statistic = answered_mean,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    method: Literal["percentile", "bca"] = "percentile",
    random_state: int = 0,
) -> Interval:
    """The bootstrap interval of a statistic over people.

    NaN where fewer than two people have a value. A resample in which the statistic is NaN does not count.

    Parameters
    ----------
    values
        One number a person; NaN for a person without one.
    statistic
        Reduces the last axis of an array; by default the mean over those who have a value.
    method
        `percentile`: the quantiles of the statistic over the resamples. `bca`: corrected for bias and skewness (Efron
        1987), at the price of one more evaluation a person.
    """
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise DataError(f"values has the shape {column.shape}; it takes one number a person")
    if method not in ("percentile", "bca"):
        raise AttainError(f"method is {method!r}; it takes 'percentile' or 'bca'")
    confidence = checked_confidence(confidence)
    if (~np.isnan(column)).sum() < 2:
        return NOTHING
    replicates = np.concatenate(
        [statistic(column[drawn]) for drawn in drawn_people(len(column), resamples, random_state)]
    )
    tail = (1.0 - confidence) / 2.0
    if method == "percentile":
        return quantile_interval(replicates, tail, 1.0 - tail)
    return quantile_interval(replicates, *_corrected(column, statistic, replicates, tail))


def mean_intervals(
    columns: ArrayLike, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, random_state: int = 0
) -> list[Interval]:
    """The percentile interval of the mean of every column, all from the same resamples of people.

    Equal to `bootstrap_interval` of each column, up to rounding; one table of how often each person was drawn serves
    all of them.
    """
    table = np.asarray(columns, dtype=np.float64)
    if table.ndim != 2:
        raise DataError(f"columns has the shape {table.shape}; it takes one row a person and one column a measure")
    tail = (1.0 - checked_confidence(confidence)) / 2.0
    present, infinite = ~np.isnan(table), np.isposinf(table)
    plain = np.where(present & ~infinite, table, 0.0)
    means: list[list[FloatArray]] = [[] for _ in range(table.shape[1])]
    for drawn in drawn_people(len(table), resamples, random_state):
        counts = times_drawn(drawn)
        # One column at a time: a product with all of them may sum in another order when there is one column more.
        for j, found in enumerate(means):
            number = counts @ present[:, j]
            mean = np.where(number > 0, counts @ plain[:, j] / np.maximum(number, 1), np.nan)
            found.append(np.where(counts @ infinite[:, j] > 0, np.inf, mean) if infinite[:, j].any() else mean)
    enough = present.sum(axis=0) >= 2
    return [
        quantile_interval(np.concatenate(found), tail, 1.0 - tail) if enough[j] else NOTHING
        for j, found in enumerate(means)
    ]


def share_interval(values: ArrayLike, *, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's interval of the share of people with 1 among those with 0 or 1; people with NaN are left out."""
    column = np.asarray(values, dtype=np.float64)
    present = column[~np.isnan(column)]
    return wilson_interval(float(present.sum()), len(present), confidence=confidence)


def wilson_interval(successes: float, number: int, *, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's interval of a share (1927): it keeps its promise near 0 and 1, where a bootstrap has no width at all."""
    confidence = checked_confidence(confidence)
    if number == 0:
        return NOTHING
    if not 0 <= successes <= number:
        raise AttainError(f"successes is {successes!r} of {number!r}; it takes a number between 0 and all of them")
    z = float(ndtri(0.5 + confidence / 2.0))
    share = successes / number
    centre = share + z**2 / (2.0 * number)
    reach = z * np.sqrt(share * (1.0 - share) / number + z**2 / (4.0 * number**2))
    scale = 1.0 + z**2 / number
    low = 0.0 if successes == 0 else float((centre - reach) / scale)
    high = 1.0 if successes == number else float((centre + reach) / scale)
    return Interval(low, high)


def drawn_people(number: int, resamples: int, random_state: int, rows: int | None = None) -> Iterator[IndexArray]:
    """The positions of the people drawn with replacement, (resamples, number), in blocks of rows."""
    positive_whole("resamples", resamples)
    generator = np.random.default_rng(random_state)
    rows = max(_BLOCK // max(number, 1), 1) if rows is None else rows
    for start in range(0, resamples, rows):
        yield generator.integers(0, max(number, 1), (min(rows, resamples - start), number))


def times_drawn(drawn: IndexArray) -> FloatArray:
    """How often each person is in each resample."""
    rows, number = drawn.shape
    places = drawn + number * np.arange(rows)[:, None]
    return np.bincount(places.ravel(), minlength=rows * number).reshape(rows, number).astype(np.float64)


def quantile_interval(replicates: FloatArray, low: float, high: float) -> Interval:
    """Two quantiles of the replicates, those that are NaN left out."""
    known = replicates[~np.isnan(replicates)]
    if not len(known):
        return NOTHING
    if np.isinf(known).any():
        # Between a number and infinity there is nothing to interpolate: the outer of the two is taken.
        return Interval(
            float(np.quantile(known, low, method="lower")), float(np.quantile(known, high, method="higher"))
        )
    first, last = np.quantile(known, (low, high))
    return Interval(float(first), float(last))


def checked_confidence(confidence: float) -> float:
    """The confidence, refused unless it lies strictly between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise AttainError(f"confidence is {confidence!r}; it takes a number between 0 and 1, such as 0.95")
    return float(confidence)


def _corrected(column: FloatArray, statistic: Statistic, replicates: FloatArray, tail: float) -> tuple[float, float]:
    """The two shares at which BCa reads the quantiles."""
    observed = float(statistic(column))
    known = replicates[~np.isnan(replicates)]
    below = ((known < observed).mean() + (known <= observed).mean()) / 2.0 if len(known) else 0.5
    if below in (0.0, 1.0):  # every resample on one side: no correction can be read from them
        return tail, 1.0 - tail
    bias = float(ndtri(below))
    without = np.array([float(statistic(np.delete(column, person))) for person in range(len(column))])
    apart = without.mean() - without
    spread = float((apart**2).sum()) ** 1.5
    skewness = float((apart**3).sum()) / (6.0 * spread) if spread > 0 else 0.0
    ends = bias + np.array([ndtri(tail), -ndtri(tail)])
    first, last = ndtr(bias + ends / (1.0 - skewness * ends))
    return float(first), float(last)
