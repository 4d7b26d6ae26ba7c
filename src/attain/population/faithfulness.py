"""How close answers are to real rows of the desired class: proximity, and its general form, the outlier factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.population.measuring import measured, positive_integer
from attain.population.reference import Reference


def nearest_distance(answers: ArrayLike, reference: Reference, found: ArrayLike | None = None) -> FloatArray:
    """The distance from each answer to the nearest reference row; NaN if the reference is empty."""

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        return reference.nearest(rows)[0][:, 0] if len(reference) else np.full(len(rows), np.nan)

    return measured(answers, found, len(reference.schema), measure)


def proximity(answers: ArrayLike, reference: Reference, found: ArrayLike | None = None) -> FloatArray:
    """P: the distance to the nearest reference row, relative to that row's distance to the next one.

    P(x̃) = d(x̃, a₀) / min d(a₀, a) over a ≠ a₀, with a₀ the reference row nearest to x̃. Near 1 the answer is as close
    as real rows are to each other; large values are outliers. 0 if the answer equals a reference row. The reference
    holds distinct rows, so the denominator is 0 only if two of them differ by less than rounding; P is infinite there.
    NaN if the reference has fewer than two rows.
    """

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        if len(reference) < 2:
            return np.full(len(rows), np.nan)
        distances, nearest = reference.nearest(rows)
        apart = reference.own_neighbours(1)[0][nearest[:, 0], 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(distances[:, 0] == 0, 0.0, distances[:, 0] / apart)

    return measured(answers, found, len(reference.schema), measure)


def local_outlier_factor(
    answers: ArrayLike, reference: Reference, k: int = 20, found: ArrayLike | None = None
) -> FloatArray:
    """LOF: the mean local density of each answer's k nearest reference rows, over the answer's own; about 1 is typical.

    If the reference has k rows or fewer, all but one of them are the neighbours. NaN if it has fewer than three.
    """
    positive_integer("k", k)

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        density = reference.local_density(k)
        return np.full(len(rows), np.nan) if density is None else density.factor(*reference.nearest(rows, density.k))

    return measured(answers, found, len(reference.schema), measure)


def outlier(answers: ArrayLike, reference: Reference, k: int = 20, found: ArrayLike | None = None) -> FloatArray:
    """1 for each answer whose LOF exceeds that of 99 % of the reference rows, else 0; NaN where LOF is NaN."""
    factor = local_outlier_factor(answers, reference, k, found)
    density = reference.local_density(k)
    return factor if density is None else np.where(np.isnan(factor), np.nan, factor > density.threshold)
