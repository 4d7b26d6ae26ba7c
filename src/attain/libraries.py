"""What differs between pandas, polars and pyarrow: reading labels and dtypes, writing columns.

narwhals reads all three alike; writing a column back with exactly its own dtype, filling a frame from the matrix, and
row labels are done natively here. Only pandas is needed; the others are imported when one of their frames is there.
"""

from __future__ import annotations

import base64
import decimal
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from attain.errors import DataError, MissingExtraError
from attain.grid import is_on_grid
from attain.schema import Feature

Cells = tuple[np.ndarray, Feature, Any]
"""A column of the matrix, its feature, and the dtype it shall have (None: the library's own choice)."""
Edit = tuple[np.ndarray, np.ndarray, np.ndarray, Feature]
"""Where a column changes, the new cells of the matrix, which rows become missing, and the feature."""


class Library(ABC):
    """One data-frame library."""

    name: str

    @staticmethod
    def named(name: str) -> Library:
        """The library called `name`."""
        if name not in _LIBRARIES:
            raise DataError(f"there is no frame library {name!r}; it is one of {', '.join(_LIBRARIES)}")
        return _LIBRARIES[name]

    @abstractmethod
    def columns(self, frame: Any) -> Sequence[Any]:
        """The column names, in order, with repetitions."""

    def labels(self, frame: Any) -> Sequence[Any]:
        """What a row is called: its position, where the library has no index."""
        return range(self.length(frame))

    @abstractmethod
    def length(self, frame: Any) -> int: ...

    @abstractmethod
    def dtype(self, frame: Any, column: str) -> Any: ...

    @abstractmethod
    def is_integer(self, dtype: Any) -> bool: ...

    @abstractmethod
    def scale(self, dtype: Any) -> int | None:
        """How many digits a column of decimals has after the point; None for any other column."""

    def step(self, dtype: Any) -> float | None:
        """The grid the dtype itself puts values on: 1 for whole numbers, the last digit of decimals."""
        scale = 0 if self.is_integer(dtype) else self.scale(dtype)
        return None if scale is None else float(f"1e-{scale}")

    def holds(self, dtype: Any, cells: np.ndarray) -> bool:
        """Whether a column of whole numbers or decimals holds these cells exactly, and one of floats at all."""
        present = cells[~np.isnan(cells)]
        largest = _LARGEST_FLOATS.get(str(dtype).lower().removesuffix("[pyarrow]"), np.inf)
        if (np.abs(present) > largest).any():
            return False
        if self.is_integer(dtype):
            low, high = _integer_range(str(dtype))
            return bool(((present >= low) & (present < high) & (present == np.rint(present))).all())
        step = self.step(dtype)
        return step is None or bool(is_on_grid(present, step).all())

    def floats(self, column: nw.Series[Any]) -> np.ndarray:
        """A column of numbers as floats, NaN where one is missing."""
        return np.array(column.cast(nw.Float64).fill_null(math.nan).to_numpy(), dtype=np.float64)

    def categories(self, column: Any) -> list[Any] | None:
        """The categories that a native column declares, in its own order; None where it declares none."""
        return None

    @abstractmethod
    def column(self, cells: np.ndarray, feature: Feature, dtype: Any) -> Any:
        """A native column from a column of the matrix."""

    @abstractmethod
    def build(self, columns: Mapping[str, Cells], length: int) -> Any:
        """A native frame from columns of the matrix."""

    @abstractmethod
    def replace(self, frame: Any, edits: Mapping[str, Edit]) -> Any:
        """The frame with some cells replaced and some rows emptied; its own dtypes, wherever they can hold that."""

    @abstractmethod
    def take(self, frame: Any, positions: np.ndarray) -> Any:
        """The rows at these positions."""

    @abstractmethod
    def make(self, columns: Mapping[str, Sequence[Any] | np.ndarray], index: Sequence[Any] | None = None) -> Any:
        """A new frame of results; `index` labels its rows where the library has an index."""

    def index(self, frame: Any) -> Any:
        """The row index of a frame; None where the library has none."""
        return None

    @abstractmethod
    def with_leading(self, frame: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
        """The frame with further columns in front and plainly numbered rows."""

    @abstractmethod
    def dtype_text(self, dtype: Any) -> str:
        """The dtype in words, from which `dtype_named` makes it again."""

    @abstractmethod
    def dtype_named(self, text: str) -> Any:
        """The dtype that `dtype_text` described."""

    @abstractmethod
    def restored(self, name: str, cells: Sequence[Any], dtype: Any) -> Any:
        """A column of plain Python values (None: missing) with this dtype."""

    @abstractmethod
    def assembled(self, columns: Mapping[str, Any], index: Any) -> Any:
        """A frame of restored columns."""

    @abstractmethod
    def series(self, name: str, values: Sequence[Any] | np.ndarray, like: Any) -> Any:
        """A column of results, labelled like the frame `like`."""


_OBJECT = np.dtype(object)
_LARGEST_FLOATS = {"float32": 3.4e38, "float": 3.4e38, "float16": 65504.0, "halffloat": 65504.0}
"""By what each library calls its short floats."""
_INTEGER = re.compile(r"(u?)int(\d+)", re.IGNORECASE)


def _integer_range(dtype: str) -> tuple[float, float]:
    """The least value of a dtype such as UInt8 or int64, and the first above its largest."""
    match = _INTEGER.search(dtype)
    unsigned, bits = (bool(match[1]), int(match[2])) if match else (False, 64)
    return (0.0, 2.0**bits) if unsigned else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))


