"""The actions of a row: for each free feature, what each costs and gains.

An action a of feature j writes the cell v. For a linear score w and the percentile Q_j of the training rows,

    gain[a] = w_j(v) − w_j(x_j)        cost[a] = weight_j · |Q_j(v) − Q_j(x_j)| + 1e-9,

with weight_j the feature's cost, and 1 in place of the difference where v or x_j has no percentile. Other `Prices` have
other places than percentiles. The first action of a group is to stay: it costs and gains 0.

Features are groups of one, unless a column that costs or gains something is computed from several: these are one group,
whose joint actions are written out. Where they would be too many, the features stay apart, and a computed column counts
as if nothing else moved.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

import numpy as np

from attain.methods.recourse.program import Choices, Program, RecourseCost
from attain.models.scores import LinearScore
from attain.population.measuring import Percentiles
from attain.schema import Schema
from attain.tables import Region, on_grid, ordinary, snapped

_MOST_JOINT: Final = 60_000
"""The most joint actions of one group that are written out."""
_PER_CHANGE: Final = 1e-9
"""Between choices of equal cost, the one with fewer changes wins."""


class ActionGrid:
    """The values that numbers may take, column by column, from the training data.

    `observed`: the training values. `exact`: also the last value before each of them, up to which the distribution
    function is flat. A number: that many equal steps over the range of the training data.
    """

    def __init__(self, schema: Schema, values: np.ndarray, grid: str | int) -> None:
        self.points = [
            _points(np.unique(values[ordinary(feature, values[:, j]), j]), feature.step, grid)
            if feature.numeric
            else np.empty(0)
            for j, feature in enumerate(schema)
        ]


def _points(distinct: np.ndarray, step: float | None, grid: str | int) -> np.ndarray:
    if not len(distinct):
        return distinct
    if grid == "exact":
        far = np.full(len(distinct), math.inf)
        last = snapped(distinct, step, -far, np.nextafter(distinct, -math.inf))
        both = np.concatenate((snapped(distinct, step, distinct, far), last))
        return np.unique(both[np.isfinite(both)])
    points = np.linspace(distinct[0], distinct[-1], grid + 1) if isinstance(grid, int) else distinct
    return np.unique(on_grid(points, step))


class Prices(Protocol):
    """What changes cost: how far apart two cells lie on the scale of their column, or the price of a switch."""

    def places(self, j: int, cells: np.ndarray) -> np.ndarray:
        """Where cells stand on the scale of column j; NaN for those that have no place on it."""
        ...

    def switch(self, j: int, own: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """What a change of column j costs where the own cell or the new one has no place."""
        ...


class PercentilePrices:
    """Percentiles of training rows, or log(1 − percentile) for the local cost; a switch costs 1."""

    def __init__(self, percentiles: Percentiles, cost: RecourseCost, n_rows: int) -> None:
        self._percentiles, self._local, self._least = percentiles, cost == "local", 0.5 / n_rows

    def places(self, j: int, cells: np.ndarray) -> np.ndarray:
        places = self._percentiles.of(cells[:, None], [j])[:, 0]
        return np.log(np.maximum(1 - places, self._least)) if self._local else places

    def switch(self, j: int, own: np.ndarray, cells: np.ndarray) -> np.ndarray:
        return np.ones(len(cells))


class Actions:
    """The actions of each row of a region, and its program for a score. `largest`: the largest cost counts, not all."""

    def __init__(self, region: Region, grid: ActionGrid, prices: Prices, *, largest: bool = False) -> None:
        self.largest, self._region, self._prices = largest, region, prices
        self._points: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._ends: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        """The first and the last value of a column that each row may reach, and their places, (n, 2) each."""
        for j in region.schema.free_columns.tolist():
            if region.schema.features[j].numeric:
                low, high, step = region.low[:, j], region.high[:, j], region.schema.features[j].step
                ends = np.column_stack((snapped(low, step, low, high), snapped(high, step, low, high)))
                self._ends[j] = ends, prices.places(j, ends.ravel()).reshape(ends.shape)
                self._points[j] = grid.points[j], prices.places(j, grid.points[j])

    def program(self, i: int, score: LinearScore, need: float) -> Program:
        """The program of row i, which lacks `need` in score."""
        region = self._region
        single = {j: self._single(i, j, score) for j in region.schema.free_columns.tolist() if not region.frozen[i, j]}
        choices, exact = [], True
        for columns, computed in self._ties(score):
            members = [single.pop(j) for j in columns if j in single]
            if math.prod(map(len, members)) <= _MOST_JOINT:
                choices += [self._joint(i, members, computed, score)] if members else []
            else:
                choices += [self._joint(i, [member], computed, score) for member in members]
                exact = False
        return Program([*choices, *single.values()], need, int(region.max_changes[i]), exact=exact)

    def _ties(self, score: LinearScore) -> list[tuple[list[int], list[int]]]:
        """Columns that others are computed from, and these others, where they cost or gain something."""
        region, inputs = self._region, dict[int, set[int]]()
        ties: list[tuple[set[int], list[int]]] = []
        for one in region.book.derivations:
            j = one.column
            inputs[j] = set().union(*(inputs.get(k, {k}) for k in one.inputs))
            if one.follows or score.slopes[j] or not region.schema.features[j].numeric:
                touching = [tie for tie in ties if tie[0] & inputs[j]]
                ties = [tie for tie in ties if not tie[0] & inputs[j]]
                computed = [k for tie in touching for k in tie[1]]
                ties.append((inputs[j].union(*(tie[0] for tie in touching)), [*computed, j]))
        return [(sorted(columns), computed) for columns, computed in ties]

    def _single(self, i: int, j: int, score: LinearScore) -> Choices:
        """Staying, and every other cell that column j of row i may hold."""
        before = self._region.factuals[[i], j]
        cells, places = self._cells(i, j)
        other = cells != before
        cells, places = np.append(before, cells[other]), places[other]
        price = self._price(j, before, cells[1:], self._prices.places(j, before), places)
        cost = np.append(0.0, price * self._region.cost[i, j] + _PER_CHANGE)
        weight = score.weight(j, cells)
        gain = np.append(0.0, np.nan_to_num(weight[1:] - weight[0], nan=-np.inf))
        moved = np.arange(len(cells))[:, None] > 0
        return Choices(np.array([j]), cells[:, None], moved, cost, gain, self._exhaustive(i, j, cells))

    def _cells(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """The cells that column j of row i may hold, and their places; its own may be among them."""
        region, feature = self._region, self._region.schema.features[j]
        if not feature.numeric:
            levels = np.flatnonzero(region.levels(j)[i]).astype(np.float64)
            return levels, self._prices.places(j, levels)
        codes = np.array(list(feature.special), dtype=np.float64)
        allowed = region.states[j][i] if len(codes) else np.ones(1, dtype=bool)
        values, found = np.empty(0), np.empty(0)
        if allowed[-1]:
            (points, places), (ends, ends_places) = self._points[j], self._ends[j]
            first, last = np.searchsorted(points, region.low[i, j]), np.searchsorted(points, region.high[i, j], "right")
            values, at = np.unique(np.append(points[first:last], ends[i]), return_index=True)
            found = np.append(places[first:last], ends_places[i])[at]
            kept = np.isfinite(values) & (values != on_grid(region.factuals[[i], j], feature.step)[0])
            kept &= ~np.isin(values, codes)
            values, found = values[kept], found[kept]
        codes = codes[allowed[:-1]]
        return np.append(values, codes), np.append(found, self._prices.places(j, codes))

    def _exhaustive(self, i: int, j: int, cells: np.ndarray) -> bool:
        """Whether these cells are all that column j of row i may hold, not only those on the grid."""
        feature = self._region.schema.features[j]
        if not feature.numeric or feature.step is None:
            return not feature.numeric
        low, high = self._region.low[i, j], self._region.high[i, j]
        number = np.floor(high / feature.step) - np.ceil(low / feature.step) + 1
        return bool(ordinary(feature, cells).sum() >= number)

    def _joint(self, i: int, members: list[Choices], computed: list[int], score: LinearScore) -> Choices:
        """All joint actions of features, with the cost and gain of the columns that are computed from them."""
        region, columns = self._region, np.concatenate([member.columns for member in members])
        picks = np.indices([len(member) for member in members]).reshape(len(members), -1)
        joint = [member.where(pick) for member, pick in zip(members, picks, strict=True)]
        cells = np.column_stack([part.cells for part in joint])
        owners = np.full(len(cells), i)
        rows = region.start[owners]
        rows[:, columns] = cells
        rows = region.derived(rows, region.factuals[owners])
        cost = np.column_stack((*(part.cost for part in joint), self.costs(rows, owners)[:, computed]))
        gain = np.sum([part.gain for part in joint], axis=0)
        for j in computed:
            gain += np.nan_to_num(score.weight(j, rows[:, j]) - score.weight(j, region.start[[i], j]), nan=-np.inf)
        exhaustive = all(member.exhaustive for member in members)
        return Choices(
            columns, cells, np.column_stack([part.moved for part in joint]), self._total(cost), gain, exhaustive
        )

    def _price(
        self, j: int, own: np.ndarray, cells: np.ndarray, own_places: np.ndarray, places: np.ndarray
    ) -> np.ndarray:
        """What changes of column j cost, but for the feature's weight."""
        price = np.abs(places - own_places)
        switches = np.isnan(price)
        return np.where(switches, self._prices.switch(j, own, cells), price) if switches.any() else price

    def costs(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each cell of each row costs, (m, d); 0 where it stays."""
        own, costs = self._region.factuals[owners], np.zeros(rows.shape)
        changed = self._region.changed(rows, owners)
        for j in np.flatnonzero(changed.any(axis=0)).tolist():
            at = np.flatnonzero(changed[:, j])
            before, after = own[at, j], rows[at, j]
            price = self._price(j, before, after, self._prices.places(j, before), self._prices.places(j, after))
            costs[at, j] = price * self._region.cost[owners[at], j]
        return costs

    def cost(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each row costs, (m,): the largest of its cells' costs, or their sum."""
        return self._total(self.costs(rows, owners))

    def _total(self, costs: np.ndarray) -> np.ndarray:
        return np.asarray(costs.max(axis=1, initial=0.0) if self.largest else costs.sum(axis=1))
