"""`python -m experiments paper`: all experiments of the paper, its figures, its tables, a verdict on each claim."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from attain.cli.arguments import add_command, add_json
from attain.cli.exits import INTERRUPTED

_HELP = "run every experiment of the C-CHVAE paper: its figures, its tables, and whether its claims are reproduced"
_EPILOG = """examples:
  python -m experiments paper --quick --out paper-quick
  python -m experiments paper --data ~/data --out paper
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "paper", _HELP, _EPILOG)
    command.add_argument(
        "--quick",
        action="store_true",
        help="the synthetic examples and German credit, which need no data folder; under three minutes",
    )
    command.add_argument(
        "--out",
        metavar="DIR",
        required=True,
        help="the folder for figures, tables and index.html; the same folder resumes an interrupted run",
    )
    command.add_argument(
        "--data",
        metavar="DIR",
        help="the folder of Give Me Some Credit and HELOC (default: the one in ATTAIN_DATA, or ~/.cache/attain)",
    )
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Runs, writes and reports."""
    from attain.cli.terminal import say, say_json
    from experiments.paper import FULL, QUICK
    from experiments.paper import run as reproduce

    try:
        claims = reproduce(given.out, settings=QUICK if given.quick else FULL, data=given.data)
    except KeyboardInterrupt:
        print("experiments: stopped; the same command resumes", file=sys.stderr)
        return INTERRUPTED
    page = Path(given.out) / "index.html"
    if given.json:
        say_json({"page": str(page), "claims": claims.to_dict("records")})
        return 0
    counts = Counter(claims["verdict"])
    say(f"{len(claims)} claims: " + ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()) + ".")
    say("")
    for row in claims.itertuples(index=False):
        say(f"{row.verdict}: {row.claim} ({row.section})")
        say(f"  {row.reason}")
    say("")
    say(f"Figures, tables and the page are in {given.out}; open {page}.")
    return 0
