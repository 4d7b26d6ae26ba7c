"""Answers read from files: whole results of `attain explain`, and tables of answers from any other tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.core.checks import free_name
from attain.core.errors import AttainError, FileError, listed
from attain.core.files import RESULT, read_text
from attain.metrics import AnswerMatrix
from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import heading
from attain.results.status import Status
from attain.schema import Schema
from attain.schema.schema import without_bounds
from attain.tables import Table
from attain.tables.files import columns_of, read_any, read_people

_NAMES: Final = 5
"""How many people are named in a message."""


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
    columns = columns_of(path, separator, escaped=True)
    absent = [name for name in schema.names if name not in columns]
    if absent and all(heading(schema[name]) in columns for name in absent):
        raise FileError(
            f"{path!r} calls features by their labels, such as {heading(schema[absent[0]])!r} for {absent[0]!r}; "
            "write it without --labels"
        )
    person = free_name("person", schema.names) if index is None else index
    named = person if person in columns else None
    frame = read_people(path, loose, index=named, separator=separator, escaped=True).frame
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
            f"{path!r} has answers for people who are not in --people: {listed(unknown, _NAMES)}; pass the file that "
            "was explained, and the same --index"
        )
    return np.array([first.get(name, -1) for name in people], dtype=np.intp)


def _statuses(
    path: str, columns: Sequence[str], schema: Schema, separator: str | None, rows: np.ndarray
) -> tuple[Status, ...] | None:
    """The status of each person, if the file has a column of them as `attain explain` writes it."""
    name = free_name("status", schema.names)
    texts = read_any(path, separator=separator)[0][name].tolist() if name in columns else []
    if not texts or not all(isinstance(text, str) and text in Status.__members__ for text in texts):
        return None
    return tuple(Status.OUT_OF_REACH if row < 0 else Status[texts[row]] for row in rows.tolist())
