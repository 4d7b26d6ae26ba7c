"""A folder of answers: a Parquet file for each slice of people, what they follow from, and at the end a summary.

`_run.json` says what the answers follow from. A file of answers is written whole or not at all, and its bytes depend on
its people alone; so a run that was stopped at any moment goes on where it was, and ends with the bytes of one that was
not. `_summary.json` is written last. Names that begin with `_` are ignored by whoever reads the folder as one table.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from attain.core.errors import FileError
from attain.core.files import locked, make_folder, parse_json, read_text, write_atomically
from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import flattened
from attain.results.status import Status
from attain.results.text import MEANS
from attain.tables.files import parquet_module, reading_parquet

if TYPE_CHECKING:
    import pyarrow

RUN: Final = "_run.json"

SUMMARY: Final = "_summary.json"
_FORMAT: Final = "attain-answers-1"
_NAME: Final = re.compile(r"part-(\d{8})\.parquet")
_HALF: Final = re.compile(
    r"\.(progress|state|(_run\.json|_summary\.json|_config\.toml|part-\d{8}\.parquet)(\.[0-9a-f]+)?)\.part"
)
"""Files of a run that was killed while it wrote."""
_STATUSES: Final = frozenset(Status.__members__)
_KEY: Final = b"attain"
"""The summary of a file of answers, among the metadata of its schema."""
_PEOPLE: Final = b"people"
"""The digest of the people whom a file answers, there too."""
_DIGEST: Final = "people_digest"
"""That of all people, in `_run.json`."""


@dataclass
class Summary:
    """What can be added up over batches of people.

    Attributes
    ----------
    people, options
        How many there are.
    status
        How many searches ended with each status.
    level
        How many of the best options have each level, where levels are known.
    sums
        For some figures of the best options, their sum and the number of options that have one.
    """

    people: int = 0
    options: int = 0
    status: dict[str, int] = field(default_factory=dict)
    level: dict[str, int] = field(default_factory=dict)
    sums: dict[str, tuple[float, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Counterfactuals) -> Summary:
        """The summary of one result."""
        best = [level for level, first in zip(result.levels, result.best, strict=True) if first and level]
        sums = {}
        for name in MEANS:
            values = result.of_best(name)
            known = values[~np.isnan(values)]
            if known.size:
                sums[name] = (float(known.sum()), int(known.size))
        return cls(len(result), len(result.owners), dict(Counter(map(str, result.statuses))), dict(Counter(best)), sums)

    @classmethod
    def read_text(cls, text: str | bytes) -> Summary:
        """The summary whose `text` this is."""
        facts = parse_json(text)
        found = cls(
            **{**facts, "sums": {name: (float(total), count) for name, (total, count) in facts["sums"].items()}}
        )
        counts = [found.people, found.options, *found.status.values(), *found.level.values()]
        counts += [count for _, count in found.sums.values()]
        if not all(type(count) is int and count >= 0 for count in counts) or not found.status.keys() <= _STATUSES:
            raise ValueError("a summary has unknown statuses, or counts that are not integers")
        return found

    @property
    def text(self) -> str:
        """The summary as JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    def add(self, other: Summary) -> None:
        """Adds the summary of other people."""
        self.people, self.options = self.people + other.people, self.options + other.options
        self.status = dict(sorted((Counter(self.status) + Counter(other.status)).items()))
        self.level = dict(sorted((Counter(self.level) + Counter(other.level)).items()))
        for name, (total, number) in other.sums.items():
            before = self.sums.get(name, (0.0, 0))
            self.sums[name] = (before[0] + total, before[1] + number)

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


People = Callable[[], Iterable[tuple[int, pd.DataFrame]]]
"""Reads slices of people, each with its number."""


