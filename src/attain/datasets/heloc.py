"""HELOC: FICO's home equity lines of credit."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Final, Literal

import pandas as pd

from attain.core.checks import check_choice
from attain.datasets.dataset import Dataset
from attain.datasets.source import Source, as_integers, check_columns, schema_of
from attain.schema import Feature, Schema

_COMPLETE: Final = Source(
    name="heloc",
    label="RiskPerformance",
    desired="Good",
    description="Credit reports of home owners in the United States who asked for a home equity line of credit, and "
    "whether they were 90 days past due or worse (Bad) within two years of opening it.",
    reference="FICO (2018). Explainable Machine Learning Challenge. "
    "https://community.fico.com/s/explainable-machine-learning-challenge",
    licence="FICO's challenge terms; no open licence is known. Do not pass the data on.",
    title="FICO's HELOC file",
    rows=10_459,
    content="a3225f70821f53d00fbc68d8980aa11ff21b796dbab63f96396546a6ea862328",
    advice="FICO gives it to those who ask and accept its terms, so it is never downloaded: ask at "
    "https://community.fico.com/s/explainable-machine-learning-challenge.",
    stems=("heloc", "heloc_dataset_v1"),
)
_PAPER: Final = replace(
    _COMPLETE,
    rows=8_291,
    content="f36f0e6e490c9bceb9ad1489de6b6f463a0e56d732d2094fad3611899fff55af",
    stems=("heloc_cchvae", *_COMPLETE.stems),
)
_SOURCES: Final = {"complete": _COMPLETE, "paper": _PAPER}

_NOT_IN_PAPER: Final = ("MSinceMostRecentDelq", "MSinceMostRecentInqexcl7days", "NetFractionInstallBurden")
_NO_RECORD: Final = -9
"""The one code that the ordinal columns have as a level."""


def load_heloc(
    *,
    version: Literal["complete", "paper"] = "complete",
    path: str | os.PathLike[str] | None = None,
    check: bool = True,
) -> Dataset:
    """HELOC: was a home equity line of credit paid back ("Good", desired) or 90 days late ("Bad").

    Parameters
    ----------
    version
        `complete`: all 10459 rows and 23 features, with the codes −9, −8 and −7. `paper`: the authors' 8291 rows and 20
        features: without the three features in which codes are most frequent, without rows that still have one, free
        columns first. They also added 1 to every feature; that is undone here, so that both have original units.
        Computed from the complete file unless it is on disk.
    path
        The file, or a folder that has it. Otherwise the folder in `ATTAIN_DATA` and the cache are searched.
    check
        Refuse a file whose content is not the published one.

    Notes
    -----
    All features are integers. Kinds and immutable columns are those of the paper's appendix (Poisson: `count`;
    log-normal: `positive` with step 1), with its slips corrected:

    - `NetFractionRevolvingBurden` is listed twice; it is a ratio and has the log-normal likelihood of the first entry.
    - `NumBank/Natl…` and `NumBank2NatlTradesWHighUtilization` are one feature; it is a count.
    - `MaxDelq2PublicRecLast12M` and `MaxDelqEver` are codes with an order, not counts: they are ordinal. The codes −9
      and, in the first, 9 ("other") have no place in that order; nothing moves into them.
    - `MSinceMostRecentTradeOpen` is missing in the table; it is a count of months like the others.
    - Percentages end at 100. `NetFraction…` may exceed it.

    The complete version also has two rules that no record violates.
    """
    check_choice("version", version, _SOURCES)
    return _SOURCES[version].load(partial(_dataset, version=version), path, check)


def _dataset(frame: pd.DataFrame, where: str, version: str) -> Dataset:
    schema = heloc_schema(version)
    check_columns(frame, [*schema.names, _COMPLETE.label], where)
    if version == "paper":
        frame = _processed(frame, list(schema.names))
    return _COMPLETE.dataset(as_integers(frame, schema.names, where), schema)


def _processed(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The authors' rows in original units, from the complete file or from theirs."""
    label = _COMPLETE.label
    if pd.api.types.is_numeric_dtype(frame[label]):
        return pd.concat([frame[names] - 1, frame[label].map({0: "Good", 1: "Bad"})], axis=1)
    return frame.loc[(frame[names] >= 0).all(axis=1), [*names, label]].reset_index(drop=True)


def heloc_schema(version: str = "complete") -> Schema:
    """The schema of HELOC; the paper's version has no codes and no rules, and its free columns first."""
    schema = schema_of("heloc")
    if version == "complete":
        return schema
    kept = [_without_codes(feature) for feature in schema if feature.name not in _NOT_IN_PAPER]
    return Schema(tuple(sorted(kept, key=lambda feature: feature.immutable)))


def _without_codes(feature: Feature) -> Feature:
    levels = tuple(level for level in feature.levels if level != _NO_RECORD)
    transitions = {level: goals for level, goals in feature.transitions.items() if level != _NO_RECORD}
    return replace(feature, special={}, levels=levels, transitions=transitions)
