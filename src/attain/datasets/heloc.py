"""HELOC: FICO's home equity lines of credit."""

from __future__ import annotations

import os
from typing import Final, Literal

import pandas as pd

from attain.core.errors import DataError
from attain.datasets import files
from attain.datasets.dataset import Dataset
from attain.schema import Direction, Feature, Kind, Level, Schema

LABEL: Final = "RiskPerformance"

_ADVICE: Final = (
    "FICO gives it to those who ask and accept its terms, so it is never downloaded: ask at "
    "https://community.fico.com/s/explainable-machine-learning-challenge."
)
_TITLE: Final = "FICO's HELOC file"
_PUBLISHED: Final = {
    "complete": files.Published(
        _TITLE, rows=10_459, fingerprint="a3225f70821f53d00fbc68d8980aa11ff21b796dbab63f96396546a6ea862328"
    ),
    "paper": files.Published(
        _TITLE, rows=8_291, fingerprint="f36f0e6e490c9bceb9ad1489de6b6f463a0e56d732d2094fad3611899fff55af"
    ),
}

_NOT_IN_PAPER: Final = ("MSinceMostRecentDelq", "MSinceMostRecentInqexcl7days", "NetFractionInstallBurden")
_IMMUTABLE: Final = ("ExternalRiskEstimate", "MSinceOldestTradeOpen", "AverageMInFile")

HELOC_DIRECTIONS: Final[dict[str, Direction]] = {
    "NumSatisfactoryTrades": "increase",
    "NumTrades60Ever2DerogPubRec": "decrease",
    "PercentTradesNeverDelq": "increase",
    "MaxDelq2PublicRecLast12M": "increase",
    "MaxDelqEver": "increase",
    "NumTotalTrades": "decrease",
    "NumTradesOpeninLast12M": "decrease",
    "PercentInstallTrades": "increase",
    "MSinceMostRecentInqexcl7days": "increase",
    "NumInqLast6M": "decrease",
    "NumInqLast6Mexcl7days": "decrease",
    "NetFractionRevolvingBurden": "decrease",
    "NumRevolvingTradesWBalance": "increase",
    "NumInstallTradesWBalance": "increase",
    "NumBank2NatlTradesWHighUtilization": "decrease",
    "PercentTradesWBalance": "increase",
}
"""The way each feature may move in the paper's runs of HCLS, where `NumTrades90Ever2DerogPubRec` changes indirectly.

Corrected: more trades never delinquent, more months since the last inquiry and a higher delinquency code (which is the
milder one) are better, and the feature that the table lists twice with opposite arrows,
`NumBank2NatlTradesWHighUtilization`, goes down. The other methods use no directions, and so neither does the schema.
"""


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
        columns first. They also added 1 to every feature; that is taken back here, so that both have original units.
        Computed from the complete file unless it is on disk.
    path
        The file, or a folder that has it. Otherwise the folder in `ATTAIN_DATA` and the cache are searched.
    check
        Refuse a file whose content is not the published one.

    Notes
    -----
    All features are whole numbers. Kinds and immutable columns are those of the paper's appendix (Poisson: `count`;
    log-normal: `positive` with step 1), with its slips mended:

    - `NetFractionRevolvingBurden` is listed twice; it is a ratio and has the log-normal likelihood of the first entry.
    - `NumBank/Natl…` and `NumBank2NatlTradesWHighUtilization` are one feature; it is a count.
    - `MaxDelq2PublicRecLast12M` and `MaxDelqEver` are codes with an order, not counts: they are ordinal. The codes −9
      and, in the first, 9 ("other") have no place in that order; nobody moves into them.
    - `MSinceMostRecentTradeOpen` is missing in the table; it is a count of months like its fellows.
    - Percentages end at 100. `NetFraction…` may exceed it.

    The complete version also has two rules that no record breaks.
    """
    if version not in _PUBLISHED:
        raise DataError(f"version is {version!r}; it takes one of {', '.join(_PUBLISHED)}")
    raw = ["heloc", "heloc_dataset_v1"]
    file = files.find("heloc", ["heloc_cchvae", *raw] if version == "paper" else raw, path, _ADVICE)
    schema = heloc_schema(version)
    frame = files.read(file)
    files.check_columns(frame, [*schema.names, LABEL], repr(str(file)))
    if version == "paper":
        frame = _processed(frame, schema)
    frame = files.whole(frame, schema.names, repr(str(file)))
    data = Dataset(
        name="heloc",
        X=frame[list(schema.names)],
        y=frame[LABEL],
        schema=schema,
        desired="Good",
        description="Credit reports of home owners in the United States who asked for a home equity line of credit, "
        "and whether they were 90 days past due or worse (Bad) within two years of opening it.",
        source="FICO (2018). Explainable Machine Learning Challenge. "
        "https://community.fico.com/s/explainable-machine-learning-challenge",
        licence="FICO's challenge terms; no open licence is known. Do not pass the data on.",
    )
    if check:
        files.check_content(data, _PUBLISHED[version], repr(str(file)))
    return data


def _processed(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The authors' rows in original units, from the complete file or from theirs."""
    names = list(schema.names)
    if pd.api.types.is_numeric_dtype(frame[LABEL]):
        labels = frame[LABEL].map({0: "Good", 1: "Bad"})
        return pd.concat([frame[names] - 1, labels], axis=1)
    return frame.loc[(frame[names] >= 0).all(axis=1), [*names, LABEL]].reset_index(drop=True)


