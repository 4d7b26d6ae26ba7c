"""Features in the languages of the page: their words in the texts of letters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from attain.letters.languages import LANGUAGES
from attain.letters.texts import Texts, level_key
from attain.schema import Schema

_OWN = "en"
"""The language of schemas, whose words are used as they are."""


def add_words(
    features: Iterable[dict[str, Any]], texts: str | os.PathLike[str] | Mapping[str, Any] | None, schema: Schema
) -> None:
    """Adds `labels` and `units` to features, `labels` to their levels and `meanings` to special codes, by language."""
    languages = {} if texts is None else {code: spoken for code, spoken in LANGUAGES.items() if code != _OWN}
    read = {code: Texts.read(texts or {}, language, schema) for code, language in languages.items()}
    for feature in features:
        own = {code: found.of(schema[feature["name"]]) for code, found in read.items()}
        feature["labels"] = {code: words.label for code, words in own.items() if words.label}
        feature["units"] = {code: words.unit for code, words in own.items() if words.unit}
        levels = {code: words.levels for code, words in own.items()}
        for level in feature["levels"] or ():
            level["labels"] = _named(level["value"], levels)
        for special in feature["special"]:
            special["meanings"] = _named(special["code"], levels)


def _named(value: Any, levels: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The name of a level or special code in each language that has one."""
    key = level_key(value)
    return {code: names[key] for code, names in levels.items() if key in names}
