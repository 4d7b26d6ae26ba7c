"""A folder of answers: a Parquet file for each slice of people, what the answers follow from, and a summary.

`_run.json` says what the answers follow from. A file of answers is written whole or not at all, and its bytes depend on
its people alone; so a run that was stopped at any moment continues where it was, and ends with the bytes of one that
was not stopped. `_summary.json` is written last. Programs that read the folder as one table ignore names that begin
with `_`.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

import numpy as np
import pandas as pd
from msgspec import Meta, Struct

from attain.core.errors import DataError, FileError, free_name
from attain.core.files import as_kind, locked, make_folder, parse_json, read_text, write_atomically
from attain.core.progress import ProgressBar
from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import flattened
from attain.results.levers import lever_counts
from attain.results.status import Status
from attain.results.text import MEANS
from attain.schema import Schema
from attain.schema.schema import without_bounds
from attain.tables import Table
from attain.tables.files import parquet_module, reading_parquet
from attain.tables.streams import PeopleStream

if TYPE_CHECKING:
    import pyarrow

    from attain.metrics import AnswerMatrix

_RUN: Final = "_run.json"
_SUMMARY: Final = "_summary.json"
_FORMAT: Final = "attain-answers-1"
_NAME: Final = re.compile(r"part-(\d{8})\.parquet")
_PARTIAL: Final = re.compile(r"\.(_(run|summary)\.json|_config\.toml|part-\d{8}\.parquet)\.[0-9a-f]+\.part")
"""Files of a run that was killed while it wrote."""
_KEY: Final = b"attain"
"""The summary of a file of answers, among the metadata of its schema."""
_PEOPLE: Final = b"people"
"""The digest of the people in a file of answers, also among its metadata."""
_DIGEST: Final = "people_digest"
"""The digest of all people, in `_run.json`."""

Count = Annotated[int, Meta(ge=0)]


@dataclass
class Summary:
    """Figures that can be added up over batches of people.

    Attributes
    ----------
    people, options
        How many there are.
    status
        How many searches ended with each status.
    verdict, changed, unreviewed
        How many of the best options have each verdict, and change each feature, and each that nobody has reviewed.
    sums
        For some figures of the best options, their sum and the number of options that have one.
    """

    people: Count = 0
    options: Count = 0
    status: dict[str, Count] = field(default_factory=dict)
    verdict: dict[str, Count] = field(default_factory=dict)
    changed: dict[str, Count] = field(default_factory=dict)
    unreviewed: dict[str, Count] = field(default_factory=dict)
    sums: dict[str, tuple[float, Count]] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Counterfactuals) -> Summary:
        """The summary of one result."""
        statuses, verdicts = Counter(map(str, result.statuses)), Counter(map(str, filter(None, result.best_verdicts)))
        figures = {name: values[~np.isnan(values)] for name in MEANS if (values := result.best_figure(name)).size}
        sums = {name: (float(values.sum()), int(values.size)) for name, values in figures.items() if values.size}
        counts = dict(statuses), dict(verdicts), lever_counts(result), dict(result.unreviewed)
        return cls(len(result), len(result.owners), *counts, sums)

    def add(self, other: Summary) -> None:
        """Adds the summary of other people."""
        self.people, self.options = self.people + other.people, self.options + other.options
        for name in ("status", "verdict", "changed", "unreviewed"):
            total = Counter(getattr(self, name)) + Counter(getattr(other, name))
            setattr(self, name, dict(sorted(total.items())))
        for name, (added, number) in other.sums.items():
            before = self.sums.get(name, (0.0, 0))
            self.sums[name] = (before[0] + added, before[1] + number)

    @property
    def found(self) -> int:
        """How many people have an answer."""
        return self.status.get(Status.FOUND.name, 0)

    @property
    def asked(self) -> int:
        """How many people needed an answer."""
        return self.people - self.status.get(Status.ALREADY_DESIRED.name, 0)

    @property
    def means(self) -> dict[str, float]:
        """The mean of each figure over the best options that have one."""
        return {name: total / number for name, (total, number) in self.sums.items()}


class Shards:
    """The files of answers in a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @contextmanager
    def opened(
        self, run: Mapping[str, Any], people: Callable[[], Iterable[tuple[int, pd.DataFrame]]]
    ) -> Iterator[None]:
        """Makes the folder, or continues the same run; only one process at a time does so.

        A file of answers stays where it is about the very `people` of its slice; others are deleted.
        """
        make_folder(self.folder)
        lock = f"{_RUN}.lock"
        if not (self.folder / _RUN).exists() and any(
            path.name != lock and not _PARTIAL.fullmatch(path.name) for path in self.folder.iterdir()
        ):
            raise FileError(f"the folder {str(self.folder)!r} has files of something else; name a new folder")
        busy = f"another process is writing answers into {str(self.folder)!r}; wait until it ends, or name a new folder"
        with locked(self.folder / _RUN, busy):
            self._tidy()
            try:
                self._check({"format": _FORMAT, **run}, people)
                yield
            finally:
                self._tidy()

    def _tidy(self) -> None:
        for path in self.folder.iterdir():
            if _PARTIAL.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def _check(self, run: Mapping[str, Any], people: Callable[[], Iterable[tuple[int, pd.DataFrame]]]) -> None:
        """Refuses a folder of another run, and deletes answers to other people than those of the slice."""
        path, content = self.folder / _RUN, _json_lines(run)
        try:
            before = parse_json(read_text(path)) if path.exists() else {}
        except ValueError:
            raise FileError(f"{str(path)!r} cannot be read; name a new folder for the answers") from None
        old, new = dict(flattened(before)), dict(flattened(parse_json(content)))
        other = [name for name in {**new, **old} if before and old.get(name) != new.get(name)]
        done = self.done()
        same = self._same(done, people()) if done and other in ([], [_DIGEST]) else set()
        if other and not same:
            raise FileError(
                f"the folder {str(self.folder)!r} has answers of another run, which differs in {', '.join(other[:5])}; "
                "name a new folder, or delete this one to start again"
            )
        if other or same != done:
            (self.folder / _SUMMARY).unlink(missing_ok=True)
        for number in done - same:
            self.path(number).unlink()
        if other or not before:
            write_atomically(path, content)

    def _same(self, done: set[int], people: Iterable[tuple[int, pd.DataFrame]]) -> set[int]:
        """Those of the answered slices whose answers are about these people."""
        return {k for k, frame in people if k in done and self._metadata(k)[_PEOPLE] == _digest(frame).encode()}

    def _metadata(self, number: int) -> Mapping[bytes, bytes]:
        with reading_parquet(str(self.path(number))):
            found: Mapping[bytes, bytes] = parquet_module().read_schema(str(self.path(number))).metadata
            return {_PEOPLE: found[_PEOPLE], _KEY: found[_KEY]}

    def path(self, number: int) -> Path:
        """The file with the answers to the people of a slice."""
        return self.folder / f"part-{number:08d}.parquet"

    def done(self) -> set[int]:
        """The numbers of the slices that are answered."""
        return {int(match[1]) for file in self.folder.iterdir() if (match := _NAME.fullmatch(file.name))}

    def write(self, number: int, people: pd.DataFrame, result: Counterfactuals, table: pyarrow.Table) -> Summary:
        """Writes the answers to a slice of people, and gives their summary."""
        buffer, summary = io.BytesIO(), Summary.of(result)
        text = json.dumps(asdict(summary), sort_keys=True)
        table = table.replace_schema_metadata({_KEY: text.encode(), _PEOPLE: _digest(people).encode()})
        parquet_module().write_table(table, buffer, compression="zstd")
        write_atomically(self.path(number), buffer.getvalue())
        return summary

    def summary(self, number: int) -> Summary:
        """The summary of a slice."""
        metadata = self._metadata(number)
        with reading_parquet(str(self.path(number))):
            summary = as_kind(parse_json(metadata[_KEY]), Summary)
            if unknown := summary.status.keys() - Status.__members__.keys():
                raise ValueError(f"a summary has unknown statuses: {', '.join(sorted(unknown))}")
        return summary

    def total(self) -> Summary:
        """The summary of all slices that are answered."""
        total = Summary()
        for number in sorted(self.done()):
            total.add(self.summary(number))
        return total

    def finish(self) -> Summary:
        """Writes the summary of all slices."""
        total = self.total()
        facts = {**asdict(total), "found": total.found, "asked": total.asked, "means": total.means}
        write_atomically(self.folder / _SUMMARY, _json_lines(facts))
        return total


