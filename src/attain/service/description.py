"""What the page and other clients need to know about the features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attain.methods import Explainer
from attain.schema import Feature
from attain.tables import ordinary

_QUANTILES = np.linspace(0.0, 1.0, 101)


def features_of(explainer: Explainer) -> list[dict[str, Any]]:
    """Each feature, in the order of the training data."""
    schema = explainer.schema_
    return [_feature(explainer, schema[name], schema.position(name)) for name in explainer.layout_.columns]


def _feature(explainer: Explainer, feature: Feature, j: int) -> dict[str, Any]:
    cells = explainer.table_.values[:, j]
    value = explainer.layout_.value
    known = cells[ordinary(feature, cells)]
    quantiles = None
    if feature.numeric and len(known):
        quantiles = np.quantile(known, _QUANTILES, method="inverted_cdf").tolist()
    observed = [float(side[j]) for side in explainer.observed_]
    low, high = (
        _first(bound, side) if feature.numeric else None for bound, side in zip(feature.bounds, observed, strict=True)
    )
    return {
        "name": feature.name,
        "label": feature.title,
        "unit": feature.unit,
        "kind": feature.kind,
        "levels": [{"value": level, "label": str(level)} for level in feature.levels] or None,
        "low": low,
        "high": high,
        "bounds": list(feature.bounds),
        "observed": observed if feature.numeric else None,
        "step": feature.step,
        "immutable": feature.immutable,
        "direction": feature.direction,
        "special": [{"code": code, "meaning": meaning} for code, meaning in feature.special.items()],
        "missing": bool(np.isnan(cells).any()),
        "computed": feature.derived is not None,
        "help": feature.description,
        "quantiles": quantiles,
        "default": value(feature.name, _usual(feature, cells, known)),
    }


def _first(bound: float | None, observed: float) -> float | None:
    if bound is not None:
        return bound
    return None if math.isnan(observed) else observed


def _usual(feature: Feature, cells: np.ndarray, known: np.ndarray) -> float:
    """The median of an ordered feature, otherwise its most frequent level; missing where it always is."""
    if len(known) and feature.ordered:
        return float(np.quantile(known, 0.5, method="inverted_cdf"))
    present = cells[~np.isnan(cells)]
    values, counts = np.unique(present, return_counts=True)
    return float(values[counts.argmax()]) if len(values) else math.nan
