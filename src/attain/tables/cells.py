"""Cells of the matrix: ordinary values, cells that did not change, and round numbers.

New values are multiples of a step or have six significant digits before the model scores them, so that what was scored
is what is shown. Rounding (`attain.engine.cells`) is exact in decimal and independent of the batch.
"""

from __future__ import annotations

import numpy as np

from attain.core.arrays import BoolArray, FloatArray
from attain.engine.cells import on_grid, spacing
from attain.schema.schema import Schema

_ROUNDING = 1e-6
"""The share of the distance between grid values that rounding may lose."""


def ordinary_cells(schema: Schema, rows: FloatArray) -> BoolArray:
    """Which cells of rows, (n, d), hold a value on their feature's own scale: neither missing nor a special code."""
    known = ~np.isnan(rows)
    if schema.codes.size:
        known &= ~(rows[:, :, None] == schema.codes).any(axis=2)
    return known


def without_unseen(schema: Schema, rows: FloatArray) -> FloatArray:
    """The rows with levels that the schema does not have as missing; only immutable columns can have any."""
    for j in schema.immutable_columns:
        unseen = rows[:, j] >= (len(schema.features[j].levels) or np.inf)
        if unseen.any():
            rows = rows.copy()
            rows[unseen, j] = np.nan
    return rows


def unchanged(before: FloatArray, after: FloatArray) -> BoolArray:
    """Which cells are equal, or missing on both sides."""
    same: BoolArray = (before == after) | (np.isnan(before) & np.isnan(after))
    return same


def on_grid_below(values: np.ndarray, step: float | None) -> np.ndarray:
    """The largest grid value that is not above each value, but for rounding errors."""
    nearest, apart = on_grid(values, step), spacing(values, step)
    with np.errstate(invalid="ignore"):
        return np.where(nearest > values + _ROUNDING * apart, on_grid(nearest - apart, step), nearest)


def on_grid_beyond(values: np.ndarray, step: float | None) -> np.ndarray:
    """The grid value that follows each value."""
    below = on_grid_below(values, step)
    return on_grid(below + spacing(below, step), step)


def is_on_grid(values: np.ndarray, step: float | None) -> np.ndarray:
    """Whether each value is a grid value."""
    return np.asarray(on_grid(values, step) == values)
