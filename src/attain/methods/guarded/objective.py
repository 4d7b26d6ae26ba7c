"""What the guarded search minimises: Σ_j c_j |ΔF_j| + w max_j c_j |ΔF_j| + λ #changes.

F_j is the interpolated midrank of column j, so that no move is free, and leaving a value that a share p of the training
rows have costs about p / 2; c_j is the cost of the column. TS and MS, which are reported, are by the empirical
distribution function instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attain.population.percentiles import Percentiles
from attain.tables import Region


@dataclass(frozen=True)
class Objective:
    """The cost of candidate rows (n, d) to the rows of a region that own them, (n,).

    Attributes
    ----------
    max_shift_weight, change_weight
        The weights w of the largest shift and λ of each changed feature.
    """

    percentiles: Percentiles
    region: Region
    max_shift_weight: float
    change_weight: float

    def shifts(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The weighted shift of each free cell, (n, f)."""
        free = self.region.schema.free_columns
        moved = self.percentiles.interpolated_shift(self.region.factuals[owners][:, free], rows[:, free], free)
        shifts: np.ndarray = moved * self.region.cost[owners][:, free]
        return shifts

    def cost(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The cost of each row (n,), to ten digits: last bits must not decide between equals."""
        shifts = self.shifts(rows, owners)
        changes = self.region.changed(rows, owners).sum(axis=1)
        largest = self.max_shift_weight * shifts.max(axis=1, initial=0.0)
        return np.round(shifts.sum(axis=1) + largest + self.change_weight * changes, 10)

    def price(self, rows: np.ndarray, owners: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The cost of a unit of each free number near its value, (n, f), by differences over `step` (d,)."""
        free = self.region.schema.free_columns
        cells, half = rows[:, free], step[free] / 2
        around = self.percentiles.interpolated(cells + half, free) - self.percentiles.interpolated(cells - half, free)
        price: np.ndarray = np.nan_to_num(around) / step[free] * self.region.cost[owners][:, free]
        return price
