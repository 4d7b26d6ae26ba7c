"""Schemas without numbers, and limits that leave no step: what every method does with them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from attain import Feature, Schema
from attain.methods import ActionableRecourse, BudgetedInverseClassification, Wachter


def test_methods_that_move_numbers_take_tables_without_any() -> None:
    schema = Schema(tuple(Feature(name, "categorical", levels=tuple("abc")) for name in "xyz"))
    X = pd.DataFrame(np.random.default_rng(0).choice(list("abc"), (80, 3)), columns=list("xyz"))
    y = np.where((X["x"] == "a") | (X["y"] == "b"), "yes", "no")
    for inner in (LogisticRegression(C=10), SVC(kernel="rbf", C=10)):
        classifier = make_pipeline(OneHotEncoder(), inner).fit(X, y)
        for method in (Wachter, BudgetedInverseClassification):
            result = method(schema).fit(X, y).explain(classifier, X[y == "no"], target="yes")
            assert result.found.all()


@pytest.mark.parametrize("explained_model", ["linear", "function"])
def test_a_range_that_leaves_no_step_is_no_action(explained_model: str) -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: np.round(random.uniform(1, 9, 80), 3) for name in "xyz"})
    y = np.where(X["x"] + X["y"] > 10, "yes", "no")
    features = (Feature("x", "real", step=2.0, range=(0, 0.01)), Feature("y", "real", step=2.0), Feature("z", "real"))
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    classifier = fitted if explained_model == "linear" else lambda frame: fitted.predict(frame)
    for rules in ((), ("x <= y + 20",), ("x * z <= 100",)):
        explainer = ActionableRecourse(Schema(features, rules=rules), figures=False, samples=40).fit(X, y)
        result = explainer.explain(
            classifier, X[y == "no"].iloc[:5], target="yes", constraints={"range": {"y": (0, 1e-9)}}
        )
        assert "x" not in set(result.changes["feature"])
