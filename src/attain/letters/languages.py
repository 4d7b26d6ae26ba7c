"""Numbers, single words and the package's own sentences in the languages that letters are written in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from importlib import resources
from typing import Any, Final

from attain.core.checks import check_choice
from attain.core.text import MONEY, is_grouped, with_unit

_MOST_DECIMALS, _LARGEST = 12, 1e15
"""Numbers with more decimals, or as large as this, are not printed."""
_NUMBER: Final = re.compile(r"-?\d[\d,]*(\.\d+)?%?")
_CUT_OFF: Final = re.compile(r" and (\d+) more$")
_LEAST: Final = 12
"""Templates with fewer letters of their own would fit other sentences, too."""
_LONGEST: Final = 2_000
"""Longer texts are not translated: they quote more than they say."""


@dataclass(frozen=True)
class Language:
    """How a language writes numbers, and what it calls what the schema has no word for."""

    code: str
    decimal: str
    thousands: str
    percent: str
    """What stands before the sign `%`."""
    money_first: bool
    """Whether signs of currencies stand before the number."""
    missing: str
    month: str
    months: str
    yes: str
    no: str

    def said(self, template: str, *given: str) -> str:
        """A template of the package, filled in."""
        return self.sentences.get(template, template).format(*given)

    def translated(self, text: str) -> str | None:
        """An English sentence of the package in this language; None where it is not in the catalogue."""
        if text in self.sentences:
            return self.sentences[text]
        if len(text) > _LONGEST:
            return None
        for pattern, template in self._patterns:
            if found := pattern.fullmatch(text):
                return template.format(*map(self._part, found.groups()))
        return None

    def _part(self, text: str) -> str:
        """What fills in a sentence: a number, another sentence, or words that stay as they are."""
        if _NUMBER.fullmatch(text):
            return text.translate({ord(","): self.thousands, ord("."): self.decimal}).replace("%", f"{self.percent}%")
        return self.translated(text) or _CUT_OFF.sub(lambda found: self.said(" and {} more", found[1]), text)

    @cached_property
    def sentences(self) -> Mapping[str, str]:
        """What the package says in English, by template, where `{}` is what is filled in; empty for English itself."""
        place = resources.files("attain.letters").joinpath(f"{self.code}.toml")
        return tomllib.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """A pattern for each sentence with something to fill in, those with more words of their own first."""
        filled = sorted((one for one in self.sentences if "{}" in one), key=lambda one: -len(one))
        return [
            (re.compile("(.*?)".join(map(re.escape, one.split("{}"))), re.DOTALL), self.sentences[one])
            for one in filled
            if len(one.replace("{}", "")) >= _LEAST
        ]

    def number(self, value: float, unit: bool = False) -> str:
        """All digits of a number: `1.234,5` in German. `unit` says whether a unit follows."""
        text = format(Decimal(repr(float(value))) + 0, ",f" if is_grouped(value, unit) else "f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.translate({ord(","): self.thousands, ord("."): self.decimal})

    def quantity(self, value: float, unit: str) -> str:
        """A number with its unit, which may be empty: `$1,200` in English, `1.200 $` in German."""
        shown = self.number(value, bool(unit))
        return with_unit(shown, unit, money_first=self.money_first, percent=self.percent)

    def leads(self, unit: str) -> bool:
        """Whether a unit stands before its number."""
        return self.money_first and unit in MONEY

    def duration(self, months: float) -> str:
        """`1 month`, `6 months`."""
        return f"{self.number(months)} {self.month if months == 1 else self.months}"


LANGUAGES: Final = {
    "en": Language("en", ".", ",", "", True, "no entry", "month", "months", "yes", "no"),
    "de": Language("de", ",", ".", " ", False, "keine Angabe", "Monat", "Monate", "ja", "nein"),
}


def language_of(code: Any) -> Language:
    """The language with this code."""
    check_choice("language", code, LANGUAGES)
    return LANGUAGES[code]


def printable(value: float) -> bool:
    """Whether a letter can show every digit of a number."""
    exponent = Decimal(repr(float(value))).normalize().as_tuple().exponent
    return abs(value) < _LARGEST and isinstance(exponent, int) and -exponent <= _MOST_DECIMALS
