"""People read from files in slices, so that memory does not grow with their number."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import pandas as pd

from attain.core.errors import DataError, FileError, listed
from attain.core.files import file_digest
from attain.schema import Schema
from attain.tables import files

_BLOCK: Final = 2**20
"""Bytes read at once."""
_BATCH: Final = 4096
"""Rows that are decoded at once."""


class PeopleStream:
    """The people of a CSV or Parquet file, or of all Parquet files of a folder in the order of their names.

    Parameters
    ----------
    path
        The file or folder.
    schema
        What the columns are; others are ignored.
    index
        The column with the names of people; by default the index that pandas wrote into a Parquet file, or else people
        are numbered from 0.
    separator
        That of a CSV file.
    """

    def __init__(self, path: str, schema: Schema, *, index: str | None = None, separator: str | None = None) -> None:
        self.path, self.schema, self._separator = path, schema, separator
        self.files = _files(path)
        self.is_csv = files.ending_of(self.files[0]) not in files.PARQUET
        columns = files.columns_of(self.files[0], separator)
        self.index, self._features = files.chosen_columns(self.files[0], columns, schema, index=index)
        """The column with the names of people; None where they are numbered."""
        if not self.is_csv and self.index is None:
            self.index = self._written_index()
        self.left_out = [name for name in columns if name not in schema and name != self.index]
        self._wanted = [*self._features, *([] if self.index is None else [self.index])]

    @property
    def index_name(self) -> str | None:
        """The name of the index; None where it is unknown."""
        return None if not self.index or files.UNNAMED_INDEX.fullmatch(self.index) else self.index

    @cached_property
    def integers(self) -> bool:
        """Whether people's names are integers; words of a CSV file are not."""
        if self.index is None or self.is_csv:
            return self.index is None
        import pyarrow

        return bool(pyarrow.types.is_integer(self._opened(self.files[0]).schema_arrow.field(self.index).type))

    @cached_property
    def rows(self) -> int:
        """The number of people; for CSV files that of lines, which is more if cells have several lines."""
        if self.is_csv:
            lines, last = 0, b"\n"
            with open(self.path, "rb") as file:
                for block in iter(partial(file.read, _BLOCK), b""):
                    lines, last = lines + block.count(b"\n"), block[-1:]
            return max(lines - (last == b"\n"), 0)
        return sum(self._opened(path).metadata.num_rows for path in self.files)

    def digest(self) -> str:
        """A hash of all bytes of the files."""
        try:
            digests = [file_digest(path) for path in self.files]
        except OSError as error:
            raise FileError(f"{self.path!r} could not be read: {error.strerror or error}") from None
        return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()

    def slices(self, size: int, wanted: Callable[[int], bool] = lambda _: True) -> Iterator[tuple[int, pd.DataFrame]]:
        """The wanted slices of `size` people, each with its number from 0; their names or numbers are the index."""
        current, held = -1, list[Any]()
        for start, table in self._tables(lambda first, last: any(map(wanted, range(first // size, last // size + 1)))):
            stop = start + table.num_rows
            for k in range(start // size, (stop - 1) // size + 1):
                if k != current:
                    current, held = k, []
                first = max(k * size, start)
                held.append(table.slice(first - start, min((k + 1) * size, stop) - first))
                if stop >= (k + 1) * size and wanted(k):
                    yield k, self._frame(held, k * size)
                    held = []
        if held and wanted(current):
            yield current, self._frame(held, current * size)

    def _tables(self, needed: Callable[[int, int], bool]) -> Iterator[tuple[int, Any]]:
        """Batches of rows, each with the position of its first one.

        A part of a Parquet file is left out if it is not `needed`, by the positions of its first and its last row.
        """
        start = 0
        if self.is_csv:
            for batch in self._csv_batches():
                yield start, batch
                start += batch.num_rows
            return
        for path in self.files:
            file = self._opened(path)
            for group in range(file.metadata.num_row_groups):
                stop = start + file.metadata.row_group(group).num_rows
                if stop > start and needed(start, stop - 1):
                    at = start
                    with files.reading_parquet(path):
                        for batch in file.iter_batches(_BATCH, [group], self._wanted, use_threads=False):
                            yield at, batch
                            at += batch.num_rows
                start = stop

    def _csv_batches(self) -> Iterator[Any]:
        import pyarrow.csv

        with files.reading_csv(self.path):
            options = files.csv_options(self.path, self._separator, self._wanted, pyarrow.string())
            options["read_options"].block_size = _BLOCK
            with pyarrow.csv.open_csv(self.path, **options) as reader:
                yield from (batch for batch in reader if batch.num_rows)

    def _frame(self, parts: list[Any], start: int) -> pd.DataFrame:
        import pyarrow

        table = pyarrow.Table.from_batches(parts)
        if self.is_csv:
            cells = {name: pd.Categorical(table[name].dictionary_encode().to_pandas()) for name in self._features}
            frame = pd.DataFrame(
                {
                    name: files.converted(cells[name], partial(files.column_of, feature=self.schema[name]))
                    for name in self._features
                }
            )
        else:
            frame = table.select(self._features).to_pandas(ignore_metadata=True)
        if self.index is None:
            frame.index = pd.RangeIndex(start, start + len(frame))
        else:
            frame.index = pd.Index(table[self.index].to_pandas(), name=self.index_name)
        return frame

    def _opened(self, path: str) -> Any:
        with files.reading_parquet(path):
            file = files.parquet_module().ParquetFile(path, buffer_size=_BLOCK, pre_buffer=False)
        absent = [name for name in self._wanted if name not in file.schema_arrow.names]
        if absent:
            raise DataError(f"{path!r} lacks columns that {self.files[0]!r} has: {listed(absent)}")
        return file

    def _written_index(self) -> str | None:
        """The column with the index that pandas wrote into the file."""
        with files.reading_parquet(self.files[0]):
            written = (files.parquet_module().read_schema(self.files[0]).pandas_metadata or {}).get("index_columns", [])
        return written[0] if len(written) == 1 and isinstance(written[0], str) else None


def _files(path: str) -> list[str]:
    if not Path(path).is_dir():
        return [path]
    found = sorted(str(file) for file in Path(path).iterdir() if files.ending_of(str(file)) in files.PARQUET)
    if not found:
        raise FileError(f"the folder {path!r} has no Parquet files; name a folder that has, or a file")
    return found
