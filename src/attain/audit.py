"""Tamper-evident logs of explanations: one JSON line per person, chained by hashes.

    log = attain.audit.AuditLog("explanations.jsonl", key=attain.audit.read_key("audit.key"))
    log.append(result)

`verify` finds lines that were altered, deleted, inserted or moved. `regenerate` explains a person again and compares.

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
import math
import mmap
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np

from attain.core.checks import check_choice
from attain.core.errors import AttainError, DataError, FileError, unread
from attain.core.files import TEXT, check_writable, locked, read_bytes, readable, write_atomically, write_private
from attain.core.frames import Frame, one_row
from attain.methods.base import Explainer
from attain.methods.persistence import as_json
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.results.options import Option
from attain.results.status import Status
from attain.tables import Table

FORMAT: Final = "attain-audit-1"
KEY_VARIABLE: Final = "ATTAIN_AUDIT_KEY"
"""The environment variable with the key, where no file is named."""
Shown = Literal["hmac", "plain"]
"""Whether personal data are stored in plain text, or as an HMAC that only a holder of the key can compare with."""
_SHORTEST: Final = 32
"""The least number of bytes of a key: the length of a SHA-256 hash, as RFC 2104 recommends."""
_ID: Final = 16
_DETAILS: Final = {
    "ranges": "feature low high low_percentile high_percentile levels checked",
    "importance": "feature gain per_point needed_for_decision needed_to_stay_typical needed_by_law",
}
"""What a line has of each change, where ranges and importance were asked for."""
_MEANINGS: Final = {
    "settings.explainer_digest": "another explainer",
    "settings.model.answers_digest": "another model: it scores the training rows differently",
    "settings.model.file_digest": "another file of the model",
    "settings.training.digest": "other training data",
    "sentences.hmac": "other words",
}


# keys


def read_key(path: str | os.PathLike[str] | None = None) -> bytes | None:
    """The key in a file, or else in the environment variable ATTAIN_AUDIT_KEY; None where that is not set.

    White space around it is not part of the key.
    """
    if path is None:
        text = os.environ.get(KEY_VARIABLE)
        return _checked_key(text and text.encode().strip(), f"the environment variable {KEY_VARIABLE}")
    return _checked_key(read_bytes(path, TEXT, "the key").strip(), f"the key {str(path)!r}")


def new_key(path: str | os.PathLike[str]) -> None:
    """Writes a new random key of 256 bits into a file that only you can read; a file that exists is refused."""
    write_private(path, secrets.token_hex(32).encode() + b"\n")


def _checked_key(key: Any, name: str = "key") -> bytes | None:
    if not isinstance(key, bytes | None):
        raise AttainError(f"{name} must be bytes, such as attain.audit.read_key(path), got a {type(key).__name__}")
    if key is not None and len(key) < _SHORTEST:
        raise AttainError(
            f"{name} must have at least {_SHORTEST} bytes, got {len(key)}; `attain audit key` creates one"
        )
    return key


def _check_shown(key: bytes | None, inputs: Shown) -> None:
    check_choice("inputs", inputs, get_args(Shown))
    if inputs == "hmac" and key is None:
        raise AttainError(
            "records are stored as HMACs, which needs a key: pass key=attain.audit.read_key(path) or --audit-key FILE, "
            f"or set {KEY_VARIABLE}; `attain audit key FILE` creates one"
        )


def _hmac(key: bytes, purpose: str, text: bytes) -> str:
    """The HMAC-SHA-256 of a text; equal texts for different purposes have different ones."""
    return hmac.digest(key, purpose.encode() + b":" + text, "sha256").hex()


def _key_id(key: bytes | None) -> str | None:
    """A short name for a key, which reveals nothing about it."""
    return None if key is None else _hmac(key, "key", b"null")[:_ID]


# lines


class Head(NamedTuple):
    """The number and hash of the last line of a log; 0 and None for an empty one."""

    number: int = 0
    hash: str | None = None

    def __str__(self) -> str:
        return f"{self.number}:{self.hash or ''}"


def _read_head(text: str, source: str) -> Head:
    found = re.fullmatch(r"0:|([0-9]{1,18}):([0-9a-f]{64})", text.strip())
    if not found:
        raise FileError(f"{source} must be the number of a line and its hash, NUMBER:HASH, got {text.strip()!r}")
    return Head(int(found[1] or 0), found[2])


def _canonical(value: Any) -> bytes:
    """One text for each JSON value: sorted keys, no spaces, ASCII, and numbers as Python writes them."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _chained(content: Mapping[str, Any], head: Head, time: str, key: bytes | None) -> dict[str, Any]:
    """The line that follows `head`."""
    place = {"format": FORMAT, "number": head.number + 1, "time": time, "previous": head.hash, "key": _key_id(key)}
    line = {**content, **place}
    return _hashed({**line, "mac": _mac(line, key)})


