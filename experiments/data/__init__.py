"""Data sets that do not come with the package, with hand-made schemas: Give Me Some Credit, HELOC, Adult and COMPAS.

Each loader reads a file that you have: `path` is the file, or a folder that has it, itself or in a subfolder named
after the data set; by default it is the folder in the environment variable `ATTAIN_DATA`. A file whose content is not
the published one is refused, unless `check` is False.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import pandas as pd

from attain.core.errors import AttainError, DataError
from attain.datasets import Dataset
from attain.schema import Feature, Level, Schema

Version: TypeAlias = Literal["complete", "paper"]
Place: TypeAlias = str | os.PathLike[str] | None


class MissingDataSetError(AttainError):
    """A data set is missing; the message says where to get it."""


def load_gmsc(*, version: Version = "complete", path: Place = None, check: bool = True) -> Dataset:
    """Give Me Some Credit: will a borrower be 90 days late within two years (1) or not (0, desired).

    The complete version has all 150000 rows with their missing values (`MonthlyIncome` 29731, `NumberOfDependents`
    3924). The paper's has the authors' 120269 rows: without missing values, the three columns with a log-normal
    likelihood clipped from below at 0.0001, free columns first. It is computed from the complete file unless there is
    the authors' own.

    Kinds and immutable columns are those of the paper's appendix, with one correction: 96 and 98 in the three past-due
    counts are codes rather than counts, so they are special codes. (As counts they would stand in three columns at
    once, far from all other rows, and a quarter of the applicants refused by a logistic regression have them.) Other
    quirks stay as they are: one row of age 0, utilisation far above 1, and a `DebtRatio` that is the debt itself where
    the income is missing.
    """
    source, schema = _GMSC[version], gmsc_schema(version)
    frame = source.read(path)
    if version == "paper":
        frame = frame[[*schema.names, source.label]].dropna().reset_index(drop=True)
        for column in ("RevolvingUtilizationOfUnsecuredLines", "DebtRatio", "MonthlyIncome"):
            frame[column] = frame[column].clip(lower=1e-4)
    counts = [feature.name for feature in schema if feature.kind == "count" and frame[feature.name].notna().all()]
    return source.dataset(frame.astype(dict.fromkeys([*counts, source.label], "int64")), schema, check)


def gmsc_schema(version: Version = "complete") -> Schema:
    """The schema of Give Me Some Credit; the paper's version has its free columns first, and no rules."""
    schema = schema_of("gmsc")
    return schema if version == "complete" else Schema(tuple(sorted(schema, key=lambda feature: feature.immutable)))


def load_heloc(*, version: Version = "complete", path: Place = None, check: bool = True) -> Dataset:
    """HELOC: was a home equity line of credit paid back ("Good", desired) or 90 days late ("Bad").

    The complete version has all 10459 rows and 23 features, with the codes −9, −8 and −7, and two rules that no record
    violates. The paper's has the authors' 8291 rows and 20 features: without the three features in which codes are
    most frequent, without rows that still have one, free columns first. They also added 1 to every feature; that is
    undone here, so that both have original units. It is computed from the complete file unless there is the authors'
    own.

    All features are integers. Kinds and immutable columns are those of the paper's appendix (Poisson: `count`;
    log-normal: `positive` with step 1), with its slips corrected:

    - `NetFractionRevolvingBurden` is listed twice; it is a ratio and has the log-normal likelihood of the first entry.
    - `NumBank/Natl…` and `NumBank2NatlTradesWHighUtilization` are one feature; it is a count.
    - `MaxDelq2PublicRecLast12M` and `MaxDelqEver` are codes with an order, not counts: they are ordinal. The codes −9
      and, in the first, 9 ("other") have no place in that order; nothing moves into them.
    - `MSinceMostRecentTradeOpen` is missing in the table; it is a count of months like the others.
    - Percentages end at 100. `NetFraction…` may exceed it.
    """
    source, schema = _HELOC[version], heloc_schema(version)
    frame, names, label = source.read(path), list(schema.names), source.label
    if version == "paper" and pd.api.types.is_numeric_dtype(frame[label]):
        frame = pd.concat([frame[names] - 1, frame[label].map({0: "Good", 1: "Bad"})], axis=1)
    elif version == "paper":
        frame = frame.loc[(frame[names] >= 0).all(axis=1), [*names, label]].reset_index(drop=True)
    return source.dataset(frame.astype(dict.fromkeys(names, "int64")), schema, check)


def heloc_schema(version: Version = "complete") -> Schema:
    """The schema of HELOC; the paper's version has no codes and no rules, and its free columns first."""
    schema = schema_of("heloc")
    if version == "complete":
        return schema
    dropped = ("MSinceMostRecentDelq", "MSinceMostRecentInqexcl7days", "NetFractionInstallBurden")
    kept = [_without_codes(feature) for feature in schema if feature.name not in dropped]
    return Schema(tuple(sorted(kept, key=lambda feature: feature.immutable)))


