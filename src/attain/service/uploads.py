"""Uploaded files: read with the limits and in the words of the service."""

from __future__ import annotations

from typing import Literal

import pandas as pd

from attain.core.errors import AttainError, DataError
from attain.schema import Schema
from attain.service.limits import Limits
from attain.tables.files import read_people

Format = Literal["csv", "parquet"]

_SWELL = 20
"""How many times as large as an upload may be, a compressed file may become."""
_WORDS = {"--index": "index", "--separator": "separator", "; choose another --separator": ""}


def read_upload(
    path: str, form: Format, schema: Schema, limits: Limits, index: str | None, separator: str | None
) -> pd.DataFrame:
    """The people of an uploaded file; messages call it “the file”."""
    try:
        if form == "parquet":
            _check_parquet(path, limits)
        frame = read_people(path, schema, index=index, separator=separator).frame
    except AttainError as error:
        message = str(error).replace(repr(path), "the file")
        for flag, word in _WORDS.items():
            message = message.replace(flag, word)
        raise DataError(message) from None
    _check_number(len(frame), limits)
    if not len(frame):
        raise DataError("the file has no rows")
    return frame


def _check_parquet(path: str, limits: Limits) -> None:
    """Refuses a file that would become too large in memory, before it is read."""
    try:
        import pyarrow.parquet

        about = pyarrow.parquet.read_metadata(path)
    except ImportError:
        raise DataError("Parquet files cannot be read here; send CSV") from None
    except (ValueError, OSError):
        raise DataError("the file cannot be read as Parquet") from None
    _check_number(about.num_rows, limits)
    size = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    if size > _SWELL * limits.upload:
        raise DataError(f"the file would take {size:,} bytes; send fewer rows or columns")


def _check_number(people: int, limits: Limits) -> None:
    if people > limits.people:
        raise DataError(f"the file has {people:,} rows; at most {limits.people:,} are taken")
