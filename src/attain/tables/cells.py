"""What a cell of the one matrix is: ordinary or not, the same as another or not."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from attain.schema.schema import Feature

FloatArray: TypeAlias = NDArray[np.float64]


def ordinary(feature: Feature, cells: FloatArray) -> NDArray[np.bool_]:
    """Which cells hold a value on the feature's own scale: neither missing nor a special code."""
    known = ~np.isnan(cells)
    for code in feature.special:
        known &= cells != code
    return known


def unchanged(before: FloatArray, after: FloatArray) -> NDArray[np.bool_]:
    """Which cells are the same: equal, or missing on both sides."""
    same: NDArray[np.bool_] = (before == after) | (np.isnan(before) & np.isnan(after))
    return same