def _without_codes(feature: Feature) -> Feature:
    no_record = -9  # the one code that the ordinal columns have as a level
    levels = tuple(level for level in feature.levels if level != no_record)
    transitions = {level: goals for level, goals in feature.transitions.items() if level != no_record}
    return replace(feature, special={}, levels=levels, transitions=transitions)


def load_adult(*, path: Place = None, check: bool = True) -> Dataset:
    """Adult: does a person in the 1994 census earn more than 50000 dollars a year (">50K", desired) or not ("<=50K").

    48842 rows. "?" is missing: `workclass` 2799, `occupation` 2809, `native-country` 857.

    `education` is ordinal; `education-num`, which says the same in numbers, is in `extras`, and so are `fnlwgt`, a
    sampling weight that says nothing about the person, and `split` ("train" or "test") where the file has it. A capital
    gain of 99999 stands for that or more, so it is a special code.

    Immutable: `age`, `race`, `sex`, `native-country`, and `marital-status` and `relationship`, which nobody should be
    advised to change. Education only goes up.
    """
    schema = schema_of("adult")
    frame = _ADULT.read(path)
    for name in [feature.name for feature in schema if not feature.numeric]:
        strings = frame[name].astype("str").str.strip()
        frame[name] = strings.where(frame[name].notna() & (strings != "?"))
    frame[_ADULT.label] = frame[_ADULT.label].astype("str").str.strip().str.removesuffix(".")
    return _ADULT.dataset(frame, schema, check)


def load_compas(*, path: Place = None, check: bool = True) -> Dataset:
    """COMPAS: did a defendant commit another offence within two years (1) or not (0, desired).

    6172 rows: ProPublica's filter keeps screenings within 30 days of the arrest, charges other than ordinary traffic
    offences, and rows with an outcome and a score. The file may be ProPublica's own, or a table to which the filter was
    already applied. `length_of_stay` is the number of complete days in jail; −1, where the release is recorded before
    the arrival, is a special code. The COMPAS score itself (`decile_score`, `score_text`) is in `extras`, where the
    file has it: it is another model's answer, not an input.

    Immutable: `age`, `sex` and `race`. The rest is free by the custom of benchmarks, but all of it is the past: nobody
    can act on it. A counterfactual here explains a decision; it is not advice.
    """
    frame = _COMPAS.read(path)
    if "length_of_stay" not in frame.columns:
        kept = (
            frame["days_b_screening_arrest"].between(-30, 30)
            & (frame["is_recid"] != -1)
            & (frame["c_charge_degree"] != "O")
            & frame["score_text"].notna()
            & (frame["score_text"] != "N/A")
        )
        frame = frame[kept].reset_index(drop=True)
        stay = pd.to_datetime(frame["c_jail_out"]) - pd.to_datetime(frame["c_jail_in"])
        frame = frame.assign(length_of_stay=stay.dt.days.astype("int64"))
    return _COMPAS.dataset(frame, schema_of("compas"), check)


