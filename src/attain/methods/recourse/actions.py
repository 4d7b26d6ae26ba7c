"""The actions of a row: for each free feature what each costs and gains.

An action a of feature j writes the cell v. For a linear score w and the percentile Q_j of the training rows,

    gain[a] = w_j(v) − w_j(x_j)        cost[a] = weight_j · |Q_j(v) − Q_j(x_j)| + 1e-9,

with weight_j the feature's cost, and 1 in place of the difference where v or x_j has no percentile. The first action of
a group is to stay: it costs and gains 0.

Features are groups of one, unless a column that costs or gains something is computed from several: these are one group,
whose joint actions are written out. Where they would be too many, the features stay apart, and a computed column counts
as if nothing else moved.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from attain.methods.recourse.program import Choices, Program, RecourseCost
from attain.models.structure.linear import LinearScore
from attain.population.percentiles import Percentiles
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
        self.n_rows = len(values)
        self.points = [
            _points(values[ordinary(feature, values[:, j]), j], feature.step, grid) if feature.numeric else np.empty(0)
            for j, feature in enumerate(schema)
        ]


def _points(known: np.ndarray, step: float | None, grid: str | int) -> np.ndarray:
    distinct = np.unique(known)
    if not len(distinct):
        return distinct
    if isinstance(grid, int):
        return np.unique(on_grid(np.linspace(distinct[0], distinct[-1], grid + 1), step))
    if grid == "observed":
        return np.unique(on_grid(distinct, step))
    far = np.full(len(distinct), math.inf)
    first = snapped(distinct, step, distinct, far)
    last = snapped(distinct, step, -far, np.nextafter(distinct, -math.inf))
    both = np.concatenate((first, last))
    return np.unique(both[np.isfinite(both)])


class Actions:
    """The actions of each row of a region, and its program for a score."""

    def __init__(self, region: Region, grid: ActionGrid, percentiles: Percentiles, cost: RecourseCost) -> None:
        self._region, self._grid, self._percentiles, self._kind = region, grid, percentiles, cost
        self._standing = percentiles.of(region.factuals)
        numeric = [int(j) for j in region.schema.free_columns if region.schema.features[j].numeric]
        self._points = {j: (grid.points[j], self._percentile(j, grid.points[j])) for j in numeric}
        self._ends = {j: self._ends_of(j) for j in numeric}

    def _percentile(self, j: int, cells: np.ndarray) -> np.ndarray:
        return self._percentiles.of(cells[:, None], [j])[:, 0]

    def _ends_of(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last value of column j that each row may reach, and their percentiles, (n, 2) each."""
        low, high, step = self._region.low[:, j], self._region.high[:, j], self._region.schema.features[j].step
        ends = np.column_stack((snapped(low, step, low, high), snapped(high, step, low, high)))
        return ends, self._percentile(j, ends.ravel()).reshape(ends.shape)

    def program(self, i: int, score: LinearScore, need: float) -> Program:
        """The program of row i, which lacks `need` in score."""
        region = self._region
        able = [int(j) for j in region.schema.free_columns if not region.frozen[i, j]]
        single = {j: self._single(i, j, score) for j in able}
        choices, exact = [], True
        for columns, computed in self._ties(score):
            members = [single.pop(j) for j in columns if j in single]
            if math.prod(len(some.cost) for some in members) <= _MOST_JOINT:
                choices += [self._joint(i, members, computed, score)] if members else []
            else:
                choices += [self._joint(i, [some], computed, score) for some in members]
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
        own = self._region.factuals[i, j]
        cells, standing = self._cells(i, j)
        other = cells != own
        cells, standing = np.append(own, cells[other]), standing[other]
        cost = np.append(0.0, self._way(self._standing[i, j], standing) * self._region.cost[i, j] + _PER_CHANGE)
        weight = score.weight(j, cells)
        gain = np.append(0.0, np.nan_to_num(weight[1:] - weight[0], nan=-np.inf))
        moved = np.arange(len(cells))[:, None] > 0
        return Choices(np.array([j]), cells[:, None], moved, cost, gain, self._exhaustive(i, j, cells))

    def _cells(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """The cells that column j of row i may hold, and their percentiles; its own may be among them."""
        region, feature = self._region, self._region.schema.features[j]
        if not feature.numeric:
            levels = np.flatnonzero(region.levels(j)[i]).astype(np.float64)
            return levels, self._percentile(j, levels)
        codes = np.array(list(feature.special), dtype=np.float64)
        allowed = region.states[j][i] if len(codes) else np.ones(1, dtype=bool)
        values, standing = np.empty(0), np.empty(0)
        if allowed[-1]:
            points, places = self._points[j]
            ends, ends_places = self._ends[j]
            first, last = np.searchsorted(points, region.low[i, j]), np.searchsorted(points, region.high[i, j], "right")
            values, at = np.unique(np.append(points[first:last], ends[i]), return_index=True)
            standing = np.append(places[first:last], ends_places[i])[at]
            kept = np.isfinite(values) & (values != on_grid(region.factuals[[i], j], feature.step)[0])
            kept &= ~np.isin(values, codes)
            values, standing = values[kept], standing[kept]
        codes = codes[allowed[:-1]]
        return np.append(values, codes), np.append(standing, self._percentile(j, codes))

    def _way(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """|after − before|, or the difference of log(1 − Q) for the local cost; 1 where one is not known."""
        if self._kind == "local":
            least = 0.5 / self._grid.n_rows
            way = np.abs(np.log(np.maximum(1 - before, least)) - np.log(np.maximum(1 - after, least)))
        else:
            way = np.abs(after - before)
        return np.asarray(np.where(np.isnan(way), 1.0, way))

    def costs(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each cell of each row costs, (m, d); 0 where it stays."""
        way = self._way(self._standing[owners], self._percentiles.of(rows)) * self._region.cost[owners]
        return np.where(self._region.changed(rows, owners), way, 0.0)

    def cost(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each row costs, (m,): the largest of its cells' costs, or their sum."""
        costs = self.costs(rows, owners)
        return np.asarray(costs.max(axis=1, initial=0.0) if self._kind == "max" else costs.sum(axis=1))

    def _joint(self, i: int, members: list[Choices], computed: list[int], score: LinearScore) -> Choices:
        """All joint actions of features, with the cost and gain of the columns that are computed from them."""
        region = self._region
        columns = np.concatenate([some.columns for some in members])
        picks = np.indices([len(some.cost) for some in members]).reshape(len(members), -1)
        cells = np.column_stack([some.cells[pick, 0] for some, pick in zip(members, picks, strict=True)])
        owners = np.full(len(cells), i)
        own = region.start[owners]
        rows = own.copy()
        rows[:, columns] = cells
        rows = region.derived(rows, region.factuals[owners])
        parts = [some.cost[pick] for some, pick in zip(members, picks, strict=True)]
        cost = np.column_stack((*parts, self.costs(rows, owners)[:, computed]))
        gain = np.sum([some.gain[pick] for some, pick in zip(members, picks, strict=True)], axis=0)
        for j in computed:
            gain += np.nan_to_num(score.weight(j, rows[:, j]) - score.weight(j, own[:1, j]), nan=-np.inf)
        return Choices(
            columns,
            cells,
            np.column_stack([some.moved[pick, 0] for some, pick in zip(members, picks, strict=True)]),
            cost.max(axis=1) if self._kind == "max" else cost.sum(axis=1),
            gain,
            all(some.exhaustive for some in members),
        )

    def _exhaustive(self, i: int, j: int, cells: np.ndarray) -> bool:
        """Whether these cells are all that column j of row i may hold, not only those on the grid."""
        feature = self._region.schema.features[j]
        if not feature.numeric or feature.step is None:
            return not feature.numeric
        low, high = self._region.low[i, j], self._region.high[i, j]
        number = np.floor(high / feature.step) - np.ceil(low / feature.step) + 1
        return bool(ordinary(feature, cells).sum() >= number)
