"""A schema as TOML that people can read and edit, and back, exactly."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from attain.core.errors import SchemaError, listed
from attain.schema.schema import Feature, Schema

FORMAT = "attain-schema-1"
_SIDES = {"bounds": ("lower", "upper"), "range": ("down", "up")}
_DEFAULTS = {item.name: item.default for item in fields(Feature)}


def write(schema: Schema) -> str:
    """The schema as TOML text; properties with their default value are left out."""
    parts = [f"format = {_value(FORMAT)}"]
    if schema.rules:
        parts.append("rules = [\n" + "".join(f"  {_value(rule)},\n" for rule in schema.rules) + "]")
    parts += [_feature_text(feature) for feature in schema]
    return "\n\n".join(parts) + "\n"


def _feature_text(feature: Feature) -> str:
    lines = ["[[feature]]", f"name = {_value(feature.name)}", f"kind = {_value(feature.kind)}"]
    implied = _implied(feature)
    for item in fields(Feature)[2:]:
        value = getattr(feature, item.name)
        if value == implied.get(item.name, _DEFAULTS[item.name]) or value == {}:
            continue
        lines.append(f"{item.name} = {_property(item.name, value)}")
    return "\n".join(lines)


def _implied(feature: Feature) -> dict[str, Any]:
    """What the kind alone already says."""
    implied: dict[str, Any] = {"step": 1.0} if feature.kind == "count" else {}
    if feature.kind in ("count", "positive"):
        implied["bounds"] = (0.0, None)
    return implied


def _property(name: str, value: Any) -> str:
    if name in _SIDES:
        pairs = zip(_SIDES[name], value, strict=True)
        return "{ " + ", ".join(f"{side} = {_value(limit)}" for side, limit in pairs if limit is not None) + " }"
    if name == "special":
        return _records(f"{{ code = {_value(code)}, meaning = {_value(meaning)} }}" for code, meaning in value.items())
    if name == "transitions":
        return _records(f"{{ from = {_value(start)}, to = {_value(goals)} }}" for start, goals in value.items())
    return _value(value)


def _records(items: Iterable[str]) -> str:
    return "[\n" + "".join(f"  {item},\n" for item in items) + "]"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are a subset of TOML's, but for the delete character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return repr(value)


def read(text: str) -> Schema:
    """The schema a TOML text describes, or a `SchemaError` that names the feature and the key."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"the schema is no valid TOML: {error}") from None
    if content.pop("format", FORMAT) != FORMAT:
        raise SchemaError(f"the text is no schema of this version; its first line should be: format = {FORMAT!r}")
    rules = content.pop("rules", [])
    entries = content.pop("feature", [])
    if content:
        raise SchemaError(f"the schema has unknown keys: {listed(content)}; it takes format, rules and [[feature]]")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SchemaError("each feature starts with a line [[feature]], in double brackets")
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise SchemaError("rules takes a list of texts, such as ['a <= b']")
    return Schema(tuple(_feature(entry) for entry in entries), tuple(rules))


def _feature(entry: Mapping[str, Any]) -> Feature:
    name = entry.get("name")
    if not isinstance(name, str):
        raise SchemaError(f"a feature has no name: {dict(entry)!r}")
    if "kind" not in entry:
        raise SchemaError(f"feature {name!r} has no kind")
    unknown = [key for key in entry if key not in _DEFAULTS]
    if unknown:
        raise SchemaError(f"feature {name!r} has unknown keys: {listed(unknown)}; it takes {', '.join(_DEFAULTS)}")
    properties: dict[str, Any] = {}
    for key, value in entry.items():
        try:
            properties[key] = _parsed(key, value)
        except (TypeError, KeyError, AttributeError, ValueError):
            raise SchemaError(f"feature {name!r}: {key} = {value!r} cannot be read") from None
    _check_types(name, properties)
    return Feature(**properties)


def _parsed(key: str, value: Any) -> Any:
    if key in _SIDES:
        if set(value) - set(_SIDES[key]):
            raise KeyError
        return tuple(value.get(side) for side in _SIDES[key])
    if key == "special":
        return {item["code"]: item.get("meaning", "") for item in value}
    if key == "transitions":
        return {item["from"]: tuple(item["to"]) for item in value}
    if key == "levels" and not isinstance(value, list):
        raise TypeError
    return tuple(value) if key == "levels" else value


def _check_types(name: str, properties: Mapping[str, Any]) -> None:
    texts = ("kind", "direction", "derived", "likelihood", "label", "unit", "description")
    for key, value in properties.items():
        wrong = (
            (key in texts and not isinstance(value, str))
            or (key in ("immutable", "fillable") and not isinstance(value, bool))
            or (key in ("step", "cost") and (isinstance(value, bool) or not isinstance(value, int | float)))
            or (key in ("step", "cost") and not math.isfinite(value))
        )
        if wrong:
            raise SchemaError(f"feature {name!r}: {key} = {value!r} is of the wrong type")
