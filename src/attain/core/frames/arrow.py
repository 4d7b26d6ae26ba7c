"""pyarrow: columns in chunks that cannot be written to, null for what is missing, no index."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from attain.core.frames.base import Cells, Edit, Library, imported, portable, scalar
from attain.schema import Feature


class Arrow(Library):
    """Arrow tables."""

    name = "pyarrow"

    def _arrow(self) -> Any:
        return imported("pyarrow")

    def columns(self, frame: Any) -> Sequence[Any]:
        return list(frame.column_names)

    def length(self, frame: Any) -> int:
        return int(frame.num_rows)

    def dtype(self, frame: Any, column: str) -> Any:
        return frame.schema.field(column).type

    def is_integer(self, dtype: Any) -> bool:
        return dtype is not None and bool(self._arrow().types.is_integer(dtype))

    def floats(self, column: nw.Series[Any]) -> np.ndarray:
        # Arrow refuses to round whole numbers beyond 2⁵³ unless it is told to
        native = column.to_native()
        return np.array(native.cast(self._arrow().float64(), safe=False).fill_null(math.nan).to_numpy())

    def categories(self, column: Any) -> list[Any] | None:
        if not self._arrow().types.is_dictionary(column.type) or not column.type.ordered:
            return None
        return column.unify_dictionaries().chunk(0).dictionary.to_pylist() if column.num_chunks else []

    def scale(self, dtype: Any) -> int | None:
        return dtype.scale if dtype is not None and self._arrow().types.is_decimal(dtype) else None

    def _list(self, cells: np.ndarray, feature: Feature, dtype: Any) -> list[Any]:
        as_decimal = dtype is not None and self._arrow().types.is_decimal(dtype)
        as_int = self.is_integer(dtype) or (dtype is None and feature.integral)
        return [scalar(cell, feature, as_decimal=as_decimal, as_int=as_int) for cell in cells]

    def column(self, cells: np.ndarray, feature: Feature, dtype: Any) -> Any:
        dtype = dtype if not feature.numeric or self.holds(dtype, cells) else self._arrow().float64()
        return self._arrow().array(self._list(cells, feature, dtype), type=dtype)

    def build(self, columns: Mapping[str, Cells], length: int) -> Any:
        return self._arrow().table({name: self.column(*cells) for name, cells in columns.items()})

    def replace(self, frame: Any, edits: Mapping[str, Edit]) -> Any:
        pa = self._arrow()
        result = frame
        for name, (at, cells, missing, feature) in edits.items():
            if not at.size and not missing.size:
                continue
            position = frame.schema.get_field_index(name)
            field = frame.schema.field(position)
            if feature.numeric and not self.holds(field.type, cells):
                field = field.with_type(pa.int64() if self.holds(pa.int64(), cells) else pa.float64())
            values = frame.column(position).cast(field.type).to_pylist()
            for i, value in zip(at, self._list(cells, feature, field.type), strict=True):
                values[i] = value
            for i in missing:
                values[i] = None
            field = field.with_nullable(field.nullable or bool(missing.size))
            result = result.set_column(position, field, pa.array(values, type=field.type))
        return result

    def take(self, frame: Any, positions: np.ndarray) -> Any:
        return frame.take(self._arrow().array(positions))

    def make(self, columns: Mapping[str, Sequence[Any] | np.ndarray], index: Sequence[Any] | None = None) -> Any:
        return self._arrow().table({name: portable(values) for name, values in columns.items()})

    def with_leading(self, frame: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
        pa = self._arrow()
        for position, (name, values) in enumerate(columns.items()):
            frame = frame.add_column(position, name, pa.array(list(values)))
        return frame

    def dtype_text(self, dtype: Any) -> str:
        # Arrow's own bytes for a schema are the one text from which every type can be made again
        return base64.b64encode(self._arrow().schema([("", dtype)]).serialize().to_pybytes()).decode()

    def dtype_named(self, text: str) -> Any:
        pa = self._arrow()
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))).field(0).type

    def restored(self, name: str, cells: Sequence[Any], dtype: Any) -> Any:
        return self._arrow().array(list(cells), type=dtype)

    def assembled(self, columns: Mapping[str, Any], index: Any) -> Any:
        return self._arrow().table(dict(columns))

    def series(self, name: str, values: Sequence[Any] | np.ndarray, like: Any) -> Any:
        return self._arrow().chunked_array([self._arrow().array(values)])
