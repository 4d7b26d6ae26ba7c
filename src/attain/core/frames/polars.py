"""polars: one dtype for each kind of value, null for what is missing, no index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attain.core.errors import DataError
from attain.core.frames.base import Cells, Edit, Library, codes, imported, portable, scalar
from attain.schema import Feature


class Polars(Library):
    """polars frames."""

    name = "polars"

    def _polars(self) -> Any:
        return imported("polars")

    def columns(self, frame: Any) -> Sequence[Any]:
        return list(frame.columns)

    def length(self, frame: Any) -> int:
        return int(frame.height)

    def dtype(self, frame: Any, column: str) -> Any:
        return frame.schema[column]

    def is_integer(self, dtype: Any) -> bool:
        return dtype is not None and bool(dtype.is_integer())

    def categories(self, column: Any) -> list[Any] | None:
        return column.dtype.categories.to_list() if isinstance(column.dtype, self._polars().Enum) else None

    def scale(self, dtype: Any) -> int | None:
        return dtype.scale if dtype is not None and dtype.is_decimal() else None

    def column(self, cells: np.ndarray, feature: Feature, dtype: Any) -> Any:
        pl = self._polars()
        if not feature.numeric:
            dtype = self._holding(dtype, feature)
            levels = pl.Series(list(feature.levels), dtype=dtype)
            return levels.gather(pl.Series(codes(cells)).replace(-1, None))
        if dtype is None:
            dtype = pl.Int64 if feature.integral else pl.Float64
        return pl.Series(cells, nan_to_null=True).cast(dtype if self.holds(dtype, cells) else pl.Float64)

    def _holding(self, dtype: Any, feature: Feature) -> Any:
        """An Enum that lacks a level of the schema is widened; any other dtype holds every level."""
        pl = self._polars()
        if isinstance(dtype, pl.Enum):
            known = dtype.categories.to_list()
            return pl.Enum([*known, *(level for level in feature.levels if level not in known)])
        return dtype

    def build(self, columns: Mapping[str, Cells], length: int) -> Any:
        return self._polars().DataFrame({name: self.column(*cells) for name, cells in columns.items()})

    def replace(self, frame: Any, edits: Mapping[str, Edit]) -> Any:
        pl = self._polars()
        result = frame.clone()
        for name, (at, cells, missing, feature) in edits.items():
            if not at.size and not missing.size:
                continue
            dtype = frame.schema[name]
            if not feature.numeric:
                dtype = self._holding(dtype, feature)
            elif not self.holds(dtype, cells):
                dtype = pl.Int64() if self.holds(pl.Int64(), cells) else pl.Float64()
            values = frame[name].cast(dtype).to_list()
            for i, cell in zip(at, cells, strict=True):
                values[i] = scalar(cell, feature, as_decimal=dtype.is_decimal(), as_int=dtype.is_integer())
            for i in missing:
                values[i] = None
            result = result.with_columns(pl.Series(name, values, dtype=dtype, strict=False))
        return result

    def take(self, frame: Any, positions: np.ndarray) -> Any:
        return frame[positions.tolist()]

    def make(self, columns: Mapping[str, Sequence[Any] | np.ndarray], index: Sequence[Any] | None = None) -> Any:
        return self._polars().DataFrame({name: portable(values) for name, values in columns.items()}, strict=False)

    def with_leading(self, frame: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
        pl = self._polars()
        return pl.DataFrame([pl.Series(name, list(values)) for name, values in columns.items()] + frame.get_columns())

    def dtype_text(self, dtype: Any) -> str:
        pl = self._polars()
        if isinstance(dtype, pl.Enum):
            return "Enum: " + json.dumps(dtype.categories.to_list())
        if dtype.is_decimal():
            return "Decimal: " + json.dumps([dtype.precision, dtype.scale])
        return str(dtype.base_type())

    def dtype_named(self, text: str) -> Any:
        pl = self._polars()
        name, _, arguments = text.partition(": ")
        if name == "Enum":
            return pl.Enum(json.loads(arguments))
        if name == "Decimal":
            return pl.Decimal(*json.loads(arguments))
        known = getattr(pl, name, None)
        if not isinstance(known, type) or not issubclass(known, pl.DataType):  # a file may name anything
            raise DataError(f"polars has no dtype {name!r}")
        return known()

    def restored(self, name: str, cells: Sequence[Any], dtype: Any) -> Any:
        return self._polars().Series(name, list(cells), dtype=dtype, strict=False)

    def assembled(self, columns: Mapping[str, Any], index: Any) -> Any:
        return self._polars().DataFrame(list(columns.values()))

    def series(self, name: str, values: Sequence[Any] | np.ndarray, like: Any) -> Any:
        return self._polars().Series(name, values)
