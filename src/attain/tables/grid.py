"""Round numbers: multiples of a step, or six significant digits; the grid of one cell is in `attain.engine.cells`.

New values are rounded to this grid before the model scores them, so that what was scored is what is shown. Rounding is
exact in decimal and independent of the batch: the same input gives the same bits, alone or among a million rows.
"""

from __future__ import annotations

import numpy as np

from attain.engine.cells import on_grid, spacing

_ROUNDING = 1e-6
"""The share of the distance between grid values that rounding may lose."""


def on_grid_below(values: np.ndarray, step: float | None) -> np.ndarray:
    """The largest grid value that is not above each value, but for rounding errors."""
    nearest, apart = on_grid(values, step), spacing(values, step)
    with np.errstate(invalid="ignore"):
        return np.where(nearest > values + _ROUNDING * apart, on_grid(nearest - apart, step), nearest)


def on_grid_beyond(values: np.ndarray, step: float | None) -> np.ndarray:
    """The grid value that follows each value."""
    below = on_grid_below(values, step)
    return on_grid(below + spacing(below, step), step)


def is_on_grid(values: np.ndarray, step: float | None) -> np.ndarray:
    """Whether each value is a grid value."""
    return np.asarray(on_grid(values, step) == values)
