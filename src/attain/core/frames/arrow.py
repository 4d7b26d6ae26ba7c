"""pyarrow: more types than narwhals (index types, large strings), and metadata on each field."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from attain.core.errors import DataError
from attain.core.frames.base import Library


class Arrow(Library):
    """Arrow tables; a dtype is an Arrow type."""

    name = "pyarrow"

    def recognises(self, frame: Any) -> bool:
        return nw.dependencies.is_pyarrow_table(frame)

    def columns(self, frame: Any) -> Sequence[Any]:
        return list(frame.column_names)

    def dtype(self, column: nw.Series[Any]) -> Any:
        dtype = column.to_native().type
        return None if self._installed().types.is_null(dtype) else dtype

    def floats(self, column: nw.Series[Any]) -> np.ndarray | None:
        if not column.dtype.is_numeric():
            return None
        # a safe cast refuses to round integers beyond 2⁵³
        native = column.to_native()
        return np.array(native.cast(self._installed().float64(), safe=False).fill_null(math.nan).to_numpy())

    def categories(self, column: nw.Series[Any]) -> tuple[list[Any], bool] | None:
        native = column.to_native()
        if not getattr(native.type, "ordered", False):
            return None
        return native.unify_dictionaries().chunk(0).dictionary.to_pylist() if native.num_chunks else [], True

    def made(self, items: Sequence[Any], dtype: Any) -> nw.Series[Any]:
        pa = self._installed()
        return nw.from_native(pa.chunked_array([pa.array(list(items), type=dtype)]), series_only=True)

    def cast(self, column: nw.Series[Any], dtype: Any) -> nw.Series[Any]:
        if isinstance(dtype, nw.dtypes.DType):
            return column.cast(dtype)
        return nw.from_native(column.to_native().cast(dtype), series_only=True).alias(column.name)

    def _with_column(self, frame: nw.DataFrame[Any], column: nw.Series[Any]) -> nw.DataFrame[Any]:
        table, native = frame.to_native(), column.to_native()
        position = table.schema.get_field_index(column.name)
        field = table.schema.field(position).with_type(native.type)
        field = field.with_nullable(field.nullable or native.null_count > 0)
        return nw.from_native(table.set_column(position, field, native), eager_only=True)

    def dtype_text(self, dtype: Any) -> str:
        # the IPC bytes of a schema are the only form from which every type can be restored
        if dtype is None:
            return ""
        return base64.b64encode(self._installed().schema([("", dtype)]).serialize().to_pybytes()).decode()

    def dtype_named(self, text: str) -> Any:
        if not text:
            return None
        pa = self._installed()
        try:
            dtype = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True))).field(0).type
        except (ValueError, LookupError, OSError) as error:
            raise DataError(f"a pyarrow dtype cannot be read: {error}") from None
        if not _is_scalar(pa.types, dtype.value_type if pa.types.is_dictionary(dtype) else dtype):
            raise DataError(f"a column cannot have the pyarrow dtype {dtype}")
        return dtype


def _is_scalar(types: Any, dtype: Any) -> bool:
    """Whether cells of an Arrow type are single values, without a size that the type could claim."""
    kinds = ("integer", "floating", "boolean", "decimal", "string", "large_string", "string_view", "temporal", "null")
    return any(getattr(types, f"is_{kind}", lambda _: False)(dtype) for kind in kinds)
