"""The ranges round answers, as a result stores and shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

RANGES: Final = (
    *("person", "option", "feature", "counterfactual", "low", "high", "low_percentile", "high_percentile", "levels"),
    *("box_low", "box_high", "box_failing"),
)
"""The columns of `Counterfactuals.ranges`."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """One entry for each changed feature of each option.

    Attributes
    ----------
    option, column
        The position of the option among all, and of the feature, (r,).
    low, high
        The least and the largest number, or position of an ordered level, for which the answer holds, (r,); NaN where
        the feature has no order.
    low_percentile, high_percentile
        Their percentiles, from 0 to 1, (r,).
    levels
        The positions of the other levels for which it holds, for a feature without an order.
    box_low, box_high
        The sides of the box, (r,).
    box_failing
        An upper bound on the share of the box that does not hold: 0 where that is proven, (r,).
    least, most
        An end that lies here is none of the answer's, (r,): nothing beyond was tried, as nobody was seen there, or it
        would take longer. NaN where there is no such end.
    """

    option: np.ndarray
    column: np.ndarray
    low: np.ndarray
    high: np.ndarray
    low_percentile: np.ndarray
    high_percentile: np.ndarray
    levels: tuple[tuple[int, ...], ...]
    box_low: np.ndarray
    box_high: np.ndarray
    box_failing: np.ndarray
    least: np.ndarray
    most: np.ndarray

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