def schema_of(name: str) -> Schema:
    """The schema in the file of this name."""
    return Schema.from_toml((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class _Source:
    """What `Dataset` says about the records, how many there are, their `fingerprint`, and where they are found.

    `stems` are names of files without their ending, the preferred one first; `extras` are columns that are kept as
    `Dataset.extras` where the file has them.
    """

    name: str
    label: str
    desired: Level
    description: str
    reference: str
    licence: str
    rows: int
    content: str
    stems: tuple[str, ...]
    extras: tuple[str, ...] = ()

    def read(self, path: Place) -> pd.DataFrame:
        """The file as it is; level names such as "None" are strings, an empty cell is missing."""
        return pd.read_csv(self._find(path), keep_default_na=False, na_values=["", "NA"])

    def _find(self, path: Place) -> Path:
        named = path if path is not None else os.environ.get("ATTAIN_DATA")
        folder = None if named is None else Path(named).expanduser()
        if folder is not None and folder.is_file():
            return folder
        if folder is not None:
            for stem in self.stems:
                for place in (folder / self.name, folder):
                    for ending in (".csv", ".csv.gz", ".csv.zip"):
                        if (place / f"{stem}{ending}").is_file():
                            return place / f"{stem}{ending}"
        files = " or ".join(f"{stem}.csv" for stem in self.stems)
        raise MissingDataSetError(
            f"the data set {self.name!r} was not found: put {files} (plain, .gz or .zip) into the folder that the "
            f"environment variable ATTAIN_DATA names, or pass path=. It comes from: {self.reference}"
        )

    def dataset(self, frame: pd.DataFrame, schema: Schema, check: bool) -> Dataset:
        """The schema's columns of a frame, its labels and its extras; raises if the records are not the published."""
        extras = {name: frame[name] for name in self.extras if name in frame.columns}
        X, y = frame[list(schema.names)], frame[self.label]
        if check and (len(X) != self.rows or fingerprint(X, y) != self.content):
            raise DataError(
                f"the {len(X)} records of {self.name!r} are not the {self.rows} published ones; get the original file, "
                "or pass check=False to use this one"
            )
        return Dataset(
            self.name, X, y, schema, self.desired, self.description, self.reference, self.licence, extras=extras
        )


_COMPLETE_GMSC: Final = _Source(
    name="gmsc",
    label="SeriousDlqin2yrs",
    desired=0,
    description="Borrowers, and whether they were 90 days past due or worse within two years.",
    reference="Kaggle (2011). Give Me Some Credit. https://www.kaggle.com/c/GiveMeSomeCredit",
    licence="Kaggle competition rules; no open licence is known. Do not pass the data on.",
    rows=150_000,
    content="4a2ed8d3c75b26b2d9600b373099c001b821738471d1ec0caf27fecd8a396254",
    stems=("cs-training",),
)
_GMSC: Final = {
    "complete": _COMPLETE_GMSC,
    "paper": replace(
        _COMPLETE_GMSC,
        rows=120_269,
        content="48d7aef016d04d4611c3b96834b5c51a83cee2a4db14c6c96582082e63c3509c",
        stems=("gmsc_cchvae", "cs-training"),
    ),
}
_COMPLETE_HELOC: Final = _Source(
    name="heloc",
    label="RiskPerformance",
    desired="Good",
    description="Credit reports of home owners in the United States who asked for a home equity line of credit, and "
    "whether they were 90 days past due or worse (Bad) within two years of opening it.",
    reference="FICO (2018). Explainable Machine Learning Challenge. "
    "https://community.fico.com/s/explainable-machine-learning-challenge",
    licence="FICO's challenge terms; no open licence is known. Do not pass the data on.",
    rows=10_459,
    content="a3225f70821f53d00fbc68d8980aa11ff21b796dbab63f96396546a6ea862328",
    stems=("heloc", "heloc_dataset_v1"),
)
_HELOC: Final = {
    "complete": _COMPLETE_HELOC,
    "paper": replace(
        _COMPLETE_HELOC,
        rows=8_291,
        content="f36f0e6e490c9bceb9ad1489de6b6f463a0e56d732d2094fad3611899fff55af",
        stems=("heloc_cchvae", "heloc", "heloc_dataset_v1"),
    ),
}
_ADULT: Final = _Source(
    name="adult",
    label="income",
    desired=">50K",
    description="People in the 1994 census of the United States, and whether they earn more than 50000 dollars a year.",
    reference="Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C5XW20",
    licence="CC BY 4.0",
    rows=48_842,
    content="54e810ae8006f8446cefcb98b79aae5dec630cbbd5642c3163ec042eb84f7238",
    stems=("adult",),
    extras=("education-num", "fnlwgt", "split"),
)
_COMPAS: Final = _Source(
    name="compas",
    label="two_year_recid",
    desired=0,
    description="Defendants in Broward County, Florida, 2013 and 2014, and whether they reoffended within two years.",
    reference="Angwin, J., Larson, J., Mattu, S. and Kirchner, L. (2016). Machine Bias. ProPublica. "
    "https://github.com/propublica/compas-analysis",
    licence="Published by ProPublica for journalism and research; no licence is stated.",
    rows=6_172,
    content="5cfeaf93bb85d1cf4ec446d544449eb52b235a07970a552a713f1c421569e0ab",
    stems=("compas", "compas-scores-two-years", "compas_two_years"),
    extras=("decile_score", "score_text"),
)


def fingerprint(X: pd.DataFrame, y: pd.Series) -> str:
    """The SHA-256 of the rows as a set: equal for the same records in any order, file format or dtype."""
    columns = {str(name): _coded(column) for name, column in (*X.items(), (y.name, y))}
    order = np.lexsort([codes for _, codes in columns.values()])
    digest = hashlib.sha256()
    for name, (strings, codes) in columns.items():
        digest.update(f"\x1d{name}\x1d".encode())
        digest.update("\x1e".join(strings[codes[order]]).encode())
    return digest.hexdigest()


def _coded(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of a column as sorted strings, and the position of each row's value among them.

    Numbers are written with twelve significant digits: enough for every file, and too few to show how parsers round.
    A missing cell is an empty string.
    """
    codes, distinct = pd.factorize(column, use_na_sentinel=True)
    number = pd.api.types.is_numeric_dtype(column)
    written = [f"{value:.12g}" if number else str(value) for value in distinct] + [""]
    # Code −1, missing, is the position of the empty string at the end.
    strings, positions = np.unique(np.array(written), return_inverse=True)
    return strings, positions[codes]
