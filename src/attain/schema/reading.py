"""Columns of a frame as columns of the float64 matrix, each cell checked against its feature.

See `docs/architecture.md` for what a cell of the matrix stands for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from attain.core.errors import DataError, listed
from attain.core.frames import Library, is_missing
from attain.schema.feature import Feature

_LARGEST = 1e150
"""The squares of larger numbers overflow, and with them every variance and distance."""
_LONGEST = 80
"""The number of characters of a cell that a message shows."""
_REACH = " (what is suggested is limited by reach)"


def read_columns(
    opened: nw.DataFrame[Any], features: Sequence[Feature], labels: Sequence[Any], library: Library
) -> np.ndarray:
    """The columns of these features as a matrix (n, d), in the features' order."""
    values = np.empty((len(labels), len(features)), dtype=np.float64)
    for j, feature in enumerate(features):
        values[:, j] = read_column(opened[feature.name], feature, labels, library)
    return values


def read_column(series: nw.Series[Any], feature: Feature, labels: Sequence[Any], library: Library) -> np.ndarray:
    """One column as floats, or a `DataError` that names the column, the row, the value and the remedy."""
    return _numbers(series, feature, labels, library) if feature.numeric else _codes(series, feature, labels)


def _complain(feature: Feature, labels: Sequence[Any], at: int, value: object, remedy: str) -> DataError:
    found = repr(value)
    found = found if len(found) <= _LONGEST else f"{found[:_LONGEST]}…"
    return DataError(f"column {feature.name!r}, row {labels[at]!r}: found {found}; {remedy}")


def _numbers(series: nw.Series[Any], feature: Feature, labels: Sequence[Any], library: Library) -> np.ndarray:
    dtype = series.dtype
    if dtype.is_temporal():
        raise DataError(
            f"column {feature.name!r} holds {str(dtype).lower()} values; convert them to numbers first, such as days "
            "or years until today"
        )
    if dtype == nw.Boolean:
        raise DataError(
            f"column {feature.name!r} holds booleans, but the schema says {feature.kind}; make it "
            "kind='categorical' with levels (False, True), or convert the column to numbers"
        )
    if isinstance(dtype, nw.Categorical | nw.Enum):
        raise DataError(
            f"column {feature.name!r} has a categorical dtype, but the schema says {feature.kind}; make it "
            "kind='ordinal' or 'categorical', or convert the column to numbers"
        )
    values = library.floats(series) if dtype.is_numeric() else _numbers_one_by_one(series, feature, labels)
    _check_numbers(values, feature, labels)
    return values


def _numbers_one_by_one(series: nw.Series[Any], feature: Feature, labels: Sequence[Any]) -> np.ndarray:
    values = np.full(len(series), math.nan)
    for i, value in enumerate(series.to_list()):
        if is_missing(value):
            continue
        try:
            if isinstance(value, str | bytes | bool):
                raise TypeError
            values[i] = float(value)
        except (TypeError, ValueError, OverflowError):
            remedy = f"the schema says {feature.kind}, so it must be a number; correct the cell, or the schema's kind"
            raise _complain(feature, labels, i, value, remedy) from None
    return values


def _check_numbers(values: np.ndarray, feature: Feature, labels: Sequence[Any]) -> None:
    ordinary = ~np.isnan(values)
    if feature.special:
        ordinary &= ~np.isin(values, list(feature.special))
    low, high = feature.bounds

    def refuse(wrong: np.ndarray, remedy: str) -> None:
        at = np.flatnonzero(wrong & ordinary)
        if at.size:
            more = f" ({at.size - 1} more rows like it)" if at.size > 1 else ""
            raise _complain(feature, labels, int(at[0]), float(values[at[0]]), remedy + more)

    refuse(np.isinf(values), "infinite values are not allowed; correct the cell, or leave it empty")
    refuse(np.abs(values) > _LARGEST, f"numbers beyond {_LARGEST:g} overflow; use a larger unit")
    if low is not None:
        hint = "; if it is a code rather than a number, add it to the feature's special codes" if low == 0 else ""
        refuse(values < low, f"the schema's lower bound is {low:g}; correct the cell, or widen bounds{_REACH}{hint}")
    if high is not None:
        refuse(values > high, f"the schema's upper bound is {high:g}; correct the cell, or widen bounds{_REACH}")
    if feature.kind == "count":
        refuse(values != np.floor(values), "a count must be an integer; correct the cell, or make it kind='positive'")


def _codes(series: nw.Series[Any], feature: Feature, labels: Sequence[Any]) -> np.ndarray:
    if series.dtype.is_temporal():
        raise DataError(
            f"column {feature.name!r} holds {str(series.dtype).lower()} values, but the schema says {feature.kind}; "
            "convert them to strings or numbers first"
        )
    positions: dict[Any, float] = {level: float(k) for k, level in enumerate(feature.levels)}
    values = np.empty(len(series), dtype=np.float64)
    for i, value in enumerate(series.to_list()):
        try:
            code = positions.get(value)
        except TypeError:
            code = None
        if code is None:
            if not is_missing(value):
                raise _complain(feature, labels, i, value, _level_remedy(feature, value))
            code = math.nan
        values[i] = code
    return values


def _level_remedy(feature: Feature, value: object) -> str:
    alike = [level for level in feature.levels if str(level).strip().lower() == str(value).strip().lower()]
    if alike:
        found, wanted = type(value).__name__, type(alike[0]).__name__
        spelling = f"the schema has {alike[0]!r}" + (f" as {wanted}, not {found}" if found != wanted else "")
        return f"{spelling}; write the level as the schema does"
    return f"the levels are {listed(feature.levels)}; correct the cell, or add the level to the schema and fit again"
