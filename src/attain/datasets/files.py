"""Finding the file of a data set on disk, reading it, and making sure that it is the right one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from attain.core.errors import DataError, MissingDataSetError, listed
from attain.datasets.dataset import Dataset, fingerprint

ENDINGS = (".csv", ".csv.gz", ".csv.zip")


def cache_folder() -> Path:
    """Where files that are not named otherwise are looked for: `ATTAIN_CACHE`, or else `~/.cache/attain`."""
    named = os.environ.get("ATTAIN_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "attain"


def find(name: str, stems: Sequence[str], path: str | os.PathLike[str] | None, advice: str) -> Path:
    """The file of the data set, or a `MissingDataSetError` that ends with the advice.

    Parameters
    ----------
    name
        The data set, which is also the name of the subfolder in which its files may lie.
    stems
        File names without their ending, the preferred one first.
    path
        What the caller named: the file itself, or a folder to look into instead of the usual places.
    advice
        Where to get the file.
    """
    if path is not None:
        named = Path(path).expanduser()
        if named.is_file():
            return named
        if not named.is_dir():
            raise MissingDataSetError(f"path is {str(named)!r}, and there is no such file or folder. {advice}")
        folders = [named]
    else:
        folders = list(_usual_folders())
    for stem in stems:
        for folder in folders:
            for candidate in _candidates(folder, name, stem):
                if candidate.is_file():
                    return candidate
    places = ", ".join(f"{str(folder)!r}" for folder in folders)
    names = " or ".join(f"{stem}.csv" for stem in stems)
    raise MissingDataSetError(
        f"the data set {name!r} is not here: there is no {names} (plain, .gz or .zip) in {places}, nor in a subfolder "
        f"{name!r} there. {advice} Put it into one of these folders, name its folder in the environment variable "
        "ATTAIN_DATA, or pass path=."
    )


def _usual_folders() -> Iterator[Path]:
    named = os.environ.get("ATTAIN_DATA")
    if named:
        yield Path(named).expanduser()
    yield cache_folder()


def _candidates(folder: Path, name: str, stem: str) -> Iterator[Path]:
    for ending in ENDINGS:
        yield folder / name / (stem + ending)
        yield folder / (stem + ending)


def read(path: Path) -> pd.DataFrame:
    """The file as a frame."""
    try:
        # Level names such as "None" or "NA" are texts; an empty cell is missing.
        return pd.read_csv(path, keep_default_na=False, na_values=["", "NA"])
    except (OSError, UnicodeDecodeError, ValueError) as problem:
        raise DataError(f"{str(path)!r} cannot be read as a table of comma-separated values: {problem}") from problem


def check_columns(frame: pd.DataFrame, needed: Iterable[str], where: str) -> None:
    """Refuses a frame that lacks a column."""
    lacking = [column for column in needed if column not in frame.columns]
    if lacking:
        raise DataError(
            f"{where} lacks the columns {listed(lacking)}; it has {listed(frame.columns)}. Is it the right file?"
        )


@dataclass(frozen=True)
class Published:
    """What the published data set is called, and by what its records are known."""

    title: str
    rows: int
    fingerprint: str

    def difference(self, data: Dataset) -> str | None:
        """How other records differ from the published ones, in words; None where they are the same."""
        if len(data.X) != self.rows:
            return f"it gives {len(data.X)} rows, and the published one gives {self.rows}"
        if fingerprint(data.X, data.y) != self.fingerprint:
            return f"it gives {self.rows} rows as it should, but some values differ from the published ones"
        return None


def check_content(data: Dataset, published: Published, where: str) -> None:
    """Refuses records that are not those of the published data set."""
    difference = published.difference(data)
    if difference is not None:
        raise DataError(
            f"{where} is not {published.title} as published: {difference}. Get the original file, or pass check=False "
            "to use this one"
        )


def whole(frame: pd.DataFrame, columns: Iterable[str], where: str) -> pd.DataFrame:
    """A copy in which the named columns are int64; a `DataError` where a cell is missing or no whole number."""
    copy = frame.copy()
    for column in columns:
        try:
            copy[column] = copy[column].astype("int64")
        except (TypeError, ValueError):
            raise DataError(f"the column {column!r} of {where} holds something that is no whole number") from None
        if not (copy[column] == frame[column]).all():
            raise DataError(f"the column {column!r} of {where} holds something that is no whole number")
    return copy
