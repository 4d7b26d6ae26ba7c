"""`Dataset`: a frame, its labels, its schema, and where they come from; and German credit, which is one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from io import StringIO
from typing import Any

import pandas as pd

from attain.core.errors import DataError, listed
from attain.schema import Level, Schema


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Records, labels and schema of one data set.

    Parameters
    ----------
    name
        A short name: `"german"`.
    X
        The features, in original units. Its columns are those of the schema, in the same order.
    y
        The label of each row.
    schema
        What each column is and what may happen to it.
    desired
        The label that applicants want.
    description
        What the records are, in a few sentences.
    source
        Where the data come from.
    licence
        Under which terms they may be used.
    extras
        Columns that belong to the rows but are not input to a model, such as a train and test split.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    schema: Schema
    desired: Level
    description: str
    source: str
    licence: str
    extras: Mapping[str, pd.Series] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if tuple(self.X.columns) != self.schema.names:
            raise DataError(
                f"X must have the columns of the schema of {self.name!r}, in the same order: "
                f"{listed(self.schema.names)}, got {listed(self.X.columns)}"
            )
        for title, column in {"y": self.y, **self.extras}.items():
            if not column.index.equals(self.X.index):
                raise DataError(f"{title!r} of {self.name!r} must have the index of X, one value per row")
        if self.desired not in set(self.y):
            raise DataError(f"desired must be a label of {self.name!r}, got {self.desired!r}")

    def __repr__(self) -> str:
        labels = ", ".join(f"{label!r} {share:.1%}" for label, share in self.y.value_counts(normalize=True).items())
        return f"Dataset({self.name!r}, {len(self.X)} rows × {self.X.shape[1]} features, labels: {labels})"


def german_texts() -> dict[str, Any]:
    """Texts of letters about German credit, in English and German, as `attain.letters.write` takes them."""
    return tomllib.loads(_file("german_reasons.toml"))


def load_german() -> Dataset:
    """German credit: 1000 loans of the 1970s, 700 of them good and 300 bad.

    The columns and levels are those of the UCI repository's "Statlog (German Credit Data)", with readable names; the
    level for single women, which no row has, is left out.

    What may change is our choice; change it with `schema.change`:

    - Immutable: `age`, `personal_status_sex`, `foreign_worker`, `dependants`, `residence_since`, and `credit_history`,
      which is the past.
    - `checking_account`, `savings`, `property`, `employment_since` and `job` move up only, and these take time: half a
      year for a level of money, two years for the others. `housing` and `existing_credits` take two years as well.
      No answer takes longer than that.
    - `credit_amount` and `existing_credits` move down only, and `instalment_rate` up only: nobody should be told to owe
      more, and 4 is the smallest share of income.
    - `purpose`: a new car may become a used one and the other way round. Nothing else changes.
    - `other_plans`: another instalment plan may be ended. Taking one on is not advice.
    - Nobody is advised to overdraw an account, to sell their home or to live for free, or to become a resident.

    UCI's text of the codes has known errors (Grömping, "South German Credit Data: Correcting a Widely Used Data Set",
    2019). The values here keep UCI's reading, because models and papers do. UCI also states costs: accepting a bad
    applicant costs 5, refusing a good one 1.
    """
    frame = pd.read_csv(StringIO(_file("german.csv")), keep_default_na=False)
    schema = Schema.from_toml(_file("german.toml"))
    return Dataset(
        name="german",
        X=frame[list(schema.names)],
        y=frame["credit_risk"],
        schema=schema,
        desired="good",
        description="1000 loan applications at a German bank, with whether the loan was paid back (good) or not (bad).",
        source="Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5NC77. Column and level names are changed.",
        licence="CC BY 4.0",
    )


def _file(name: str) -> str:
    return resources.files("attain.datasets").joinpath(name).read_text(encoding="utf-8")
