"""Records from JSON with the types of the training data, and the people who can be picked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from attain.answers.recheck import assess
from attain.answers.session import Session
from attain.core.errors import DataError, did_you_mean, listed, repeated
from attain.core.frames import Frame
from attain.desk.service.wording import HttpError
from attain.methods import Explainer
from attain.schema import Feature
from attain.tables import Table

Which = Literal["all", "refused", "accepted"]
_LARGEST = 2**53
"""Larger integers are read as floats, which have them only roughly."""


def frame_of(explainer: Explainer, records: Sequence[Mapping[str, Any]], field: str = "record") -> pd.DataFrame:
    """Records as a frame, each column with the type of the training data, whatever the type of a JSON number."""
    schema, layout = explainer.population_.schema, explainer.population_.table.layout
    for record in records:
        _check(record, layout.columns, field)
    integers = {name: layout.library.is_integer(layout.dtypes[name]) for name in layout.columns}
    return pd.DataFrame(
        {name: _column([record[name] for record in records], schema[name], integers[name]) for name in layout.columns}
    )


def table_of(explainer: Explainer, records: Sequence[Mapping[str, Any]], field: str = "record") -> Table:
    """Records as a table; unreadable ones are in its `refused`."""
    return Table.read(frame_of(explainer, records, field), explainer.population_.schema, field, errors="status")


def as_record(table: Table, row: np.ndarray) -> dict[str, Any]:
    """A row of the matrix as cells by column."""
    position = table.schema.position
    return {name: table.layout.value(name, float(row[position(name)])) for name in table.layout.columns}


def _check(record: Mapping[str, Any], names: Sequence[str], field: str) -> None:
    """Refuses missing and unknown columns, and lone surrogates, which JSON allows and Unicode text does not."""
    lacking = [name for name in names if name not in record]
    if lacking:
        raise HttpError(422, f"{field} lacks {listed(lacking)}; send null for what is missing.", field)
    unknown = sorted(record.keys() - set(names), key=list(record).index)
    if unknown:
        meant = did_you_mean(unknown[0], names) or f"; the features are {listed(names, 40)}"
        raise HttpError(422, f"{field} has {listed(unknown)}, which is no feature{meant}.", field)
    for name, cell in record.items():
        if isinstance(cell, str) and any("\ud800" <= letter <= "\udfff" for letter in cell):
            raise HttpError(422, f"{field}: the text of {name!r} is not Unicode.", field)


def _column(cells: Sequence[Any], feature: Feature, integer: bool) -> pd.Series[Any]:
    if not feature.numeric:
        levels = {(isinstance(level, bool), level): level for level in feature.levels}
        return pd.Series([levels.get((isinstance(cell, bool), cell), cell) for cell in cells], dtype=object)
    if any(isinstance(cell, str | bool) for cell in cells):  # each such cell is refused by itself
        return pd.Series(cells, dtype=object)
    numbers = [_number(cell) for cell in cells]
    whole = integer and all(number.is_integer() and abs(number) <= _LARGEST for number in numbers)
    return pd.Series(numbers, dtype="int64" if whole else "float64")


def _number(cell: float | None) -> float:
    try:
        return math.nan if cell is None else float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf  # type: ignore[operator]


class Roster:
    """The people who can be picked: rows of a frame by their labels, as texts.

    Parameters
    ----------
    session
        Reads the rows, and decides about them.
    frame
        One row per person; None is nobody.
    """

    def __init__(self, session: Session, frame: Frame | None) -> None:
        self._session, schema = session, session.explainer.population_.schema
        self._table = None if frame is None else Table.read(frame, schema, "people", errors="status")
        labels = [] if self._table is None else [str(label) for label in self._table.labels]
        if twice := repeated(labels):
            raise DataError(f"people has several rows with the same label: {listed(twice)}; label each differently")
        self._positions = {label: i for i, label in enumerate(labels)}

    def __len__(self) -> int:
        return len(self._positions)

    def frame_of(self, person: str) -> Frame:
        """The row of a person, with its label."""
        if self._table is None:
            raise HttpError(404, "This service has no people; send a record instead.", "person")
        if person not in self._positions:
            raise HttpError(404, "There is nobody with this id among the people.", "person")
        return self._table.layout.library.take(self._table.source, np.array([self._positions[person]]))

    def entry(self, person: str) -> dict[str, Any]:
        """A person, and what the model decides."""
        self.frame_of(person)
        return self._entries[self._positions[person]]

    def page(self, search: str, which: Which, offset: int, limit: int) -> dict[str, Any]:
        """A page of the people whose label or cells contain all words, and how many there are in total."""
        words = search.casefold().split()
        found = [
            entry
            for entry, text in zip(self._entries, self._texts, strict=True)
            if (which == "all" or entry["accepted"] == (which == "accepted")) and all(word in text for word in words)
        ]
        return {"total": len(found), "people": found[offset : offset + limit]}

    @cached_property
    def _entries(self) -> list[dict[str, Any]]:
        if self._table is None:
            return []
        known = assess(self._session, self._table, typicality=False)
        return [
            vars(one) | {"id": str(self._table.labels[i]), "record": as_record(self._table, self._table.values[i])}
            for i, one in enumerate(known)
        ]

    @cached_property
    def _texts(self) -> list[str]:
        """The text of each person that is searched."""
        return [
            " ".join([entry["id"], str(entry["decision"]), *map(str, entry["record"].values())]).casefold()
            for entry in self._entries
        ]
