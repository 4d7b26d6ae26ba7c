"""Cells of one row: rounding to a grid, limits, levels and special codes.

A grid has the multiples of a step, or, without a step, numbers of six significant digits. Rounding is exact in decimal:
the result is the float nearest to the intended number.
"""

import numpy as np

from libc.math cimport NAN, fabs, floor, frexp, isfinite, rint

cdef int DIGITS = 6
cdef double LOG10_OF_2 = 0.30102999566398120
cdef double BEYOND = 2.0**50  # floats that many steps from 0 are about as coarse as the grid
cdef int LOWEST = -307  # the exponent of POWERS[0]
cdef double[616] POWERS
for place in range(616):
    POWERS[place] = float(f"1e{place + LOWEST}")

cdef Column[1] _an_example
COLUMN = np.asarray(<Column[:1]> _an_example).dtype
"""The dtype of `Column`."""


def grid(step):
    """The fields of the grid of a step; of six significant digits for None."""
    if step is None:
        return SIX_DIGITS, 0.0, 1.0, 0.0
    text = format(step, ".15f").rstrip("0")
    decimals = len(text.partition(".")[2])
    scale = 10.0**decimals
    spacing = UNIT if step == 1 else DECIMAL if decimals and float(text) == step else MULTIPLES
    return spacing, step, scale, step * scale


def matrix(rows, Py_ssize_t columns, Py_ssize_t number=-1):
    """Rows as the engine takes them, (n, d); `number` is how many they must be."""
    given = np.require(rows, dtype=np.float64, requirements="CA")
    if given.ndim != 2 or given.shape[1] != columns or number not in (-1, len(given)):
        wanted = "rows" if number < 0 else f"{number} rows"
        raise ValueError(f"an array of shape {given.shape} instead of {wanted} with {columns} cells")
    return given


cdef Grid grid_of(step):
    cdef Grid made
    made.spacing, made.step, made.scale, made.scaled = grid(step)
    return made


cdef Py_ssize_t exponent(double value) noexcept nogil:
    """⌊log₁₀|value|⌋: estimated from the binary exponent, right or one too small, then compared with powers of ten."""
    cdef int binary = 0
    cdef double size = fabs(value)
    frexp(size, &binary)
    cdef Py_ssize_t estimate = <Py_ssize_t> floor((binary - 1) * LOG10_OF_2)
    return estimate + (size >= power_of_ten(estimate + 1))


cdef double power_of_ten(Py_ssize_t power) noexcept nogil:
    return POWERS[min(max(power - LOWEST, 0), 615)]


cdef double spacing_near(double value, const Grid* grid) noexcept nogil:
    """The distance between neighbouring grid values near a value."""
    return power_of_ten(exponent(value) - (DIGITS - 1)) if grid.spacing == SIX_DIGITS else grid.step


cdef double rounded(double value, const Grid* grid) noexcept nogil:
    """The nearest grid value. Adding 0 turns −0 into 0."""
    cdef double multiple, result, power
    cdef Py_ssize_t decimals
    if grid.spacing == UNIT:
        return rint(value) + 0.0
    if grid.spacing == SIX_DIGITS:
        # dividing by a power of ten rounds once; multiplying by one below 1 would not
        decimals = DIGITS - 1 - exponent(value)
        power = power_of_ten(min(decimals if decimals >= 0 else -decimals, 300))
        result = rint(value * power) / power if decimals >= 0 else rint(value / power) * power
        return (result if isfinite(result) else value) + 0.0
    multiple = rint(value / grid.step)
    if not fabs(multiple) < BEYOND:
        return value + 0.0
    if grid.spacing == MULTIPLES:
        return multiple * grid.step + 0.0
    # a step such as 0.1 has no exact float: k/10 is the intended number, k·0.1 is not
    return rint(multiple * grid.scaled) / grid.scale + 0.0


cdef double snapped_to(double value, const Grid* grid, double low, double high) noexcept nogil:
    """The nearest grid value between limits; NaN where there is none."""
    cdef double clipped = within(value, low, high)
    cdef double result = rounded(clipped, grid)
    if result > high:
        result = rounded(result - spacing_near(clipped, grid), grid)
    elif result < low:
        result = rounded(result + spacing_near(clipped, grid), grid)
    return NAN if result < low or result > high else result


cdef double placed(double cell, const Column* column, const Limits* limits) noexcept nogil:
    """A number on its grid and within limits; the factual's own number, off the grid, where it moves by less than a step."""
    cdef double result = snapped_to(cell, &column.grid, limits.low, limits.high), nearest
    if limits.place != limits.own:
        nearest = rounded(within(cell, limits.low, limits.high), &column.grid)
        if cell == limits.own or result == limits.place or nearest == limits.place:
            return limits.own
    return result


cdef bint may_take(Py_ssize_t level, const Column* column, const Limits* limits) noexcept nogil:
    """Whether a level is allowed by its transitions and, if levels are ordered, by low and high."""
    if not 0 <= level < column.states.end - column.states.start or not limits.allowed[level]:
        return False
    return column.kind != ORDERED or limits.low <= level <= limits.high or level == limits.own


cdef double kept_cell(double cell, const Column* column, const double* numbers, const Limits* limits) noexcept nogil:
    """What a candidate's cell becomes; NaN where it cannot be kept."""
    cdef Py_ssize_t number = column.states.end - column.states.start, i
    cdef double result
    if column.kind >= LEVELS:
        if not cell == cell:
            return NAN
        result = within(rint(cell), -1.0, number - 1) + 0.0  # no negative zero
        return result if may_take(<Py_ssize_t> result, column, limits) else NAN
    if column.kind == CODED:
        i = found_at(cell, numbers, column.codes.start, column.codes.end)
        if i >= 0:
            return cell if limits.allowed[i - column.codes.start] else NAN
        if not limits.allowed[number - 1]:
            return NAN
    result = placed(cell, column, limits)
    return result if column.kind == NUMBERS or ordinary(result, column, numbers) else NAN


def on_grid(values, step):
    """The nearest grid value of each value."""
    cdef Grid made = grid_of(step)
    result = np.array(values, dtype=np.float64, order="C")
    cdef double[::1] cells = result.reshape(-1)
    cdef Py_ssize_t i
    for i in range(cells.shape[0]):
        cells[i] = rounded(cells[i], &made)
    return result


def snapped(values, step, low, high):
    """The nearest grid value between limits of each value; NaN where there is none."""
    cdef Grid made = grid_of(step)
    result = np.array(np.broadcast_arrays(values, low, high), dtype=np.float64)
    cdef double[:, ::1] cells = result.reshape(3, -1)
    cdef Py_ssize_t i
    for i in range(cells.shape[1]):
        cells[0, i] = snapped_to(cells[0, i], &made, cells[1, i], cells[2, i])
    return result[0]


def spacing(values, step):
    """The distance between neighbouring grid values near each value."""
    cdef Grid made = grid_of(step)
    result = np.array(values, dtype=np.float64, order="C")
    cdef double[::1] cells = result.reshape(-1)
    cdef Py_ssize_t i
    for i in range(cells.shape[0]):
        cells[i] = spacing_near(cells[i], &made)
    return result
