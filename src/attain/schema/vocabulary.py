"""Words of column names and levels, in English and German: what people do not choose, the past, clocks, orders."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal

_PERSONAL: Final = {
    "age": r"age|ages|dob|yob|born|birth\w*|alter|altersgruppe|lebensalter|geburt\w*",
    "sex": r"sex|gender|gndr|male|female|geschlecht|m[äa]nnlich|weiblich",
    "origin": r"race|ethnic\w*|ethnie|tribe|caste|skin colou?r|hautfarbe|nationality|nationalit[äa]t|citizen\w*"
    r"|immigra\w*|migration\w*|foreign\w*|native (country|language|tongue)|country of (birth|origin)|mother tongue"
    r"|staatsangeh\w+|staatsb[üu]rger\w*|herkunft\w*|ausl[äa]nder\w*|muttersprache",
    "family status": r"marital|marstat|mar stat|married|marriage|civil status|personal status|spouse|husband|wife"
    r"|divorced|widow\w*|^relationship( status)?$|familienstand|zivilstand|personenstand|verheiratet|geschieden|ledig",
    "number of dependants": r"depend[ae]nts?|children|kids|people liable|(household|family) size|kinder\w*"
    r"|unterhaltsberechtigte?|haushaltsgr[öo](ß|ss)e",
    "gains and losses": r"capital (gains?|loss(es)?)|inheritance|windfalls?|erbschaft\w*|kapitalertr[äa]ge?",
    "religion": r"religion|religious|faith|denomination|konfession\w*|kirchen?\w*",
    "disability": r"disab\w*|handicap\w*|pregnan\w*|(schwer)?behinder\w*|schwanger\w*",
}
"""What people do not choose, by the words of a column's name."""
_THINGS: Final = re.compile(
    r"\b(account|car|vehicle|file|trade|loan|line|card|credit|contract|property|house|firm)s?\b"
)
"""The age of one of these is not a person's."""
_CLOCK: Final = re.compile(
    r"\b(since|seit|tenure|seniority|(years?|months?|days?|time) (at|in|with|on)|m in file|experience"
    r"|length of (employment|service|residence|credit|history)|(emp|employment|job|service) (length|duration|years)"
    r"|(years?|months?) (employed|of service)|working years|age of|betriebszugeh\w+|dienstjahre|berufserfahrung)\b"
)
_UNITS: Final = (
    (re.compile(r"\b(years?|yrs?|jahren?|jahre)\b"), 1 / 12),
    (re.compile(r"\b(months?|mths?|m|monaten?|monate)\b"), 1.0),
    (re.compile(r"\b(weeks?|wochen?)\b"), 52 / 12),
    (re.compile(r"\b(days?|tagen?|tage)\b"), 365 / 12),
)
"""Units of time, and how many of them a month has."""
_PAST: Final = re.compile(
    r"\b(ever|never|past due|overdue|late|missed|histor(y|ies|ical)|delin?q\w*|dlq\w*|derog\w*|default(s|ed)?"
    r"|bankrupt\w*|insolven\w*|convict\w*|arrest\w*|criminal\w*|felon\w*|misd\w*|juv\w*|priors?|previous\w*"
    r"|charged? offs?|write offs?|pub(lic)? rec\w*|repossess\w*|foreclos\w*|historie|vorstraf\w*|vorherig\w*"
    r"|mahn(ung|verfahren|stufe)\w*|zahlungs(verzug|ausf[äa]ll|st[öo]r)\w*|inkasso\w*|pf[äa]ndung\w*)\b"
)
_SCORE: Final = re.compile(
    r"\b((risk|credit) (estimate|score|rating|grade|marker|class)|scorecard|fico|schufa|bonit[äa]t\w*"
    r"|(external|bureau|decile|behaviou?ral) (score|risk|rating)\w*|score text|rating)\b"
)
_WORD: Final = re.compile(r"[A-ZÄÖÜ]+(?![a-zäöüß])|[A-ZÄÖÜ]?[a-zäöüß]+|\d+")
_IDENTIFIER: Final = re.compile(r"\b(id|ids|uuid|guid|key|index|rownum|ssn|iban|serial|\w*nummer|\w+nr)\b")
_UNKNOWN: Final = re.compile(
    r"^(|\?+|-+|\.+|n[/.]?a\.?|nan|null|unk|missing|k\.?\s?a\.?|no (\w+ )?account|kein \w*konto)$"
    r"|\b(unknown|not (known|available|applicable|stated|given)|undisclosed|unbekannt|keine angabe)\b"
)
_NOTHING: Final = frozenset(["none", "never", "nothing", "no", "zero", "unemployed", "keine", "nie", "arbeitslos"])
_SCALES: Final = (
    ("lowest", "very low", "low", "medium low", "medium", "moderate", "medium high", "high", "very high", "highest"),
    ("very low", "low", "middle", "average", "high", "very high"),
    ("very small", "small", "medium", "large", "very large"),
    ("very poor", "very bad", "poor", "bad", "fair", "satisfactory", "good", "very good", "excellent"),
    ("never", "rarely", "seldom", "sometimes", "often", "usually", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("none", "primary", "secondary", "tertiary"),
    (
        *("preschool", "1st 4th", "5th 6th", "7th 8th", "9th", "10th", "11th", "12th", "hs grad", "high school"),
        *("some college", "assoc voc", "assoc acdm", "associate", "associates", "bachelor", "bachelors", "master"),
        *("masters", "prof school", "doctorate", "phd"),
    ),
    ("hauptschule", "hauptschulabschluss", "realschule", "mittlere reife", "abitur", "bachelor", "master", "promotion"),
    ("sehr niedrig", "niedrig", "gering", "mittel", "hoch", "sehr hoch"),
    ("sehr schlecht", "schlecht", "mittel", "befriedigend", "gut", "sehr gut"),
    ("klein", "mittel", "groß"),
    ("nie", "selten", "manchmal", "oft", "immer"),
)
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_THOUSANDS: Final = re.compile(r"(?<=\d)[.,](?=\d{3}\b)")
_QUANTITY: Final = re.compile(
    r"[<>≤≥%€$£+]|\d\s*(-|–|to|bis)\s*\d|\b(under|below|less|up to|over|above|more|least|unter|bis|über|mehr|mind\w*"
    r"|years?|months?|weeks?|days?|hours?|jahre?|monate?|tage?|stunden?|eur|euro|dm|usd|k)\b"
)
_UNDER: Final = re.compile(r"^\s*[<≤]|^\s*\.*\s*<|\b(under|below|less|up to|unter|bis zu|weniger)\b")
_OVER: Final = re.compile(r"^\s*[>≥]|\+\s*\w*$|\b(over|above|more|least|über|mehr|ab|mind\w*)\b")


def words_of(name: str) -> str:
    """The words of a column's name, in lower case: `yearsAtCompany`, `years_at_company` are "years at company"."""
    return " ".join(_WORD.findall(name)).lower()


@lru_cache(4096)
def topic_of(name: str) -> tuple[Literal["choice", "clock", "past", "score"], str] | None:
    """The topic that the words of a column's name suggest, with the reason."""
    words = words_of(name)
    for what, pattern in _PERSONAL.items():
        if re.search(rf"\b({pattern})\b", words) and not (what == "age" and _THINGS.search(words)):
            return "choice", f"People do not choose their {what}: no answer should ask for a change of it."
    if _CLOCK.search(words) or re.search(r"\bage\b", words):
        return "clock", "It advances with time, and never goes back."
    if _PAST.search(words):
        return "past", "It is about the past, which nobody can change."
    if _SCORE.search(words):
        return "score", "Others compute it from the rest of the record: nobody can change it by itself."
    return None


def units_a_month(name: str, unit: str | None) -> float | None:
    """How many units a clock advances in a month, by its unit or the words of its name; None where neither says."""
    for words in (words_of(unit or ""), words_of(name)):
        for pattern, rate in _UNITS:
            if pattern.search(words):
                return rate
    return None


def is_an_age(name: str) -> bool:
    """Whether a column is a person's age, by its name; a date of birth is not."""
    words = words_of(name)
    return re.search(r"\b(age|alter|lebensalter)\b", words) is not None and not _THINGS.search(words)


def names_an_identifier(name: str) -> bool:
    """Whether a column's name has a word such as `id` or `Kundennummer`."""
    return _IDENTIFIER.search(words_of(name)) is not None


def means_unknown(level: str) -> bool:
    """Whether a level such as "?" or "unknown" says that nothing is known."""
    return _UNKNOWN.search(level.strip().lower()) is not None


def in_order(levels: Sequence[str]) -> tuple[str, ...] | None:
    """The levels in their order, by a known scale or by their numbers; None where none is recognised."""
    texts = {" ".join(re.split(r"[\s_-]+", level.strip().lower())): level for level in levels}
    for scale in _SCALES:
        if len(texts) == len(levels) and texts.keys() <= set(scale):
            return tuple(texts[text] for text in scale if text in texts)
    places = {level: place for level in levels if (place := _place(level.lower())) is not None}
    if len(set(places.values())) < len(levels) or not any(_QUANTITY.search(level.lower()) for level in levels):
        return None
    return tuple(sorted(places, key=places.__getitem__))


def _place(text: str) -> tuple[float, int] | None:
    """Where a text such as "under 1 year" or "200 DM or more" stands: its first number, and before, at or after it."""
    if text.strip() in _NOTHING:
        return (-math.inf, 0)
    numbers = _NUMBER.findall(_THOUSANDS.sub("", text))
    if not numbers:
        return None
    return (float(numbers[0]), 0 if len(numbers) > 1 else -1 if _UNDER.search(text) else 1 if _OVER.search(text) else 0)
