"""`Dataset`: a frame, its labels, its schema, and where they come from; German credit, and the paper's two examples.

The examples are synthetic; what the paper leaves open is decided and named.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from io import StringIO
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd

from attain.core.errors import DataError, check_choice, check_integer, listed
from attain.schema import Feature, Level, Schema

Geometry: TypeAlias = Literal["diagonal", "triangle"]
Reading: TypeAlias = Literal["interleaved", "printed"]

BLOB_CENTRES: Final[dict[str, tuple[tuple[float, float], ...]]] = {
    "diagonal": ((-5.0, 9.0), (0.0, 4.5), (6.0, 1.0)),
    "triangle": ((0.0, 9.0), (-6.0, 1.0), (6.0, 1.0)),
}
"""The centres of the clusters of `make_blobs`. The first has the desired label; an upper corner is always empty."""

_REVIEWED: Final = "attain, by construction"
_PAPER: Final = "Pawelczyk, Broelemann, Kasneci (2020). https://doi.org/10.1145/3366423.3380087"


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


def make_blobs(n: int = 10_000, seed: int = 0, *, geometry: Geometry = "diagonal") -> Dataset:
    """Three Gaussian clusters in the plane with the label 1 where x2 > 6: the paper's Example 1.

    A straight step up from the lower right cluster flips the label but ends where there are no rows. The paper gives
    standard deviation 1 and "a fixed seed", but no centres. `diagonal` puts them on a falling line, as its figure
    shows: (−5, 9), (0, 4.5), (6, 1). `triangle` puts one above two, (0, 9), (−6, 1), (6, 1), so that both upper corners
    are empty. The clusters have the same number of rows, up to one; `extras["cluster"]` says which each row came from.
    """
    check_integer("n", n, 6)
    check_choice("geometry", geometry, BLOB_CENTRES)
    generator = np.random.default_rng(seed)
    centres = np.array(BLOB_CENTRES[geometry])
    cluster = generator.permutation(np.arange(n) % len(centres))
    points = centres[cluster] + generator.standard_normal((n, 2))
    X = pd.DataFrame(points, columns=["x1", "x2"])
    return Dataset(
        name="blobs",
        X=X,
        y=(X["x2"] > 6).astype("int64").rename("y"),
        schema=Schema(tuple(Feature(name, "real", reviewed=_REVIEWED) for name in ("x1", "x2"))),
        desired=1,
        description="Three Gaussian clusters in the plane; the label is 1 where x2 > 6.",
        source=f"Generated; Example 1 of {_PAPER}",
        licence="MIT",
        extras={"cluster": pd.Series(cluster, name="cluster").astype("int64")},
    )


def make_moons(n: int = 10_000, seed: int = 0, *, reading: Reading = "interleaved") -> Dataset:
    """Two half circles, with one coordinate a category, with the label 1 where x1 > 0: the paper's Example 2.

    The paper's text of this example cannot be followed to its "19 categories": rounding the sine to one decimal gives
    11 values, rounding it to integers gives 2. Two readings are offered, with the angle t uniform on (0, π) and
    half of the rows on each half circle:

    - `interleaved`: the upper half circle (cos t, sin t), the lower one (1 − cos t, 0.2 − sin t), and x2 rounded to one
      decimal. The two overlap by 0.2, so that x2 has exactly the 19 levels −0.8, −0.7, …, 1.0. The 1st, the 9th and the
      19th, which the paper's figure names, are the bottom of the lower, the ends of the upper and the top of the upper
      half circle.
    - `printed`: the upper half circle with sin t rounded to one decimal, the lower one (1 − cos t, 1 − sin t) with
      sin t rounded to an integer, as the text says. x2 has the 11 levels 0.0, 0.1, …, 1.0.

    `extras["moon"]` says which half circle each row came from.
    """
    check_integer("n", n, 6)
    check_choice("reading", reading, ("interleaved", "printed"))
    generator = np.random.default_rng(seed)
    lower = generator.permutation(np.arange(n) % 2).astype(bool)
    angle = generator.uniform(0.0, np.pi, n)
    upper_tenths = np.rint(10 * np.sin(angle))
    if reading == "interleaved":
        lower_tenths = np.rint(10 * (0.2 - np.sin(angle)))
        levels = tuple(tenth / 10 for tenth in range(-8, 11))
    else:
        lower_tenths = 10 * (1 - np.rint(np.sin(angle)))
        levels = tuple(tenth / 10 for tenth in range(11))
    x1 = np.where(lower, 1 - np.cos(angle), np.cos(angle))
    # Adding 0.0 turns −0.0 into 0.0.
    x2 = np.where(lower, lower_tenths, upper_tenths) / 10 + 0.0
    return Dataset(
        name="moons",
        X=pd.DataFrame({"x1": x1, "x2": x2}),
        y=pd.Series(x1 > 0, name="y").astype("int64"),
        schema=Schema(
            (
                Feature("x1", "real", reviewed=_REVIEWED),
                Feature("x2", "categorical", levels=levels, reviewed=_REVIEWED),
            )
        ),
        desired=1,
        description="Two half circles in the plane, the second coordinate a category; the label is 1 where x1 > 0.",
        source=f"Generated; Example 2 of {_PAPER}",
        licence="MIT",
        extras={"moon": pd.Series(np.where(lower, "lower", "upper"), name="moon")},
    )
