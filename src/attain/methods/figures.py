"""The figures that stand beside every answer."""

from __future__ import annotations

import numpy as np

from attain.population.connectedness import connected
from attain.population.difficulty import changed
from attain.population.diversity import mean_pairwise_distance
from attain.population.faithfulness import local_outlier_factor, nearest_distance, outlier, proximity
from attain.population.percentiles import max_shift, total_shift
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.schema import Schema

NEIGHBOURS = 20
"""k of the local outlier factor shown with an answer."""
EPSILON = 0.9
"""The quantile of real people's nearest distance within which an answer counts as connected."""


def difficulty(rows: np.ndarray, factuals: np.ndarray, shifts: np.ndarray, schema: Schema) -> dict[str, np.ndarray]:
    """How much each answer asks of its person; `shifts` (n, d) are in percentiles."""
    return {
        "features_changed": changed(rows, factuals, schema),
        "total_shift": total_shift(shifts, schema.free_columns),
        "max_shift": max_shift(shifts, schema.free_columns),
    }


def faithfulness(rows: np.ndarray, reference: Reference) -> dict[str, np.ndarray]:
    """How much each answer looks like real people of the desired class."""
    reference.local_density(NEIGHBOURS)  # the widest search for neighbours first
    epsilon, reference = reference.epsilon[EPSILON], reference.searched(rows, NEIGHBOURS)
    return {
        "proximity": proximity(rows, reference),
        "local_outlier_factor": local_outlier_factor(rows, reference, k=NEIGHBOURS),
        "outlier": outlier(rows, reference, k=NEIGHBOURS),
        "nearest_distance": nearest_distance(rows, reference),
        "connected": connected(rows, reference, epsilon),
    }


def diversity(rows: np.ndarray, owners: np.ndarray, people: int, space: MeasuringSpace) -> np.ndarray:
    """The mean distance between the options of each person, in the measuring space; NaN for fewer than two."""
    return mean_pairwise_distance(rows, owners, people, space)
