"""The figures that stand beside every answer."""

from __future__ import annotations

import numpy as np

from attain import metrics
from attain.percentiles import Percentiles
from attain.reference import Reference
from attain.space import MeasuringSpace

NEIGHBOURS = 20
"""k of the local outlier factor shown with an answer."""
EPSILON = 0.9
"""The quantile of real people's nearest distance within which an answer counts as connected."""


def difficulty(rows: np.ndarray, factuals: np.ndarray, percentiles: Percentiles) -> dict[str, np.ndarray]:
    """How much each answer asks of its person."""
    return {
        "features_changed": metrics.changed(rows, factuals, percentiles.schema),
        "total_shift": metrics.total_shift(rows, factuals, percentiles),
        "max_shift": metrics.max_shift(rows, factuals, percentiles),
    }


def faithfulness(rows: np.ndarray, reference: Reference) -> dict[str, np.ndarray]:
    """How much each answer looks like real people of the desired class."""
    return {
        "proximity": metrics.proximity(rows, reference),
        "local_outlier_factor": metrics.local_outlier_factor(rows, reference, k=NEIGHBOURS),
        "outlier": metrics.outlier(rows, reference, k=NEIGHBOURS),
        "nearest_distance": metrics.nearest_distance(rows, reference),
        "connected": metrics.connected(rows, reference, reference.epsilon[EPSILON]),
    }


def diversity(rows: np.ndarray, owners: np.ndarray, people: int, space: MeasuringSpace) -> np.ndarray:
    """The mean distance between the options of each person, in the measuring space; NaN for fewer than two."""
    return metrics.mean_pairwise_distance(rows, owners, people, space)
