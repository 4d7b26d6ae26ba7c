"""Flags that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from attain.cli.exits import RUNS_CODE
from attain.core.errors import AttainError, did_you_mean, listed


class Parser(argparse.ArgumentParser):
    """Names the command or flag that was perhaps meant, before anything else is wrong about the command line."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuses unknown commands and flags; a parser with commands of its own leaves flags to theirs."""
        if args is not None and self._subparsers is not None:
            if not args:
                self.exit(2, self.format_help())
            known = {name: name for group in self._subparsers._group_actions for name in group.choices or ()}
            if not args[0].startswith("-") and args[0] not in known:
                meant = did_you_mean(args[0], known) or f"; commands are {', '.join(known)}"
                self.error(f"there is no command {args[0]!r}{meant}")
        elif args is not None:
            for text in takewhile(lambda text: text != "--", args):
                flag = text.partition("=")[0]
                if flag.startswith("--") and flag not in self._option_string_actions:
                    known = {name: name for name in self._option_string_actions if name.startswith("--")}
                    self.error(f"there is no flag {flag}{did_you_mean(flag, known)}")
        return super().parse_known_args(args, namespace)


class Formatter(argparse.HelpFormatter):
    """Wraps paragraphs to the window, and leaves text of several lines as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def add_command(commands: Any, name: str, text: str, epilog: str) -> argparse.ArgumentParser:
    """A parser for one command; `text` is its help, `epilog` has an example."""
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, epilog=epilog, formatter_class=Formatter, allow_abbrev=False
    )
    return command


def add_reading(command: argparse.ArgumentParser) -> None:
    """Flags of a command that reads a table."""
    command.add_argument("--index", metavar="COLUMN", help="column with the names of people (default: row numbers)")
    command.add_argument("--separator", metavar="TEXT", help="separator of CSV files (default: a comma; tab: \\t)")


def add_model(command: argparse.ArgumentParser, text: str, *, required: bool = True) -> None:
    """Flags of a command that reads a model."""
    command.add_argument("--model", required=required, metavar="M", help=text)
    command.add_argument("--classes", metavar="A,B", help="names for the model's classes, in its order")
    command.add_argument("--trust", action="append", default=[], metavar="TYPE", help="trust this type in a skops file")
    command.add_argument("--trust-pickle", action="store_true", help=f"read a pickle, which {RUNS_CODE}")


def add_target(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Flags of a command that asks for a class."""
    command.add_argument("--target", required=required, metavar="T", help="the desired class, as the model names it")
    command.add_argument("--class-names", metavar="A,B", help="what texts call the model's classes, in its order")


def add_levels(command: argparse.ArgumentParser) -> None:
    """The flag of a command that builds frames for a model."""
    command.add_argument(
        "--levels",
        choices=("text", "category"),
        default="text",
        help="type of columns with levels in the model's training data: strings, or pandas categories, which XGBoost "
        "and LightGBM require (default text)",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """The flag of a command that reports."""
    command.add_argument("--json", action="store_true", help="report as JSON")


def add_config(command: argparse.ArgumentParser) -> None:
    """The flag of a command that can be run again from a file."""
    command.add_argument(
        "--config",
        metavar="FILE",
        help="read arguments from a file written by an earlier run; flags on the command line override it",
    )


def names(given: Sequence[str] | None, columns: Iterable[str], flag: str) -> list[str]:
    """Column names from a flag that takes several, separated by commas or given repeatedly."""
    known = list(columns)
    found: list[str] = []
    for text in given or ():
        found += [text] if text in known else [part.strip() for part in text.split(",") if part.strip()]
    unknown = [name for name in found if name not in known]
    if unknown:
        meant = did_you_mean(unknown[0], known) or f"; its columns are {listed(known, 40)}"
        raise AttainError(f"{flag}: the file has no column {listed(unknown)}{meant}")
    return list(dict.fromkeys(found))
