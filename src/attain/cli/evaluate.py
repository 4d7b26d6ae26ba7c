"""`attain evaluate`: measures of a result, and comparison with another."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attain.cli.arguments import add_command, add_json, add_levels, add_model, add_reading
from attain.cli.exits import EXIT_CODES, NOBODY

if TYPE_CHECKING:
    from attain.metrics import Background, Evaluation, RecourseGap
    from attain.models import Model
    from attain.results.counterfactuals import Counterfactuals
    from attain.schema import Schema
    from attain.tables.files import People

_HELP = "measure validity, difficulty and faithfulness of a result, and compare it with others"
_EPILOG = f"""RESULT is the .json file that `attain explain`
wrote, or a table of answers by any other method;
then --people, --schema and --target are needed.

If RESULT is a folder that `attain explain` wrote,
with --people and --schema, it is read slice after
slice. What compares people with one another needs
a file: --against and --groups.

{EXIT_CODES}
example:
  attain evaluate answers.json --model m.onnx \\
    --train train.csv --label label \\
    --against other.json --groups sex
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "evaluate", _HELP, _EPILOG)
    command.add_argument("result", metavar="RESULT", help="a result of `attain explain` (.json), or a table of answers")
    add_model(command, "the model; see `attain explain --help`")
    command.add_argument("--train", required=True, metavar="DATA", help="the training data, CSV or Parquet")
    command.add_argument("--label", metavar="COLUMN", help="column with the true labels, as the model names them")
    command.add_argument("--test", metavar="DATA", help="people that neither model nor method has seen")
    command.add_argument("--people", metavar="PEOPLE", help="the explained people, for a table of answers")
    command.add_argument("--schema", metavar="S.toml", help="the schema, for a table of answers")
    command.add_argument("--target", metavar="T", help="the desired class, for a table of answers")
    command.add_argument(
        "--probability", type=float, metavar="P", help="the requested probability, for a table of answers"
    )
    command.add_argument(
        "--against", action="append", default=[], metavar="OTHER", help="another result for the same people; repeatable"
    )
    command.add_argument("--groups", metavar="COLUMN", help="compare groups of people by this column")
    command.add_argument("--inexact", action="store_true", help="measure validity after inexact execution")
    command.add_argument("--constraints", metavar="C.toml", help="the constraints of the call, checked like rules")
    command.add_argument(
        "--out", metavar="FILE", help="output file: one row per person (.csv, .parquet), or everything (.json)"
    )
    command.add_argument("--seed", type=int, default=0, help="seed of intervals and tests (default 0)")
    add_levels(command)
    add_reading(command)
    add_json(command)
    command.set_defaults(run=run)


class _Result(NamedTuple):
    """What is measured: slices of answers, of which a file is one, and what they have in common."""

    method: str
    schema: Schema
    target: Any
    probability: float | None
    slices: Sequence[Any] | Iterator[Any]


def run(given: argparse.Namespace) -> int:
    """Measures, writes and reports; returns the exit code."""
    from attain.cli.answers import is_json, read_whole
    from attain.cli.evaluation_report import Report, write
    from attain.cli.inputs import read_model
    from attain.core.errors import AttainError
    from attain.metrics import paired_comparison
    from attain.tables.files import check_ending

    if given.seed < 0:
        raise AttainError(f"--seed must be an integer ≥ 0, got {given.seed}")
    if given.out is not None:
        check_ending(given.out, also=(".json",))
    whole = read_whole(given.result) if is_json(given.result) else None
    schema = _schema(given, whole)
    train = _data(given, given.train, schema)
    model = read_model(given)
    if whole is not None:
        result = _whole(whole)
    elif Path(given.result).is_dir():
        result = _folder(given, schema, model, train.frame)
    else:
        result = _table(given, given.result, schema, model, train.frame)
    background = _background(given, result, model, train)
    evaluation = _evaluated(given, result, background)
    methods = {result.method: evaluation}
    for path in given.against:
        other = _whole(read_whole(path)) if is_json(path) else _table(given, path, schema, model, train.frame)
        same = other[1:4] == result[1:4]
        other_background = background if same else _background(given, other, model, train)
        methods[_named(other.method, path, methods)] = _evaluated(given, other, other_background)
    report = Report(
        result.method,
        evaluation,
        paired_comparison(methods, random_state=given.seed) if given.against else None,
        None if given.groups is None else _gap(given, evaluation),
    )
    write(given.out, report, given.separator)
    report.show(given.out, json=given.json)
    return NOBODY if evaluation.asked.any() and not evaluation.frame["found"].any() else 0


