"""Round numbers: multiples of a step, or six significant digits.

New values are rounded to this grid before the model scores them, so that what was scored is what is shown. Rounding is
exact in decimal and independent of the batch: the same input gives the same bits, alone or among a million rows.
"""

from __future__ import annotations

import math

import numpy as np

DIGITS = 6
_ROUNDING = 1e-6
"""The share of the distance between grid values that rounding may lose."""
LOG10_OF_2 = math.log10(2.0)
POWERS = np.array([float(f"1e{exponent}") for exponent in range(-307, 309)])


def snapped(values: np.ndarray, step: float | None, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The nearest grid value in [`low`, `high`]; NaN where there is none."""
    clipped = np.clip(values, low, high)
    result = on_grid(clipped, step)
    for outside, inward in ((result > high, -1.0), (result < low, 1.0)):
        if outside.any():
            result[outside] = on_grid(result[outside] + inward * spacing(clipped[outside], step), step)
    result[(result < low) | (result > high)] = math.nan
    return result


def on_grid(values: np.ndarray, step: float | None) -> np.ndarray:
    """The nearest multiple of the step, or the value rounded to six significant digits."""
    if step is None:
        return _significant(values)
    if step == 1:
        return np.rint(values) + 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        multiples = np.rint(values / step)
        decimals = decimals_of(step)
        if decimals is None:
            result = multiples * step
        else:
            # a step such as 0.1 has no exact float: k/10 is the intended number, k·0.1 is not
            scale = 10.0**decimals
            result = np.rint(multiples * (step * scale)) / scale
    # beyond 2⁵⁰ steps floats are about as coarse as the grid; adding zero removes negative zeros
    return np.where(np.abs(multiples) < 2.0**50, result, values) + 0.0


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


def decimals_of(step: float) -> int | None:
    """The number of decimals of a step that is no integer; None for integers, and if there are more than 15."""
    if float(step).is_integer():
        return None
    text = format(step, ".15f").rstrip("0")
    return len(text.partition(".")[2]) if float(text) == step else None


def _exponents(values: np.ndarray) -> np.ndarray:
    """⌊log₁₀|x|⌋, exactly: estimated from the binary exponent, then compared with the powers of ten themselves."""
    sizes = np.abs(values)
    binary = np.frexp(sizes)[1]
    estimate = np.floor((binary - 1) * LOG10_OF_2).astype(np.intp)  # right, or one too small
    return estimate + (sizes >= POWERS[np.clip(estimate + 1 + 307, 0, len(POWERS) - 1)])


def spacing(values: np.ndarray, step: float | None) -> np.ndarray:
    """The distance between neighbouring grid values near each value: the step, or that of six significant digits."""
    if step is not None:
        return np.full(values.shape, step)
    return np.array(POWERS[np.clip(_exponents(values) - (DIGITS - 1) + 307, 0, len(POWERS) - 1)])


def _significant(values: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        decimals = DIGITS - 1 - _exponents(values)
        # dividing by a power of ten rounds once and gives the float nearest to the decimal; multiplying by a power
        # below 1 would not
        up = POWERS[np.clip(decimals, 0, 300) + 307]
        down = POWERS[np.clip(-decimals, 0, 300) + 307]
        result = np.where(decimals >= 0, np.rint(values * up) / up, np.rint(values / down) * down)
    return np.where(np.isfinite(result), result, values) + 0.0
