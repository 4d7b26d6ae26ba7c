"""Logs as files: appending to them, reading them, and finding what was changed."""

from __future__ import annotations

import mmap
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from attain.core.errors import AttainError, FileError, unread
from attain.core.files import TEXT, check_writable, locked, read_bytes, readable, write_atomically
from attain.desk.audit.keys import Shown, check_shown, checked_key, read_key
from attain.desk.audit.lines import Head, canonical, chained, contents, parsed, read_head
from attain.results.counterfactuals import Counterfactuals


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
        self._key = read_key() if key is None else checked_key(key)
        check_shown(self._key, inputs)

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
            return self._write(contents(result, self._key, self.inputs), head)[0]

    def _write(self, contents: Iterable[Mapping[str, Any]], head: Head) -> tuple[list[str], Head]:
        """Appends lines after `head`, all or none; their ids, and the new head. The caller holds the lock."""
        time = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        lines = []
        for content in contents:
            lines.append(chained(content, head, time, self._key))
            head = Head(lines[-1]["number"], lines[-1]["hash"])
        if lines:
            _append(self.path, b"".join(canonical(line) + b"\n" for line in lines))
            write_atomically(_head_path(self.path), f"{head}\n".encode())
        return [line["id"] for line in lines], head

    def _end(self) -> tuple[Head, bytes]:
        """The head of the log and an incomplete last line; a `FileError` if the head is not the one in `PATH.head`."""
        text, torn = _last_line(self.path)
        head, known = Head(), _known_head(self.path)
        if text is not None:
            line, wrong = parsed(text, self._key, signed=True)
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
    """Appends and flushes to disk; a failure leaves the file as it was."""
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
    return read_head(read_bytes(file, TEXT).decode(errors="replace"), str(file)) if file.exists() else None


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
    checked_key(key)
    heads = {str(_head_path(path)): _known_head(path), "expect": expect and read_head(expect, "expect")}
    known = {source: head for source, head in heads.items() if head}
    missing = {source: head for source, head in known.items() if head != Head()}
    problems: list[LogFault] = []
    repairs, last, count = [], Head(), 0
    for count, text in enumerate(_texts(path), start=1):
        if not text.endswith(b"\n"):
            problems.append(LogFault(count, "it is incomplete: its writer was interrupted, or the file was truncated"))
            continue
        line, wrong = parsed(text[:-1], key, signed=key is not None)
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
    # a problem that all lines have, such as another key, is reported once
    counts = Counter(problem.text for problem in problems)
    common = {text for text, times in counts.items() if times == count > 1}
    found = [LogFault(0, f"every line: {text}") for text in counts if text in common]
    found += [problem for problem in problems if problem.text not in common]
    return Verification(count, str(last), tuple(found), tuple(repairs), key is not None, bool(known))


def _gaps(line: Mapping[str, Any], last: Head) -> Iterator[str]:
    """Why a line does not follow the one before it, whose hash is None if it could not be read."""
    if line["number"] != last.number + 1:
        yield f"its number is {line['number']} instead of {last.number + 1}: lines were deleted, inserted or moved"
    elif line.get("previous") != last.hash and (last.hash is not None or last.number == 0):
        yield "it does not have the hash of the line before it: one of the two was replaced"


def read_lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The lines of a log that match their hash; `verify` reports the others."""
    for text in _texts(path):
        line, wrong = parsed(text.removesuffix(b"\n"))
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
