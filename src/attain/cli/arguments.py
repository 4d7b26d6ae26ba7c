"""What the commands' parsers share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from attain.core.errors import AttainError, listed


class Formatter(argparse.HelpFormatter):
    """Wraps running text to the window; a text of several lines stays as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def add_command(commands: Any, name: str, text: str, epilog: str) -> argparse.ArgumentParser:
    """A parser for one command; `text` is its help, `epilog` has an example."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=text,
        epilog=epilog,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    return command


def add_reading(command: argparse.ArgumentParser) -> None:
    """The flags of a command that reads a table."""
    command.add_argument("--index", metavar="COLUMN", help="the column that names the people (default: row numbers)")
    command.add_argument(
        "--separator", metavar="TEXT", help="what stands between the cells of a CSV file (default: a comma; tab: \\t)"
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """The flag of a command that reports."""
    command.add_argument("--json", action="store_true", help="report as JSON")


def add_config(command: argparse.ArgumentParser) -> None:
    """The flag of a command that can run from a file."""
    command.add_argument(
        "--config",
        metavar="FILE",
        help="take the arguments from a file that an earlier run wrote; flags given beside it win",
    )


def names(given: Sequence[str] | None, columns: Iterable[str], flag: str) -> list[str]:
    """Column names from a flag that takes several, separated by commas or given again; each must be a column."""
    known = list(columns)
    found: list[str] = []
    for text in given or ():
        found += [text] if text in known else [part.strip() for part in text.split(",") if part.strip()]
    unknown = [name for name in found if name not in known]
    if unknown:
        raise AttainError(f"{flag} names {listed(unknown)}, which the file does not have; it has {listed(known, 40)}")
    return list(dict.fromkeys(found))
