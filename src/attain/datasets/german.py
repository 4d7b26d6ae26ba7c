"""German credit: the one real data set that comes with the package."""

from __future__ import annotations

import io
from importlib import resources
from typing import TypeAlias

import pandas as pd

from attain.datasets.dataset import Dataset
from attain.schema import Feature, Level, Schema

Transitions: TypeAlias = dict[Level, tuple[Level, ...]]

LABEL = "credit_risk"

_CHECKING = ("no account", "below 0 DM", "0 to 200 DM", "200 DM or more")
_SAVINGS = ("unknown or none", "below 100 DM", "100 to 500 DM", "500 to 1000 DM", "1000 DM or more")
_PROPERTY = ("unknown or none", "car or other", "building society savings or life insurance", "real estate")
_PURPOSES = (
    "new car",
    "used car",
    "furniture or equipment",
    "radio or television",
    "domestic appliances",
    "repairs",
    "education",
    "retraining",
    "business",
    "other",
)
_CARS_ONLY: Transitions = {purpose: () for purpose in _PURPOSES}
_CARS_ONLY |= {"new car": ("used car",), "used car": ("new car",)}


def load_german() -> Dataset:
    """German credit: 1000 loans of the 1970s, 700 of them good and 300 bad.

    The columns and levels are those of the UCI repository's "Statlog (German Credit Data)", with readable names; the
    level for single women, which no row has, is left out.

    What may change is our choice; change it with `schema.change`:

    - Immutable: `age`, `personal_status_sex`, `foreign_worker`, `dependants`, and `credit_history`, which is the past.
    - `checking_account`, `savings` and `property` have a level that says "none" or "unknown". It is no point on the
      scale, so these columns are categorical; and as forgetting a fact is no advice, nobody moves into that level.
    - `purpose`: a new car may become a used one and the other way round. Nothing else turns into something else.
    - `other_plans`: another instalment plan may be ended. Taking one on is no advice.
    - `employment_since`, `residence_since` and `job` move up only, `existing_credits` down only.

    UCI's text of the codes has known errors (Grömping, "South German Credit Data: Correcting a Widely Used Data Set",
    2019). The values here keep UCI's reading, because models and papers do. UCI also states costs: to accept a bad
    applicant costs 5, to refuse a good one 1.
    """
    text = resources.files("attain.datasets").joinpath("german.csv").read_text(encoding="utf-8")
    frame = pd.read_csv(io.StringIO(text), keep_default_na=False)
    schema = german_schema()
    return Dataset(
        name="german",
        X=frame[list(schema.names)],
        y=frame[LABEL],
        schema=schema,
        desired="good",
        description="1000 loan applications at a German bank, with whether the loan was paid back (good) or not (bad).",
        source="Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5NC77. Column and level names are changed.",
        licence="CC BY 4.0",
    )


def german_schema() -> Schema:
    """The schema of German credit."""
    return Schema(
        (
            _levels("checking_account", _CHECKING, transitions=_known(_CHECKING), label="checking account"),
            Feature("duration", "count", bounds=(4, 72), label="duration", unit="months"),
            _levels(
                "credit_history",
                (
                    "no credits or all paid back",
                    "all credits at this bank paid back",
                    "existing credits paid back until now",
                    "delays in the past",
                    "critical account or credits elsewhere",
                ),
                immutable=True,
                label="credit history",
            ),
            _levels(
                "purpose",
                _PURPOSES,
                transitions=_CARS_ONLY,
            ),
            Feature("credit_amount", "positive", bounds=(250, 18424), step=1, label="credit amount", unit="DM"),
            _levels("savings", _SAVINGS, transitions=_known(_SAVINGS)),
            _ordered(
                "employment_since",
                ("unemployed", "under 1 year", "1 to 4 years", "4 to 7 years", "7 years or more"),
                label="in this job since",
            ),
            Feature(
                "instalment_rate",
                "ordinal",
                levels=(1, 2, 3, 4),
                label="instalment rate",
                description="instalment as a share of disposable income, in four classes",
            ),
            _levels(
                "personal_status_sex",
                (
                    "male divorced or separated",
                    "female divorced, separated or married",
                    "male single",
                    "male married or widowed",
                ),
                immutable=True,
                label="personal status and sex",
            ),
            _levels("other_debtors", ("nobody", "co-applicant", "guarantor"), label="other debtors"),
            _ordered("residence_since", (1, 2, 3, 4), label="at this address since"),
            _levels("property", _PROPERTY, transitions=_known(_PROPERTY)),
            Feature("age", "count", bounds=(18, None), immutable=True, unit="years"),
            _levels(
                "other_plans",
                ("no other plan", "at a bank", "at stores"),
                transitions={
                    "no other plan": (),
                    "at a bank": ("no other plan",),
                    "at stores": ("no other plan",),
                },
                label="other instalment plans",
            ),
            _levels("housing", ("rents", "owns", "lives for free")),
            Feature(
                "existing_credits", "count", bounds=(1, 4), direction="decrease", label="existing credits at this bank"
            ),
            _ordered(
                "job",
                (
                    "unemployed or unskilled, not resident",
                    "unskilled, resident",
                    "skilled",
                    "management, self-employed or highly qualified",
                ),
            ),
            Feature(
                "dependants",
                "count",
                bounds=(1, 2),
                immutable=True,
                description="people whom the applicant is liable to maintain",
            ),
            _levels("telephone", ("no", "yes"), label="telephone in own name"),
            _levels("foreign_worker", ("no", "yes"), immutable=True, label="foreign worker"),
        )
    )


def _levels(
    name: str,
    levels: tuple[str, ...],
    *,
    transitions: Transitions | None = None,
    immutable: bool = False,
    label: str | None = None,
) -> Feature:
    return Feature(name, "categorical", levels=levels, transitions=transitions or {}, immutable=immutable, label=label)


def _ordered(name: str, levels: tuple[str, ...] | tuple[int, ...], label: str | None = None) -> Feature:
    """Levels, lowest first, that a person can only climb."""
    return Feature(name, "ordinal", levels=levels, direction="increase", label=label)


def _known(levels: tuple[str, ...]) -> Transitions:
    """Every known level may become any other known one; the first, which says none or unknown, any."""
    return {level: tuple(goal for goal in levels[1:] if goal != level) for level in levels[1:]}
