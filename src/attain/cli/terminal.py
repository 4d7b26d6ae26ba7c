"""What the commands say: wrapped text on standard output, notes on standard error, JSON for programs."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from typing import Any

_WIDEST = 100


def width() -> int:
    """How wide text is set: the terminal, but no wider than is good to read."""
    return min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)


def say(text: str) -> None:
    """Prints paragraphs, wrapped; a line that starts with blanks keeps them."""
    for line in text.splitlines() or [""]:
        indent = " " * (len(line) - len(line.lstrip()))
        print(_wrapped(line.strip(), indent))


def note(text: str) -> None:
    """Tells a person something on standard error, where it does not disturb what a program reads."""
    print(_wrapped(f"note: {text}", ""), file=sys.stderr)


def say_json(value: Any) -> None:
    """Prints one JSON object; NaN and infinity, which JSON lacks, become null."""
    print(json.dumps(_plain(value), ensure_ascii=False, indent=2, default=str))


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(
        text, width(), initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
