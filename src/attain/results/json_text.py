"""A result as JSON, and back: what is read is checked against the format, and its parts against each other."""

from __future__ import annotations

import decimal
import json
import math
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args

import msgspec
import numpy as np
import pandas as pd

from attain.core.arrays import FloatArray, IndexArray, as_python
from attain.core.errors import DataError, FileError
from attain.core.files import as_kind, parse_json
from attain.core.frames import Library, library_named
from attain.results.details import Attributions, Importances, Ranges, Related
from attain.results.exports import long_columns
from attain.results.sentences import person_sentences
from attain.results.status import Purpose, Status, Typicality
from attain.schema.laws import Law
from attain.schema.text import from_toml
from attain.tables import RuleBook, Table

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

FORMAT: Final = "attain-counterfactuals-1"
Scalar: TypeAlias = bool | int | float | str | None
Cell: TypeAlias = dict[Literal["decimal", "float"], str] | Scalar
"""A cell of a frame; numbers that JSON does not have are texts in a dictionary."""
_PLAIN: Final = ("method", "target_name", "probability", "notes", "rows_asked", "rows_uncharged", "settings")
_SENTENCES: Final = ("unreadable", "failures")
"""The fields with a sentence for some people, by position."""
_DETAILS: Final[Mapping[str, Any]] = {
    "intervals": Ranges,
    "importances": Importances,
    "attributions": Attributions,
    "related": Related,
}
_ROWS: Final[Mapping[Any, Any]] = {np.float64: list[float | None], np.intp: list[int], np.bool_: list[bool]}
"""What a file has for a row of an array: None stands for NaN."""


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """A part of a stored result."""


class Column(_Stored):
    dtype: str
    cells: list[Cell]


class IndexLevel(_Stored):
    name: Cell
    dtype: str
    labels: list[Cell]


class Index(_Stored):
    several: bool
    levels: list[IndexLevel]


class Integers(_Stored, tag_field="dtype", tag="int"):
    values: IndexArray


class Floats(_Stored, tag_field="dtype", tag="float"):
    values: FloatArray


class StoredResult(_Stored, kw_only=True):
    """A stored result; `sentences` and `changes` are for programs without this package."""

    format: str
    schema: str
    library: str
    columns: dict[str, Column]
    index: Index | None
    method: str
    target: Scalar
    target_name: str | None
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    status: list[str]
    rows: FloatArray
    owners: IndexArray
    percentiles: tuple[FloatArray, FloatArray, FloatArray]
    person_figures: dict[str, Integers | Floats]
    option_figures: dict[str, Integers | Floats]
    notes: tuple[str, ...]
    rows_asked: int
    rows_uncharged: int
    laws: tuple[Law, ...]
    sentences: Any = None
    changes: Any = None
    unreadable: dict[str, str]
    failures: dict[str, str]
    intervals: Ranges | None
    settings: dict[str, Any]
    importances: Importances | None
    attributions: Attributions | None
    related: Related | None


def to_json(result: Counterfactuals) -> str:
    """All fields of the result; numbers keep every digit."""
    table, library = result.table, result.table.layout.library
    source, changes = library.read(table.source), long_columns(result, "changes")
    content = StoredResult(
        format=FORMAT,
        schema=table.schema.to_toml(),
        library=library.name,
        columns={
            name: Column(
                _dtype_text(library, name, table.layout.dtypes[name]),
                [
                    _cell(cell, library.nan_is_missing) if i not in table.refused or _is_plain(cell) else None
                    for i, cell in enumerate(source[name].to_list())
                ],
            )
            for name in table.layout.columns
        },
        index=_stored_index(library.index(table.source)),
        target=_plain(result.target),
        status=[status.name for status in result.statuses],
        person_figures={name: _figure(values) for name, values in result.person_figures.items()},
        option_figures={name: _figure(values) for name, values in result.option_figures.items()},
        laws=result.laws,
        sentences=person_sentences(result),
        changes=[dict(zip(changes, map(_plain, cells), strict=True)) for cells in zip(*changes.values(), strict=True)],
        unreadable={str(i): sentence for i, sentence in result.unreadable.items()},
        failures={str(i): error for i, error in result.failures.items()},
        **{name: getattr(result, name) for name in (*_PLAIN, *_DETAILS, "rows", "owners", "percentiles")},
    )
    return json.dumps(msgspec.to_builtins(content, enc_hook=_nested), ensure_ascii=False, allow_nan=False)


