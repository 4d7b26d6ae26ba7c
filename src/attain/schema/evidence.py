"""What the cells of a column say about what it is: the evidence behind `attain.schema.questions`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.schema.feature import Feature

_FEWEST: Final = 30
"""The number of rows from which values that all differ say something."""
_COINCIDENCES: Final = 10
"""So many equal pairs would be expected among random numbers of the same spread, where an identifier has none."""
_CODES: Final = tuple(float(f"{first}{digit}") for first in ("", "9", "99", "999", "9999") for digit in range(96, 100))
_REPEATED: Final = tuple(float(digit * length) for length in range(2, 7) for digit in "78")
_BELOW: Final = (-1.0, *(-float(str(digit) * length) for length in range(1, 6) for digit in (7, 8, 9)))
_PILE: Final = 5
"""So many rows must have a code."""
_NEAREST: Final = 5
"""The spacing beside a pile is that of so many values."""
_APART, _FAR = 3.0, 0.1
"""The gap between a pile at 0 and the next value, in spacings of the values beside it, and in their median."""
_FEW: Final = 12
"""Integers with at most so many values may be codes."""
_OFTEN: Final = 0.005
"""The share of rows that the values beside a gap must have."""
_SMALL: Final = 20
"""Only integers up to this may be codes because of the gaps between them."""
_CERTAIN: Final = 0.001
"""The probability with which an effect that goes up and down is chance."""
_UNEVEN: Final = 0.25
"""The least share of an effect that goes against its direction."""
_TOLD: Final = 0.1
"""A column tells the outcome if it leaves at most that share of the errors of a guess that ignores it."""
_BINS: Final = 64
_MANY_VALUES: Final = 50
"""A column of more values is the copy of another only if both put the rows into the same order."""
_ODD: Final = 0.005
"""The share of cells that a step may ignore."""
_SEVERAL: Final = 20
"""A step other than 1 rests on that many different values."""
_UNITS: Final = tuple(float(f"{unit}e{power}") for power in range(9, -1, -1) for unit in (5, 2.5, 2, 1))
"""Steps that people round to, the largest first."""


def step_of(values: np.ndarray) -> float | None:
    """The step of all but a few odd values: 10,000, 5, 0.01; None for numbers with more than three decimals.

    Zeros are a multiple of everything, so they say nothing.
    """
    said = values[values != 0]
    several = len(np.unique(said)) >= _SEVERAL
    if not len(said) or _share(said == np.floor(said)) >= 1 - _ODD * several:
        whole = said[said == np.floor(said)]
        if not several or np.abs(whole).max() >= 2**53:
            return 1.0
        exact = float(np.gcd.reduce(np.unique(whole).astype(np.int64)))
        fits = (unit for unit in _UNITS if unit >= 5 and _share(np.fmod(said, unit) == 0) >= 1 - _ODD)
        rounded = next((unit for unit in fits if len(np.unique(said[np.fmod(said, unit) == 0])) >= _SEVERAL), 1.0)
        return max(exact if exact >= 5 else 1.0, rounded)
    for decimals in (1, 2, 3) if several else ():
        if _share(np.round(said, decimals) == said) >= 1 - _ODD:
            return float(f"1e-{decimals}")
    return None


def _share(mask: np.ndarray) -> float:
    return float(mask.mean())


def all_differ(values: np.ndarray) -> bool:
    """Whether integers differ in every row, and that is no accident: they seem to identify rows.

    n numbers drawn at random from R integers have about n² / 2R equal pairs.
    """
    n = len(values)
    if n <= _FEWEST or (values != np.floor(values)).any() or len(np.unique(values)) < n:
        return False
    return bool(n * n / 2 >= _COINCIDENCES * (np.ptp(values) + 1))


def piles(values: np.ndarray) -> list[float]:
    """Values such as 0, −1, 98 or 999 that several rows have, apart from all others."""
    distinct, counts = np.unique(values, return_counts=True)
    found: list[float] = []
    for known, inward in (((*_CODES, *_REPEATED), -1), (_BELOW, 1)):
        repeated = np.isin(distinct, known) & (counts > 1)
        # codes stand at the very end
        ends = np.logical_and.accumulate(repeated[::inward])[::inward]
        others = distinct[~ends]
        if not ends.any() or len(others) < 2 or counts[ends].sum() < _PILE:
            continue
        gap = np.abs(distinct[ends][0 if inward < 0 else -1] - others[-1 if inward < 0 else 0])
        if gap >= np.ptp(others) or (inward > 0 and others[0] >= 0):
            found += distinct[ends].tolist()
    positive = distinct[distinct > 0]
    if distinct[0] == 0 and counts[0] >= _PILE and len(positive) >= _SEVERAL:
        spacing = (positive[_NEAREST - 1] - positive[0]) / (_NEAREST - 1)
        if positive[0] >= max(_APART * spacing, _FAR * np.median(values[values > 0])):
            found.append(0.0)
    return found


def uneven_shares(values: np.ndarray, labels: np.ndarray) -> tuple[Any, dict[float, float]] | None:
    """A label and its share at each of few integers, if that goes up and down with them; None otherwise.

    What is left of the effect beside the best one that only rises or falls must be certain, and a good part of it.
    """
    from scipy.stats import chi2
    from sklearn.isotonic import isotonic_regression

    values, labels = _labelled(values, labels)
    distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    if not 3 <= len(distinct) <= _FEW:
        return None
    for label in np.unique(labels)[1:]:
        told = labels == label
        shares, mean = np.bincount(places, told) / counts, told.mean()
        fits = (isotonic_regression(shares, sample_weight=counts, increasing=up) for up in (True, False))
        left = min(float((counts * (shares - fit) ** 2).sum()) for fit in fits)
        effect = float((counts * (shares - mean) ** 2).sum())
        certain = left / (mean * (1 - mean)) >= chi2.isf(_CERTAIN, len(distinct) - 2)
        if certain and left >= _UNEVEN * effect:
            return label, dict(zip(distinct.tolist(), shares.tolist(), strict=True))
    return None


def _labelled(values: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = ~pd.isna(labels)
    return values[known], labels[known]


def has_gaps(values: np.ndarray) -> bool:
    """Whether few small integers have gaps between them, as 3, 6, 7 have, where counts and steps have none.

    Counts have gaps among their largest, which are rare.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if not 3 <= len(distinct) <= _FEW or distinct[0] < 0 or distinct[-1] > _SMALL:
        return False
    steps, often = np.diff(distinct), counts >= max(_PILE, _OFTEN * len(values))
    return bool(((steps > steps.min()) & often[1:] & often[:-1]).any())


