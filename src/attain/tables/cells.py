"""Cells of the matrix: ordinary values, and cells that did not change."""

from __future__ import annotations

import numpy as np

from attain.core.arrays import BoolArray, FloatArray
from attain.schema.feature import Feature
from attain.schema.schema import Schema


def ordinary(feature: Feature, cells: FloatArray) -> BoolArray:
    """Which cells hold a value on the feature's own scale: neither missing nor a special code."""
    known = ~np.isnan(cells)
    for code in feature.special:
        known &= cells != code
    return known


def ordinary_cells(schema: Schema, rows: FloatArray) -> BoolArray:
    """The same of all cells of rows, (n, d)."""
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
