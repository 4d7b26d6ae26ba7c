"""`python -m experiments bench` and `python -m experiments paper`: the benchmark over data sets, and the paper."""

from __future__ import annotations

import argparse
import sys

from attain.cli.arguments import Formatter
from attain.cli.exits import INTERRUPTED, MISUSE
from attain.cli.stopping import stoppable
from attain.core.errors import AttainError
from experiments.bench import command as bench
from experiments.paper import command as paper


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; gives its exit code."""
    top = argparse.ArgumentParser(prog="experiments", description=__doc__, formatter_class=Formatter)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in (bench, paper):
        command.register(commands)
    given = top.parse_args(arguments)
    with stoppable() as stop:

        def run() -> int:
            try:
                code: int = given.run(given) or 0
            except AttainError as error:
                if stop.number is not None:
                    raise
                print(f"experiments: {error}", file=sys.stderr)
                return MISUSE
            return stop.code if code == INTERRUPTED else code

        return stop.code_of(run)


if __name__ == "__main__":
    sys.exit(main())
