"""Training rows around answers: what the model says of them, and whether answers give them away."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.population.copies import Copies
from attain.population.measuring import booleans, measured, positive_integer
from attain.population.neighbours import Neighbours
from attain.population.percentiles import as_matrix
from attain.population.space import MeasuringSpace
from attain.schema import Schema


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


class Copied(NamedTuple):
    """For each answer 1 where it repeats a training row exactly, else 0: the whole row, and the free cells alone."""

    whole: FloatArray
    free: FloatArray


def closest_training_distance(
    answers: ArrayLike, training_values: ArrayLike, space: MeasuringSpace, found: ArrayLike | None = None
) -> FloatArray:
    """The distance from each answer to the nearest training row of any class; NaN without training rows.

    0 is a copy. Answers much nearer to training rows than held-out rows are reveal what the method was fitted on.
    """
    known = as_matrix(training_values, len(space.schema))

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        if not len(known):
            return np.full(len(rows), np.nan)
        return Neighbours(space.points(known), len(space.stated)).query(space.points(rows), 1)[0][:, 0]

    return measured(answers, found, len(space.schema), measure)


def copies(answers: ArrayLike, training_values: ArrayLike, schema: Schema, found: ArrayLike | None = None) -> Copied:
    """Which answers repeat a training row, cell by cell.

    An answer counts even if the training row is its own factual.
    """
    training = as_matrix(training_values, len(schema))

    def flags(columns: np.ndarray) -> FloatArray:
        known = Copies(training[:, columns])

        def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
            return np.asarray(known.of(rows[:, columns]))

        return measured(answers, found, len(schema), measure)

    return Copied(flags(np.arange(len(schema))), flags(schema.free_columns))
