"""The cost of one row after the other: kernels beside `Objective`."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernel, lean
from attain.methods.guarded.objective import Costs
from attain.population.percentile_kernels import EXAMPLE, midrank
from attain.tables import program as p
from attain.tables.cell_kernels import FLOATS, INTEGERS, PROGRAM, same
from attain.tables.clock_kernels import asked_months, needed_months, number_of_changes
from attain.tables.program import Program

COSTS = Costs(FLOATS, FLOATS, FLOATS, EXAMPLE, 1.0, 1.0, 1.0)
"""An example of an argument."""


@lean
def find_shifts(
    row: np.ndarray,
    like: np.ndarray,
    like_shifts: np.ndarray,
    owner: int,
    integers: np.ndarray,
    costs: Costs,
    shifts: np.ndarray,
) -> None:
    """The weighted shift of each free cell; NaN in a row without an answer.

    Cells that are those of the row `like` have its shifts. It may be the owner's, whose shifts are all 0.
    """
    own, first, end = costs.factuals[owner], integers[p.FREE], integers[p.FREE + 1]
    missing, unmoved = True, True
    for at in range(first, end):
        j = integers[at]
        missing = missing and row[j] != row[j]
        if same(row[j], like[j]):
            shifts[at - first] = like_shifts[at - first]
            unmoved = unmoved and same(row[j], own[j])
            continue
        shift = 0.0
        if not same(row[j], own[j]):
            unmoved = False
            shift = abs(midrank(row[j], j, costs.curves) - costs.ranks[owner, j])
            if shift != shift:
                shift = 1.0
        shifts[at - first] = shift * costs.weights[owner, j]
    if missing and not unmoved:
        for at in range(end - first):
            shifts[at] = np.nan


@lean
def cost_of(row: np.ndarray, owner: int, program: Program, costs: Costs, shifts: np.ndarray) -> float:
    """`Objective.cost` of a row with these shifts."""
    integers, numbers, own = program.integers, program.numbers, costs.factuals[owner]
    total, largest = 0.0, 0.0
    for shift in shifts:
        total += shift
        largest = shift if shift > largest or shift != shift else largest
    cost = total + costs.max_shift_weight * largest
    cost += costs.change_weight * number_of_changes(row, own, integers, numbers)
    if costs.month_weight == costs.month_weight:
        asked, needed = asked_months(row, own, integers, numbers), needed_months(row, own, integers, numbers)
        cost += costs.month_weight * max(asked, needed)
    return np.rint(cost * 1e10) / 1e10


@kernel((FLOATS, INTEGERS, PROGRAM, COSTS, FLOATS[0]))
def costs_of(rows: np.ndarray, owners: np.ndarray, program: Program, costs: Costs, result: np.ndarray) -> None:
    """`Objective.cost`, into `result`."""
    integers = program.integers
    none = np.zeros(integers[p.FREE + 1] - integers[p.FREE])
    shifts = np.empty(len(none))
    for i in range(len(rows)):
        find_shifts(rows[i], costs.factuals[owners[i]], none, owners[i], integers, costs, shifts)
        result[i] = cost_of(rows[i], owners[i], program, costs, shifts)


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
