"""`attain schema infer` and `attain schema show`: guess a schema, or check one."""

from __future__ import annotations

import argparse
import tomllib
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_json, add_reading, names

if TYPE_CHECKING:
    from attain.schema import Schema

_HELP = "guess the schema of a file, or show a schema"
_INFER = (
    "guess the schema of a table: print it, and write it as TOML to be reviewed and edited; drop columns that are not "
    "features, such as the label"
)
_INFER_EPILOG = """example:
  attain schema infer credit.csv --drop label \\
    --immutable age,sex --out schema.toml
"""
_SHOW = "check a schema and print it as a table"
_SHOW_EPILOG = """example:
  attain schema show schema.toml
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    group = add_command(commands, "schema", _HELP, _INFER_EPILOG + "  attain schema show schema.toml\n")
    parts = group.add_subparsers(dest="part", metavar="infer|show", required=True)
    infer = add_command(parts, "infer", _INFER, _INFER_EPILOG)
    infer.add_argument("data", metavar="DATA", help="a CSV or Parquet file")
    infer.add_argument("--immutable", action="append", metavar="A,B", help="columns that never change")
    infer.add_argument("--drop", action="append", metavar="A,B", help="columns to drop")
    infer.add_argument("--out", metavar="S.toml", help="the file to write the schema to")
    infer.add_argument(
        "--force",
        action="store_true",
        help="replace an existing schema; comments on features that it still has are kept",
    )
    add_reading(infer)
    add_json(infer)
    infer.set_defaults(run=_infer)
    show = add_command(parts, "show", _SHOW, _SHOW_EPILOG)
    show.add_argument("schema", metavar="S.toml", help="a schema")
    add_json(show)
    show.set_defaults(run=_show)


def read_schema(path: str) -> Schema:
    """The schema in a TOML file."""
    from attain.schema.toml import read_file

    return read_file(path)


def _infer(given: argparse.Namespace) -> None:
    from attain.cli.frames import read_any
    from attain.cli.terminal import note, say
    from attain.core.errors import FileError
    from attain.core.files import check_writable
    from attain.schema import Schema

    if given.out is not None:
        target = check_writable(given.out)
        if target.exists() and not given.force:
            raise FileError(
                f"{given.out!r} already exists, and may have been edited; name another file, or pass --force"
            )
    frame, remarks = read_any(given.data, index=given.index, separator=given.separator)
    frame = frame.drop(columns=names(given.drop, frame.columns, "--drop"))
    schema = Schema.infer(frame, immutable=names(given.immutable, frame.columns, "--immutable"))
    for remark in remarks:
        note(remark)
    if given.out is not None:
        schema.to_toml(given.out)
    _report(schema, given.json)
    if not given.json:
        say("")
        if given.out is None:
            say("This is a guess. Pass --out S.toml to write it to a file, and correct it there.")
        else:
            say(f"Written to {given.out}. This is a guess: review it, and correct it there.")


def _show(given: argparse.Namespace) -> None:
    _report(read_schema(given.schema), given.json)


def _report(schema: Schema, as_json: bool) -> None:
    from attain.cli.terminal import say_json

    if as_json:
        say_json(as_dictionary(schema))
    else:
        print(schema)


def as_dictionary(schema: Schema) -> dict[str, Any]:
    """The schema in the form of its TOML."""
    return tomllib.loads(schema.to_toml())
