"""Columns of a frame as columns of the float64 matrix, each cell checked against its feature.

See `docs/contribute/decisions.md` for what a cell of the matrix stands for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from attain.core.arrays import is_missing
from attain.core.errors import DataError, listed
from attain.core.frames import Frame, Library, open_frame
from attain.schema.feature import Feature, ordinary

_LARGEST = 1e150
"""The squares of larger numbers overflow, and with them every variance and distance."""
_LONGEST = 80
"""The number of characters of a cell that a message shows."""
_REACH = " (what is suggested is limited by reach)"


class UnreadableCell(NamedTuple):
    """A cell that its feature does not take."""

    value: object
    remedy: str

    def sentence(self, feature: Feature, label: object) -> str:
        """The column, the row, the value, and what to do."""
        found = repr(self.value)
        found = found if len(found) <= _LONGEST else f"{found[:_LONGEST]}…"
        return f"column {feature.name!r}, row {label!r}: found {found}; {self.remedy}"


Column = tuple[np.ndarray, dict[int, UnreadableCell]]
"""A column of the matrix, NaN where a cell is refused, and the refused cells by row."""


def read_columns(
    opened: nw.DataFrame[Any] | Mapping[str, nw.Series[Any]],
    features: Sequence[Feature],
    labels: Sequence[Any],
    library: Library,
) -> np.ndarray:
    """The columns of these features as a matrix (n, d), in the features' order.

    Raises a `DataError` that names the column, the row, the value and the remedy where a cell is refused.
    """
    values = np.empty((len(labels), len(features)), dtype=np.float64)
    for j, feature in enumerate(features):
        values[:, j], refused = _read_column(opened[feature.name], feature, library)
        if refused:
            first = min(refused)
            more = f" ({len(refused) - 1} more rows like it)" if len(refused) > 1 else ""
            raise DataError(refused[first].sentence(feature, labels[first]) + more)
    return values


def check_columns(name: str, columns: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuses a frame that lacks some of the columns of a schema."""
    if absent := [column for column in wanted if column not in columns]:
        raise DataError(
            f"{name} lacks columns that the schema has: {listed(absent)}; its columns are {listed(columns)}"
        )


def read_frame(frame: Frame, features: Sequence[Feature]) -> np.ndarray:
    """The columns of these features in a frame of any library as a matrix (n, d), in the features' order."""
    names = [feature.name for feature in features]
    native, library, columns = open_frame(frame, "frame", names)
    check_columns("frame", columns, names)
    return read_columns(library.read(native), features, library.labels(native), library)


class ReadRows(NamedTuple):
    """Rows of a frame that may hold cells which their features do not take.

    Attributes
    ----------
    values
        The matrix (n, d).
    refused
        By position, the rows that cannot be read, each with a sentence on its first such cell, which is NaN.
    unseen
        By column, the levels that the schema does not have. In the matrix they follow the schema's: K, K + 1, …
    """

    values: np.ndarray
    refused: dict[int, str]
    unseen: dict[str, tuple[Any, ...]]


def read_rows(
    opened: Mapping[str, nw.Series[Any]], features: Sequence[Feature], labels: Sequence[Any], library: Library
) -> ReadRows:
    """The columns of these features, with every row that cannot be read named rather than raised.

    An immutable column of levels without an order keeps unseen ones: nothing is suggested for it, and how the model
    takes them is the model's own business. Levels that only differ from known ones in spelling or type are refused.
    """
    values = np.empty((len(labels), len(features)), dtype=np.float64)
    sentences: dict[int, str] = {}
    unseen: dict[str, tuple[Any, ...]] = {}
    for j, feature in enumerate(features):
        values[:, j], refused = _read_column(opened[feature.name], feature, library)
        codes: dict[Any, int] = {}
        for i, cell in refused.items():
            if _is_new_level(feature, cell.value):
                values[i, j] = codes.setdefault(cell.value, len(feature.levels) + len(codes))
            else:
                sentences.setdefault(i, cell.sentence(feature, labels[i]))
        if codes:
            unseen[feature.name] = tuple(codes)
    return ReadRows(values, dict(sorted(sentences.items())), unseen)


def _is_new_level(feature: Feature, value: object) -> bool:
    kept = feature.immutable and feature.kind == "categorical"
    return kept and type(value) in set(map(type, feature.levels)) and not _alike(feature, value)


