"""Words of the service in the languages of the page, its JSON, and its errors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from attain.core.errors import AttainError
from attain.core.files import as_json
from attain.desk.letters.texts import LANGUAGES, OWN, InputTexts, Texts, level_key
from attain.desk.service.rules import rule_sentence
from attain.methods import Explainer
from attain.schema import Feature
from attain.schema.schema import Rule
from attain.tables import ordinary

_QUANTILES = np.linspace(0.0, 1.0, 101)
_SENTENCES = {
    400: "The request could not be read; its body must be JSON.",
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
}
_WRONG = 422
"""What other errors of the client become."""


def translations(text: str | None) -> dict[str, str]:
    """Translations of a sentence of the package, by language; those that the catalogues have."""
    found = {code: spoken.translated(text) for code, spoken in LANGUAGES.items() if text and code != OWN}
    return {code: said for code, said in found.items() if said is not None}


class Wording:
    """The features, classes and rules of an explainer, with the operator's texts in every language.

    Parameters
    ----------
    texts
        The texts of letters; None where there are none, and the schema's own words are used.
    """

    def __init__(self, texts: str | os.PathLike[str] | Mapping[str, Any] | None, explainer: Explainer) -> None:
        self._explainer, self._schema = explainer, explainer.population_.schema
        self._read = {code: Texts.read(texts or {}, language, self._schema) for code, language in LANGUAGES.items()}

    def features(self) -> list[dict[str, Any]]:
        """Each feature, in the order of the training data."""
        return [self._feature(self._schema[name]) for name in self._explainer.population_.table.layout.columns]

    def _feature(self, feature: Feature) -> dict[str, Any]:
        j = self._schema.position(feature.name)
        cells = self._explainer.population_.values[:, j]
        known = cells[ordinary(feature, cells)]
        observed = tuple(float(side[j]) for side in self._explainer.population_.observed)
        ends = [seen if bound is None else bound for bound, seen in zip(feature.bounds, observed, strict=True)]
        own = {code: found.of(feature) for code, found in self._read.items()}
        levels = {code: words.levels for code, words in own.items()}
        quantiles = np.quantile(known, _QUANTILES, method="inverted_cdf").tolist() if len(known) else None
        return {
            "name": feature.name,
            "label": feature.title,
            "labels": _given(own, "label"),
            "unit": feature.unit,
            "units": _given(own, "unit"),
            "kind": feature.kind,
            "levels": [_named(level, str(level), levels) for level in feature.levels] or None,
            "low": ends[0] if feature.numeric else None,
            "high": ends[1] if feature.numeric else None,
            "bounds": feature.bounds,
            "observed": observed if feature.numeric else None,
            "step": feature.step,
            "immutable": feature.immutable,
            "direction": feature.direction,
            "special": [_named(code, meaning, levels) for code, meaning in feature.special.items()],
            "missing": bool(np.isnan(cells).any()),
            "computed": feature.computed is not None,
            "help": feature.description,
            "helps": _given(own, "help"),
            "quantiles": quantiles if feature.numeric else None,
            "default": self._explainer.population_.table.layout.value(feature.name, _usual(feature, cells, known)),
        }

    def class_of(self, label: Any, name: str | None) -> dict[str, Any]:
        """A class, and its names in each language."""
        return _named(label, name, {code: found.classes for code, found in self._read.items()})

    def rule(self, rule: Rule) -> dict[str, Any]:
        """A rule or law in the language of rules, and as sentences."""
        said = {code: rule_sentence(rule.formula, self._schema, texts) for code, texts in self._read.items()}
        return {"text": rule.text, "sentence": said[OWN], "sentences": said}


def _usual(feature: Feature, cells: np.ndarray, known: np.ndarray) -> float:
    """The median of an ordered feature, otherwise its most frequent level; missing where it always is."""
    if len(known) and feature.ordered:
        return float(np.quantile(known, 0.5, method="inverted_cdf"))
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    return float(values[counts.argmax()]) if len(values) else np.nan


def _given(texts: Mapping[str, InputTexts], name: str) -> dict[str, str]:
    """The texts of this name, by language."""
    return {code: text for code, words in texts.items() if (text := getattr(words, name))}


def _named(value: Any, label: str | None, names: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """A level, special code or class with its name, and those in each language that has one."""
    key = level_key(value)
    return {
        "value": value,
        "label": label,
        "labels": {code: known[key] for code, known in names.items() if key in known},
    }


def json_bytes(value: Any) -> bytes:
    """Compact JSON, in ASCII, so that any text can be sent."""
    return json.dumps(as_json(value, infinite=lambda _: None), separators=(",", ":")).encode("ascii")


class HttpError(Exception):
    """An error of the API: a status of HTTP, and a sentence that says why and what to do.

    Parameters
    ----------
    status
        401, 403, 404, 413, 422 or 429.
    message
        Why, and what to do.
    field
        The part of the question that is wrong, where it is one.
    retry
        After how many seconds to ask again.
    """

    def __init__(self, status: int, message: str, field: str | None = None, retry: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.field, self.retry = status, message, field, retry

    def response(self) -> Response:
        """The answer."""
        headers = {} if self.retry is None else {"Retry-After": str(self.retry)}
        body = {"error": {"message": self.message, "messages": translations(self.message), "field": self.field}}
        return Response(json_bytes(body), self.status, headers, "application/json")


def add_handlers(app: FastAPI) -> None:
    """Gives every error the same form."""

    async def respond(request: Request, error: Exception) -> Response:
        return _http_error(error).response()

    for kind in (HttpError, AttainError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, respond)


def _http_error(error: Exception) -> HttpError:
    if isinstance(error, HttpError):
        return error
    if isinstance(error, HTTPException):
        status = _WRONG if error.status_code == 400 else error.status_code
        return HttpError(status, _SENTENCES.get(error.status_code, str(error.detail)))
    if not isinstance(error, RequestValidationError):
        return HttpError(_WRONG, str(error))
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return HttpError(_WRONG, "The body is not JSON.")
    field = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path")) or None
    message = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    start, cased = ("", str.upper) if field is None else (f"{field}: ", str.lower)
    sentence = f"{start}{cased(message[:1])}{message[1:]}."
    return HttpError(_WRONG, sentence, field)
