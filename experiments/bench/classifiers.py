"""The classifiers of the benchmarks: each takes a raw frame, given its schema and a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Self

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from attain.schema import Schema

SUPPORT_ROWS: Final = 10_000
"""The most training rows of the support vector machine, whose cost grows with their square."""


def logistic_regression(schema: Schema, seed: int) -> Any:
    """l₂-regularised, on standardised numbers and one-hot levels."""
    return make_pipeline(encoded(schema, StandardScaler()), LogisticRegression(max_iter=2000, random_state=seed))


def random_forest(schema: Schema, seed: int) -> Any:
    """100 trees of depth 6, on numbers as they are and one-hot levels."""
    forest = RandomForestClassifier(n_estimators=100, max_depth=6, random_state=seed)
    return make_pipeline(encoded(schema, "passthrough"), forest)


def gradient_boosting(schema: Schema, seed: int) -> Any:
    """100 rounds of histogram boosting, on numbers as they are and one-hot levels."""
    boosting = HistGradientBoostingClassifier(max_iter=100, learning_rate=0.05, random_state=seed)
    return make_pipeline(encoded(schema, "passthrough"), boosting)


def neural_network(schema: Schema, seed: int) -> Any:
    """Two hidden layers of 32 and 16 units, stopped early, on standardised numbers and one-hot levels.

    Labels that are no numbers need scikit-learn 1.9.
    """
    network = MLPClassifier(
        (32, 16), learning_rate_init=0.005, early_stopping=True, n_iter_no_change=20, max_iter=500, random_state=seed
    )
    return make_pipeline(encoded(schema, StandardScaler()), network)


def support_vector_machine(schema: Schema, seed: int) -> Any:
    """A Gaussian kernel, trained on at most 10,000 rows, on standardised numbers and one-hot levels.

    Classes are weighted inversely to their frequency: otherwise it refuses no row if few are labelled so. It gives no
    probabilities: those of `probability=True` come from a cross-validated fit, and may contradict its decisions.
    """
    return make_pipeline(encoded(schema, StandardScaler()), SampledSVC(rows=SUPPORT_ROWS, random_state=seed))


class SampledSVC(SVC):
    """A support vector machine with a Gaussian kernel and balanced classes, trained on a random part of many rows.

    Parameters
    ----------
    rows
        The most rows it is trained on.
    random_state
        The seed of their choice.
    """

    def __init__(self, *, rows: int = SUPPORT_ROWS, random_state: int = 0) -> None:
        super().__init__(class_weight="balanced", random_state=random_state)
        self.rows = rows

    def fit(self, X: Any, y: Any) -> Self:
        """Trains on all rows, or on a random sample of `rows` of them."""
        rows, labels = np.asarray(X), np.asarray(y)
        if len(rows) > self.rows:
            chosen = np.sort(np.random.default_rng(self.random_state).choice(len(rows), self.rows, replace=False))
            rows, labels = rows[chosen], labels[chosen]
        super().fit(rows, labels)
        return self


def encoded(schema: Schema, numbers: Any, levels: Sequence[str] | None = None) -> Any:
    """What is done to numbers, and columns of 0 and 1 for `levels`: all columns of levels, or those that are named."""
    levels = [one.name for one in schema if not one.numeric] if levels is None else list(levels)
    others = [name for name in schema.names if name not in levels]
    order = [list(schema[name].levels) for name in levels]
    parts = [(numbers, others)] if others else []
    if levels:
        parts.append((OneHotEncoder(categories=order, sparse_output=False, handle_unknown="ignore"), levels))
    return make_column_transformer(*parts)


CLASSIFIERS: Final[Mapping[str, Callable[[Schema, int], Any]]] = MappingProxyType(
    {
        "logistic regression": logistic_regression,
        "gradient boosting": gradient_boosting,
        "random forest": random_forest,
        "neural network": neural_network,
        "support vector machine": support_vector_machine,
    }
)
"""By name, a function of schema and seed that returns an unfitted classifier."""
QUICK: Final = ("logistic regression", "gradient boosting", "random forest")
"""The classifiers of the quick benchmark."""
