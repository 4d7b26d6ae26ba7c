"""`attain inspect`: a description of a saved explainer, without loading it."""

from __future__ import annotations

import argparse
from typing import Any

from attain.cli.arguments import add_command, add_json

_HELP = "describe a saved explainer; the first line says whether it contains training rows"
_EPILOG = """example:
  attain inspect credit.attain
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "inspect", _HELP, _EPILOG)
    command.add_argument("explainer", metavar="E.attain", help="a file written by `attain fit` or `save`")
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Prints the description."""
    from attain.cli.schema import as_dictionary
    from attain.cli.terminal import say, say_json
    from attain.core.text import plain
    from attain.methods.persistence import inspect

    found = inspect(given.explainer)
    schema = found.pop("schema")
    if given.json:
        say_json({**found, "schema": as_dictionary(schema)})
        return
    say(found["training_rows"])
    say()
    say(
        f"{found['explainer']}, fitted on {found['rows']:,} people, "
        f"{'with' if found['labels'] else 'without'} labels kept."
    )
    say("Parameters: " + ", ".join(f"{key}={plain(_shown(value))}" for key, value in found["parameters"].items()))
    say("Written with " + ", ".join(f"{name} {plain(text)}" for name, text in found["versions"].items()))
    say()
    print(schema)


def _shown(value: Any) -> str:
    """A parameter as Python writes it; a nested estimator as its constructor."""
    if isinstance(value, dict):
        return ", ".join(
            f"{name}({', '.join(f'{key}={_shown(item)}' for key, item in given.items())})"
            if isinstance(given, dict)
            else f"{name}: {given!r}"
            for name, given in value.items()
        )
    return repr(value)
