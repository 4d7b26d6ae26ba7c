"""A result as JSON, and back."""

from __future__ import annotations

import decimal
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from attain.core.arrays import as_python
from attain.core.errors import AttainError, DataError
from attain.core.frames import library_named
from attain.results.importance import Attributions, Importances
from attain.results.ranges import Ranges
from attain.results.record import CHANGES, Record
from attain.results.sentences import person_sentences
from attain.results.status import Status
from attain.schema import Schema
from attain.schema.laws import Law
from attain.tables import Table

FORMAT = "attain-counterfactuals-1"


def to_json(result: Record) -> str:
    """All fields of the result; numbers keep every digit.

    `sentences` and `changes` are for programs without this package: they follow from the other fields, so that
    `read_fields` leaves them out.
    """
    table, library = result.table, result.table.layout.library
    source = library.read(table.source)
    content = {
        "format": FORMAT,
        "schema": table.schema.to_toml(),
        "library": library.name,
        "columns": {
            name: {
                "dtype": library.dtype_text(table.layout.dtypes[name]),
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
        "laws": [asdict(law) for law in result.laws],
        "sentences": person_sentences(result),
        "changes": [{name: _plain(cell[name]) for name in CHANGES} for cell in result.changed_cells()],
        "unreadable": {str(position): sentence for position, sentence in result.unreadable.items()},
        "intervals": None if result.intervals is None else result.intervals.state(),
        "settings": result.settings,
        "importances": None if result.importances is None else result.importances.state(),
        "attributions": None if result.attributions is None else result.attributions.state(),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def read_fields(text: str) -> dict[str, Any]:
    """The fields of the result that `to_json` wrote."""
    if isinstance(text, os.PathLike) or str(text).lower().endswith(".json"):
        raise DataError(f"from_json takes the text of a file, got its name; pass Path({str(text)!r}).read_text()")
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DataError(f"the text was not written by to_json of this version ({FORMAT})")
        schema = Schema.from_toml(content["schema"])
        width = len(schema)
        return {
            **{
                name: content[name]
                for name in ("method", "target", "target_name", "probability", "rows_asked", "settings")
            },
            "table": Table.read(_frame(content), schema, errors="status"),
            "statuses": tuple(Status[name] for name in content["status"]),
            "rows": _read_matrix(content["rows"], width),
            "owners": np.array(content["owners"], dtype=np.intp),
            "percentiles": tuple(_read_matrix(part, width) for part in content["percentiles"]),
            "person_figures": {name: _read_vector(values) for name, values in content["person_figures"].items()},
            "option_figures": {name: _read_vector(values) for name, values in content["option_figures"].items()},
            "notes": tuple(content["notes"]),
            "laws": tuple(Law(**law) for law in content["laws"]),
            "unreadable": {int(position): sentence for position, sentence in content["unreadable"].items()},
            "intervals": None if content["intervals"] is None else Ranges.restore(content["intervals"]),
            "importances": None if content["importances"] is None else Importances.restore(content["importances"]),
            "attributions": None if content["attributions"] is None else Attributions.restore(content["attributions"]),
        }
    except AttainError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise DataError(f"the text is not a complete result of to_json: {type(error).__name__} at {error}") from None


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
    """A cell of a frame for JSON, from which `_read_cell` restores it."""
    if isinstance(cell, decimal.Decimal) and cell.is_finite():
        return {"decimal": str(cell)}
    if isinstance(cell, float) and not math.isfinite(cell) and not (math.isnan(cell) and nan_is_missing):
        return {"float": repr(cell)}
    return _plain(cell)


def _is_plain(cell: Any) -> bool:
    """Whether JSON can hold a cell; a list, or an interval, in a record that cannot be read anyway is left out."""
    return isinstance(as_python(cell), bool | int | float | str | decimal.Decimal)


def _read_cell(stored: Any) -> Any:
    if not isinstance(stored, Mapping):
        return stored
    return decimal.Decimal(stored["decimal"]) if "decimal" in stored else float(stored["float"])


def _listed(values: np.ndarray) -> list[Any]:
    """An array as nested lists; None where it is not finite."""
    listed = values.astype(object)
    listed[~np.isfinite(values)] = None
    return listed.tolist()


def _vector(values: np.ndarray) -> dict[str, Any]:
    return {"dtype": "int" if values.dtype.kind in "iu" else "float", "values": _listed(values)}


def _read_vector(stored: Mapping[str, Any]) -> np.ndarray:
    return np.array(stored["values"], dtype=np.int64 if stored["dtype"] == "int" else np.float64)


def _read_matrix(rows: Sequence[Sequence[Any]], width: int) -> np.ndarray:
    return np.array(rows, dtype=np.float64).reshape(-1, width)


def _frame(content: Mapping[str, Any]) -> Any:
    """The frame of the factuals, in the library it came from."""
    library = library_named(content["library"])
    columns = {
        name: ([_read_cell(cell) for cell in stored["cells"]], library.dtype_named(stored["dtype"]))
        for name, stored in content["columns"].items()
    }
    return library.restored(columns, _index_from_json(content["index"]))


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


def _index_from_json(stored: Mapping[str, Any] | None) -> pd.Index[Any] | None:
    if stored is None:
        return None
    levels = [_index_level(level) for level in stored["levels"]]
    return pd.MultiIndex.from_arrays(levels, names=[level.name for level in levels]) if stored["several"] else levels[0]


def _index_level(stored: Mapping[str, Any]) -> pd.Index[Any]:
    dtype = library_named("pandas").dtype_named(stored["dtype"])
    labels: Any = [_read_cell(label) for label in stored["labels"]]
    if isinstance(dtype, pd.DatetimeTZDtype):
        # offsets of one zone differ between summer and winter, so labels are parsed as UTC first
        labels = pd.to_datetime(labels, utc=True)
    return pd.Index(labels, name=stored["name"]).astype(dtype)
