"""Give Me Some Credit."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Final, Literal

import pandas as pd

from attain.core.checks import check_choice
from attain.datasets.dataset import Dataset
from attain.datasets.source import Source, as_integers, check_columns, schema_of
from attain.schema import Schema

_COMPLETE: Final = Source(
    name="gmsc",
    label="SeriousDlqin2yrs",
    desired=0,
    description="Borrowers, and whether they were 90 days past due or worse within two years.",
    reference="Kaggle (2011). Give Me Some Credit. https://www.kaggle.com/c/GiveMeSomeCredit",
    licence="Kaggle competition rules; no open licence is known. Do not pass the data on.",
    title="cs-training.csv",
    rows=150_000,
    content="4a2ed8d3c75b26b2d9600b373099c001b821738471d1ec0caf27fecd8a396254",
    advice="It is the training file of Kaggle's competition: accept the rules at "
    "https://www.kaggle.com/c/GiveMeSomeCredit/data and download cs-training.csv.",
    stems=("cs-training",),
    openml={"name": "GiveMeSomeCredit", "version": 1},
)
_PAPER: Final = replace(
    _COMPLETE,
    rows=120_269,
    content="48d7aef016d04d4611c3b96834b5c51a83cee2a4db14c6c96582082e63c3509c",
    stems=("gmsc_cchvae", "cs-training"),
)
_SOURCES: Final = {"complete": _COMPLETE, "paper": _PAPER}


def load_gmsc(
    *,
    version: Literal["complete", "paper"] = "complete",
    path: str | os.PathLike[str] | None = None,
    check: bool = True,
    download: bool = True,
) -> Dataset:
    """Give Me Some Credit: will a borrower be 90 days late within two years (1) or not (0, desired).

    Parameters
    ----------
    version
        `complete`: all 150000 rows with their missing values (`MonthlyIncome` 29731, `NumberOfDependents` 3924).
        `paper`: the authors' 120269 rows: without missing values, the three columns with a log-normal likelihood
        clipped from below at 0.0001, free columns first. Computed from the complete file unless it is on disk.
    path
        The file, or a folder that has it. Otherwise the folder in `ATTAIN_DATA` and the cache are searched.
    check
        Refuse a file whose content is not the published one.
    download
        Get the data set from OpenML ("GiveMeSomeCredit") when it is not on disk, into the cache. It is refused unless
        its rows are the same; their order is OpenML's.

    Notes
    -----
    Kinds and immutable columns are those of the paper's appendix, with one correction: 96 and 98 in the three past-due
    counts are codes rather than counts, so they are special codes. (As counts they would stand in three columns at
    once, far from all other rows, and a quarter of the applicants refused by a logistic regression have them.) Other
    quirks stay as they are: one row of age 0, utilisation far above 1, and a `DebtRatio` that is the debt itself where
    the income is missing.
    """
    check_choice("version", version, _SOURCES)
    return _SOURCES[version].load(partial(_dataset, version=version), path, check, download)


def _dataset(frame: pd.DataFrame, where: str, version: str) -> Dataset:
    schema, label = gmsc_schema(version), _COMPLETE.label
    check_columns(frame, [*schema.names, label], where)
    if version == "paper":
        frame = _processed(frame[[*schema.names, label]])
    integers = [feature.name for feature in schema if feature.kind == "count" and frame[feature.name].notna().all()]
    return _COMPLETE.dataset(as_integers(frame, [*integers, label], where), schema)


def _processed(frame: pd.DataFrame) -> pd.DataFrame:
    """The authors' recipe; a file that is its result stays as it is."""
    kept = frame.dropna().reset_index(drop=True)
    for column in ("RevolvingUtilizationOfUnsecuredLines", "DebtRatio", "MonthlyIncome"):
        kept[column] = kept[column].clip(lower=1e-4)
    return kept


def gmsc_schema(version: str = "complete") -> Schema:
    """The schema of Give Me Some Credit; the paper's version has its free columns first, and no rules."""
    schema = schema_of("gmsc")
    return schema if version == "complete" else Schema(tuple(sorted(schema, key=lambda feature: feature.immutable)))
