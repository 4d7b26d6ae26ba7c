"""`attain review`: one question at a time about what may happen to columns, written into the schema."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from attain.cli.inputs import read_model, read_people, read_target
from attain.cli.layer import INTERRUPTED, NO_ANSWERS, Arguments
from attain.cli.terminal import counted, say, width
from attain.core.errors import AttainError, SchemaError
from attain.core.files import check_writable
from attain.core.text import plain, wrapped
from attain.methods import Guarded
from attain.review import OpenQuestion, Question, Review
from attain.schema.toml import read_file

_SKIP, _STOP = "s", "q"


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
            _show(asked, number, int(started.result.found.sum()))
            command = _decided(arguments, started, asked.question)
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


def _show(asked: OpenQuestion, number: int, answers: int) -> None:
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


def _decided(arguments: Arguments, started: Review, question: Question) -> str:
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
