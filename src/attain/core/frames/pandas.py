"""pandas: many dtypes for the same values, an index, and columns of Python objects."""

from __future__ import annotations

import decimal
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Number
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from attain.core.errors import DataError
from attain.core.files import parse_json
from attain.core.frames.base import Arrow, Cells, Domain, Edit, Library, codes

_OBJECT = np.dtype(object)
_NUMBER = r"(bool|u?int(8|16|32|64)|float(16|32|64|96|128))"
_DTYPE = re.compile(
    rf"{_NUMBER}|boolean|U?Int(8|16|32|64)|Float(32|64)|object|str|string(\[(python|pyarrow|pyarrow_numpy)\])?"
    rf"|Sparse\[{_NUMBER}, [\w.<>-]{{1,20}}\]|(datetime|timedelta)64\[(s|ms|us|ns)\]|period\[[\w-]{{1,10}}\]"
    r"|datetime64\[(s|ms|us|ns), (?!dateutil|tzfile)[\w+:-]{1,30}(/[\w+-]{1,30}){0,2}\]"
)
"""The dtypes that a file may name: none whose cells have a size of their own, none that opens a file."""
_STRINGS: dict[tuple[int, int], tuple[tuple[Any, ...], pd.StringDtype, Any]] = {}
_MOST_STRINGS = 4_096
"""How many tuples of levels are kept as arrays of strings."""
_MARKERS = {type(marker): marker for marker in (None, pd.NA, pd.NaT)}
"""Markers of a missing cell in a column of objects, besides NaN."""


@dataclass(frozen=True)
class Objects:
    """The dtype of a column of Python objects, with what `object` alone does not say but models notice."""

    na_value: Any = math.nan
    """The marker of a missing cell: None, NA or NaT where the column has such a cell, else NaN."""
    decimals: bool = False
    """Whether its numbers are decimals."""
    integers: bool = False
    """Whether its numbers are integers."""

    @classmethod
    def of(cls, column: pd.Series[Any]) -> Objects:
        """The marker and the numbers of a column of objects."""
        kinds = set(map(type, column))
        na_value = next((marker for kind, marker in _MARKERS.items() if kind in kinds), math.nan)
        numbers = {kind for kind in kinds - {bool} if issubclass(kind, Number)}
        if float in kinds and all(math.isnan(cell) for cell in column if isinstance(cell, float)):
            numbers = numbers - {float}
        decimals, integers = (
            bool(numbers) and all(issubclass(kind, wanted) for kind in numbers)
            for wanted in (decimal.Decimal, Integral)
        )
        return cls(na_value, decimals, integers)


@cache
def _dtype_of(native: Any) -> nw.dtypes.DType:
    """The dtype of narwhals for one that does not depend on the cells."""
    return nw.from_native(pd.Series([], dtype=native), series_only=True).dtype


class _Column:
    """A column as narwhals has it, opened only for more than its cells: that takes longer than to read a row."""

    def __init__(self, native: pd.Series[Any]) -> None:
        self._native = native

    def to_native(self) -> pd.Series[Any]:
        return self._native

    def to_list(self) -> list[Any]:
        return self._native.tolist()

    def __len__(self) -> int:
        return len(self._native)

    @property
    def dtype(self) -> nw.dtypes.DType:
        native = self._native.dtype
        plain = native.kind in "biuf" if isinstance(native, np.dtype) else isinstance(native, pd.StringDtype)
        return _dtype_of(native) if plain else nw.from_native(self._native, series_only=True).dtype

    def __getattr__(self, name: str) -> Any:
        return getattr(nw.from_native(self._native, series_only=True), name)


