"""What the guarded search minimises: Σ_j c_j |ΔF_j| + w max_j c_j |ΔF_j| + λ #changes + μ #months.

F_j is the interpolated midrank of column j, so that no move is free, and leaving a value that a share p of the training
rows have costs about p / 2; c_j is the cost of the column. TS and MS, which are reported, are by the empirical
distribution function instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from attain.core.compiled import kernels
from attain.population.percentiles import Curves, Percentiles
from attain.tables import Region


def weighted(region: Region, month_weight: float | None) -> Region:
    """The region with the costs c_j of the objective: where months have a weight, clocks cost nothing by themselves."""
    if month_weight is None or not region.schema.clocks:
        return region
    cost = region.cost.copy()
    cost[:, list(region.schema.clocks)] = 0.0
    return replace(region, cost=cost)


class Costs(NamedTuple):
    """What kernels read to compute costs.

    Attributes
    ----------
    factuals, ranks, weights
        The rows, the midranks of their cells and the weights c_j of a change, (n, d) each.
    month_weight
        NaN instead of None.
    """

    factuals: np.ndarray
    ranks: np.ndarray
    weights: np.ndarray
    curves: Curves
    max_shift_weight: float
    change_weight: float
    month_weight: float


@dataclass(frozen=True)
class Objective:
    """The cost of candidate rows (n, d) to the rows of a region that own them, (n,).

    Attributes
    ----------
    max_shift_weight, change_weight
        The weights w of the largest shift and λ of each changed feature.
    month_weight
        The weight μ of each month; None counts the shifts of clocks instead (see `weighted`).
    """

    percentiles: Percentiles
    region: Region
    max_shift_weight: float
    change_weight: float
    month_weight: float | None = None

    @cached_property
    def _ranks(self) -> np.ndarray:
        """The interpolated midranks of the rows of the region, (n, d)."""
        return self.percentiles.interpolated(self.region.factuals)

    def shifts(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The weighted shift of each free cell, (n, f)."""
        free = self.region.schema.free_columns
        own, ranks = self.region.factuals[owners][:, free], self._ranks[owners][:, free]
        moved = self.percentiles.interpolated_shift(own, rows[:, free], free, ranks)
        shifts: np.ndarray = moved * self.region.cost[owners][:, free]
        return shifts

    def cost(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The cost of each row (n,), to ten digits: last bits must not decide between equals."""
        compiled = kernels("attain.methods.guarded.objective_kernels")
        if compiled is not None and self.compilable:
            return self._compiled_cost(compiled, rows, owners)
        shifts = self.shifts(rows, owners)
        changes = self.region.changed(rows, owners).sum(axis=1)
        largest = self.max_shift_weight * shifts.max(axis=1, initial=0.0)
        total = np.zeros(len(rows))
        for shift in shifts.T:  # in this order, as kernels do
            total += shift
        cost = total + largest + self.change_weight * changes
        if self.month_weight is not None:
            cost += self.month_weight * self.region.months(rows, owners)
        return np.round(cost, 10)

    @property
    def compilable(self) -> bool:
        """Whether kernels can compute costs."""
        return self.region.book.program is not None and self.percentiles.method == "midrank"

    @cached_property
    def arrays(self) -> Costs:
        """What kernels read."""
        return Costs(
            np.ascontiguousarray(self.region.factuals),
            self._ranks,
            np.ascontiguousarray(self.region.cost),
            self.percentiles.curves,
            self.max_shift_weight,
            self.change_weight,
            math.nan if self.month_weight is None else self.month_weight,
        )

    def _compiled_cost(self, compiled: Any, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        cost = np.empty(len(rows))
        compiled.costs_of(
            np.ascontiguousarray(rows, dtype=np.float64),
            np.ascontiguousarray(owners, dtype=np.int64),
            self.region.book.program,
            self.arrays,
            cost,
        )
        return cost

    def price(self, rows: np.ndarray, owners: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The cost of a unit of each free number near its value, (n, f), by differences over `step` (d,)."""
        free = self.region.schema.free_columns
        cells, half = rows[:, free], step[free] / 2
        around = self.percentiles.interpolated(cells + half, free) - self.percentiles.interpolated(cells - half, free)
        price: np.ndarray = np.nan_to_num(around) / step[free] * self.region.cost[owners][:, free]
        return price
