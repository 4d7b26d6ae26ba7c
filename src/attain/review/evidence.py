"""What cells, levels and names say about what a column is: the evidence behind the questions of a review.

Of words only what is certain is read: names such as age and e-mail, and levels that are numbers, ordered words or
lengths of time. Nothing here is applied by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np

from attain.core.text import is_grouped, joined, number
from attain.schema.feature import Feature, Level
from attain.schema.infer import COINCIDENCES, SEVERAL, labelled

SHOWN: Final = 5
"""How many levels or codes a sentence names."""
_FEWEST: Final = 30
"""The number of rows from which values that all differ say something."""
_CODES: Final = tuple(float(f"{first}{digit}") for first in ("", "9", "99", "999", "9999") for digit in range(96, 100))
_REPEATED: Final = tuple(float(digit * length) for length in range(2, 7) for digit in "78")
_BELOW: Final = (-1.0, *(-float(str(digit) * length) for length in range(1, 6) for digit in (7, 8, 9)))
_PILE: Final = 5
"""The fewest rows that have a code."""
_NEAREST: Final = 5
"""The number of values next to a pile that give the usual spacing."""
_APART, _FAR = 3.0, 0.1
"""The least gap between a pile at 0 and the next value, in usual spacings, and in medians of the values."""
_FEW: Final = 12
"""Integers with at most this many values may be codes."""
_OFTEN: Final = 0.005
"""The least share of rows that each value next to a gap has."""
_SMALL: Final = 20
"""The largest integer that gaps can show to be a code."""
_CERTAIN: Final = 0.001
"""The probability at which an effect that goes up and down counts as certain."""
_UNEVEN: Final = 0.25
"""The least share of an effect that goes against its direction."""
_MANY_VALUES: Final = 50
"""A column of more values is the copy of another only if both put the rows into the same order."""


def all_differ(values: np.ndarray) -> bool:
    """Whether integers differ in every row, more than by accident, as identifiers do.

    n numbers drawn at random from R integers have about n² / 2R equal pairs.
    """
    n = len(values)
    if n <= _FEWEST or (values != np.floor(values)).any() or len(np.unique(values)) < n:
        return False
    return bool(n * n / 2 >= COINCIDENCES * (np.ptp(values) + 1))


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
    if distinct[0] == 0 and counts[0] >= _PILE and len(positive) >= SEVERAL:
        spacing = (positive[_NEAREST - 1] - positive[0]) / (_NEAREST - 1)
        if positive[0] >= max(_APART * spacing, _FAR * np.median(values[values > 0])):
            found.append(0.0)
    return found


def uneven_shares(values: np.ndarray, labels: np.ndarray) -> tuple[Any, dict[float, float]] | None:
    """A label and its share at each of few integers, if that goes up and down with them; None otherwise.

    The best effect that only rises or falls must leave a certain remainder, and a good part of the whole.
    """
    from scipy.stats import chi2
    from sklearn.isotonic import isotonic_regression

    values, labels = labelled(values, labels)
    distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    if not 3 <= len(distinct) <= _FEW:
        return None
    for label in np.unique(labels)[1:]:
        has_label = labels == label
        shares, mean = np.bincount(places, has_label) / counts, has_label.mean()
        fits = (isotonic_regression(shares, sample_weight=counts, increasing=up) for up in (True, False))
        left = min(float((counts * (shares - fit) ** 2).sum()) for fit in fits)
        effect = float((counts * (shares - mean) ** 2).sum())
        certain = left / (mean * (1 - mean)) >= chi2.isf(_CERTAIN, len(distinct) - 2)
        if certain and left >= _UNEVEN * effect:
            return label, dict(zip(distinct.tolist(), shares.tolist(), strict=True))
    return None


def has_gaps(values: np.ndarray) -> bool:
    """Whether few small integers have gaps between them, as 3, 6, 7 have, where counts and steps have none.

    Counts have gaps among their largest, which are rare.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if not 3 <= len(distinct) <= _FEW or distinct[0] < 0 or distinct[-1] > _SMALL:
        return False
    steps, often = np.diff(distinct), counts >= max(_PILE, _OFTEN * len(values))
    return bool(((steps > steps.min()) & often[1:] & often[:-1]).any())


