"""A first guess at a schema, to be reviewed and edited.

The guess depends on what a column holds and, for percentages, on its name. It does not guess what may change: every
feature is free except those passed as `immutable`.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from attain.core.arrays import as_python, is_missing
from attain.core.errors import DataError, SchemaError, listed
from attain.core.frames import Library, open_frame
from attain.schema.contents import conversion, step_of
from attain.schema.feature import KINDS, Feature, Kind
from attain.schema.laws import KEPT, find_laws
from attain.schema.reading import read_columns
from attain.schema.schema import Schema

MAX_LEVELS = 1000
"""A column with more distinct values is an identifier or free text rather than a category."""
_FEW = 10
"""Consecutive positive integers with at most this many values are ordinal."""
_NAMES = 30
"""A column of strings that all differ, over more rows than this, identifies rows."""
_LARGE = 1000
"""Non-negative integers up to this are counts, larger ones positive numbers."""
_SHARE = 0.99
"""Fractions whose largest value is from this to 1 are shares, which no later row exceeds."""
_PERCENT = re.compile(r"percent|pct|%", re.IGNORECASE)
_DATE = re.compile(r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([ T]\d.*)?\s*$")
_SENTINELS = np.array([-7, -8, -9, -77, -88, -99, -777, -888, -999, -7777, -8888, -9999], dtype=np.float64)


def infer(
    frame: Any,
    *,
    immutable: Iterable[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    rules: Sequence[str] = (),
    laws: bool = True,
) -> Schema:
    """The schema that a frame seems to have.

    Booleans, strings and the integers 0 and 1 become categorical; a few consecutive integers ≥ 1 ordinal; integers ≥ 0
    counts, or positive if they are large; fractions from 0 up to 1, and columns named percent, intervals; codes such as
    −9 among numbers ≥ 0 special. `kinds` overrides the guess for single columns. `laws` looks for laws of the frame
    (`attain.laws`), which the schema then holds.
    """
    native, library, columns = open_frame(frame, "frame")
    fixed = {immutable} if isinstance(immutable, str) else set(immutable)
    kinds = kinds or {}
    _check_names(columns, fixed, kinds)
    opened = library.read(native)
    features = tuple(_feature(opened[name], name, kinds.get(name), name in fixed, library) for name in columns)
    schema = Schema(features, tuple(rules))
    if not laws:
        return schema
    values = read_columns(opened, schema.features, library.labels(native), library)
    return schema.with_laws(find_laws(schema.features, values, exceptions=KEPT))


def _check_names(columns: Sequence[str], immutable: Iterable[str], kinds: Mapping[str, str]) -> None:
    if not columns:
        raise DataError("the frame has no columns")
    for parameter, names in (("immutable", immutable), ("kinds", kinds)):
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise SchemaError(
                f"{parameter} names {listed(unknown)}, which the frame does not have; it has {listed(columns)}"
            )
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise SchemaError(f"kinds[{name!r}] must be one of {', '.join(KINDS)}, got {kind!r}")


def _feature(series: nw.Series[Any], name: str, kind: Kind | None, immutable: bool, library: Library) -> Feature:
    dtype = series.dtype
    if dtype.is_temporal():
        raise DataError(
            f"column {name!r} holds {str(dtype).lower()} values; convert them to numbers first, such as days or years "
            "until today, or drop the column"
        )
    present = series.drop_nulls()
    if dtype.is_float():
        present = present.filter(~present.is_nan())
    if len(present) == 0:
        raise _no_value(name)
    values = library.floats(present)
    if values is None:
        items = [as_python(item) for item in present.to_list() if not is_missing(item)]
        if not items:
            raise _no_value(name)
        categories = isinstance(dtype, nw.Categorical | nw.Enum)
        try:
            numbers = None if categories else _as_numbers(items)
        except OverflowError:
            raise DataError(f"column {name!r} holds numbers that a float cannot represent; use a larger unit") from None
        if numbers is None:
            return _of_levels(items, len(series), library.categories(series), name, kind, immutable)
        values = numbers
    if np.isinf(values).any():
        raise DataError(f"column {name!r} holds infinite values; correct the cells, or leave them empty")
    return _of_numbers(values, name, kind, immutable)


def _no_value(name: str) -> DataError:
    return DataError(f"column {name!r} has no values; drop it")


def _as_numbers(items: list[Any]) -> np.ndarray | None:
    """The items as floats if each is a number, whatever the column's dtype."""
    if all(isinstance(item, int | float | decimal.Decimal) and not isinstance(item, bool) for item in items):
        return np.array(items, dtype=np.float64)
    return None


