"""The texts of letters: a sentence for each input, and words that replace the schema's.

As TOML:

    [letter.en]
    subject = "Your application for a loan"

    [classes.good]
    en = "granted"

    [inputs.duration.en]
    label = "term of the loan"
    high = "The term of {value} is long."
    text = "The term of the loan."
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import resources
from typing import Any, Final

import tomlkit

from attain.core.arrays import as_python
from attain.core.errors import AttainError, FileError, check_choice, listed
from attain.core.files import read_toml
from attain.core.text import ENGLISH, GERMAN, Numbers, number, plain
from attain.schema import Feature, Schema

WORDS: Final = ("subject", "greeting", "refused", "approved", "unreadable", "contact", "closing")
"""The sentences of a letter that the table may replace."""
OWN: Final = "en"
"""The language of schemas and of the package's own sentences."""
_VALUE: Final = "{value}"
MISSING: Final = "missing"
"""The key of a missing cell among levels."""


_NUMBER: Final = re.compile(r"-?\d[\d,]*(\.\d+)?%?")
_CUT_OFF: Final = re.compile(r" and (\d+) more$")
_IN_WORDS: Final = re.compile(r"[a-z]{3,}( [a-z]+)*")
_LEAST: Final = 12
"""Templates with fewer fixed letters would fit other sentences, too."""
_LONGEST: Final = 2_000
"""Longer texts are not translated: they quote more than they say."""


@dataclass(frozen=True)
class Language(Numbers):
    """How a language writes numbers, and its translations of the package's English sentences."""

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
        """A filled-in part, translated: a number, another sentence, or words that stay as they are."""
        if _NUMBER.fullmatch(text):
            return text.translate({ord(","): self.thousands, ord("."): self.decimal}).replace("%", f"{self.percent}%")
        return self.translated(text) or _CUT_OFF.sub(lambda found: self.said(" and {} more", found[1]), text)

    @cached_property
    def sentences(self) -> Mapping[str, str]:
        """Translations of the package's English templates, with `{}` for what is filled in; empty for English."""
        place = resources.files("attain.desk.letters").joinpath(f"{self.code}.toml")
        return tomllib.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """A pattern for each template with something to fill in, those with more fixed words first."""
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


@dataclass(frozen=True)
class InputTexts:
    """What letters say about one input, in one language.

    Parameters
    ----------
    label, unit, unit_one, help
        Instead of the schema's label, unit and description; the unit of the number 1.
    text
        Why this input counts against somebody. `{value}` in it is the person's own value.
    high, low
        The same where the value is above, or below, the median of people with the desired decision.
    levels
        Names of levels and special codes, instead of the schema's; "missing" is a missing cell.
    level_texts
        Reasons where the person has this level or special code. A special code or missing cell has no `text` with
        `{value}` in it.
    """

    label: str = ""
    unit: str = ""
    unit_one: str = ""
    help: str = ""
    text: str = ""
    high: str = ""
    low: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    level_texts: Mapping[str, str] = field(default_factory=dict)


_CASES: Final = tuple(item.name for item in fields(InputTexts))
_NESTED: Final = ("levels", "level_texts")
_ANY: Final = "*"
"""In a shape, a key of any name."""


@dataclass(frozen=True)
class Texts:
    """The texts of one language.

    Attributes
    ----------
    language
        How numbers are written.
    words
        The sentences of `WORDS`, empty where the template's own is used.
    inputs
        By the name of the feature.
    classes
        What decisions are called, by the class as a text.
    lacking
        The names that were asked for and that are not known in this language, such as `amount (label)`.
    """

    language: Language
    words: Mapping[str, str]
    inputs: Mapping[str, InputTexts]
    classes: Mapping[str, str]
    lacking: dict[str, None] = field(default_factory=dict)

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Mapping[str, Any], language: Language, schema: Schema) -> Texts:
        """From a TOML file, or a dictionary like it; see the module's text."""
        if isinstance(source, Mapping):
            return cls._of(source, "texts", language, schema)
        try:
            return cls._of(read_toml(source), repr(str(source)), language, schema)
        except AttainError as error:
            raise FileError(str(error)) from None

    @classmethod
    def _of(cls, content: Mapping[str, Any], title: str, language: Language, schema: Schema) -> Texts:
        code, shape = language.code, _shape(schema)
        _check_keys(content, shape, title)
        letter, inputs, classes = (_checked(content.get(name, {}), shape[name], f"{title}, {name}") for name in shape)
        return cls(
            language,
            dict.fromkeys(WORDS, "") | letter.get(code, {}),
            {name: InputTexts(**texts.get(code, {})) for name, texts in inputs.items()},
            {label: texts[code] for label, texts in classes.items() if code in texts},
        )

    def of(self, feature: Feature) -> InputTexts:
        """The texts of a feature; all empty where the table has none."""
        return self.inputs.get(feature.name, InputTexts())

    def label(self, feature: Feature) -> str:
        return self._named(feature, "label", self.of(feature).label, _title(feature)) or plain(feature.title)

    def _named(self, feature: Feature, name: str, own: str, schema: str | None) -> str:
        """A name in this language: the table's, or else the schema's if that has this language; otherwise lacking."""
        if not own and (self.language.code != OWN or schema is None):
            self.lacking[f"{feature.name} ({name})"] = None
        return plain(own or schema or "")

    def value(self, feature: Feature, cell: Any) -> str:
        """A value with its unit, or the name of a level or special code."""
        own, key = self.of(feature), level_key(cell)
        if key in own.levels:
            return plain(own.levels[key])
        if cell is None:
            return self.language.missing
        if isinstance(cell, bool):
            return self.language.yes if cell else self.language.no
        meaning: str | None = "" if _is_number(cell) else str(cell)
        if feature.numeric:
            meaning = feature.special.get(float(cell))
        if meaning is not None:  # a level, or a special code
            return self._named(feature, f"level {key}", "", meaning) if meaning else self.language.number(cell)
        unit = own.unit or feature.unit or ""
        if any(map(str.isalpha, unit)):
            self._named(feature, "unit", own.unit, unit)
        return self.language.quantity(cell, plain(own.unit_one if own.unit_one and cell == 1 else unit))

    def start(self, feature: Feature, cell: float) -> str:
        """The first number of a range: without its unit, which stands behind the last, unless units stand in front."""
        unit = self.of(feature).unit or feature.unit or ""
        return self.value(feature, cell) if self.language.leads(unit) else self.language.number(cell, bool(unit))

    def reason(self, feature: Feature, cell: Any, side: str) -> str:
        """Why this input counts against somebody whose value is `cell`; empty where the table does not say.

        `side` is "high" or "low" where the value is above or below the usual one, otherwise empty. A sentence with
        `{value}` is about a number or a level: a special code or a missing cell needs a separate one.
        """
        own = self.of(feature)
        sided = {"high": own.high, "low": own.low}.get(side, "")
        general = "" if _VALUE in own.text and is_coded(feature, cell) else own.text
        chosen = own.level_texts.get(level_key(cell)) or sided or general
        return plain(chosen.replace(_VALUE, self.value(feature, cell)) if _VALUE in chosen else chosen)


