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
        inputs = {j for one in region.book.derivations for j in one.inputs}
        self._sources = sorted(inputs - set(self._derived))

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
        at_once = max(_CELLS // max(2 * rows.size, 1), 1)
        for start in range(0, len(self._sources), at_once):
            columns = np.array(self._sources[start : start + at_once])
            step = _DIFFERENCE * self._unit[columns]
            moved = np.repeat(rows[None], 2 * len(columns), axis=0)
            moved[np.arange(2 * len(columns)), :, np.tile(columns, 2)] += np.append(step, -step)[:, None]
            whose = np.tile(owners, 2 * len(columns))
            moved = self._region.book.derive(moved.reshape(-1, rows.shape[1]), self._region.factuals[whose])
            above, below = moved[:, self._derived].reshape(2, len(columns), len(rows), len(self._derived))
            change = ((above - below) * gradient[:, self._derived]).sum(axis=2) / (2 * step[:, None])
            extra[:, columns] = np.where(np.isfinite(change), change, 0.0).T
        return extra


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
