"""Who lives around answers: what the model says of the nearest people, and whether people it never saw live there."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attain.population.faithfulness import local_outlier_factor, outlier
from attain.population.measuring import BoolArray, FloatArray, booleans, measured, own_rows, positive_whole
from attain.population.percentiles import as_matrix
from attain.population.reference import Neighbours, Reference
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
    """yNN: the share of each answer's k nearest people whom the model gives what is asked for.

    Parameters
    ----------
    rows
        The people: all training rows, repeated ones included, whatever the model says of them.
    met
        Which of them the model gives what is asked for.
    k
        How many neighbours; all people where there are fewer. NaN for everybody where there are none.
    """
    positive_whole("k", k)
    people = as_matrix(rows, len(space.schema))
    wanted = booleans("met", met, len(people), "rows")

    def measure(answered_rows: FloatArray, _: BoolArray) -> FloatArray:
        if not len(people):
            return np.full(len(answered_rows), np.nan)
        index = Neighbours(space.transform(people))
        nearest = index.query(space.transform(answered_rows), min(k, len(people)))[1]
        return np.asarray(wanted[nearest].mean(axis=1))

    return measured(answers, found, len(space.schema), measure)


def held_out_reference(
    schema: Schema, test_values: ArrayLike, desired_labels: ArrayLike | None, met: ArrayLike, space: MeasuringSpace
) -> Reference:
    """The real people of the desired class among held-out rows, in the training data's measuring space.

    An answer made of training rows is close to those by construction; held-out people do not flatter it.
    """
    return Reference.build(schema, test_values, desired_labels=desired_labels, met=met, space=space)


def held_out_outlier(
    answers: ArrayLike, reference: Reference, k: int = 20, found: ArrayLike | None = None
) -> FloatArray:
    """1 for each answer that is an outlier among held-out real people, else 0; `reference` is a `held_out_reference`.

    An outlier's local outlier factor is above that of 99 % of the held-out people themselves.
    """
    return outlier(answers, reference, k, found)


def held_out_outlier_factor(
    answers: ArrayLike, reference: Reference, k: int = 20, found: ArrayLike | None = None
) -> FloatArray:
    """The local outlier factor of each answer among held-out real people; `reference` is a `held_out_reference`."""
    return local_outlier_factor(answers, reference, k, found)


def relative_distance(
    answers: ArrayLike,
    factuals: ArrayLike,
    rows: ArrayLike,
    met: ArrayLike,
    space: MeasuringSpace,
    found: ArrayLike | None = None,
) -> FloatArray:
    """How far each answer is from its factual, relative to the nearest person whom the model gives what is asked for.

    Below 1 the answer asks for less than the nearest unlike person would. Distances are those of the measuring space.
    0 where the answer is the factual; infinite where it is not, but such a person is. NaN for everybody where the model
    gives it to nobody.
    """
    people = as_matrix(rows, len(space.schema))
    unlike = people[booleans("met", met, len(people), "rows")]

    def measure(answered_rows: FloatArray, present: BoolArray) -> FloatArray:
        if not len(unlike):
            return np.full(len(answered_rows), np.nan)
        own = space.transform(own_rows(factuals, len(space.schema), present))
        moved = np.sqrt(((space.transform(answered_rows) - own) ** 2).sum(axis=1))
        nearest = Neighbours(space.transform(unlike)).query(own, 1)[0][:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(moved == 0, 0.0, moved / nearest)

    return measured(answers, found, len(space.schema), measure)
