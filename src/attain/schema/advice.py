"""What a person should decide about the columns of a schema, each item with its reason and the line that does it.

    for item in schema.advise(train):
        print(item)

Columns that people do not choose, columns about the past, clocks and scores that others compute are recognised by the
words of their names, in English and German; identifiers, codes, unknown levels, steps and doubled columns by what they
hold. What the schema decides already needs no advice: a column that is immutable, or may only increase.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from attain.core.frames import Frame
from attain.core.text import number
from attain.schema.feature import Feature
from attain.schema.reading import read_frame
from attain.schema.schema import Schema

Topic: TypeAlias = Literal["choice", "clock", "past", "score", "identifier", "code", "unknown", "step", "double"]

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
    r"\b(age|since|seit|tenure|seniority|(years?|months?|days?|time) (at|in|with|on)|m in file|experience"
    r"|length of (employment|service|residence|credit|history)|(emp|employment|job|service) (length|duration|years)"
    r"|(years?|months?) (employed|of service)|working years|betriebszugeh\w+|dienstjahre|berufserfahrung)\b"
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
_TOPICS: Final[tuple[tuple[Topic, re.Pattern[str], str], ...]] = (
    ("clock", _CLOCK, "It advances with time, and never goes back."),
    ("past", _PAST, "It is about the past, which nobody can change."),
    ("score", _SCORE, "Others compute it from the rest of the record: nobody can change it by itself."),
)
_WORD: Final = re.compile(r"[A-ZÄÖÜ]+(?![a-zäöüß])|[A-ZÄÖÜ]?[a-zäöüß]+|\d+")
_IDENTIFIER: Final = re.compile(r"\b(id|ids|uuid|guid|key|index|rownum|ssn|iban|serial|\w*nummer|\w+nr)\b")
_UNKNOWN: Final = re.compile(
    r"^(|\?+|-+|\.+|n[/.]?a\.?|nan|null|unk|missing|k\.?\s?a\.?|no (\w+ )?account|kein \w*konto)$"
    r"|\b(unknown|not (known|available|applicable|stated|given)|undisclosed|unbekannt|keine angabe)\b"
)
_FEWEST: Final = 30
"""The number of rows above which values that all differ say something."""
_COINCIDENCES: Final = 10
"""So many equal pairs would be expected among random numbers of the same spread, where an identifier has none."""
_CODES: Final = tuple(float(f"{first}{digit}") for first in ("", "9", "99", "999", "9999") for digit in range(96, 100))
_REPEATED: Final = tuple(float(digit * length) for length in range(2, 7) for digit in "78")
_BELOW: Final = (-1.0, *(-float(str(digit) * length) for length in range(1, 6) for digit in (7, 8, 9)))
_PILE: Final = 5
"""So many rows must have a code."""
_DIGITS: Final = 100
"""A step divides the middle half of the values into about so many parts."""


@dataclass(frozen=True)
class Advice:
    """One thing to decide about a column.

    Attributes
    ----------
    column
        The name of the column.
    about
        The topic: `choice`, `clock`, `past`, `score`, `identifier`, `code`, `unknown`, `step` or `double`.
    reason
        Why, in a sentence.
    changes
        The properties of the feature that decide it: `{"immutable": True}`.
    """

    column: str
    about: Topic
    reason: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def toml(self) -> str:
        """The lines for the feature in a TOML file; empty where there is none."""
        from attain.schema.toml import property_line

        return "\n".join(property_line(name, value) for name, value in self.changes.items())

    @property
    def python(self) -> str:
        """The same in Python."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.changes.items())
        return f"schema.change({self.column!r}, {given})" if given else ""

    def __str__(self) -> str:
        return f"{self.column}: {self.reason}" + (f"\n  schema = {self.python}" if self.python else "")


def advise(schema: Schema, frame: Frame) -> tuple[Advice, ...]:
    """What is to be decided about the columns of a frame, in the schema's order."""
    columns, doubles = read_frame(frame, schema.features).T, _doubles(schema)
    items: list[Advice] = []
    for feature, cells in zip(schema, columns, strict=True):
        known = cells[~np.isnan(cells)]
        items += _named(feature)
        items += _identifier_code_or_step(feature, known) if feature.numeric else _unknown(feature, known)
        twin = doubles.get(feature.name)
        if twin is not None and feature.searched and schema[twin].searched:
            reason = f"It says the same as {twin}: leave one of the two out, if the model can do without it."
            items.append(Advice(feature.name, "double", reason))
    return tuple(items)


def columns_to_decide(schema: Schema) -> dict[str, str]:
    """The columns that a search may change though, by their names, nobody can; each with the reason."""
    return {item.column: item.reason for feature in schema for item in _named(feature)}


def _named(feature: Feature) -> Iterator[Advice]:
    """What the name says, where nobody has decided how the column may change."""
    limits = ("clock", "pace", "direction", "range", "reach", "cost")
    limited = any(getattr(feature, name) != getattr(Feature, name) for name in limits)
    limited |= bool(feature.transitions and not feature.numeric)
    found = topic_of(feature.name)
    if found is None or limited or not feature.searched:
        return
    changes: dict[str, Any] = {"immutable": True}
    if found[0] == "clock":
        rate = _units_a_month(feature)
        if feature.numeric and rate is not None and not (feature.transitions or feature.fillable):
            changes = {"clock": _plain(round(rate, 4))}
        elif feature.ordered:
            changes = {"direction": "increase"}
    yield Advice(feature.name, *found, changes)


