"""What arguments name, read from files: explainer, model and target, people, constraints, answers of any tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.cli.layer import Arguments
from attain.cli.terminal import note
from attain.core.errors import AttainError, FileError, did_you_mean, free_name, listed
from attain.core.files import RESULT, read_text, read_toml
from attain.methods.base import Explainer
from attain.methods.persistence import load
from attain.metrics import AnswerMatrix
from attain.models import Model
from attain.models.files import class_names, find_target, known_classes, load_model
from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import heading
from attain.results.status import Status
from attain.schema import Schema
from attain.schema.schema import without_bounds
from attain.schema.text import SIDES
from attain.tables import Table, files

_NAMED: Final = 5
"""How many people are named in a message."""
_LIMITS: Final = ("range", "bounds")


def read_request(arguments: Arguments) -> tuple[Explainer, Model, Any]:
    """The explainer, the model with the names of its classes, and the target."""
    explainer: Explainer = load(arguments.explainer)
    model = read_model(arguments)
    return explainer, model, _target(arguments.target, arguments, model, explainer.population_.table)


def read_model(arguments: Arguments) -> Model:
    """The model."""
    return load_model(
        arguments.model,
        classes=None if arguments.classes is None else [name.strip() for name in arguments.classes.split(",")],
        trusted=arguments.trust,
        trust_pickle=arguments.trust_pickle,
    )


def read_target(text: str, arguments: Arguments, model: Model, train: Any, schema: Schema) -> Any:
    """The class with this name, where there are training data instead of an explainer."""
    return _target(text, arguments, model, Table.read(train, schema, "the training data"))


def _target(text: str, arguments: Arguments, model: Model, table: Table) -> Any:
    """The class with this name; the model gets the names of its classes."""
    classes = known_classes(model, table.layout, table.values)
    if getattr(arguments, "class_names", None) is not None:
        model.class_names = class_names(arguments.class_names, classes)
    return find_target(text, classes)


def read_people(
    arguments: Arguments, path: str, schema: Schema, *, label: str | None = None, index: bool = True
) -> files.PeopleFile:
    """The people of a file, with a note on columns that are ignored.

    Where `index` is false, the file need not have the column of --index.
    """
    people = files.read_people(
        path,
        schema,
        index=arguments.index if index or arguments.index in files.columns_of(path, arguments.separator) else None,
        label=label,
        separator=arguments.separator,
        categories=getattr(arguments, "levels", None) == "category",
    )
    if people.left_out:
        note(f"{path}: columns that are not in the schema are ignored: {listed(people.left_out)}")
    return people


def read_training(arguments: Arguments, schema: Schema) -> dict[str, Any]:
    """Training and held-out data, as arguments of `RealPeople` and `compare_methods`."""
    train = read_people(arguments, arguments.train, schema, label=arguments.label, index=False)
    found = {"X_train": train.frame, "y_train": train.labels}
    if arguments.test is not None:
        test = read_people(arguments, arguments.test, schema, label=arguments.label, index=False)
        found |= {"X_test": test.frame, "y_test": test.labels}
    return found


def column_names(texts: Sequence[str], columns: Iterable[str], flag: str) -> list[str]:
    """Column names from an option that takes several, separated by commas or given repeatedly."""
    known = list(columns)
    names = [name.strip() for text in texts for name in ([text] if text in known else text.split(","))]
    unknown = [name for name in names if name and name not in known]
    if unknown:
        meant = did_you_mean(unknown[0], known) or f"; its columns are {listed(known, 40)}"
        raise AttainError(f"{flag}: the file has no column {listed(unknown)}{meant}")
    return list(dict.fromkeys(filter(None, names)))


def read_constraints(path: str | None, people: Sequence[Any]) -> dict[str, Any] | None:
    """The keys of `attain.Constraints` from a TOML file; people are matched by their label as a string.

    TOML has no null for an open side, so limits are written `{ lower = 0 }` and `{ down = -1, up = 2 }`, or as a pair.
    """
    if path is None:
        return None
    constraints = _with_pairs(read_toml(path, "--constraints:"))
    if isinstance(constraints.get("people"), dict):
        labels = {str(label): label for label in people}
        constraints["people"] = {
            labels.get(name, name): _with_pairs(limits) for name, limits in constraints["people"].items()
        }
    return constraints


def _with_pairs(content: Any) -> Any:
    """The content with a pair of sides for each of its limits."""
    if not isinstance(content, Mapping):
        return content
    limits = {key: content[key] for key in _LIMITS if isinstance(content.get(key), Mapping)}
    pairs = {key: {name: _pair(key, name, sides) for name, sides in named.items()} for key, named in limits.items()}
    return {**content, **pairs}


def _pair(key: str, name: str, given: Any) -> Any:
    if not isinstance(given, Mapping):
        return tuple(given) if isinstance(given, list) else given
    unknown = [side for side in given if side not in SIDES[key]]
    if unknown:
        sides = " and ".join(SIDES[key])
        raise FileError(f"--constraints: {key} of {name!r} has unknown keys {listed(unknown)}; use {sides}")
    return tuple(given.get(side) for side in SIDES[key])


def is_json(path: str) -> bool:
    """Whether a file contains a whole result, by its ending."""
    return path.lower().endswith(".json")


def read_whole(path: str) -> Counterfactuals:
    """The result in a JSON file."""
    if not is_json(path):
        raise FileError(
            f"{path!r} is not a whole result, which is a .json file; `attain explain --out answers.json` writes one"
        )
    text = read_text(path, largest=RESULT)
    try:
        return Counterfactuals.from_json(text)
    except AttainError as error:
        raise FileError(f"{path!r}: {error}") from None


def read_table(
    path: str,
    people: Table,
    *,
    target: Any,
    probability: float | None,
    index: str | None = None,
    separator: str | None = None,
) -> AnswerMatrix:
    """Answers for these people: matched by name if the file has names, otherwise row by row.

    The first of several rows for a person counts: it is the best option. A row of missing cells means no answer, like
    a missing row, and so does any status but FOUND where the file has statuses. Numbers outside the schema's bounds
    are read too, so that they can be counted as violations. Escaped texts of CSV files are read as they were.
    """
    schema, loose = people.schema, without_bounds(people.schema)
    columns = files.columns_of(path, separator, escaped=True)
    absent = [name for name in schema.names if name not in columns]
    if absent and all(heading(schema[name]) in columns for name in absent):
        raise FileError(
            f"{path!r} calls features by their labels, such as {heading(schema[absent[0]])!r} for {absent[0]!r}; "
            "write it without --labels"
        )
    person = free_name("person", schema.names) if index is None else index
    named = person if person in columns else None
    frame = files.read_people(path, loose, index=named, separator=separator, escaped=True).frame
    read = Table.read(frame, loose, path, errors="status")
    rows = _rows(path, frame.index, people.labels)
    statuses = _statuses(path, columns, schema, separator, rows)
    answered = rows >= 0
    if statuses is not None:
        answered &= [status is Status.FOUND for status in statuses]
    for row in rows[answered]:
        if row in read.refused:
            raise FileError(f"{path!r}: {read.refused[row]}")
    answers = np.full(people.values.shape, np.nan)
    answers[answered] = read.values[rows[answered]]
    found = ~np.isnan(answers).all(axis=1)
    return AnswerMatrix(people, answers, found, target, probability, statuses=statuses)


def _rows(path: str, names: pd.Index, people: Sequence[Any]) -> np.ndarray:
    """The row of each person's answer, −1 where there is none."""
    if isinstance(names, pd.RangeIndex):
        if len(names) != len(people):
            raise FileError(
                f"{path!r} has {len(names)} rows without names, but --people has {len(people)}; write one row per "
                "person in the same order, or name the people in both files and pass --index"
            )
        return np.arange(len(people), dtype=np.intp)
    known = set(people)
    if len(known) < len(people):
        raise FileError("--people has several rows with the same name; choose another column with --index")
    first = {name: row for row, name in reversed(list(enumerate(names)))}
    if unknown := [name for name in names.unique() if name not in known]:
        raise FileError(
            f"{path!r} has answers for people who are not in --people: {listed(unknown, _NAMED)}; pass the file that "
            "was explained, and the same --index"
        )
    return np.array([first.get(name, -1) for name in people], dtype=np.intp)


def _statuses(
    path: str, columns: Sequence[str], schema: Schema, separator: str | None, rows: np.ndarray
) -> tuple[Status, ...] | None:
    """The status of each person, if the file has a column of them as `attain explain` writes it."""
    name = free_name("status", schema.names)
    texts = files.read_any(path, separator=separator)[0][name].tolist() if name in columns else []
    if not texts or not all(isinstance(text, str) and text in Status.__members__ for text in texts):
        return None
    return tuple(Status.OUT_OF_REACH if row < 0 else Status[texts[row]] for row in rows.tolist())
