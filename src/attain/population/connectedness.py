"""Whether answers can be reached from real rows of the desired class in steps of at most ε.

The verdicts are those of DBSCAN, fitted to the reference and one answer at a time. Nothing is fitted: they follow from
the answer's nearest reference rows and from theirs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.checks import check_integer
from attain.core.errors import AttainError
from attain.population.measuring import measured
from attain.population.reference import Reference


def connected(
    answers: ArrayLike,
    reference: Reference,
    epsilon: float,
    min_samples: int = 2,
    found: ArrayLike | None = None,
) -> FloatArray:
    """1 for each answer that DBSCAN, fitted to the reference and that answer alone, does not call noise, else 0.

    That is: at least m − 1 reference rows are within ε of the answer, or one within ε of it is a core point once the
    answer is counted. With d_i(x̃) the distance to the i-th nearest reference row a_i, and m = `min_samples`:

        min( d_{m−1}(x̃),  min_{i < m−1} max( d_i(x̃), d_{m−2}(a_i) ) ) ≤ ε

    For m = 2: the nearest reference row is within ε. NaN if the reference is empty or ε is NaN.
    """
    others = check_request(epsilon, min_samples)

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray | float:
        if not len(reference) or np.isnan(epsilon):
            return np.nan
        if not 0 < others <= len(reference):
            return float(others == 0)
        distances, nearest = reference.nearest(rows, others)
        least = distances[:, -1]
        if others > 1:
            # Rows beyond the (m − 1)-th could only be reached at a larger ε.
            helped = reference.own_neighbours(others - 1)[0][:, -1]
            least = np.minimum(least, np.maximum(distances, helped[nearest]).min(axis=1))
        return np.asarray(least <= epsilon, dtype=np.float64)

    return measured(answers, found, len(reference.schema), measure)


def check_request(epsilon: float, min_samples: int) -> int:
    """How many others a core point needs."""
    check_integer("min_samples", min_samples, 1)
    if epsilon < 0:
        raise AttainError(f"epsilon must be a distance ≥ 0, got {epsilon!r}")
    return min_samples - 1
