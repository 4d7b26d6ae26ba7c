"""Tables in files: CSV and Parquet, by file extension."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.core.errors import AttainError, DataError, FileError, MissingExtraError, listed, repeated
from attain.core.files import TEXT, check_writable, write_atomically
from attain.core.spreadsheets import csv_bytes, excel_module, unescaped
from attain.schema import Feature, Schema

_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
PARQUET: Final = (".parquet", ".pq")
EXCEL: Final = ".xlsx"
MISSING: Final = frozenset(
    [
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
        *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)
"""What programs write into an empty cell. In a column of levels, those that are levels are not missing."""
_INTEGER = re.compile(r"-?(0|[1-9]\d*)")
_WIDTH = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
UNNAMED_INDEX: Final = re.compile(r"__index_level_\d+__")
"""The name of the column of a Parquet file that holds an unnamed index of pandas."""


@dataclass(frozen=True)
class PeopleFile:
    """A table read with a schema: its frame, its labels if a column holds them, and the names of ignored columns."""

    frame: pd.DataFrame
    labels: pd.Series[Any] | None
    left_out: list[str]


def check_ending(path: str, also: Sequence[str] = ()) -> None:
    """Rejects, before any work is done, a file whose extension is unknown or that cannot be written."""
    known = [*_SEPARATORS, *PARQUET, *also]
    if ending_of(path) not in known:
        raise FileError(f"{path!r} has an unknown file extension; use one of {', '.join(known)}")
    check_writable(path)
    if ending_of(path) in PARQUET:
        parquet_module()
    if ending_of(path) == EXCEL:
        excel_module()


def read_people(
    path: str,
    schema: Schema,
    *,
    index: str | None = None,
    label: str | None = None,
    separator: str | None = None,
    categories: bool = False,
    escaped: bool = False,
) -> PeopleFile:
    """The schema's columns of a file, each with the dtype that fits its values; other columns are ignored.

    With `categories`, columns of levels get the categorical dtype that XGBoost and LightGBM require. With `escaped`,
    texts in CSV files are read as they were before `written` escaped them.
    """
    columns = columns_of(path, separator, escaped)
    index, chosen = chosen_columns(path, columns, schema, index=index, label=label)
    wanted = [*chosen, *(name for name in (index, label) if name is not None)]
    if ending_of(path) in PARQUET:
        whole = _parquet(path, index, wanted)
        frame, labels = whole[chosen], None if label is None else whole[label]
    else:
        cells = _csv(path, separator, wanted, escaped)
        frame = pd.DataFrame(
            {name: converted(cells[name], partial(column_of, feature=schema[name])) for name in chosen}
        )
        labels = None if label is None else converted(cells[label], _names).rename(label)
        if index is not None:
            frame.index = pd.Index(converted(cells[index], _names), name=index or None)
            labels = None if labels is None else labels.set_axis(frame.index)
    for name in chosen:
        if categories and not schema[name].numeric:
            frame = frame.assign(**{name: _category(frame[name], schema[name])})
    left_out = [name for name in columns if name not in (*chosen, *frame.index.names, index, label)]
    return PeopleFile(frame, labels, left_out)


def chosen_columns(
    path: str, columns: Sequence[str], schema: Schema, *, index: str | None, label: str | None = None
) -> tuple[str | None, list[str]]:
    """The column with the names of rows, and the columns of the schema in the order of the file, if it has them all."""
    for flag, name in (("--index", index), ("--label", label)):
        if name is not None and name in schema:
            raise DataError(f"{flag} names {name!r}, which is a feature of the schema; remove it from one of the two")
        if name is not None and name not in columns:
            raise FileError(f"{flag} names {name!r}, which {path!r} does not have; it has {listed(columns, 40)}")
    absent = [name for name in schema.names if name not in columns]
    if absent:
        raise FileError(
            f"{path!r} lacks columns that the schema has: {listed(absent)}; its columns are {listed(columns, 40)}"
        )
    return "" if index is None and columns[0] == "" else index, [name for name in columns if name in schema]


def read_any(path: str, *, index: str | None = None, separator: str | None = None) -> tuple[pd.DataFrame, list[str]]:
    """A whole file without a schema, and remarks about ambiguous cells.

    In a column of strings only an empty cell is missing: `NA` or `None` may be a level, and a schema can say that it is
    not. In a column of numbers they are missing.
    """
    columns = columns_of(path, separator)
    index = "" if index is None and columns[0] == "" else index
    if index is not None and index not in columns:
        raise FileError(f"--index names {index!r}, which {path!r} does not have; it has {listed(columns, 40)}")
    if ending_of(path) in PARQUET:
        return _parquet(path, index), []
    made, remarks = {}, []
    for name, cells in _csv(path, separator, [name for name in columns if name != index]).items():
        made[name] = converted(cells, partial(_inferred, missing=MISSING))
        if not _is_plain(made[name]):
            made[name] = converted(cells, _strings)
            words = sorted(MISSING & set(made[name].dropna()))
            if words:
                remarks.append(
                    f"column {name!r}: {listed(words)} is read as a level; if it means that the cell is empty, remove "
                    "it from the levels in the schema"
                )
    return pd.DataFrame(made), remarks


def columns_of(path: str, separator: str | None = None, escaped: bool = False) -> list[str]:
    """The column names of a file, which exist and are distinct; with `escaped`, as they were before `written`."""
    ending = ending_of(path)
    if ending not in (*_SEPARATORS, *PARQUET):
        raise FileError(f"{path!r} has an unknown file extension; use one of {', '.join((*_SEPARATORS, *PARQUET))}")
    if not Path(path).is_file():
        raise FileError(f"there is no file {path!r}")
    columns = _parquet_columns(path) if ending in PARQUET else _csv_header(path, separator_of(path, separator))
    columns = list(map(unescaped, columns)) if escaped and ending not in PARQUET else columns
    if not columns:
        raise FileError(f"{path!r} is empty; it must have columns, and their names in the first line")
    if twice := repeated(columns):
        raise FileError(f"{path!r} has several columns with the same name: {listed(twice)}; keep one of each")
    return columns


def written(path: str, frame: pd.DataFrame, separator: str | None = None) -> None:
    """Writes a frame without its index, in the format of the file extension; texts in CSV files are escaped."""
    if ending_of(path) in PARQUET:
        buffer = io.BytesIO()
        parquet_module()
        # a column of Parquet has one type, and a table of changes has numbers beside strings
        mixed = [name for name in frame.columns if frame[name].dtype == object and not _is_plain(frame[name])]
        frame = frame.assign(**{str(name): frame[name].map(str, na_action="ignore").astype("str") for name in mixed})
        frame.to_parquet(buffer, engine="pyarrow", index=False)
        write_atomically(path, buffer.getvalue())
    else:
        write_atomically(path, csv_bytes(frame, separator_of(path, separator)))


def ending_of(path: str) -> str:
    """The file extension in lower case, with its dot."""
    return Path(path).suffix.lower()


def separator_of(path: str, given: str | None) -> str:
    """The character between cells: the one given, or that of the file extension."""
    if given is None:
        return _SEPARATORS[ending_of(path)]
    separator = given.replace("\\t", "\t")
    if len(separator) != 1:
        raise FileError(f"--separator must be one character, got {given!r}")
    return separator


def _csv_header(path: str, separator: str) -> list[str]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = iter(lambda: file.readline(TEXT), "")  # a line may have no end
            header = next(csv.reader(lines, delimiter=separator, strict=True), [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, error) from None
    for other in (";", "\t", "|", ","):
        if len(header) == 1 and other in header[0] and other != separator:
            shown = "\\t" if other == "\t" else other
            raise FileError(
                f"{path!r} has only one column, {header[0][:60]!r}; its cells seem to be separated by {shown!r}: pass "
                f"--separator '{shown}'"
            )
    return header


def _unreadable(path: str, error: Exception) -> FileError:
    text = " ".join(str(error).split())
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in text:
        return FileError(f"{path!r} is not UTF-8 text; save it as CSV in UTF-8")
    return FileError(f"{path!r} cannot be read as CSV: {text}")


def _csv(
    path: str, separator: str | None, columns: Sequence[str], escaped: bool = False
) -> dict[str, pd.Categorical[Any]]:
    """The cells of some columns as strings, read in one pass; every row must be as wide as the header."""
    if escaped:
        written_as = dict(zip(columns_of(path, separator, True), columns_of(path, separator), strict=True))
        cells = _csv(path, separator, [written_as[name] for name in columns])
        return {name: _unescaped(cells[written_as[name]]) for name in columns}
    try:
        import pyarrow.csv
    except ImportError:
        return _csv_without_arrow(path, separator_of(path, separator), columns)
    words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    with reading_csv(path):
        table = pyarrow.csv.read_csv(path, **csv_options(path, separator, columns, words))
    return {name: pd.Categorical(table[name].to_pandas()) for name in columns}


def csv_options(path: str, separator: str | None, columns: Sequence[str], dtype: Any) -> dict[str, Any]:
    """Options of pyarrow's readers of CSV files, for some columns as words of this type."""
    import pyarrow.csv

    return {
        "read_options": pyarrow.csv.ReadOptions(use_threads=False),  # errors name the row only in a single thread
        "parse_options": pyarrow.csv.ParseOptions(delimiter=separator_of(path, separator), newlines_in_values=True),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(columns, dtype), include_columns=list(columns)
        ),
    }


