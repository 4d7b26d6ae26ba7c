"""Output of the commands: wrapped text on standard output, notes on standard error, JSON for programs."""

from __future__ import annotations

import codecs
import io
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from attain.core import files
from attain.core.text import CONTROLS, disarmed, window, wrapped

_WIDEST = 100
_COMMANDS = {
    "can be given as `calibration` when fitting": "can be given to `attain fit --calibration`",
    "Raise `timeout`": "Raise `--timeout`",
    "Raise `budget`": "Raise `attain fit --set budget=…`",
    "Raise `max_shells`": "Raise `attain fit --set max_shells=…`",
}
"""What summaries and notes of results call by its name in Python, and the command or flag for it."""
_ASCII = {"…": "...", "–": "-", "−": "-", "≥": ">=", "×": "x", "∞": "inf", "ε": "eps", "→": "->", "“": '"', "”": '"'}


class Printable:
    """A stream whose control characters are replaced: those could disturb a terminal, or deceive its reader."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream
        """The stream itself, on which rich draws progress bars."""

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(disarmed(text))

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def printable() -> Iterator[None]:
    """Prints through `Printable`, and replaces characters that the terminal's encoding lacks.

    Warnings of this package are notes.
    """
    codecs.register_error("attain", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="attain")
    with (
        redirect_stdout(cast(TextIO, Printable(sys.stdout))),
        redirect_stderr(cast(TextIO, Printable(sys.stderr))),
        warnings.catch_warnings(),
    ):
        others = warnings.showwarning
        warnings.showwarning = lambda text, kind, *place: (
            note(str(text)) if kind is UserWarning else others(text, kind, *place)
        )
        try:
            yield
        finally:
            sys.stdout.flush()


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_ASCII.get(character, "?") for character in lacking), error.end


def width() -> int:
    """The width of text: that of the terminal, but at most 100 columns."""
    return min(window(), _WIDEST)


def say(text: str = "") -> None:
    """Prints paragraphs, wrapped; lines keep their indentation."""
    for line in text.splitlines() or [""]:
        print(wrapped(line.strip(), width(), " " * (len(line) - len(line.lstrip()))))


def say_summary(text: str) -> None:
    """Prints the summary of a result, with commands and flags instead of Python names."""
    for python, command in _COMMANDS.items():
        text = text.replace(python, command)
    say(text)


def note(text: str) -> None:
    """Prints a note to standard error, apart from output that a program reads."""
    print(wrapped(f"note: {text}", width()), file=sys.stderr)


def say_error(text: str) -> None:
    """Prints what is wrong to standard error: wrapped in a terminal, and as one line for programs and logs."""
    print(wrapped(text, width()) if sys.stderr.isatty() else text, file=sys.stderr)


def counted(count: int, noun: str) -> str:
    """`1 line`, `1,200 lines`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def say_json(value: Any) -> None:
    """Prints one JSON object."""
    print(as_json(value))


def as_json(value: Any) -> str:
    """A JSON text; NaN and infinity, which JSON lacks, become null, and control characters their codes."""
    text = json.dumps(files.as_json(value, infinite=lambda _: None), ensure_ascii=False, indent=2)
    return CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
