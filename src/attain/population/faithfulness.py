"""How close answers are to real people of the desired class: proximity, and its general form, the outlier factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attain.population.measuring import BoolArray, FloatArray, measured, positive_whole
from attain.population.reference import Reference


def nearest_distance(answers: ArrayLike, reference: Reference, found: ArrayLike | None = None) -> FloatArray:
    """The distance from each answer to the nearest real person; NaN for everybody where there is none."""

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        return reference.nearest(rows)[0][:, 0] if len(reference) else np.full(len(rows), np.nan)

    return measured(answers, found, len(reference.schema), measure)


def proximity(answers: ArrayLike, reference: Reference, found: ArrayLike | None = None) -> FloatArray:
    """P: how far each answer is from the nearest real person, relative to how far that one is from the next.

    P(e) = d(e, a₀) / min d(a₀, a) over a ≠ a₀; near 1 the answer lies as close as real people lie to each other, large
    values are outliers. 0 where the answer equals a real person. The reference holds distinct rows, so that the
    denominator is 0 only where two of them are too close for a number to tell; P is infinite there. NaN for everybody
    where the reference has fewer than two people.
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
    """LOF: how much thinner real people are around each answer than around its k nearest real people; near 1 is usual.

    Where the reference has k people or fewer, all but one of them are the neighbours. NaN for everybody where it has
    fewer than three.
    """
    positive_whole("k", k)

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        density = reference.local_density(k)
        return np.full(len(rows), np.nan) if density is None else density.factor(*reference.nearest(rows, density.k))

    return measured(answers, found, len(reference.schema), measure)


def outlier(answers: ArrayLike, reference: Reference, k: int = 20, found: ArrayLike | None = None) -> FloatArray:
    """1 for each answer whose LOF is above that of 99 % of the reference, else 0; NaN where LOF is."""
    factor = local_outlier_factor(answers, reference, k, found)
    density = reference.local_density(k)
    return factor if density is None else np.where(np.isnan(factor), np.nan, factor > density.threshold)