def _mac(line: Mapping[str, Any], key: bytes | None) -> str | None:
    return None if key is None else _hmac(key, "line", _canonical(line))


def _hashed(line: Mapping[str, Any]) -> dict[str, Any]:
    digest = hashlib.sha256(_canonical(line)).hexdigest()
    return {**line, "hash": digest, "id": digest[:_ID]}


def _parsed(text: bytes, key: bytes | None = None, *, signed: bool = False) -> tuple[dict[str, Any], str | None]:
    """The line in a text, and what is wrong with it, or None; with `signed`, it must be signed with this key."""
    try:
        line = json.loads(text)
        if not isinstance(line, dict):
            return {}, "it is not a JSON object"
        whole = {name: value for name, value in line.items() if name not in ("hash", "id")}
        if _canonical(_hashed(whole)) != text:
            return line, "its content does not match its hash"
    except (ValueError, RecursionError):
        return {}, "it is not JSON"
    if line.get("format") != FORMAT or not isinstance(line.get("number"), int):
        return line, f"its format is {line.get('format')!r}, but this version reads {FORMAT!r}"
    then, now = (f"the key {id}" if id else "no key" for id in (line.get("key"), _key_id(key)))
    if signed and then != now:
        return line, f"it was written with {then}, got {now}"
    mac = whole.pop("mac", None)
    genuine = not signed or hmac.compare_digest(str(mac), str(_mac(whole, key)))
    return line, None if genuine else "its signature is wrong"


# what a line says


def _contents(result: Counterfactuals, key: bytes | None, inputs: Shown) -> Iterator[dict[str, Any]]:
    """What the line of each person says; sentences have current values, so that they are stored like records."""
    reasons = _contributions(result)
    for position, (status, label) in enumerate(zip(result.statuses, map(as_json, result.table.labels), strict=True)):
        options = result.options_of(position)
        # the sentence about an unreadable record names its row, whose label may change
        why = status.reason if position in result.unreadable else result.reason(position)
        yield {
            "kind": "explanation",
            "person": _shown(key, inputs, "person", label),
            "input": _shown(key, inputs, "input", _cells(result.table, position)),
            "settings": _settings_for(result.settings, label),
            "status": status.name,
            "reason": result.unreadable.get(position) if inputs == "plain" else None,
            "options": [_option(result, option) for option in options],
            "sentences": _shown(key, inputs, "sentences", [option.sentence for option in options] or [why]),
            "contributions": reasons.get(position),
            "figures": _figures(result.person_figures, position),
        }


def _shown(key: bytes | None, how: Shown, purpose: str, value: Any) -> dict[str, Any]:
    if how == "plain":
        return {"plain": value}
    assert key is not None
    return {"hmac": _hmac(key, purpose, _canonical(value))}


def _cells(table: Table, position: int) -> dict[str, Any]:
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


# writing


