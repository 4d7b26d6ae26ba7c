"""pandas, polars, pyarrow and other data-frame libraries, behind one interface.

narwhals reads all of them alike. What it cannot do (write a column back with exactly its own dtype, row labels) is done
by a `Library`. Only pandas is required; the others are imported when one of their frames is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd

from attain.core.errors import DataError, listed, repeated
from attain.core.frames.base import Arrow, Domain, Library
from attain.core.frames.pandas import Pandas

__all__ = [
    "Arrow",
    "Domain",
    "Frame",
    "Library",
    "library_named",
    "library_names",
    "library_of",
    "one_row",
    "open_frame",
    "register",
]

Frame: TypeAlias = Any
"""A frame of a known library, such as a pandas, polars or pyarrow table, or a two-dimensional NumPy array."""

_LIBRARIES: dict[str, Library] = {library.name: library for library in (Pandas(), Arrow(), Library("polars"))}


def register(library: Library) -> None:
    """Makes a frame library known by its name; see CONTRIBUTING for what it takes to write one."""
    if not isinstance(library, Library) or not isinstance(getattr(library, "name", None), str):
        raise DataError(f"register takes an instance of attain.core.frames.Library with a name, got {library!r}")
    _LIBRARIES[library.name] = library


def library_names() -> tuple[str, ...]:
    """The names of the known libraries."""
    return tuple(_LIBRARIES)


def library_named(name: str) -> Library:
    """The library called `name`."""
    if name not in _LIBRARIES:
        raise DataError(f"there is no frame library {name!r}; registered are {', '.join(_LIBRARIES)}")
    return _LIBRARIES[name]


def library_of(frame: Any, name: str = "X") -> Library:
    """The library of a native frame, or a `DataError` where `frame` is not one; `name` is used in the message."""
    try:
        for library in _LIBRARIES.values():
            if library.recognises(frame):
                return library
        opened = nw.from_native(frame, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{name} has several columns with the same name; keep one of each ({error})") from None
    if isinstance(opened, nw.DataFrame):  # narwhals supports it, so nothing needs to be written for it
        register(Library(str(opened.implementation)))
        return _LIBRARIES[str(opened.implementation)]
    found, remedy = type(frame).__name__, f"pass a {', '.join(_LIBRARIES)} table, or a two-dimensional array"
    if hasattr(frame, "toarray"):
        remedy = f"sparse matrices are not supported: pass {name}.toarray()"
    elif hasattr(frame, "collect"):
        remedy = f"pass {name}.collect()"
    raise DataError(f"{name} is a {found}; {remedy}")


def open_frame(frame: Frame, name: str, names: Sequence[str] | None = None) -> tuple[Any, Library, tuple[str, ...]]:
    """The native frame, its library and its column names, which are strings and distinct.

    The columns of an array are called `names`, or x0, x1, …; `name` is what messages call the frame.
    """
    if isinstance(frame, np.ndarray):
        frame = _frame_of_array(frame, names, name)
    library = library_of(frame, name)
    columns = library.columns(frame)
    odd = [column for column in columns if not isinstance(column, str)]
    if odd:
        raise DataError(f"{name} has column names that are not strings: {listed(odd)}; rename them")
    if twice := repeated(columns):
        raise DataError(f"{name} has several columns with the same name: {listed(twice)}; keep one of each")
    return frame, library, tuple(columns)


def one_row(record: Any, name: str = "X") -> Frame:
    """A dictionary or a pandas series of cells by column, as a frame of one row; anything else as it is.

    The row is labelled with the series' name, or 0.
    """
    if isinstance(record, pd.Series):
        odd = [column for column in record.index if not isinstance(column, str)]
        if odd:
            raise DataError(
                f"{name} is a Series labelled with {listed(odd)}, which are not names of columns; pass a frame, or one "
                "row of it"
            )
        label = 0 if record.name is None else record.name
        return pd.DataFrame([record.tolist()], columns=record.index, index=pd.Index([label]))
    if not isinstance(record, Mapping):
        return record
    if any(
        isinstance(cell, Sequence | np.ndarray | pd.Series) and not isinstance(cell, str) for cell in record.values()
    ):
        raise DataError(
            f"{name} is a dictionary of columns; pass a frame of them, such as pandas.DataFrame({name}), or a "
            "dictionary with one cell for each column"
        )
    return pd.DataFrame([list(record.values())], columns=list(record))


def _frame_of_array(array: np.ndarray, names: Sequence[str] | None, name: str) -> pd.DataFrame:
    if array.ndim != 2:
        raise DataError(f"{name} must be a two-dimensional array, got {array.ndim} dimensions; reshape it")
    if np.iscomplexobj(array):
        raise DataError(f"{name} must hold real numbers, got complex ones")
    names = [f"x{j}" for j in range(array.shape[1])] if names is None else list(names)
    if array.shape[1] != len(names):
        raise DataError(f"{name} has {array.shape[1]} columns, but the schema has {len(names)}")
    return pd.DataFrame(array, columns=names)
