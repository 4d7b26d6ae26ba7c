"""A schema as TOML to read and edit, and back, exactly."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import tomlkit

from attain.core.errors import FileError, SchemaError, did_you_mean, listed
from attain.core.files import parse_toml, read_text, write_atomically
from attain.schema.feature import Feature
from attain.schema.schema import Law, Schema

FORMAT = "attain-schema-1"
SIDES = {"bounds": ("lower", "upper"), "range": ("down", "up"), "reach": ("lower", "upper")}
_DEFAULTS = {item.name: item.default for item in fields(Feature)}
_TOP = ("format", "max_months", "rules", "laws", "feature")
_INNER_QUOTES = re.compile(r'"[^"]*"[^\s,\]}=#"]')
"""A text in double quotes that goes on behind them."""


def write(schema: Schema, path: str | os.PathLike[str] | None = None) -> str:
    """The schema as TOML text without defaults; written to `path`, if given."""
    parts = [f'format = "{FORMAT}"' + ("" if schema.max_months is None else f"\nmax_months = {schema.max_months}")]
    lists = [_strings("rules", [(rule, "") for rule in schema.rules])] if schema.rules else []
    if schema.laws is not None:
        lists.append(_strings("laws", [(law.text, law.evidence) for law in schema.laws]))
    parts += ["\n".join(lists)] if lists else []
    for feature in schema:
        lines = [property_line(name, value, "\n    ") for name, value in stated_properties(feature).items()]
        parts.append("\n".join(["[[feature]]", *lines]))
    text = "\n\n".join(parts) + "\n"
    if path is not None:
        write_atomically(path, text.encode())
    return text


def _strings(key: str, items: Sequence[tuple[str, str]]) -> str:
    """The strings as an array, one a line with its comment."""
    lines = [f"\n  {_toml(item)},{f'  # {comment}' if comment else ''}" for item, comment in items]
    return f"{key} = [{''.join(lines)}" + ("\n]" if lines else "]")


def property_line(name: str, value: Any, between: str = "") -> str:
    """A property of a feature as TOML: on one line, or its tables on lines of their own, with `between` before each."""
    if name in ("special", "transitions"):
        keys = ("code", "meaning") if name == "special" else ("from", "to")
        tables = [between + _toml(dict(zip(keys, pair, strict=True))) for pair in value.items()]
        return f"{name} = [{(',' if between else ', ').join(tables)}" + (",\n]" if between else "]")
    if name in SIDES:
        value = {side: limit for side, limit in zip(SIDES[name], value, strict=True) if limit is not None}
    return f"{name} = {_toml(value)}"


def _toml(value: Any) -> str:
    """A value on one line; a text with double quotes in single ones."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str) and '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return tomlkit.item(value).as_string()


def stated_properties(feature: Feature) -> dict[str, Any]:
    """The properties that are neither defaults nor follow from the kind: those that TOML has."""
    implied: dict[str, Any] = {**_DEFAULTS, **({"step": 1.0} if feature.kind == "count" else {})}
    if feature.kind in ("count", "positive"):
        implied["bounds"] = (0.0, None)
    properties = {name: getattr(feature, name) for name in _DEFAULTS}
    return {name: value for name, value in properties.items() if value != implied[name] and value != {}}


def read_file(path: str | os.PathLike[str]) -> Schema:
    """The schema in a TOML file."""
    if not os.path.exists(path):
        raise FileError(f"there is no file {str(path)!r}; `attain schema infer` and `Schema.to_toml` write a schema")
    try:
        return read(read_text(path, "the schema"))
    except SchemaError as error:
        raise FileError(f"{path}: {error}") from None


def read(text: str) -> Schema:
    """The schema that a TOML text describes, or a `SchemaError` that names the feature and the key."""
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise SchemaError(f"the schema is not valid TOML: {error}{_quotes(text, str(error))}") from None
    if content.pop("format", FORMAT) != FORMAT:
        raise SchemaError(f"the text is not a schema of this version; its first line should be: format = {FORMAT!r}")
    rules, laws, max_months = content.pop("rules", []), content.pop("laws", None), content.pop("max_months", None)
    entries = content.pop("feature", [])
    if content:
        meant = did_you_mean(next(iter(content)), _TOP) or "; known are format, max_months, rules, laws and [[feature]]"
        raise SchemaError(f"the schema has unknown keys: {listed(content)}{meant}")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SchemaError("each feature must start with a line [[feature]], in double brackets")
    for key, texts in (("rules", rules), ("laws", [] if laws is None else laws)):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise SchemaError(f"{key} must be a list of strings, such as ['a <= b'], got {texts!r}")
    found = None if laws is None else tuple(map(Law, laws))
    return Schema(tuple(map(_feature, entries)), tuple(rules), found, max_months)


def _quotes(text: str, message: str) -> str:
    """Advice where a text in double quotes has double quotes inside, in the line that the message names."""
    line = re.search(r"at line (\d+)", message)
    lines = text.splitlines() if line is None else text.splitlines()[int(line[1]) - 1 : int(line[1])]
    if not any(_INNER_QUOTES.search(one) for one in lines):
        return ""
    return "; a text with double quotes inside goes in single quotes: 'job = \"self employed\"'"


def _feature(entry: Mapping[str, Any]) -> Feature:
    name = entry.get("name")
    if not isinstance(name, str):
        raise SchemaError(f"a feature has no name: {dict(entry)!r}")
    if "kind" not in entry:
        raise SchemaError(f"feature {name!r} has no kind")
    unknown = [key for key in entry if key not in _DEFAULTS]
    if unknown:
        meant = did_you_mean(unknown[0], [*_DEFAULTS]) or f"; known are {', '.join(_DEFAULTS)}"
        raise SchemaError(f"feature {name!r} has unknown keys: {listed(unknown)}{meant}")
    properties: dict[str, Any] = {}
    for key, value in entry.items():
        try:
            properties[key] = _parsed(key, value)
        except (TypeError, KeyError, AttributeError, ValueError):
            raise SchemaError(
                f"feature {name!r}: {key} = {value!r} cannot be parsed; write it as {key} = {FORMS[key]}"
            ) from None
    return Feature(**properties)


FORMS = {
    "name": '"income"',
    "kind": '"positive"',
    "levels": '["low", "high"]',
    "bounds": "{lower = 0, upper = 100}",
    "step": "10",
    "special": '[{code = -9, meaning = "no record"}]',
    "immutable": "true",
    "immutable_if": '"debt is missing"',
    "direction": '"increase"',
    "range": "{down = -2, up = 1}",
    "reach": "{lower = 10, upper = 90}",
    "transitions": '[{from = "rents", to = ["owns"]}]',
    "avoid": '["unknown"]',
    "pace": "200",
    "clock": "1",
    "cost": "2.5",
    "fillable": "true",
    "derived": '"debt / income"',
    "follows": '"months * charge"',
    "likelihood": '"poisson"',
    "reviewed": '"Ada, 2026-11-19"',
    "label": '"monthly income"',
    "unit": '"€"',
    "description": '"before tax"',
}
"""An example of each property."""


def _parsed(key: str, value: Any) -> Any:
    if key in SIDES:
        if set(value) - set(SIDES[key]):
            raise KeyError
        return tuple(value.get(side) for side in SIDES[key])
    if key == "special":
        return {item["code"]: item.get("meaning", "") for item in value}
    if key == "transitions":
        return {item["from"]: tuple(item["to"]) for item in value}
    if key in ("levels", "avoid") and not isinstance(value, list):
        raise TypeError
    return tuple(value) if key in ("levels", "avoid") else value
