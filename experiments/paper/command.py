"""`python -m experiments paper`: all experiments of the paper, its figures, its tables, a verdict on each claim."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from attain.cli.arguments import add_command, add_json
from attain.cli.exits import INTERRUPTED

_HELP = "run every experiment of the C-CHVAE paper: its figures, its tables, and whether its claims are reproduced"
_EPILOG = """examples:
  python -m experiments paper --quick --out paper-quick
  python -m experiments paper --data ~/data --out paper --jobs 2
  python -m experiments paper --data ~/data --out paper --seeds 1
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "paper", _HELP, _EPILOG)
    command.add_argument(
        "--quick",
        action="store_true",
        help="the synthetic examples and German credit, which need no data folder; one seed, under three minutes",
    )
    command.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="run with the seeds 0 to N − 1 (default: 5, with --quick 1); the same folder can be given more later",
    )
    command.add_argument("--jobs", type=int, default=1, metavar="N", help="processes, each on one thread (default: 1)")
    command.add_argument(
        "--out",
        metavar="DIR",
        required=True,
        help="the folder for figures, tables and index.html; the same folder resumes an interrupted run",
    )
    command.add_argument(
        "--data",
        metavar="DIR",
        help="the folder of Give Me Some Credit and HELOC (default: the one in ATTAIN_DATA)",
    )
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Runs, writes and reports."""
    from attain.cli.terminal import say, say_json
    from attain.core.checks import check_integer
    from experiments.paper import FULL, QUICK
    from experiments.paper import run as reproduce
    from experiments.paper.page import counted

    settings = QUICK if given.quick else FULL
    if given.seeds is not None:
        check_integer("--seeds", given.seeds, 1)
        settings = replace(settings, seeds=given.seeds)
    check_integer("--jobs", given.jobs, 1)
    try:
        claims = reproduce(given.out, settings=settings, data=given.data, jobs=given.jobs)
    except KeyboardInterrupt:
        print("experiments: stopped; the same command resumes", file=sys.stderr)
        return INTERRUPTED
    page = Path(given.out) / "index.html"
    if given.json:
        say_json({"page": str(page), "claims": claims.to_dict("records")})
        return 0
    say(f"{len(claims)} claims: {counted(claims)}. The five that the paper is cited for come first.")
    say("")
    for row in claims.itertuples(index=False):
        say(f"{row.verdict}: {row.claim} ({row.section})")
        for line in filter(None, (row.seeds, row.figures)):
            say(f"  {line}")
    say("")
    say(f"Figures, tables and the page are in {given.out}; open {page}.")
    return 0
