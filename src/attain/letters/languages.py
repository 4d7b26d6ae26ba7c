"""Numbers, single words and the package's own sentences in the languages that letters are written in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any, Final

from attain.core.checks import check_choice
from attain.core.text import ENGLISH, GERMAN, Numbers

_NUMBER: Final = re.compile(r"-?\d[\d,]*(\.\d+)?%?")
_CUT_OFF: Final = re.compile(r" and (\d+) more$")
_LEAST: Final = 12
"""Templates with fewer letters of their own would fit other sentences, too."""
_LONGEST: Final = 2_000
"""Longer texts are not translated: they quote more than they say."""


@dataclass(frozen=True)
class Language(Numbers):
    """How a language writes numbers, and what it says instead of the package's English sentences."""

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


LANGUAGES: Final = {numbers.code: Language(**vars(numbers)) for numbers in (ENGLISH, GERMAN)}


def language_of(code: Any) -> Language:
    """The language with this code."""
    check_choice("language", code, LANGUAGES)
    return LANGUAGES[code]
