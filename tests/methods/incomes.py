"""People whom a model judges by their incomes and scores, and methods fitted on them."""

from typing import Any

import numpy as np
import pandas as pd

from attain import Feature, GrowingSpheres, Schema

SCHEMA = Schema((Feature("income", "positive"), Feature("score", "real"), Feature("age", "count", immutable=True)))


def frame(rows: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": np.round(random.lognormal(7, 0.5, rows), 1),
            "score": np.round(random.normal(size=rows), 2),
            "age": random.integers(18, 70, rows),
        }
    )


def decide(X: pd.DataFrame) -> np.ndarray:
    return np.where(X["income"].to_numpy(float) / 1000 + X["score"].to_numpy(float) > 2, "good", "bad")


def fitted(explainer: Any = GrowingSpheres, **parameters: Any) -> Any:
    X = frame(200)
    return explainer(SCHEMA, budget=500, **parameters).fit(X, decide(X))
