"""Records between JSON and the library: cells by column, with the types that the explainer was fitted with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from attain.core.errors import did_you_mean, listed
from attain.methods import Explainer
from attain.schema import Feature
from attain.service.errors import Refused
from attain.tables import Table

_LARGEST = 2**53
"""Larger integers are read as floats, which have them only roughly."""


def frame_of(explainer: Explainer, records: Sequence[Mapping[str, Any]], field: str = "record") -> pd.DataFrame:
    """Records as a frame, each column with the type of the training data, whatever the type of a JSON number."""
    names = explainer.layout_.columns
    for record in records:
        _check_names(record, names, field)
        _check_texts(record, field)
    layout = explainer.layout_
    return pd.DataFrame(
        {
            name: _column(
                [record[name] for record in records],
                explainer.schema_[name],
                layout.library.is_integer(layout.dtypes[name]),
            )
            for name in names
        }
    )


def table_of(explainer: Explainer, records: Sequence[Mapping[str, Any]], field: str = "record") -> Table:
    """Records as a table; those that cannot be read are among its `refused`."""
    return Table.read(frame_of(explainer, records, field), explainer.schema_, field, errors="status")


def as_record(table: Table, row: np.ndarray) -> dict[str, Any]:
    """A row of the matrix as cells by column."""
    position = table.schema.position
    return {name: table.layout.value(name, float(row[position(name)])) for name in table.layout.columns}


def _check_names(record: Mapping[str, Any], names: Sequence[str], field: str) -> None:
    lacking = [name for name in names if name not in record]
    if lacking:
        raise Refused(422, f"{field} lacks {listed(lacking)}; send null for what is missing.", field)
    known = set(names)
    unknown = [name for name in record if name not in known]
    if unknown:
        meant = did_you_mean(unknown[0], names) or f"; the features are {listed(names, 40)}"
        raise Refused(422, f"{field} has {listed(unknown)}, which is no feature{meant}.", field)


def _check_texts(record: Mapping[str, Any], field: str) -> None:
    """Refuses half of a pair of surrogates, which JSON can write and no text can have."""
    for name, cell in record.items():
        if isinstance(cell, str) and any("\ud800" <= letter <= "\udfff" for letter in cell):
            raise Refused(422, f"{field}: the text of {name!r} is not Unicode.", field)


def _column(cells: Sequence[Any], feature: Feature, integer: bool) -> pd.Series[Any]:
    if not feature.numeric:
        levels = {(isinstance(level, bool), level): level for level in feature.levels}
        return pd.Series([levels.get((isinstance(cell, bool), cell), cell) for cell in cells], dtype=object)
    if any(isinstance(cell, str | bool) for cell in cells):  # each such cell is refused by itself
        return pd.Series([None if cell is None else cell for cell in cells], dtype=object)
    numbers = [_number(cell) for cell in cells]
    whole = integer and all(number.is_integer() and abs(number) <= _LARGEST for number in numbers)
    return pd.Series(numbers, dtype="int64" if whole else "float64")


def _number(cell: float | None) -> float:
    if cell is None:
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
