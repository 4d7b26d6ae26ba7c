"""The command line: `attain COMMAND --help` says more."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import attain
from attain.cli import demo
from attain.errors import AttainError

_COMMANDS = (demo,)
_EPILOG = """exit codes:
  0  done
  1  misuse or bad input; the message says what and how to mend it
  2  unknown command or flag
  130  stopped by Ctrl-C
"""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="attain",
        description="Faithful counterfactuals for tabular data: what would have to change for another decision.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"attain {attain.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.register(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; gives its exit code."""
    given = parser().parse_args(arguments)
    try:
        given.run(given)
    except AttainError as error:
        print(f"attain: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
        return 0
    return 0
