"""Random numbers that belong to a person, not to a place in a batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np


def person_key(row: np.ndarray, seed: int) -> int:
    """128 bits from the person's row and the seed: the same alone, in any batch, in any process."""
    canonical = np.where(np.isnan(row), np.nan, row + 0.0).astype("<f8")  # one NaN, and no negative zero
    digest = hashlib.blake2b(canonical.tobytes(), digest_size=16, key=seed.to_bytes(8, "little"))
    return int.from_bytes(digest.digest(), "little")


def streams(rows: np.ndarray, seed: int) -> list[np.random.Generator]:
    """One generator a person."""
    return [np.random.Generator(np.random.Philox(key=person_key(row, seed))) for row in rows]


def normals(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal draws, (people, *shape), each person's from their own stream."""
    out = np.empty((len(generators), *shape))
    for i, generator in enumerate(generators):
        generator.standard_normal(out=out[i])
    return out


def uniforms(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> np.ndarray:
    """Uniform draws from [0, 1), (people, *shape), each person's from their own stream."""
    out = np.empty((len(generators), *shape))
    for i, generator in enumerate(generators):
        generator.random(out=out[i])
    return out
