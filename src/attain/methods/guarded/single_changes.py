"""The cheapest change of each single feature that flips the decision, for a batch of rows."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernels
from attain.methods.guarded.objective import Objective
from attain.methods.guarded.settings import GuardedSettings
from attain.methods.search.moves import Scale
from attain.models.structure.sweeps import Grid, Sweep
from attain.schema import Schema
from attain.tables import unchanged


def grid_of(schema: Schema, scale: Scale, most: int) -> Grid:
    """All levels of each free feature, or `most` values at most that training rows have.

    Half of them are spread evenly over the rows, the others over the different values: where most rows share one, few
    of the first would be another.
    """
    values = []
    for j in schema.free_columns:
        different = np.unique(scale.pools[j])
        if len(different) > most:
            halves = (scale.pools[j], most - most // 2), (different, most // 2)
            different = np.unique([cells[np.linspace(0, len(cells) - 1, n).astype(np.intp)] for cells, n in halves])
        levels = len(schema.features[j].levels)
        values.append(np.arange(float(levels)) if 0 < levels <= most else different)
    return Grid.of(schema.free_columns, values)


def priced(objective: Objective, grid: Grid) -> np.ndarray:
    """The weighted shift of each value of a grid for each row of the region, (rows, f, G); inf out of reach."""
    region, percentiles, free = objective.region, objective.percentiles, grid.columns
    own, ranks = region.factuals[:, free, None], percentiles.interpolated(region.factuals)[:, free, None]
    there = percentiles.interpolated(np.ascontiguousarray(grid.values.T), free).T
    prices = np.abs(there - ranks)
    prices = np.where(own == grid.values, 0.0, np.where(np.isnan(prices), 1.0, prices))
    prices *= region.cost[:, free, None]
    reached = ~region.frozen[:, free, None] & ~np.isnan(grid.values)
    ordered = np.array([region.schema.features[j].ordered for j in free], dtype=bool)[:, None]
    outside = (grid.values < region.low[:, free, None]) | (grid.values > region.high[:, free, None])
    return np.ascontiguousarray(np.where(reached & ~(ordered & outside), prices, np.inf))


def cheapest_changes(objective: Objective, grid: Grid, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The n cheapest changes of single features of each row, not yet in final form, and their owners."""
    prices = priced(objective, grid).reshape(len(objective.region), -1)
    prices[prices == 0] = np.inf
    order = np.argsort(prices, axis=1, kind="stable")[:, :n]
    owners, place = np.nonzero(np.isfinite(np.take_along_axis(prices, order, axis=1)))
    column, value = np.divmod(order[owners, place], grid.values.shape[1])
    rows = objective.region.factuals[owners]
    rows[np.arange(len(rows)), grid.columns[column]] = grid.values[column, value]
    return rows, owners


class SingleChanges:
    """Versions of rows with one feature changed.

    Every feature has its cheapest value on the grid with which the row flips the decision, where there is one.
    """

    def __init__(self, sweep: Sweep, objective: Objective, settings: GuardedSettings) -> None:
        self.sweep, self._objective, self._settings = sweep, objective, settings
        self.prices = priced(objective, sweep.grid)

    def steepest(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The rows (n, d), each with the one more feature changed that gains most of what is lacking for its price."""
        region, grid = self._objective.region, self.sweep.grid
        free, (f, g), every = grid.columns, grid.values.shape, np.arange(len(rows))
        steepest, place = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.intp)
        size = max(self._settings.cells_at_once // (8 * f * g), 1)
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            prices = self.prices[owners[part]] + self._objective.change_weight
            able = unchanged(rows[part][:, free], region.factuals[owners[part]][:, free])
            worth = np.where(able[:, :, None], np.nan_to_num(self.sweep.gains(rows[part]) / prices), 0.0)
            worth = np.round(worth.reshape(-1, f * g), 9)
            place[part], steepest[part] = worth.argmax(axis=1), worth.max(axis=1)
        chosen, rows = every[steepest > 0], rows.copy()
        k, value = np.divmod(place[chosen], g)
        rows[chosen, free[k]] = grid.values[k, value]
        return rows

    def of(
        self, rows: np.ndarray, owners: np.ndarray, below: np.ndarray, most: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Versions of rows (n, d) that promise a cost `below` (n,), and whose version each is.

        All of them, or the `most` of each row that promise the least.
        """
        grid, (f, g) = self.sweep.grid, self.sweep.grid.values.shape
        value, price = np.empty((len(rows), f), dtype=np.intp), np.empty((len(rows), f))
        size = max(self._settings.cells_at_once // (8 * f * g), 1)
        compiled = kernels("attain.methods.guarded.objective_kernels")
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            met = self.sweep.met(rows[part])
            if compiled is not None:
                compiled.cheapest_values(met, owners[part].astype(np.int64), self.prices, value[part], price[part])
            else:
                prices = np.where(met, self.prices[owners[part]], np.inf)
                value[part] = prices.argmin(axis=2)
                price[part] = prices.min(axis=2)
        cost = self._estimated(rows, owners, price)
        if most is not None and most < f:
            np.put_along_axis(cost, np.argsort(cost, axis=1, kind="stable")[:, most:], np.inf, axis=1)
        of, k = np.nonzero(cost < below[:, None])
        versions = rows[of]
        versions[np.arange(len(of)), grid.columns[k]] = grid.values[k, value[of, k]]
        return versions, of

    def _estimated(self, rows: np.ndarray, owners: np.ndarray, price: np.ndarray) -> np.ndarray:
        """The cost of each row with one cell at another price, (n, f), as if no rule ties features together."""
        objective, every = self._objective, np.arange(len(rows))
        shifts = objective.shifts(rows, owners)
        changed = shifts > 0
        most, ordered = shifts.argmax(axis=1), np.sort(shifts, axis=1)
        others = np.repeat(ordered[:, -1:], shifts.shape[1], axis=1)
        others[every, most] = ordered[:, -2] if shifts.shape[1] > 1 else 0.0
        total = np.add.accumulate(shifts, axis=1)[:, -1:] - shifts + price  # in this order, as kernels do
        changes = changed.sum(axis=1, keepdims=True) - changed + (price > 0)
        return np.asarray(
            total + objective.max_shift_weight * np.maximum(others, price) + objective.change_weight * changes
        )