@contextmanager
def reading_csv(path: str) -> Iterator[None]:
    """Turns pyarrow's errors about a CSV file into sentences."""
    try:
        yield
    except AttainError:
        raise
    except (ValueError, OSError) as error:
        width = _WIDTH.search(str(error))
        raise _uneven(path, *map(int, width.groups())) if width else _unreadable(path, error) from None


@contextmanager
def reading_parquet(path: str) -> Iterator[None]:
    """Turns errors about the content of a Parquet file into sentences."""
    try:
        yield
    except AttainError:
        raise
    except (ValueError, OSError, LookupError, TypeError) as error:
        raise FileError(f"{path!r} cannot be read as Parquet: {' '.join(str(error).split())}") from None


def _unescaped(cells: pd.Categorical[Any]) -> pd.Categorical[Any]:
    words = np.array([unescaped(word) for word in cells.categories], dtype=object)
    return pd.Categorical(words[cells.codes])


def _csv_without_arrow(path: str, separator: str, columns: Sequence[str]) -> dict[str, pd.Categorical[Any]]:
    rows = []
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=separator, strict=True)
            header = next(reader)
            for row in filter(None, reader):
                if len(row) != len(header):
                    raise _uneven(path, reader.line_num, len(header), len(row))
                rows.append(row)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, error) from None
    return {name: pd.Categorical([row[j] for row in rows]) for j, name in enumerate(header) if name in columns}