def _of_levels(
    items: list[Any],
    rows: int,
    declared: tuple[list[Any], bool] | None,
    name: str,
    kind: Kind | None,
    immutable: bool,
) -> Feature:
    """A feature whose levels are the items; `declared` are the dtype's own categories and whether they are ordered."""
    odd = next((item for item in items if not isinstance(item, str | bool | int | float)), None)
    if odd is not None:
        found = f"{odd!r:.80}, a {type(odd).__name__}"
        raise DataError(f"column {name!r} holds {found}; a cell must be a number, a string or a boolean")
    if kind is not None and kind not in ("ordinal", "categorical"):
        raise DataError(f"kinds[{name!r}] is {kind!r}, but the column holds {items[0]!r}; convert it to numbers first")
    levels = _ordered_levels(items, declared)
    names_rows = len(levels) == len(items) == rows > _NAMES and kind is None
    if (len(levels) > MAX_LEVELS or names_rows) and (line := conversion(name, levels)):
        raise DataError(
            f"column {name!r} holds numbers written as text, such as {levels[0]!r}; convert them first: {line}"
        )
    if len(levels) > MAX_LEVELS:
        raise DataError(
            f"column {name!r} has {len(levels):,} distinct values (at most {MAX_LEVELS:,} for a category), so it looks "
            "like an identifier or free text; drop it, or group its values"
        )
    if all(isinstance(level, str) and _DATE.match(level) for level in levels):
        raise DataError(
            f"column {name!r} holds dates written as strings, such as {levels[0]!r}; convert them to numbers first, "
            "such as days or years until today, or drop the column"
        )
    if names_rows:
        raise DataError(
            f"column {name!r} has a different string in every row, such as {levels[0]!r}, so it looks like an "
            "identifier; drop it, or make it the index"
        )
    ordered = declared is not None and declared[1]
    return Feature(name, kind or ("ordinal" if ordered else "categorical"), levels=levels, immutable=immutable)


def _ordered_levels(items: list[Any], declared: tuple[list[Any], bool] | None) -> tuple[Any, ...]:
    """The levels: in the dtype's order where it declares one, else booleans, numbers and strings, each sorted."""
    seen = dict.fromkeys(items)
    if declared is not None:
        return tuple(level for level in map(as_python, declared[0]) if level in seen)
    return tuple(sorted(seen, key=lambda item: (isinstance(item, str), not isinstance(item, bool), item)))


def _of_numbers(values: np.ndarray, name: str, kind: Kind | None, immutable: bool) -> Feature:
    special: dict[float, str] = {}
    codes = np.intersect1d(values, _SENTINELS)
    ordinary = values[~np.isin(values, codes)]
    if codes.size and ordinary.size and ordinary.min() >= 0:
        special, values = {float(code): "" for code in codes}, ordinary
    guess = kind or _number_kind(np.unique(values), name)
    if guess in ("ordinal", "categorical") and not special:
        distinct = np.unique(values)
        if len(distinct) > MAX_LEVELS:
            raise DataError(f"kinds[{name!r}] is {guess!r}, but the column has {len(distinct):,} distinct numbers")
        levels = tuple(int(v) if float(v).is_integer() else float(v) for v in distinct)
        return Feature(name, guess, levels=levels, immutable=immutable)
    return Feature(name, **number_properties(values, name, kind), special=special, immutable=immutable)


def number_properties(values: np.ndarray, name: str, kind: Kind | None = None) -> dict[str, Any]:
    """Kind, bounds and step of a column of numbers with these values, which have no levels."""
    distinct = np.unique(values)
    guess = kind or _number_kind(distinct, name)
    if guess in ("ordinal", "categorical"):
        guess = "count" if _whole(distinct) else "positive"
    bounds: tuple[float | None, float | None] = (None, None)
    if guess == "interval":
        bounds = (0.0, 1.0 if distinct[-1] <= 1 and not (_PERCENT.search(name) and _whole(distinct)) else 100.0)
        if distinct[0] < 0 or distinct[-1] > 100:
            bounds = (float(distinct[0]), float(distinct[-1]))
    return {"kind": guess, "bounds": bounds, "step": step_of(values)}


def _whole(distinct: np.ndarray) -> bool:
    return bool((distinct == np.floor(distinct)).all())


def _number_kind(distinct: np.ndarray, name: str) -> Kind:
    low, high = float(distinct[0]), float(distinct[-1])
    if _whole(distinct):
        if set(distinct) <= {0.0, 1.0}:
            return "categorical"
        if low < 0:
            return "real"
        if high <= 100 and _PERCENT.search(name):
            return "interval"
        if low >= 1 and len(distinct) <= _FEW and high - low + 1 == len(distinct):
            return "ordinal"
        return "count" if high < _LARGE else "positive"
    if low >= 0 and (_SHARE <= high <= 1 or (high <= 100 and _PERCENT.search(name))):
        return "interval"
    return "positive" if low >= 0 else "real"
