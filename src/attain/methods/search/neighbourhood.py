"""Records one move away from others: one cell moved or switched, a change taken back, one change paid for another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from attain.methods.search.costs import Costs, switches
from attain.tables import Region, ordinary

_SHARES = np.array([2.0**-k for k in range(1, 6)])
_LEFT = (0.5, 0.75, 0.9)
"""How much of a change is left when it is taken back in part."""

Near: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Records (k, d), and of which row each is a neighbour, (k,)."""


class Neighbourhood:
    """The neighbours of rows (m, d) with owners (m,), within limits and on the grid, but not in final form."""

    def __init__(self, region: Region, costs: Costs, pools: list[np.ndarray]) -> None:
        self._region = region
        self._costs = costs
        self._switches = switches(region, pools)
        self._first = np.searchsorted(self._switches[0], np.arange(len(region) + 1))
        steps = [feature.step if feature.numeric else 1.0 for feature in region.schema]
        self._steps = np.array([np.nan if step is None else step for step in steps])

    def around(self, rows: np.ndarray, owners: np.ndarray) -> Near:
        """One cell moved up or down by a half to a 32nd of a unit, or switched into another state."""
        at, columns = np.nonzero(self._on_scale(rows, owners))
        moves = np.concatenate((-_SHARES, _SHARES[::-1])) * self._costs.unit[columns, None]
        here = rows[at, columns][:, None]
        values = self._limited(here + moves, owners[at], columns)
        fresh = (values != here) & np.diff(values, axis=1, prepend=np.nan).astype(bool)
        pair, which = np.nonzero(fresh)
        moved = _with_cell(rows, at[pair], columns[pair], values[pair, which])
        switched, parents = self._switched(rows, owners)
        return np.concatenate((moved, switched)), np.concatenate((at[pair], parents))

    def back(self, rows: np.ndarray, owners: np.ndarray) -> Near:
        """One change taken back: wholly, or in part where it is a move along a scale."""
        own = self._region.factuals[owners]
        changed = self._region.changed(rows, owners)
        at, columns = np.nonzero(changed)
        parts, parents = [_with_cell(rows, at, columns, own[at, columns])], [at]
        at, columns = np.nonzero(changed & self._on_scale(rows, owners))
        move = rows[at, columns] - own[at, columns]
        trials = [own[at, columns] + left * move for left in _LEFT]
        # one grid step back is the smallest move there is
        trials.append(rows[at, columns] - np.sign(move) * np.nan_to_num(self._steps[columns]))
        for values in trials:
            moved, some = self._moved(rows, at, columns, values, owners)
            parts.append(moved)
            parents.append(at[some])
        return np.concatenate(parts), np.concatenate(parents)

    def exchanges(self, rows: np.ndarray, owners: np.ndarray, shares: Sequence[float]) -> Near:
        """One change taken back, wholly or by half, and shares of what that frees spent on another cell instead.

        The other cell moves up or down, or into another state.
        """
        lighter, old, parents = self._lightened(rows, owners)
        owners_of = owners[parents]
        freed = self._costs.of(rows, owners)[parents] - self._costs.of(lighter, owners_of)
        at, new = np.nonzero(self._on_scale(lighter, owners_of) & (freed > 0)[:, None])
        apart = old[at] != new
        at, new = at[apart], new[apart]
        switched, switched_at = self._switched(lighter, owners_of)
        parts, origins = [switched], [switched_at]
        here = lighter[at, new]
        for sign, price in ((1.0, self._costs.rise), (-1.0, self._costs.fall)):
            paid = np.maximum(price[owners_of[at], new], 1e-9)
            for share in shares:
                values = here + sign * share * freed[at] / paid * self._costs.unit[new]
                moved, some = self._moved(lighter, at, new, values, owners_of)
                parts.append(moved)
                origins.append(at[some])
        return np.concatenate(parts), parents[np.concatenate(origins)]

    def _lightened(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows with one change taken back, wholly or by half; in which column, and of which row."""
        own, changed = self._region.factuals[owners], self._region.changed(rows, owners)
        at, columns = np.nonzero(changed)
        whole = _with_cell(rows, at, columns, own[at, columns])
        half_at, half_columns = np.nonzero(changed & self._on_scale(rows, owners))
        here, there = own[half_at, half_columns], rows[half_at, half_columns]
        middle = self._limited((here + there)[:, None] / 2, owners[half_at], half_columns)[:, 0]
        some = np.flatnonzero((middle != there) & (middle != here))
        half_at, half_columns = half_at[some], half_columns[some]
        half = _with_cell(rows, half_at, half_columns, middle[some])
        return np.concatenate((whole, half)), np.concatenate((columns, half_columns)), np.concatenate((at, half_at))

    def _on_scale(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        on_scale = self._costs.slides[owners]
        for j, feature in enumerate(self._region.schema):
            if feature.special:
                on_scale[:, j] &= ordinary(feature, rows[:, j])
        return np.asarray(on_scale)

    def _moved(
        self, rows: np.ndarray, at: np.ndarray, columns: np.ndarray, values: np.ndarray, owners: np.ndarray
    ) -> Near:
        """The rows `at` with these values in these columns, where that is a change; and which entries those are."""
        values = self._limited(values[:, None], owners[at], columns)[:, 0]
        some = np.flatnonzero(values != rows[at, columns])
        return _with_cell(rows, at[some], columns[some], values[some]), some

    def _limited(self, values: np.ndarray, owners: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Values (k, t) within their owners' limits and on the grid of their column; each row is one cell's trials."""
        low, high = self._region.low[owners, columns, None], self._region.high[owners, columns, None]
        step = self._steps[columns, None]
        values = np.clip(values, low, high)
        return np.where(np.isnan(step), values, np.clip(np.rint(values / step) * step, low, high))

    def _switched(self, rows: np.ndarray, owners: np.ndarray) -> Near:
        _, columns, values = self._switches
        number = self._first[owners + 1] - self._first[owners]
        parents = np.repeat(np.arange(len(rows)), number)
        within = np.arange(len(parents)) - np.repeat(np.cumsum(number) - number, number)
        which = self._first[owners[parents]] + within
        new = np.flatnonzero(rows[parents, columns[which]] != values[which])
        which, parents = which[new], parents[new]
        return _with_cell(rows, parents, columns[which], values[which]), parents


def _with_cell(rows: np.ndarray, at: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    trial = rows[at]
    trial[np.arange(len(at)), columns] = values
    return np.asarray(trial)