def _codes(cells: np.ndarray) -> np.ndarray:
    """Positions of levels, −1 where missing."""
    return np.where(np.isnan(cells), -1, cells).astype(np.intp)


def _scalar(cell: float, feature: Feature, as_decimal: bool, as_int: bool) -> Any:
    """A cell of the matrix as the Python value a column of that dtype takes."""
    if np.isnan(cell):
        return None
    if not feature.numeric:
        return feature.levels[int(cell)]
    if as_decimal:
        return decimal.Decimal(repr(float(cell)))
    return int(cell) if as_int else float(cell)


class _Pandas(Library):
    name = "pandas"

    def columns(self, frame: Any) -> Sequence[Any]:
        return list(frame.columns)

    def labels(self, frame: Any) -> Sequence[Any]:
        return list(frame.index)

    def length(self, frame: Any) -> int:
        return len(frame)

    def dtype(self, frame: Any, column: str) -> Any:
        return frame[column].dtype

    def is_integer(self, dtype: Any) -> bool:
        return dtype is not None and pd.api.types.is_integer_dtype(dtype)

    def categories(self, column: Any) -> list[Any] | None:
        return column.dtype.categories.tolist() if isinstance(column.dtype, pd.CategoricalDtype) else None

    def scale(self, dtype: Any) -> int | None:
        return getattr(dtype.pyarrow_dtype, "scale", None) if isinstance(dtype, pd.ArrowDtype) else None

    def column(self, cells: np.ndarray, feature: Feature, dtype: Any) -> Any:
        if not feature.numeric:
            return self._level_column(cells, feature, dtype)
        if dtype is None:
            dtype = np.dtype(np.int64) if feature.integral else np.dtype(np.float64)
        if not self.holds(dtype, cells):
            return cells.copy()
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
        if dtype == _OBJECT:
            scalars = [_scalar(cell, feature, False, feature.integral) for cell in cells]
            return pd.Series([np.nan if scalar is None else scalar for scalar in scalars], dtype=object)
        return cells.astype(dtype) if isinstance(dtype, np.dtype) else pd.array(cells, dtype=dtype)

    def _level_column(self, cells: np.ndarray, feature: Feature, dtype: Any) -> Any:
        codes = _codes(cells)
        if isinstance(dtype, pd.CategoricalDtype) and not set(feature.levels) <= set(dtype.categories):
            unknown = [level for level in feature.levels if level not in set(dtype.categories)]
            dtype = pd.CategoricalDtype([*dtype.categories, *unknown], dtype.ordered)
        if dtype is not None and not isinstance(dtype, np.dtype):
            return pd.array(list(feature.levels), dtype=dtype).take(codes, allow_fill=True)
        levels = np.array([*feature.levels, np.nan], dtype=object)
        if dtype is not None and dtype != _OBJECT and (codes >= 0).all():
            return levels[:-1].astype(dtype)[codes]
        if dtype is not None and dtype.kind == "f":
            return np.array([*feature.levels, np.nan], dtype=dtype)[codes]
        # pandas would take a bare array of texts for its own text type
        return pd.Series(levels[codes], dtype=None if dtype is None else object)

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
        if at.size:
            integer = self.is_integer(column.dtype) or (dtype == _OBJECT and feature.integral)
            as_decimal = self.scale(column.dtype) is not None
            scalars = [_scalar(cell, feature, as_decimal, integer) for cell in cells]
            column.iloc[at] = pd.array(scalars, dtype=column.dtype)
        if missing.size:
            column.iloc[missing] = None if column.dtype == _OBJECT else _missing_value(column.dtype)
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
        if isinstance(dtype, pd.CategoricalDtype):
            return "category: " + json.dumps([dtype.categories.tolist(), bool(dtype.ordered)], default=str)
        if isinstance(dtype, pd.ArrowDtype):  # its own text for texts means another dtype of pandas
            return "arrow: " + _LIBRARIES["pyarrow"].dtype_text(dtype.pyarrow_dtype)
        return str(dtype)

    def dtype_named(self, text: str) -> Any:
        if text.startswith("category: "):
            categories, ordered = json.loads(text.removeprefix("category: "))
            return pd.CategoricalDtype(categories, ordered)
        if text.startswith("arrow: "):
            return pd.ArrowDtype(_LIBRARIES["pyarrow"].dtype_named(text.removeprefix("arrow: ")))
        return pd.api.types.pandas_dtype(text)

    def restored(self, name: str, cells: Sequence[Any], dtype: Any) -> Any:
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


