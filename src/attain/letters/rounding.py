"""Round numbers near those of an answer, coarsest first: what a letter would like to print.

A new value v that differs from the person's own by Δ is rounded to a multiple of

    10^k,    k = min(⌊log₁₀|v|⌋ − 1, ⌊log₁₀(|Δ| / 5)⌋),

so that it has two significant digits and the change grows by a fifth at most; then, if that does not hold, with one
digit more, and so on. At each step it is rounded away from the person's own value first, and then to the nearest.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from attain.results.sentences import own_number
from attain.schema import Feature, Schema
from attain.tables import is_on_grid, on_grid, spacing

_STEPS: Final = 4
"""How many numbers of digits are tried; answers without a step have six."""
_SHARE: Final = 5
"""The change grows by one part in so many at most."""


def shown(feature: Feature, cell: float) -> float:
    """A person's own number for reading, rounded as in sentences; integers are not rounded."""
    if not feature.numeric or math.isnan(cell) or float(cell).is_integer():
        return cell
    return float(own_number(cell, feature.step))


def candidates(rows: np.ndarray, own: np.ndarray, chosen: np.ndarray, schema: Schema) -> np.ndarray:
    """Versions of answers (m, d), coarsest first and the answers themselves last, (versions, m, d).

    `own` are the people's rows, `chosen` says which cells are numbers that may be rounded, (m, d) each.
    """
    steps = np.column_stack([spacing(rows[:, j], feature.step) for j, feature in enumerate(schema)])
    with np.errstate(divide="ignore", invalid="ignore"):
        coarsest = np.minimum(_exponent(np.abs(rows)) - 1, _exponent(np.abs(rows - own) / _SHARE))
    versions = []
    for step in range(_STEPS):
        place = 10.0 ** (coarsest - step)
        rounds = chosen & (place > steps * (1 + 1e-9))
        place = np.where(rounds, place, 1.0)
        counts = _whole(rows / place)
        away = np.where(rows > own, np.ceil(counts), np.floor(counts))
        versions += [np.where(rounds, number * place, rows) for number in (away, np.rint(counts))]
    return np.stack([*versions, rows])


def inward(low: float, high: float, step: float | None) -> tuple[float, float]:
    """A range with round ends within it: multiples of a power of ten that is a tenth of its width at most."""
    ends, place = np.array([low, high]), 10.0 ** _exponent(np.array([(high - low) / 10]))
    if (place <= spacing(np.abs(ends).max(keepdims=True), step)).any() or not is_on_grid(place, step).all():
        return low, high
    counts = _whole(ends / place)
    least, most = on_grid(np.array([np.ceil(counts[0]), np.floor(counts[1])]) * place, step).tolist()
    return least, most


def _exponent(sizes: np.ndarray) -> np.ndarray:
    """⌊log₁₀ x⌋, but for rounding errors."""
    return np.floor(np.log10(sizes) + 1e-9)


def _whole(counts: np.ndarray) -> np.ndarray:
    """The numbers, with those that are whole but for rounding errors made whole."""
    near = np.rint(counts)
    return np.where(np.abs(counts - near) <= 1e-9 * np.maximum(1.0, np.abs(near)), near, counts)
