"""The classifiers of the paper's experiments."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from attain.schema import Schema
from experiments.bench.classifiers import encoded


def above(column: str, boundary: float) -> Callable[[pd.DataFrame], np.ndarray]:
    """I(column > boundary), the classifier of the synthetic examples, as a bare function that gives labels only."""

    def decide(people: pd.DataFrame) -> np.ndarray:
        return np.where(people[column] > boundary, 1, 0)

    return decide


def linear_above(people: pd.DataFrame, column: str, boundary: float) -> Any:
    """The same decision as a linear classifier, which AR needs; it looks at no other column of these people."""
    model = make_pipeline(make_column_transformer(("passthrough", [column])), LogisticRegression())
    model.fit(people, above(column, boundary)(people))
    # The fitted weights are close to the rule, these are the rule itself.
    model[-1].coef_, model[-1].intercept_ = np.ones((1, 1)), np.array([-float(boundary)])
    return model


def logistic_regression(schema: Schema) -> Any:
    """l₂-regularised, on standardised numbers and one-hot levels."""
    return make_pipeline(_standardised(schema), LogisticRegression(max_iter=1000))


def support_vector_machine(schema: Schema, kernel: str) -> Any:
    """Weighted inversely to how frequent the classes are, on the same columns."""
    return make_pipeline(_standardised(schema), SVC(kernel=kernel, class_weight="balanced"))


def _standardised(schema: Schema) -> Any:
    """Every column that holds numbers, codes with an order among them, standardised; the others as 0 and 1."""
    strings = [feature.name for feature in schema if not all(isinstance(level, Real) for level in feature.levels)]
    return encoded(schema, StandardScaler(), strings)
