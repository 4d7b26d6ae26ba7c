"""The parser of all commands, and running one of them."""

from __future__ import annotations

import argparse
import codecs
import io
import sys
from collections.abc import Sequence

import attain
from attain.cli import (
    audit,
    compare,
    demo,
    evaluate,
    explain,
    fit,
    inspect,
    laws,
    letter,
    report,
    schema,
    serve,
)
from attain.cli.arguments import Formatter, Parser
from attain.cli.config import expanded
from attain.cli.exits import EXIT_CODES
from attain.cli.stopping import Stop
from attain.cli.terminal import printable

_ASCII = {"…": "...", "–": "-", "−": "-", "≥": ">=", "×": "x", "∞": "inf", "ε": "eps", "→": "->", "“": '"', "”": '"'}
_COMMANDS = (schema, laws, fit, explain, serve, letter, report, evaluate, compare, audit, inspect, demo)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = Parser(
        prog="attain",
        description="Faithful counterfactuals for tabular data: what would have to change to flip a decision.",
        epilog=EXIT_CODES,
        formatter_class=Formatter,
    )
    top.add_argument("--version", action="version", version=f"attain {attain.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.register(commands)
    return top


def run(arguments: Sequence[str], stop: Stop) -> int:
    """Runs the command that the arguments name; returns its exit code."""
    _never_fail_to_print()

    def command() -> int | None:
        given = parser().parse_args(expanded(arguments))
        code: int | None = given.run(given)
        return code

    with printable():
        return stop.answered(command, "attain")


def _never_fail_to_print() -> None:
    """Replaces characters that the encoding of the terminal lacks."""
    codecs.register_error("attain", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="attain")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_ASCII.get(character, "?") for character in lacking), error.end
