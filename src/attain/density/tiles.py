"""Functions on tiles of one fixed, padded shape, so that the bits of a row never depend on the rows beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

TILE = 4096
"""Rows per call. A matrix product may sum in a different order at another shape."""


def in_tiles(function: Callable[..., Any], arrays: Sequence[np.ndarray], tile: int = TILE) -> Any:
    """`function(*arrays)`, computed `tile` rows at a time: arrays with rows on the first axis in, NumPy arrays out."""
    rows = len(arrays[0])
    parts = []
    for start in range(0, max(rows, 1), tile):
        pieces = [_padded(array[start : start + tile], tile) for array in arrays]
        count = min(tile, rows - start)
        parts.append(jax.tree.map(lambda leaf, count=count: np.asarray(leaf)[:count], function(*pieces)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _padded(piece: np.ndarray, tile: int) -> np.ndarray:
    if len(piece) == tile:
        return piece
    padded = np.zeros((tile, *piece.shape[1:]), piece.dtype)
    padded[: len(piece)] = piece
    return padded
