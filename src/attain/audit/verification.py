"""Reading a log, and finding what was altered, deleted, inserted or moved in it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from attain.audit.keys import check_key
from attain.audit.lines import FORMAT, Head, parsed
from attain.core.errors import AttainError, FileError

_BLOCK: Final = 1 << 16
_DIGITS: Final = 18
"""Of the number of a line, at most."""
_NO_LOG: Final = "is not an audit log: no line of it is one that `attain explain --audit` writes"


class Problem(NamedTuple):
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
    problems: tuple[Problem, ...]
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
    check_key(key)
    known = [("expect", _head(expect, "expect"))] if expect is not None else []
    beside = known_head(path)
    if beside is not None:
        known.append((str(head_path(path)), beside))
    wanted = {head.number for _, head in known}
    problems: list[Problem] = []
    repairs: list[int] = []
    hashes: dict[int, str | None] = {0: None}
    last = Head()
    count = ours = 0
    for count, (text, complete) in enumerate(_texts(path), start=1):
        ours += FORMAT.encode() in text
        if not complete:
            problems.append(Problem(count, "it is incomplete: its writer was interrupted, or the file was truncated"))
            continue
        line, wrong = parsed(text, key)
        if wrong is not None:
            problems.append(Problem(count, wrong))
        if not isinstance(line.get("number"), int):
            last = Head(last.number + 1)
            continue
        problems += [Problem(count, broken) for broken in _breaks(line, last)]
        last = Head(line["number"], line.get("hash"))
        if last.number in wanted:
            hashes[last.number] = last.hash
        if line.get("kind") == "repair":
            repairs.append(last.number)
    for source, head in known:
        if hashes.get(head.number, "") != head.hash:
            problems.append(
                Problem(0, f"line {head.number} with the hash {head.hash} is missing, which {source} names as the head")
            )
    if count and not ours and not known:
        problems = [Problem(0, f"the file {_NO_LOG}")]
    found = tuple(_in_short(problems, count))
    return Verification(count, str(last), found, tuple(repairs), key is not None, bool(known))


def _in_short(problems: list[Problem], lines: int) -> list[Problem]:
    """The problems; one that all lines have, such as another key, once."""
    counts = Counter(text for _, text in problems)
    common = [text for text, count in counts.items() if count == lines > 1]
    return [Problem(0, f"every line: {text}") for text in common] + [p for p in problems if p.text not in common]


def _breaks(line: dict[str, Any], last: Head) -> Iterator[str]:
    """How a line fails to follow the one before it, whose hash is None if it could not be read."""
    if line["number"] != last.number + 1:
        yield f"its number is {line['number']} instead of {last.number + 1}: lines were deleted, inserted or moved"
    elif line.get("previous") != last.hash and (last.hash is not None or last.number == 0):
        yield "it does not have the hash of the line before it: one of the two was replaced"


def read_lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The lines of a log that match their hash; `verify` reports the others."""
    count = ours = 0
    for text, complete in _texts(path):
        count += 1
        ours += FORMAT.encode() in text
        line, wrong = parsed(text)
        if complete and wrong is None:
            yield line
    if count and not ours:
        raise FileError(f"{str(path)!r} {_NO_LOG}")


def find_line(path: str | os.PathLike[str], id: str) -> dict[str, Any]:
    """The line whose id starts with these digits."""
    found = [line for line in read_lines(path) if id and line["id"].startswith(id)]
    if not found:
        raise AttainError(f"no line of {str(path)!r} has an id that starts with {id!r}; `attain audit list` shows them")
    if len(found) > 1:
        raise AttainError(
            f"{len(found)} lines of {str(path)!r} have an id that starts with {id!r}; give more digits of it"
        )
    return found[0]


def _texts(path: str | os.PathLike[str]) -> Iterator[tuple[bytes, bool]]:
    """Each line without its line break, and whether it has one."""
    try:
        with open(path, "rb") as file:
            for text in file:
                yield text.removesuffix(b"\n"), text.endswith(b"\n")
    except OSError as error:
        raise FileError(f"the log {str(path)!r} could not be read: {error.strerror or error}") from None


def last_line(path: Path) -> tuple[bytes | None, bytes]:
    """The last complete line of a file, None if there is none, and what follows it."""
    if not path.exists():
        return None, b""
    with open(path, "rb") as file:
        start = file.seek(0, os.SEEK_END)
        tail = b""
        while start > 0 and tail.count(b"\n") < 2:
            step = min(_BLOCK, start)
            start = file.seek(start - step)
            tail = file.read(step) + tail
    *lines, rest = tail.split(b"\n")
    return lines[-1] if lines else None, rest


def head_path(path: str | os.PathLike[str]) -> Path:
    """The file that holds the head of a log."""
    return Path(f"{os.path.realpath(path)}.head")


def known_head(path: str | os.PathLike[str]) -> Head | None:
    """The head in that file; None if there is no such file."""
    file = head_path(path)
    return _head(file.read_text(encoding="utf-8", errors="replace"), str(file)) if file.exists() else None


def _head(text: str, source: str) -> Head:
    number, colon, digits = text.strip().partition(":")
    if not number.isdecimal() or len(number) > _DIGITS or not colon or (len(digits) != 64 and number != "0"):
        raise FileError(f"{source} must be the number of a line and its hash, NUMBER:HASH, got {text.strip()!r}")
    return Head(int(number), digits or None)
