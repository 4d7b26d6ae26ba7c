"""A first guess at a schema, to be looked at by a person.

The guess goes by what a column holds and, for percentages, by its name. It never guesses what may change: everything
is free but for the names passed as `immutable`.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from attain.core.errors import DataError, SchemaError, listed
from attain.core.frames import frame_of_array, is_missing, library_of, library_of_column, not_a_frame
from attain.schema.schema import KINDS, Feature, Kind, Schema

MAX_LEVELS = 1000
"""More levels than this are no category but an identifier or a free text."""
_FEW = 10
_NAMES = 30
"""A column of texts that all differ, over more rows than this, names people."""
_MANY = 20
_LARGE = 1000
_PERCENT = re.compile(r"percent|pct|%", re.IGNORECASE)
_DATE = re.compile(r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([ T]\d.*)?\s*$")
_SENTINELS = np.array([-7, -8, -9, -77, -88, -99, -777, -888, -999, -7777, -8888, -9999], dtype=np.float64)


def infer(
    frame: Any,
    *,
    immutable: Iterable[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    rules: Sequence[str] = (),
) -> Schema:
    """The schema a frame seems to have.

    Booleans, texts and the whole numbers 0 and 1 are taken as categorical; few whole numbers from 1 upward as ordinal;
    whole numbers from 0 upward as counts, large ones as positive; fractions from 0 to 1, and columns called percent, as
    intervals; codes such as −9 among numbers from 0 upward as special. `kinds` overrides the guess, column by column.
    """
    if isinstance(frame, np.ndarray):
        frame = frame_of_array(frame, None, "the frame")
    library = library_of(frame)
    if library is None:
        raise not_a_frame(frame)
    columns = library.columns(frame)
    _check_names(columns, immutable, kinds or {})
    opened = nw.from_native(frame, eager_only=True)
    fixed = {immutable} if isinstance(immutable, str) else set(immutable)
    features = [_feature(opened[name], name, (kinds or {}).get(name), name in fixed) for name in columns]
    return Schema(tuple(features), tuple(rules))


def _check_names(columns: Sequence[Any], immutable: Iterable[str], kinds: Mapping[str, str]) -> None:
    if not columns:
        raise DataError("the frame has no columns")
    odd = [name for name in columns if not isinstance(name, str)]
    if odd:
        raise DataError(f"the frame has column names that are no texts: {listed(odd)}; rename them")
    twice = [name for name in dict.fromkeys(columns) if list(columns).count(name) > 1]
    if twice:
        raise DataError(f"the frame has several columns with the same name: {listed(twice)}; keep one of each")
    for word, names in (
        ("immutable", [immutable] if isinstance(immutable, str) else list(immutable)),
        ("kinds", kinds),
    ):
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise SchemaError(
                f"{word} names {listed(unknown)}, which the frame does not have; it has {listed(columns)}"
            )
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise SchemaError(f"kinds[{name!r}] is {kind!r}; it takes one of {', '.join(KINDS)}")


def _feature(series: nw.Series[Any], name: str, kind: Kind | None, immutable: bool) -> Feature:
    dtype = series.dtype
    if dtype.is_temporal():
        raise DataError(
            f"column {name!r} holds {str(dtype).lower()} values; turn them into numbers first, such as days or years "
            "until today, or leave the column out"
        )
    present = series.drop_nulls()
    if dtype.is_float():
        present = present.filter(~present.is_nan())
    if len(present) == 0:
        raise _no_value(name)
    if dtype.is_numeric():
        values = library_of_column(present).floats(present)
    else:
        items = [_plain(item) for item in present.to_list() if not is_missing(item)]
        if not items:
            raise _no_value(name)
        categories = isinstance(dtype, nw.Categorical | nw.Enum)
        try:
            numbers = None if categories else _as_numbers(items)
        except OverflowError:
            raise DataError(f"column {name!r} holds numbers too large to compute with; divide them first") from None
        if numbers is None:
            return _of_levels(items, series, name, kind, immutable)
        values = numbers
    if np.isinf(values).any():
        raise DataError(f"column {name!r} holds infinite values; correct them, or leave the cells empty")
    return _of_numbers(values, name, kind, immutable)


def _no_value(name: str) -> DataError:
    return DataError(f"column {name!r} has no value at all, so nothing can be said of it; leave it out")


def _plain(item: Any) -> Any:
    """A Python scalar for one of numpy's."""
    return item.item() if isinstance(item, np.generic) else item


def _as_numbers(items: list[Any]) -> np.ndarray | None:
    """The items as floats where each is a number, though the column's dtype does not say so."""
    if all(isinstance(item, int | float | decimal.Decimal) and not isinstance(item, bool) for item in items):
        return np.array(items, dtype=np.float64)
    return None


