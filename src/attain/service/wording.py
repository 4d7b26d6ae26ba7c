"""Words in the languages of the page: those of the operator's texts, and the package's own from its catalogues."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from attain.letters.rules import rule_sentence
from attain.letters.texts import LANGUAGES, Texts, level_key
from attain.schema import Schema
from attain.schema.schema import Rule

OWN = "en"
"""The language of schemas and of the package's own sentences."""


def translations(text: str | None) -> dict[str, str]:
    """A sentence of the package in other languages, where their catalogues have it."""
    if not text:
        return {}
    found = {code: spoken.translated(text) for code, spoken in LANGUAGES.items() if code != OWN}
    return {code: said for code, said in found.items() if said is not None}


def sentence_of(text: str) -> dict[str, Any]:
    """A sentence of the package, with its translations."""
    return {"text": text, "texts": translations(text)}


class Wording:
    """The operator's texts in every language.

    Parameters
    ----------
    texts
        The texts of letters; None where there are none, and the schema's own words are used.
    """

    def __init__(self, texts: str | os.PathLike[str] | Mapping[str, Any] | None, schema: Schema) -> None:
        self._schema = schema
        self._read = {code: Texts.read(texts or {}, language, schema) for code, language in LANGUAGES.items()}

    def add_to(self, features: Iterable[dict[str, Any]]) -> None:
        """Adds `labels`, `units` and `helps` to features, `labels` to their levels and `meanings` to special codes."""
        for feature in features:
            own = {code: found.of(self._schema[feature["name"]]) for code, found in self._read.items()}
            for name in ("label", "unit", "help"):
                feature[f"{name}s"] = {code: text for code, words in own.items() if (text := getattr(words, name))}
            levels = {code: words.levels for code, words in own.items()}
            for level in feature["levels"] or ():
                level["labels"] = _named(level["value"], levels)
            for special in feature["special"]:
                special["meanings"] = _named(special["code"], levels)

    def class_of(self, label: Any, name: str | None) -> dict[str, Any]:
        """A class, what the operator calls it, and in which languages."""
        named = _named(label, {code: found.classes for code, found in self._read.items()})
        return {"value": label, "label": name, "labels": named}

    def rule(self, rule: Rule) -> dict[str, Any]:
        """A rule or law as the language of rules has it, and in words."""
        said = {code: rule_sentence(rule.formula, self._schema, texts) for code, texts in self._read.items()}
        return {"text": rule.text, "sentence": said[OWN], "sentences": said}


def _named(value: Any, names: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The name of a level, special code or class in each language that has one."""
    key = level_key(value)
    return {code: known[key] for code, known in names.items() if key in known}
