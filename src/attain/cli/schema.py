"""`attain schema infer`, `show` and `check`: guess a schema, print one, or hold one against data."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_json, add_reading, names

if TYPE_CHECKING:
    from attain.schema import Schema
    from attain.schema.advice import Advice

_HELP = "guess the schema of a file, show a schema, or hold it against a file"
_INFER = (
    "guess the schema of a table, with its laws and with advice on what to decide: print it, and write it as TOML to "
    "be reviewed and edited; drop columns that are not features, such as the label"
)
_INFER_EPILOG = """example:
  attain schema infer credit.csv --drop label \\
    --immutable age,sex --out schema.toml
"""
_SHOW = "read a schema and print it as a table"
_SHOW_EPILOG = """example:
  attain schema show schema.toml
"""
_CHECK = "hold a schema against a table: cells that do not fit, rules and laws that people break, what is to be decided"
_CHECK_EPILOG = """example:
  attain schema check schema.toml credit.csv
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    group = add_command(commands, "schema", _HELP, _INFER_EPILOG + "  attain schema show schema.toml\n")
    parts = group.add_subparsers(dest="part", metavar="infer|show|check", required=True)
    infer = add_command(parts, "infer", _INFER, _INFER_EPILOG)
    infer.add_argument("data", metavar="DATA", help="a CSV or Parquet file")
    infer.add_argument("--immutable", action="append", metavar="A,B", help="columns that never change")
    infer.add_argument("--drop", action="append", metavar="A,B", help="columns to drop")
    infer.add_argument("--out", metavar="S.toml", help="the file to write the schema to")
    infer.add_argument("--force", action="store_true", help="replace an existing schema")
    infer.add_argument("--no-laws", action="store_true", help="do not look for laws")
    add_reading(infer)
    add_json(infer)
    infer.set_defaults(run=_infer)
    show = add_command(parts, "show", _SHOW, _SHOW_EPILOG)
    show.add_argument("schema", metavar="S.toml", help="a schema")
    add_json(show)
    show.set_defaults(run=_show)
    check = add_command(parts, "check", _CHECK, _CHECK_EPILOG)
    check.add_argument("schema", metavar="S.toml", help="a schema")
    check.add_argument("data", metavar="DATA", help="a CSV or Parquet file")
    add_reading(check)
    add_json(check)
    check.set_defaults(run=_check)


def read_schema(path: str) -> Schema:
    """The schema in a TOML file."""
    from attain.schema.toml import read_file

    return read_file(path)


def _infer(given: argparse.Namespace) -> None:
    from attain.cli.terminal import note, say
    from attain.core.errors import FileError
    from attain.core.files import check_writable
    from attain.schema import Schema
    from attain.tables.files import read_any

    if given.out is not None:
        target = check_writable(given.out)
        if target.exists() and not given.force:
            raise FileError(
                f"{given.out!r} already exists, and may have been edited; name another file, or pass --force"
            )
    frame, remarks = read_any(given.data, index=given.index, separator=given.separator)
    frame = frame.drop(columns=names(given.drop, frame.columns, "--drop"))
    immutable = names(given.immutable, frame.columns, "--immutable")
    schema = Schema.infer(frame, immutable=immutable, laws=not given.no_laws)
    advice = schema.advise(frame)
    for remark in remarks:
        note(remark)
    if given.out is not None:
        schema.to_toml(given.out, advice)
    if given.json:
        _say_json(schema, advice)
        return
    print(schema)
    _say_advice(advice)
    say("")
    if given.out is None:
        say("This is a guess. Pass --out S.toml to write it to a file, and correct it there.")
    else:
        say(f"Written to {given.out}, with the advice as comments. This is a guess: review it, and correct it there.")


def _show(given: argparse.Namespace) -> None:
    from attain.cli.terminal import say_json

    schema = read_schema(given.schema)
    if given.json:
        say_json(as_dictionary(schema))
    else:
        print(schema)


def _check(given: argparse.Namespace) -> None:
    from attain.cli.terminal import note, say
    from attain.core.errors import listed
    from attain.schema.formulas import View
    from attain.schema.law_candidates import LARGEST_RATE
    from attain.tables import Table
    from attain.tables.files import read_people

    schema = read_schema(given.schema)
    people = read_people(given.data, schema, index=given.index, separator=given.separator)
    values = Table.read(people.frame, schema, given.data).values
    if people.left_out:
        note(f"ignored columns that are not in the schema: {listed(people.left_out)}")
    view = View(schema, values)
    broken = {rule.text: int(rule.broken(view).sum()) for rule in (*schema.parsed_rules, *schema.parsed_laws)}
    advice = schema.advise(people.frame)
    if given.json:
        _say_json(schema, advice, people=len(values), broken={text: count for text, count in broken.items() if count})
        return
    say(f"{given.data} fits {given.schema}: {len(values):,} people, {len(schema)} features.")
    for text, count in broken.items():
        if count > (0 if text in schema.rules else LARGEST_RATE * len(values)):
            what = "rule" if text in schema.rules else "law"
            say(f"The {what} {text} is broken by {count:,} of {len(values):,} people.")
    _say_advice(advice)


def _say_advice(advice: Sequence[Advice]) -> None:
    from attain.cli.terminal import say, width
    from attain.schema.text import advice_text

    if advice:
        say("\nTo decide; each with the line for the schema:")
        print(advice_text(advice, width()))


def _say_json(schema: Schema, advice: Iterable[Advice], **facts: Any) -> None:
    from attain.cli.terminal import say_json

    items = [{name: getattr(item, name) for name in ("column", "about", "reason", "toml", "python")} for item in advice]
    say_json({**facts, **as_dictionary(schema), "advice": items})


def as_dictionary(schema: Schema) -> dict[str, Any]:
    """The schema in the form of its TOML."""
    return tomllib.loads(schema.to_toml())
