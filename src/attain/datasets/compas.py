"""COMPAS: ProPublica's records of defendants in Broward County."""

from __future__ import annotations

import os
from typing import Final

import pandas as pd

from attain.datasets.dataset import Dataset
from attain.datasets.source import Source, as_integers, check_columns, schema_of

_SOURCE: Final = Source(
    name="compas",
    label="two_year_recid",
    desired=0,
    description="Defendants in Broward County, Florida, 2013 and 2014, and whether they reoffended within two years.",
    reference="Angwin, J., Larson, J., Mattu, S. and Kirchner, L. (2016). Machine Bias. ProPublica. "
    "https://github.com/propublica/compas-analysis",
    licence="Published by ProPublica for journalism and research; no licence is stated.",
    title="ProPublica's two-year file",
    rows=6_172,
    content="5cfeaf93bb85d1cf4ec446d544449eb52b235a07970a552a713f1c421569e0ab",
    advice="ProPublica publishes it: download compas-scores-two-years.csv from "
    "https://github.com/propublica/compas-analysis.",
    stems=("compas", "compas-scores-two-years", "compas_two_years"),
    openml={"name": "compas-two-years", "version": 1},
    columns=("days_b_screening_arrest", "is_recid", "c_jail_in", "c_jail_out", "score_text"),
    extras=("decile_score", "score_text"),
)


def load_compas(*, path: str | os.PathLike[str] | None = None, check: bool = True, download: bool = True) -> Dataset:
    """COMPAS: did a defendant commit another offence within two years (1) or not (0, desired).

    Parameters
    ----------
    path
        The file, or a folder that has it. Otherwise the folder in `ATTAIN_DATA` and the cache are searched. The file
        may be ProPublica's own, or a table to which its filter was already applied.
    check
        Refuse a file whose content is not the published one.
    download
        Get the data set from OpenML ("compas-two-years") when it is not on disk, into the cache. It is refused unless
        its rows are the same; their order is OpenML's.

    Notes
    -----
    6172 rows: ProPublica's filter keeps screenings within 30 days of the arrest, charges other than ordinary traffic
    offences, and rows with an outcome and a score. `length_of_stay` is the number of complete days in jail; −1, where
    the release is recorded before the arrival, is a special code. The COMPAS score itself (`decile_score`,
    `score_text`) is in `extras`, where the file has it: it is another model's answer, not an input.

    Immutable: `age`, `sex` and `race`. The rest is free by the custom of benchmarks, but all of it is the past: nobody
    can act on it. A counterfactual here explains a decision; it is not advice.
    """
    return _SOURCE.load(_dataset, path, check, download)


def _dataset(frame: pd.DataFrame, where: str) -> Dataset:
    schema, label = schema_of("compas"), _SOURCE.label
    check_columns(frame, [*(name for name in schema.names if name != "length_of_stay"), label], where)
    if "length_of_stay" not in frame.columns:
        check_columns(frame, _SOURCE.columns, where)
        frame = _filtered(frame)
    numbers = [feature.name for feature in schema if feature.numeric]
    return _SOURCE.dataset(as_integers(frame, [*numbers, label], where), schema)


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
