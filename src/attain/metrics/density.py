"""How probable answers are under a density model of real people."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attain.population.measuring import FloatArray, answered, positive_whole
from attain.population.percentiles import as_matrix

if TYPE_CHECKING:
    from attain.density import Autoencoder
    from attain.density.estimator import MixtureEstimator

SAMPLES = 100
"""How many latent draws a bound takes for each row and component."""


class LogDensity(NamedTuple):
    """A bound of each answer's log-density, and the standard error of that figure."""

    bound: FloatArray
    error: FloatArray


def log_density(
    answers: ArrayLike, autoencoder: Autoencoder, samples: int = SAMPLES, found: ArrayLike | None = None
) -> FloatArray:
    """The log-density of each answer's free features given its immutable ones, bounded from below, in original units.

    The bound is the importance-weighted one of the autoencoder; more samples make it tighter. Original units mean that
    only answers for the same columns can be compared; `density_rank` has no units.
    """
    positive_whole("samples", samples)
    matrix = as_matrix(answers, len(autoencoder.schema_))
    present = answered(matrix, found)
    bound = np.full(len(matrix), np.nan)
    if present.any():
        bound[present] = autoencoder.log_density(matrix[present], samples)
    return bound


def log_density_with_error(
    answers: ArrayLike, autoencoder: MixtureEstimator, samples: int = SAMPLES, found: ArrayLike | None = None
) -> LogDensity:
    """`log_density`, and the standard error that each figure has from the number of samples."""
    positive_whole("samples", samples)
    matrix = as_matrix(answers, len(autoencoder.schema_))
    present = answered(matrix, found)
    bound, error = np.full(len(matrix), np.nan), np.full(len(matrix), np.nan)
    if present.any():
        bound[present], error[present] = autoencoder.log_density_with_error(matrix[present], samples)
    return LogDensity(bound, error)


def density_rank(
    answers: ArrayLike,
    autoencoder: Autoencoder,
    people: ArrayLike,
    samples: int = SAMPLES,
    found: ArrayLike | None = None,
) -> FloatArray:
    """The share of real people whose density is at most that of each answer: 0.5 is usual, near 0 is unlike anybody.

    Parameters
    ----------
    people
        Rows of real people to compare with, such as held-out ones of the desired class. NaN for everybody where there
        are none.
    """
    matrix = as_matrix(people, len(autoencoder.schema_))
    bounds = log_density(answers, autoencoder, samples, found)
    if not len(matrix):
        return np.full(len(bounds), np.nan)
    real = np.sort(log_density(matrix, autoencoder, samples, np.ones(len(matrix), dtype=np.bool_)))
    return np.where(np.isnan(bounds), np.nan, np.searchsorted(real, bounds, side="right") / len(real))
