"""The ranges round answers, as a result stores and shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Ranges:
    """One entry for each changed feature of each option.

    Attributes
    ----------
    option, column
        The position of the option among all, and of the feature, (r,).
    low, high
        The ends of the widest run of checked numbers, or positions of ordered levels, for which the answer holds, (r,);
        NaN where the feature has no order.
    low_percentile, high_percentile
        Their percentiles, from 0 to 1, (r,).
    levels
        The positions of the other levels for which it holds, for a feature without an order.
    checked
        How many values were checked and hold, the suggestion among them: from `low` to `high`, or of the levels, (r,).
    """

    option: np.ndarray
    column: np.ndarray
    low: np.ndarray
    high: np.ndarray
    low_percentile: np.ndarray
    high_percentile: np.ndarray
    levels: tuple[tuple[int, ...], ...]
    checked: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Ranges]) -> Ranges:
        """One after the other."""
        arrays = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0]) if name != "levels"
        }
        return cls(levels=tuple(level for part in parts for level in part.levels), **arrays)

    def state(self) -> dict[str, Any]:
        """For JSON."""
        return {
            name: [[*level] for level in value] if name == "levels" else [_plain(cell) for cell in value.tolist()]
            for name, value in vars(self).items()
        }


def _plain(cell: float) -> float | None:
    return None if math.isnan(cell) else cell
