"""Clocks and paces, the months of one row: kernels beside `Timing`; see `attain.tables.region_kernels`."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import lean
from attain.tables import program as p
from attain.tables.cell_kernels import on_grid, ordinary, same, spacing

_ROUNDING = 1e-6


@lean
def whole(months: float) -> float:
    return np.ceil(months - _ROUNDING * max(1.0, abs(months))) + 0.0


@lean
def clock_value(j: int, own: float, months: float, integers: np.ndarray, numbers: np.ndarray) -> float:
    """Where the clock of column j stands after some months."""
    if not months > 0:
        return own
    scales = p.POWERS + j * p.SCALES
    value = own + numbers[scales + p.RATE] * months
    apart, below = spacing(value, j, integers, numbers), on_grid(value, j, integers, numbers)
    if below > value + _ROUNDING * apart:
        below = on_grid(below - apart, j, integers, numbers)
    return min(own if own > below else below, numbers[scales + p.TOP])


@lean
def least_months(j: int, own: float, value: float, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The months after which the clock of column j stands at a value or beyond."""
    months = max(whole((value - own) / numbers[p.POWERS + j * p.SCALES + p.RATE]), 0.0)
    if clock_value(j, own, months, integers, numbers) < value:
        months += 1
    if months > 0 and clock_value(j, own, months - 1, integers, numbers) >= value:
        months -= 1
    return months


@lean
def runs(j: int, own: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether a clock has a value that can advance."""
    return ordinary(own[j], j, integers, numbers) and own[j] < numbers[p.POWERS + j * p.SCALES + p.TOP]


@lean
def asked_months(row: np.ndarray, own: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The months that the leading clock shows."""
    for clock in range(integers[p.CLOCKS], integers[p.CLOCKS + 1], p.RECORD):
        j = integers[clock + p.COLUMN]
        if not integers[clock + p.FLAG] and runs(j, own, integers, numbers):
            moved = row[j] != own[j] and ordinary(row[j], j, integers, numbers)
            return least_months(j, own[j], row[j], integers, numbers) if moved else 0.0
    return 0.0


@lean
def needed_months(row: np.ndarray, own: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The months that the changes of features with a pace need."""
    needed = 0.0
    for pace in range(integers[p.PACES], integers[p.PACES + 1], p.RECORD):
        j = integers[pace + p.COLUMN]
        moved = row[j] != own[j] and ordinary(row[j], j, integers, numbers)
        if moved and ordinary(own[j], j, integers, numbers):
            size = abs(row[j] - own[j]) if integers[pace + p.FLAG] else 1.0
            needed = max(needed, whole(size / numbers[p.POWERS + j * p.SCALES + p.PACE]))
    return needed


@lean
def advance(row: np.ndarray, own: np.ndarray, months: float, integers: np.ndarray, numbers: np.ndarray) -> None:
    """Puts all clocks where they stand after some months."""
    for clock in range(integers[p.CLOCKS], integers[p.CLOCKS + 1], p.RECORD):
        j = integers[clock + p.COLUMN]
        row[j] = clock_value(j, own[j], months, integers, numbers) if runs(j, own, integers, numbers) else own[j]


@lean
def number_of_changes(row: np.ndarray, own: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> int:
    """How many features a row changes, waiting included."""
    number = 0
    for at in range(integers[p.COUNTED], integers[p.COUNTED + 1]):
        number += not same(row[integers[at]], own[integers[at]])
    if integers[p.CLOCKS] < integers[p.CLOCKS + 1]:
        number += asked_months(row, own, integers, numbers) > needed_months(row, own, integers, numbers)
    return number
