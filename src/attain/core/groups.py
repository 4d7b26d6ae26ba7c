"""Groups of people: numbers cut into bands, and the order in which groups are read."""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

MISSING: Final = "missing"
"""The group of people whose group is not known."""


def bands(values: ArrayLike, number: int = 4) -> list[str | None]:
    """Numbers as bands of about equal size, such as `18 to 29`; None for missing ones."""
    column = np.asarray(values, dtype=np.float64)
    present = column[~np.isnan(column)]
    if not len(present):
        return [None] * len(column)
    edges = np.unique(np.quantile(present, np.linspace(0, 1, number + 1)[1:-1], method="inverted_cdf"))
    place = np.searchsorted(edges, column, side="left")
    names = {}
    for band in set(place[~np.isnan(column)].tolist()):
        inside = column[place == band]
        low, high = np.nanmin(inside), np.nanmax(inside)
        names[band] = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return [None if np.isnan(value) else names[band] for value, band in zip(column, place.tolist(), strict=True)]


def in_reading_order(label: object) -> list[tuple[float, str]]:
    """So that `9 to 17` comes before `18 to 30`, and `-2 to -1` before both."""
    parts = re.split(r"((?:(?<!\w)-)?\d+(?:\.\d+)?)", str(label))
    return [(float(part), "") if place % 2 else (math.inf, part) for place, part in enumerate(parts) if part]
