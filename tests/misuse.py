"""Tables of calls and what comes of them, in text files that people review.

A line is a call, in Python; the lines indented below it are its message, in which `…` stands for any text and before
which the name of the exception may stand. A call without a message gives a result. Lines that start with `#` are
headings. Some files hold names instead of calls, and below each a change of a file, in Python.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from attain.core.errors import AttainError


def calls(path: Path) -> list[Any]:
    """The calls of a file with their messages, as parameters of a test."""
    return [pytest.param(*case, id=case[0][:60]) for case in _cases(path)]


def _cases(path: Path) -> Iterator[tuple[str, str]]:
    call, message = "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            message.append(line[4:])
        elif line and not line.startswith("#"):
            yield from [(call, "\n".join(message))] if call else []
            call, message = line, []
    yield call, "\n".join(message)


def under_headings(path: Path) -> Iterator[tuple[str, str, str]]:
    """The heading, the line and the text indented below it, of a file whose lines all have such a text."""
    heading, above = "", ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            yield heading, above, line[4:]
        elif line.startswith("# "):
            heading = line[2:]
        else:
            above = line


def check_call(call: str, message: str, names: Mapping[str, Any]) -> None:
    """Fails where a call gives another message, a message instead of a result, or a result instead of a message."""
    if not message:
        eval(call, dict(names))
        return
    with pytest.raises(AttainError) as caught:
        eval(call, dict(names))
    pattern, kind = ".*".join(map(re.escape, message.split("…"))), type(caught.value).__name__
    told = (str(caught.value), f"{kind}: {caught.value}")
    assert len(told[0]) < 1000
    assert any(re.fullmatch(pattern, text, re.DOTALL) for text in told), told[1]
