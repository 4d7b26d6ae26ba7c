"""`python -m experiments COMMAND`: the benchmark over data sets, the paper's experiments, and the capacity card."""

from __future__ import annotations

import argparse
import sys

from attain.cli.arguments import Formatter
from attain.cli.stopping import stoppable
from experiments.bench import command as bench
from experiments.paper import command as paper
from experiments.research import capacity_command as capacity


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; gives its exit code."""
    top = argparse.ArgumentParser(prog="experiments", description=__doc__, formatter_class=Formatter)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in (bench, paper, capacity):
        command.register(commands)
    given = top.parse_args(arguments)
    with stoppable() as stop:
        return stop.code_of(lambda: stop.answered(lambda: given.run(given), "experiments"))


if __name__ == "__main__":
    sys.exit(main())
