"""What texts say for certain: names such as age and e-mail, and levels that are numbers, ordered words or durations.

Nothing here is applied by itself: `attain.schema.questions` asks whether it is meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from attain.schema.feature import Level

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
_BELOW: Final = r"under|below|(less|fewer|younger) than|up to|at most|<=?|≤|unter|bis"
_ABOVE: Final = r"over|above|(more|greater|older) than|at least|>=?|≥|über|ab"
_NUMBER: Final = r"\d[\d,.]*"
_RANGE: Final = re.compile(
    rf"(?P<below>{_BELOW})?(?P<above>{_ABOVE})?\s*(?P<first>{_NUMBER})(\s*(-|–|to|bis)\s*(?P<second>{_NUMBER}))?"
    rf"(?P<plus>\s*\+)?\s*(?P<unit>[^\W\d_]*)\.?(?P<more>\s+(or|and) (more|over|older|longer)|\s+(oder|und) mehr)?"
)
_MONTHS: Final = {"d": 12 / 365, "w": 12 / 52, "m": 1.0, "y": 12.0, "t": 12 / 365, "j": 12.0}
_TIME: Final = re.compile(r"(days?|weeks?|months?|years?|yrs?|tage?n?|wochen?|monate?n?|jahre?n?)")
_FRONT, _BEHIND = r"(?:[^\w.,+<>≤≥-]*|(?:eur|usd|gbp|chf) )[+-]?", r"\s?[^\w\s.,+-]*(?: [^\W\d_]+)?"
_ENGLISH: Final = re.compile(rf"{_FRONT}(\d{{1,3}}(,\d{{3}})+(\.\d+)?|\d*\.?\d+\.?){_BEHIND}")
_GERMAN: Final = re.compile(rf"{_FRONT}(\d{{1,3}}(\.\d{{3}})+|\d+),\d+{_BEHIND}")
_AMOUNT: Final = re.compile(r"[\s\d.,+-]+")
_LEAST: Final = 0.9
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
        if len(texts) > 1 and sum(form.fullmatch(text) is not None for text in texts) >= _LEAST * len(texts):
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
