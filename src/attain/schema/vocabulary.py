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
_MORE: Final = re.compile(
    r"\b(incomes?|salar(y|ies)|wages?|earnings?|savings?|assets|deposits?|education|degree|qualifications?|schooling|(schul|studien|berufs)?abschluss"
    r"|\w*einkommen|\w*gehalt|\w*verdienst|\w*guthaben|\w*verm[öo]gen|ersparnisse|sparguthaben)\b"
)
_LESS: Final = re.compile(
    r"\b(debts?|dti|utili[sz]ation|burden|balances?|w balance|loans?|owed|outstanding|arrears"
    r"|inquir(y|ies)|inq|(credit|loan|existing) (amount|credits?)|instal?lment rate|\w*schulden?|\w*kredit\w*"
    r"|\w*darlehen|auslastung|belastung|ratenh[öo]he|restschuld)\b"
)
_COUNTED: Final = re.compile(
    r"\b(trade|account|acct|acc|(?:credit|unsecured|revolving|trade) ?line|loan|card|credit|mortgage|contract|polic"
    r"|inquir|enquir|inq|\w*kredit|\w*karte|konte|darlehen|\w*vertr[aä]g|police|anfrage)(s|ies|en|e|n|)\b"
)
"""Things that people have one by one, and that are counted."""
_NUMBER_OF: Final = re.compile(r"\b(num|number|count|counts|cnt|nb|nr|no|n|total|tot|anzahl|zahl|insgesamt)\b")
_MONEY: Final = re.compile(
    r"\b(amounts?|amt|sum|values?|limits?|rates?|ratio|duration|term|betrag|h[öo]he|summe|rate)\b"
)
_OWED: Final = re.compile(
    r"\b(debts?|dti|owed|owing|arrears|balances?|bal|utili[sz]ation|util|burden|\w*schuld(en)?|saldo|auslastung)\b"
)
_EARNED: Final = re.compile(r"\b(incomes?|salar(y|ies)|wages?|earnings?|\w*einkommen|\w*gehalt|\w*verdienst)\b")
_LEARNED: Final = re.compile(
    r"\b(education|degree|qualifications?|schooling|diploma|(schul|studien|berufs)?abschluss|ausbildung|bildung\w*)\b"
)
_TOTAL: Final = re.compile(r"\b(total|tot|satisfactory|lifetime|opened|insgesamt|gesamt\w*)\b")
_PRESENT: Final = re.compile(r"\b(open|active|current|existing|outstanding|offene?r?|aktive?r?|laufende?r?)\b")
_SHARE: Final = re.compile(r"\b(percent\w*|pct|perc|shares?|fraction|frac|proportion|anteil|prozent\w*|quote)\b")
_WINDOW: Final = re.compile(r"\b(?:last|past|recent|letzten?|letzter) (\d+) ([dwmyjt])")
_WINDOWS: Final = {"d": 12 / 365, "t": 12 / 365, "w": 12 / 52, "m": 1.0, "y": 12.0, "j": 12.0}
"""The months of a day, Tag, week, month, year and Jahr."""
_RECORD: Final = re.compile(
    r"\b(oldest|earliest|first|file|history|tenure|customer|client|account|[äa]lteste\w*|erste\w*|kunde\w*|konto)\b"
)
_LATEST: Final = re.compile(r"\b(most recent|last|latest|newest|letzte\w*|j[üu]ngste\w*|neueste\w*)\b")
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


def direction_of(name: str, counts: bool = False) -> tuple[Literal["increase", "decrease"], str] | None:
    """Which way a person can be asked to go, by the words of a column's name, with the reason.

    `counts` says that the column holds numbers of things, as `counted` takes it to.
    """
    words = words_of(name)
    if counts and _WINDOW.search(words):
        return "decrease", "Nobody should be told to open or to ask for more: it falls as months pass."
    if counts and _TOTAL.search(words) and not (_PRESENT.search(words) or _OWED.search(words)):
        return "increase", "It counts all that there have been, and never falls."
    if _LESS.search(words):
        return "decrease", "Nobody should be told to owe more."
    if _MORE.search(words):
        return "increase", "Nobody should be told to earn, save or learn less."
    return None


def units_a_month(name: str, unit: str | None) -> float | None:
    """How many units a clock advances in a month, by its unit or the words of its name; None where neither says."""
    for words in (words_of(unit or ""), words_of(name)):
        for pattern, rate in _UNITS:
            if pattern.search(words):
                return rate
    return None


def counted(name: str) -> str | None:
    """The things that a column counts, by its name: "trade" of `NumTotalTrades`; None where it counts none.

    One of them, as in `credit_amount`, is not counted; a number of them is, as in `num_inq`, and so are several.
    """
    words = words_of(name)
    if _MONEY.search(words):
        return None
    several = any(pattern.search(words) for pattern in (_NUMBER_OF, _SHARE, _WINDOW, _PRESENT))
    return next((match[1] for match in _COUNTED.finditer(words) if several or match[2]), None)


def begins_anew(clock: str, thing: str) -> bool:
    """Whether a clock, by its name, shows the time since the last of some things, so that a new one sets it to 0."""
    words, found = words_of(clock), topic_of(clock)
    things = {match[1] for match in _COUNTED.finditer(words)}
    return found is not None and found[0] == "clock" and thing in things and _LATEST.search(words) is not None


def window_of(name: str) -> float | None:
    """The months that a column counts over: 6 of `NumInqLast6M`; None where it counts all."""
    found = _WINDOW.search(words_of(name))
    return None if found is None else round(int(found[1]) * _WINDOWS[found[2]], 2)


def is_owed(name: str) -> bool:
    """Whether a column measures, or counts, what is owed: debts, utilisation, accounts with a balance."""
    return _OWED.search(words_of(name)) is not None


def is_earned(name: str) -> bool:
    """Whether a column measures what people earn, and should earn no less of: income, salary."""
    way = direction_of(name)
    return way is not None and way[0] == "increase" and _EARNED.search(words_of(name)) is not None


def is_learned(name: str) -> bool:
    """Whether a column's name has a word such as `education` or `Schulabschluss`."""
    return _LEARNED.search(words_of(name)) is not None


def is_share(name: str) -> bool:
    """Whether a column's name has a word such as `percent` or `Anteil`."""
    return _SHARE.search(words_of(name)) is not None


def dates_a_record(name: str) -> bool:
    """Whether a column is a clock that says how long a person's record has grown: months since the oldest account."""
    words, found = words_of(name), topic_of(name)
    return found is not None and found[0] == "clock" and bool(_RECORD.search(words)) and not _LATEST.search(words)


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


def years_of(levels: Sequence[str]) -> float | None:
    """The years from the first to the last of ordered levels such as "under 1 year" and "7 years or more"."""
    places = [place for level in levels if (place := _place(level.lower())) is not None and place[0] > -math.inf]
    units = {rate for pattern, rate in _UNITS for level in levels if pattern.search(words_of(level))}
    if len(places) < 2 or len(units) != 1:
        return None
    first, last = ((number if side >= 0 else 0.0) for number, side in (places[0], places[-1]))
    return (last - first) / (12 * units.pop())


def _place(text: str) -> tuple[float, int] | None:
    """Where a text such as "under 1 year" or "200 DM or more" stands: its first number, and before, at or after it."""
    if text.strip() in _NOTHING:
        return (-math.inf, 0)
    numbers = _NUMBER.findall(_THOUSANDS.sub("", text))
    if not numbers:
        return None
    return (float(numbers[0]), 0 if len(numbers) > 1 else -1 if _UNDER.search(text) else 1 if _OVER.search(text) else 0)
