"""What conformance suites share: a small table with every kind of column, and parameters that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from attain.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature("age", "count", immutable=True),
        Feature("visits", "count", special={-1: "never asked"}),
        Feature("income", "positive"),
        Feature("score", "interval", bounds=(0, 100), step=1),
        Feature("home", "categorical", levels=("rents", "owns", "other")),
        Feature("grade", "ordinal", levels=("low", "mid", "high")),
        Feature("balance", "real"),
        Feature("drift", "real", bounds=(-10, 0)),
    )
)


def example(rows: int = 200, seed: int = 0) -> pd.DataFrame:
    """A small frame with every kind of column, a special code and missing cells."""
    generator = np.random.default_rng(seed)
    age = generator.integers(18, 80, rows).astype(np.float64)
    hidden = generator.normal((age - 50) / 30, 1.0)
    frame = pd.DataFrame(
        {
            "age": age,
            "visits": generator.poisson(np.exp(0.5 + 0.4 * hidden)).astype(np.float64),
            "income": np.exp(7 + 0.6 * hidden),
            "score": np.clip(np.round(50 + 30 * hidden), 0, 100),
            "home": np.where(hidden > 0.3, "owns", generator.choice(["rents", "other"], rows)),
            "grade": np.array(["low", "mid", "high"])[np.clip(np.round(hidden + 1), 0, 2).astype(int)],
            "balance": 500 * hidden + generator.normal(0, 50, rows),
            "drift": -np.abs(hidden),
        }
    )
    frame.loc[generator.random(rows) < 0.15, "visits"] = -1.0
    frame.loc[generator.random(rows) < 0.1, "balance"] = np.nan
    return frame


def parameters(model: Any) -> dict[str, Any]:
    """All parameters of an estimator, those of estimators among them too; of these themselves, only their types."""
    return {
        name: type(value) if hasattr(value, "get_params") else value
        for name, value in model.get_params(deep=True).items()
    }
