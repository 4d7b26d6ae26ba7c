"""A folder of answers, read slice after slice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from attain.core.checks import free_name
from attain.core.errors import DataError, FileError
from attain.core.files import parse_json, read_text
from attain.core.progress import track
from attain.metrics import AnswerMatrix
from attain.results.status import Status
from attain.scale.shards import RUN, Shards
from attain.schema import Schema
from attain.schema.schema import without_bounds
from attain.tables import Table
from attain.tables.files import parquet_module, reading_parquet
from attain.tables.streams import PeopleStream


class AnswersFolder:
    """A folder that `attain.scale.explain` has filled, with the people it is about.

    Parameters
    ----------
    folder
        The folder.
    people
        The file of people that was explained.
    schema
        The schema that it was explained with.
    index, separator
        The column with people's names and the separator of that file.
    """

    def __init__(
        self, folder: str, people: str, schema: Schema, *, index: str | None = None, separator: str | None = None
    ) -> None:
        self._shards, self.schema = Shards(folder), schema
        try:
            self._run = _checked(parse_json(read_text(self._shards.folder / RUN)))
        except (ValueError, LookupError, TypeError):
            raise FileError(
                f"{folder!r} is not a folder of answers, which `attain explain --out FOLDER/` writes"
            ) from None
        self.stream = PeopleStream(people, schema, index=index, separator=separator)
        if self.stream.digest() != self._run["people_digest"]:
            raise FileError(f"{folder!r} has answers to other people than {people!r}; name the file that was explained")
        missing = -(-self.stream.rows // self._size) - len(self._shards.done())
        if missing > 0 and not self.stream.is_csv:
            raise FileError(f"{folder!r} lacks {missing} files of answers; finish the run with the same command first")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the run."""
        found: dict[str, Any] = self._run["settings"]
        return found

    @property
    def _size(self) -> int:
        return int(self._run["people_per_file"])

    def slices(self, target: Any) -> Iterator[AnswerMatrix]:
        """The answers, slice after slice; `target` is the run's, as the model names it."""
        bar = track(self.stream.rows, "measuring")
        try:
            for number, people in self.stream.slices(self._size):
                with reading_parquet(str(self._shards.path(number))):
                    answers = self._slice(number, people, target)
                yield answers
                bar.update(len(people))
        finally:
            bar.close()

    def _slice(self, number: int, people: pd.DataFrame, target: Any) -> AnswerMatrix:
        path, table = str(self._shards.path(number)), Table.read(people, self.schema, "people", errors="status")
        frame = parquet_module().read_table(path).to_pandas()
        names = self.schema.names
        option, status, scored = (frame[free_name(name, names)] for name in ("option", "status", "rows_scored"))
        first = (option.isna() | (option == 1)).to_numpy()
        owners = np.cumsum(first) - 1
        if first.sum() != len(table):
            raise DataError(f"{path!r} has answers to {first.sum()} people, but its slice has {len(table)}")
        given = option.notna().to_numpy()
        read = Table.read(frame.loc[given, list(names)].reset_index(drop=True), without_bounds(self.schema), path)
        answers = np.full(table.values.shape, np.nan)
        answers[owners[given & first]] = read.values[first[given]]
        return AnswerMatrix(
            table,
            answers,
            ~np.isnan(answers).all(axis=1),
            target,
            self.settings["probability"],
            {"rows_scored": scored[first].to_numpy(np.float64)},
            tuple(Status[name] for name in status[first]),
            read.values,
            owners[given],
        )


def _checked(run: Any) -> dict[str, Any]:
    """What `_run.json` says, as far as it is used here."""
    size, settings = run["people_per_file"], run["settings"]
    probability, texts = settings["probability"], (run["people_digest"], settings["method"])
    if (
        type(size) is not int
        or size < 1
        or not all(isinstance(text, str) for text in texts)
        or "target" not in settings
    ):
        raise ValueError
    if probability is not None and not 0 <= probability <= 1:
        raise ValueError
    return dict(run)
