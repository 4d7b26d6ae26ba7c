"""Lines of a log: their content, their hashes and their signatures."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from attain.core.errors import FileError
from attain.core.files import as_json
from attain.desk.audit.keys import ID_DIGITS, Shown, key_id, keyed_hash
from attain.results.counterfactuals import Counterfactuals
from attain.results.options import Option
from attain.tables import Table

FORMAT: Final = "attain-audit-1"
_DETAILS: Final = {
    "ranges": "feature low high low_percentile high_percentile levels checked",
    "importance": "feature gain per_point needed_for_decision needed_to_stay_typical needed_by_law",
}
"""What a line has of each change, where ranges and importance were asked for."""


class Head(NamedTuple):
    """The number and hash of the last line of a log; 0 and None for an empty one."""

    number: int = 0
    hash: str | None = None

    def __str__(self) -> str:
        return f"{self.number}:{self.hash or ''}"


def read_head(text: str, source: str) -> Head:
    found = re.fullmatch(r"0:|([0-9]{1,18}):([0-9a-f]{64})", text.strip())
    if not found:
        raise FileError(f"{source} must be the number of a line and its hash, NUMBER:HASH, got {text.strip()!r}")
    return Head(int(found[1] or 0), found[2])


def canonical(value: Any) -> bytes:
    """One text for each JSON value: sorted keys, no spaces, ASCII, and numbers as Python writes them."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def chained(content: Mapping[str, Any], head: Head, time: str, key: bytes | None) -> dict[str, Any]:
    """The line that follows `head`."""
    place = {"format": FORMAT, "number": head.number + 1, "time": time, "previous": head.hash, "key": key_id(key)}
    line = {**content, **place}
    return _hashed({**line, "mac": _mac(line, key)})


def _mac(line: Mapping[str, Any], key: bytes | None) -> str | None:
    return None if key is None else keyed_hash(key, "line", canonical(line))


def _hashed(line: Mapping[str, Any]) -> dict[str, Any]:
    digest = hashlib.sha256(canonical(line)).hexdigest()
    return {**line, "hash": digest, "id": digest[:ID_DIGITS]}


def parsed(text: bytes, key: bytes | None = None, *, signed: bool = False) -> tuple[dict[str, Any], str | None]:
    """The line in a text, and what is wrong with it, or None; with `signed`, it must be signed with this key."""
    try:
        line = json.loads(text)
        if not isinstance(line, dict):
            return {}, "it is not a JSON object"
        whole = {name: value for name, value in line.items() if name not in ("hash", "id")}
        if canonical(_hashed(whole)) != text:
            return line, "its content does not match its hash"
    except (ValueError, RecursionError):
        return {}, "it is not JSON"
    if line.get("format") != FORMAT or not isinstance(line.get("number"), int):
        return line, f"its format is {line.get('format')!r}, but this version reads {FORMAT!r}"
    then, now = (f"the key {id}" if id else "no key" for id in (line.get("key"), key_id(key)))
    if signed and then != now:
        return line, f"it was written with {then}, got {now}"
    mac = whole.pop("mac", None)
    genuine = not signed or hmac.compare_digest(str(mac), str(_mac(whole, key)))
    return line, None if genuine else "its signature is wrong"


def contents(result: Counterfactuals, key: bytes | None, inputs: Shown) -> Iterator[dict[str, Any]]:
    """The content of each person's line; sentences quote values, so they are stored like records."""
    reasons = _contributions(result)
    for position, (status, label) in enumerate(zip(result.statuses, map(as_json, result.table.labels), strict=True)):
        options = result.options_of(position)
        # the sentence about an unreadable record names its row, whose label may change
        why = status.reason if position in result.unreadable else result.reason(position)
        yield {
            "kind": "explanation",
            "person": shown(key, inputs, "person", label),
            "input": shown(key, inputs, "input", cells(result.table, position)),
            "settings": _settings_for(result.settings, label),
            "status": status.name,
            "reason": result.unreadable.get(position) if inputs == "plain" else None,
            "options": [_option(result, option) for option in options],
            "sentences": shown(key, inputs, "sentences", [option.sentence for option in options] or [why]),
            "contributions": reasons.get(position),
            "figures": _figures(result.person_figures, position),
        }


def shown(key: bytes | None, how: Shown, purpose: str, value: Any) -> dict[str, Any]:
    if how == "plain":
        return {"plain": value}
    assert key is not None
    return {"hmac": keyed_hash(key, purpose, canonical(value))}


def cells(table: Table, position: int) -> dict[str, Any]:
    """A record by column, equal for every frame library and dtype; a record that cannot be read, as it is."""
    if position in table.refused:
        source = table.layout.library.read(table.source)
        return {name: as_json(source[name][position]) for name in table.layout.columns}
    row = (table.values[position] + 0.0).tolist()  # turns -0.0 into 0.0
    return {
        feature.name: cell
        if feature.numeric and not math.isnan(cell)
        else as_json(table.layout.value(feature.name, cell))
        for feature, cell in zip(table.schema, row, strict=True)
    }


def _option(result: Counterfactuals, option: Option) -> dict[str, Any]:
    """The new values that an option has, its figures, and ranges and importance, if they were asked for."""
    changes = [change.as_json() for change in option.changes]
    details = {
        name: [
            {part: as_json(change[part]) for part in parts.split()} for change in changes if change[needed] is not None
        ]
        for (name, parts), needed in zip(_DETAILS.items(), ("checked", "needed_for_decision"), strict=True)
    }
    return {
        "changes": {change["feature"]: as_json(change["suggested"]) for change in changes},
        "figures": _figures(result.option_figures, option.place),
        **{name: listed for name, listed in details.items() if listed},
    }


def _contributions(result: Counterfactuals) -> dict[int, dict[str, float]]:
    """What each input contributes to each person's score, if that was asked for; not the person's values."""
    known = result.attributions
    if known is None:
        return {}
    names = [result.table.schema.names[column] for column in known.column]
    rows = zip(known.person.tolist(), known.contribution.tolist(), strict=True)
    return {position: dict(zip(names, row, strict=True)) for position, row in rows}


def _settings_for(settings: Mapping[str, Any], label: Any) -> dict[str, Any]:
    """The settings without the constraints of other people."""
    constraints = dict(settings["constraints"])
    for entry in constraints.pop("people", ()):
        if entry["person"] == label:
            constraints["own"] = {name: value for name, value in entry.items() if name != "person"}
    return {**settings, "constraints": constraints}


def _figures(figures: Mapping[str, np.ndarray], place: int) -> dict[str, Any]:
    values = {name: column[place].item() for name, column in figures.items()}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
