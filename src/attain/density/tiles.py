"""Functions on tiles of one fixed, padded shape, so that the bits of a row never depend on the rows beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

TILE = 4096
"""Rows per call. A matrix product may sum in a different order at another shape."""


def in_tiles(function: Callable[..., Any], arrays: Sequence[np.ndarray], tile: int = TILE) -> Any:
    """`function(*arrays)`, computed `tile` rows at a time: arrays with rows on the first axis in, NumPy arrays out.

    The function gives an array, or a tuple of arrays.
    """
    rows = len(arrays[0])
    parts = []
    for start in range(0, max(rows, 1), tile):
        pieces = [_padded(array[start : start + tile], tile) for array in arrays]
        count = min(tile, rows - start)
        found = function(*pieces)
        several = isinstance(found, tuple)
        parts.append([np.asarray(array)[:count] for array in (found if several else (found,))])
    joined = tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return joined if several else joined[0]


def _padded(piece: np.ndarray, tile: int) -> np.ndarray:
    if len(piece) == tile:
        return piece
    padded = np.zeros((tile, *piece.shape[1:]), piece.dtype)
    padded[: len(piece)] = piece
    return padded
