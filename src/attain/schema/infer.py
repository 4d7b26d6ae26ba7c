"""A first guess at a schema, to be reviewed and edited.

The guess depends on what a column holds and, for percentages, on its name. It does not guess what may change: every
feature is free except those passed as `immutable`. Cells also show steps, numbers written
as text, and columns that predict the labels.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import narwhals as nw
import numpy as np
import pandas as pd

from attain.core.arrays import as_python, is_missing
from attain.core.errors import DataError, SchemaError, listed
from attain.core.frames import Library, open_frame
from attain.schema.feature import KINDS, Feature, Kind, Level
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
    frame: Any, immutable: Iterable[str], kinds: Mapping[str, Kind] | None, rules: Sequence[str], laws: bool
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
    features = tuple(_feature(opened[name], name, kinds.get(name), library) for name in columns)
    schema = Schema(features, tuple(rules)).change(fixed, immutable=True)
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


def _feature(series: nw.Series[Any], name: str, kind: Kind | None, library: Library) -> Feature:
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
        if isinstance(dtype, nw.Categorical | nw.Enum) or not all(map(_is_number, items)):
            return _of_levels(items, len(series), library.categories(series), name, kind)
        try:
            values = np.array(items, dtype=np.float64)
        except OverflowError:
            raise DataError(f"column {name!r} holds numbers that a float cannot represent; use a larger unit") from None
    if np.isinf(values).any():
        raise DataError(f"column {name!r} holds infinite values; correct the cells, or leave them empty")
    return _of_numbers(values, name, kind)


def _no_value(name: str) -> DataError:
    return DataError(f"column {name!r} has no values; drop it")


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float | decimal.Decimal) and not isinstance(item, bool)


def _of_levels(
    items: list[Any], rows: int, declared: tuple[list[Any], bool] | None, name: str, kind: Kind | None
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
    return Feature(name, kind or ("ordinal" if ordered else "categorical"), levels=levels)


def _ordered_levels(items: list[Any], declared: tuple[list[Any], bool] | None) -> tuple[Any, ...]:
    """The levels: in the dtype's order where it declares one, else booleans, numbers and strings, each sorted."""
    seen = dict.fromkeys(items)
    if declared is not None:
        return tuple(level for level in map(as_python, declared[0]) if level in seen)
    return tuple(sorted(seen, key=lambda item: (isinstance(item, str), not isinstance(item, bool), item)))


def _of_numbers(values: np.ndarray, name: str, kind: Kind | None) -> Feature:
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
        return Feature(name, guess, levels=levels)
    return Feature(name, **number_properties(values, name, kind), special=special)


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


COINCIDENCES: Final = 10
"""Fewer equal pairs, or fewer errors, than this may be an accident."""
_LEAK: Final = 0.1
"""A column leaks the outcome if it leaves at most this share of the errors of a guess that ignores it."""
_BINS: Final = 64
_ODD: Final = 0.005
"""The share of cells that a step may ignore."""
SEVERAL: Final = 20
"""The fewest different values from which a step other than 1 is inferred."""
_UNITS: Final = tuple(float(f"{unit}e{power}") for power in range(9, -1, -1) for unit in (5, 2.5, 2, 1))
"""Steps that people round to, the largest first."""
_UNKNOWN: Final = re.compile(
    r"(|\?+|-+|\.+|n[/.]?a\.?|nan|null|unk|missing|k\.?\s?a\.?|unknown|not (known|available|stated|given)|undisclosed"
    r"|unbekannt|keine angabe)"
)
_FRONT, _BEHIND = r"(?:[^\w.,+<>≤≥-]*|(?:eur|usd|gbp|chf) )[+-]?", r"\s?[^\w\s.,+-]*(?: [^\W\d_]+)?"
_ENGLISH: Final = re.compile(rf"{_FRONT}(\d{{1,3}}(,\d{{3}})+(\.\d+)?|\d*\.?\d+\.?){_BEHIND}")
_GERMAN: Final = re.compile(rf"{_FRONT}(\d{{1,3}}(\.\d{{3}})+|\d+),\d+{_BEHIND}")
_AMOUNT: Final = re.compile(r"[\s\d.,+-]+")
_MOSTLY: Final = 0.9
"""The share of levels that must be numbers for a column of texts to hold numbers."""


