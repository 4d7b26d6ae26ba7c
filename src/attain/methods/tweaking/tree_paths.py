"""The ways into the leaves of a tree ensemble, in the table's own columns and units."""

from __future__ import annotations

import numpy as np

from attain.methods.search.moves import SWITCH, Scale
from attain.models.structure.trees import Ensemble, boxes
from attain.population.percentiles import Percentiles
from attain.schema import Feature
from attain.tables import Region, ordinary


class Paths:
    """For every leaf, what each column of the table must be to get there; and how to get there from a record.

    Attributes
    ----------
    boxes
        The leaves over the trees' columns.
    low, high
        Over the table's columns of numbers: above `low`, at most `high`, (L, d); empty where low is not below high.
    levels
        Per column of levels, which of them lead to the leaf, (L, K); only levels that the training data have.
    """

    def __init__(self, ensemble: Ensemble, scale: Scale, percentiles: Percentiles, epsilon: float) -> None:
        self.ensemble, self.boxes = ensemble, boxes(ensemble.nodes)
        self._scale, self._percentiles = scale, percentiles
        self._step_over = epsilon * scale.spread
        used = self.boxes.used
        self._constant = used[ensemble.sources[used] < 0]
        sources = ensemble.sources[used]
        self._columns = {int(j): used[sources == j] for j in np.unique(sources) if j >= 0}
        shape = (len(self.boxes.leaf), len(ensemble.schema))
        self.low, self.high = np.full(shape, -np.inf), np.full(shape, np.inf)
        self.levels: dict[int, np.ndarray] = {}
        for j, encoded in self._columns.items():
            if ensemble.schema.features[j].numeric:
                self._intervals(j, encoded)
            else:
                self.levels[j] = self._leading_levels(j, encoded)

    def _intervals(self, j: int, encoded: np.ndarray) -> None:
        """Intersects the conditions on all columns that come from column j, in its own units."""
        for e in encoded:
            intercept, slope = self.ensemble.number_map(j, e)
            low, high, _ = self.boxes.interval(e)
            if slope == 0:
                # such as a mark for missing cells: every number looks the same there
                never = ~self.boxes.holds(np.full(len(low), intercept), e)
                self.low[never, j] = np.inf
                continue
            low, high = (low - intercept) / slope, (high - intercept) / slope
            if slope < 0:
                low, high = np.nextafter(high, -np.inf), np.nextafter(low, -np.inf)
            self.low[:, j] = np.maximum(self.low[:, j], low)
            self.high[:, j] = np.minimum(self.high[:, j], high)

    def _leading_levels(self, j: int, encoded: np.ndarray) -> np.ndarray:
        images = self.ensemble.encoded_levels(j)
        allowed = np.zeros((len(self.low), len(images)), dtype=bool)
        allowed[:, np.unique(self._scale.pools[j]).astype(np.intp)] = True
        for e in encoded:
            allowed &= self.boxes.holds(images[:, e, None], e).T
        return allowed

    def costs(self, starts: np.ndarray, encoded: np.ndarray, region: Region, measure: str) -> np.ndarray:
        """The least cost from each start into each leaf, (n, L); infinite where the rules forbid it.

        `measure` is how changes are weighed: `euclidean`, `changes` or `total_shift`. Rounding to the grid comes later.
        """
        cost = np.zeros((len(starts), len(self.low)))
        for e in self._constant:
            cost[~self.boxes.holds(encoded[:, e, None], e)] = np.inf
        for j, columns in self._columns.items():
            outside = np.zeros(cost.shape, dtype=bool)
            for e in columns:
                outside |= ~self.boxes.holds(encoded[:, e, None], e)
            move = self._number_moves if self.ensemble.schema.features[j].numeric else self._level_moves
            size, possible = move(j, starts[:, j], region, measure)
            possible = possible & ~region.frozen[:, j, None]
            paid = size**2 if measure == "euclidean" else np.ones_like(size) if measure == "changes" else size
            cost += np.where(outside, np.where(possible, paid, np.inf), 0.0)
        cost[cost == 0] = np.inf  # in that leaf already
        return np.sqrt(cost) if measure == "euclidean" else cost

    def _number_moves(self, j: int, own: np.ndarray, region: Region, measure: str) -> tuple[np.ndarray, np.ndarray]:
        feature = self.ensemble.schema.features[j]
        low, high = self.low[:, j], self.high[:, j]
        possible = (low < high) & (low < region.high[:, j, None]) & (high >= region.low[:, j, None])
        on_scale = ordinary(feature, own)
        if feature.special:
            possible &= region.states[j][:, -1:]
        if measure == "total_shift":
            ends = np.clip(np.stack((low, high)), *_finite(self._scale.pools[j]))
            low, high = (self._percentiles.interpolated(end[:, None], [j])[:, 0] for end in ends)
            own, unit = self._percentiles.interpolated(own[:, None], [j])[:, 0], 1.0
        else:
            unit = self._scale.spread[j]
        with np.errstate(invalid="ignore"):
            size = np.maximum(np.maximum(low - own[:, None], own[:, None] - high), 0.0) / unit
        other = 1.0 if measure == "total_shift" else SWITCH
        return np.where(on_scale[:, None] & ~np.isnan(size), size, other), possible

    def _level_moves(self, j: int, own: np.ndarray, region: Region, measure: str) -> tuple[np.ndarray, np.ndarray]:
        feature, leading = self.ensemble.schema.features[j], self.levels[j]
        possible = region.levels(j).astype(np.float32) @ leading.T.astype(np.float32) > 0
        if not feature.ordered:
            return np.full(possible.shape, 1.0 if measure == "total_shift" else SWITCH), possible
        owns, which = np.unique(own, return_inverse=True)
        apart = np.where(leading, self._level_distances(j, owns, measure)[:, None, :], np.inf).min(axis=2)
        return np.where(np.isfinite(apart), apart, 0.0)[which], possible

    def _level_distances(self, j: int, own: np.ndarray, measure: str) -> np.ndarray:
        """How far each ordered level is from each row's own, (n, K)."""
        places = np.arange(self.levels[j].shape[1], dtype=np.float64)
        if measure == "total_shift":
            places = self._percentiles.interpolated(places[:, None], [j])[:, 0]
            own, unit = self._percentiles.interpolated(own[:, None], [j])[:, 0], 1.0
        else:
            unit = self._scale.spread[j]
        distance = np.abs(places - own[:, None]) / unit
        return np.where(np.isnan(distance), 1.0 if measure == "total_shift" else SWITCH, distance)

    def tweaked(
        self, starts: np.ndarray, encoded: np.ndarray, leaves: np.ndarray, region: Region, owners: np.ndarray
    ) -> np.ndarray:
        """Each start with the least changes that lead into its leaf: ε-satisfactory, on the grid, within the rules.

        Entry i belongs to `owners[i]`, and goes from `starts[i]` to leaf `leaves[i]`.
        """
        rows = starts.copy()
        for j, columns in self._columns.items():
            outside = np.zeros(len(rows), dtype=bool)
            for e in columns:
                outside |= ~self.boxes.holds(encoded[:, e], e, leaves)
            at = np.flatnonzero(outside)
            if not at.size:
                continue
            if self.ensemble.schema.features[j].numeric:
                rows[at, j] = self._numbers(j, starts[at, j], leaves[at], region, owners[at])
            else:
                rows[at, j] = self._nearest_level(j, starts[at, j], leaves[at], region, owners[at])
        return rows

    def _numbers(self, j: int, own: np.ndarray, leaves: np.ndarray, region: Region, owners: np.ndarray) -> np.ndarray:
        feature = self.ensemble.schema.features[j]
        low = np.maximum(self.low[leaves, j], np.nextafter(region.low[owners, j], -np.inf))
        high = np.minimum(self.high[leaves, j], region.high[owners, j])
        pool, step_over = self._scale.pools[j], self._step_over[j]
        # a special code or missing cell starts at the median
        middle = pool[len(pool) // 2] if len(pool) else 0.0
        start = np.where(ordinary(feature, own), own, middle)
        return outward(start, low, high, step_over, feature)

    def _nearest_level(
        self, j: int, own: np.ndarray, leaves: np.ndarray, region: Region, owners: np.ndarray
    ) -> np.ndarray:
        """The nearest level that leads to the leaf and is allowed; without an order, the most frequent one."""
        allowed = self.levels[j][leaves] & region.levels(j)[owners]
        if self.ensemble.schema.features[j].ordered:
            distance = self._level_distances(j, own, "euclidean")
        else:
            frequency = np.bincount(self._scale.pools[j].astype(np.intp), minlength=allowed.shape[1])
            distance = np.broadcast_to(-frequency.astype(np.float64), allowed.shape)
        best = np.where(allowed, distance, np.inf).argmin(axis=1)
        return np.where(allowed.any(axis=1), best, own)


def outward(own: np.ndarray, low: np.ndarray, high: np.ndarray, step_over: float, feature: Feature) -> np.ndarray:
    """The value in (low, high] that lies `step_over` beyond the end nearest to the own value, and on the grid.

    In an interval narrower than twice that, its middle. A grid value is taken farther from the own one, unless that
    leaves the interval; NaN where no grid value lies in it.
    """
    with np.errstate(invalid="ignore"):
        up = own <= low
        middle = low + (high - low) / 2
        narrow = high - low < 2 * step_over
        value = np.where(narrow, middle, np.where(up, low + step_over, np.where(own > high, high - step_over, own)))
        if feature.step is None:
            return np.where(low < high, value, np.nan)
        step = feature.step
        places = value / step
        rounded = np.where(up, np.ceil(places - 1e-9), np.floor(places + 1e-9)) * step
        first, last = (np.floor(low / step + 1e-9) + 1) * step, np.floor(high / step + 1e-9) * step
        rounded = np.where(rounded > high, last, np.where(rounded <= low, first, rounded))
        return np.where((rounded > low) & (rounded <= high), rounded, np.nan)


def _finite(cells: np.ndarray) -> tuple[float, float]:
    return (float(cells[0]), float(cells[-1])) if len(cells) else (0.0, 0.0)
