"""Whether answers can be reached from real people of the desired class in small steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attain.errors import AttainError
from attain.metrics.answers import BoolArray, FloatArray, measured, positive_whole
from attain.reference import Neighbours, Reference


def connected(
    answers: ArrayLike,
    reference: Reference,
    epsilon: float,
    min_samples: int = 2,
    found: ArrayLike | None = None,
) -> FloatArray:
    """1 for each answer that DBSCAN would not call noise among the reference and that answer alone, else 0.

    With `min_samples` 2 that is: the nearest real person is within ε, so that the curve over ε is the distribution
    of nearest distances. For any m it is: at least m − 1 people within ε of the answer, or somebody within ε of it who
    has m within ε, with themselves and the answer counted. NaN for everybody where the reference is empty or ε is NaN.
    """
    positive_whole("min_samples", min_samples)
    if epsilon < 0:
        raise AttainError(f"epsilon is {epsilon!r}; it takes a distance from 0 upward")
    others = min_samples - 1

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        if not len(reference) or np.isnan(epsilon):
            return np.full(len(rows), np.nan)
        if others == 0:
            return np.ones(len(rows))
        points = reference.space.transform(rows)
        core = _enough(reference.index.query(points, min(others, len(reference)))[0], others, epsilon)
        if others > 1:
            # With the answer's help a person is a core point who has m − 2 others within ε.
            helped = _enough(reference.own_neighbours(others - 1)[0], others - 1, epsilon)
            cores = Neighbours(reference.points[helped])
            core |= _enough(cores.query(points, min(1, len(cores.points)))[0], 1, epsilon)
        return core.astype(np.float64)

    return measured(answers, found, len(reference.schema), measure)


def _enough(distances: FloatArray, number: int, epsilon: float) -> BoolArray:
    """Which rows of distances, nearest first, have at least this many within ε."""
    if distances.shape[1] < number:
        return np.zeros(len(distances), dtype=np.bool_)
    within: BoolArray = distances[:, number - 1] <= epsilon
    return within
