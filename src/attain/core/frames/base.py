"""What the package needs of a data-frame library, written once on top of narwhals.

An eager library that narwhals supports works as it is. One with richer dtypes than narwhals, or with an index, is a
subclass that overrides the methods concerned (`Arrow`, `Pandas`). One that narwhals does not know overrides
`recognises`, `read` and `write`, and sets `backend`.
"""

from __future__ import annotations

import base64
import importlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from attain.core.errors import DataError, MissingExtraError
from attain.core.files import parse_json

_NARROW = {"float32": np.float32, "float": np.float32, "float16": np.float16, "halffloat": np.float16}
"""The largest value of each short float dtype, by the names that the libraries use."""
_INTEGER = re.compile(r"(u?)int(\d+)", re.IGNORECASE)
_DTYPES = frozenset(
    [
        *("Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128"),
        *("Float32", "Float64", "Boolean", "String", "Categorical", "Date", "Datetime", "Duration", "Time"),
    ]
)
"""The dtypes without arguments that a file may name."""


class Domain(Protocol):
    """What the cells of a matrix column stand for: numbers, or positions in `levels`."""

    @property
    def numeric(self) -> bool: ...

    @property
    def levels(self) -> tuple[Any, ...]: ...

    @property
    def integral(self) -> bool: ...


Cells = tuple[np.ndarray, Domain, Any]
"""A matrix column, its domain, and the dtype to write it with (None: the library's default)."""
Edit = tuple[np.ndarray, np.ndarray, Domain]
"""Positions that change, their new cells, and the domain."""