@lru_cache(4096)
def topic_of(name: str) -> tuple[Topic, str] | None:
    """The topic that the words of a column's name suggest, with the reason."""
    words = words_of(name)
    for what, names in _PERSONAL.items():
        if re.search(rf"\b({names})\b", words) and not (what == "age" and _THINGS.search(words)):
            return "choice", f"People do not choose their {what}: no answer should ask for a change of it."
    for topic, pattern, reason in _TOPICS:
        if pattern.search(words):
            return topic, reason
    return None


def words_of(name: str) -> str:
    """The words of a column's name, in lower case: `yearsAtCompany`, `years_at_company` are "years at company"."""
    return " ".join(_WORD.findall(name)).lower()


def _units_a_month(feature: Feature) -> float | None:
    """How many units a clock advances in a month, by its unit or the words of its name; None where neither says."""
    texts = (words_of(feature.unit or ""), words_of(feature.name))
    return next((rate for words in texts for pattern, rate in _UNITS if pattern.search(words)), None)


def _doubles(schema: Schema) -> dict[str, str]:
    """The columns that say the same as an earlier one: by the laws, each determines the other."""
    found = list(filter(None, (rule.determines for rule in schema.parsed_laws)))
    single = {(name, value.names[0]) for name, value in found if len(value.names) == 1}
    pairs = {pair for pair in single if pair[::-1] in single}
    pairs |= {(name, value.column) for name, value in found if value.column is not None}
    return {later: earlier for earlier, later in (sorted(pair, key=schema.position) for pair in sorted(pairs))}


def _identifier_code_or_step(feature: Feature, cells: np.ndarray) -> Iterator[Advice]:
    codes = _codes(cells)
    ordinary = cells[~np.isin(cells, [*codes, *feature.special])]
    if not feature.searched:
        return
    if _identifies(feature.name, ordinary):
        reason = "It is different in every row, so it seems to identify people: leave it out, or let nothing change it."
        yield Advice(feature.name, "identifier", reason, {"immutable": True})
        return
    if not feature.special.keys() >= set(codes):
        counts = [f"{number(code)} ({int((cells == code).sum()):,} rows)" for code in codes]
        reason = (
            f"{' and '.join(counts)} {'is' if len(codes) == 1 else 'are'} far from all other values, "
            f"{number(ordinary.min())} to {number(ordinary.max())}: a code for a state rather than a number."
        )
        meant = {**dict.fromkeys(codes, ""), **feature.special}
        special = {_plain(code): meant[code] or f"code {number(code)}" for code in sorted(meant)}
        yield Advice(feature.name, "code", reason, {"special": special})
    step = _step(ordinary)
    if step is not None and feature.step is None:
        reason = "Without a step, a new value may have six digits: more than anybody can aim at."
        yield Advice(feature.name, "step", reason, {"step": step})


def _plain(code: float) -> float | int:
    return int(code) if code.is_integer() else code


def _identifies(name: str, values: np.ndarray) -> bool:
    """Whether integers differ in every row, and that is no accident.

    n numbers drawn at random from R integers have about n² / 2R equal pairs.
    """
    n = len(values)
    if n <= _FEWEST or (values != np.floor(values)).any() or len(np.unique(values)) < n:
        return False
    return bool(_IDENTIFIER.search(words_of(name))) or n * n / 2 >= _COINCIDENCES * (np.ptp(values) + 1)


def _codes(values: np.ndarray) -> list[float]:
    """Values such as 98, 999 or −9 that several rows have, beyond a gap as wide as the range of all others."""
    distinct, counts = np.unique(values, return_counts=True)
    codes: list[float] = []
    for known, inward in (((*_CODES, *_REPEATED), -1), (_BELOW, 1)):
        repeated = np.isin(distinct, known) & (counts > 1)
        # codes stand at the very end
        ends = np.logical_and.accumulate(repeated[::inward])[::inward]
        others = distinct[~ends]
        if not ends.any() or len(others) < 2 or counts[ends].sum() < _PILE:
            continue
        gap = np.abs(distinct[ends][0 if inward < 0 else -1] - others[-1 if inward < 0 else 0])
        if gap >= np.ptp(others) or (inward > 0 and others[0] >= 0):
            codes += distinct[ends].tolist()
    return codes


def _step(values: np.ndarray) -> float | None:
    """A power of ten for numbers with more digits than anybody can aim at; None for integers."""
    if not len(values) or (values == np.floor(values)).all():
        return None
    for low, high in ((25, 75), (5, 95), (0, 100)):
        spread = float(np.subtract(*np.percentile(values, [high, low])))
        if spread > 0:
            return float(f"1e{round(math.log10(spread / _DIGITS))}")
    return None


def _unknown(feature: Feature, cells: np.ndarray) -> Iterator[Advice]:
    found = [level for level in feature.levels if isinstance(level, str) and _UNKNOWN.search(level.strip().lower())]
    decided = set(found) <= set(feature.avoid) or not feature.searched or bool(feature.transitions)
    if not decided and len(found) < len(feature.levels):
        rows = int(np.isin(cells, [feature.levels.index(level) for level in found]).sum())
        shown = " and ".join(f"“{level}”" for level in found)
        reason = (
            f"{shown} ({rows:,} rows) {'seems' if len(found) == 1 else 'seem'} to mean that nothing is known: no "
            "answer should lead to it. Cells that say nothing else may as well be empty."
        )
        yield Advice(feature.name, "unknown", reason, {"avoid": tuple(dict.fromkeys((*feature.avoid, *found)))})
