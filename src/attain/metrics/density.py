"""How probable answers are under a density model of real rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.population.measuring import measured, positive_integer
from attain.tables import without_unseen

if TYPE_CHECKING:
    from attain.density import Autoencoder

SAMPLES: Final = 100
"""The number of latent draws per row and component."""


def log_density(
    answers: ArrayLike, autoencoder: Autoencoder, samples: int = SAMPLES, found: ArrayLike | None = None
) -> FloatArray:
    """A lower bound of the log-density of each answer's free features given its immutable ones, in original units.

    The bound is the importance-weighted one of the autoencoder; more samples make it tighter. Because of the units,
    only answers for the same columns can be compared.
    """
    positive_integer("samples", samples)

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        known = without_unseen(autoencoder.schema_, rows)
        return np.asarray(autoencoder.log_density(known, samples), dtype=np.float64)

    return measured(answers, found, len(autoencoder.schema_), measure)
