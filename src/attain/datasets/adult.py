"""Adult: the census income data of the UCI repository."""

from __future__ import annotations

import os
from typing import Final

import pandas as pd

from attain.datasets.dataset import Dataset
from attain.datasets.source import Source, as_integers, check_columns, schema_of
from attain.schema import Schema

_SOURCE: Final = Source(
    name="adult",
    label="income",
    desired=">50K",
    description="People in the 1994 census of the United States, and whether they earn more than 50000 dollars a year.",
    reference="Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C5XW20",
    licence="CC BY 4.0",
    title="UCI's Adult",
    rows=48_842,
    content="54e810ae8006f8446cefcb98b79aae5dec630cbbd5642c3163ec042eb84f7238",
    advice="It is UCI's adult.data and adult.test in one table with a header (https://doi.org/10.24432/C5XW20); "
    "without a path and with a network connection, load_adult() gets it from OpenML.",
    stems=("adult",),
    openml={"data_id": 1590},
    extras=("education-num", "fnlwgt", "split"),
)


def load_adult(*, path: str | os.PathLike[str] | None = None, check: bool = True, download: bool = True) -> Dataset:
    """Adult: does a person in the 1994 census earn more than 50000 dollars a year (">50K", desired) or not ("<=50K").

    Parameters
    ----------
    path
        The file, or a folder that has it. Otherwise the folder in `ATTAIN_DATA` and the cache are searched.
    check
        Refuse a file whose content is not the published one.
    download
        Get the data set from OpenML (number 1590) when it is not on disk, into the cache. It is refused unless its
        rows are the same; their order is OpenML's.

    Notes
    -----
    48842 rows. "?" is missing: `workclass` 2799, `occupation` 2809, `native-country` 857.

    `education` is ordinal; `education-num`, which says the same in numbers, is in `extras`, and so are `fnlwgt`, a
    sampling weight that says nothing about the person, and `split` ("train" or "test") where the file has it. A capital
    gain of 99999 stands for that or more, so it is a special code.

    Immutable: `age`, `race`, `sex`, `native-country`, and `marital-status` and `relationship`, which nobody should be
    advised to change. Education only goes up.
    """
    return _SOURCE.load(_dataset, path, check, download)


def _dataset(frame: pd.DataFrame, where: str) -> Dataset:
    schema, label = schema_of("adult"), _SOURCE.label
    # OpenML calls the label `class`.
    frame = frame if label in frame.columns else frame.rename(columns={"class": label})
    check_columns(frame, [*schema.names, label], where)
    return _SOURCE.dataset(_cleaned(frame, schema, where), schema)


def _cleaned(frame: pd.DataFrame, schema: Schema, where: str) -> pd.DataFrame:
    """Strings without blanks, "?" as missing, numbers as int64, from UCI's spelling or OpenML's."""
    cleaned = as_integers(frame, [feature.name for feature in schema if feature.numeric], where)
    for name in [feature.name for feature in schema if not feature.numeric]:
        strings = cleaned[name].astype("str").str.strip()
        cleaned[name] = strings.where(cleaned[name].notna() & (strings != "?"))
    cleaned[_SOURCE.label] = cleaned[_SOURCE.label].astype("str").str.strip().str.removesuffix(".")
    return cleaned
