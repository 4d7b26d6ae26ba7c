"""What methods do not take is refused in a sentence that names it, and what would do."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from attain import Feature, Schema, methods
from attain.core.errors import AttainError, ModelError
from tests.density.outside import DifferentiablePCA, ProbabilisticPCA

METHODS = [name for name in methods.__all__ if name != "Explainer"]
SCHEMA = Schema(tuple(Feature(name, "real") for name in "abc"))
SWAPPED, FIXED = Schema(tuple(SCHEMA[name] for name in "bac")), SCHEMA.change("b", immutable=True)
LEVELS = Schema((Feature("a", "categorical", levels=("x", "y")), Feature("b", "real")))
X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
Y = (X["a"] - X["b"] > 0).astype(int)
MODELS = {"linear": LogisticRegression().fit(X, Y), "tree": DecisionTreeClassifier(max_depth=3).fit(X, Y)}


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        *(
            (name, settings, message)
            for name in METHODS
            for settings, message in (
                ({"budget": 1}, "budget must be an integer ≥ 2, got 1"),
                ({"margin": -1.0}, "margin must be a number ≥ 0, got -1.0"),
                ({"random_state": -1}, "random_state must be an integer ≥ 0, got -1"),
            )
        ),
        ("ActionableRecourse", {"cost": "cheap"}, "cost must be one of 'total', 'max', 'local', got 'cheap'"),
        ("ActionableRecourse", {"grid": "fine"}, "grid must be one of 'observed', 'exact', got 'fine'"),
        ("ActionableRecourse", {"grid": 0}, "grid must be an integer ≥ 1, got 0"),
        ("BudgetedInverseClassification", {"directions": {"a": "sideways"}}, "directions['a'] must be one of"),
        ("CCHVAE", {"norm": 3}, "norm must be 1, 2 or infinity, got 3"),
        ("CCHVAE", {"autoencoder": None}, "CCHVAE needs an autoencoder"),
        ("CCHVAE", {"autoencoder": "vae"}, "autoencoder must be an autoencoder or 'chvae', got 'vae'"),
        ("CCHVAE", {"autoencoder": 3}, "autoencoder is a int, which has no encode, decode, log_density, fit"),
        (
            "CCHVAE",
            {"autoencoder": ProbabilisticPCA(SWAPPED).fit(X)},
            "fitted with the columns b, a, c, but the explainer's are a, b, c",
        ),
        ("CCHVAE", {"autoencoder": ProbabilisticPCA(FIXED).fit(X)}, "immutable of 'b' is True there and False here"),
        ("HillClimbingLocalSearch", {"schema": LEVELS, "directions": {"a": "increase"}}, "whose levels have no order"),
    ],
)
def test_a_wrong_parameter_is_named_in_fit(method: str, settings: dict[str, Any], message: str) -> None:
    given = {"schema": SCHEMA, **settings}
    frame = X if given["schema"] is SCHEMA else pd.DataFrame({"a": ["x", "y"], "b": [0.0, 1.0]})
    with pytest.raises(AttainError) as raised:
        getattr(methods, method)(**given).fit(frame)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("method", "settings", "model", "messages"),
    [
        ("BudgetedInverseClassification", {}, "tree", ["HillClimbingLocalSearch solves the same problem"]),
        (
            "FeatureTweaking",
            {},
            "linear",
            ["LogisticRegression is not a tree ensemble", "use GrowingSpheres or NearestUnlike"],
        ),
        (
            "REVISE",
            {"autoencoder": DifferentiablePCA(SCHEMA), "method": "gradient"},
            "tree",
            ["method='scores' needs no slope"],
        ),
        (
            "REVISE",
            {"autoencoder": ProbabilisticPCA(SCHEMA), "method": "gradient"},
            "linear",
            ["ProbabilisticPCA has no decode_vjp; use method='scores'"],
        ),
        ("Russell", {}, "tree", ["LogisticRegression", "ActionableRecourse takes any classifier"]),
        ("Wachter", {"method": "gradient"}, "tree", ["method='search'"]),
    ],
)
def test_a_model_that_a_method_cannot_take_is_refused(
    method: str, settings: dict[str, Any], model: str, messages: list[str]
) -> None:
    fitted = getattr(methods, method)(SCHEMA, **settings).fit(X, Y)
    with pytest.raises(AttainError) as raised:
        fitted.explain(MODELS[model], X, target=1)
    assert isinstance(raised.value, ModelError) or method == "REVISE"
    assert all(message in str(raised.value) for message in messages)


@pytest.mark.parametrize("method", METHODS)
def test_explaining_before_fitting_is_refused(method: str) -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        getattr(methods, method)(SCHEMA).explain(MODELS["linear"], X, target=1)