def _dtype_text(library: Library, name: str, dtype: Any) -> str:
    """The dtype of a column for the file; one that could not be read back is refused."""
    text = library.dtype_text(dtype)
    try:
        library.dtype_named(text)
    except DataError:
        raise DataError(f"column {name!r} has the dtype {text}, which files of answers do not take") from None
    return text


def _plain(cell: Any) -> Scalar:
    """A value for JSON, None if it is missing."""
    cell = as_python(cell)
    if cell is None or isinstance(cell, bool | int | str):
        return cell
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return None if cell is pd.NA or cell is pd.NaT else str(cell)
    return number if math.isfinite(number) else None


def _cell(cell: Any, nan_is_missing: bool) -> Cell:
    if isinstance(cell, decimal.Decimal) and cell.is_finite():
        return {"decimal": str(cell)}
    if isinstance(cell, float) and not math.isfinite(cell) and not (math.isnan(cell) and nan_is_missing):
        return {"float": repr(cell)}
    return _plain(cell)


def _is_plain(cell: Any) -> bool:
    """Whether JSON can hold a cell; a list, or an interval, in a record that cannot be read anyway is left out."""
    return isinstance(as_python(cell), bool | int | float | str | decimal.Decimal)


def _nested(values: np.ndarray) -> Any:
    """An array as nested lists; None where it is not finite."""
    nested = values.astype(object)
    nested[~np.isfinite(values)] = None
    return nested.tolist()


def _figure(values: np.ndarray) -> Integers | Floats:
    return Integers(values) if values.dtype.kind in "iu" else Floats(values)


def _stored_index(index: pd.Index[Any] | None) -> Index | None:
    if index is None:
        return None
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    dtype_text = library_named("pandas").dtype_text
    stored = [IndexLevel(_plain(x.name), dtype_text(x.dtype), [_cell(y, True) for y in x.tolist()]) for x in levels]
    return Index(isinstance(index, pd.MultiIndex), stored)


