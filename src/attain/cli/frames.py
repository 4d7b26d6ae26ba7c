"""Tables in files: CSV and Parquet, by the file's ending."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from attain.core.errors import DataError, FileError, MissingExtraError, listed
from attain.core.files import check_writable, write_atomically
from attain.schema import Feature, Schema

_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
_PARQUET: Final = (".parquet", ".pq")
MISSING: Final = frozenset(
    [
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
        *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)
"""What other programs write into an empty cell. In a column of levels, one that is a level is no empty cell."""
_WHOLE, _TRUTH = re.compile(r"-?(0|[1-9]\d*)"), {"true": True, "false": False}
_EXACT: Final[dict[str, Any]] = (
    {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}
)
"""Newer pandas reads every float as it was written, and warns of the argument that asked older ones for it."""
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class People:
    """A table read with a schema: its frame, its labels where a column holds them, and columns that were left out."""

    frame: pd.DataFrame
    labels: pd.Series[Any] | None
    left_out: list[str]


def check_ending(path: str, also: Sequence[str] = ()) -> None:
    """Refuses a file whose ending names no format, and one that cannot be written, before any work is done."""
    known = [*_SEPARATORS, *_PARQUET, *also]
    if _ending(path) not in known:
        raise FileError(f"the ending of {path!r} names no format that can be written; it takes {', '.join(known)}")
    check_writable(path)
    if _ending(path) in _PARQUET:
        _need_arrow()


def read_people(
    path: str,
    schema: Schema,
    *,
    index: str | None = None,
    label: str | None = None,
    separator: str | None = None,
    categories: bool = False,
) -> People:
    """The schema's columns of a file, each with the dtype its values ask for; other columns are left out.

    With `categories`, columns of levels have the categorical type that XGBoost and LightGBM ask for.
    """
    if label is not None and label in schema:
        raise DataError(f"--label names {label!r}, which the schema has as a feature; take it out of one of the two")
    if index is not None and index in schema:
        raise DataError(f"--index names {index!r}, which the schema has as a feature; take it out of one of the two")
    columns = columns_of(path, separator)
    for flag, name in (("--index", index), ("--label", label)):
        if name is not None and name not in columns:
            raise FileError(f"{flag} names {name!r}, which {path!r} does not have; it has {listed(columns, 40)}")
    absent = [name for name in schema.names if name not in columns]
    if absent:
        raise DataError(
            f"{path!r} lacks columns that the schema has: {listed(absent)}; its columns are {listed(columns, 40)}"
        )
    index = "" if index is None and columns[0] == "" else index
    chosen = [name for name in columns if name in schema]
    if _ending(path) in _PARQUET:
        whole = _parquet(path, index)
        frame, labels = whole[chosen], None if label is None else whole[label]
    else:
        texts = [name for name in (index, label) if name is not None]
        whole = _csv(path, separator, [*chosen, *texts], {name: schema[name] for name in chosen}, texts)
        frame, labels = whole[chosen], None if label is None else _typed(whole[label])
        if index is not None:
            frame.index = pd.Index(_typed(whole[index]), name=index or None)
    for name in chosen:
        if categories and not schema[name].numeric:
            frame = frame.assign(**{name: _category(frame[name], schema[name])})
    left_out = [name for name in columns if name not in (*chosen, *frame.index.names, index, label)]
    return People(frame, labels, left_out)


def read_any(path: str, *, index: str | None = None, separator: str | None = None) -> tuple[pd.DataFrame, list[str]]:
    """A whole file without a schema, and sentences about what could be read in two ways.

    In a column of texts only an empty cell is missing: `NA` or `None` may be a level, and a schema can say that it is
    not. In a column of numbers they are missing.
    """
    columns = columns_of(path, separator)
    index = "" if index is None and columns[0] == "" else index
    if index is not None and index not in columns:
        raise FileError(f"--index names {index!r}, which {path!r} does not have; it has {listed(columns, 40)}")
    if _ending(path) in _PARQUET:
        return _parquet(path, index), []
    chosen = [name for name in columns if name != index]
    frame = _csv(path, separator, chosen, {}, [])
    texts = [name for name in chosen if not _is_plain(frame[name])]
    remarks = []
    if texts:
        raw = _csv(path, separator, texts, {}, texts)
        frame = frame.assign(**{name: raw[name] for name in texts})
        for name in texts:
            words = sorted(MISSING & set(raw[name].dropna()))
            if words:
                remarks.append(
                    f"column {name!r}: {listed(words)} is taken as a level; if it means that the cell is empty, take "
                    "it out of the levels in the schema"
                )
    return frame, remarks


def columns_of(path: str, separator: str | None = None) -> list[str]:
    """The names of a file's columns, after checking that it is such a file."""
    ending = _ending(path)
    if ending not in (*_SEPARATORS, *_PARQUET):
        raise FileError(
            f"the ending of {path!r} names no format that can be read; it takes {', '.join((*_SEPARATORS, *_PARQUET))}"
        )
    if not Path(path).is_file():
        raise FileError(f"there is no file {path!r}")
    return _parquet_columns(path) if ending in _PARQUET else _csv_columns(path, _separator(path, separator))


def written(path: str, frame: pd.DataFrame, separator: str | None = None) -> None:
    """Writes a frame without its index, in the format of the ending."""
    buffer = io.BytesIO()
    if _ending(path) in _PARQUET:
        _need_arrow()
        # a column of Parquet has one type, and Table 1 has numbers beside texts
        mixed = [name for name in frame.columns if frame[name].dtype == object and not _is_plain(frame[name])]
        frame = frame.assign(**{str(name): frame[name].map(str, na_action="ignore").astype("str") for name in mixed})
        frame.to_parquet(buffer, engine="pyarrow", index=False)
    else:
        frame.to_csv(buffer, sep=_separator(path, separator), index=False, lineterminator="\n", encoding="utf-8")
    write_atomically(path, buffer.getvalue())


