"""How probable answers are under an autoencoder of real rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.population.measuring import measured
from attain.tables import without_unseen

if TYPE_CHECKING:
    from attain.density import Autoencoder


def log_density(answers: ArrayLike, autoencoder: Autoencoder, found: ArrayLike | None = None) -> FloatArray:
    """A lower bound of the log-density of each answer's free features given its immutable ones, in original units.

    Because of the units, only answers for the same columns can be compared.
    """

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        return np.asarray(autoencoder.log_density(without_unseen(autoencoder.schema_, rows)), dtype=np.float64)

    return measured(answers, found, len(autoencoder.schema_), measure)