def copies(features: Sequence[Feature], values: np.ndarray) -> dict[str, str]:
    """The columns of a matrix (n, d) that are copies of an earlier one, each with the earlier one."""
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
    """Whether a number is never larger than a person's age and rises with it, more than by chance."""
    known = ~(np.isnan(cells) | np.isnan(age))
    cells, age = cells[known], age[known]
    if len(cells) < _FEWEST or np.ptp(cells) == 0:
        return False
    by_chance = np.searchsorted(np.sort(age), cells).sum() / len(cells)
    return bool((cells > age).sum() <= 0.01 * by_chance and by_chance >= COINCIDENCES and _rank(cells, age) > 0)


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


_WORD: Final = re.compile(r"[A-ZÄÖÜ]+(?![a-zäöüß])|[A-ZÄÖÜ]?[a-zäöüß]+|\d+")
_AGE: Final = re.compile(r"\b(age|alter|lebensalter)\b")
_THINGS: Final = re.compile(
    r"\b(account|car|vehicle|file|trade|loan|line|card|credit|contract|property|house|firm)s?\b"
)
"""The age of one of these is not a person's."""
_INBORN: Final = re.compile(r"\b(sex|gender|geschlecht|race|ethnicity|ethnic group|ethnie)\b")
_IDENTIFIER: Final = re.compile(
    r"\b(ids?|uuid|guid|ssn|iban|(first |last |full |sur)?names?|surname|vorname|nachname|e mail|email|mail|phone"
    r"|telephone|telefon|mobile|post ?codes?|zip|zip ?codes?|plz|postleitzahl|\w*nummer)\b"
)
_SCALES: Final = (
    ("none", "very low", "low", "medium|mid|middle|moderate|average|normal", "high", "very high"),
    ("very bad|very poor", "bad|poor", "fair|average", "good", "very good", "premium|excellent", "ideal"),
    ("tiny|extra small|xs", "small|s", "medium|m", "large|big|l", "very large|extra large|xl", "xxl"),
    ("never", "rarely|seldom", "sometimes|occasionally", "often|frequently", "always"),
    ("none", "mild", "moderate", "severe"),
    ("beginner", "intermediate", "advanced", "expert"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("first|1st", "second|2nd", "third|3rd", "fourth|4th", "fifth|5th", "sixth|6th", "seventh|7th", "eighth|8th"),
    ("sehr niedrig", "niedrig|gering", "mittel", "hoch", "sehr hoch"),
    ("sehr schlecht", "schlecht", "ausreichend", "befriedigend", "gut", "sehr gut"),
    ("klein", "mittel", "groß", "sehr groß"),
    ("nie", "selten", "manchmal", "oft|häufig", "immer"),
    ("erste", "zweite", "dritte", "vierte", "fünfte"),
)
"""Words in their order; those between bars are synonyms."""
_RANKS: Final = tuple(
    {word: rank for rank, words in enumerate(scale) for word in words.split("|")} for scale in _SCALES
)
_UNDER: Final = r"under|below|(less|fewer|younger) than|up to|at most|<=?|≤|unter|bis"
_OVER: Final = r"over|above|(more|greater|older) than|at least|>=?|≥|über|ab"
_NUMBER: Final = r"\d[\d,.]*"
_RANGE: Final = re.compile(
    rf"(?P<below>{_UNDER})?(?P<above>{_OVER})?\s*(?P<first>{_NUMBER})(\s*(-|–|to|bis)\s*(?P<second>{_NUMBER}))?"
    rf"(?P<plus>\s*\+)?\s*(?P<unit>[^\W\d_]*)\.?(?P<more>\s+(or|and) (more|over|older|longer)|\s+(oder|und) mehr)?"
)
_MONTHS: Final = {"d": 12 / 365, "w": 12 / 52, "m": 1.0, "y": 12.0, "t": 12 / 365, "j": 12.0}
_TIME: Final = re.compile(r"(days?|weeks?|months?|years?|yrs?|tage?n?|wochen?|monate?n?|jahre?n?)")

Span: TypeAlias = tuple[float, float, bool]
"""The lower and the upper end of a range, infinite where it is open, and whether it is of months."""


def words_of(name: str) -> str:
    """The words of a column's name, in lower case: `yearsAtCompany`, `years_at_company` are "years at company"."""
    return " ".join(_WORD.findall(name)).lower()


def is_age(name: str) -> bool:
    """Whether a column holds people's ages, by its name."""
    words = words_of(name)
    return bool(_AGE.search(words)) and not _THINGS.search(words)


def is_inborn(name: str) -> bool:
    """Whether a column holds people's sex or race, by its name."""
    return bool(_INBORN.search(words_of(name)))


def identifies(name: str) -> bool:
    """Whether a column identifies people, by its name: ids, names, e-mail, phone, postcode."""
    return bool(_IDENTIFIER.search(words_of(name)))


def successive(levels: Sequence[Any]) -> bool:
    """Whether levels are successive integers."""
    return all(type(level) is int for level in levels) and levels == tuple(range(levels[0], levels[0] + len(levels)))


def in_order(levels: Sequence[Level]) -> tuple[Level, ...]:
    """The levels from the lowest to the highest, if they are words of one scale, ranges or lengths of time; else empty.

    One level of three or more may be something else, such as `unemployed`: it is the lowest.
    """
    plain = [re.sub(r"[\s_-]+", " ", str(level)).strip().lower() for level in levels]
    spans = [_span(level) for level in levels]
    telling = sum(span is not None and (span[0] != span[1] or span[2]) for span in spans)
    orders: list[list[Any]] = [[ranks.get(word) for word in plain] for ranks in _RANKS]
    orders += [[None if span is None else span[:2] for span in spans]] if telling >= len(levels) / 2 else []
    for places in orders:
        known = [place for place in places if place is not None]
        others = len(places) - len(known)
        if len(known) >= 2 + others and others <= 1 and len(set(known)) == len(known):
            ordered = sorted((place, level) for place, level in zip(places, levels, strict=True) if place is not None)
            lowest = [level for place, level in zip(places, levels, strict=True) if place is None]
            return (*lowest, *(level for _, level in ordered))
    return ()


def lengths_of_time(levels: Sequence[Level]) -> tuple[float, bool] | None:
    """The most months from one length of time to the next, and whether all levels are such lengths.

    `under 1 year`, `1 to 4 years`, `over 4 years` are (36, True). None where most levels are something else.
    """
    spans = [span for span in map(_span, levels) if span is not None]
    if not in_order(levels) or len(spans) < 2 or not all(is_time for _, _, is_time in spans):
        return None
    starts = sorted(max(low, 0.0) for low, _, _ in spans)
    return max(later - start for start, later in pairwise(starts)), len(spans) == len(levels)


def _span(level: Level) -> Span | None:
    """The range that a level is: `25 - 45`, `under 1 year`, `7 years or more`, `90+`; times in months."""
    found = _RANGE.fullmatch(str(level).strip().lower())
    if found is None:
        return None
    is_time = _TIME.fullmatch(found["unit"]) is not None
    months = _MONTHS[found["unit"][0]] if is_time else 1.0
    try:
        low = months * float(found["first"].replace(",", ""))
        high = low if found["second"] is None else months * float(found["second"].replace(",", ""))
    except ValueError:
        return None
    if found["below"]:
        low = -math.inf
    elif found["above"] or found["plus"] or found["more"]:
        high = math.inf
    return low, high, is_time


def summary(feature: Feature, known: np.ndarray) -> str:
    """What a column holds, in a sentence."""
    if not len(known):
        return "It has no values."
    if feature.numeric:
        least, low, high, most = map(short, np.quantile(known, [0, 0.25, 0.75, 1], method="nearest").tolist())
        middle = f"half of them from {low} to {high}" if low != high else f"more than half of them {low}"
        return f"It holds numbers from {least} to {most}, {middle}."
    counts = np.bincount(known.astype(np.intp), minlength=len(feature.levels))
    often = np.argsort(-counts, kind="stable")
    named = [str(level) if str(level).strip() else f"“{level}”" for level in feature.levels]
    shown = [f"{named[k]} ({percent(counts[k] / len(known))})" for k in often[:SHOWN]]
    return f"It holds {joined(shown if len(often) <= SHOWN else [*shown, f'{len(often) - SHOWN} more'])}."


def short(value: float) -> str:
    """A number with four significant digits."""
    return number(float(f"{value:.4g}"), is_grouped(value, False))


def percent(share: float) -> str:
    """A share in percent; 99.6 % is not 100 %."""
    return f"{100 * share:.3g} %" if share > 0.99 else f"{100 * share:.0f} %"
