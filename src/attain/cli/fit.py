"""`attain fit`: an explainer, fitted on a table, in one file."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_config, add_json, add_levels, add_reading
from attain.cli.methods import DEFAULT_METHOD, method_names

if TYPE_CHECKING:
    from attain.schema import Schema
    from attain.tables.files import People

_HELP = "fit an explainer on a table and save it in one file"
_EPILOG = """methods: {methods}

The file contains training rows unless you pass
--reference none: protect it like the data. The
.config.toml beside it has all arguments.

example:
  attain fit credit.csv --schema schema.toml \\
    --label label --out credit.attain
  attain fit credit.csv --schema schema.toml \\
    --out credit.attain \\
    --method cchvae --set autoencoder.epochs=50
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    methods = "".join(f"\n  {name}" for name in method_names())
    command = add_command(commands, "fit", _HELP, _EPILOG.format(methods=methods))
    command.add_argument("data", metavar="DATA", help="a CSV or Parquet file of people like those to be explained")
    command.add_argument("--schema", required=True, metavar="S.toml", help="the schema of the columns")
    command.add_argument("--out", required=True, metavar="E.attain", help="output file")
    command.add_argument("--label", metavar="COLUMN", help="column with the true labels, as the model names them")
    command.add_argument(
        "--calibration",
        metavar="DATA",
        help="people whom the model was not trained on, with the same columns: what is typical rests on them (Guarded)",
    )
    command.add_argument(
        "--method", default=DEFAULT_METHOD, metavar="NAME", help=f"the method (default {DEFAULT_METHOD})"
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the method, as in Python, or of its autoencoder: autoencoder.epochs=50",
    )
    command.add_argument(
        "--reference",
        choices=("rows", "none"),
        default="rows",
        metavar="KEPT",
        help="what the file keeps of the training data: rows, or none (only each column's distribution); default rows",
    )
    add_levels(command)
    command.add_argument("--seed", type=int, default=0, help="seed of training and search (default 0)")
    add_reading(command)
    add_config(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Fits and saves."""
    from attain.cli.config import write_config
    from attain.cli.methods import find_method, make_explainer
    from attain.cli.schema import read_schema
    from attain.cli.terminal import note, say, say_json
    from attain.core.errors import AttainError
    from attain.core.files import check_writable
    from attain.methods import Guarded
    from attain.methods.persistence import HOLDS, check_needs_no_rows

    target = check_writable(given.out)
    method = find_method(given.method)
    schema = read_schema(given.schema)
    explainer = make_explainer(method, schema, given.seed, given.set)
    if given.reference == "none":
        check_needs_no_rows(explainer)
    people = _read(given, given.data, schema)
    if people.left_out:
        note(f"ignored columns that are not in the schema: {', '.join(people.left_out)}")
    started = time.perf_counter()
    if given.calibration is None:
        explainer.fit(people.frame, people.labels)
    elif isinstance(explainer, Guarded):
        held_out = _read(given, given.calibration, schema)
        explainer.fit(people.frame, people.labels, calibration=(held_out.frame, held_out.labels))
    else:
        raise AttainError(f"--calibration is for the method Guarded; {method.__name__} does not use it")
    seconds = time.perf_counter() - started
    explainer.save(given.out, reference=given.reference)
    config = write_config(given.out, given)
    labelled = people.labels is not None
    if given.json:
        say_json(
            {
                "out": given.out,
                "config": config,
                "explainer": method.__name__,
                "people": len(people.frame),
                "features": len(schema),
                "labels": labelled,
                "training_rows": given.reference == "rows",
                "reference": given.reference,
                "left_out": people.left_out,
                "seconds": round(seconds, 3),
            }
        )
        return
    say(
        f"{method.__name__} fitted on {len(people.frame):,} people in {seconds:.1f} s: {len(schema)} features, "
        f"{len(schema.immutable)} of them immutable, {'with' if labelled else 'without'} labels."
    )
    say(f"Written: {given.out} ({target.stat().st_size / 1e6:.1f} MB), {config}")
    say(HOLDS[given.reference])


def _read(given: argparse.Namespace, path: str, schema: Schema) -> People:
    from attain.tables.files import read_people

    return read_people(
        path,
        schema,
        index=given.index,
        label=given.label,
        separator=given.separator,
        categories=given.levels == "category",
    )