class AuditLog:
    """A file with one JSON line per explanation, each chained to the line before it by a hash.

    Several processes may append to one log; a lock file, `PATH.lock`, makes them take turns. `PATH.head` holds the
    number and hash of the last line, so that a truncated log is noticed.

    Parameters
    ----------
    path
        The file. It is created with the first line, and only its owner can read it.
    key
        A secret of at least 32 bytes, as `read_key` returns it; by default the environment variable ATTAIN_AUDIT_KEY.
        Every line is signed with it. A log has one key from its first line on.
    inputs
        How people's records and row labels are stored: as an HMAC with the key (`"hmac"`), so that a record can be
        compared with the log but not read from it; or in plain text (`"plain"`).
    """

    def __init__(self, path: str | os.PathLike[str], *, key: bytes | None = None, inputs: Shown = "hmac") -> None:
        self.path, self.inputs = check_writable(path), inputs
        self._key = read_key() if key is None else _checked_key(key)
        _check_shown(self._key, inputs)

    @property
    def head(self) -> str:
        """The last line, NUMBER:HASH, for `verify(expect=)`; a `FileError` if nothing can follow it."""
        with locked(self.path):
            return str(self._end()[0])

    def append(self, result: Counterfactuals) -> list[str]:
        """Adds a line for every person of a result, whatever their status; returns the ids of the lines.

        An incomplete last line, which a killed process left, is moved into a line of the kind `repair` before.
        """
        if not result.settings:
            raise AttainError(
                "result has no settings, so a log could not say what its answers follow from; pass one of explain"
            )
        with locked(self.path):
            head, torn = self._end()
            if torn:
                os.truncate(self.path, self.path.stat().st_size - len(torn))
                removed = torn.decode("ascii", "backslashreplace")
                _, head = self._write([{"kind": "repair", "removed": removed}], head)
            return self._write(_contents(result, self._key, self.inputs), head)[0]

    def _write(self, contents: Iterable[Mapping[str, Any]], head: Head) -> tuple[list[str], Head]:
        """Appends lines after `head`, all or none; their ids, and the new head. The caller holds the lock."""
        time = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        lines = []
        for content in contents:
            lines.append(_chained(content, head, time, self._key))
            head = Head(lines[-1]["number"], lines[-1]["hash"])
        if lines:
            _append(self.path, b"".join(_canonical(line) + b"\n" for line in lines))
            write_atomically(_head_path(self.path), f"{head}\n".encode())
        return [line["id"] for line in lines], head

    def _end(self) -> tuple[Head, bytes]:
        """The last complete line and what follows it; a `FileError` where it is not that which `PATH.head` names."""
        text, torn = _last_line(self.path)
        head, known = Head(), _known_head(self.path)
        if text is not None:
            line, wrong = _parsed(text, self._key, signed=True)
            if wrong is not None:
                raise FileError(f"nothing can follow the last line of {str(self.path)!r}: {wrong}")
            head = Head(line["number"], line["hash"])
        if known is not None and known.number >= head.number and known != head:
            raise FileError(
                f"the last line of {str(self.path)!r} is {head}, but {str(_head_path(self.path))!r} has {known}: lines "
                "are missing; restore them, or begin another log"
            )
        return head, torn