def tells(cells: np.ndarray, labels: np.ndarray) -> float | None:
    """The share of rows whose label a column tells by itself, if that is nearly all; None otherwise.

    The label of most rows with nearly the same cell is learned from every other row, and tested on the rest.
    """
    distinct = np.unique(cells)
    if len(distinct) > 2 * _BINS:
        distinct = np.unique(np.quantile(cells[~np.isnan(cells)], np.linspace(0, 1, _BINS + 1)))
    bins = np.searchsorted(distinct, cells, side="right")
    classes, codes = np.unique(labels, return_inverse=True)
    table = np.zeros((len(distinct) + 2, len(classes)))
    np.add.at(table, (bins[::2], codes[::2]), 1.0)
    missed = int((table.argmax(axis=1)[bins[1::2]] != codes[1::2]).sum())
    usual = int((table.sum(axis=0).argmax() != codes[1::2]).sum())
    if usual < _COINCIDENCES or missed > _TOLD * usual:
        return None
    return 1.0 - missed / len(codes[1::2])


def outcomes(features: Sequence[Feature], values: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The columns of a matrix (n, d) that tell the labels, and nobody has decided on; with the share of rows told."""
    values, labels = _labelled(values, labels)
    undecided = [(f, cells) for f, cells in zip(features, values.T, strict=True) if f.searched and not f.is_reviewed]
    told = ((feature.name, tells(cells, labels)) for feature, cells in undecided)
    return {name: share for name, share in told if share is not None}


def copies(features: Sequence[Feature], values: np.ndarray) -> dict[str, str]:
    """The columns of a matrix (n, d) that say the same as an earlier one in every row, each with the earlier one."""
    first: dict[bytes, str] = {}
    found: dict[str, str] = {}
    for feature, cells in zip(features, values.T, strict=True):
        distinct, places = np.unique(cells, return_inverse=True)
        if len(distinct) < 2:
            continue
        if len(distinct) <= _MANY_VALUES:  # whatever the order of the values
            _, seen, places = np.unique(places, return_index=True, return_inverse=True)
            places = np.argsort(np.argsort(seen))[places]
        earlier = first.setdefault(places.astype(np.int32).tobytes(), feature.name)
        if earlier != feature.name:
            found[feature.name] = earlier
    return found


def never_exceeds(cells: np.ndarray, age: np.ndarray) -> bool:
    """Whether a number is never larger than a person's age and rises with it, which would not be so by chance."""
    known = ~(np.isnan(cells) | np.isnan(age))
    cells, age = cells[known], age[known]
    if len(cells) < _FEWEST or np.ptp(cells) == 0:
        return False
    by_chance = np.searchsorted(np.sort(age), cells).sum() / len(cells)
    return bool((cells > age).sum() <= 0.01 * by_chance and by_chance >= _COINCIDENCES and _rank(cells, age) > 0)


def _rank(x: np.ndarray, y: np.ndarray) -> float:
    from scipy.stats import rankdata

    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def goes_with(x: np.ndarray, y: np.ndarray) -> float:
    """The rank correlation of two columns without its sign, 0 where one is constant."""
    known = ~(np.isnan(x) | np.isnan(y))
    if not known.any() or np.ptp(x[known]) == 0 or np.ptp(y[known]) == 0:
        return 0.0
    return abs(_rank(x[known], y[known]))


def usual_change(values: np.ndarray, step: float | None) -> float:
    """How far apart the values of people are: the middle half, with one digit, and at least a step."""
    low, high = np.percentile(values, [25, 75])
    spread = float(high - low) or float(np.std(values)) or 1.0
    size = 10.0 ** math.floor(math.log10(spread))
    return max(round(spread / size) * size, step or 0.0)