def _title(feature: Feature) -> str | None:
    """The label of a feature, or its name if that consists of words; None where it has no name for people."""
    return feature.label or (feature.name if _IN_WORDS.fullmatch(feature.name) else None)


def is_coded(feature: Feature, cell: Any) -> bool:
    """Whether a value is missing or a special code."""
    return cell is None or (feature.numeric and float(cell) in feature.special)


def level_key(cell: Any) -> str:
    """The key of a level, special code or missing cell in the table."""
    cell = as_python(cell)
    if cell is None:
        return MISSING
    return str(cell).lower() if isinstance(cell, bool) else number(cell) if _is_number(cell) else str(cell)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _shape(schema: Schema) -> dict[str, Any]:
    """The keys that a table of texts may have, nested, with `str` where a text stands."""
    inputs = {}
    for feature in schema:
        keys = dict.fromkeys(map(level_key, (*feature.levels, *feature.special, None)), str)
        inputs[feature.name] = {code: {case: keys if case in _NESTED else str for case in _CASES} for code in LANGUAGES}
    return {
        "letter": dict.fromkeys(LANGUAGES, dict.fromkeys(WORDS, str)),
        "inputs": inputs,
        "classes": {_ANY: dict.fromkeys(LANGUAGES, str)},
    }


def _checked(given: Any, shape: Any, title: str) -> Any:
    """What is given, without empty texts, if it has that shape."""
    if shape is str:
        if not isinstance(given, str):
            raise AttainError(f"{title} must be a text, got {given!r}")
        return given.strip() and given
    given = {"text": given} if isinstance(given, str) and "text" in shape else given
    _check_keys(given, shape, title)
    found = {name: _checked(part, shape.get(name, shape.get(_ANY)), f"{title}.{name}") for name, part in given.items()}
    return {name: part for name, part in found.items() if part != ""}


def _check_keys(given: Any, shape: Mapping[str, Any], title: str) -> None:
    if not isinstance(given, Mapping):
        raise AttainError(f"{title} must be a table of texts, got {given!r}")
    unknown = [name for name in given if name not in shape and _ANY not in shape]
    if unknown:
        raise AttainError(f"{title} has {listed(unknown)}; its keys are {listed(shape, 40)}")


def texts_template(schema: Schema, languages: Iterable[str] = tuple(LANGUAGES)) -> str:
    """A TOML file with every input of a schema, to be filled in; what is optional is a comment."""
    lines = [f"# {line}" for line in _INTRODUCTION.splitlines()]
    codes = list(languages)
    for code in codes:
        lines += ["", f"[letter.{code}]", *_optional(dict.fromkeys(WORDS, ""))]
    for feature in schema:
        levels = {level_key(level): str(level) for level in feature.levels}
        levels |= {level_key(special): meaning for special, meaning in feature.special.items()}
        names = {"label": feature.title} | ({"unit": feature.unit} if feature.unit else {})
        names |= {f"levels.{_key(key)}": name for key, name in levels.items()}
        for code in codes:
            known = [name for name in names if code == OWN and (name != "label" or _title(feature))]
            optional = {name: names[name] for name in known}
            optional |= dict.fromkeys(("high", "low") if feature.ordered else (), "")
            optional |= {f"levels.{MISSING}": LANGUAGES[code].missing}
            optional |= {f"level_texts.{_key(key)}": "" for key in (*levels, MISSING)}
            lines += ["", f"[inputs.{_key(feature.name)}.{code}]", 'text = ""']
            lines += [f'{name} = ""  # {plain(text)}' for name, text in names.items() if name not in known]
            lines += _optional(optional)
    return "\n".join([*lines, ""])


def _optional(texts: Mapping[str, str]) -> list[str]:
    return [f"# {name} = {tomlkit.string(text).as_string()}" for name, text in texts.items()]


def _key(name: str) -> str:
    return tomlkit.key(name).as_string()


_INTRODUCTION: Final = """Texts of letters. Fill in a reason (text) for each input: one or two short sentences that tell
a person why it counted against them. {value} in it is the person's own value. Lines that begin
with # are optional: remove the # to use them. high and low replace text where the value is above
or below the median of people with the desired decision; label, unit and levels are the names
that letters use: in English the schema's may stand, every other language needs its own;
level_texts are reasons for single levels; missing is an empty cell."""