class Shards:
    """The files of answers in a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @contextmanager
    def opened(self, run: Mapping[str, Any], people: People) -> Iterator[None]:
        """Makes the folder, or goes on with the same run; only one process at a time does so.

        Where some people have changed since, answers to the slices of others are kept.
        """
        make_folder(self.folder)
        if not (self.folder / RUN).exists() and not all(_is_ours(path) for path in self.folder.iterdir()):
            raise FileError(f"the folder {str(self.folder)!r} has files of something else; name a new folder")
        busy = f"another process is writing answers into {str(self.folder)!r}; wait until it ends, or name a new folder"
        with locked(self.folder / RUN, busy):
            self._tidy()
            try:
                self._check({"format": _FORMAT, **run}, people)
                yield
            finally:
                self._tidy()

    def _tidy(self) -> None:
        """Removes what a process left that was killed while it wrote."""
        for path in self.folder.iterdir():
            if _HALF.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def _check(self, run: Mapping[str, Any], people: People) -> None:
        path = self.folder / RUN
        content = (json.dumps(run, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
        if not path.exists():
            write_atomically(path, content)
            return
        try:
            before = parse_json(read_text(path))
        except ValueError:
            raise FileError(f"{str(path)!r} cannot be read; name a new folder for the answers") from None
        old, new = dict(flattened(before)), dict(flattened(json.loads(json.dumps(run))))
        other = [name for name in {**new, **old} if old.get(name) != new.get(name)]
        if other == [_DIGEST] and self._kept(people()):
            write_atomically(path, content)
        elif other:
            raise FileError(
                f"the folder {str(self.folder)!r} has answers of another run, which differs in {', '.join(other[:5])}; "
                "name a new folder, or delete this one to start again"
            )

    def _kept(self, people: Iterable[tuple[int, pd.DataFrame]]) -> bool:
        """Deletes answers to people who have changed since; false, and nothing is deleted, where all have."""
        same = {number for number, frame in people if self._digest(number) == digest_of(frame)}
        if same:
            (self.folder / SUMMARY).unlink(missing_ok=True)
            for number in self.done() - same:
                self.path(number).unlink()
        return bool(same)

    def _digest(self, number: int) -> str | None:
        """The digest of the people of a slice that is answered."""
        with reading_parquet(str(self.path(number))):
            return self._metadata(number)[_PEOPLE].decode() if self.path(number).exists() else None

    def _metadata(self, number: int) -> Mapping[bytes, bytes]:
        found: Mapping[bytes, bytes] = parquet_module().read_schema(str(self.path(number))).metadata
        return found or {}

    def path(self, number: int) -> Path:
        """The file with the answers to the people of a slice."""
        return self.folder / f"part-{number:08d}.parquet"

    def done(self) -> set[int]:
        """The numbers of the slices that are answered."""
        return {int(match[1]) for file in self.folder.iterdir() if (match := _NAME.fullmatch(file.name))}

    def write(self, number: int, table: pyarrow.Table, summary: Summary, people: pd.DataFrame) -> None:
        """Writes the answers to a slice of people."""
        buffer = io.BytesIO()
        table = table.replace_schema_metadata({_KEY: summary.text.encode(), _PEOPLE: digest_of(people).encode()})
        parquet_module().write_table(table, buffer, compression="zstd")
        write_atomically(self.path(number), buffer.getvalue())

    def summary(self, number: int) -> Summary:
        """The summary of a slice."""
        with reading_parquet(str(self.path(number))):
            return Summary.read_text(self._metadata(number)[_KEY])

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
        write_atomically(self.folder / SUMMARY, (json.dumps(facts, indent=1, sort_keys=True) + "\n").encode())
        return total


def digest_of(people: pd.DataFrame) -> str:
    """A hash of the cells and names of people."""
    cells = pd.util.hash_pandas_object(people, index=True).to_numpy()
    return hashlib.sha256(cells.tobytes()).hexdigest()


def _is_ours(path: Path) -> bool:
    return path.name == f"{RUN}.lock" or _HALF.fullmatch(path.name) is not None
