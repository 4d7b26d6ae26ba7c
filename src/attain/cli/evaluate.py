"""`attain evaluate` measures a result and compares it with others; `attain compare` does so with whole methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from attain.cli.inputs import (
    is_json,
    read_constraints,
    read_model,
    read_people,
    read_table,
    read_target,
    read_training,
    read_whole,
)
from attain.cli.layer import NO_ANSWERS, Arguments
from attain.cli.terminal import as_json, note, say, say_json, width
from attain.core.drawing import style
from attain.core.errors import AttainError, listed
from attain.core.files import write_atomically
from attain.core.text import plain
from attain.desk.scale.answers import AnswersFolder
from attain.metrics import (
    DEFAULT,
    Evaluation,
    RealPeople,
    RecourseGap,
    compare_methods,
    paired_comparison,
    recourse_gap,
)
from attain.metrics.differences import paired_text
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Schema
from attain.schema.text import read_file
from attain.tables import Table
from attain.tables.files import check_ending, read_any, written
from attain.tables.table import column_groups

_DEMO_ROWS: Final = 20


class _Answers(NamedTuple):
    """The answers to measure, in slices (a file is one slice), and what was requested."""

    method: str
    schema: Schema
    target: Any
    probability: float | None
    slices: Sequence[Any] | Iterator[Any]


def evaluate(arguments: Arguments) -> int:
    """Measures, writes and reports; returns the exit code."""
    if arguments.out is not None:
        check_ending(arguments.out, also=(".json",))
    whole = read_whole(arguments.result) if is_json(arguments.result) else None
    schema = _schema(arguments, whole)
    training, model = read_training(arguments, schema), read_model(arguments)

    def real_people_of(answers: _Answers) -> RealPeople:
        about = {"target": answers.target, "probability": answers.probability}
        return RealPeople(answers.schema, model, **training, **about)

    about_table = (schema, model, training["X_train"])
    answers = _answers(arguments, arguments.result, whole, *about_table)
    against = real_people_of(answers)
    evaluation = _evaluation(arguments, answers, against)
    methods = {answers.method: evaluation}
    for path in arguments.against:
        other = _answers(arguments, path, read_whole(path) if is_json(path) else None, *about_table)
        same = other[1:4] == answers[1:4]
        name = other.method if other.method not in methods else path if path not in methods else f"{path} again"
        methods[name] = _evaluation(arguments, other, against if same else real_people_of(other))
    comparison = paired_comparison(methods, random_state=arguments.seed) if arguments.against else None
    gap = None if arguments.groups is None else _gap(arguments, evaluation)
    content = _content(answers.method, evaluation, comparison, gap)
    if arguments.out is not None:
        _write(arguments, content, evaluation)
    if arguments.json:
        say_json({"out": arguments.out, **content})
    else:
        _say(answers.method, evaluation, comparison, gap)
        if arguments.out is not None:
            say(f"\nWritten: {arguments.out}")
    return NO_ANSWERS if evaluation.asked.any() and not evaluation.frame["found"].any() else 0


def _schema(arguments: Arguments, whole: Counterfactuals | None) -> Schema:
    """The schema of the answers, after a check of the options that they need or have already."""
    if whole is not None:
        if extra := [
            f"--{name}" for name in ("schema", "target", "probability") if getattr(arguments, name) is not None
        ]:
            raise AttainError(f"{', '.join(extra)}: {arguments.result!r} contains this already; leave the flag out")
        return whole.table.schema
    folder = Path(arguments.result).is_dir()
    if folder and (unfit := [f"--{name}" for name in ("against", "groups") if getattr(arguments, name)]):
        raise AttainError(
            f"{', '.join(unfit)}: compares all people at once, but {arguments.result!r} is read slice after slice; "
            "write the answers of some people as one file"
        )
    needed = ("people", "schema") if folder else ("people", "schema", "target")
    if absent := [f"--{name}" for name in needed if getattr(arguments, name) is None]:
        what = "folder" if folder else "table"
        raise AttainError(f"{arguments.result!r} is a {what} of answers, which also needs {', '.join(absent)}")
    return read_file(arguments.schema)


def _answers(
    arguments: Arguments, path: str, whole: Counterfactuals | None, schema: Schema, model: Model, train: pd.DataFrame
) -> _Answers:
    """Those of a whole result, or else in a folder that `attain explain` wrote, or in a table of any other tool."""
    if whole is not None:
        return _Answers(whole.method, whole.table.schema, whole.target, whole.probability, [whole])
    reading = {"index": arguments.index, "separator": arguments.separator}
    if Path(path).is_dir():
        folder = AnswersFolder(path, arguments.people, schema, **reading)
        settings = folder.settings
        target = read_target(arguments.target or str(settings["target"]), arguments, model, train, schema)
        return _Answers(settings["method"], schema, target, settings["probability"], folder.slices(target))
    if arguments.people is None or arguments.target is None:
        raise AttainError(f"--against {path!r} is a table of answers; compare tables with tables, or .json with .json")
    people = Table.read(read_people(arguments, arguments.people, schema).frame, schema, "--people", errors="status")
    target = read_target(arguments.target, arguments, model, train, schema)
    answers = read_table(path, people, target=target, probability=arguments.probability, **reading)
    return _Answers(Path(path).stem, schema, target, arguments.probability, [answers])


def _evaluation(arguments: Arguments, answers: _Answers, against: RealPeople) -> Evaluation:
    people = list(answers.slices[0].table.labels) if isinstance(answers.slices, list) else []
    return against.evaluate(
        answers.slices,
        measures=[*DEFAULT, *(["valid_after_inexact_execution"] if arguments.inexact else [])],
        constraints=read_constraints(arguments.constraints, people),
        random_state=arguments.seed,
    )


def _gap(arguments: Arguments, evaluation: Evaluation) -> RecourseGap:
    people = evaluation.context.result.table
    if arguments.groups not in people.schema:
        raise AttainError(
            f"--groups: the schema has no column {arguments.groups!r}; its columns are "
            f"{listed(people.schema.names, 40)}"
        )
    return recourse_gap(evaluation, column_groups(people, arguments.groups), random_state=arguments.seed)


def _content(
    method: str, evaluation: Evaluation, comparison: pd.DataFrame | None, gap: RecourseGap | None
) -> dict[str, Any]:
    """Everything as one dictionary."""
    laws = None if evaluation.context.laws is None else evaluation.broken_laws.to_dict("records")
    return {
        "method": method,
        "target": evaluation.target,
        "probability": evaluation.probability,
        "people": len(evaluation.frame),
        "asked": int(evaluation.asked.sum()),
        "found": int(evaluation.frame["found"].sum()),
        "real_people": len(evaluation.reference),
        "epsilon": {f"{quantile:g}": value for quantile, value in evaluation.reference.epsilon.items()},
        "summary": evaluation.summary.to_dict("index"),
        "broken_laws": laws,
        "comparison": None if comparison is None else comparison.to_dict("records"),
        "groups": None if gap is None else {"means": gap.groups.to_dict("records"), "gaps": gap.gaps.to_dict("index")},
    }


def _write(arguments: Arguments, content: dict[str, Any], evaluation: Evaluation) -> None:
    """Writes one row per person, or everything if the file ends with .json."""
    if is_json(arguments.out):
        write_atomically(arguments.out, (as_json(content) + "\n").encode())
        return
    frame, people = evaluation.frame.copy(), evaluation.context.result.table
    name = getattr(getattr(people.source, "index", None), "name", None)
    frame.insert(0, name if isinstance(name, str) and name and name not in frame else "person", list(people.labels))
    written(arguments.out, frame, arguments.separator)


def _say(method: str, evaluation: Evaluation, comparison: pd.DataFrame | None, gap: RecourseGap | None) -> None:
    say(
        f"{plain(method)}, target {plain(repr(evaluation.target))}: {evaluation.frame['found'].sum():,} of "
        f"{evaluation.asked.sum():,} people who needed an answer have one. The reference is "
        f"{len(evaluation.reference):,} real people of the desired class."
    )
    print(f"\n{evaluation.text(width())}")
    if comparison is not None:
        print(f"\n{paired_text(comparison, width())}")
    if gap is not None:
        print(f"\n{gap.text(width())}")


def compare(arguments: Arguments) -> int:
    """Compares, writes and reports; returns the exit code."""
    names = [name.strip() for name in arguments.methods.split(",") if name.strip()]
    if not names:
        raise AttainError("--methods must name at least one method, such as growing-spheres")
    compared = compare_methods(names, **comparison_inputs(arguments))
    written = [] if arguments.out is None else list(map(str, compared.write(arguments.out)))
    if arguments.json:
        tables = {"pairs": compared.paired(), "broken_laws": compared.broken_laws}
        records = {name: table.to_dict("records") for name, table in tables.items()}
        say_json({"out": written, "methods": compared.lines, **records})
    else:
        print(compared.text(width()))
        if written:
            say(f"\nWritten: {', '.join(written)}")
    return 0 if any(one.frame["found"].any() for one in compared.evaluations.values()) else NO_ANSWERS


def comparison_inputs(arguments: Arguments) -> dict[str, Any]:
    """The arguments of `compare_methods` but for the methods."""
    if arguments.out is not None:
        style()  # raises before the long work if Matplotlib is not installed
    if not arguments.demo:
        return {**_files(arguments), "random_state": arguments.seed}
    if arguments.train is not None:
        raise AttainError("--demo brings its own data; leave the files out")
    from attain.cli.demo import german_case

    case = german_case(arguments.seed)
    return {
        "model": case.model,
        "X_train": case.train,
        "y_train": case.y_train,
        "X": case.refused.iloc[:_DEMO_ROWS],
        "target": case.data.desired,
        "schema": case.data.schema,
        "X_test": case.test,
        "y_test": case.y_test,
        "random_state": arguments.seed,
    }


def _files(arguments: Arguments) -> dict[str, Any]:
    needed = {
        "TRAIN": arguments.train,
        "PEOPLE": arguments.people,
        "--model": arguments.model,
        "--target": arguments.target,
    }
    if missing := [name for name, value in needed.items() if value is None]:
        raise AttainError(f"{', '.join(missing)} must be given; --demo needs no files")
    if arguments.schema is None:
        frame, _ = read_any(arguments.train, index=arguments.index, separator=arguments.separator)
        note("no --schema: it is inferred, and every column may change; `attain schema infer` writes one to edit")
        schema = Schema.infer(frame.drop(columns=[] if arguments.label is None else [arguments.label]))
    else:
        schema = read_file(arguments.schema)
    training, model = read_training(arguments, schema), read_model(arguments)
    people = read_people(arguments, arguments.people, schema, index=False).frame
    return {
        **training,
        "model": model,
        "X": people,
        "target": read_target(arguments.target, arguments, model, training["X_train"], schema),
        "probability": arguments.probability,
        "schema": schema,
        "constraints": read_constraints(arguments.constraints, list(people.index)),
    }