def step_of(values: np.ndarray) -> float | None:
    """The step of all but a few values: 10,000, 5, 0.01; None for numbers with more than three decimals."""
    others = values[values != 0]  # zero is a multiple of everything
    several = len(np.unique(others)) >= SEVERAL
    if not len(others) or np.mean(others == np.floor(others)) >= 1 - _ODD * several:
        whole = others[others == np.floor(others)]
        if not several or np.abs(whole).max() >= 2**53:
            return 1.0
        exact = float(np.gcd.reduce(np.unique(whole).astype(np.int64)))
        fits = (unit for unit in _UNITS if unit >= 5 and np.mean(np.fmod(others, unit) == 0) >= 1 - _ODD)
        rounded = next((unit for unit in fits if len(np.unique(others[np.fmod(others, unit) == 0])) >= SEVERAL), 1.0)
        return max(exact if exact >= 5 else 1.0, rounded)
    for decimals in (1, 2, 3) if several else ():
        if np.mean(np.round(others, decimals) == others) >= 1 - _ODD:
            return float(f"1e-{decimals}")
    return None


def share_predicted(cells: np.ndarray, labels: np.ndarray) -> float | None:
    """The share of rows whose label a column predicts by itself, if that is nearly all; None otherwise.

    The label of most rows with nearly the same cell is learned from every other row, and tested on the rest.
    """
    distinct = np.unique(cells)
    if len(distinct) > 2 * _BINS:
        distinct = np.unique(np.quantile(cells[~np.isnan(cells)], np.linspace(0, 1, _BINS + 1)))
    bins = np.searchsorted(distinct, cells, side="right")
    codes, classes = pd.factorize(labels, use_na_sentinel=False)
    table = np.zeros((len(distinct) + 2, len(classes)))
    np.add.at(table, (bins[::2], codes[::2]), 1.0)
    missed = int((table.argmax(axis=1)[bins[1::2]] != codes[1::2]).sum())
    usual = int((table.sum(axis=0).argmax() != codes[1::2]).sum())
    if usual < COINCIDENCES or missed > _LEAK * usual:
        return None
    return 1.0 - missed / len(codes[1::2])


def leaking_columns(features: Sequence[Feature], values: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The columns of a matrix (n, d) that predict the labels and nobody has decided on, with the share of rows."""
    values, labels = labelled(values, labels)
    undecided = [(f, cells) for f, cells in zip(features, values.T, strict=True) if f.searched and not f.is_reviewed]
    shares = ((feature.name, share_predicted(cells, labels)) for feature, cells in undecided)
    return {name: share for name, share in shares if share is not None}


def labelled(values: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows whose label is known, and their labels."""
    known = ~pd.isna(labels)
    return values[known], labels[known]


def unknown_levels(levels: Iterable[Level]) -> tuple[str, ...]:
    """The levels that mean that nothing is known: `?`, `n/a`, `unknown`."""
    return tuple(level for level in levels if isinstance(level, str) and _UNKNOWN.fullmatch(level.strip().lower()))


def conversion(name: str, levels: Iterable[Level]) -> str:
    """The line of pandas that makes numbers of a column of texts such as `1,021.00 €`; empty if it holds others."""
    texts = [level.strip().lower() for level in levels if isinstance(level, str)]
    texts = [text for text in texts if not _UNKNOWN.fullmatch(text)]
    column = f"frame[{name!r}]"
    if len({unit[0] for text in texts if (unit := _AMOUNT.sub("", text))}) > 1:
        return ""  # days and months, or two currencies
    for form, kept, comma in ((_ENGLISH, r"[^\d.+-]", ""), (_GERMAN, r"[^\d,+-]", '.str.replace(",", ".")')):
        if len(texts) > 1 and sum(form.fullmatch(text) is not None for text in texts) >= _MOSTLY * len(texts):
            plain = f'{column}.str.replace(r"{kept}", "", regex=True){comma}'
            return f'{column} = pandas.to_numeric({plain}, errors="coerce")'
    return ""
