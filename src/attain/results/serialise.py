"""A result as JSON; `results.reading` reads it."""

from __future__ import annotations

import decimal
import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from attain.core.arrays import as_python
from attain.core.errors import DataError
from attain.core.frames import Library, library_named
from attain.results.exports import long_columns
from attain.results.record import Record
from attain.results.sentences import person_sentences

FORMAT = "attain-counterfactuals-1"


def to_json(result: Record) -> str:
    """All fields of the result; numbers keep every digit.

    `sentences` and `changes` are for programs without this package: they follow from the other fields, so that
    `read_fields` leaves them out.
    """
    table, library = result.table, result.table.layout.library
    source, changes = library.read(table.source), long_columns(result, "changes")
    content = {
        "format": FORMAT,
        "schema": table.schema.to_toml(),
        "library": library.name,
        "columns": {
            name: {
                "dtype": _dtype_text(library, name, table.layout.dtypes[name]),
                "cells": [
                    _cell(cell, library.nan_is_missing) if i not in table.refused or _is_plain(cell) else None
                    for i, cell in enumerate(source[name].to_list())
                ],
            }
            for name in table.layout.columns
        },
        "index": _index_to_json(library.index(table.source)),
        "method": result.method,
        "target": _plain(result.target),
        "target_name": result.target_name,
        "probability": result.probability,
        "status": [status.name for status in result.statuses],
        "rows": _listed(result.rows),
        "owners": result.owners.tolist(),
        "percentiles": [_listed(part) for part in result.percentiles],
        "person_figures": {name: _vector(values) for name, values in result.person_figures.items()},
        "option_figures": {name: _vector(values) for name, values in result.option_figures.items()},
        "notes": list(result.notes),
        "rows_asked": result.rows_asked,
        "rows_uncharged": result.rows_uncharged,
        "laws": [asdict(law) for law in result.laws],
        "sentences": person_sentences(result),
        "changes": [
            dict(zip(changes, map(_plain, cells), strict=True)) for cells in zip(*changes.values(), strict=True)
        ],
        "unreadable": {str(position): sentence for position, sentence in result.unreadable.items()},
        "intervals": None if result.intervals is None else result.intervals.state(),
        "settings": result.settings,
        "importances": None if result.importances is None else result.importances.state(),
        "attributions": None if result.attributions is None else result.attributions.state(),
        "related": None if result.related is None else result.related.state(),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _dtype_text(library: Library, name: str, dtype: Any) -> str:
    """The dtype of a column for the file; one that could not be read back is refused."""
    text = library.dtype_text(dtype)
    try:
        library.dtype_named(text)
    except DataError:
        raise DataError(f"column {name!r} has the dtype {text}, which files of answers do not take") from None
    return text


def _plain(cell: Any) -> Any:
    """A value for JSON, None if it is missing."""
    cell = as_python(cell)
    if cell is None or isinstance(cell, bool | int | str):
        return cell
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return None if cell is pd.NA or cell is pd.NaT else str(cell)
    return number if math.isfinite(number) else None


def _cell(cell: Any, nan_is_missing: bool) -> Any:
    """A cell of a frame for JSON, from which `results.reading` restores it."""
    if isinstance(cell, decimal.Decimal) and cell.is_finite():
        return {"decimal": str(cell)}
    if isinstance(cell, float) and not math.isfinite(cell) and not (math.isnan(cell) and nan_is_missing):
        return {"float": repr(cell)}
    return _plain(cell)


def _is_plain(cell: Any) -> bool:
    """Whether JSON can hold a cell; a list, or an interval, in a record that cannot be read anyway is left out."""
    return isinstance(as_python(cell), bool | int | float | str | decimal.Decimal)


def _listed(values: np.ndarray) -> list[Any]:
    """An array as nested lists; None where it is not finite."""
    listed = values.astype(object)
    listed[~np.isfinite(values)] = None
    return listed.tolist()


def _vector(values: np.ndarray) -> dict[str, Any]:
    return {"dtype": "int" if values.dtype.kind in "iu" else "float", "values": _listed(values)}


def _index_to_json(index: pd.Index[Any] | None) -> dict[str, Any] | None:
    """Each level of the index: its name, its dtype, and the labels as strings where JSON has no such type."""
    if index is None:
        return None
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    library = library_named("pandas")
    return {
        "several": isinstance(index, pd.MultiIndex),
        "levels": [
            {
                "name": _plain(level.name),
                "dtype": library.dtype_text(level.dtype),
                "labels": [_cell(label, True) for label in level.tolist()],
            }
            for level in levels
        ],
    }
