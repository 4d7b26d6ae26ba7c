"""`attain report`: a result as one HTML file."""

from __future__ import annotations

import argparse
from typing import Any

from attain.cli.arguments import add_command
from attain.cli.exits import EXIT_CODES

_HELP = "write a result as one HTML file that opens without a network and prints well"
_EPILOG = f"""FILE has outcomes, quality figures with intervals,
what changes, each person's options, rules and
laws, settings and versions. It contains values of
people's records: protect it like the data.

{EXIT_CODES}
example:
  attain explain credit.attain refused.csv \\
    --model model.onnx --target good \\
    --out answers.json
  attain report answers.json --out report.html
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "report", _HELP, _EPILOG)
    command.add_argument("result", metavar="RESULT.json", help="a result that `attain explain` wrote as JSON")
    command.add_argument("--out", required=True, metavar="FILE", help="output file: .html")
    command.add_argument("--title", metavar="TEXT", help="the heading of the report")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Writes the report; returns the exit code."""
    from attain.cli.answers import read_whole
    from attain.cli.terminal import say
    from attain.core.files import check_ending, check_writable
    from attain.results.report import ENDINGS

    check_ending(given.out, *ENDINGS)
    check_writable(given.out)
    result = read_whole(given.result)
    result.report(given.out, given.title)
    say(f"{int(result.found.sum())} of {len(result)} people have an answer. Written: {given.out}")
    return 0
