"""The lines of a log: each has the hash of the line before it, and its own.

A line is canonical JSON: `number` from 1, `time`, `previous` (the hash of the line before, null in the first), `key`
(which key, null without one), what it is about, and then

- `mac`, the HMAC-SHA-256 of all of that, null without a key;
- `hash`, the SHA-256 of all of that, `mac` included;
- `id`, the first 16 digits of `hash`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from attain.audit.canonical import canonical
from attain.audit.keys import key_id

FORMAT: Final = "attain-audit-1"
_ID: Final = 16


class Head(NamedTuple):
    """The number and hash of the last line of a log; 0 and None for an empty one."""

    number: int = 0
    hash: str | None = None

    def __str__(self) -> str:
        return f"{self.number}:{self.hash or ''}"


def chained(content: Mapping[str, Any], head: Head, time: str, key: bytes | None) -> dict[str, Any]:
    """The line that follows `head`."""
    line = {
        **content,
        "format": FORMAT,
        "number": head.number + 1,
        "time": time,
        "previous": head.hash,
        "key": key_id(key),
    }
    line["mac"] = None if key is None else _signature(canonical(line), key)
    line["hash"] = hashlib.sha256(canonical(line)).hexdigest()
    line["id"] = line["hash"][:_ID]
    return line


def parsed(text: bytes, key: bytes | None = None) -> tuple[dict[str, Any], str | None]:
    """The line in a text, and what is wrong with it, or None; its signature is checked where there is a key.

    Hashed are the bytes as they are, without `hash` and `id`, which are neighbours: parsing and writing them again
    would take several times as long.
    """
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return {}, "it is not JSON"
    if not isinstance(line, dict):
        return {}, "it is not a JSON object"
    whole = _without(text, line, "hash", "id")
    if whole is None or line["hash"] != hashlib.sha256(whole).hexdigest() or line["id"] != line["hash"][:_ID]:
        return line, "its content does not match its hash"
    if line.get("format") != FORMAT or not isinstance(line.get("number"), int):
        return line, f"its format is {line.get('format')!r}, but this version reads {FORMAT!r}"
    return line, None if key is None else _wrong_signature(whole, line, key)


def _without(text: bytes, line: Mapping[str, Any], *names: str) -> bytes | None:
    """The text without these neighbouring fields, or None if they are not there exactly as they were written."""
    part = canonical({name: line.get(name) for name in names})[1:-1] + b","
    return text.replace(part, b"") if text.count(part) == 1 else None


def _wrong_signature(text: bytes, line: Mapping[str, Any], key: bytes) -> str | None:
    own, signed = key_id(key), _without(text, line, "mac")
    if line.get("key") is None:
        return "it has no signature"
    if line["key"] != own:
        return f"it is signed with the key {line['key']}, and the one given is {own}"
    genuine = signed is not None and hmac.compare_digest(str(line["mac"]), _signature(signed, key))
    return None if genuine else "its signature is wrong"


def _signature(text: bytes, key: bytes) -> str:
    return hmac.digest(key, b"line:" + text, "sha256").hex()
