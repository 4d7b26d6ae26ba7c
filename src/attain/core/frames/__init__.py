"""What differs between pandas, polars and pyarrow: reading labels and dtypes, writing columns.

narwhals reads all three alike; writing a column back with exactly its own dtype, filling a frame from the matrix, and
row labels are done natively here, in one room a library. Only pandas is needed; the others are imported when one of
their frames is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd

from attain.core.errors import DataError
from attain.core.frames.arrow import Arrow
from attain.core.frames.base import Library
from attain.core.frames.pandas import Pandas
from attain.core.frames.polars import Polars

__all__ = [
    "Frame",
    "Library",
    "frame_of_array",
    "is_missing",
    "library_named",
    "library_of",
    "library_of_column",
    "not_a_frame",
]

Frame: TypeAlias = Any
"""A pandas, polars or pyarrow table, or a two-dimensional numpy array."""

_LIBRARIES: dict[str, Library] = {library.name: library for library in (Pandas(), Polars(), Arrow())}


def library_named(name: str) -> Library:
    """The library called `name`."""
    if name not in _LIBRARIES:
        raise DataError(f"there is no frame library {name!r}; it is one of {', '.join(_LIBRARIES)}")
    return _LIBRARIES[name]


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
    return library_named(str(column.implementation))


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


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA refuses to be a boolean
        return True
    except (ValueError, ArithmeticError):  # an array has no one truth, a signalling decimal none at all
        return False