def _schema(given: argparse.Namespace, whole: Counterfactuals | None) -> Schema:
    from attain.cli.schema import read_schema
    from attain.core.errors import AttainError

    if whole is not None:
        extra = [f"--{name}" for name in ("schema", "target", "probability") if getattr(given, name) is not None]
        if extra:
            raise AttainError(f"{', '.join(extra)}: {given.result!r} contains this already; leave the flag out")
        return whole.table.schema
    folder = Path(given.result).is_dir()
    if folder and (unfit := [f"--{name}" for name in ("against", "groups") if getattr(given, name)]):
        raise AttainError(
            f"{', '.join(unfit)}: compares all people at once, but {given.result!r} is read slice after slice; write "
            "the answers of some people as one file"
        )
    needed = [f"--{name}" for name in ("people", "schema", "target") if getattr(given, name) is None]
    needed = [flag for flag in needed if not folder or flag != "--target"]
    if needed:
        what = "folder" if folder else "table"
        raise AttainError(f"{given.result!r} is a {what} of answers, which also needs {', '.join(needed)}")
    return read_schema(given.schema)


def _whole(result: Counterfactuals) -> _Result:
    return _Result(result.method, result.table.schema, result.target, result.probability, [result])


def _folder(given: argparse.Namespace, schema: Schema, model: Model, train: Any) -> _Result:
    from attain.models.files import find_target, known_classes
    from attain.scale.answers import AnswersFolder
    from attain.tables import Table

    known = Table.read(train, schema, "--train")
    folder = AnswersFolder(given.result, given.people, known.schema, index=given.index, separator=given.separator)
    named = str(folder.settings["target"]) if given.target is None else given.target
    target = find_target(named, known_classes(model, known.layout, known.values))
    method, probability = folder.settings["method"], folder.settings["probability"]
    return _Result(method, known.schema, target, probability, folder.slices(target))


def _data(given: argparse.Namespace, path: str, schema: Schema) -> People:
    """Training or held-out data, which need not have the column of --index."""
    from attain.tables.files import columns_of, read_people

    return read_people(
        path,
        schema,
        label=given.label,
        index=given.index if given.index in columns_of(path, given.separator) else None,
        separator=given.separator,
        categories=given.levels == "category",
    )


def _table(given: argparse.Namespace, path: str, schema: Schema, model: Model, train: Any) -> _Result:
    from attain.cli.answers import read_table
    from attain.core.errors import AttainError
    from attain.models.files import find_target, known_classes
    from attain.tables import Table
    from attain.tables.files import read_people

    if given.people is None or given.target is None:
        raise AttainError(f"--against {path!r} is a table of answers; compare tables with tables, or .json with .json")
    people = read_people(given.people, schema, index=given.index, separator=given.separator).frame
    known = Table.read(train, schema, "--train")
    answers = read_table(
        path,
        Table.read(people, schema, "--people", errors="status"),
        target=find_target(given.target, known_classes(model, known.layout, known.values)),
        probability=given.probability,
        index=given.index,
        separator=given.separator,
    )
    return _Result(Path(path).stem, answers.table.schema, answers.target, answers.probability, [answers])


def _background(given: argparse.Namespace, result: _Result, model: Model, train: People) -> Background:
    from attain.metrics import Background

    test = None if given.test is None else _data(given, given.test, result.schema)
    return Background(
        result.schema,
        model,
        train.frame,
        train.labels,
        target=result.target,
        probability=result.probability,
        X_test=None if test is None else test.frame,
        y_test=None if test is None else test.labels,
    )


def _evaluated(given: argparse.Namespace, result: _Result, background: Background) -> Evaluation:
    from attain.cli.constraints import read_constraints
    from attain.metrics import DEFAULT

    people = list(result.slices[0].table.labels) if isinstance(result.slices, list) else []
    return background.evaluate(
        result.slices,
        measures=[*DEFAULT, *(["valid_after_inexact_execution"] if given.inexact else [])],
        constraints=read_constraints(given.constraints, people),
        random_state=given.seed,
    )


def _named(method: str, path: str, taken: dict[str, Evaluation]) -> str:
    """The name of a result: its method, or its file if another has the same method."""
    if method not in taken:
        return method
    return path if path not in taken else f"{path} again"


def _gap(given: argparse.Namespace, evaluation: Evaluation) -> RecourseGap:
    from attain.core.errors import AttainError, listed
    from attain.metrics import recourse_gap
    from attain.tables.labels import column_groups

    table = evaluation.context.result.table
    if given.groups not in table.schema:
        raise AttainError(
            f"--groups: the schema has no column {given.groups!r}; its columns are {listed(table.schema.names, 40)}"
        )
    return recourse_gap(evaluation, column_groups(table, given.groups), random_state=given.seed)