def _uneven(path: str, line: int, wanted: int, found: int) -> FileError:
    return FileError(
        f"{path!r}, line {line}: it has {found} cells, but the header has {wanted}; correct the line, or pass another "
        "--separator"
    )


def converted(cells: pd.Categorical[Any], convert: Callable[[np.ndarray], pd.Series[Any]]) -> pd.Series[Any]:
    """The cells, of which each distinct one is converted once."""
    return convert(cells.categories.to_numpy(dtype=object)).take(cells.codes).reset_index(drop=True)


def column_of(words: np.ndarray, feature: Feature) -> pd.Series[Any]:
    """The words of a CSV file as cells of a feature."""
    missing = MISSING - {str(level) for level in feature.levels}
    if not any(isinstance(level, str) for level in feature.levels):
        inferred = _inferred(words, missing)
        return _numbers_among_words(inferred) if feature.numeric and not _is_plain(inferred) else inferred
    strings = _strings(words, missing)
    others = {str(level): level for level in feature.levels if not isinstance(level, str)}
    return strings.astype(object).map(lambda cell: others.get(cell, cell)) if others else strings


def _inferred(words: np.ndarray, missing: Collection[str]) -> pd.Series[Any]:
    """Integers, floats or booleans if every word that does not mean missing is one, else strings."""
    present = ~np.isin(words, list(missing))
    text = "".join(words[present])
    if text.isascii() and "_" not in text:  # Python's numbers may have other digits and underscores
        for dtype in (np.int64, np.uint64, np.float64):
            try:
                numbers = words[present].astype(dtype)
            except (ValueError, OverflowError):
                continue
            values = numbers if present.all() else np.full(len(words), np.nan)
            values[present] = numbers
            return pd.Series(values)
    strings = _strings(words, missing)
    return strings.map(_boolean, na_action="ignore") if all(map(_is_boolean, words[present])) else strings


def _numbers_among_words(strings: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers where a word is one, so that a single cell that is none does not turn all others into text."""
    return strings.astype(object).map(lambda word: _inferred(np.array([word], dtype=object), ()).tolist()[0], "ignore")


def _strings(words: np.ndarray, missing: Collection[str] = ("",)) -> pd.Series[Any]:
    strings = pd.Series(words, dtype="str")
    return strings.mask(strings.isin(missing))


def _is_plain(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers or booleans."""
    return pd.api.types.is_numeric_dtype(column.dtype) or all(isinstance(cell, bool) for cell in column.dropna())


def _names(words: np.ndarray) -> pd.Series[Any]:
    """Row names and labels: integers or booleans if every word is one, else strings; `007` stays a string."""
    strings = _strings(words)
    present = strings.dropna()
    if len(present) and all(map(_INTEGER.fullmatch, present)):
        return strings.map(int, na_action="ignore").astype("int64" if len(present) == len(strings) else "Int64")
    if len(present) and all(map(_is_boolean, present)):
        return strings.map(_boolean, na_action="ignore")
    return strings


def _is_boolean(text: str) -> bool:
    return text.lower() in ("true", "false")


def _boolean(text: str) -> bool:
    return text.lower() == "true"


def _category(column: pd.Series[Any], feature: Feature) -> pd.Series[Any]:
    seen = [value for value in column.dropna().unique().tolist() if value not in feature.levels]
    return column.astype(pd.CategoricalDtype([*feature.levels, *seen], ordered=feature.kind == "ordinal"))


def parquet_module() -> Any:
    """`pyarrow.parquet`, or an error that says how to install it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet files need pyarrow: pip install 'attain[arrow]', or use CSV") from None
    return pyarrow.parquet


def _parquet_columns(path: str) -> list[str]:
    reader = parquet_module()
    with reading_parquet(path):
        columns = reader.read_schema(path).names
    return [str(name) for name in columns if not UNNAMED_INDEX.fullmatch(str(name))]


def _parquet(path: str, index: str | None, columns: list[str] | None = None) -> pd.DataFrame:
    """Some columns of a Parquet file; rows are labelled by the column `index`, or by the index it was written with."""
    parquet_module()
    with reading_parquet(path):
        frame = pd.read_parquet(path, engine="pyarrow", columns=columns)
    if index is None or frame.index.names == [index]:
        return frame
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return frame.set_index(index)
