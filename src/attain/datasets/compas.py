"""COMPAS: ProPublica's records of defendants in Broward County."""

from __future__ import annotations

import os
from typing import Final

import pandas as pd

from attain.core.errors import MissingDataSetError
from attain.datasets import files, openml
from attain.datasets.dataset import Dataset
from attain.schema import Feature, Schema

LABEL: Final = "two_year_recid"

_ADVICE: Final = (
    "ProPublica publishes it: download compas-scores-two-years.csv from https://github.com/propublica/compas-analysis."
)
_PUBLISHED: Final = files.Published(
    "ProPublica's two-year file",
    rows=6_172,
    fingerprint="5cfeaf93bb85d1cf4ec446d544449eb52b235a07970a552a713f1c421569e0ab",
)
_RACES: Final = ("African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other")
_SCORES: Final = ("decile_score", "score_text")
_RAW: Final = ("days_b_screening_arrest", "is_recid", "c_jail_in", "c_jail_out", "score_text")
"""What ProPublica's filter looks at, besides the features."""


def load_compas(*, path: str | os.PathLike[str] | None = None, check: bool = True, download: bool = True) -> Dataset:
    """COMPAS: did a defendant commit another offence within two years (1) or not (0, desired).

    Parameters
    ----------
    path
        The file, or a folder that has it. Otherwise the folder in `ATTAIN_DATA` and the cache are searched. Both
        ProPublica's own file and a table to which its filter was applied already are understood.
    check
        Refuse a file whose content is not the published one.
    download
        Get the data set from OpenML ("compas-two-years") when it is not on disk, into the cache. It is refused unless
        its rows are the same; their order is OpenML's.

    Notes
    -----
    6172 rows: ProPublica's filter keeps screenings within 30 days of the arrest, charges that are no mere traffic
    offence, and rows with an outcome and a score. `length_of_stay` is the number of whole days in jail; −1, where the
    release is recorded before the arrival, is a special code. The COMPAS score itself (`decile_score`, `score_text`) is
    in `extras`, where the file has it: it is another model's answer, not an input.

    Immutable: `age`, `sex` and `race`. The rest is free by the custom of benchmarks, but all of it is the past: nobody
    can act on it. A counterfactual here explains a decision, it is no advice.
    """
    stems = ["compas", "compas-scores-two-years", "compas_two_years"]
    try:
        file = files.find("compas", stems, path, _ADVICE)
    except MissingDataSetError:
        if path is not None or not download:
            raise
        columns = [*compas_schema().names, *_RAW, LABEL]
        return openml.load("compas", columns, _dataset, _PUBLISHED, _ADVICE, name="compas-two-years", version=1)
    data = _dataset(files.read(file), repr(str(file)))
    if check:
        files.check_content(data, _PUBLISHED, repr(str(file)))
    return data


def _dataset(frame: pd.DataFrame, where: str) -> Dataset:
    schema = compas_schema()
    files.check_columns(frame, [*(name for name in schema.names if name != "length_of_stay"), LABEL], where)
    if "length_of_stay" not in frame.columns:
        files.check_columns(frame, _RAW, where)
        frame = _filtered(frame)
    numbers = [feature.name for feature in schema if feature.numeric]
    frame = files.whole(frame, [*numbers, LABEL], where)
    return Dataset(
        name="compas",
        X=frame[list(schema.names)],
        y=frame[LABEL],
        schema=schema,
        desired=0,
        description="Defendants in Broward County, Florida, 2013 and 2014, and whether they reoffended within two "
        "years.",
        source="Angwin, J., Larson, J., Mattu, S. and Kirchner, L. (2016). Machine Bias. ProPublica. "
        "https://github.com/propublica/compas-analysis",
        licence="Published by ProPublica for journalism and research; no licence is stated.",
        extras={name: frame[name] for name in _SCORES if name in frame.columns},
    )


def _filtered(frame: pd.DataFrame) -> pd.DataFrame:
    """ProPublica's own choice of rows, with the days in jail."""
    kept = frame[
        frame["days_b_screening_arrest"].between(-30, 30)
        & (frame["is_recid"] != -1)
        & (frame["c_charge_degree"] != "O")
        & frame["score_text"].notna()
        & (frame["score_text"] != "N/A")
    ].reset_index(drop=True)
    stay = pd.to_datetime(kept["c_jail_out"]) - pd.to_datetime(kept["c_jail_in"])
    return kept.assign(length_of_stay=stay.dt.days)


def compas_schema() -> Schema:
    """The schema of COMPAS."""
    return Schema(
        (
            Feature("age", "count", bounds=(18, None), immutable=True, unit="years"),
            Feature("sex", "categorical", levels=("Female", "Male"), immutable=True),
            Feature("race", "categorical", levels=_RACES, immutable=True),
            Feature("juv_fel_count", "count", label="juvenile felonies"),
            Feature("juv_misd_count", "count", label="juvenile misdemeanours"),
            Feature("juv_other_count", "count", label="other juvenile offences"),
            Feature("priors_count", "count", label="prior offences"),
            Feature(
                "c_charge_degree",
                "ordinal",
                levels=("M", "F"),
                label="degree of the charge",
                description="M misdemeanour, F felony",
            ),
            Feature(
                "length_of_stay",
                "count",
                special={-1: "released before the recorded arrival"},
                label="time in jail",
                unit="days",
            ),
        )
    )
