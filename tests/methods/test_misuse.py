"""What methods do not take is refused in a sentence that names it, and what would do."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from attain import Feature, Schema, methods
from tests.density.outside import DifferentiablePCA, ProbabilisticPCA
from tests.misuse import calls, check_call

METHODS = [name for name in methods.__all__ if name != "Explainer"]
SCHEMA = Schema(tuple(Feature(name, "real") for name in "abc"))
SWAPPED, FIXED = Schema(tuple(SCHEMA[name] for name in "bac")), SCHEMA.change("b", immutable=True)
LEVELS = Schema((Feature("a", "categorical", levels=("x", "y")), Feature("b", "real")))
X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
Y = (X["a"] - X["b"] > 0).astype(int)
MODELS = {"linear": LogisticRegression().fit(X, Y), "tree": DecisionTreeClassifier(max_depth=3).fit(X, Y)}


def fit(method: str, /, *rest: Any, schema: Schema = SCHEMA, **settings: Any) -> Any:
    """The method, fitted; without labels unless they are given."""
    frame = X if schema is SCHEMA else pd.DataFrame({"a": ["x", "y"], "b": [0.0, 1.0]})
    return getattr(methods, method)(schema, **settings).fit(frame, *rest)


def fit_with_rows(*calibration: Any) -> Any:
    """The guarded search, fitted with labels and calibration rows."""
    return methods.Guarded(SCHEMA).fit(X, Y, calibration=calibration if len(calibration) > 1 else calibration[0])


def explain(fitted: Any, model: str, **asked: Any) -> Any:
    return fitted.explain(MODELS[model], X, target=1, **asked)


NAMES = {**globals(), "DifferentiablePCA": DifferentiablePCA, "ProbabilisticPCA": ProbabilisticPCA}


@pytest.mark.parametrize(("call", "message"), calls(Path(__file__).with_name("misuse.txt")))
def test_misuse_is_refused_with_a_sentence(call: str, message: str) -> None:
    check_call(call, message, NAMES)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("budget=1", "budget must be an integer ≥ 2, got 1"),
        ("margin=-1.0", "margin must be a number ≥ 0, got -1.0"),
        ("random_state=-1", "random_state must be an integer ≥ 0, got -1"),
    ],
)
def test_every_method_names_a_wrong_parameter_in_fit(method: str, setting: str, message: str) -> None:
    check_call(f"fit({method!r}, {setting})", message, NAMES)


@pytest.mark.parametrize("method", METHODS)
def test_explaining_before_fitting_is_refused(method: str) -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        getattr(methods, method)(SCHEMA).explain(MODELS["linear"], X, target=1)
