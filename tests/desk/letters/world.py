"""A small world whose letters are known: loans, a model with a sharp threshold, results made by hand."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import attain
from attain import Feature, Schema
from attain.results.counterfactuals import Counterfactuals
from attain.results.details import Attributions
from tests.results.handmade import result_of, reviewed

SCHEMA = reviewed(
    (
        Feature("amount", "positive", bounds=(0, 1e7), label="amount of the loan", unit="€"),
        Feature("months", "count", bounds=(1, 120), label="term", unit="months", special={0: "open end"}),
        Feature("home", "categorical", levels=("rented", "owned", "free")),
        Feature("rating", "ordinal", levels=("low", "middle", "high")),
        Feature("age", "count", immutable=True, unit="years"),
        Feature("ratio", "real", derived="amount / months"),
    ),
    laws=(),
)
TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
ALLOWED = ["amount", "months", "home", "rating", "age", "ratio"]


def people(*rows: Mapping[str, Any]) -> pd.DataFrame:
    """People who ask for 5,000 € over 50 months, unless their row says otherwise."""
    usual = {"amount": 5000.0, "months": 50, "home": "rented", "rating": "low", "age": 30}
    frame = pd.DataFrame([usual | dict(row) for row in rows], index=[f"p{i}" for i in range(len(rows))])
    return frame.assign(ratio=frame["amount"] / frame["months"].where(frame["months"] > 0))[ALLOWED]


def model(accepts: Callable[[pd.DataFrame], Any]) -> attain.Model:
    """A model that decides `good` where this is true."""

    def predict(frame: pd.DataFrame) -> np.ndarray:
        return np.where(np.asarray(accepts(frame), dtype=bool), "good", "bad")

    return attain.Model(predict, classes=["bad", "good"])


def explainer(**changes: Any) -> attain.GrowingSpheres:
    """A method without a guard, fitted on loans of 100 to 12,000 €."""
    random, schema, n = np.random.default_rng(0), replace(SCHEMA, **changes), 60
    rows = {
        "amount": np.round(random.uniform(100, 12_000, n), 2),
        "months": random.integers(1, 100, n),
        "home": random.choice(schema["home"].levels, n),
        "rating": random.choice(schema["rating"].levels, n),
        "age": random.integers(20, 70, n),
    }
    rows["amount"][:2], rows["months"][:2] = [0, 12_000], [1, 120]
    frame = pd.DataFrame(rows)
    return attain.GrowingSpheres(schema, figures=False).fit(frame.assign(ratio=frame["amount"] / frame["months"]))


def result(
    frame: pd.DataFrame,
    options: Mapping[int, Sequence[Mapping[str, Any]]],
    contributions: Sequence[Mapping[str, float]] = (),
    *,
    schema: Schema = SCHEMA,
    **fields: Any,
) -> Counterfactuals:
    """A result made by hand; derived cells are computed."""
    settings = fields.pop("settings", {})
    made = result_of(schema, frame, options, **fields)
    rows = made.rows.copy()
    rows[:, 5] = rows[:, 0] / rows[:, 1]
    weights = np.zeros((len(frame), len(schema)))
    for i, own in enumerate(contributions):
        for name, weight in own.items():
            weights[i, schema.position(name)] = weight
    known = Attributions(
        scale="lead in probability",
        people=10,
        person=np.arange(len(frame)),
        column=np.arange(len(schema)),
        contribution=weights,
        error=np.zeros_like(weights),
        free=np.tile([feature.searched for feature in schema], (len(frame), 1)),
    )
    return replace(made, rows=rows, attributions=known, settings=settings)
