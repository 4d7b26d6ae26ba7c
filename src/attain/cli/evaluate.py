"""`attain evaluate`: measures of a result, and comparison with another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_json, add_levels, add_model, add_reading
from attain.cli.exits import EXIT_CODES, NOBODY

if TYPE_CHECKING:
    from attain.cli.answers import TableOfAnswers
    from attain.metrics import Background, Evaluation, RecourseGap
    from attain.models import Model
    from attain.results.counterfactuals import Counterfactuals
    from attain.schema import Schema
    from attain.tables import Table
    from attain.tables.files import People

_HELP = "measure validity, difficulty and faithfulness of a result, and compare it with others"
_EPILOG = f"""RESULT is the .json file that `attain explain`
wrote, or a table of answers by any other method;
then --people, --schema and --target are needed.

If RESULT is a folder that `attain explain` wrote,
with --people and --schema, it is read slice after
slice, so that memory does not grow. What compares
all people at once needs a file: --against,
--groups, --two-sample.

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
    command.add_argument(
        "--justified", action="store_true", help="measure which answers are justified by real people; slow"
    )
    command.add_argument("--two-sample", action="store_true", help="test whether answers differ from real people")
    command.add_argument("--constraints", metavar="C.toml", help="the constraints of the call, checked like rules")
    command.add_argument(
        "--out", metavar="FILE", help="output file: one row per person (.csv, .parquet), or everything (.json)"
    )
    command.add_argument("--seed", type=int, default=0, help="seed of intervals and tests (default 0)")
    add_levels(command)
    add_reading(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Measures, writes and reports; returns the exit code."""
    from attain.cli.answers import is_json, read_whole
    from attain.cli.classifiers import read_model
    from attain.cli.evaluate_many import evaluate_many
    from attain.cli.evaluation_report import Report, write
    from attain.core.errors import AttainError
    from attain.metrics import paired_comparison
    from attain.tables.files import check_ending

    if given.seed < 0:
        raise AttainError(f"--seed must be an integer ≥ 0, got {given.seed}")
    if Path(given.result).is_dir():
        return evaluate_many(given)
    if given.out is not None:
        check_ending(given.out, also=(".json",))
    whole = read_whole(given.result) if is_json(given.result) else None
    schema = _schema(given, whole)
    train = read_data(given, given.train, schema)
    model = read_model(given)
    result = whole if whole is not None else _answers(given, given.result, schema, model, train.frame)
    background = _background(given, result, model, train)
    evaluation = _evaluated(given, result, background)
    methods = {result.method: evaluation}
    for path in given.against:
        other = read_whole(path) if is_json(path) else _answers(given, path, schema, model, train.frame)
        same = other.table.schema == schema and _asks(other) == _asks(result)
        other_background = background if same else _background(given, other, model, train)
        methods[_named(other.method, path, methods)] = _evaluated(given, other, other_background)
    report = Report(
        result.method,
        evaluation,
        paired_comparison(methods, random_state=given.seed) if given.against else None,
        None if given.groups is None else _gap(given, result.table, evaluation),
        evaluation.two_sample() if given.two_sample else None,
    )
    write(given.out, report, result.table, given.separator)
    report.show(given.out, json=given.json)
    return NOBODY if evaluation.asked.any() and not evaluation.frame["found"].any() else 0


def _schema(given: argparse.Namespace, whole: Counterfactuals | None) -> Schema:
    from attain.cli.schema import read_schema
    from attain.core.errors import AttainError

    extra = [f"--{name}" for name in ("schema", "target", "probability") if getattr(given, name) is not None]
    if whole is not None:
        if extra:
            raise AttainError(f"{', '.join(extra)}: {given.result!r} contains this already; leave the flag out")
        return whole.table.schema
    needed = [f"--{name}" for name in ("people", "schema", "target") if getattr(given, name) is None]
    if needed:
        raise AttainError(f"{given.result!r} is a table of answers, which also needs {', '.join(needed)}")
    return read_schema(given.schema)


def read_data(given: argparse.Namespace, path: str, schema: Schema) -> People:
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


def _asks(result: Any) -> tuple[Any, float | None]:
    return result.target, result.probability


def _answers(given: argparse.Namespace, path: str, schema: Schema, model: Model, train: Any) -> TableOfAnswers:
    from attain.cli.answers import read_table
    from attain.cli.classifiers import find_target, known_classes
    from attain.core.errors import AttainError
    from attain.tables import Table
    from attain.tables.files import read_people

    if given.people is None or given.target is None:
        raise AttainError(f"--against {path!r} is a table of answers; compare tables with tables, or .json with .json")
    people = read_people(given.people, schema, index=given.index, separator=given.separator).frame
    known = Table.read(train, schema, "--train")
    return read_table(
        path,
        Table.read(people, schema, "--people", errors="status"),
        target=find_target(given.target, known_classes(model, known.layout, known.values)),
        probability=given.probability,
        index=given.index,
        separator=given.separator,
    )


def _background(given: argparse.Namespace, result: Any, model: Model, train: People) -> Background:
    from attain.metrics import Background

    schema = result.table.schema
    test = None if given.test is None else read_data(given, given.test, schema)
    return Background(
        schema,
        model,
        train.frame,
        train.labels,
        target=result.target,
        probability=result.probability,
        X_test=None if test is None else test.frame,
        y_test=None if test is None else test.labels,
    )


def _evaluated(given: argparse.Namespace, result: Any, background: Background) -> Evaluation:
    from attain.cli.constraints import read_constraints

    return background.evaluate(
        result,
        measures=wanted_measures(given),
        constraints=read_constraints(given.constraints, list(result.table.labels)),
        random_state=given.seed,
    )


def wanted_measures(given: argparse.Namespace) -> list[Any]:
    """The measures that are taken by default, and those that flags ask for."""
    from attain.metrics import DEFAULT

    also = {"justified": given.justified, "valid_after_inexact_execution": given.inexact}
    return [*DEFAULT, *(name for name, wanted in also.items() if wanted)]


def _named(method: str, path: str, taken: dict[str, Evaluation]) -> str:
    """The name of a result: its method, or its file if another has the same method."""
    if method not in taken:
        return method
    return path if path not in taken else f"{path} again"


def _gap(given: argparse.Namespace, table: Table, evaluation: Evaluation) -> RecourseGap:
    from attain.core.errors import AttainError, listed
    from attain.metrics import recourse_gap
    from attain.tables.groups import column_groups

    if given.groups not in table.schema:
        raise AttainError(
            f"--groups: the schema has no column {given.groups!r}; its columns are {listed(table.schema.names, 40)}"
        )
    return recourse_gap(evaluation, column_groups(table, given.groups), random_state=given.seed)
