"""Uploaded files, read by a process of its own whose memory and time are limited: a small file may become large."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from attain.core.errors import AttainError, DataError
from attain.core.files import memory_limit
from attain.schema import Schema
from attain.tables.files import chosen_columns, columns_of, parquet_module, read_people, reading_parquet

Format = Literal["csv", "parquet"]
_WORDS = {"--index": "index", "--separator": "separator", "; choose another --separator": ""}
_BATCH = 1_000
"""Rows of a Parquet file that are decoded at once to see how large they are."""
_SHARE = 4
"""The decoded cells may take one part in so many of the memory: frames are made of them."""
_TOO_LARGE = "the file would become too large in memory; send fewer rows or columns"
_CHILD = "from attain.service.uploads import main; main()"


@dataclass(frozen=True)
class Upload:
    """An uploaded file with one row per person, and how it is to be read.

    Parameters
    ----------
    path, form
        The file, and its format.
    schema
        What its columns are; others are not read.
    index, separator
        As in `attain explain`.
    people, memory, seconds
        The most rows, bytes of memory and seconds.
    """

    path: str
    form: Format
    schema: Schema
    index: str | None
    separator: str | None
    people: int
    memory: int
    seconds: float

    def read(self) -> pd.DataFrame:
        """The people, read by another process."""
        command = [sys.executable, "-P", "-c", _CHILD]
        try:
            done = subprocess.run(command, input=pickle.dumps(self), capture_output=True, timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise DataError(
                f"the file takes longer to read than {self.seconds:g} seconds; send a smaller one"
            ) from None
        if done.returncode:
            raise DataError(_TOO_LARGE)
        frame, wrong = pickle.loads(done.stdout)
        if wrong is not None:
            raise DataError(wrong)
        assert isinstance(frame, pd.DataFrame)
        return frame

    def read_here(self) -> pd.DataFrame:
        """The people, read by this process; messages call it “the file”."""
        try:
            if self.form == "parquet":
                self._check_parquet()
            frame = read_people(self.path, self.schema, index=self.index, separator=self.separator).frame
        except AttainError as error:
            message = str(error).replace(repr(self.path), "the file")
            for flag, word in _WORDS.items():
                message = message.replace(flag, word)
            raise DataError(message) from None
        self._check_number(len(frame))
        if not len(frame):
            raise DataError("the file has no rows")
        return frame

    def _check_parquet(self) -> None:
        """Refuses a file whose cells would become too large, before a frame is made of them."""
        columns = columns_of(self.path)
        index, wanted = chosen_columns(self.path, columns, self.schema, index=self.index)
        decoded = 0
        with reading_parquet(self.path):
            file = parquet_module().ParquetFile(self.path)
            self._check_number(file.metadata.num_rows)
            for batch in file.iter_batches(_BATCH, columns=[*wanted, *([index] if index else [])], use_threads=False):
                decoded += batch.nbytes
                if decoded > self.memory / _SHARE:
                    raise DataError(_TOO_LARGE)

    def _check_number(self, people: int) -> None:
        if people > self.people:
            raise DataError(f"the file has {people:,} rows; at most {self.people:,} are taken")


def main() -> None:
    """Reads an upload from the standard input, and writes its people, or what is wrong, to the standard output."""
    upload: Upload = pickle.load(sys.stdin.buffer)
    answer: tuple[pd.DataFrame | None, str | None]
    try:
        with memory_limit(upload.memory):
            answer = upload.read_here(), None
    except AttainError as error:
        answer = None, str(error)
    except MemoryError:
        answer = None, _TOO_LARGE
    pickle.dump(answer, sys.stdout.buffer)
