"""What cells, levels and names say about what a column is: the evidence behind `attain.schema.questions`.

Of words only what is certain is read: names such as age and e-mail, and levels that are numbers, ordered words or
lengths of time. Nothing here is applied by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from attain.schema.feature import Feature, Level

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
    codes, classes = pd.factorize(labels, use_na_sentinel=False)
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
_UNKNOWN: Final = re.compile(
    r"(|\?+|-+|\.+|n[/.]?a\.?|nan|null|unk|missing|k\.?\s?a\.?|unknown|not (known|available|stated|given)|undisclosed"
    r"|unbekannt|keine angabe)"
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
"""Words in their order; those between bars stand for the same."""
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
_FRONT, _BEHIND = r"(?:[^\w.,+<>≤≥-]*|(?:eur|usd|gbp|chf) )[+-]?", r"\s?[^\w\s.,+-]*(?: [^\W\d_]+)?"
_ENGLISH: Final = re.compile(rf"{_FRONT}(\d{{1,3}}(,\d{{3}})+(\.\d+)?|\d*\.?\d+\.?){_BEHIND}")
_GERMAN: Final = re.compile(rf"{_FRONT}(\d{{1,3}}(\.\d{{3}})+|\d+),\d+{_BEHIND}")
_AMOUNT: Final = re.compile(r"[\s\d.,+-]+")
_MOSTLY: Final = 0.9
"""The share of levels that must be numbers for a column of texts to hold numbers."""

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
    """Whether a column says who or where people are, by its name: ids, names, e-mail, phone, postcode."""
    return bool(_IDENTIFIER.search(words_of(name)))


def unknown_levels(levels: Iterable[Level]) -> tuple[str, ...]:
    """The levels that say that nothing is known: `?`, `n/a`, `unknown`."""
    return tuple(level for level in levels if isinstance(level, str) and _UNKNOWN.fullmatch(level.strip().lower()))


def conversion(name: str, levels: Iterable[Level]) -> str:
    """The line of pandas that makes numbers of a column of texts such as `1,021.00 €`; empty if it holds others."""
    texts = [level.strip().lower() for level in levels if isinstance(level, str)]
    texts = [text for text in texts if not _UNKNOWN.fullmatch(text)]
    column = f"frame[{name!r}]"
    if len({unit[0] for text in texts if (unit := _AMOUNT.sub("", text))}) > 1:
        return ""  # days and months, or two currencies
    for form, kept, comma in ((_ENGLISH, r"[^\d.+-]", ""), (_GERMAN, r"[^\d,+-]", '.str.replace(",", ".")')):
        if len(texts) > 1 and sum(form.fullmatch(text) is not None for text in texts) >= _MOSTLY * len(texts):
            plain = f'{column}.str.replace(r"{kept}", "", regex=True){comma}'
            return f'{column} = pandas.to_numeric({plain}, errors="coerce")'
    return ""


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