def _missing_value(dtype: Any) -> Any:
    return np.nan if isinstance(dtype, np.dtype) and dtype.kind == "f" else pd.NA


class _Polars(Library):
    name = "polars"

    def _polars(self) -> Any:
        return _imported("polars")

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
            return levels.gather(pl.Series(_codes(cells)).replace(-1, None))
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
                values[i] = _scalar(cell, feature, dtype.is_decimal(), dtype.is_integer())
            for i in missing:
                values[i] = None
            result = result.with_columns(pl.Series(name, values, dtype=dtype, strict=False))
        return result

    def take(self, frame: Any, positions: np.ndarray) -> Any:
        return frame[positions.tolist()]

    def make(self, columns: Mapping[str, Sequence[Any] | np.ndarray], index: Sequence[Any] | None = None) -> Any:
        return self._polars().DataFrame({name: _portable(values) for name, values in columns.items()}, strict=False)

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
        return pl.Decimal(*json.loads(arguments)) if name == "Decimal" else getattr(pl, name)()

    def restored(self, name: str, cells: Sequence[Any], dtype: Any) -> Any:
        return self._polars().Series(name, list(cells), dtype=dtype, strict=False)

    def assembled(self, columns: Mapping[str, Any], index: Any) -> Any:
        return self._polars().DataFrame(list(columns.values()))

    def series(self, name: str, values: Sequence[Any] | np.ndarray, like: Any) -> Any:
        return self._polars().Series(name, values)


class _Arrow(Library):
    name = "pyarrow"

    def _arrow(self) -> Any:
        return _imported("pyarrow")

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
        return [_scalar(cell, feature, as_decimal, as_int) for cell in cells]

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
        return self._arrow().table({name: _portable(values) for name, values in columns.items()})

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


def _portable(values: Sequence[Any] | np.ndarray) -> Any:
    """A column of one type: texts where values of several types stand side by side (these libraries have no such)."""
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    kinds = {type(item) for item in items if item is not None}
    if len(kinds) <= 1 or kinds <= {int, float}:
        return [float(item) if item is not None and float in kinds else item for item in items]
    return [None if item is None else str(item) for item in items]


_LIBRARIES: dict[str, Library] = {"pandas": _Pandas(), "polars": _Polars(), "pyarrow": _Arrow()}


def _imported(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(f"{module} is not installed; install it to write {module} frames") from None


def library_of(frame: Any) -> Library | None:
    """The library a native frame belongs to; None where it is none."""
    if nw.dependencies.is_pandas_dataframe(frame):
        return _LIBRARIES["pandas"]
    if nw.dependencies.is_polars_dataframe(frame):
        return _LIBRARIES["polars"]
    if nw.dependencies.is_pyarrow_table(frame):
        return _LIBRARIES["pyarrow"]
    return None


def library_of_column(column: nw.Series[Any]) -> Library:
    """The library of the frame that a column came from."""
    return Library.named(str(column.implementation))


def not_a_frame(frame: object, name: str = "X") -> DataError:
    """The complaint about something that is no frame."""
    found, remedy = type(frame).__name__, "pass a pandas, polars or pyarrow table, or a two-dimensional array"
    if hasattr(frame, "toarray"):
        remedy = f"sparse matrices are not supported: pass {name}.toarray()"
    elif hasattr(frame, "collect"):
        remedy = f"pass {name}.collect()"
    return DataError(f"{name} is a {found}; {remedy}")


def frame_of_array(array: np.ndarray, names: Sequence[str] | None, name: str = "X") -> pd.DataFrame:
    """A pandas frame that holds the array; its columns are called `names`, or x0, x1, …"""
    if array.ndim != 2:
        raise DataError(f"{name} is an array of {array.ndim} dimensions; reshape it to rows and columns")
    if np.iscomplexobj(array):
        raise DataError(f"{name} holds complex numbers; it takes real ones")
    names = [f"x{j}" for j in range(array.shape[1])] if names is None else list(names)
    if array.shape[1] != len(names):
        raise DataError(f"{name} has {array.shape[1]} columns, but the schema has {len(names)}")
    return pd.DataFrame(array, columns=names)
