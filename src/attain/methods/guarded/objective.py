"""What the guarded search minimises: TS + w · MS + λ · number of changes, in weighted percentiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attain.population.percentiles import Percentiles
from attain.tables import Region


@dataclass(frozen=True)
class Objective:
    """How hard rows are for their people.

    Shifts are taken on the interpolated distribution function, so that no move is free, and each counts as often as the
    schema or the constraints weigh its feature.

    Attributes
    ----------
    largest, number
        The weights w of the largest shift and λ of each changed feature.
    """

    percentiles: Percentiles
    region: Region
    largest: float
    number: float

    def shifts(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The weighted shift of each free cell, (n, free)."""
        free = self.region.schema.free_columns
        moved = self.percentiles.interpolated_shift(self.region.factuals[owners][:, free], rows[:, free], free)
        shifts: np.ndarray = moved * self.region.cost[owners][:, free]
        return shifts

    def cost(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The objective of each row, to ten digits: last bits must not decide between equals."""
        shifts = self.shifts(rows, owners)
        changes = self.region.changed(rows, owners).sum(axis=1)
        cost = shifts.sum(axis=1) + self.largest * shifts.max(axis=1, initial=0.0) + self.number * changes
        return np.round(cost, 10)

    def price(self, rows: np.ndarray, owners: np.ndarray, step: np.ndarray) -> np.ndarray:
        """What one unit of each free number costs near its value, (n, free); `step` (d,) says how near."""
        free = self.region.schema.free_columns
        cells, half = rows[:, free], step[free] / 2
        around = self.percentiles.interpolated(cells + half, free) - self.percentiles.interpolated(cells - half, free)
        price: np.ndarray = np.nan_to_num(around) / step[free] * self.region.cost[owners][:, free]
        return price
