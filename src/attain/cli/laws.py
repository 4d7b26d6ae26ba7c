"""`attain laws`: what holds for everybody in a table, what looks computed, and what columns tell of each other."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_json, add_reading, names

if TYPE_CHECKING:
    from attain.schema.laws import Law

_HELP = "find laws in a table, which hold for everybody or all but a few, and columns that are computed from others"
_EPILOG = """example:
  attain laws credit.csv --drop label
"""
_LONGEST = 300
"""The number of characters of a law that are printed; JSON has all."""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "laws", _HELP, _EPILOG)
    command.add_argument("data", metavar="DATA", help="a CSV or Parquet file")
    command.add_argument("--schema", metavar="S.toml", help="what the columns are (default: a guess)")
    command.add_argument("--drop", action="append", metavar="A,B", help="columns to drop, such as the label")
    command.add_argument(
        "--exceptions",
        type=float,
        default=0.003,
        metavar="SHARE",
        help="the largest share of people who may break a law (default 0.003, as for laws that explainers keep)",
    )
    add_reading(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Prints the laws."""
    from attain.cli.terminal import say, say_json
    from attain.core.text import plain
    from attain.population.relations import Relations
    from attain.schema import Schema
    from attain.schema.law_states import SMALLEST
    from attain.schema.laws import find, propose
    from attain.tables import Table

    frame, schema = _read(given)
    laws, proposals = find(frame, schema, exceptions=given.exceptions), propose(frame, schema)
    schema = Schema.infer(frame) if schema is None else schema
    relations = Relations.fit(schema, Table.read(frame, schema, errors="status").values).sentences()
    if given.json:
        computed = [asdict(one) | {"line": one.line} for one in proposals]
        say_json(
            {"people": len(frame), "laws": [asdict(law) for law in laws], "computed": computed, "relations": relations}
        )
        return
    count = "No laws" if not laws else f"{len(laws):,} law{'s' if len(laws) > 1 else ''}"
    few = "these are too few" if len(frame) < SMALLEST else "none is about a level that fewer have"
    say(f"{count} in {given.data}, {len(frame):,} people. A law rests on {SMALLEST} people at least: {few}.")
    for law in laws:
        _say(law)
    for one in proposals:
        say(f"\n{plain(one.sentence)} If it is, add to its feature:")
        print(f"  {plain(one.line)}")  # not wrapped, so that it can be copied
    if relations:
        say("\nColumns that others tell; answers that are typical keep to it as real people do:")
    for text in relations:
        say(f"  {text}")


def _read(given: argparse.Namespace) -> tuple[Any, Any]:
    """The frame, and its schema if there is one."""
    from attain.cli.schema import read_schema
    from attain.cli.terminal import note
    from attain.core.errors import AttainError, listed
    from attain.tables.files import read_any, read_people

    if given.schema is None:
        frame, remarks = read_any(given.data, index=given.index, separator=given.separator)
        for remark in remarks:
            note(remark)
        return frame.drop(columns=names(given.drop, frame.columns, "--drop")), None
    if given.drop:
        raise AttainError("--drop: columns that the schema does not have are ignored; remove it")
    schema = read_schema(given.schema)
    people = read_people(given.data, schema, index=given.index, separator=given.separator)
    if people.left_out:
        note(f"ignored columns that are not in the schema: {listed(people.left_out)}")
    return people.frame, schema


def _say(law: Law) -> None:
    from attain.cli.terminal import say
    from attain.core.text import plain

    text = plain(law.text)
    say("")
    say(plain(law.sentence))
    say(f"  {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}")
    say(f"  {law.evidence}")
