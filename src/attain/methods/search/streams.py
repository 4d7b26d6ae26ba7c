"""Random numbers that depend on a row, not on its place in a batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np


def row_key(row: np.ndarray, seed: int) -> int:
    """128 bits from a row and the seed: the same in every batch and process."""
    canonical = np.where(np.isnan(row), np.nan, row + 0.0).astype("<f8")  # one NaN, and no negative zero
    digest = hashlib.blake2b(canonical.tobytes(), digest_size=16, key=seed.to_bytes(8, "little"))
    return int.from_bytes(digest.digest(), "little")


def streams(rows: np.ndarray, seed: int) -> list[np.random.Generator]:
    """One generator per row."""
    return [np.random.Generator(np.random.Philox(key=row_key(row, seed))) for row in rows]


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
