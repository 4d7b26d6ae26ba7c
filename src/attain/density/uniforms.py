"""Uniform numbers that depend on a row and its draw, not on the place of the row in a batch.

SplitMix64 as a counter-based generator: number i of a key is the finaliser of key + i · 0x9E3779B97F4A7C15. It needs no
generator object per row, so a million rows cost what one array costs.
"""

from __future__ import annotations

import numpy as np

from attain.core.arrays import GOLDEN, MIXER, FloatArray, Keys, mixed


def row_keys(rows: FloatArray, seed: int) -> Keys:
    """64 bits for each row (n,) from its cells and the seed; all NaN are one, and there is no negative zero."""
    bits = np.where(np.isnan(rows), np.nan, rows + 0.0).view(np.uint64)
    keys = np.full(len(rows), mixed(np.array([seed], dtype=np.uint64))[0])
    for column in range(rows.shape[1]):
        keys = mixed(keys + GOLDEN ^ bits[:, column])
    return keys


def draw_keys(keys: Keys, n: int) -> Keys:
    """`n` keys for each key, one after the other."""
    return mixed(np.repeat(keys, n) + np.tile(np.arange(1, n + 1, dtype=np.uint64), len(keys)) * MIXER)


def uniforms(keys: Keys, number: int) -> FloatArray:
    """Number `number` ≥ 0 of each key, in [0, 1)."""
    with np.errstate(over="ignore"):
        counter = np.uint64(number + 1) * GOLDEN
    return (mixed(keys + counter) >> np.uint64(11)).astype(np.float64) * 2.0**-53
