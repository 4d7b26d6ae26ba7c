"""The classifiers of the benchmarks, defined once: each takes a frame as it comes, given its schema and a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attain.schema import Schema


def logistic_regression(schema: Schema, seed: int) -> Any:
    """l₂-regularised, on standardised numbers and one-hot levels."""
    return make_pipeline(_encoded(schema, StandardScaler()), LogisticRegression(max_iter=2000, random_state=seed))


def random_forest(schema: Schema, seed: int) -> Any:
    """100 trees of depth 6, on numbers as they are and one-hot levels."""
    forest = RandomForestClassifier(n_estimators=100, max_depth=6, random_state=seed)
    return make_pipeline(_encoded(schema, "passthrough"), forest)


def gradient_boosting(schema: Schema, seed: int) -> Any:
    """100 rounds of histogram boosting, on numbers as they are and one-hot levels."""
    boosting = HistGradientBoostingClassifier(max_iter=100, learning_rate=0.05, random_state=seed)
    return make_pipeline(_encoded(schema, "passthrough"), boosting)


def _encoded(schema: Schema, numbers: Any) -> Any:
    levels = [feature.name for feature in schema if not feature.numeric]
    others = [feature.name for feature in schema if feature.numeric]
    order = [list(schema[name].levels) for name in levels]
    parts = [(numbers, others)] if others else []
    if levels:
        parts.append((OneHotEncoder(categories=order, sparse_output=False, handle_unknown="ignore"), levels))
    return make_column_transformer(*parts)


CLASSIFIERS: Final[Mapping[str, Callable[[Schema, int], Any]]] = MappingProxyType(
    {
        "logistic regression": logistic_regression,
        "random forest": random_forest,
        "gradient boosting": gradient_boosting,
    }
)
"""By name, a function of schema and seed that gives a classifier, not fitted."""
