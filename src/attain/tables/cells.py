"""Cells of the matrix: ordinary values, and cells that did not change."""

from __future__ import annotations

import numpy as np

from attain.core.arrays import BoolArray, FloatArray
from attain.schema.feature import Feature


def ordinary(feature: Feature, cells: FloatArray) -> BoolArray:
    """Which cells hold a value on the feature's own scale: neither missing nor a special code."""
    known = ~np.isnan(cells)
    for code in feature.special:
        known &= cells != code
    return known


def unchanged(before: FloatArray, after: FloatArray) -> BoolArray:
    """Which cells are equal, or missing on both sides."""
    same: BoolArray = (before == after) | (np.isnan(before) & np.isnan(after))
    return same
