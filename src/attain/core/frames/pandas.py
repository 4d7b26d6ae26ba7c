"""pandas: many dtypes for the same values, an index, and columns of plain Python objects."""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from attain.core.frames.arrow import Arrow
from attain.core.frames.base import Cells, Edit, Library, codes, scalar
from attain.schema import Feature

_OBJECT = np.dtype(object)
_MARKERS = {type(marker): marker for marker in (None, pd.NA, pd.NaT)}
"""What may stand for a missing cell in a column of objects, besides NaN."""


@dataclass(frozen=True)
class Objects:
    """The dtype of a column of Python objects, with what the dtype alone does not say: models see the difference."""

    na_value: Any = math.nan
    """What stands for a missing cell: None, NA or NaT where the column has such a cell, else NaN."""
    decimals: bool = False
    """Whether its numbers are decimals."""

    @classmethod
    def of(cls, column: pd.Series[Any]) -> Objects:
        """What a column of objects holds."""
        kinds = set(map(type, column))
        na_value = next((marker for kind, marker in _MARKERS.items() if kind in kinds), math.nan)
        decimals = decimal.Decimal in kinds and kinds <= {decimal.Decimal, float, *_MARKERS}
        if decimals and float in kinds:
            decimals = all(math.isnan(cell) for cell in column if isinstance(cell, float))
        return cls(na_value, decimals)