def _append(path: Path, content: bytes) -> None:
    """Appends and waits until the disk has it; if that fails, what was written is removed again."""
    try:
        with open(path, "ab", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            size, left = file.tell(), memoryview(content)
            try:
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(size)
                raise
    except OSError as error:
        raise FileError(f"{str(path)!r} could not be written: {error.strerror or error}") from None


def _last_line(path: Path) -> tuple[bytes | None, bytes]:
    """The last complete line of a file, None if there is none, and what follows it."""
    if not path.exists() or not path.stat().st_size:
        return None, b""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        end = text.rfind(b"\n")
        start = text.rfind(b"\n", 0, max(end, 0)) + 1
        return (text[start:end] if end >= 0 else None), text[end + 1 :]


def _head_path(path: str | os.PathLike[str]) -> Path:
    return Path(f"{os.path.realpath(path)}.head")


def _known_head(path: str | os.PathLike[str]) -> Head | None:
    file = _head_path(path)
    return _read_head(read_bytes(file, TEXT).decode(errors="replace"), str(file)) if file.exists() else None


# reading


class LogFault(NamedTuple):
    """What is wrong, and in which line of the file, from 1; 0 for the log as a whole."""

    line: int
    text: str


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Attributes
    ----------
    lines
        How many lines the log has.
    head
        The last line, `NUMBER:HASH`. Store it elsewhere: passed as `expect` later, it reveals a truncated log.
    problems
        What is wrong, in the order of the lines; empty for an intact log.
    repairs
        The numbers of lines that record a repair.
    signed
        Whether signatures were checked, which takes the key.
    end_known
        Whether there was a head to compare with, so that lines missing at the end were noticed.
    """

    lines: int
    head: str
    problems: tuple[LogFault, ...]
    repairs: tuple[int, ...]
    signed: bool
    end_known: bool

    def __bool__(self) -> bool:
        return not self.problems


def verify(path: str | os.PathLike[str], *, key: bytes | None = None, expect: str | None = None) -> Verification:
    """Whether a log is intact: every line matches its hash and follows the line before it.

    That lines are missing at the end cannot be seen in the chain itself. It takes a known head: that in the file
    `PATH.head`, if there is one, and `expect`.

    Parameters
    ----------
    path
        The log.
    key
        The key of the log. With it signatures are checked, too: nobody can write them without the key. Without it, a
        log that somebody has written anew from the first line on is not recognised.
    expect
        A head that was stored elsewhere: that of an earlier verification, or of an `AuditLog`.
    """
    _checked_key(key)
    heads = {str(_head_path(path)): _known_head(path), "expect": expect and _read_head(expect, "expect")}
    known = {source: head for source, head in heads.items() if head}
    missing = {source: head for source, head in known.items() if head != Head()}
    problems: list[LogFault] = []
    repairs, last, count = [], Head(), 0
    for count, text in enumerate(_texts(path), start=1):
        if not text.endswith(b"\n"):
            problems.append(LogFault(count, "it is incomplete: its writer was interrupted, or the file was truncated"))
            continue
        line, wrong = _parsed(text[:-1], key, signed=key is not None)
        problems += [LogFault(count, wrong)] if wrong else []
        if not isinstance(line.get("number"), int):
            last = Head(last.number + 1)
            continue
        problems += [LogFault(count, gap) for gap in _gaps(line, last)]
        last = Head(line["number"], line.get("hash"))
        missing = {source: head for source, head in missing.items() if head != last}
        repairs += [last.number] if line.get("kind") == "repair" else []
    for source, head in missing.items():
        gone = f"line {head.number} with the hash {head.hash} is missing, which {source} names as the head"
        problems.append(LogFault(0, gone))
    # a problem that all lines have, such as another key, is said once
    counts = Counter(problem.text for problem in problems)
    common = {text for text, times in counts.items() if times == count > 1}
    found = [LogFault(0, f"every line: {text}") for text in counts if text in common]
    found += [problem for problem in problems if problem.text not in common]
    return Verification(count, str(last), tuple(found), tuple(repairs), key is not None, bool(known))


def _gaps(line: Mapping[str, Any], last: Head) -> Iterator[str]:
    """How a line fails to follow the one before it, whose hash is None if it could not be read."""
    if line["number"] != last.number + 1:
        yield f"its number is {line['number']} instead of {last.number + 1}: lines were deleted, inserted or moved"
    elif line.get("previous") != last.hash and (last.hash is not None or last.number == 0):
        yield "it does not have the hash of the line before it: one of the two was replaced"


def read_lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The lines of a log that match their hash; `verify` reports the others."""
    for text in _texts(path):
        line, wrong = _parsed(text.removesuffix(b"\n"))
        if text.endswith(b"\n") and wrong is None:
            yield line


def _texts(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Each line, with its line break if it has one."""
    try:
        with readable(path, sys.maxsize, "the log").open("rb") as file:
            while line := file.readline(TEXT):
                if len(line) == TEXT:
                    raise FileError(f"{str(path)!r} is not a log: it has a line of more than {TEXT / 2**20:.0f} MB")
                yield line
    except OSError as error:
        raise unread(path, error, "the log") from None


# making an explanation again


class Difference(NamedTuple):
    """A field of a line that is different now; `str` puts it into words."""

    field: str
    recorded: Any
    now: Any

    def __str__(self) -> str:
        meaning = f" ({_MEANINGS[self.field]})" if self.field in _MEANINGS else ""
        return f"{self.field}: was {self.recorded!r}, is now {self.now!r}{meaning}"


@dataclass(frozen=True)
class Regeneration:
    """An explanation that was made again.

    Attributes
    ----------
    line
        The line of the log.
    differences
        The fields that are different; the settings come first.
    result
        The explanation of this person as it is now.
    """

    line: Mapping[str, Any]
    differences: tuple[Difference, ...]
    result: Counterfactuals

    @property
    def same(self) -> bool:
        """Whether the line was reproduced byte for byte."""
        return not self.differences


def regenerate(
    path: str | os.PathLike[str],
    id: str,
    explainer: Explainer,
    model: Any,
    people: Frame,
    *,
    key: bytes | None = None,
    **arguments: Any,
) -> Regeneration:
    """Explains the person of a line again with the settings in it, and compares every field of the line.

    Parameters
    ----------
    path, id
        The log, and the id of the line or the first digits of it.
    explainer, model
        Those that the explanation was made with; if they are others, the differences say so. Texts call the classes of
        the model as they did then.
    people
        A frame with the person's record, perhaps among others: the row is found by its content.
    key
        The key of the log; by default that in the environment variable ATTAIN_AUDIT_KEY.
    arguments
        Arguments of `explain` that a line cannot hold: `robust`.
    """
    key = read_key() if key is None else key
    line = _repeatable_line(path, id, key)
    inputs = next(iter(line["input"]))
    _check_shown(key, inputs)
    table = Table.read(one_row(people, "people"), explainer.population_.schema, "people", errors="status")
    matches = (i for i in range(len(table)) if _shown(key, inputs, "input", _cells(table, i)) == line["input"])
    position = next(matches, None)
    if position is None:
        raise DataError(
            f"none of the {len(table)} rows of people is the record of line {line['id']}; it may have changed since"
        )
    settings, row = line["settings"], table.layout.library.take(table.source, np.array([position]))
    recorded = _arguments(settings, explainer, table.labels[position], arguments)
    result = _configured(explainer, settings).explain(_named_as_then(model, settings), row, **recorded | arguments)
    again = {**next(_contents(result, key, inputs)), "person": line["person"]}
    return Regeneration(line, tuple(_differences({name: line.get(name) for name in again}, again)), result)


def _repeatable_line(path: str | os.PathLike[str], id: str, key: bytes | None) -> dict[str, Any]:
    """The one line whose id starts with these digits, if what it says can be repeated."""
    found = [line for line in read_lines(path) if id and line["id"].startswith(id)]
    if len(found) != 1:
        raise AttainError(
            f"{len(found) or 'no'} lines of {str(path)!r} have an id that starts with {id!r}; `attain audit list` "
            "shows them"
        )
    line = found[0]
    if line["kind"] != "explanation":
        raise AttainError(f"line {line['id']} is a {line['kind']}, not an explanation")
    if wrong := _parsed(_canonical(line), key, signed=True)[1]:
        raise AttainError(f"line {line['id']} was not written with this key: {wrong}")
    if line["status"] in (Status.INTERRUPTED.name, Status.TIME_SPENT.name):
        raise AttainError(f"line {line['id']} has the status {line['status']}: where a search stops cannot be repeated")
    return line


def _configured(explainer: Explainer, settings: Mapping[str, Any]) -> Explainer:
    """A copy of the explainer with the recorded parameters, which may be set after fitting, and seed."""
    own, plain = explainer.get_params(deep=False), bool | int | float | str | None
    recorded = settings["parameters"].items()
    changed = {
        name: value for name, value in recorded if isinstance(value, plain) and isinstance(own.get(name, ()), plain)
    }
    again: Explainer = copy(explainer).set_params(**changed)
    again.drawn_seed_ = settings["seed"]
    return again


def _named_as_then(model: Any, settings: Mapping[str, Any]) -> Model:
    """A copy of the model, with the recorded names of its classes in texts."""
    again, facts = copy(Model.of(model)), settings["model"]
    pairs = zip(facts["classes"], facts["class_names"] or (), strict=False)
    again.class_names = {label: name for label, name in pairs if name is not None}
    return again


def _arguments(
    settings: Mapping[str, Any], explainer: Explainer, label: Any, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The recorded arguments of `explain`."""
    if settings["robust"] and "robust" not in given:
        raise AttainError(
            f"{len(settings['robust'])} models were given as robust=, which a line cannot hold; pass them"
        )
    constraints = dict(settings["constraints"])
    own = constraints.pop("own", None)
    if own is not None:
        constraints["people"] = {label: own}
    parameters = signature(explainer.explain).parameters.values()
    names = {one.name for one in parameters if one.kind is Parameter.KEYWORD_ONLY} - {"robust"}
    return {**{name: settings[name] for name in names & settings.keys()}, "constraints": constraints}


def _differences(recorded: Any, now: Any, field: str = "") -> Iterator[Difference]:
    """The fields that differ, by their dotted path."""
    if isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for k, pair in enumerate(zip(recorded, now, strict=True)):
            yield from _differences(*pair, f"{field}[{k}]")
    elif isinstance(recorded, dict) and isinstance(now, dict):
        for name in sorted(recorded.keys() | now.keys(), key=lambda name: (name != "settings", name)):
            yield from _differences(recorded.get(name), now.get(name), f"{field}.{name}" if field else name)
    elif _canonical(recorded) != _canonical(now):
        yield Difference(field, recorded, now)
