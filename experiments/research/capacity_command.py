"""`python -m experiments capacity`: how large an autoencoder to search, on your own data and model."""

from __future__ import annotations

import argparse
from typing import Any

from attain.cli.arguments import add_command
from attain.cli.compare import add_inputs, inputs
from attain.cli.exits import EXIT_CODES, NOBODY

_HELP = "sweep the sizes of the CHVAE: bound, judge, answers of C-CHVAE, and a recommendation"
_EPILOG = f"""Needs the extra autoencoders. OUT gets capacity.csv
and capacity.png.

{EXIT_CODES}
examples:
  python -m experiments capacity --demo --quick
  python -m experiments capacity train.csv people.csv \\
    --model model.onnx --label y --target good \\
    --quick --out OUT
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "capacity", _HELP, _EPILOG)
    add_inputs(command)
    command.add_argument(
        "--quick", action="store_true", help="5 networks instead of 8, at most 2,000 rows, 20 people and 120 seconds"
    )
    command.add_argument("--seconds", type=float, metavar="S", help="start no other network after so many seconds")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Sweeps, writes and reports; returns the exit code."""
    from attain.cli.terminal import say, say_json, width
    from experiments.research.capacity import capacity

    card = capacity(**inputs(given), quick=given.quick, seconds=given.seconds)
    written = [] if given.out is None else [str(path) for path in card.write(given.out)]
    if given.json:
        networks = card.table.reset_index().to_dict("records")
        say_json({"out": written, "recommended": card.recommended, "networks": networks})
    else:
        print(card.text(width()))
        if written:
            say(f"\nWritten: {', '.join(written)}")
    return 0 if (card.table["found"] > 0).any() else NOBODY
