"""Texts of files, JSON and TOML: read whole, or refused with a `FileError`, before anything is built from them."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from attain.core.errors import FileError, unread

_LONGEST_KEY: Final = 200
"""Parsing `a.b.c` takes memory that grows with the square of its parts."""
_PLACE: Final = re.compile(r" - at `\$\.?(.*)`$")
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""The code of a character that only a pair can stand for."""
Kind = TypeVar("Kind")


def read_text(path: str | os.PathLike[str], what: str = "") -> str:
    """The text of a file in UTF-8, with or without a byte order mark; `what` precedes the name in messages."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unread(path, error, what) from None
    except UnicodeDecodeError:
        raise FileError(f"{what} {str(path)!r} is not UTF-8 text".lstrip()) from None


def read_toml(path: str | os.PathLike[str], what: str = "") -> dict[str, Any]:
    """The content of a TOML file."""
    text = read_text(path, what)
    try:
        return parse_toml(text)
    except ValueError as error:
        raise FileError(f"{what} {str(path)!r} is not valid TOML: {error}".lstrip()) from None


def parse_toml(text: str) -> dict[str, Any]:
    """The content of a TOML text, or a `ValueError`."""
    if any(part.count(".") > _LONGEST_KEY for part in re.split(r"[\n={,]", text)):
        raise ValueError(f"a key has more than {_LONGEST_KEY} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json(content: str | bytes) -> Any:
    """The value of a JSON text, or a `ValueError`: without NaN, keys that occur twice, and halves of characters."""
    try:
        value = json.loads(content, parse_constant=_no_constant, object_pairs_hook=_distinct_keys)
        if _SURROGATE.search(content if isinstance(content, str) else content.decode()):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def as_kind(value: Any, kind: type[Kind]) -> Kind:
    """Parsed JSON or TOML as a `msgspec.Struct`, a dataclass or another annotated type.

    A `ValueError` says where it does not fit, and what was expected there: `rows[0]: expected int, got str`.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        place, text = _PLACE.search(str(error)), _PLACE.sub("", str(error)).replace("`", "")
        text = text.replace("Object contains unknown field", "unknown key").replace(
            "Object missing required field", "missing key"
        )
        text = text[:1].lower() + text[1:]
        raise ValueError(f"{place[1]}: {text}" if place else text) from None
