"""How much answers look like real rows of the desired class: proximity, local outlier factor and connectedness.

`connected` gives the verdicts of DBSCAN, fitted to the reference and one answer at a time. Nothing is fitted: they
follow from the answer's nearest reference rows and from theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.core.errors import AttainError, check_integer
from attain.population.measuring import measured
from attain.population.population import Reference

FIGURES: Final = ("proximity", "local_outlier_factor", "outlier", "nearest_distance", "connected")
NEIGHBOURS: Final = 20
"""k of the local outlier factor shown with an answer."""
EPSILON: Final = 0.9
"""The quantile of real people's nearest distance within which an answer counts as connected."""
CONTAMINATION: Final = 0.01
"""The share of reference rows that are called outliers."""


@dataclass(frozen=True, eq=False)
class LocalDensity:
    """The reference's side of the local outlier factor for one k (Breunig et al. 2000).

    Equal to `sklearn.neighbors.LocalOutlierFactor(n_neighbors=k, contamination=0.01, novelty=True)`. Computed
    here so that every k shares one search for neighbours, and a factor does not depend on the rest of the batch.

    Attributes
    ----------
    k
        The neighbours used: those asked for, or all others where there are fewer.
    reach
        Each reference row's distance to its k-th neighbour.
    density
        Each reference row's local reachability density.
    threshold
        The factor above which a row is called an outlier: the 99 % quantile of the reference's own.
    """

    k: int
    reach: FloatArray
    density: FloatArray
    threshold: float

    @classmethod
    def fit(cls, distances: FloatArray, indices: IndexArray) -> LocalDensity:
        """The densities of rows, given their neighbours without themselves."""
        reach = distances[:, -1]
        density = _density(distances, reach[indices])
        factors = density[indices].mean(axis=1) / density
        # the quantile as scikit-learn takes it, to the last bit
        return cls(distances.shape[1], reach, density, float(-np.percentile(-factors, 100 * CONTAMINATION)))

    def factor(self, distances: FloatArray, indices: IndexArray) -> FloatArray:
        """The local outlier factor of rows whose k nearest reference rows are given."""
        return np.asarray(self.density[indices].mean(axis=1) / _density(distances, self.reach[indices]))


def _density(distances: FloatArray, neighbour_reach: FloatArray) -> FloatArray:
    # The small constant is scikit-learn's; without duplicates it never matters.
    return np.asarray(1.0 / (np.maximum(distances, neighbour_reach).mean(axis=1) + 1e-10))


def local_density(reference: Reference, k: int) -> LocalDensity | None:
    """The local densities for k neighbours (all others if there are fewer); None for fewer than three rows."""
    if len(reference) < 3:
        return None
    k = min(k, len(reference) - 1)
    return reference.learned(("local density", k), lambda: LocalDensity.fit(*reference.own_neighbours(k)))


def faithfulness(rows: FloatArray, reference: Reference) -> dict[str, FloatArray]:
    """The figures of answers (m, d) that a result shows, by one search for their neighbours."""
    if not len(reference):
        return {name: np.full(len(rows), np.nan) for name in FIGURES}
    density = local_density(reference, NEIGHBOURS)
    distances, indices = reference.nearest(rows, NEIGHBOURS)
    nearest, epsilon = distances[:, 0], reference.epsilon[EPSILON]
    proximity = factor = outlier = connected = np.full(len(rows), np.nan)
    if len(reference) > 1:
        proximity = _proximity(reference, nearest, indices[:, 0])
    if density is not None:
        factor = density.factor(distances[:, : density.k], indices[:, : density.k])
        outlier = (factor > density.threshold).astype(np.float64)
    if not np.isnan(epsilon):
        connected = (nearest <= epsilon).astype(np.float64)
    return dict(zip(FIGURES, (proximity, factor, outlier, nearest, connected), strict=True))


def nearest_distance(answers: ArrayLike, reference: Reference, found: ArrayLike | None = None) -> FloatArray:
    """The distance from each answer to the nearest reference row; NaN if the reference is empty."""

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray | float:
        return reference.nearest(rows)[0][:, 0] if len(reference) else np.nan

    return measured(answers, found, len(reference.schema), measure)


def proximity(answers: ArrayLike, reference: Reference, found: ArrayLike | None = None) -> FloatArray:
    """P: the distance to the nearest reference row, relative to that row's distance to the next one.

    P(x̃) = d(x̃, a₀) / min d(a₀, a) over a ≠ a₀, with a₀ the reference row nearest to x̃. Near 1 the answer is as close
    as real rows are to each other; large values are outliers. 0 if the answer equals a reference row. The reference
    holds distinct rows, so the denominator is 0 only if two of them differ by less than rounding; P is infinite there.
    NaN if the reference has fewer than two rows.
    """

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray | float:
        if len(reference) < 2:
            return np.nan
        distances, nearest = reference.nearest(rows)
        return _proximity(reference, distances[:, 0], nearest[:, 0])

    return measured(answers, found, len(reference.schema), measure)


def _proximity(reference: Reference, distance: FloatArray, nearest: IndexArray) -> FloatArray:
    apart = reference.own_neighbours(1)[0][nearest, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(distance == 0, 0.0, distance / apart)


def local_outlier_factor(
    answers: ArrayLike, reference: Reference, k: int = 20, found: ArrayLike | None = None
) -> FloatArray:
    """LOF: the mean local density of each answer's k nearest reference rows, over the answer's own; about 1 is typical.

    If the reference has k rows or fewer, all but one of them are the neighbours. NaN if it has fewer than three.
    """
    check_integer("k", k, 1)

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray | float:
        density = local_density(reference, k)
        return np.nan if density is None else density.factor(*reference.nearest(rows, density.k))

    return measured(answers, found, len(reference.schema), measure)


def outlier(answers: ArrayLike, reference: Reference, k: int = 20, found: ArrayLike | None = None) -> FloatArray:
    """1 for each answer whose LOF exceeds that of 99 % of the reference rows, else 0; NaN where LOF is NaN."""
    factor = local_outlier_factor(answers, reference, k, found)
    density = local_density(reference, k)
    return factor if density is None else np.where(np.isnan(factor), np.nan, factor > density.threshold)


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
