"""Give Me Some Credit."""

from __future__ import annotations

import os
from functools import partial
from typing import Final, Literal

import pandas as pd

from attain.core.errors import DataError, MissingDataSetError
from attain.datasets import files, openml
from attain.datasets.dataset import Dataset
from attain.schema import Direction, Feature, Level, Schema

LABEL: Final = "SeriousDlqin2yrs"

_ADVICE: Final = (
    "It is the training file of Kaggle's competition: accept the rules at "
    "https://www.kaggle.com/c/GiveMeSomeCredit/data and download cs-training.csv."
)
_TITLE: Final = "cs-training.csv"
_PUBLISHED: Final = {
    "complete": files.Published(
        _TITLE, rows=150_000, fingerprint="4a2ed8d3c75b26b2d9600b373099c001b821738471d1ec0caf27fecd8a396254"
    ),
    "paper": files.Published(
        _TITLE, rows=120_269, fingerprint="48d7aef016d04d4611c3b96834b5c51a83cee2a4db14c6c96582082e63c3509c"
    ),
}

_LATE: Final[dict[float, str]] = {96: "code 96, not a count", 98: "code 98, not a count"}

_LEAVE: Final[dict[Level, tuple[Level, ...]]] = {96: ("value",), 98: ("value",)}

GMSC_DIRECTIONS: Final[dict[str, Direction]] = {
    "RevolvingUtilizationOfUnsecuredLines": "decrease",
    "NumberOfTime30-59DaysPastDueNotWorse": "decrease",
    "DebtRatio": "decrease",
    "MonthlyIncome": "increase",
    "NumberOfOpenCreditLinesAndLoans": "decrease",
    "NumberRealEstateLoansOrLines": "decrease",
    "NumberOfTime60-89DaysPastDueNotWorse": "decrease",
}
"""The way each feature may move in the paper's runs of HCLS, where `NumberOfTimes90DaysLate` changes indirectly.

Its runs of AR use that of `DebtRatio` only; the other methods use none, and so neither does the schema.
"""


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
    counts are codes and no counts, so they are special codes. (As counts they stand for themselves in three columns at
    once, far from everybody else, and a quarter of the people whom a logistic regression refuses have them.) Other
    quirks stay as they are: one person of age 0, utilisation far above 1, and a `DebtRatio` that is the plain debt
    where the income is missing.
    """
    if version not in _PUBLISHED:
        raise DataError(f"version is {version!r}; it takes one of {', '.join(_PUBLISHED)}")
    stems = ["gmsc_cchvae", "cs-training"] if version == "paper" else ["cs-training"]
    published, build = _PUBLISHED[version], partial(_dataset, version=version)
    try:
        file = files.find("gmsc", stems, path, _ADVICE)
    except MissingDataSetError:
        if path is not None or not download:
            raise
        columns = [*gmsc_schema(version).names, LABEL]
        return openml.load("gmsc", columns, build, published, _ADVICE, name="GiveMeSomeCredit", version=1)
    data = build(files.read(file), repr(str(file)))
    if check:
        files.check_content(data, published, repr(str(file)))
    return data


def _dataset(frame: pd.DataFrame, where: str, version: Literal["complete", "paper"]) -> Dataset:
    schema = gmsc_schema(version)
    files.check_columns(frame, [*schema.names, LABEL], where)
    if version == "paper":
        frame = _processed(frame[[*schema.names, LABEL]])
    whole = [f.name for f in schema if f.kind == "count" and frame[f.name].notna().all()]
    frame = files.whole(frame, [*whole, LABEL], where)
    return Dataset(
        name="gmsc",
        X=frame[list(schema.names)],
        y=frame[LABEL],
        schema=schema,
        desired=0,
        description="Borrowers, and whether they were 90 days past due or worse within two years.",
        source="Kaggle (2011). Give Me Some Credit. https://www.kaggle.com/c/GiveMeSomeCredit",
        licence="Kaggle competition rules; no open licence is known. Do not pass the data on.",
    )


def _processed(frame: pd.DataFrame) -> pd.DataFrame:
    """The authors' recipe; it leaves a file that went through it already as it is."""
    kept = frame.dropna().reset_index(drop=True)
    for column in ("RevolvingUtilizationOfUnsecuredLines", "DebtRatio", "MonthlyIncome"):
        kept[column] = kept[column].clip(lower=1e-4)
    return kept


def gmsc_schema(version: Literal["complete", "paper"] = "complete") -> Schema:
    """The schema of Give Me Some Credit."""
    features = {
        feature.name: feature
        for feature in (
            Feature(
                "RevolvingUtilizationOfUnsecuredLines",
                "positive",
                label="utilisation of unsecured lines",
                description="balance on cards and personal lines, divided by the credit limits",
            ),
            Feature("age", "count", immutable=True, unit="years"),
            Feature(
                "NumberOfTime30-59DaysPastDueNotWorse",
                "count",
                special=_LATE,
                transitions=_LEAVE,
                label="times 30 to 59 days late",
                description="in the last two years",
            ),
            Feature(
                "DebtRatio",
                "positive",
                label="debt ratio",
                description="monthly debt payments, alimony and living costs, divided by monthly gross income",
            ),
            Feature("MonthlyIncome", "positive", step=1, label="monthly income"),
            Feature("NumberOfOpenCreditLinesAndLoans", "count", label="open loans and credit lines"),
            Feature("NumberOfTimes90DaysLate", "count", special=_LATE, transitions=_LEAVE, label="times 90 days late"),
            Feature("NumberRealEstateLoansOrLines", "count", label="real estate loans"),
            Feature(
                "NumberOfTime60-89DaysPastDueNotWorse",
                "count",
                special=_LATE,
                transitions=_LEAVE,
                label="times 60 to 89 days late",
                description="in the last two years",
            ),
            Feature("NumberOfDependents", "count", immutable=True, label="dependents"),
        )
    }
    if version == "complete":
        # Real estate loans are among the open loans and lines; no row breaks this.
        rules = ("NumberRealEstateLoansOrLines <= NumberOfOpenCreditLinesAndLoans",)
        return Schema(tuple(features.values()), rules)
    return Schema(tuple(sorted(features.values(), key=lambda feature: feature.immutable)))
