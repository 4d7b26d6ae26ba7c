"""A schema as a table, single values with their units, and a schema as TOML to read and edit, and back, exactly."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from textwrap import shorten
from typing import Any

import tomlkit

from attain.core.errors import FileError, SchemaError, did_you_mean, listed
from attain.core.files import parse_toml, read_text, write_atomically
from attain.core.text import ENGLISH, is_grouped, number, plain, table, wrapped
from attain.schema.feature import Feature
from attain.schema.schema import Law, Schema

FEATURE_HEADER = ("feature", "kind", "may change", "values", "step")
_ROUNDING = 1e-6
"""The share of a month that rounding may add; answers take whole months."""
_LEVELS = 8
"""How many levels of a feature are listed."""
_LAWS = 5
"""How many laws are listed."""
_LONGEST = 200
"""How many characters of a law are shown."""
FORMAT = "attain-schema-1"
SIDES = {"bounds": ("lower", "upper"), "range": ("down", "up"), "reach": ("lower", "upper")}
_DEFAULTS = {item.name: item.default for item in fields(Feature)}
_TOP = ("format", "max_months", "rules", "laws", "feature")
_INNER_QUOTES = re.compile(r'"[^"]*"[^\s,\]}=#"]')
"""A text in double quotes that goes on behind them."""


def schema_table(schema: Schema, width: int | None = None) -> str:
    """One line for each feature, then the rules and the first laws."""
    body = table(FEATURE_HEADER, feature_lines(schema), width=width)
    longest = [] if schema.max_months is None else [f"answers take at most {ENGLISH.duration(schema.max_months)}"]
    rules = [f"rule: {plain(rule)}" for rule in schema.rules]
    return "\n".join([body, *longest, *rules, *_laws(schema.laws or (), width)])


def feature_lines(schema: Schema) -> list[tuple[str, ...]]:
    """The cells under `FEATURE_HEADER` for each feature."""
    return [(f.name, f.kind, _freedom(f), _values(f), "" if f.step is None else number(f.step)) for f in schema]


def _laws(laws: Sequence[Law], width: int | None) -> Iterator[str]:
    if laws:
        some = f", the first {_LAWS} of them" if len(laws) > _LAWS else ""
        yield f"{len(laws):,} {'law' if len(laws) == 1 else 'laws'}{some}:"
    for law in laws[:_LAWS]:
        yield wrapped(shorten(plain(law.sentence or law.text), _LONGEST, placeholder=" …"), width, "  ")


def described(value: object, feature: Feature) -> str:
    """A value with its unit; a special code by its meaning, or as `code -9` if it has none; `yes` for True."""
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float) or not feature.numeric:
        return str(value)
    if float(value) in feature.special:
        return feature.special[float(value)] or f"code {number(value)}"
    return ENGLISH.with_unit(number(value, is_grouped(value, bool(feature.unit))), feature.unit or "")


def _freedom(feature: Feature) -> str:
    if feature.immutable and feature.clock is None:
        return "no"
    if feature.computed is not None:
        return f"{'=' if feature.follows is None else 'follows'} {feature.computed}"
    if feature.clock is not None:
        return f"clock, {_a_month(feature.clock, '', feature.clock < 1)}"
    parts = [{"any": "yes", "increase": "only up", "decrease": "only down"}[feature.direction]]
    if feature.range != (None, None):
        low, high = feature.range
        parts.append(f"by {'any' if low is None else number(low)} to {'any' if high is None else '+' + number(high)}")
    if feature.reach != (None, None):
        ends = ("any" if side is None else described(side, feature) for side in feature.reach)
        parts.append(f"to {' … '.join(ends)}")
    if feature.transitions:
        parts.append("partly")
    if feature.avoid:
        parts.append(f"not to {', '.join(map(str, feature.avoid))}")
    if feature.fillable:
        parts.append("fillable")
    if feature.immutable_if is not None:
        parts.append(f"not if {feature.immutable_if}")
    if feature.pace is not None:
        if feature.pace < 1 and not feature.numeric:
            parts.append(f"at most 1 in {ENGLISH.duration(math.ceil(1 / feature.pace - _ROUNDING))}")
        else:
            parts.append(f"at most {_a_month(feature.pace, feature.unit or '', False)}")
    return ", ".join(parts)


def _a_month(rate: float, unit: str, slow: bool) -> str:
    """`€200 a month`, or if that is slow `1 in 12 months`."""
    return (
        f"1 in {ENGLISH.duration(round(1 / rate, 1))}" if slow else f"{ENGLISH.with_unit(number(rate), unit)} a month"
    )


def _values(feature: Feature) -> str:
    if not feature.numeric:
        order = " < " if feature.kind == "ordinal" else ", "
        shown = order.join(str(level) for level in feature.levels[:_LEVELS])
        return shown + (f" … ({len(feature.levels)} levels)" if len(feature.levels) > _LEVELS else "")
    low, high = feature.bounds
    scale = f"{'−∞' if low is None else number(low)} … {'∞' if high is None else number(high)}"
    unit = f" {feature.unit}" if feature.unit else ""
    codes = f"; codes {', '.join(number(code) for code in feature.special)}" if feature.special else ""
    return scale + unit + codes


def to_toml(schema: Schema, path: str | os.PathLike[str] | None = None) -> str:
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
        return from_toml(read_text(path, "the schema"))
    except SchemaError as error:
        raise FileError(f"{path}: {error}") from None


def from_toml(text: str) -> Schema:
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
    return Schema(tuple(map(_feature, entries)), rules, laws, max_months)


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
