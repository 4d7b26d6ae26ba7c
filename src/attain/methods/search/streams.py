"""Random numbers that depend on a row, not on its place in a batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np


def row_keys(rows: np.ndarray, seed: int) -> list[int]:
    """128 bits from each row (n, d) and the seed: the same in every batch and process."""
    content = np.where(np.isnan(rows), np.nan, rows + 0.0).astype("<f8").tobytes()  # one NaN, and no negative zero
    width, key = 8 * rows.shape[1], seed.to_bytes(8, "little")
    return [
        int.from_bytes(
            hashlib.blake2b(content[i * width : (i + 1) * width], digest_size=16, key=key).digest(), "little"
        )
        for i in range(len(rows))
    ]


def streams(rows: np.ndarray, seed: int) -> list[np.random.Generator]:
    """One generator per row."""
    return [np.random.Generator(np.random.Philox(key=key)) for key in row_keys(rows, seed)]


def normals(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal draws, (n, *shape), one stream per row."""
    out = np.empty((len(generators), *shape))
    for i, generator in enumerate(generators):
        generator.standard_normal(out=out[i])
    return out


def uniforms(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> np.ndarray:
    """Uniform draws from [0, 1), (n, *shape), one stream per row."""
    out = np.empty((len(generators), *shape))
    for i, generator in enumerate(generators):
        generator.random(out=out[i])
    return out