class Library:
    """A data-frame library that narwhals supports; `name` is what narwhals calls it."""

    name: str
    backend: str | None = None
    """The library in which columns are built, where narwhals does not know `name`."""
    nan_is_missing = False
    """Whether a NaN in a frame of this library means that the cell is missing."""

    def __init__(self, name: str | None = None) -> None:
        if name is not None:
            self.name = name

    def recognises(self, frame: Any) -> bool:
        """Whether `frame` is a native frame of this library."""
        opened = nw.from_native(frame, eager_only=True, pass_through=True)
        return isinstance(opened, nw.DataFrame) and str(opened.implementation) == self.name

    def read(self, frame: Any) -> nw.DataFrame[Any]:
        """A native frame as a narwhals frame."""
        return nw.from_native(frame, eager_only=True)

    def write(self, frame: nw.DataFrame[Any]) -> Any:
        """A narwhals frame as a native frame."""
        return frame.to_native()

    def columns(self, frame: Any) -> Sequence[Any]:
        """The column names, in order, including duplicates."""
        return self.read(frame).columns

    def opened(self, frame: Any) -> Mapping[str, nw.Series[Any]]:
        """The columns of a native frame by their names, which are distinct."""
        read = self.read(frame)
        return {name: read.get_column(name) for name in read.columns}

    def labels(self, frame: Any) -> Sequence[Any]:
        """The row labels: positions, where the library has no index."""
        return range(len(self.read(frame)))

    def index(self, frame: Any) -> Any:
        """The row index of a frame; None where the library has none."""
        return None

    def dtype(self, column: nw.Series[Any]) -> Any:
        """All that is needed to write another column like this one; None for a column of nothing but nulls."""
        return None if column.dtype == nw.Unknown else column.dtype

    def is_integer(self, dtype: Any) -> bool:
        return dtype is not None and _INTEGER.fullmatch(str(dtype)) is not None

    def scale(self, dtype: Any) -> int | None:
        """The number of digits after the decimal point of a decimal dtype; None for any other."""
        return getattr(dtype, "scale", None)

    def step(self, dtype: Any) -> float | None:
        """The grid that the dtype itself imposes: 1 for integers, one unit in the last place for decimals."""
        scale = 0 if self.is_integer(dtype) else self.scale(dtype)
        return None if scale is None else float(f"1e-{scale}")

    def narrow(self, dtype: Any) -> Any:
        """The floats of a dtype with fewer than 64 bits; None for any other."""
        return _NARROW.get(str(dtype).lower().removesuffix("[pyarrow]"))

    def missing(self, dtype: Any) -> Any:
        """The marker of a missing cell of this dtype in an array of objects."""
        return None

    def holds(self, dtype: Any, cells: np.ndarray) -> bool:
        """Whether the dtype can hold the cells: exactly for integers and decimals, without overflow for floats."""
        present = cells[~np.isnan(cells)]
        narrow = self.narrow(dtype)
        if narrow is not None and (np.abs(present) > np.finfo(narrow).max).any():
            return False
        if self.is_integer(dtype):
            low, high = _integer_range(str(dtype))
            return bool(((present >= low) & (present < high) & (present == np.rint(present))).all())
        scale = self.scale(dtype)
        if scale is None:
            return True
        # beyond 2⁵⁰ units in the last place, floats are about as coarse as the decimals
        exact = (np.round(present, scale) == present) | (np.abs(present) >= 2.0**50 / 10.0**scale)
        return bool(exact.all())

    def floats(self, column: nw.Series[Any]) -> np.ndarray | None:
        """A numeric column as float64, NaN where a cell is missing; None for any other column."""
        if not column.dtype.is_numeric():
            return None
        return np.array(column.cast(nw.Float64).fill_null(math.nan).to_numpy(), dtype=np.float64)

    def categories(self, column: nw.Series[Any]) -> tuple[list[Any], bool] | None:
        """The categories that the dtype declares, in its order, and whether they are ordered; None without any."""
        return (list(column.dtype.categories), False) if isinstance(column.dtype, nw.Enum) else None

    def made(self, items: Sequence[Any], dtype: Any) -> nw.Series[Any]:
        """A column of Python values (None: missing) with this dtype (None: the library's choice)."""
        return nw.new_series("", list(items), dtype, backend=self._installed())

    def cast(self, column: nw.Series[Any], dtype: Any) -> nw.Series[Any]:
        """The column with another dtype of this library."""
        return column.cast(dtype)

    def column(self, cells: np.ndarray, domain: Domain, dtype: Any) -> Any:
        """A column built from a matrix column; its dtype is widened where it cannot hold the cells."""
        if not domain.numeric:
            # a missing cell is the position behind the last level
            levels = self.made([*domain.levels, None], self._with_levels(dtype, domain))
            return levels[codes(cells, missing=len(domain.levels))]
        integer = domain.integral if dtype is None else self.is_integer(dtype)
        if dtype is None or not self.holds(dtype, cells):
            dtype = nw.Int64() if integer and self.holds(nw.Int64(), cells) else nw.Float64()
        return self.cast(nw.Series.from_numpy("", cells, backend=self._installed()).fill_nan(None), dtype)

    def _with_levels(self, dtype: Any, domain: Domain) -> Any:
        """An Enum that lacks a level is extended; any other dtype holds every level."""
        if not isinstance(dtype, nw.Enum):
            return dtype
        return nw.Enum([*dtype.categories, *(level for level in domain.levels if level not in dtype.categories)])

    def build(self, columns: Mapping[str, Cells], length: int) -> Any:
        """A native frame of `length` rows from matrix columns."""
        return self.write(_assembled({name: self.column(*cells) for name, cells in columns.items()}))

    def replace(self, frame: Any, edits: Mapping[str, Edit]) -> Any:
        """The frame with some cells replaced, with its own dtypes wherever they can hold the cells."""
        opened = self.read(frame)
        for name, (at, cells, domain) in edits.items():
            if at.size:
                opened = self._with_column(opened, self._edited(opened[name], at, cells, domain))
        return self.write(opened)

    def _edited(self, column: nw.Series[Any], at: np.ndarray, cells: np.ndarray, domain: Domain) -> nw.Series[Any]:
        # old and new cells form one column, from which every row takes its own
        new = self.column(cells, domain, self.dtype(column)).alias(column.name)
        both = nw.concat([self.cast(column, self.dtype(new)).to_frame(), new.to_frame()])
        rows = np.arange(len(column))
        rows[at] = len(column) + np.arange(len(at))
        return both[column.name][rows]

    def _with_column(self, frame: nw.DataFrame[Any], column: nw.Series[Any]) -> nw.DataFrame[Any]:
        return frame.with_columns(column)

    def take(self, frame: Any, positions: np.ndarray) -> Any:
        """The rows at these positions."""
        return self.write(self.read(frame)[positions])

    def make(self, columns: Mapping[str, Sequence[Any] | np.ndarray], index: Sequence[Any] | None = None) -> Any:
        """A new native frame of results; `index` labels its rows where the library has an index."""
        return self.write(_assembled({name: self.made(portable(values), None) for name, values in columns.items()}))

    def with_leading(self, frame: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
        """The frame with further columns in front, and without its index."""
        leading = _assembled({name: self.made(list(values), None) for name, values in columns.items()})
        return self.write(nw.concat([leading, self.read(frame)], how="horizontal"))

    def series(self, name: str, values: Sequence[Any] | np.ndarray, like: Any) -> Any:
        """A native column of results, labelled like the frame `like`."""
        return self.made(portable(values), None).alias(name).to_native()

    def dtype_text(self, dtype: Any) -> str:
        """The dtype as a string, from which `dtype_named` makes it again."""
        if isinstance(dtype, nw.Enum):
            return "Enum: " + json.dumps(list(dtype.categories))
        if isinstance(dtype, nw.Decimal):
            return "Decimal: " + json.dumps([dtype.precision, dtype.scale])
        return "" if dtype is None else str(dtype)

    def dtype_named(self, text: str) -> Any:
        """The dtype that `dtype_text` described."""
        if not text:
            return None
        name, _, arguments = text.partition(": ")
        if name == "Enum":
            return nw.Enum(parse_json(arguments))
        if name == "Decimal":
            return nw.Decimal(*parse_json(arguments))
        if name not in _DTYPES:
            raise DataError(f"there is no {self.name} dtype {name[:100]!r}")
        return getattr(nw, name)()

    def restored(self, columns: Mapping[str, tuple[Sequence[Any], Any]], index: Any) -> Any:
        """A native frame from the Python values (None: missing) and the dtype of each column."""
        return self.write(_assembled({name: self.made(*column) for name, column in columns.items()}))

    def _installed(self) -> Any:
        backend = self.backend or self.name
        try:
            return importlib.import_module(backend)
        except ImportError:
            raise MissingExtraError(f"{backend} is not installed; install it to write {self.name} frames") from None


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


def _assembled(columns: Mapping[str, nw.Series[Any]]) -> nw.DataFrame[Any]:
    """A frame of the columns, each with its own dtype (which `from_dict` does not promise)."""
    named = [column.alias(name) for name, column in columns.items()]
    return named[0].to_frame().with_columns(*named[1:])


def codes(cells: np.ndarray, missing: int = -1) -> np.ndarray:
    """Positions of levels; `missing` where a cell is missing."""
    return np.where(np.isnan(cells), missing, cells).astype(np.intp)


def portable(values: Sequence[Any] | np.ndarray) -> list[Any]:
    """Values of one type, as polars and pyarrow require: strings where values of several types are mixed."""
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    kinds = {type(item) for item in items if item is not None}
    if len(kinds) <= 1 or kinds <= {int, float}:
        return [float(item) if item is not None and float in kinds else item for item in items]
    return [None if item is None else str(item) for item in items]


def _integer_range(dtype: str) -> tuple[float, float]:
    """The smallest value of a dtype such as UInt8 or int64, and the first one above its largest."""
    match = _INTEGER.search(dtype)
    unsigned, bits = (bool(match[1]), int(match[2])) if match else (False, 64)
    return (0.0, 2.0**bits) if unsigned else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))
