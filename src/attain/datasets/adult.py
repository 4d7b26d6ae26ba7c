"""Adult: the census income data of the UCI repository."""

from __future__ import annotations

import os
from typing import Final

import pandas as pd

from attain.core.errors import MissingDataSetError
from attain.datasets import files, openml
from attain.datasets.dataset import Dataset
from attain.schema import Feature, Schema

LABEL: Final = "income"

_ADVICE: Final = (
    "It is UCI's adult.data and adult.test in one table with a header (https://doi.org/10.24432/C5XW20); without a "
    "path and with a network connection, load_adult() gets it from OpenML."
)
_OPENML: Final = 1590
_PUBLISHED: Final = files.Published(
    "UCI's Adult", rows=48_842, fingerprint="54e810ae8006f8446cefcb98b79aae5dec630cbbd5642c3163ec042eb84f7238"
)

_EDUCATION: Final = (
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "HS-grad",
    "Some-college",
    "Assoc-voc",
    "Assoc-acdm",
    "Bachelors",
    "Masters",
    "Prof-school",
    "Doctorate",
)
_WORKCLASS: Final = (
    "Private",
    "Self-emp-not-inc",
    "Self-emp-inc",
    "Federal-gov",
    "Local-gov",
    "State-gov",
    "Without-pay",
    "Never-worked",
)
_MARITAL: Final = (
    "Never-married",
    "Married-civ-spouse",
    "Married-spouse-absent",
    "Married-AF-spouse",
    "Separated",
    "Divorced",
    "Widowed",
)
# fmt: off
_OCCUPATIONS: Final = (
    "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners",
    "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales",
    "Tech-support", "Transport-moving",
)
_COUNTRIES: Final = (
    "Cambodia", "Canada", "China", "Columbia", "Cuba", "Dominican-Republic", "Ecuador", "El-Salvador", "England",
    "France", "Germany", "Greece", "Guatemala", "Haiti", "Holand-Netherlands", "Honduras", "Hong", "Hungary", "India",
    "Iran", "Ireland", "Italy", "Jamaica", "Japan", "Laos", "Mexico", "Nicaragua", "Outlying-US(Guam-USVI-etc)",
    "Peru", "Philippines", "Poland", "Portugal", "Puerto-Rico", "Scotland", "South", "Taiwan", "Thailand",
    "Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia",
)
# fmt: on
_RELATIONSHIPS: Final = ("Husband", "Wife", "Own-child", "Other-relative", "Not-in-family", "Unmarried")
_RACES: Final = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")


def load_adult(*, path: str | os.PathLike[str] | None = None, check: bool = True, download: bool = True) -> Dataset:
    """Adult: does a person of the 1994 census earn more than 50000 dollars a year (">50K", desired) or not ("<=50K").

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

    `education` is ordinal; `education-num`, which says the same in numbers, is left out. `fnlwgt` is a sampling weight
    and says nothing about the person: it is in `extras`, and so is `split` ("train" or "test") where the file has it. A
    capital gain of 99999 stands for that or more, so it is a special code.

    Immutable: `age`, `race`, `sex`, `native-country`, and `marital-status` and `relationship`, which nobody should be
    advised to change. Education only goes up.
    """
    try:
        file = files.find("adult", ["adult"], path, _ADVICE)
    except MissingDataSetError:
        if path is not None or not download:
            raise
        return openml.load("adult", adult_schema().names, _dataset, _PUBLISHED, _ADVICE, data_id=_OPENML)
    data = _dataset(files.read(file), repr(str(file)))
    if check:
        files.check_content(data, _PUBLISHED, repr(str(file)))
    return data


def _dataset(frame: pd.DataFrame, where: str) -> Dataset:
    schema = adult_schema()
    # OpenML calls the label `class`.
    frame = frame if LABEL in frame.columns else frame.rename(columns={"class": LABEL})
    files.check_columns(frame, [*schema.names, LABEL], where)
    frame = _cleaned(frame, schema, where)
    return Dataset(
        name="adult",
        X=frame[list(schema.names)],
        y=frame[LABEL],
        schema=schema,
        desired=">50K",
        description="People of the 1994 census of the United States, and whether they earn more than 50000 dollars a "
        "year.",
        source="Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5XW20",
        licence="CC BY 4.0",
        extras={name: frame[name] for name in ("fnlwgt", "split") if name in frame.columns},
    )


def _cleaned(frame: pd.DataFrame, schema: Schema, where: str) -> pd.DataFrame:
    """Texts without blanks, "?" as missing, numbers as int64, from UCI's spelling or OpenML's."""
    numbers = [feature.name for feature in schema if feature.numeric]
    cleaned = files.whole(frame, numbers, where)
    for name in [feature.name for feature in schema if not feature.numeric]:
        texts = cleaned[name].astype("str").str.strip()
        cleaned[name] = texts.where(cleaned[name].notna() & (texts != "?"))
    cleaned[LABEL] = cleaned[LABEL].astype("str").str.strip().str.removesuffix(".")
    return cleaned


def adult_schema() -> Schema:
    """The schema of Adult."""
    return Schema(
        (
            Feature("age", "count", immutable=True, unit="years", bounds=(17, None)),
            Feature("workclass", "categorical", levels=_WORKCLASS, label="kind of employer"),
            Feature("education", "ordinal", levels=_EDUCATION, direction="increase"),
            Feature("marital-status", "categorical", levels=_MARITAL, immutable=True, label="marital status"),
            Feature("occupation", "categorical", levels=_OCCUPATIONS),
            Feature("relationship", "categorical", levels=_RELATIONSHIPS, immutable=True),
            Feature("race", "categorical", levels=_RACES, immutable=True),
            Feature("sex", "categorical", levels=("Female", "Male"), immutable=True),
            Feature(
                "capital-gain",
                "positive",
                step=1,
                special={99999: "99999 dollars or more"},
                label="capital gain",
                unit="USD",
            ),
            Feature("capital-loss", "positive", step=1, label="capital loss", unit="USD"),
            Feature("hours-per-week", "count", bounds=(1, 99), label="working hours a week", unit="hours"),
            Feature("native-country", "categorical", levels=_COUNTRIES, immutable=True, label="native country"),
        )
    )