def heloc_schema(version: Literal["complete", "paper"] = "complete") -> Schema:
    """The schema of HELOC."""
    complete = version == "complete"
    features = (
        _number("ExternalRiskEstimate", "positive", "external risk estimate", complete, high=100),
        _number("MSinceOldestTradeOpen", "count", "months since the oldest trade opened", complete),
        _number("MSinceMostRecentTradeOpen", "count", "months since the newest trade opened", complete),
        _number("AverageMInFile", "positive", "average months in file", complete),
        _number("NumSatisfactoryTrades", "count", "satisfactory trades", complete),
        _number("NumTrades60Ever2DerogPubRec", "positive", "trades ever 60 days late", complete),
        _number("NumTrades90Ever2DerogPubRec", "positive", "trades ever 90 days late", complete),
        _number("PercentTradesNeverDelq", "positive", "trades never delinquent", complete, high=100, unit="%"),
        _number("MSinceMostRecentDelq", "count", "months since the last delinquency", complete, never="no delinquency"),
        _code(
            "MaxDelq2PublicRecLast12M",
            (0, 1, 2, 3, 4, 5, 6, 7, 9),
            "worst delinquency of the last 12 months",
            complete,
            "0 derogatory, 1 120 days or more, 2 90 days, 3 60 days, 4 30 days, 5 and 6 unknown, 7 never, 9 other",
        ),
        _code(
            "MaxDelqEver",
            (2, 3, 4, 5, 6, 7, 8),
            "worst delinquency ever",
            complete,
            "2 derogatory, 3 120 days or more, 4 90 days, 5 60 days, 6 30 days, 7 unknown, 8 never",
        ),
        _number("NumTotalTrades", "count", "trades", complete),
        _number("NumTradesOpeninLast12M", "count", "trades opened in the last 12 months", complete),
        _number("PercentInstallTrades", "positive", "instalment trades", complete, high=100, unit="%"),
        _number("MSinceMostRecentInqexcl7days", "count", "months since the last inquiry", complete, never="no inquiry"),
        _number("NumInqLast6M", "count", "inquiries in the last 6 months", complete),
        _number("NumInqLast6Mexcl7days", "count", "inquiries in the last 6 months but 7 days", complete),
        _number("NetFractionRevolvingBurden", "positive", "revolving balance by limit", complete, unit="%"),
        _number("NetFractionInstallBurden", "positive", "instalment balance by loan", complete, unit="%"),
        _number("NumRevolvingTradesWBalance", "count", "revolving trades with balance", complete),
        _number("NumInstallTradesWBalance", "count", "instalment trades with balance", complete),
        _number("NumBank2NatlTradesWHighUtilization", "count", "bank trades with high utilisation", complete),
        _number("PercentTradesWBalance", "positive", "trades with balance", complete, high=100, unit="%"),
    )
    if complete:
        rules = (
            "NumTrades90Ever2DerogPubRec <= NumTrades60Ever2DerogPubRec",
            "NumInqLast6Mexcl7days <= NumInqLast6M",
        )
        return Schema(features, rules)
    kept = [feature for feature in features if feature.name not in _NOT_IN_PAPER]
    return Schema(tuple(sorted(kept, key=lambda feature: feature.immutable)))


def _number(
    name: str,
    kind: Kind,
    label: str,
    complete: bool,
    *,
    high: float | None = None,
    unit: str | None = None,
    never: str | None = None,
) -> Feature:
    special: dict[float, str] = {}
    if complete:
        special = {-9: "no bureau record or no investigation", -8: "no usable trades or inquiries"}
        special |= {-7: never} if never else {}
    return Feature(
        name,
        kind,
        bounds=(0, high),
        step=1,
        special=special,
        immutable=name in _IMMUTABLE,
        label=label,
        unit=unit,
    )


def _code(name: str, codes: tuple[int, ...], label: str, complete: bool, description: str) -> Feature:
    levels = (-9, *codes) if complete else codes
    transitions: dict[Level, tuple[Level, ...]] = {
        level: () if level == -9 else tuple(goal for goal in levels if goal not in (-9, 9, level)) for level in levels
    }
    return Feature(name, "ordinal", levels=levels, transitions=transitions, label=label, description=description)