def read_fields(text: str) -> dict[str, Any]:
    """The fields of the result that `to_json` wrote, or a `FileError` that says why the text is refused."""
    if isinstance(text, os.PathLike) or str(text).lower().endswith(".json"):
        raise FileError(f"from_json takes the text of a file, got its name; pass Path({str(text)!r}).read_text()")
    try:
        content = parse_json(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileError(f"the text was not written by to_json of this version ({FORMAT})")
        for name, kind in _DETAILS.items():
            if unknown := set(content.get(name) or ()) - {item.name for item in fields(kind)}:
                raise ValueError(f"{name}: unknown key {min(unknown)}")
        return _fields(as_kind(content, StoredResult, _array))
    except FileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise FileError(f"the text is not a complete result of to_json: {type(error).__name__}: {error}") from None


def _array(kind: Any, value: Any) -> np.ndarray:
    """Nested lists as an array of the dtype that it is annotated with."""
    dtype = get_args(get_args(kind)[1])[0]
    nested = isinstance(value, list) and any(isinstance(part, list) for part in value)
    rows = [msgspec.convert(part, _ROWS[dtype]) for part in (value if nested else [value])]
    array = np.array(rows if nested else rows[0], dtype=dtype)
    if np.isinf(array).any():
        raise ValueError("an array has infinite numbers")
    return array


def _fields(content: StoredResult) -> dict[str, Any]:
    """The fields of a result, checked against each other."""
    table = Table.read(_frame(content), from_toml(content.schema), errors="status")
    people, width, options = len(table), len(table.schema), len(content.owners)
    statuses = [Status[name] for name in content.status]
    RuleBook(table.schema, content.laws)  # raises where a law cannot be parsed
    _check_positions(content.owners, people)
    if (np.diff(content.owners) < 0).any():
        raise ValueError("the options are not grouped by person")
    if {i for i, status in enumerate(statuses) if status is Status.FOUND} != set(content.owners.tolist()):
        raise ValueError("the people with an option are not those with the status FOUND")
    sentences = {name: {int(i): text for i, text in getattr(content, name).items()} for name in _SENTENCES}
    for known in sentences.values():
        _check_positions(np.array([*known], dtype=np.intp), people)
    for name, kinds in (("typicality", Typicality), ("purpose", Purpose)):
        figure = content.option_figures.get(name, Floats(np.empty(0))).values
        if not np.isin(figure[~np.isnan(figure)], list(kinds)).all():
            raise ValueError(f"the figure {name} has an unknown value")
    rows = _shaped(content.rows, options, width)
    _check_cells(table, np.arange(width), rows)
    return {
        **{name: getattr(content, name) for name in (*_PLAIN, "target", "owners")},
        **_details(content, table),
        "table": table,
        "statuses": tuple(statuses),
        "rows": rows,
        "percentiles": tuple(_shaped(part, options, width) for part in content.percentiles),
        "person_figures": _figures(content.person_figures, people),
        "option_figures": _figures(content.option_figures, options),
        "laws": content.laws,
        **sentences,
    }


def _figures(stored: Mapping[str, Integers | Floats], count: int) -> dict[str, np.ndarray]:
    return {name: _shaped(figure.values, count) for name, figure in stored.items()}


def _details(content: StoredResult, table: Table) -> dict[str, Any]:
    """Ranges, importance, contributions and relations, each of which may be missing."""
    options, width = len(content.owners), len(table.schema)
    ranges, known, related = content.intervals, content.attributions, content.related
    for entries in (ranges, content.importances):
        if entries is not None:
            _check_positions(entries.option, options)
            _check_positions(entries.column, width)
            for array in vars(entries).values():
                _shaped(np.empty(len(array)), len(entries.option))
    if ranges is not None:
        _check_cells(table, ranges.column, ranges.low)
        _check_cells(table, ranges.column, ranges.high)
        for column, levels in zip(ranges.column.tolist(), ranges.levels, strict=True):
            _check_positions(np.array(levels, dtype=np.intp), len(table.schema.features[column].levels))
    if known is not None:
        _check_positions(known.person, len(table))
        _check_positions(known.column, width)
        shape = len(known.person), len(known.column)
        contribution, error, free = (_shaped(x, *shape) for x in (known.contribution, known.error, known.free))
        known = replace(known, contribution=contribution, error=error, free=free)
        if np.isnan(known.contribution).any():
            raise ValueError("a contribution is missing")
    if related is not None:
        related = replace(related, follows=_shaped(related.follows, options, width))
        if len(related.contradictions) != options:
            raise ValueError("contradictions have another length")
    return {"intervals": ranges, "importances": content.importances, "attributions": known, "related": related}


def _check_positions(positions: IndexArray, below: int) -> None:
    if ((positions < 0) | (positions >= below)).any():
        raise ValueError(f"positions must be integers from 0 to {below - 1}")


def _shaped(array: np.ndarray, *shape: int) -> np.ndarray:
    """The array, which must have this shape; one without rows has lost its number of columns."""
    if array.shape != shape and (array.size or math.prod(shape)):
        raise ValueError(f"an array has the shape {array.shape} instead of {shape}")
    return array.reshape(shape)


def _check_cells(table: Table, columns: np.ndarray, cells: np.ndarray) -> None:
    """Raises unless cells of these columns (…, c) that stand for levels are positions of levels, or missing."""
    for j in np.unique(columns):
        feature = table.schema.features[j]
        if not feature.numeric:
            known = len(feature.levels) + len(table.layout.unseen.get(feature.name, ()))
            chosen = cells[..., columns == j]
            if not np.isin(chosen[~np.isnan(chosen)], np.arange(known)).all():
                raise ValueError(f"the column {feature.name!r} has a level that is not in the schema")


def _frame(content: StoredResult) -> Any:
    """The frame of the factuals, in the library it came from."""
    library, people = library_named(content.library), len(content.status)
    columns = {
        name: ([*map(_value, column.cells)], library.dtype_named(column.dtype))
        for name, column in content.columns.items()
    }
    for name, (cells, dtype) in columns.items():
        if isinstance(dtype, np.dtype) and dtype.kind in "iub" and None in cells:
            raise ValueError(f"column {name!r}, row {cells.index(None)}: null, but {dtype} has no missing cells")
    stored = content.index
    levels = [] if stored is None else [_index_level(level) for level in stored.levels]
    if {people} != {people, *(len(cells) for cells, _ in columns.values()), *map(len, levels)}:
        raise ValueError("columns, index and status differ in length")
    if stored is None:
        return library.restored(columns, None)
    several = pd.MultiIndex.from_arrays(levels, names=[x.name for x in levels]) if stored.several else levels[0]
    return library.restored(columns, several)


def _value(cell: Cell) -> Any:
    if isinstance(cell, dict):
        ((kind, text),) = cell.items()
        return {"decimal": decimal.Decimal, "float": float}[kind](text)
    return cell


def _index_level(level: IndexLevel) -> pd.Index[Any]:
    dtype = library_named("pandas").dtype_named(level.dtype)
    labels: Any = [*map(_value, level.labels)]
    if isinstance(dtype, pd.DatetimeTZDtype):
        # offsets of one zone differ between summer and winter, so labels are parsed as UTC first
        labels = pd.to_datetime(labels, utc=True)
    return pd.Index(labels, name=_value(level.name)).astype(dtype)
