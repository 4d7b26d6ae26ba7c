"""`attain evaluate FOLDER/`: measures of any number of answers, slice after slice."""

from __future__ import annotations

import argparse

from attain.cli.exits import NOBODY

_ALL_AT_ONCE = ("against", "groups", "two_sample")
"""Flags that need all people at once."""


def evaluate_many(given: argparse.Namespace) -> int:
    """Measures, writes and reports; returns the exit code."""
    from attain.cli.classifiers import find_target, known_classes, read_model
    from attain.cli.constraints import read_constraints
    from attain.cli.evaluate import read_data, wanted_measures
    from attain.cli.evaluation_report import legend, summary_table
    from attain.cli.schema import read_schema
    from attain.cli.terminal import as_json, say, say_json, width
    from attain.core.errors import AttainError
    from attain.core.files import write_atomically
    from attain.core.text import plain
    from attain.metrics import Background
    from attain.scale.evaluation import AnswersFolder
    from attain.tables import Table

    unfit = [f"--{name.replace('_', '-')}" for name in _ALL_AT_ONCE if getattr(given, name)]
    if unfit:
        raise AttainError(
            f"{', '.join(unfit)}: compares all people at once, but {given.result!r} is read slice after slice; write "
            "the answers of some people as one file"
        )
    needed = [f"--{name}" for name in ("people", "schema") if getattr(given, name) is None]
    if needed:
        raise AttainError(f"{given.result!r} is a folder of answers, which also needs {', '.join(needed)}")
    if given.out is not None and not given.out.lower().endswith(".json"):
        raise AttainError(
            f"--out: where {given.result!r} is a folder, the measures are written as .json, not per person"
        )
    train = read_data(given, given.train, read_schema(given.schema))
    known = Table.read(train.frame, read_schema(given.schema), "--train")
    schema = known.schema
    folder = AnswersFolder(given.result, given.people, schema, given.separator)
    model = read_model(given)
    classes = known_classes(model, known.layout, known.values)
    test = None if given.test is None else read_data(given, given.test, schema)
    background = Background(
        schema,
        model,
        train.frame,
        train.labels,
        target=find_target(str(folder.settings["target"]) if given.target is None else given.target, classes),
        probability=folder.settings["probability"],
        X_test=None if test is None else test.frame,
        y_test=None if test is None else test.labels,
    )
    summary = folder.evaluate(
        background,
        measures=wanted_measures(given),
        constraints=read_constraints(given.constraints, ()),
        random_state=given.seed,
    )
    asked, found = summary["n"].tolist()[0], summary["answered"].to_dict()["found"]
    content = {
        "method": folder.settings["method"],
        "target": background.goal.target,
        "probability": background.goal.probability,
        "people": folder.stream.rows,
        "asked": asked,
        "found": found,
        "real_people": len(background.reference),
        "summary": summary.to_dict("index"),
    }
    if given.out is not None:
        write_atomically(given.out, (as_json(content) + "\n").encode())
    if given.json:
        say_json({"out": given.out, **content})
    else:
        say(
            f"{plain(folder.settings['method'])}, target {plain(repr(background.goal.target))}: {found:,} of {asked:,} "
            f"people who needed an answer have one. The reference is {len(background.reference):,} real people of the "
            "desired class."
        )
        print(f"\n{summary_table(summary, width())}\n")
        say(legend(summary))
    return NOBODY if asked and not found else 0
