"""`attain schema` and `attain laws`: what the columns of a table are, and what holds in it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import pandas as pd

from attain.cli.inputs import column_names, read_people
from attain.cli.layer import Arguments
from attain.cli.terminal import note, say, say_json, width
from attain.core.errors import AttainError, FileError, listed
from attain.core.files import check_writable
from attain.core.text import plain, wrapped
from attain.population.relations import Relations
from attain.review import Question, questions
from attain.schema import Schema
from attain.schema.evaluator import evaluate
from attain.schema.law_candidates import LARGEST_RATE
from attain.schema.law_states import SMALLEST
from attain.schema.laws import find, propose
from attain.schema.toml import read_file
from attain.tables import Table
from attain.tables.files import read_any

_LONGEST: Final = 300
"""The number of characters of a law that are printed; JSON has all."""


def infer(arguments: Arguments) -> None:
    """Prints the schema of a table, and writes it."""
    if arguments.out is not None and check_writable(arguments.out).exists() and not arguments.force:
        raise FileError(
            f"{arguments.out!r} already exists, and may have been edited; name another file, or pass --force"
        )
    frame = _frame(arguments)
    immutable = column_names(arguments.immutable, frame.columns, "--immutable")
    schema = Schema.infer(frame, immutable=immutable, laws=not arguments.no_laws)
    if arguments.out is not None:
        schema.to_toml(arguments.out)
    asked = questions(schema, frame)
    if arguments.json:
        _say_json(schema, asked)
        return
    print(schema)
    _say_questions(schema, asked)
    done = "Pass --out S.toml to write it to a file" if arguments.out is None else f"Written to {arguments.out}"
    say(f"\n{done}. This is a guess: review it, and correct it there.")


def show(arguments: Arguments) -> None:
    """Prints a schema."""
    schema = read_file(arguments.schema)
    if arguments.json:
        say_json(as_dictionary(schema))
    else:
        print(schema)


def check(arguments: Arguments) -> None:
    """Counts who breaks rules and laws of a schema, and repeats the questions that are open."""
    schema = read_file(arguments.schema)
    people = read_people(arguments, arguments.data, schema).frame
    values = Table.read(people, schema, arguments.data).values
    rules = (*schema.parsed_rules, *schema.parsed_laws)
    verdicts = evaluate(schema.features, values, *(rule.formula for rule in rules))
    broken = {rule.text: int((verdicts[:, k] == -1).sum()) for k, rule in enumerate(rules)}
    asked = questions(schema, people)
    if arguments.json:
        found = {text: count for text, count in broken.items() if count}
        _say_json(schema, asked, people=len(values), broken=found)
        return
    say(f"{arguments.data} fits {arguments.schema}: {len(values):,} people, {len(schema)} features.")
    for text, count in broken.items():
        if count > (0 if text in schema.rules else LARGEST_RATE * len(values)):
            what = "rule" if text in schema.rules else "law"
            say(f"The {what} {text} is broken by {count:,} of {len(values):,} people.")
    _say_questions(schema, asked)


def laws(arguments: Arguments) -> None:
    """Prints the laws of a table, columns that look computed, and those that others predict."""
    if arguments.schema is None:
        schema, frame = None, _frame(arguments)
    elif arguments.drop:
        raise AttainError("--drop: columns that the schema does not have are ignored; remove it")
    else:
        schema = read_file(arguments.schema)
        frame = read_people(arguments, arguments.data, schema).frame
    laws, proposals = find(frame, schema, exceptions=arguments.exceptions), propose(frame, schema)
    schema = schema or Schema.infer(frame)
    relations = Relations.fit(schema, Table.read(frame, schema, errors="status").values).sentences()
    if arguments.json:
        facts = {"laws": [asdict(law) for law in laws], "computed": [asdict(p) | {"line": p.line} for p in proposals]}
        say_json({"people": len(frame), **facts, "relations": relations})
        return
    count = "No laws" if not laws else f"{len(laws):,} law{'s' if len(laws) > 1 else ''}"
    few = "these are too few" if len(frame) < SMALLEST else "none is about a level that fewer have"
    say(f"{count} in {arguments.data}, {len(frame):,} people. A law rests on {SMALLEST} people at least: {few}.")
    for law in laws:
        text = plain(law.text)
        say("")
        say(plain(law.sentence))
        say(f"  {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}")
        say(f"  {law.evidence}")
    for one in proposals:
        say(f"\n{plain(one.sentence)} If it is, add to its feature:")
        print(f"  {plain(one.line)}")  # not wrapped, so that it can be copied
    if relations:
        say("\nColumns that others tell; answers that are typical keep to it as real people do:")
        for text in relations:
            say(f"  {text}")


def as_dictionary(schema: Schema) -> dict[str, Any]:
    """The schema in the form of its TOML."""
    return tomllib.loads(schema.to_toml())


def _frame(arguments: Arguments) -> pd.DataFrame:
    """The columns of a table without a schema, with notes on ambiguous cells."""
    frame, remarks = read_any(arguments.data, index=arguments.index, separator=arguments.separator)
    for remark in remarks:
        note(remark)
    return frame.drop(columns=column_names(arguments.drop, frame.columns, "--drop"))


def _say_questions(schema: Schema, questions: Sequence[Question]) -> None:
    """Prints the questions about the contents of columns, and names the columns to be reviewed."""
    lines = [line for question in questions if question.topic != "change" for line in str(question).splitlines()]
    for line in ["", "To decide:", *lines] if lines else ():
        print(wrapped(plain(line), width(), "  " * line.startswith(" ")))
    if schema.unreviewed:
        say(f"\nNobody has decided what may happen to {listed(schema.unreviewed)}. `attain review` asks about each.")


def _say_json(schema: Schema, questions: Sequence[Question], **facts: Any) -> None:
    say_json({**facts, **as_dictionary(schema), "questions": list(map(asdict, questions))})
