"""A schema as TOML to read and edit, and back, exactly."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.items import AoT, Array, Item, Table, Trivia, Whitespace

from attain.core.errors import FileError, SchemaError, did_you_mean, listed
from attain.core.files import write_atomically
from attain.core.reading import parse_toml, read_text
from attain.core.text import plain, wrapped
from attain.schema.feature import Feature
from attain.schema.law import Law
from attain.schema.schema import Schema

if TYPE_CHECKING:
    from attain.schema.advice import Advice

FORMAT = "attain-schema-1"
_WIDTH = 100
"""The width of comments."""
_SIDES = {"bounds": ("lower", "upper"), "range": ("down", "up"), "reach": ("lower", "upper")}
_DEFAULTS = {item.name: item.default for item in fields(Feature)}
_TOP = ("format", "max_months", "rules", "laws", "feature")
_INNER_QUOTES = re.compile(r'"[^"]*"[^\s,\]}=#"]')
"""A text in double quotes that goes on behind them."""
_SECTION = re.compile(r"^((?:[ \t]*#.*\n)*)[ \t]*\[\[[ \t]*feature[ \t]*\]\]", re.MULTILINE)
"""The header of a feature, with the comment lines directly above it."""
_TOKEN = re.compile(r'''"""(?:\\.|[^\\])*?"""|\'{3}.*?\'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*|\n''', re.DOTALL)
"""In the text of an array of strings: a string, a comment or the end of a line."""
_EVIDENCE = re.compile(r"holds for [^;]*; by chance [^;]*; at most [^;]* % of new people do")


def write(schema: Schema, path: str | os.PathLike[str] | None = None, advice: Iterable[Advice] = ()) -> str:
    """The schema as TOML text without defaults; written to `path`, if given, where the comments of a schema stay.

    Each item of advice becomes a comment on its feature.
    """
    head, sections = ("", {}) if path is None else _existing(Path(path))
    comments: dict[str, list[str]] = {}
    for item in advice:
        comments.setdefault(item.column, []).append(_comment(item))
    parts = [
        _head(schema, head),
        *(_section(feature, sections.get(feature.name), comments.get(feature.name, ())) for feature in schema),
    ]
    text = "\n\n".join(parts) + "\n"
    if path is not None:
        write_atomically(path, text.encode())
    return text


def _existing(path: Path) -> tuple[str, dict[str, str]]:
    """The text before the first feature of a schema file, and the text of each feature by its name."""
    if not path.is_file():
        return "", {}
    try:
        text = path.read_text(encoding="utf-8")
        read(text)
        starts = [match.start() for match in _SECTION.finditer(text)]
        parts = [text[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
        return text[: starts[0]], {_entries(part)[0]["name"]: part for part in parts}
    except (SchemaError, UnicodeDecodeError, IndexError) as error:
        raise FileError(f"{str(path)!r} exists and is not a schema that can be updated ({error}); delete it") from None


def _head(schema: Schema, text: str) -> str:
    document = tomlkit.parse(text or f'format = "{FORMAT}"\n')
    if schema.max_months is None:
        document.pop("max_months", None)
    elif document.get("max_months") != schema.max_months:
        document["max_months"] = schema.max_months
    rules = [(rule, "") for rule in schema.rules] or None
    laws = None if schema.laws is None else [(law.text, law.evidence) for law in schema.laws]
    for key, items in (("rules", rules), ("laws", laws)):
        old = document.get(key)
        if items is None:
            document.pop(key, None)
        elif old is None:
            document.add(tomlkit.nl())
            document[key] = _strings(items, "")
        elif [(text, "") for text in old.unwrap()] != items:
            document[key] = _strings(items, old.as_string())
    return tomlkit.dumps(document).rstrip()


def _strings(items: Sequence[tuple[str, str]], old: str) -> Array:
    """The strings as an array, one a line with a comment; those of the old text keep their comments."""
    kept, rest = _comments(old)
    if not items and not rest:
        return tomlkit.array()
    lines = ["["]
    for item, evidence in items:
        above, behind = kept.get(item, ([], f"# {evidence}" if evidence else ""))
        behind = _EVIDENCE.sub(evidence, behind) if evidence else behind
        lines += [*above, f"{as_item(item)},  {behind}".rstrip()]
    lines += rest
    return tomlkit.parse("items = " + "\n  ".join(lines) + "\n]")["items"]


def _comments(text: str) -> tuple[dict[str, tuple[list[str], str]], list[str]]:
    """For each string of an array, the comment lines above it and the comment behind it; and those at the end."""
    found: dict[str, tuple[list[str], str]] = {}
    above: list[str] = []
    last: str | None = None
    for token in _TOKEN.findall(text):
        if token == "\n":
            last = None
        elif not token.startswith("#"):
            last = tomllib.loads(f"item = {token}")["item"]
            found[last], above = (above, ""), []
        elif last is not None:
            found[last] = (found[last][0], token)
        else:
            above.append(token)
    return found, above


def _comment(item: Advice) -> str:
    """An item of advice as comment lines; where it is not decided yet, with the lines that would."""
    lines = wrapped(plain(item.reason), _WIDTH).splitlines() + ([] if item.decided else item.toml.splitlines())
    return "\n".join(f"# {line}" for line in lines)


def property_line(name: str, value: Any) -> str:
    """A property of a feature as one line of TOML."""
    return f"{name} = {as_item(_item(name, value))}"


def as_item(value: Any) -> str:
    """A value as TOML on one line; a text with double quotes in single ones."""
    literal = isinstance(value, str) and '"' in value and "'" not in value and value.isprintable()
    item = tomlkit.string(value, literal=True) if literal else tomlkit.item(value)
    return (item.multiline(False) if isinstance(item, Array) else item).as_string()


def _section(feature: Feature, text: str | None, comments: Iterable[str]) -> str:
    """The feature as TOML; of an existing text, only properties that differ are rewritten."""
    if text is None:
        document, old = tomlkit.document(), None
        entry: Table = tomlkit.table()
        document["feature"] = AoT([entry])
    else:
        document, old = tomlkit.parse(text), _feature(_entries(text)[0])
        entry = document["feature"][0]
    stated = stated_properties(feature)
    for name in _DEFAULTS:
        if name in entry and repr(getattr(old, name)) == repr(getattr(feature, name)):
            continue
        if name in stated:
            entry[name] = _item(name, stated[name])
        else:
            entry.pop(name, None)
    section = tomlkit.dumps(document).strip("\n")
    return "\n".join([section, *(comment for comment in comments if comment not in section)])


def stated_properties(feature: Feature) -> dict[str, Any]:
    """The properties that are neither defaults nor follow from the kind: those that TOML has."""
    implied: dict[str, Any] = {**_DEFAULTS, **({"step": 1.0} if feature.kind == "count" else {})}
    if feature.kind in ("count", "positive"):
        implied["bounds"] = (0.0, None)
    properties = {name: getattr(feature, name) for name in _DEFAULTS}
    return {name: value for name, value in properties.items() if value != implied[name] and value != {}}


def _item(name: str, value: Any) -> Any:
    if name in _SIDES:
        return _inline({side: limit for side, limit in zip(_SIDES[name], value, strict=True) if limit is not None})
    if name == "special":
        return _lines(_inline({"code": code, "meaning": meaning}) for code, meaning in value.items())
    if name == "transitions":
        return _lines(_inline({"from": start, "to": _array(goals)}) for start, goals in value.items())
    return _array(value) if isinstance(value, tuple) else value


def _array(values: Sequence[Any]) -> Array:
    """An array on one line; to append many items one by one would take time in the square of their number."""
    parts: list[Item] = [part for value in values for part in (Whitespace(","), Whitespace(" "), tomlkit.item(value))]
    return Array(parts[2:], Trivia())


def _inline(values: Mapping[str, Any]) -> Any:
    table = tomlkit.inline_table()
    table.update(values)
    return table


def _lines(items: Iterable[Any]) -> Array:
    array = tomlkit.array()
    array.extend(items)
    return array.multiline(True)


def _entries(text: str) -> Any:
    return tomllib.loads(text)["feature"]


def read_file(path: str | os.PathLike[str]) -> Schema:
    """The schema in a TOML file."""
    text = read_text(path, "the schema")
    try:
        return read(text)
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
    _check_types(name, properties)
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
    "likelihood": '"negative_binomial"',
    "label": '"monthly income"',
    "unit": '"€"',
    "description": '"before tax"',
}
"""An example of each property."""


def _parsed(key: str, value: Any) -> Any:
    if key in _SIDES:
        if set(value) - set(_SIDES[key]):
            raise KeyError
        return tuple(value.get(side) for side in _SIDES[key])
    if key == "special":
        return {item["code"]: item.get("meaning", "") for item in value}
    if key == "transitions":
        return {item["from"]: tuple(item["to"]) for item in value}
    if key in ("levels", "avoid") and not isinstance(value, list):
        raise TypeError
    return tuple(value) if key in ("levels", "avoid") else value


def _check_types(name: str, properties: Mapping[str, Any]) -> None:
    strings = ("kind", "immutable_if", "direction", "derived", "likelihood", "label", "unit", "description")
    numbers = ("step", "cost", "pace")
    for key, value in properties.items():
        wrong = (
            (key in strings and not isinstance(value, str))
            or (key in ("immutable", "fillable") and not isinstance(value, bool))
            or (key == "clock" and not isinstance(value, int | float))
            or (key in numbers and (isinstance(value, bool) or not isinstance(value, int | float)))
            or (key in (*numbers, "clock") and not math.isfinite(value))
        )
        if wrong:
            raise SchemaError(
                f"feature {name!r}: {key} = {value!r} has the wrong type; write it as {key} = {FORMS[key]}"
            )
