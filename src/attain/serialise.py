"""A result as JSON text, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd

from attain.errors import DataError
from attain.libraries import Library
from attain.schema import Schema
from attain.status import Status
from attain.table import Table

if TYPE_CHECKING:
    from attain.counterfactuals import Counterfactuals

FORMAT = "attain-counterfactuals-1"


def to_json(result: Counterfactuals) -> str:
    """Everything the result holds; numbers keep every digit."""
    table, library = result.table, result.table.layout.library
    source = nw.from_native(table.source, eager_only=True)
    content = {
        "format": FORMAT,
        "schema": table.schema.to_toml(),
        "library": library.name,
        "columns": {
            name: {
                "dtype": library.dtype_text(table.layout.dtypes[name]),
                "cells": [_plain(cell) for cell in source[name].to_list()],
            }
            for name in table.layout.columns
        },
        "index": _index_to_json(table.source) if library.name == "pandas" else None,
        "method": result.method,
        "target": _plain(result.target),
        "probability": result.probability,
        "status": [status.name for status in result.outcome],
        "rows": _matrix(result.rows),
        "owners": result.owners.tolist(),
        "percentiles": [_matrix(part) for part in result.percentiles],
        "person_figures": {name: _vector(values) for name, values in result.person_figures.items()},
        "option_figures": {name: _vector(values) for name, values in result.option_figures.items()},
        "notes": list(result.notes),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def from_json(text: str) -> Counterfactuals:
    """The result that `to_json` wrote."""
    from attain.counterfactuals import Counterfactuals

    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DataError(f"the text is no result written by to_json of this version ({FORMAT})")
        schema = Schema.from_toml(content["schema"])
        table = Table.read(_frame(content, schema), schema)
        width = len(schema)
        return Counterfactuals(
            table=table,
            method=content["method"],
            target=content["target"],
            probability=content["probability"],
            outcome=tuple(Status[name] for name in content["status"]),
            rows=_read_matrix(content["rows"], width),
            owners=np.array(content["owners"], dtype=np.intp),
            percentiles=tuple(_read_matrix(part, width) for part in content["percentiles"]),  # type: ignore[arg-type]
            person_figures={name: _read_vector(values) for name, values in content["person_figures"].items()},
            option_figures={name: _read_vector(values) for name, values in content["option_figures"].items()},
            notes=tuple(content["notes"]),
        )
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, IndexError) as error:
        raise DataError(f"the text is no whole result written by to_json: {type(error).__name__} at {error}") from None


def _plain(cell: Any) -> Any:
    """A cell that JSON can hold; missing ones as null."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if cell is None or isinstance(cell, bool | int | str):
        return cell
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return None if cell is pd.NA or cell is pd.NaT else str(cell)
    return number if math.isfinite(number) else None


def _vector(values: np.ndarray) -> dict[str, Any]:
    return {"dtype": "int" if values.dtype.kind in "iu" else "float", "values": [_plain(value) for value in values]}


def _read_vector(stored: Mapping[str, Any]) -> np.ndarray:
    if stored["dtype"] == "int":
        return np.array(stored["values"], dtype=np.int64)
    return np.array([math.nan if value is None else value for value in stored["values"]], dtype=np.float64)


def _matrix(values: np.ndarray) -> list[list[Any]]:
    return [[_plain(value) for value in row] for row in values]


def _read_matrix(rows: Sequence[Sequence[Any]], width: int) -> np.ndarray:
    cells = [[math.nan if value is None else value for value in row] for row in rows]
    return np.array(cells, dtype=np.float64).reshape(-1, width)


def _frame(content: Mapping[str, Any], schema: Schema) -> Any:
    """The frame of the factuals, in the library it came from."""
    library = Library.named(content["library"])
    columns = {}
    for name, stored in content["columns"].items():
        dtype = library.dtype_named(stored["dtype"], schema[name].levels)
        columns[name] = library.restored(name, stored["cells"], dtype)
    return library.assembled(columns, _index_from_json(content["index"]))


def _index_to_json(frame: pd.DataFrame) -> dict[str, Any]:
    index = frame.index
    labels = [[_plain(part) for part in label] if isinstance(label, tuple) else _plain(label) for label in index]
    kind = (
        "multi" if isinstance(index, pd.MultiIndex) else "datetime" if isinstance(index, pd.DatetimeIndex) else "plain"
    )
    return {"kind": kind, "names": [None if name is None else str(name) for name in index.names], "labels": labels}


def _index_from_json(stored: Mapping[str, Any] | None) -> pd.Index | None:
    if stored is None:
        return None
    if stored["kind"] == "multi":
        return pd.MultiIndex.from_tuples([tuple(label) for label in stored["labels"]], names=stored["names"])
    if stored["kind"] == "datetime":
        return pd.DatetimeIndex(stored["labels"], name=stored["names"][0])
    return pd.Index(stored["labels"], name=stored["names"][0])
