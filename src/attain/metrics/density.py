"""How probable answers are under a density model of real rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.population.measuring import measured
from attain.tables import without_unseen

if TYPE_CHECKING:
    from attain.density import Autoencoder
    from attain.density.densities import Density


def log_density(answers: ArrayLike, density: Density | Autoencoder, found: ArrayLike | None = None) -> FloatArray:
    """The log-density of each answer's free features given its immutable ones, in original units.

    That of an autoencoder is a lower bound. Because of the units, only answers for the same columns can be compared.
    """

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        return np.asarray(density.log_density(without_unseen(density.schema_, rows)), dtype=np.float64)

    return measured(answers, found, len(density.schema_), measure)
