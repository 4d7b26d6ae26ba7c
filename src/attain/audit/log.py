"""`AuditLog`: appending to a log, by several processes at once if need be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attain.audit.canonical import canonical
from attain.audit.entries import Entries, Shown
from attain.audit.keys import key_id, named, read_key
from attain.audit.lines import Head, chained, parsed
from attain.audit.verification import head_path, known_head, last_line
from attain.core.errors import AttainError, FileError
from attain.core.files import check_writable, write_atomically
from attain.core.locks import locked
from attain.results.record import Record


def _now() -> datetime:
    return datetime.now(UTC)


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
    answers
        How options are stored: `"plain"`, with the new value of each changed feature and the figures; or `"hmac"`.
    clock
        Returns the current time with its time zone; by default the system's clock.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: bytes | None = None,
        inputs: Shown = "hmac",
        answers: Shown = "plain",
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self.path = check_writable(path)
        self.entries = Entries(read_key() if key is None else key, inputs, answers)
        self._clock = clock

    @property
    def head(self) -> str:
        """The last line, NUMBER:HASH, for `verify(expect=)`; a `FileError` if the end of the log is damaged."""
        with locked(self.path):
            return str(self._end())

    def append(self, result: Record) -> list[str]:
        """Adds a line for every person of a result, whatever their status; returns the ids of the lines."""
        if not result.settings:
            raise AttainError(
                "result has no settings, so a log could not say what its answers follow from; pass one of explain"
            )
        return self._append(self.entries.contents(result))

    def repair(self) -> bool:
        """Makes a log with a damaged end usable again; returns whether there was any damage.

        A line of the kind `repair` is added. It holds the incomplete last line, which is removed, and the head in
        `PATH.head` if the log no longer has that line.
        """
        with locked(self.path):
            complete, torn = last_line(self.path)
            last = self._checked(complete)
            known = known_head(self.path)
            lost = known is not None and _is_ahead(known, last)
            if not torn and not lost:
                return False
            content = {
                "kind": "repair",
                "removed": torn.decode("ascii", "backslashreplace"),
                "known_head": str(known) if lost else None,
            }
            os.truncate(self.path, self.path.stat().st_size - len(torn))
            self._write([content], last)
            return True

    def _append(self, contents: Iterable[Mapping[str, Any]]) -> list[str]:
        with locked(self.path):
            return self._write(contents, self._end())

    def _write(self, contents: Iterable[Mapping[str, Any]], head: Head) -> list[str]:
        """Appends lines after `head`, all or none; the caller holds the lock."""
        time, ids, texts = self._time(), [], []
        for content in contents:
            line = chained(content, head, time, self.entries.key)
            head = Head(line["number"], line["hash"])
            ids.append(line["id"])
            texts.append(canonical(line) + b"\n")
        if texts:
            _append_bytes(self.path, b"".join(texts))
            write_atomically(head_path(self.path), f"{head}\n".encode())
        return ids

    def _time(self) -> str:
        now = self._clock()
        if now.tzinfo is None:
            raise AttainError("clock must return a time with a time zone, such as datetime.now(UTC)")
        return now.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

    def _end(self) -> Head:
        """The head of the log, or a `FileError` if its end is damaged."""
        complete, torn = last_line(self.path)
        if torn:
            raise FileError(
                f"the last line of {str(self.path)!r} is incomplete: its writer was interrupted; "
                "`attain audit repair` removes it and records that"
            )
        head = self._checked(complete)
        known = known_head(self.path)
        if known is not None and _is_ahead(known, head):
            raise FileError(
                f"the last line of {str(self.path)!r} is {head}, but {str(head_path(self.path))!r} has {known}: lines "
                "are missing; restore them, or run `attain audit repair`, which records that they are missing"
            )
        return head

    def _checked(self, text: bytes | None) -> Head:
        """The head that the last line is, if it is intact and has the same key."""
        if text is None:
            return Head()
        line, wrong = parsed(text)
        if wrong is not None:
            raise FileError(f"the last line of {str(self.path)!r} was altered: {wrong}; see `attain audit verify`")
        own = key_id(self.entries.key)
        if line["key"] != own:
            raise FileError(
                f"{str(self.path)!r} was written with {named(line['key'])}, got {named(own)}; pass the same key, or "
                "start a new log"
            )
        return Head(line["number"], line["hash"])


def _is_ahead(known: Head, last: Head) -> bool:
    """Whether a known head is beyond the last line, or another line in its place."""
    return known.number > last.number or (known.number == last.number and known.hash != last.hash)


def _append_bytes(path: Path, content: bytes) -> None:
    """Appends and waits until the disk has it; if that fails, what was written is removed again."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        with open(descriptor, "ab", buffering=0) as file:
            size = os.fstat(descriptor).st_size
            try:
                left = memoryview(content)
                while left:
                    left = left[file.write(left) :]
                os.fsync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, size)
                raise
    except OSError as error:
        raise FileError(f"{str(path)!r} could not be written: {error.strerror or error}") from None