def _ending(path: str) -> str:
    return Path(path).suffix.lower()


def _separator(path: str, given: str | None) -> str:
    if given is None:
        return _SEPARATORS[_ending(path)]
    separator = given.replace("\\t", "\t")
    if len(separator) != 1:
        raise FileError(f"--separator is {given!r}; it takes one character")
    return separator


def _csv_columns(path: str, separator: str) -> list[str]:
    """The header, after one pass that finds what pandas would mend in silence: rows too short or long, names twice."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file, delimiter=separator, strict=True)
            header = next(rows, [])
            if not header:
                raise FileError(f"{path!r} is empty; its first line takes the names of the columns")
            for row in rows:
                if row and len(row) != len(header):
                    raise FileError(
                        f"{path!r}, line {rows.line_num}: it has {len(row)} cells, but the header has {len(header)}; "
                        "correct the line, or name another --separator"
                    )
    except UnicodeDecodeError as error:
        raise FileError(f"{path!r} is no UTF-8 text (byte {error.start}); save it as CSV in UTF-8") from None
    except csv.Error as error:
        raise FileError(f"{path!r} cannot be read as CSV: {error}") from None
    except OSError as error:
        raise FileError(f"{path!r} could not be read: {error.strerror or error}") from None
    for other in (";", "\t", "|", ","):
        if len(header) == 1 and other in header[0] and other != separator:
            shown = "\\t" if other == "\t" else other
            raise FileError(
                f"{path!r} has only one column, {header[0][:60]!r}; its cells seem to be separated by {shown!r}: pass "
                f"--separator '{shown}'"
            )
    twice = [name for name in dict.fromkeys(header) if header.count(name) > 1]
    if twice:
        raise FileError(f"{path!r} has several columns with the same name: {listed(twice)}; keep one of each")
    return header


def _csv(
    path: str, separator: str | None, columns: Sequence[str], features: Mapping[str, Feature], texts: Sequence[str]
) -> pd.DataFrame:
    """Columns of a CSV file; `texts` are read as they stand, others with what is known of them."""
    empty = {name: [""] if name in texts else _empty_cells(features.get(name)) for name in columns}
    as_text = [name for name in columns if name in texts or _has_text_levels(features.get(name))]
    header = _csv_header(path, separator)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=_separator(path, separator),
                header=0,
                names=header,
                usecols=[header.index(name) for name in columns],
                dtype=dict.fromkeys(as_text, str),
                na_values=empty,
                keep_default_na=False,
                **_EXACT,
                index_col=False,
                encoding="utf-8-sig",
                low_memory=False,
            )
    except (ValueError, pd.errors.ParserWarning, OSError) as error:
        raise FileError(f"{path!r} cannot be read as CSV: {' '.join(str(error).split())}") from None
    for name, feature in features.items():
        levels = {str(level): level for level in feature.levels if not isinstance(level, str)}
        if levels and _has_text_levels(feature):
            frame[name] = frame[name].astype(object).map(lambda cell, known=levels: known.get(cell, cell))
    return frame


def _csv_header(path: str, separator: str | None) -> list[str]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        return next(csv.reader(file, delimiter=_separator(path, separator)))


def _empty_cells(feature: Feature | None) -> list[str]:
    levels = {str(level) for level in feature.levels} if feature is not None else set()
    return sorted(MISSING - levels)


def _has_text_levels(feature: Feature | None) -> bool:
    return feature is not None and any(isinstance(level, str) for level in feature.levels)


def _is_plain(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers or booleans."""
    return pd.api.types.is_numeric_dtype(column.dtype) or all(isinstance(cell, bool) for cell in column.dropna())


def _typed(texts: pd.Series[Any]) -> pd.Series[Any]:
    """Names and labels, read as texts, as whole numbers or booleans where every one is; `007` stays a text."""
    present = texts.dropna()
    if len(present) and all(_WHOLE.fullmatch(text) for text in present):
        return texts.map(int, na_action="ignore").astype("int64" if len(present) == len(texts) else "Int64")
    if len(present) and all(text.lower() in _TRUTH for text in present):
        return texts.map(lambda text: _TRUTH[text.lower()], na_action="ignore")
    return texts


def _category(column: pd.Series[Any], feature: Feature) -> pd.Series[Any]:
    seen = [value for value in column.dropna().unique().tolist() if value not in feature.levels]
    return column.astype(pd.CategoricalDtype([*feature.levels, *seen], ordered=feature.kind == "ordinal"))


def _need_arrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet files need pyarrow: pip install 'attain[arrow]', or use CSV") from None
    return pyarrow.parquet


def _parquet_columns(path: str) -> list[str]:
    reader = _need_arrow()
    try:
        columns = reader.read_schema(path).names
    except (ValueError, OSError) as error:
        raise FileError(f"{path!r} cannot be read as Parquet: {' '.join(str(error).split())}") from None
    twice = [name for name in dict.fromkeys(columns) if columns.count(name) > 1]
    if twice or not columns:
        raise FileError(f"{path!r} has no columns, or several with the same name: {listed(twice)}")
    return [str(name) for name in columns if not _UNNAMED_INDEX.fullmatch(str(name))]


def _parquet(path: str, index: str | None) -> pd.DataFrame:
    """A Parquet file; people are named by the column `index`, or else by the index that it was written with."""
    _need_arrow()
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (ValueError, OSError) as error:
        raise FileError(f"{path!r} cannot be read as Parquet: {' '.join(str(error).split())}") from None
    if index is None or frame.index.names == [index]:
        return frame
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return frame.set_index(index)
