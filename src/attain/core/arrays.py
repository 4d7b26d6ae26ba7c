"""Array types, and Python scalars for NumPy's."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IndexArray: TypeAlias = NDArray[np.intp]
Keys: TypeAlias = NDArray[np.uint64]

MIXER = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_MIXER = np.uint64(0x94D049BB133111EB)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The constants of SplitMix64: the factors of its finaliser, and the step of its counter."""


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA has no truth value
        return True
    except (ValueError, ArithmeticError):  # an array has more than one truth value, a signalling decimal has none
        return False


def flat(array: FloatArray) -> FloatArray:
    """The array with its leading dimensions as one."""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def positions(mask: BoolArray) -> IndexArray:
    """Where a mask (n,) is true: `np.flatnonzero` without its overhead, which is most of its time on small masks."""
    return mask.nonzero()[0]


def unchanged(before: FloatArray, after: FloatArray) -> BoolArray:
    """Which cells are equal, or missing on both sides."""
    same: BoolArray = (before == after) | (np.isnan(before) & np.isnan(after))
    return same


def rank_within(owners: np.ndarray) -> np.ndarray:
    """The position of each entry among those of its owner; owners are sorted."""
    every = np.arange(len(owners))
    first = np.zeros(len(owners), dtype=np.intp)
    first[1:] = np.where(owners[1:] != owners[:-1], every[1:], 0)
    return every - np.maximum.accumulate(first)


def rank_among(owners: np.ndarray) -> np.ndarray:
    """As `rank_within`, of owners in any order."""
    order, ranks = np.argsort(owners, kind="stable"), np.empty(len(owners), dtype=np.intp)
    ranks[order] = rank_within(owners[order])
    return ranks


def marked(n: int, places: np.ndarray) -> np.ndarray:
    """Which of n positions are among `places`, (n,)."""
    found = np.zeros(n, dtype=bool)
    found[places] = True
    return found


def first_of_each(rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Positions of the first copy of each distinct (owner, row), in order."""
    keyed = np.ascontiguousarray(np.column_stack((owners.astype(np.float64), rows)) + 0.0)
    keyed[np.isnan(keyed)] = np.nan  # one bit pattern for all
    keys = keyed.view(np.dtype((np.void, keyed.shape[1] * keyed.itemsize))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])


def as_python(value: Any) -> Any:
    """The Python scalar for a NumPy scalar; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def mixed(bits: Keys) -> Keys:
    """SplitMix64's finaliser: every bit of the result depends on every bit of the input."""
    bits = (bits ^ (bits >> np.uint64(30))) * MIXER
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND_MIXER
    return bits ^ (bits >> np.uint64(31))
