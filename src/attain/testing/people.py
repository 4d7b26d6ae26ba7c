"""Made-up people for conformance tests: every kind of column, special codes, missing cells, a derived column, rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from attain.schema import Feature, Schema

DESIRED = "granted"
REFUSED = "refused"
LAWS = (
    "debt <= 5 * income",
    "if housing = parents then months_late <= 6",
    "not (education = college and housing = parents and cards >= 10)",
)
"""Laws that a few of the people break."""


def schema() -> Schema:
    """A schema that uses everything a schema can say; somebody has reviewed all of it."""
    return Schema(
        (
            Feature("age", "count", bounds=(18, 99), immutable=True, unit="years"),
            Feature("sex", "categorical", levels=("f", "m"), immutable=True),
            Feature("income", "positive", step=50.0, direction="increase", unit="€"),
            Feature("debt", "positive", step=10.0, unit="€"),
            Feature("debt_ratio", "real", derived="debt / income"),
            Feature("cards", "count", bounds=(0, 12), range=(-3, 2)),
            Feature("months_late", "count", special={-8: "no account", -9: "no record"}, transitions={-8: ("value",)}),
            Feature("share_used", "interval", bounds=(0, 1), step=0.01),
            Feature("score", "real", reach=(-1.5, 2)),
            Feature("education", "ordinal", levels=("none", "school", "college"), direction="increase"),
            Feature("housing", "categorical", levels=("rents", "owns", "parents"), transitions={"owns": ("rents",)}),
            Feature("mortgage", "categorical", levels=(False, True)),
            Feature("savings", "real", fillable=True, bounds=(0, None)),
        ),
        rules=("cards <= 10", "if housing = rents then mortgage = false"),
    ).change(["debt", "share_used", "mortgage"], reviewed="attain, 2026-11-19")


def frame(people: int = 300, seed: int = 0) -> pd.DataFrame:
    """People who keep the schema's rules, with columns in another order and text labels as index."""
    random = np.random.default_rng(seed)
    income = np.round(random.lognormal(7.8, 0.4, people) / 50) * 50
    debt = np.round(random.lognormal(7.0, 0.8, people) / 10) * 10
    late = random.poisson(2, people)
    late = np.where(random.random(people) < 0.08, random.choice([-8, -9], people), late)
    housing = random.choice(["rents", "owns", "parents"], people, p=[0.5, 0.3, 0.2])
    savings = np.where(random.random(people) < 0.15, np.nan, np.round(random.lognormal(6, 1, people), 2))
    columns = {
        "housing": housing,
        "mortgage": (housing != "rents") & (random.random(people) < 0.4),
        "income": income,
        "debt": debt,
        "debt_ratio": debt / income,
        "age": random.integers(18, 80, people),
        "sex": random.choice(["f", "m"], people),
        "cards": random.integers(0, 11, people),
        "months_late": late,
        "share_used": np.round(random.beta(2, 3, people), 2),
        "score": random.normal(0, 1, people),
        "education": random.choice(["none", "school", "college"], people, p=[0.2, 0.5, 0.3]),
        "savings": savings,
    }
    return pd.DataFrame(columns, index=pd.Index([f"p{i}" for i in range(people)], name="who"))


def broken_laws(person: Mapping[str, Any]) -> list[str]:
    """The laws that a person breaks, checked without any code of the package."""
    with_parents = person["housing"] == "parents"
    broken = (
        person["debt"] > 5 * person["income"],
        with_parents and person["months_late"] > 6,
        with_parents and person["education"] == "college" and person["cards"] >= 10,
    )
    return [law for law, breaks in zip(LAWS, broken, strict=True) if breaks]


def labels(people: pd.DataFrame, seed: int = 1) -> pd.Series:
    """Who was granted credit: more income, savings and score help, debt and late payments do not."""
    random = np.random.default_rng(seed)
    merit = (
        np.log(people["income"]) * 1.5
        - np.log(people["debt"])
        - 0.3 * people["months_late"].clip(lower=0)
        + 0.6 * people["score"]
        + 0.5 * (people["education"] == "college")
        + 0.4 * (people["housing"] == "owns")
        - 1.5 * people["share_used"]
    )
    noisy = merit + random.normal(0, 0.5, len(people))
    return pd.Series(np.where(noisy > np.median(merit) + 0.3, DESIRED, REFUSED), index=people.index, name="decision")


def linear_model(X: pd.DataFrame, y: pd.Series) -> Any:
    """A logistic regression on the raw frame."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return _fitted(LogisticRegression(max_iter=1000), numbers, X, y)


def tree_model(X: pd.DataFrame, y: pd.Series) -> Any:
    """A decision tree on the raw frame."""
    return _fitted(DecisionTreeClassifier(max_depth=5, random_state=0), SimpleImputer(strategy="median"), X, y)


def _fitted(model: Any, numbers: Any, X: pd.DataFrame, y: pd.Series) -> Any:
    levels = ["housing", "sex", "education", "mortgage"]
    others = [name for name in X.columns if name not in levels]
    prepared = make_column_transformer((numbers, others), (OneHotEncoder(handle_unknown="ignore"), levels))
    return make_pipeline(prepared, model).fit(X, y)