def _of_levels(items: list[Any], series: nw.Series[Any], name: str, kind: Kind | None, immutable: bool) -> Feature:
    odd = next((item for item in items if not isinstance(item, str | bool | int | float)), None)
    if odd is not None:
        found = f"{odd!r:.80}, a {type(odd).__name__}"
        raise DataError(f"column {name!r} holds {found}; a cell takes a number, a text or a boolean")
    if kind is not None and kind not in ("ordinal", "categorical"):
        raise DataError(f"kinds[{name!r}] is {kind!r}, but the column holds {items[0]!r}; turn it into numbers first")
    levels = _ordered_levels(items, series)
    if len(levels) > MAX_LEVELS:
        raise DataError(
            f"column {name!r} has {len(levels):,} different values; that is an identifier or a free text, not a "
            f"category (at most {MAX_LEVELS:,}); leave it out, or group its values"
        )
    if all(isinstance(level, str) and _DATE.match(level) for level in levels):
        raise DataError(
            f"column {name!r} holds dates written as text, such as {levels[0]!r}; turn them into numbers first, such "
            "as days or years until today, or leave the column out"
        )
    if len(levels) == len(items) == len(series) > _NAMES and kind is None:
        raise DataError(
            f"column {name!r} has another text in every row, such as {levels[0]!r}; that is a name and no property of "
            "a person: leave it out, or make it the index"
        )
    ordered = kind or ("ordinal" if _is_ordered(series) else "categorical")
    return Feature(name, ordered, levels=levels, immutable=immutable)


def _ordered_levels(items: list[Any], series: nw.Series[Any]) -> tuple[Any, ...]:
    """The levels: in the column's own order where it has one, else booleans, numbers and texts, each sorted."""
    seen = dict.fromkeys(items)
    declared = library_of_column(series).categories(series.to_native())
    if declared is not None:
        return tuple(level for level in map(_plain, declared) if level in seen)
    groups: list[Callable[[Any], bool]] = [
        lambda item: isinstance(item, bool),
        lambda item: isinstance(item, int | float) and not isinstance(item, bool),
        lambda item: isinstance(item, str),
    ]
    return tuple(level for group in groups for level in sorted(filter(group, seen)))


def _is_ordered(series: nw.Series[Any]) -> bool:
    native = series.to_native()
    dtype = getattr(native, "dtype", None) or getattr(native, "type", None)
    return bool(getattr(dtype, "ordered", False))


def _of_numbers(values: np.ndarray, name: str, kind: Kind | None, immutable: bool) -> Feature:
    special: dict[float, str] = {}
    codes = np.intersect1d(values, _SENTINELS)
    ordinary = values[~np.isin(values, codes)]
    if codes.size and ordinary.size and ordinary.min() >= 0:
        special, values = {float(code): "" for code in codes}, ordinary
    distinct = np.unique(values)
    guess = kind or _number_kind(distinct, name)
    if special and guess in ("ordinal", "categorical"):
        guess = "count" if (distinct == np.floor(distinct)).all() else "positive"
    if guess in ("ordinal", "categorical"):
        if len(distinct) > MAX_LEVELS:
            raise DataError(f"kinds[{name!r}] is {guess!r}, but the column has {len(distinct):,} different numbers")
        levels = tuple(int(v) if float(v).is_integer() else float(v) for v in distinct)
        return Feature(name, guess, levels=levels, immutable=immutable)
    bounds: tuple[float | None, float | None] = (None, None)
    if guess == "interval":
        bounds = (0.0, 1.0 if distinct[-1] <= 1 and not (_PERCENT.search(name) and _whole(distinct)) else 100.0)
        if distinct[0] < 0 or distinct[-1] > 100:
            bounds = (float(distinct[0]), float(distinct[-1]))
    return Feature(name, guess, bounds=bounds, step=_step(distinct), special=special, immutable=immutable)


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
    if low >= 0 and (high <= 1 or (high <= 100 and _PERCENT.search(name))):
        return "interval"
    return "positive" if low >= 0 else "real"


def _step(distinct: np.ndarray) -> float | None:
    """The grid of the values: 1 for whole numbers, more where many all share a factor, decimals where all have few."""
    if _whole(distinct):
        factor = math.gcd(*(int(abs(value)) for value in distinct[:100_000])) if np.abs(distinct).max() < 2**53 else 1
        return float(factor) if factor >= 5 and len(distinct) >= _MANY else 1.0
    if len(distinct) >= _MANY:
        for decimals in (1, 2, 3):
            if (np.round(distinct, decimals) == distinct).all():
                return float(f"1e-{decimals}")
    return None
