"""Cells of one row, a column at a time: levels, codes, grids and limits, for the kernels of final form."""

from __future__ import annotations

import math

import numpy as np

from attain.core.compiled import lean
from attain.tables import program as p
from attain.tables.grid import DIGITS, LOG10_OF_2
from attain.tables.program import Limits, Program

_BEYOND = 2.0**50

FLOATS, INTEGERS, FLAGS = np.zeros((1, 1)), np.zeros(1, dtype=np.int64), np.zeros((1, 1), dtype=np.bool_)
PROGRAM = Program(INTEGERS, INTEGERS, FLOATS[0], FLAGS[0])
LIMITS = Limits(FLOATS, FLAGS)
"""Examples of arguments."""


@lean
def same(a: float, b: float) -> bool:
    """Whether two cells are equal, or both missing."""
    return a == b or (a != a and b != b)


@lean
def within(value: float, low: float, high: float) -> float:
    """np.clip(value, low, high): NaN stays."""
    if value < low:
        value = low
    if value > high:
        value = high
    return value


@lean
def copy(source: np.ndarray, target: np.ndarray) -> None:
    for j in range(len(target)):
        target[j] = source[j]


@lean
def entries_below(numbers: np.ndarray, start: int, end: int, value: float) -> int:
    """np.searchsorted: how many of the sorted numbers[start:end] are below a value."""
    first = start
    while start < end:
        middle = (start + end) >> 1
        if numbers[middle] < value:
            start = middle + 1
        else:
            end = middle
    return start - first


@lean
def ordinary(cell: float, j: int, integers: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether a cell is neither missing nor a special code."""
    column = p.HEADER + j * p.RECORD
    known = cell == cell
    for c in range(integers[column + p.CODES], integers[column + p.CODES_END]):
        known = known and cell != numbers[c]
    return known


@lean
def exponent(value: float, numbers: np.ndarray) -> int:
    """⌊log₁₀|value|⌋."""
    size = abs(value)
    estimate = math.floor((math.frexp(size)[1] - 1) * LOG10_OF_2)
    return estimate + (size >= numbers[min(max(estimate + 308, 0), 615)])


@lean
def spacing(value: float, j: int, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The distance between neighbouring grid values of column j near a value."""
    if integers[p.HEADER + j * p.RECORD + p.GRID] != p.SIX_DIGITS:
        return numbers[p.POWERS + j * p.SCALES + p.STEP]
    return numbers[min(max(exponent(value, numbers) - (DIGITS - 1) + 307, 0), 615)]


@lean
def on_grid(value: float, j: int, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The nearest grid value of column j."""
    grid, scales = integers[p.HEADER + j * p.RECORD + p.GRID], p.POWERS + j * p.SCALES
    if grid == p.UNIT:
        return np.rint(value) + 0.0
    if grid == p.SIX_DIGITS:
        decimals = DIGITS - 1 - exponent(value, numbers)
        power = numbers[min(abs(decimals), 300) + 307]
        result = np.rint(value * power) / power if decimals >= 0 else np.rint(value / power) * power
        return (result if math.isfinite(result) else value) + 0.0
    multiples = np.rint(value / numbers[scales + p.STEP])
    if grid == p.MULTIPLES:
        result = multiples * numbers[scales + p.STEP]
    else:
        result = np.rint(multiples * numbers[scales + p.SCALED]) / numbers[scales + p.SCALE]
    return (result if abs(multiples) < _BEYOND else value) + 0.0


@lean
def placed(
    cell: float, own: float, place: float, j: int, low: float, high: float, integers: np.ndarray, numbers: np.ndarray
) -> float:
    """A number on its grid and within limits; NaN where there is none, the factual's for less than a grid's move.

    `place` is the factual's number on the grid.
    """
    clipped = within(cell, low, high)
    nearest = on_grid(clipped, j, integers, numbers)
    result = nearest
    if nearest > high:
        result = on_grid(result - spacing(clipped, j, integers, numbers), j, integers, numbers)
    if nearest < low:
        result = on_grid(result + spacing(clipped, j, integers, numbers), j, integers, numbers)
    if result < low or result > high:
        result = math.nan
    return own if place != own and (result == place or nearest == place or cell == own) else result


@lean
def level_allowed(
    code: int, own: float, j: int, low: float, high: float, integers: np.ndarray, may: np.ndarray
) -> bool:
    column = p.HEADER + j * p.RECORD
    return may[integers[column + p.STATES] + code] and (
        integers[column + p.KIND] != p.ORDERED or low <= code <= high or code == own
    )


@lean
def cell_kept(
    cell: float,
    own: float,
    place: float,
    j: int,
    low: float,
    high: float,
    integers: np.ndarray,
    numbers: np.ndarray,
    may: np.ndarray,
) -> float:
    """What a cell of column j becomes; NaN where it cannot be kept."""
    column = p.HEADER + j * p.RECORD
    states, states_end = integers[column + p.STATES], integers[column + p.STATES_END]
    if integers[column + p.KIND] >= p.UNORDERED:
        code = -1 if cell != cell else int(within(np.rint(cell), -1.0, float(states_end - states - 1)))
        return float(code) if code >= 0 and level_allowed(code, own, j, low, high, integers, may) else math.nan
    result = placed(cell, own, place, j, low, high, integers, numbers)
    if integers[column + p.KIND] == p.CODED:
        if not may[states_end - 1] or not ordinary(result, j, integers, numbers):
            result = math.nan
        first = integers[column + p.CODES]
        for c in range(first, integers[column + p.CODES_END]):
            if cell == numbers[c]:
                result = numbers[c] if may[states + c - first] else math.nan
    return result


@lean
def put_cells(
    row: np.ndarray, like: np.ndarray, own: np.ndarray, may: np.ndarray, integers: np.ndarray, numbers: np.ndarray
) -> None:
    """`Region._cells`, in place; cells that are those of `like`, a row in final form, are not looked at."""
    d = len(row)
    free, end = integers[p.FREE], integers[p.FREE + 1]
    for j in range(d):
        cell, before, low, high = row[j], own[j], own[d + j], own[2 * d + j]
        row[j] = before
        if free == end or integers[free] != j:
            continue
        free += 1
        if cell == like[j]:
            row[j] = cell
        elif not (may[j] or (cell == before and low <= cell <= high)):
            kept = cell_kept(cell, before, own[3 * d + 2 + j], j, low, high, integers, numbers, may)
            if kept == kept and kept != before:
                row[j] = kept


@lean
def differs(row: np.ndarray, other: np.ndarray) -> bool:
    found = False
    for j in range(len(row)):
        found = found or not same(row[j], other[j])
    return found
