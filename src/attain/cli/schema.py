"""`attain schema`, `laws` and `review`: what the columns of a table are, what holds in it, what people decide."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

import pandas as pd

from attain.cli.inputs import column_names, read_model, read_people, read_target
from attain.cli.layer import INTERRUPTED, NO_ANSWERS, Arguments
from attain.cli.terminal import counted, note, say, say_json, width
from attain.core.errors import AttainError, FileError, SchemaError, listed
from attain.core.files import check_writable
from attain.core.text import plain, wrapped
from attain.methods import Guarded
from attain.population.relations import Relations
from attain.review import OpenQuestion, Question, Review, questions
from attain.schema import Schema
from attain.schema.formulas import evaluate
from attain.schema.law_candidates import LARGEST_RATE
from attain.schema.law_states import SMALLEST
from attain.schema.laws import find, propose
from attain.schema.text import read_file
from attain.tables import Table
from attain.tables.files import read_any

_LONGEST: Final = 300
"""The number of characters of a law that are printed; JSON has all."""
_SKIP, _STOP = "s", "q"
"""The keys of `attain review` for deciding later, and for ending."""


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


def review(arguments: Arguments) -> int:
    """Asks until every answer rests on decisions, or somebody stops; returns the exit code."""
    if not arguments.by.strip():
        raise AttainError("--by must be the name of the person who decides")
    check_writable(arguments.schema)
    started = _started(arguments)
    say(_state(started))
    skipped: set[str] = set()
    number = 0
    try:
        while asked := next((one for one in started.questions() if one.question.id not in skipped), None):
            number += 1
            _show_question(asked, number, int(started.result.found.sum()))
            command = _decide(arguments, started, asked.question)
            if command == _STOP:
                break
            if command == _SKIP:
                skipped.add(asked.question.id)
                continue
            started.schema.to_toml(arguments.schema)
            say(f"\n{_state(started)}")
    except KeyboardInterrupt:
        say(f"\nStopped. All decisions are in {arguments.schema}; the same command goes on from here.")
        return INTERRUPTED
    if started.done:
        say(f"\nDone: every answer rests on decisions, which are in {arguments.schema}. Fit an explainer with it.")
    else:
        say(f"\nStopped. All decisions are in {arguments.schema}; the same command goes on from here.")
    for sentence in started.to_do:
        say(f"To do: {sentence}")
    return 0 if started.result.found.any() else NO_ANSWERS


def _started(arguments: Arguments) -> Review:
    schema, model = read_file(arguments.schema), read_model(arguments)
    train = read_people(arguments, arguments.data, schema, label=arguments.label, index=False)
    people = None if arguments.people is None else read_people(arguments, arguments.people, schema).frame
    target = read_target(arguments.target, arguments, model, train.frame, schema)
    return Review(
        Guarded(schema, random_state=arguments.seed),
        model,
        people,
        target=target,
        probability=arguments.probability,
        train=train.frame,
        y=train.labels,
    )


def _state(started: Review) -> str:
    found = int(started.result.found.sum())
    have = f"{counted(found, 'answer')} found"
    if not found:
        return f"{have}: nothing that may change is enough."
    return f"{have}; {100 * started.share_unreviewed:.0f} % of them change what nobody has decided on."


def _show_question(asked: OpenQuestion, number: int, answers: int) -> None:
    """Prints a question with its columns, evidence, an example and the choices."""
    question = asked.question
    several, time = bool(question.parts), question.topic == "time"
    say(f"\nQuestion {number}" if several or time else f"\nQuestion {number}: {plain(question.columns[0])}")
    say(question.evidence)
    hang = "take time" if time else "change one of them" if several else "change it"
    say(f"{asked.answers} of {answers} answers {hang}, such as:")
    print(wrapped(plain(asked.example), width(), "  "))
    unchanged = []
    for place, part in enumerate(question.parts, 1):
        name, changed = plain(part.columns[0]), asked.by_column[part.columns[0]]
        if changed:
            _item(str(place), f"{name} ({counted(changed, 'answer')}): {part.evidence}")
        else:
            unchanged.append(f"{place} {name}")
    if unchanged:
        say(f"No answer changes {', '.join(unchanged)}.")
    say("What is true?" if several else "")
    for choice in question.choices:
        _item(choice.key, choice.text)
    _item(_SKIP, "ask me later")
    _item(_STOP, "stop here")
    if several:
        say("Without numbers a key is for all columns: p 1 3-5 is for some, and the others are asked about again.")


def _item(key: str, text: str) -> None:
    print(f"{key:>4}  {wrapped(plain(text), width(), ' ' * 6).lstrip()}")


def _decide(arguments: Arguments, started: Review, question: Question) -> str:
    """Reads lines until one decides, skips or stops; returns its key."""
    while True:
        words = _line("Key: ").replace(",", " ").split()
        if not words or words[0] in (_SKIP, _STOP):
            if words:
                return words[0]
            continue
        try:
            columns = list(_columns(question, words[1:])) or None
            months = None
            if question[words[0]].asks == "months":
                months = _months(_line("How many months? "))
            started.decide(question.id, words[0], arguments.by, months=months, columns=columns)
        except AttainError as error:
            say(f"{error}")
        else:
            return words[0]


def _line(prompt: str) -> str:
    """The next line that is typed; the key to stop at the end of the input."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        print(line.strip())  # so that the output of a script can be read
    return line or _STOP


def _columns(question: Question, places: Sequence[str]) -> Iterator[str]:
    """The columns with these numbers, each of which may be a range: 3-5."""
    for place in places:
        first, _, last = place.partition("-")
        if not (first.isdigit() and (last or first).isdigit()):
            raise SchemaError(f"{place!r} is no number of a column; type a key and numbers, such as p 1 3-5")
        chosen = question.columns[int(first) - 1 : int(last or first)] if int(first) else ()
        if not chosen or int(last or first) > len(question.columns):
            raise SchemaError(f"{place!r} is no column here; they have the numbers 1 to {len(question.columns)}")
        yield from chosen


def _months(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SchemaError(f"{text.strip()!r} is no number of months") from None
