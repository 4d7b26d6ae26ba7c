"""What the model says of the training rows around each answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.population.measuring import booleans, measured, positive_integer
from attain.population.neighbours import Neighbours
from attain.population.percentiles import as_matrix
from attain.population.space import MeasuringSpace


def y_nearest(
    answers: ArrayLike,
    rows: ArrayLike,
    met: ArrayLike,
    space: MeasuringSpace,
    k: int = 5,
    found: ArrayLike | None = None,
) -> FloatArray:
    """yNN: the share of each answer's k nearest training rows that meet the goal.

    Parameters
    ----------
    rows
        All training rows, repeated ones included, whatever the model says of them.
    met
        Which of them meet the goal.
    k
        The number of neighbours, or all rows if there are fewer. NaN if there are none.
    """
    positive_integer("k", k)
    known = as_matrix(rows, len(space.schema))
    wanted = booleans("met", met, len(known), "rows")

    def measure(answered_rows: FloatArray, _: BoolArray) -> FloatArray:
        if not len(known):
            return np.full(len(answered_rows), np.nan)
        index = Neighbours(space.points(known), len(space.stated))
        nearest = index.query(space.points(answered_rows), min(k, len(known)))[1]
        return np.asarray(wanted[nearest].mean(axis=1))

    return measured(answers, found, len(space.schema), measure)