class Pandas(Library):
    """pandas frames."""

    name = "pandas"

    nan_is_missing = True

    def recognises(self, frame: Any) -> bool:
        return nw.dependencies.is_pandas_dataframe(frame)

    def columns(self, frame: Any) -> Sequence[Any]:
        return list(frame.columns)

    def opened(self, frame: Any) -> Mapping[str, Any]:
        return {name: _Column(column) for name, column in frame.items()}

    def labels(self, frame: Any) -> Sequence[Any]:
        return list(frame.index)

    def index(self, frame: Any) -> Any:
        return frame.index

    def dtype(self, column: nw.Series[Any]) -> Any:
        native = column.to_native()
        dtype = native.dtype
        return Objects.of(native) if isinstance(dtype, np.dtype) and dtype.kind == "O" else dtype

    def is_integer(self, dtype: Any) -> bool:
        if isinstance(dtype, np.dtype):
            return dtype.kind in "iu"
        return dtype is not None and pd.api.types.is_integer_dtype(dtype)

    def floats(self, column: nw.Series[Any]) -> np.ndarray | None:
        native = column.to_native()
        plain = isinstance(native.dtype, np.dtype) and native.dtype.kind in "iuf"
        return native.to_numpy().astype(np.float64) if plain else super().floats(column)

    def categories(self, column: nw.Series[Any]) -> tuple[list[Any], bool] | None:
        dtype = column.to_native().dtype
        return (dtype.categories.tolist(), bool(dtype.ordered)) if isinstance(dtype, pd.CategoricalDtype) else None

    def scale(self, dtype: Any) -> int | None:
        return getattr(dtype.pyarrow_dtype, "scale", None) if isinstance(dtype, pd.ArrowDtype) else None

    def step(self, dtype: Any) -> float | None:
        return super().step(dtype) if not isinstance(dtype, Objects) else 1.0 if dtype.integers else None

    def missing(self, dtype: Any) -> Any:
        return getattr(dtype, "na_value", math.nan)

    def column(self, cells: np.ndarray, domain: Domain, dtype: Any) -> Any:
        if not domain.numeric:
            return self._level_column(cells, domain, dtype)
        if dtype is None:
            dtype = np.dtype(np.int64) if domain.integral else np.dtype(np.float64)
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
            return _plain(cells, dtype)
        if not self.holds(dtype, cells):
            return cells.copy()
        if isinstance(dtype, Objects):
            made = [_scalar(cell, domain, as_decimal=dtype.decimals, as_int=domain.integral) for cell in cells]
            return _objects(made, dtype)
        if isinstance(dtype, pd.SparseDtype):
            dense = self.column(cells, domain, dtype.subtype)
            return pd.arrays.SparseArray(dense, dtype=dtype) if dense.dtype == dtype.subtype else dense
        if self.is_integer(dtype):
            missing = np.isnan(cells)
            whole = np.where(missing, 0, cells).astype(dtype.numpy_dtype)
            return pd.arrays.IntegerArray(whole, missing).astype(dtype)
        return pd.array(cells, dtype=dtype)

    def _level_column(self, cells: np.ndarray, domain: Domain, dtype: Any) -> Any:
        positions = codes(cells)
        if isinstance(dtype, pd.StringDtype):
            return _strings(domain.levels, dtype).take(positions, allow_fill=bool((positions < 0).any()))
        levels = np.array([*domain.levels, self.missing(dtype)], dtype=object)
        if isinstance(dtype, Objects):  # pandas would turn a bare array of strings into its own string dtype
            return pd.Series(levels[positions], dtype=object)
        if dtype is None:
            return pd.Series(levels[positions])
        if isinstance(dtype, pd.CategoricalDtype) and not set(domain.levels) <= set(dtype.categories):
            unknown = [level for level in domain.levels if level not in set(dtype.categories)]
            dtype = pd.CategoricalDtype([*dtype.categories, *unknown], dtype.ordered)
        if not isinstance(dtype, np.dtype):
            return pd.array(list(domain.levels), dtype=dtype).take(positions, allow_fill=True)
        if (positions >= 0).all():
            return levels[:-1].astype(dtype)[positions]
        return pd.Series(levels[positions], dtype=dtype if dtype.kind == "f" else object)

    def build(self, columns: Mapping[str, Cells], length: int) -> Any:
        made = {name: self.column(*cells) for name, cells in columns.items()}
        dtypes = {column.dtype if isinstance(column, np.ndarray) else None for column in made.values()}
        if len(dtypes) == 1 and None not in dtypes:  # one array for all of them takes a tenth of the time
            return pd.DataFrame(np.array(list(made.values())).T, columns=list(made))
        return pd.DataFrame(made, index=pd.RangeIndex(length))

    def replace(self, frame: Any, edits: Mapping[str, Edit]) -> Any:
        result = frame.copy()
        for name, (at, cells, domain) in edits.items():
            if at.size:
                result[name] = self._with_cells(frame[name], at, cells, domain)
        return result

    def _with_cells(self, column: Any, at: np.ndarray, cells: np.ndarray, domain: Domain) -> Any:
        dtype = column.dtype
        if isinstance(dtype, pd.SparseDtype):
            edited = self._with_cells(column.sparse.to_dense(), at, cells, domain)
            return edited.astype(dtype) if edited.dtype == dtype.subtype else edited
        if domain.numeric and not self.holds(dtype, cells):
            dtype = self._wider(dtype, cells)
        elif isinstance(dtype, pd.CategoricalDtype):
            used = dict.fromkeys(domain.levels[int(cell)] for cell in cells)
            new = [level for level in used if level not in dtype.categories]
            dtype = pd.CategoricalDtype([*dtype.categories, *new], dtype.ordered)
        column = column.astype(dtype)  # always a copy: pandas 2 would edit the caller's frame
        objects = column.dtype == _OBJECT
        as_decimal = Objects.of(column).decimals if objects else self.scale(column.dtype) is not None
        as_int = domain.integral if objects else self.is_integer(column.dtype)
        made = [_scalar(cell, domain, as_decimal=as_decimal, as_int=as_int) for cell in cells]
        column.iloc[at] = pd.array(made, dtype=column.dtype)
        return column

    def _wider(self, dtype: Any, cells: np.ndarray) -> str:
        """The dtype for a column that cannot hold the new cells."""
        whole = self.is_integer(dtype) and self.holds("int64", cells)
        wider = "int64" if whole else "float64"
        return wider if isinstance(dtype, np.dtype) else wider.capitalize()

    def take(self, frame: Any, positions: np.ndarray) -> Any:
        return frame.iloc[positions]

    def make(self, columns: Mapping[str, Sequence[Any] | np.ndarray], index: Sequence[Any] | None = None) -> Any:
        return pd.DataFrame(dict(columns), index=None if index is None else pd.Index(index))

    def with_leading(self, frame: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
        result = frame.reset_index(drop=True)
        for position, (name, values) in enumerate(columns.items()):
            result.insert(position, name, pd.Series(list(values), index=result.index), allow_duplicates=True)
        return result

    def dtype_text(self, dtype: Any) -> str:
        if isinstance(dtype, Objects):
            return "objects: " + json.dumps([str(dtype.na_value), dtype.decimals, dtype.integers])
        if isinstance(dtype, pd.CategoricalDtype):
            return "category: " + json.dumps([dtype.categories.tolist(), bool(dtype.ordered)], default=str)
        if isinstance(dtype, pd.ArrowDtype):  # its own name for strings means another dtype of pandas
            return "arrow: " + Arrow().dtype_text(dtype.pyarrow_dtype)
        return str(dtype)

    def dtype_named(self, text: str) -> Any:
        kind, _, arguments = text.partition(": ")
        if kind == "objects":
            marker, decimals, integers = parse_json(arguments)
            na_value = {str(known): known for known in _MARKERS.values()}.get(marker, math.nan)
            return Objects(na_value, bool(decimals), bool(integers))
        if kind == "category":
            categories, ordered = parse_json(arguments)
            return pd.CategoricalDtype(categories, ordered)
        if kind == "arrow":
            return pd.ArrowDtype(Arrow().dtype_named(arguments))
        if not _DTYPE.fullmatch(text):
            raise DataError(f"there is no pandas dtype {text[:100]!r}")
        return pd.api.types.pandas_dtype(text)

    def restored(self, columns: Mapping[str, tuple[Sequence[Any], Any]], index: Any) -> Any:
        made = {
            name: _objects(cells, dtype) if isinstance(dtype, Objects) else pd.Series(list(cells), dtype=dtype)
            for name, (cells, dtype) in columns.items()
        }
        return pd.DataFrame(made).set_axis(index, axis=0)

    def series(self, name: str, values: Sequence[Any] | np.ndarray, like: Any) -> Any:
        return pd.Series(values, index=like.index, name=name)


def _strings(levels: tuple[Any, ...], dtype: pd.StringDtype) -> Any:
    """Levels as an array of strings, made once for the tuple of levels that a schema has for all its frames."""
    key = (id(levels), id(dtype))
    kept = _STRINGS.get(key)
    if kept is None:
        if len(_STRINGS) >= _MOST_STRINGS:
            _STRINGS.clear()
        kept = _STRINGS[key] = (levels, dtype, pd.array(list(levels), dtype=dtype))
    return kept[2]


def _objects(items: Sequence[Any], dtype: Objects) -> pd.Series[Any]:
    return pd.Series([dtype.na_value if item is None else item for item in items], dtype=object)


def _plain(cells: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The cells with a dtype of NumPy's for numbers, or as floats where it cannot hold them."""
    with np.errstate(over="ignore", invalid="ignore"):
        cast = cells.astype(dtype)
    if dtype.kind == "f":
        held = ~np.isinf(cast)
    else:  # a model trained on plain integers may know NaN, but not NA
        range_ = np.iinfo(dtype)
        held = (cast == cells) & (cells >= range_.min) & (cells < float(range_.max) + 1)
    return cast if held.all() else cells.copy()


def _scalar(cell: float, domain: Domain, *, as_decimal: bool, as_int: bool) -> Any:
    """A matrix cell as the Python value that a column of that dtype takes."""
    if np.isnan(cell):
        return None
    if not domain.numeric:
        return domain.levels[int(cell)]
    if as_decimal:
        return decimal.Decimal(repr(float(cell)))
    return int(cell) if as_int else float(cell)
