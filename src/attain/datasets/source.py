"""`Source`: where the records of one data set are found on disk or at OpenML, and how they are recognised."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from attain.core.errors import DataError, MissingDataSetError, listed
from attain.datasets.dataset import Dataset, fingerprint
from attain.schema import Level, Schema

_ENDINGS = (".csv", ".csv.gz", ".csv.zip")

Build = Callable[[pd.DataFrame, str], Dataset]
"""From a frame, and what to call it in messages, to the data set."""


@dataclass(frozen=True)
class Source:
    """What is known about a data set before its records are read.

    Parameters
    ----------
    name
        The data set, which is also the subfolder that its files may be in.
    label, desired, description, reference, licence
        The column of labels, and what `Dataset` says about the records.
    title
        What the published file is called.
    rows, content
        The number of published records, and their `fingerprint`.
    advice
        Where to get the file.
    stems
        File names without their ending, the preferred one first.
    openml
        The arguments that select the data set in scikit-learn's `fetch_openml`; None where OpenML does not have it.
    columns
        Columns to be recognised at OpenML, besides the features and the label.
    extras
        Columns that are kept as `Dataset.extras` where the file has them.
    """

    name: str
    label: str
    desired: Level
    description: str
    reference: str
    licence: str
    title: str
    rows: int
    content: str
    advice: str
    stems: tuple[str, ...]
    openml: Mapping[str, Any] | None = None
    columns: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()

    def load(
        self, build: Build, path: str | os.PathLike[str] | None, check: bool = True, download: bool = False
    ) -> Dataset:
        """The data set from the file that is found, or else from OpenML, where both `openml` and `download` allow it.

        A file is checked for the published content if `check`; what comes from OpenML always is.
        """
        try:
            file = self._find(path)
        except MissingDataSetError:
            if path is not None or not download or self.openml is None:
                raise
            return self._fetched(build, self.openml)
        where = repr(str(file))
        data = build(_read(file), where)
        difference = self._difference(data) if check else None
        if difference is not None:
            raise DataError(
                f"{where} is not {self.title} as published: {difference}. Get the original file, or pass check=False "
                "to use this one"
            )
        return data

    def dataset(self, frame: pd.DataFrame, schema: Schema) -> Dataset:
        """The data set with the schema's columns of this frame, its labels and its extras."""
        return Dataset(
            name=self.name,
            X=frame[list(schema.names)],
            y=frame[self.label],
            schema=schema,
            desired=self.desired,
            description=self.description,
            source=self.reference,
            licence=self.licence,
            extras={name: frame[name] for name in self.extras if name in frame.columns},
        )

    def _find(self, path: str | os.PathLike[str] | None) -> Path:
        """The file in `path`, which may be the file itself, or in the usual folders."""
        folders = list(_usual_folders())
        if path is not None:
            named = Path(path).expanduser()
            if named.is_file():
                return named
            if not named.is_dir():
                raise MissingDataSetError(f"there is no file or folder {str(named)!r} (path). {self.advice}")
            folders = [named]
        for stem in self.stems:
            for folder in folders:
                for candidate in (place / (stem + end) for end in _ENDINGS for place in (folder / self.name, folder)):
                    if candidate.is_file():
                        return candidate
        files = " or ".join(f"{stem}.csv" for stem in self.stems)
        raise MissingDataSetError(
            f"the data set {self.name!r} was not found: there is no {files} (plain, .gz or .zip) in "
            f"{listed(map(str, folders))} or a subfolder {self.name!r}. {self.advice} Put it into one of these, "
            "set the environment variable ATTAIN_DATA to its folder, or pass path="
        )

    def _difference(self, data: Dataset) -> str | None:
        """How the records differ from the published ones, in words; None where they are the same."""
        if len(data.X) != self.rows:
            return f"it has {len(data.X)} rows, the published one {self.rows}"
        if fingerprint(data.X, data.y) != self.content:
            return f"it has {self.rows} rows as expected, but some values differ"
        return None

    def _fetched(self, build: Build, which: Mapping[str, Any]) -> Dataset:
        """The data set as OpenML has it, or a `MissingDataSetError` if it is out of reach or has other content."""
        try:
            frame = _fetch(which)
        except (OSError, ValueError, HTTPException) as problem:
            raise self._not_at_openml(f"could not be fetched ({type(problem).__name__}: {problem})") from problem
        try:
            data = build(_respelled(frame, [*schema_of(self.name).names, *self.columns, self.label]), "it")
            difference = self._difference(data)
        except (TypeError, ValueError) as problem:  # another table may hold anything
            difference = str(problem)
        if difference is not None:
            raise self._not_at_openml(f"is not {self.title} as published ({difference})")
        return data

    def _not_at_openml(self, what: str) -> MissingDataSetError:
        known = self.openml or {}
        return MissingDataSetError(
            f"the data set {self.name!r} was not found on disk, and OpenML's data set "
            f"{known.get('data_id') or repr(known['name'])} {what}. {self.advice} Set the environment variable "
            "ATTAIN_DATA to its folder, or pass path="
        )


def schema_of(name: str) -> Schema:
    """The schema in the package's file of this name."""
    return Schema.from_toml(resources.files("attain.datasets").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def check_columns(frame: pd.DataFrame, needed: Iterable[str], where: str) -> None:
    """Refuses a frame that lacks a column."""
    lacking = [column for column in needed if column not in frame.columns]
    if lacking:
        raise DataError(
            f"{where} lacks the columns {listed(lacking)}; it has {listed(frame.columns)}. Is it the right file?"
        )


def as_integers(frame: pd.DataFrame, columns: Iterable[str], where: str) -> pd.DataFrame:
    """A copy in which the named columns are int64; a `DataError` where a cell is missing or not an integer."""
    copy = frame.copy()
    for column in columns:
        try:
            copy[column] = copy[column].astype("int64")
            same = bool((copy[column] == frame[column]).all())
        except (TypeError, ValueError):
            same = False
        if not same:
            raise DataError(f"the column {column!r} of {where} must hold integers only")
    return copy


def _cache_folder() -> Path:
    named = os.environ.get("ATTAIN_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "attain"


def _usual_folders() -> Iterator[Path]:
    named = os.environ.get("ATTAIN_DATA")
    if named:
        yield Path(named).expanduser()
    yield _cache_folder()


def _read(path: Path) -> pd.DataFrame:
    try:
        # Level names such as "None" or "NA" are strings; an empty cell is missing.
        return pd.read_csv(path, keep_default_na=False, na_values=["", "NA"])
    except (OSError, UnicodeDecodeError, ValueError) as problem:
        raise DataError(f"{str(path)!r} cannot be read as a table of comma-separated values: {problem}") from problem


def _fetch(which: Mapping[str, Any]) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings():
        # scikit-learn warns at each new attempt; when all fail, the error says so.
        warnings.simplefilter("ignore")
        bunch = fetch_openml(as_frame=True, parser="auto", data_home=str(_cache_folder() / "openml"), **which)
    return pd.DataFrame(bunch.frame).reset_index(drop=True)


def _respelled(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """The frame with our names for its columns, which OpenML may spell with other case and punctuation.

    Categories become numbers where all of them are numbers, else strings.
    """
    ours = {_letters(column): column for column in columns}
    return frame.rename(columns={name: ours.get(_letters(str(name)), name) for name in frame.columns}).apply(_plain)


def _letters(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    try:
        return pd.to_numeric(column.astype(object))
    except (TypeError, ValueError):
        return column.astype(object)
