"""What a data-frame library must be able to do, and what its rooms share."""

from __future__ import annotations

import decimal
import importlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from attain.core.errors import MissingExtraError
from attain.schema import Feature

Cells = tuple[np.ndarray, Feature, Any]
"""A column of the matrix, its feature, and the dtype it shall have (None: the library's own choice)."""
Edit = tuple[np.ndarray, np.ndarray, np.ndarray, Feature]
"""Where a column changes, the new cells of the matrix, which rows become missing, and the feature."""

_LARGEST_FLOATS = {"float32": 3.4e38, "float": 3.4e38, "float16": 65504.0, "halffloat": 65504.0}
"""By what each library calls its short floats."""
_INTEGER = re.compile(r"(u?)int(\d+)", re.IGNORECASE)


class Library(ABC):
    """One data-frame library."""

    name: str

    @abstractmethod
    def columns(self, frame: Any) -> Sequence[Any]:
        """The column names, in order, with repetitions."""

    def labels(self, frame: Any) -> Sequence[Any]:
        """What a row is called: its position, where the library has no index."""
        return range(self.length(frame))

    @abstractmethod
    def length(self, frame: Any) -> int: ...

    @abstractmethod
    def dtype(self, frame: Any, column: str) -> Any:
        """The dtype of a column: all that is needed to write another one like it."""

    @abstractmethod
    def is_integer(self, dtype: Any) -> bool: ...

    @abstractmethod
    def scale(self, dtype: Any) -> int | None:
        """How many digits a column of decimals has after the point; None for any other column."""

    def step(self, dtype: Any) -> float | None:
        """The grid the dtype itself puts values on: 1 for whole numbers, the last digit of decimals."""
        scale = 0 if self.is_integer(dtype) else self.scale(dtype)
        return None if scale is None else float(f"1e-{scale}")

    def missing(self, dtype: Any) -> Any:
        """What stands in an array of objects for a missing cell of a column of this dtype."""
        return None

    def holds(self, dtype: Any, cells: np.ndarray) -> bool:
        """Whether a column of whole numbers or decimals holds these cells exactly, and one of floats at all."""
        present = cells[~np.isnan(cells)]
        largest = _LARGEST_FLOATS.get(str(dtype).lower().removesuffix("[pyarrow]"), np.inf)
        if (np.abs(present) > largest).any():
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


def imported(module: str) -> Any:
    """An optional library, or a `MissingExtraError` where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(f"{module} is not installed; install it to write {module} frames") from None


def codes(cells: np.ndarray) -> np.ndarray:
    """Positions of levels, −1 where missing."""
    return np.where(np.isnan(cells), -1, cells).astype(np.intp)


def scalar(cell: float, feature: Feature, *, as_decimal: bool, as_int: bool) -> Any:
    """A cell of the matrix as the Python value a column of that dtype takes."""
    if np.isnan(cell):
        return None
    if not feature.numeric:
        return feature.levels[int(cell)]
    if as_decimal:
        return decimal.Decimal(repr(float(cell)))
    return int(cell) if as_int else float(cell)


def portable(values: Sequence[Any] | np.ndarray) -> list[Any]:
    """A column of one type, as polars and pyarrow want it: texts where values of several types stand side by side."""
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    kinds = {type(item) for item in items if item is not None}
    if len(kinds) <= 1 or kinds <= {int, float}:
        return [float(item) if item is not None and float in kinds else item for item in items]
    return [None if item is None else str(item) for item in items]


def _integer_range(dtype: str) -> tuple[float, float]:
    """The least value of a dtype such as UInt8 or int64, and the first above its largest."""
    match = _INTEGER.search(dtype)
    unsigned, bits = (bool(match[1]), int(match[2])) if match else (False, 64)
    return (0.0, 2.0**bits) if unsigned else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))
