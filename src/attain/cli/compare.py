"""`attain compare`: methods side by side on your own data and model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_json, add_levels, add_model, add_reading
from attain.cli.exits import EXIT_CODES, NOBODY

if TYPE_CHECKING:
    from attain.schema import Schema

_HELP = "compare methods side by side on your own data and model: validity, difficulty, faithfulness, speed"
_METHODS = "guarded,nearest-unlike,growing-spheres"
_DEMO_ROWS = 20
_EPILOG = f"""OUT gets comparison.csv, trade-off.png and .svg,
and index.html, which shows both. A method that
cannot take the model is listed with the reason.

{EXIT_CODES}
examples:
  attain compare --demo
  attain compare train.csv people.csv \\
    --model model.onnx --label y --target good \\
    --methods guarded,growing-spheres --out OUT
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "compare", _HELP, _EPILOG)
    add_inputs(command)
    command.add_argument(
        "--methods", metavar="A,B", default=_METHODS, help=f"methods, separated by commas (default {_METHODS})"
    )
    command.set_defaults(run=run)


def add_inputs(command: argparse.ArgumentParser) -> None:
    """Adds data, model and output of a comparison: see `inputs`."""
    command.add_argument("train", metavar="TRAIN", nargs="?", help="the training data, CSV or Parquet")
    command.add_argument("people", metavar="PEOPLE", nargs="?", help="the people to explain, CSV or Parquet")
    command.add_argument("--demo", action="store_true", help="use German credit, a gradient boosting model, 20 people")
    add_model(command, "the model; see `attain explain --help`", required=False)
    command.add_argument("--target", metavar="T", help="the desired class, as the model names it")
    command.add_argument("--probability", type=float, metavar="P", help="the least probability of the target")
    command.add_argument("--label", metavar="COLUMN", help="column with the true labels, as the model names them")
    command.add_argument("--test", metavar="DATA", help="people that neither model nor method has seen")
    command.add_argument("--schema", metavar="S.toml", help="the schema (default: inferred from TRAIN)")
    command.add_argument("--constraints", metavar="C.toml", help="constraints of the call")
    command.add_argument("--out", metavar="OUT", help="output folder for table, plot and page")
    command.add_argument("--seed", type=int, default=0, help="seed of methods and intervals (default 0)")
    add_levels(command)
    add_reading(command)
    add_json(command)


def inputs(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `compare_methods` but for the methods; checks the seed, and that plots can be drawn."""
    from attain.core.drawing import style
    from attain.core.errors import AttainError

    if given.seed < 0:
        raise AttainError(f"--seed must be an integer ≥ 0, got {given.seed}")
    if given.out is not None:
        style()  # raises before the long work if Matplotlib is not installed
    return {**(_demo(given) if given.demo else _data(given)), "random_state": given.seed}


def run(given: argparse.Namespace) -> int:
    """Compares, writes and reports; returns the exit code."""
    from attain.cli.terminal import say, say_json, width
    from attain.core.errors import AttainError
    from attain.metrics import compare_methods

    methods = [name.strip() for name in given.methods.split(",") if name.strip()]
    if not methods:
        raise AttainError("--methods must name at least one method, such as growing-spheres")
    comparison = compare_methods(methods, **inputs(given))
    written = [] if given.out is None else [str(path) for path in comparison.write(given.out)]
    if given.json:
        tables = {"pairs": comparison.paired(), "broken_laws": comparison.broken_laws}
        records = {name: table.to_dict("records") for name, table in tables.items()}
        say_json({"out": written, "methods": comparison.lines, **records})
    else:
        print(comparison.text(width()))
        if written:
            say(f"\nWritten: {', '.join(written)}")
    answered = any(evaluation.frame["found"].any() for evaluation in comparison.evaluations.values())
    return 0 if answered else NOBODY


def _demo(given: argparse.Namespace) -> dict[str, Any]:
    """German credit and a gradient boosting model."""
    from sklearn.model_selection import train_test_split

    from attain.cli.demo import classifier
    from attain.core.errors import AttainError
    from attain.datasets import load_german

    if given.train is not None:
        raise AttainError("--demo brings its own data; leave the files out")
    data = load_german()
    train, test, y_train, y_test = train_test_split(
        data.X, data.y, test_size=0.3, random_state=given.seed, stratify=data.y
    )
    model = classifier(data, given.seed).fit(train, y_train)
    return {
        "model": model,
        "X_train": train,
        "y_train": y_train,
        "X": test[model.predict(test) != data.desired].iloc[:_DEMO_ROWS],
        "target": data.desired,
        "schema": data.schema,
        "X_test": test,
        "y_test": y_test,
    }


def _data(given: argparse.Namespace) -> dict[str, Any]:
    """The files and the model that the flags name."""
    from attain.cli.constraints import read_constraints
    from attain.cli.inputs import read_model
    from attain.core.errors import AttainError
    from attain.models.files import find_target, known_classes
    from attain.tables import Table
    from attain.tables.files import columns_of, read_people

    needed = {"TRAIN": given.train, "PEOPLE": given.people, "--model": given.model, "--target": given.target}
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise AttainError(f"{', '.join(missing)} must be given; --demo needs no files")
    schema = _schema(given)

    def read(path: str, label: str | None) -> Any:
        index = given.index if given.index in columns_of(path, given.separator) else None
        return read_people(
            path, schema, label=label, index=index, separator=given.separator, categories=given.levels == "category"
        )

    train, rows = read(given.train, given.label), read(given.people, None)
    test = None if given.test is None else read(given.test, given.label)
    model = read_model(given)
    table = Table.read(train.frame, schema, "TRAIN")
    return {
        "model": model,
        "X_train": train.frame,
        "y_train": train.labels,
        "X": rows.frame,
        "target": find_target(given.target, known_classes(model, table.layout, table.values)),
        "probability": given.probability,
        "schema": schema,
        "constraints": read_constraints(given.constraints, list(rows.frame.index)),
        "X_test": None if test is None else test.frame,
        "y_test": None if test is None else test.labels,
    }


def _schema(given: argparse.Namespace) -> Schema:
    from attain.cli.schema import read_schema
    from attain.cli.terminal import note
    from attain.schema import Schema
    from attain.tables.files import read_any

    if given.schema is not None:
        return read_schema(given.schema)
    frame, _ = read_any(given.train, index=given.index, separator=given.separator)
    note("no --schema: it is inferred, and every column may change; `attain schema infer` writes one to edit")
    return Schema.infer(frame.drop(columns=[] if given.label is None else [given.label]))
