"""How far answers are from their factuals, over the free features, and which of them repeat training rows."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import AttainError
from attain.population.measuring import Copies, changed, measured, own_rows
from attain.population.percentiles import as_matrix
from attain.population.space import MeasuringSpace
from attain.schema import Schema

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


def copies(
    answers: ArrayLike, train_values: ArrayLike, schema: Schema, found: ArrayLike | None = None, *, free: bool = False
) -> FloatArray:
    """1 for each answer that repeats a training row exactly, cell by cell, else 0; or its free cells alone.

    An answer counts even if the training row is its own factual.
    """
    columns = np.asarray(schema.free_columns) if free else np.arange(len(schema))
    known = Copies(as_matrix(train_values, len(schema))[:, columns])
    return measured(answers, found, len(schema), lambda rows, _: known.of(rows[:, columns]))