class Pandas(Library):
    """pandas frames."""

    name = "pandas"

    def columns(self, frame: Any) -> Sequence[Any]:
        return list(frame.columns)

    def labels(self, frame: Any) -> Sequence[Any]:
        return list(frame.index)

    def length(self, frame: Any) -> int:
        return len(frame)

    def dtype(self, frame: Any, column: str) -> Any:
        dtype = frame[column].dtype
        return Objects.of(frame[column]) if dtype == _OBJECT else dtype

    def is_integer(self, dtype: Any) -> bool:
        return dtype is not None and pd.api.types.is_integer_dtype(dtype)

    def categories(self, column: Any) -> list[Any] | None:
        return column.dtype.categories.tolist() if isinstance(column.dtype, pd.CategoricalDtype) else None

    def scale(self, dtype: Any) -> int | None:
        return getattr(dtype.pyarrow_dtype, "scale", None) if isinstance(dtype, pd.ArrowDtype) else None

    def missing(self, dtype: Any) -> Any:
        return getattr(dtype, "na_value", math.nan)

    def column(self, cells: np.ndarray, feature: Feature, dtype: Any) -> Any:
        if not feature.numeric:
            return self._level_column(cells, feature, dtype)
        if dtype is None:
            dtype = np.dtype(np.int64) if feature.integral else np.dtype(np.float64)
        if not self.holds(dtype, cells):
            return cells.copy()
        if isinstance(dtype, Objects):
            made = [scalar(cell, feature, as_decimal=dtype.decimals, as_int=feature.integral) for cell in cells]
            return self._object_column(made, dtype)
        if isinstance(dtype, pd.SparseDtype):
            dense = self.column(cells, feature, dtype.subtype)
            return pd.arrays.SparseArray(dense, dtype=dtype) if dense.dtype == dtype.subtype else dense
        if self.is_integer(dtype):
            missing = np.isnan(cells)
            plain = isinstance(dtype, np.dtype)
            if plain and missing.any():  # a model trained on plain integers knows NaN, if anything, and no NA
                return cells.copy()
            whole = np.where(missing, 0, cells).astype(dtype if plain else dtype.numpy_dtype)
            return whole if plain else pd.arrays.IntegerArray(whole, missing).astype(dtype)
        return cells.astype(dtype) if isinstance(dtype, np.dtype) else pd.array(cells, dtype=dtype)

    def _level_column(self, cells: np.ndarray, feature: Feature, dtype: Any) -> Any:
        positions = codes(cells)
        levels = np.array([*feature.levels, self.missing(dtype)], dtype=object)
        if isinstance(dtype, Objects):  # pandas would take a bare array of texts for its own text type
            return pd.Series(levels[positions], dtype=object)
        if dtype is None:
            return pd.Series(levels[positions])
        if isinstance(dtype, pd.CategoricalDtype) and not set(feature.levels) <= set(dtype.categories):
            unknown = [level for level in feature.levels if level not in set(dtype.categories)]
            dtype = pd.CategoricalDtype([*dtype.categories, *unknown], dtype.ordered)
        if not isinstance(dtype, np.dtype):
            return pd.array(list(feature.levels), dtype=dtype).take(positions, allow_fill=True)
        if (positions >= 0).all():
            return levels[:-1].astype(dtype)[positions]
        return pd.Series(levels[positions], dtype=dtype if dtype.kind == "f" else object)

    def _object_column(self, items: list[Any], dtype: Objects) -> Any:
        return pd.Series([dtype.na_value if item is None else item for item in items], dtype=object)

    def build(self, columns: Mapping[str, Cells], length: int) -> Any:
        plain = all(feature.numeric and dtype == np.float64 for _, feature, dtype in columns.values())
        if plain and columns:
            return pd.DataFrame(np.column_stack([cells for cells, _, _ in columns.values()]), columns=list(columns))
        made = {name: self.column(*cells) for name, cells in columns.items()}
        return pd.DataFrame(made, index=pd.RangeIndex(length))

    def replace(self, frame: Any, edits: Mapping[str, Edit]) -> Any:
        result = frame.copy()
        for name, (at, cells, missing, feature) in edits.items():
            if at.size or missing.size:
                result[name] = self._edited(frame[name], at, cells, missing, feature)
        return result

    def _edited(self, column: Any, at: np.ndarray, cells: np.ndarray, missing: np.ndarray, feature: Feature) -> Any:
        dtype = column.dtype
        if isinstance(dtype, pd.SparseDtype):
            edited = self._edited(column.sparse.to_dense(), at, cells, missing, feature)
            return edited.astype(dtype) if edited.dtype == dtype.subtype else edited
        if feature.numeric and not self.holds(dtype, cells):
            column = column.astype(self._wider(dtype, cells, bool(missing.size)))
        elif missing.size and isinstance(dtype, np.dtype) and dtype.kind in "iub":
            column = column.astype(_nullable(dtype))
        elif isinstance(dtype, pd.CategoricalDtype):
            new = [
                level for level in dict.fromkeys(feature.levels[int(c)] for c in cells) if level not in dtype.categories
            ]
            column = column.cat.add_categories(new) if new else column
        else:
            column = column.copy()
        objects = column.dtype == _OBJECT
        if at.size:
            as_decimal = Objects.of(column).decimals if objects else self.scale(column.dtype) is not None
            as_int = feature.integral if objects else self.is_integer(column.dtype)
            made = [scalar(cell, feature, as_decimal=as_decimal, as_int=as_int) for cell in cells]
            column.iloc[at] = pd.array(made, dtype=column.dtype)
        if missing.size:
            column.iloc[missing] = None if objects else self.missing(column.dtype)
        return column

    def _wider(self, dtype: Any, cells: np.ndarray, nullable: bool) -> str:
        """The dtype for a column whose own cannot hold the new cells."""
        whole = self.is_integer(dtype) and self.holds("int64", cells)
        plain = isinstance(dtype, np.dtype) and not (nullable and whole)
        return ("int64" if whole else "float64") if plain else ("Int64" if whole else "Float64")

    def take(self, frame: Any, positions: np.ndarray) -> Any:
        return frame.iloc[positions]

    def make(self, columns: Mapping[str, Sequence[Any] | np.ndarray], index: Sequence[Any] | None = None) -> Any:
        return pd.DataFrame(dict(columns), index=None if index is None else pd.Index(index))

    def index(self, frame: Any) -> Any:
        return frame.index

    def with_leading(self, frame: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
        result = frame.reset_index(drop=True)
        for position, (name, values) in enumerate(columns.items()):
            result.insert(position, name, pd.Series(list(values), index=result.index), allow_duplicates=True)
        return result

    def dtype_text(self, dtype: Any) -> str:
        if isinstance(dtype, Objects):
            return "objects: " + json.dumps([str(dtype.na_value), dtype.decimals])
        if isinstance(dtype, pd.CategoricalDtype):
            return "category: " + json.dumps([dtype.categories.tolist(), bool(dtype.ordered)], default=str)
        if isinstance(dtype, pd.ArrowDtype):  # its own text for texts means another dtype of pandas
            return "arrow: " + Arrow().dtype_text(dtype.pyarrow_dtype)
        return str(dtype)

    def dtype_named(self, text: str) -> Any:
        kind, _, arguments = text.partition(": ")
        if kind == "objects":
            marker, decimals = json.loads(arguments)
            return Objects({str(known): known for known in _MARKERS.values()}.get(marker, math.nan), bool(decimals))
        if kind == "category":
            categories, ordered = json.loads(arguments)
            return pd.CategoricalDtype(categories, ordered)
        if kind == "arrow":
            return pd.ArrowDtype(Arrow().dtype_named(arguments))
        return pd.api.types.pandas_dtype(text)

    def restored(self, name: str, cells: Sequence[Any], dtype: Any) -> Any:
        if isinstance(dtype, Objects):
            return self._object_column(list(cells), dtype).rename(name)
        return pd.Series(list(cells), dtype=dtype, name=name)

    def assembled(self, columns: Mapping[str, Any], index: Any) -> Any:
        frame = pd.DataFrame(dict(columns))
        frame.index = index
        return frame

    def series(self, name: str, values: Sequence[Any] | np.ndarray, like: Any) -> Any:
        return pd.Series(values, index=like.index, name=name)


def _nullable(dtype: Any) -> Any:
    """The pandas dtype that holds the same values and missing ones."""
    if dtype.kind == "b":
        return pd.BooleanDtype()
    return pd.api.types.pandas_dtype(str(dtype).replace("uint", "UInt").replace("int", "Int"))