def _json_lines(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _digest(people: pd.DataFrame) -> str:
    """A hash of the cells and names of people."""
    return hashlib.sha256(pd.util.hash_pandas_object(people, index=True).to_numpy().tobytes()).hexdigest()


class _Settings(TypedDict):
    method: str
    target: Any
    probability: Annotated[float, Meta(ge=0, le=1)] | None


class _Run(Struct):
    """What `_run.json` says, as far as it is used to read answers."""

    people_digest: str
    people_per_file: Annotated[int, Meta(ge=1)]
    settings: _Settings


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
            run = as_kind(parse_json(read_text(self._shards.folder / _RUN)), _Run)
        except ValueError:
            raise FileError(
                f"{folder!r} is not a folder of answers, which `attain explain --out FOLDER/` writes"
            ) from None
        self.settings, self._size = run.settings, run.people_per_file
        self.stream = PeopleStream(people, schema, index=index, separator=separator)
        if self.stream.digest() != run.people_digest:
            raise FileError(f"{folder!r} has answers to other people than {people!r}; name the file that was explained")
        missing = -(-self.stream.rows // self._size) - len(self._shards.done())
        if missing > 0 and not self.stream.is_csv:
            raise FileError(f"{folder!r} lacks {missing} files of answers; finish the run with the same command first")

    def slices(self, target: Any) -> Iterator[AnswerMatrix]:
        """The answers, slice after slice; `target` is that of the run, as the model names it."""
        with closing(ProgressBar(self.stream.rows, "measuring")) as bar:
            for number, people in self.stream.slices(self._size):
                with reading_parquet(str(self._shards.path(number))):
                    answers = self._slice(number, people, target)
                yield answers
                bar.update(len(people))

    def _slice(self, number: int, people: pd.DataFrame, target: Any) -> AnswerMatrix:
        from attain.metrics import AnswerMatrix

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
