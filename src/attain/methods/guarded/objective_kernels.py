"""The cost of one row after the other: kernels beside `Objective`."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernel, lean
from attain.population.percentile_kernels import EXAMPLE, midrank
from attain.population.percentiles import Curves
from attain.tables import program as p
from attain.tables.cell_kernels import FLOATS, INTEGERS, PROGRAM, same
from attain.tables.clock_kernels import asked_months, needed_months, number_of_changes
from attain.tables.program import Program


@lean
def find_shifts(
    row: np.ndarray,
    own: np.ndarray,
    ranks: np.ndarray,
    weights: np.ndarray,
    integers: np.ndarray,
    curves: Curves,
    shifts: np.ndarray,
) -> None:
    """The weighted shift of each free cell; NaN in a row without an answer."""
    first, end = integers[p.FREE], integers[p.FREE + 1]
    missing, unmoved = True, True
    for at in range(first, end):
        j = integers[at]
        shift = 0.0
        missing = missing and row[j] != row[j]
        if not same(row[j], own[j]):
            unmoved = False
            shift = abs(midrank(row[j], j, curves) - ranks[j])
            if shift != shift:
                shift = 1.0
        shifts[at - first] = shift * weights[j]
    if missing and not unmoved:
        for at in range(end - first):
            shifts[at] = np.nan


@kernel((FLOATS, INTEGERS, FLOATS, FLOATS, FLOATS, PROGRAM, EXAMPLE, 1.0, 1.0, 1.0, FLOATS[0]))
def costs(
    rows: np.ndarray,
    owners: np.ndarray,
    factuals: np.ndarray,
    ranks: np.ndarray,
    weights: np.ndarray,
    program: Program,
    curves: Curves,
    max_shift_weight: float,
    change_weight: float,
    month_weight: float,
    result: np.ndarray,
) -> None:
    """`Objective.cost`, into `result`; a NaN as `month_weight` is None."""
    integers, _, numbers, _ = program
    shifts = np.empty(integers[p.FREE + 1] - integers[p.FREE])
    for i in range(len(rows)):
        row, own = rows[i], factuals[owners[i]]
        find_shifts(row, own, ranks[owners[i]], weights[owners[i]], integers, curves, shifts)
        total, largest = 0.0, 0.0
        for shift in shifts:
            total += shift
            largest = shift if shift > largest or shift != shift else largest
        changes = number_of_changes(row, own, integers, numbers)
        cost = total + max_shift_weight * largest + change_weight * changes
        if month_weight == month_weight:
            asked, needed = asked_months(row, own, integers, numbers), needed_months(row, own, integers, numbers)
            cost += month_weight * max(asked, needed)
        result[i] = np.rint(cost * 1e10) / 1e10


@kernel("void(b1[:, :, ::1], i8[::1], f8[:, :, ::1], i8[:, ::1], f8[:, ::1])")
def cheapest_values(
    met: np.ndarray, owners: np.ndarray, prices: np.ndarray, value: np.ndarray, price: np.ndarray
) -> None:
    """The cheapest of each feature's values that meet the goal, and its price; infinite where none does."""
    for i in range(len(met)):
        own = prices[owners[i]]
        for k in range(met.shape[1]):
            value[i, k], price[i, k] = 0, np.inf
            for v in range(met.shape[2]):
                if met[i, k, v] and own[k, v] < price[i, k]:
                    value[i, k], price[i, k] = v, own[k, v]
