"""How far answers are from their factuals, by distances in common use.

Free features only, as for shifts. A cell that has no place on a scale before or after (a level without an order, a
special code, a missing cell) counts 1 if it changes and 0 if it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import AttainError
from attain.population.difficulty import changed
from attain.population.measuring import measured, own_rows
from attain.population.percentiles import as_matrix
from attain.population.space import MeasuringSpace
from attain.schema import Schema
from attain.tables import ordinary, unchanged

if TYPE_CHECKING:
    from attain.density import Autoencoder

Norm: TypeAlias = Literal["l0", "l1", "l2", "linf"]
NORMS: Final = ("l0", "l1", "l2", "linf")


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
    if norm not in NORMS:
        raise AttainError(f"norm must be one of {', '.join(NORMS)}, got {norm!r}")
    if norm == "l0":
        return changed(answers, factuals, schema, found)
    free = _free(space)

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        moved = np.abs(free.transform(rows) - free.transform(own_rows(factuals, len(schema), present)))
        if norm == "linf":
            return np.asarray(moved.max(axis=1))
        return np.asarray(moved.sum(axis=1) if norm == "l1" else np.sqrt((moved**2).sum(axis=1)))

    return measured(answers, found, len(schema), measure)


def mad_distance(
    answers: ArrayLike, factuals: ArrayLike, schema: Schema, train_values: ArrayLike, found: ArrayLike | None = None
) -> FloatArray:
    """Wachter et al.'s distance: Σ_d |x̃_d − x_d| / MAD_d, with the median absolute deviation of the training column.

    A column whose deviation is 0, because more than half of its cells are equal, is measured in its own units.
    """
    return _cellwise(answers, factuals, schema, _spreads(schema, train_values, _deviation), found, _total)


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


def _free(space: MeasuringSpace) -> MeasuringSpace:
    """The coordinates of the free features alone."""
    free = space.schema.free_columns
    scaled, indicated = np.isin(space.scaled, free), np.isin(space.indicated, free)
    return replace(
        space,
        scaled=space.scaled[scaled],
        mean=space.mean[scaled],
        scale=space.scale[scaled],
        indicated=space.indicated[indicated],
        states=space.states[indicated],
        complete=space.complete[np.isin(space.complete, free)],
    )


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


def _total(moved: FloatArray, _: BoolArray) -> FloatArray:
    return np.asarray(moved.sum(axis=1))


def _spreads(schema: Schema, train_values: ArrayLike, spread: Callable[[FloatArray], float]) -> FloatArray:
    """The spread of each ordered training column over its ordinary cells; 1 if it is 0 or there are none."""
    matrix = as_matrix(train_values, len(schema))
    result = np.ones(len(schema))
    for column, feature in enumerate(schema):
        cells = matrix[ordinary(feature, matrix[:, column]), column]
        if feature.ordered and len(cells):
            result[column] = float(spread(cells)) or 1.0
    return result


def _deviation(cells: FloatArray) -> float:
    return float(np.median(np.abs(cells - np.median(cells))))
