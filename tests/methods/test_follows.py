"""A column that follows others: every method moves it with them, and keeps each person's own ratio to them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attain import Feature, Schema, methods
from attain.results.counterfactuals import Counterfactuals
from tests.methods.test_budget import METHODS

RANDOM = np.random.default_rng(0)
MONTHS, CHARGE = RANDOM.integers(1, 60, 300), RANDOM.integers(200, 1200, 300) / 10
DISCOUNT = RANDOM.choice([0.8, 1.0], 300)
TRAIN = pd.DataFrame({"months": MONTHS, "charge": CHARGE, "total": np.round(MONTHS * CHARGE * DISCOUNT, 2)})
LABELS = np.where(TRAIN["months"] - TRAIN["charge"] / 4 + RANDOM.normal(0, 5, 300) > 12, "stays", "leaves")
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(TRAIN, LABELS)
SCHEMA = Schema(
    (
        Feature("months", "count"),
        Feature("charge", "positive", step=0.1),
        Feature("total", "positive", step=0.01, follows="months * charge"),
    )
)


def explained(method: str, n: int) -> tuple[pd.DataFrame, Counterfactuals]:
    made: Any = getattr(methods, method)
    people = TRAIN[MODEL.predict(TRAIN) == "leaves"].head(n)
    result: Counterfactuals = made(SCHEMA, laws=None).fit(TRAIN, LABELS).explain(MODEL, people, target="stays")
    return people, result


@pytest.mark.parametrize("method", [name for name in METHODS if name != "FeatureTweaking"])
def test_every_method_keeps_each_persons_own_ratio(method: str) -> None:
    people, result = explained(method, 12)
    assert result.found.any()
    before, after = people[result.found], result.frame[result.found]
    expected = before["total"] * (after["months"] * after["charge"]) / (before["months"] * before["charge"])
    moved = (after[["months", "charge"]].to_numpy() != before[["months", "charge"]].to_numpy()).any(axis=1)
    assert moved.all()
    np.testing.assert_allclose(after["total"], expected, atol=0.0051)


def test_the_sentence_says_that_it_follows() -> None:
    _, result = explained("Guarded", 4)
    assert "This brings total from" in " ".join(result.sentences[result.found])
