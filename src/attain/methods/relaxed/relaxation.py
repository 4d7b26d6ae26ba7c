"""Moves along the scales of a row as continuous variables, with what follows from them, and the score's slope."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from attain.methods.search.costs import Costs
from attain.models.structure.smooth import Smooth
from attain.tables import Region

_DIFFERENCE = 1e-5
"""The step, in units, of the differences by which derived columns are differentiated."""
_CELLS = 2_000_000
"""The most cells of rows that are moved at once."""


class Followers(Protocol):
    """k columns whose values follow from the others.

    Attributes
    ----------
    columns
        Which they are, (k,).
    """

    columns: np.ndarray

    def follow(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Writes these columns into the rows (m, d); returns their slopes in each cell, (m, k, d)."""
        ...


class Relaxation:
    """The score of moves t (m, d) from the rows of `base` (n, d): s(x + u t), and its gradient in t.

    `unit` is u, (d,). Ordered cells take any value in between. Followers come next, then derived columns by their
    expressions; the gradient goes through both.
    """

    def __init__(
        self, smooth: Smooth, region: Region, base: np.ndarray, unit: np.ndarray, followers: Followers | None = None
    ) -> None:
        self._smooth = smooth
        self._region = region
        self._base = base
        self._unit = unit
        self._followers = followers
        self._derived = [one.column for one in region.book.derivations]
        self._sources, self._moves, self._batch = region.book.sources

    def rows(self, moves: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The rows after the moves, with what follows from them; not yet in final form."""
        return self._followed(moves, owners)[0]

    def _followed(self, moves: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The rows, and the slopes of the followers."""
        rows = self._base[owners] + moves * self._unit
        slopes = None if self._followers is None else self._followers.follow(rows, owners)
        return self._region.book.derive(rows, self._region.factuals[owners]), slopes

    def slope(self, moves: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The score of each move, (m,), and its gradient in the moves, (m, d)."""
        rows, slopes = self._followed(moves, owners)
        score, gradient = self._smooth.slope(rows)
        gradient = gradient + self._through_derived(rows, gradient, owners)
        if slopes is not None and self._followers is not None:
            gradient = gradient + (gradient[:, self._followers.columns, None] * slopes).sum(axis=1)
        return score, gradient * self._unit

    def _through_derived(self, rows: np.ndarray, gradient: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Σ_k ∂s/∂x_k · ∂x_k/∂x_j over derived columns k, (m, d), by central differences of their expressions."""
        extra = np.zeros(rows.shape)
        if not self._sources.size:
            return extra
        change = self._changes(rows, owners) * gradient[:, self._derived]
        change = np.where(np.isfinite(change), change, 0.0)
        at_once = max(_CELLS // max(change[0].size, 1), 1)
        for start in range(0, len(self._sources), at_once):
            some = slice(start, start + at_once)
            columns = self._sources[some]
            own = np.where(self._moves[some, None], change[self._batch[some]], 0.0).sum(axis=2)
            extra[:, columns] = (own / (2 * _DIFFERENCE * self._unit[columns, None])).T
        return extra

    def _changes(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """x_k with a step up of the sources of each batch, less x_k with a step down, (b, m, k)."""
        batches = np.arange(self._batch.max() + 1)
        step = np.zeros((len(batches), rows.shape[1]))
        step[self._batch, self._sources] = _DIFFERENCE * self._unit[self._sources]
        found = []
        at_once = max(_CELLS // max(2 * rows.size, 1), 1)
        for start in range(0, len(batches), at_once):
            part = step[start : start + at_once, None]
            moved = np.concatenate((rows + part, rows - part))
            whose = np.tile(owners, len(moved))
            moved = self._region.book.derive(moved.reshape(-1, rows.shape[1]), self._region.factuals[whose])
            above, below = moved[:, self._derived].reshape(2, len(part), len(rows), len(self._derived))
            found.append(above - below)
        return np.concatenate(found)


def roundings(rows: np.ndarray, owners: np.ndarray, region: Region) -> tuple[np.ndarray, np.ndarray]:
    """Each relaxed row put on the grid in three ways, in final form: to the nearest value, outward and inward.

    Outward goes beyond what the relaxation asked for, so that the decision stays flipped; inward stays within its cost.
    """
    own = region.factuals[owners]
    outward, inward = rows.copy(), rows.copy()
    for j in region.schema.free_columns:
        feature = region.schema.features[j]
        step = feature.step if feature.numeric else (1.0 if feature.ordered else None)
        if step is None:
            continue
        places = rows[:, j] / step
        moved = np.abs(rows[:, j] - own[:, j]) > 1e-3 * step
        near = np.rint(places)
        exact = np.abs(places - near) < 1e-6
        up, down = np.where(exact, near, np.ceil(places)) * step, np.where(exact, near, np.floor(places)) * step
        rises = rows[:, j] > own[:, j]
        outward[:, j] = np.where(moved, np.where(rises, up, down), own[:, j])
        inward[:, j] = np.where(moved, np.where(rises, down, up), own[:, j])
    owners = np.tile(owners, 3)
    return region.final_form(np.concatenate((rows, outward, inward)), owners), owners


def switched(
    owners: np.ndarray,
    smooth: Smooth,
    region: Region,
    costs: Costs,
    switches: tuple[np.ndarray, np.ndarray, np.ndarray],
    limit: float,
) -> np.ndarray:
    """All rows (n, d), those of `owners` with the switches of state that raise the score, within `limit` and the rules.

    The most gain per cost first; at most one switch per cell.
    """
    base = region.factuals.copy()
    whose, columns, values = (part[np.isin(switches[0], owners)] for part in switches)
    if not len(whose):
        return base
    rows = region.factuals[whose]
    rows[np.arange(len(rows)), columns] = values
    rows = region.final_form(rows, whose)
    gain = smooth.score(rows) - smooth.score(region.factuals)[whose]
    cost = costs.of(rows, whose)
    order = np.lexsort((-gain / np.maximum(cost, 1e-9), whose))
    left, room = np.full(len(region), limit), region.max_changes.copy()
    done: set[tuple[int, int]] = set()
    for i in order[gain[order] > 0]:
        cell = int(whose[i]), int(columns[i])
        if cell not in done and cost[i] <= left[whose[i]] and room[whose[i]] > 0:
            base[cell] = values[i]
            left[whose[i]] -= cost[i]
            room[whose[i]] -= 1
            done.add(cell)
    return base
