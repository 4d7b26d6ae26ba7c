"""The budget is exact: what a model is asked is charged to people, or reported as charged to nobody."""

from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import Pipeline

from attain import Model, methods
from attain.testing import people

KINDS = {"FeatureTweaking": "tree", "BudgetedInverseClassification": "linear", "Russell": "linear"}
"""Methods that read a model of this kind; all others take any."""
SETTINGS = {"ActionableRecourse": {"samples": 10}, "Wachter": {"method": "search"}}
METHODS = [name for name in methods.__all__ if name not in ("Explainer", "CCHVAE", "REVISE")]
MORE = ({}, {"ranges": True}, {"importance": True}, {"contributions": True})


class Counting:
    """A classifier that counts the rows it is asked about; it gives both probabilities and decisions."""

    def __init__(self, model: Any, fails: bool = False) -> None:
        self.model, self.classes_, self.rows, self.fails = model, model.classes_, 0, fails

    def _counted(self, X: pd.DataFrame) -> pd.DataFrame:
        self.rows += len(X)
        if self.fails and (X["score"].to_numpy() > 1.9).any():
            raise ValueError("scores above 1.9 are not known")
        return X

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return self.model.predict(self._counted(X))

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self.model.predict_proba(self._counted(X))


class CountingPipeline(Pipeline):
    """A pipeline that methods can look into, and that counts the rows it is asked about."""

    rows = 0

    def predict(self, X: pd.DataFrame, **more: Any) -> np.ndarray:
        self.rows += len(X)
        return super().predict(X, **more)

    def predict_proba(self, X: pd.DataFrame, **more: Any) -> np.ndarray:
        self.rows += len(X)
        return super().predict_proba(X, **more)

    def decision_function(self, X: pd.DataFrame, **more: Any) -> np.ndarray:
        self.rows += len(X)
        return super().decision_function(X, **more)


@cache
def world() -> tuple[pd.DataFrame, Any, Any]:
    X = people.frame(150)
    y = people.labels(X)
    return X, y, {"linear": people.linear_model(X, y), "tree": people.tree_model(X, y)}


@cache
def fitted(method: str) -> Any:
    X, y, _ = world()
    # with a margin of 0 no score is compiled, so that the model itself is asked everything
    made = getattr(methods, method)(people.schema(), laws=None, margin=0.0, figures=False, **SETTINGS.get(method, {}))
    return made.fit(X, y)


def counting(method: str, fails: bool = False) -> Any:
    models = world()[2]
    kind = KINDS.get(method)
    return Counting(models["linear"], fails) if kind is None else CountingPipeline(models[kind].steps)


def check(
    method: str, budget: int, n: int, number: int, more: dict[str, Any], batch: int = 100, fails: bool = False
) -> None:
    X = people.frame(40, seed=3)
    X = X[world()[2]["linear"].predict(X) == people.REFUSED].iloc[:number]
    model = counting(method, fails)
    explainer = fitted(method).set_params(budget=budget)
    with patch.object(getattr(methods, method), "_batch_size", lambda *_: batch):
        result = explainer.explain(Model(model), X, target=people.DESIRED, n=n, **more)
    charged = result.person_figures["rows_scored"]
    assert (charged <= budget).all()
    assert model.rows == result.rows_asked == charged.sum() + result.rows_uncharged
    probe = 2 * 2 * len(world()[0])  # probabilities and decisions, twice each
    if not more and not fails and method in ("GrowingSpheres", "HillClimbingLocalSearch", "ActionableRecourse"):
        assert result.rows_uncharged == probe, "nothing is asked about training rows but the probe"


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=4)
@given(
    budget=st.integers(2, 50) | st.sampled_from((200, 2_000)),
    n=st.integers(1, 3),
    number=st.integers(1, 4),
    more=st.sampled_from(MORE),
    batch=st.integers(1, 4),
)
def test_every_row_asked_is_charged_or_reported(
    method: str, budget: int, n: int, number: int, more: Any, batch: int
) -> None:
    check(method, budget, n, number, more, batch)


@pytest.mark.parametrize("method", ["GrowingSpheres", "Guarded", "NearestUnlike"])
def test_rows_asked_again_after_an_error_are_reported(method: str) -> None:
    for budget in (2, 30):
        check(method, budget, 2, 4, {}, fails=True)
