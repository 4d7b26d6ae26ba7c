"""How far answers are from their factuals and from training rows, and how dense real rows are around them.

Distances from factuals are over the free features, as for shifts. A cell that has no place on a scale before or after
(a level without an order, a special code, a missing cell) counts 1 if it changes and 0 if it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.checks import check_integer
from attain.core.errors import AttainError
from attain.population.measuring import Copies, booleans, changed, measured, own_rows
from attain.population.percentiles import as_matrix
from attain.population.space import MeasuringSpace, Neighbours
from attain.schema import Schema
from attain.tables import ordinary, unchanged, without_unseen

if TYPE_CHECKING:
    from attain.density import Autoencoder

Norm: TypeAlias = Literal["l0", "l1", "l2", "linf"]
_ORDERS: Final = {"l1": 1, "l2": 2, "linf": np.inf}


def distance(
    answers: ArrayLike,
    factuals: ArrayLike,
    space: MeasuringSpace,
    norm: Norm = "l2",
    found: ArrayLike | None = None,
) -> FloatArray:
    """The distance of each answer from its factual in the measuring space, over the free features.

    `l0` counts the features that change. The others are norms of the difference of the points, in which a changed level
    without an order switches two indicators: 2 in `l1`, √2 in `l2`, 1 in `linf`.
    """
    schema = space.schema
    if norm == "l0":
        return changed(answers, factuals, schema, found)
    if norm not in _ORDERS:
        raise AttainError(f"norm must be one of l0, {', '.join(_ORDERS)}, got {norm!r}")
    free = np.isin(np.arange(len(schema)), schema.free_columns)

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        own = own_rows(factuals, len(schema), present)
        moved = space.transform(np.where(free, rows, 0.0)) - space.transform(np.where(free, own, 0.0))
        return np.asarray(np.linalg.norm(moved, _ORDERS[norm], axis=1))

    return measured(answers, found, len(schema), measure)


def mad_distance(
    answers: ArrayLike, factuals: ArrayLike, schema: Schema, train_values: ArrayLike, found: ArrayLike | None = None
) -> FloatArray:
    """Wachter et al.'s distance: Σ_d |x̃_d − x_d| / MAD_d, with the median absolute deviation of the training column.

    A column whose deviation is 0, because more than half of its cells are equal, is measured in its own units.
    """

    def deviation(cells: FloatArray) -> float:
        return float(np.median(np.abs(cells - np.median(cells))))

    def total(moved: FloatArray, _: BoolArray) -> FloatArray:
        return np.asarray(moved.sum(axis=1))

    return _cellwise(answers, factuals, schema, _spreads(schema, train_values, deviation), found, total)


def gower_distance(
    answers: ArrayLike, factuals: ArrayLike, schema: Schema, train_values: ArrayLike, found: ArrayLike | None = None
) -> FloatArray:
    """Gower's distance, from 0 to 1: the mean over the free features of |x̃_d − x_d| / range_d.

    A move beyond the training range counts 1, and so does a cell that is filled or emptied. Cells missing before and
    after are left out of the mean. 0 if nothing can be compared.
    """

    def mean(moved: FloatArray, compared: BoolArray) -> FloatArray:
        total = np.where(compared, np.minimum(moved, 1.0), 0.0).sum(axis=1)
        return np.asarray(total / np.maximum(compared.sum(axis=1), 1))

    return _cellwise(answers, factuals, schema, _spreads(schema, train_values, np.ptp), found, mean)


def latent_distance(
    answers: ArrayLike, factuals: ArrayLike, autoencoder: Autoencoder, found: ArrayLike | None = None
) -> FloatArray:
    """The Euclidean distance between the latent codes of each answer and its factual.

    A code is the posterior mean under the row's most probable component, which may differ between the two.
    """
    width = len(autoencoder.schema_)

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        codes = [autoencoder.encode(side).z for side in (rows, own_rows(factuals, width, present))]
        return np.asarray(np.linalg.norm(codes[0].astype(np.float64) - codes[1].astype(np.float64), axis=1))

    return measured(answers, found, width, measure)


def log_density(answers: ArrayLike, autoencoder: Autoencoder, found: ArrayLike | None = None) -> FloatArray:
    """A lower bound of the log-density of each answer's free features given its immutable ones, in original units.

    Because of the units, only answers for the same columns can be compared.
    """

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        return np.asarray(autoencoder.log_density(without_unseen(autoencoder.schema_, rows)), dtype=np.float64)

    return measured(answers, found, len(autoencoder.schema_), measure)


def y_nearest(
    answers: ArrayLike,
    train_values: ArrayLike,
    met: ArrayLike,
    space: MeasuringSpace,
    k: int = 5,
    found: ArrayLike | None = None,
) -> FloatArray:
    """yNN: the share of each answer's k nearest training rows that meet the goal.

    Parameters
    ----------
    train_values
        All training rows, repeated ones included, whatever the model says of them.
    met
        Which of them meet the goal.
    k
        The number of neighbours, or all rows if there are fewer. NaN if there are none.
    """
    check_integer("k", k, 1)
    known = as_matrix(train_values, len(space.schema))
    wanted = booleans("met", met, len(known), "rows")

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        nearest = Neighbours(space.points(known), len(space.stated)).query(space.points(rows), min(k, len(known)))[1]
        return np.asarray(wanted[nearest].mean(axis=1))

    return measured(answers, found, len(space.schema), measure if len(known) else _unknown)


def closest_training_distance(
    answers: ArrayLike, train_values: ArrayLike, space: MeasuringSpace, found: ArrayLike | None = None
) -> FloatArray:
    """The distance from each answer to the nearest training row of any class; NaN without training rows.

    0 is a copy. Answers much nearer to training rows than held-out rows are reveal what the method was fitted on.
    """
    known = as_matrix(train_values, len(space.schema))

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        return Neighbours(space.points(known), len(space.stated)).query(space.points(rows), 1)[0][:, 0]

    return measured(answers, found, len(space.schema), measure if len(known) else _unknown)


def copies(
    answers: ArrayLike, train_values: ArrayLike, schema: Schema, found: ArrayLike | None = None, *, free: bool = False
) -> FloatArray:
    """1 for each answer that repeats a training row exactly, cell by cell, else 0; or its free cells alone.

    An answer counts even if the training row is its own factual.
    """
    columns = np.asarray(schema.free_columns) if free else np.arange(len(schema))
    known = Copies(as_matrix(train_values, len(schema))[:, columns])
    return measured(answers, found, len(schema), lambda rows, _: known.of(rows[:, columns]))


def _unknown(rows: FloatArray, _: BoolArray) -> FloatArray:
    return np.full(len(rows), np.nan)


def _cellwise(
    answers: ArrayLike,
    factuals: ArrayLike,
    schema: Schema,
    spreads: FloatArray,
    found: ArrayLike | None,
    summary: Callable[[FloatArray, BoolArray], FloatArray],
) -> FloatArray:
    """A summary of the moves of the free cells, both (n_found, n_free): `summary(moves, present before or after)`."""

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        own = own_rows(factuals, len(schema), present)
        moved = (~unchanged(own, rows)).astype(np.float64)
        for column, feature in enumerate(schema):
            if feature.ordered:
                on_scale = ordinary(feature, own[:, column]) & ordinary(feature, rows[:, column])
                length = np.abs(rows[:, column] - own[:, column]) / spreads[column]
                moved[:, column] = np.where(on_scale, length, moved[:, column])
        free = schema.free_columns
        return summary(moved[:, free], ~(np.isnan(own) & np.isnan(rows))[:, free])

    return measured(answers, found, len(schema), measure)


def _spreads(schema: Schema, train_values: ArrayLike, spread: Callable[[FloatArray], float]) -> FloatArray:
    """The spread of each ordered training column over its ordinary cells; 1 if it is 0 or there are none."""
    matrix = as_matrix(train_values, len(schema))
    result = np.ones(len(schema))
    for column, feature in enumerate(schema):
        cells = matrix[ordinary(feature, matrix[:, column]), column]
        if feature.ordered and len(cells):
            result[column] = float(spread(cells)) or 1.0
    return result