def _read_column(series: nw.Series[Any], feature: Feature, library: Library) -> Column:
    """One column as floats; raises a `DataError` where its dtype holds nothing that the feature takes."""
    values, refused = _numbers(series, feature, library) if feature.numeric else _codes(series, feature)
    dtype = series.dtype
    levels = isinstance(dtype, nw.Boolean | nw.Categorical | nw.Enum)
    plain = levels or dtype.is_numeric() or isinstance(dtype, nw.String | nw.Object)
    if dtype.is_temporal() or (levels and feature.numeric) or (refused and not plain and np.isnan(values).all()):
        name = str(getattr(series.to_native(), "dtype", dtype) if dtype == nw.Unknown else dtype).lower()
        wanted = "numbers" if feature.numeric else "strings or numbers"
        remedy = ", or make it kind='categorical'" if levels else ""
        raise DataError(
            f"column {feature.name!r} holds {name} values, but the schema says {feature.kind}; convert them to "
            f"{wanted} first{remedy}"
        )
    return values, refused


def _numbers(series: nw.Series[Any], feature: Feature, library: Library) -> Column:
    refused: dict[int, UnreadableCell] = {}
    values = library.floats(series)
    if values is None:
        values, refused = _numbers_one_by_one(series, feature)
    refused |= _refused_numbers(values, feature)
    values[list(refused)] = math.nan
    return values, refused


def _numbers_one_by_one(series: nw.Series[Any], feature: Feature) -> Column:
    values = np.full(len(series), math.nan)
    refused = {}
    for i, value in enumerate(series.to_list()):
        if is_missing(value):
            continue
        try:
            if isinstance(value, str | bytes | bool):
                raise TypeError
            values[i] = float(value)
        except (TypeError, ValueError, OverflowError):
            remedy = f"the schema says {feature.kind}, so it must be a number; correct the cell, or the schema's kind"
            refused[i] = UnreadableCell(value, remedy)
    return values, refused


def _refused_numbers(values: np.ndarray, feature: Feature) -> dict[int, UnreadableCell]:
    known = ordinary(feature, values)
    low, high = feature.bounds
    least, most = -_LARGEST if low is None else max(low, -_LARGEST), _LARGEST if high is None else min(high, _LARGEST)
    good = (values >= least) & (values <= most)
    if feature.kind == "count":
        good &= values == np.floor(values)
    refused: dict[int, UnreadableCell] = {}
    if (good | ~known).all():
        return refused

    def refuse(wrong: np.ndarray, remedy: str) -> None:
        for i in np.flatnonzero(wrong & known).tolist():
            refused.setdefault(i, UnreadableCell(float(values[i]), remedy))

    refuse(np.isinf(values), "infinite values are not allowed; correct the cell, or leave it empty")
    refuse(np.abs(values) > _LARGEST, f"numbers beyond {_LARGEST:g} overflow; use a larger unit")
    if low is not None:
        hint = "; if it is a code rather than a number, add it to the feature's special codes" if low == 0 else ""
        refuse(values < low, f"the schema's lower bound is {low:g}; correct the cell, or widen bounds{_REACH}{hint}")
    if high is not None:
        refuse(values > high, f"the schema's upper bound is {high:g}; correct the cell, or widen bounds{_REACH}")
    if feature.kind == "count":
        refuse(values != np.floor(values), "a count must be an integer; correct the cell, or make it kind='positive'")
    return refused


def _codes(series: nw.Series[Any], feature: Feature) -> Column:
    positions: dict[Any, float] = dict(zip(feature.levels, map(float, range(len(feature.levels))), strict=True))
    values = np.full(len(series), math.nan)
    refused = {}
    for i, value in enumerate(series.to_list()):
        try:
            code = positions.get(value)
        except TypeError:
            code = None
        if code is not None:
            values[i] = code
        elif not is_missing(value):
            refused[i] = UnreadableCell(value, _level_remedy(feature, value))
    return values, refused


def _alike(feature: Feature, value: object) -> list[Any]:
    """The levels that a value may be meant to be: all the same but for blanks, capitals and type."""
    return [level for level in feature.levels if str(level).strip().lower() == str(value).strip().lower()]


def _level_remedy(feature: Feature, value: object) -> str:
    alike = _alike(feature, value)
    if alike:
        found, wanted = type(value).__name__, type(alike[0]).__name__
        spelling = f"the schema has {alike[0]!r}" + (f" as {wanted}, not {found}" if found != wanted else "")
        return f"{spelling}; write the level as the schema does"
    return f"the levels are {listed(feature.levels)}; correct the cell, or add the level to the schema and fit again"
