"""`attain bench`: every method on the same people, against the same classifiers."""

from __future__ import annotations

import argparse
from typing import Any

from attain.cli.arguments import add_command, add_json

_HELP = "compare every method on real people: validity, rules, difficulty, faithfulness, speed"
_EPILOG = """example:
  attain bench --quick --people 20 --out bench.csv
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "bench", _HELP, _EPILOG)
    command.add_argument(
        "--quick",
        action="store_true",
        required=True,
        help="German credit with logistic regression, a random forest and gradient boosting; some minutes",
    )
    command.add_argument("--people", type=int, default=20, help="how many refused people are explained (default 20)")
    command.add_argument("--seed", type=int, default=0, help="the seed of split, classifiers and methods (default 0)")
    command.add_argument("--out", metavar="FILE", help="where one row for each method goes: .csv or .parquet")
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Runs every method, writes and reports."""
    from attain.cli.frames import check_ending, written
    from attain.cli.terminal import say, say_json, width
    from attain.datasets import load_german
    from attain.errors import AttainError
    from attain.experiments import bench_tables
    from attain.experiments import run as bench

    for flag, value, least in (("--people", given.people, 1), ("--seed", given.seed, 0)):
        if value < least:
            raise AttainError(f"{flag} is {value}; it takes a whole number from {least} upward")
    if given.out is not None:
        check_ending(given.out)
    frame = bench([load_german()], people=given.people, seed=given.seed)
    if given.out is not None:
        written(given.out, frame)
    if given.json:
        say_json({"out": given.out, "cells": frame.to_dict("records")})
        return
    print(bench_tables(frame, width()))
    if given.out is not None:
        say(f"\nWritten: {given.out}")
