"""The guard for many candidates of each row: fast, because only real rows near that row are looked at.

Neighbours of a candidate x are searched in a shortlist: the s real rows nearest to its owner, and the s nearest to the
owner's cheapest start that passes the guard. Its distances to neighbours can therefore only be too large, never too
small. The final answers are put to the guard itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attain.methods.guarded.settings import GuardedSettings
from attain.methods.search.pool import rank_within
from attain.population.guard import Guard, Limits
from attain.population.reference import Reference

_OUT_OF_REACH = 1e30
"""A squared length that puts the second copy of a real row on a shortlist beyond all others."""


@dataclass(frozen=True)
class Shortlist:
    """For each of n rows, s real rows.

    Attributes
    ----------
    centre
        The point of the row itself, (n, D). Other points are relative to it: far from the origin, single precision
        would lose what is near.
    indices
        The positions of the real rows, (n, s).
    points, squares
        Their points (n, s, D) and squared lengths (n, s), in single precision.
    copies
        What is added to the squared distance of each, (n, s): not 0 for the second copy of a real row.
    """

    centre: np.ndarray
    indices: np.ndarray
    points: np.ndarray
    squares: np.ndarray
    copies: np.ndarray

    @classmethod
    def around(cls, reference: Reference, places: np.ndarray, size: int) -> Shortlist:
        """The real rows nearest to each of the places (n, places, D), the first of which is the row's own point."""
        size = min(size, len(reference))
        found = reference.index.query(places.reshape(-1, places.shape[2]), size)[1]
        indices = np.sort(found.reshape(len(places), -1), axis=1)
        centre = places[:, 0]
        points = (reference.points[indices] - centre[:, None]).astype(np.float32)
        copies = np.zeros(indices.shape, dtype=np.float32)
        copies[:, 1:][indices[:, 1:] == indices[:, :-1]] = _OUT_OF_REACH
        return cls(centre, indices, points, (points**2).sum(axis=2) + copies, copies)

    def squared(self, points: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Squared distances (tiles, tile, s) of tiles of points (tiles, tile, D) to the shortlists of their owners."""
        products = np.matmul(points, self.points[owners].transpose(0, 2, 1))
        squares = (points**2).sum(axis=2)[:, :, None] + self.squares[owners][:, None, :] - 2 * products
        return np.maximum(squares, np.float32(0.0))


def squared_distances(points: np.ndarray, others: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Squared distances (n, m), one dimension after the other, so that none depends on the rest of the batch.

    `weights` (n, D) are those of each dimension for each point.
    """
    total = np.zeros((len(points), len(others)), dtype=points.dtype)
    for dimension in range(points.shape[1]):
        if weights is not None and not weights[:, dimension].any():
            continue
        apart = (points[:, dimension, None] - others[None, :, dimension]) ** 2
        total += apart if weights is None else apart * weights[:, dimension, None]
    return total


class LocalGuard:
    """The guard near each row of a batch; `places` (n, places, D) are those that shortlists are drawn around."""

    def __init__(self, guard: Guard, places: np.ndarray, settings: GuardedSettings) -> None:
        self._reference, self._settings = guard.reference, settings
        self._crowd = Shortlist.around(guard.crowd, places, settings.shortlist)
        same = guard.reference is guard.crowd
        self._known = self._crowd if same else Shortlist.around(guard.reference, places, settings.shortlist)
        self._parts = guard.local_densities
        self._reach = np.stack([part.reach for part in self._parts]).astype(np.float32)
        self._density = np.stack([part.density for part in self._parts]).astype(np.float32)

    def excess(self, rows: np.ndarray, owners: np.ndarray, limits: list[Limits], which: np.ndarray) -> np.ndarray:
        """By how much each row exceeds its limits, (n,); 0 where it keeps them all. `which` (n,) are its limits.

        Σ_k log⁺(factor_k / limit_k) + 2 log⁺(distance / limit). The density is computed later, for the best only.
        """
        factors, distance = self._position(rows, owners)
        largest = np.array([limit.factors for limit in limits])[which]
        reach = np.array([limit.distance for limit in limits])[which]
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.log(np.maximum(factors / largest, 1.0)).sum(axis=1)
            over += 2 * np.log(np.maximum(np.where(np.isinf(reach), 0.0, distance / reach), 1.0))
        return np.round(over, 5)

    def nearest(self, rows: np.ndarray, owners: np.ndarray, n: int) -> np.ndarray:
        """The n real rows nearest to each row, by the shortlists, (rows, n, d)."""
        n = min(n, self._known.indices.shape[1])
        points = self._reference.space.transform(rows) - self._known.centre[owners]
        found = np.empty((len(rows), n), dtype=np.intp)
        size = self._settings.tiles_at_once
        for part in (slice(start, start + size) for start in range(0, len(rows), size)):
            near = self._known.points[owners[part]]
            squared = ((near - points[part, None]) ** 2).sum(axis=2) + self._known.copies[owners[part]]
            order = np.argsort(squared, axis=1, kind="stable")[:, :n]
            found[part] = np.take_along_axis(self._known.indices[owners[part]], order, axis=1)
        return self._reference.values[found]

    def _position(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outlier factors (n, sizes) and nearest distances (n,), by the shortlists.

        A matrix product may round differently for another number of rows. So the candidates of each owner are put into
        tiles of one size, padded with zeros: no figure depends on other owners.
        """
        size, most = self._settings.tile, self._settings.tiles_at_once
        order = np.argsort(owners, kind="stable")
        rank = rank_within(owners[order])
        starts = np.flatnonzero(rank % size == 0)
        tile = np.cumsum(rank % size == 0) - 1
        points = self._reference.space.transform(rows) - self._crowd.centre[owners]
        padded = np.zeros((len(starts), size, points.shape[1]), dtype=np.float32)
        padded[tile, rank % size] = points[order]
        tile_owners = owners[order[starts]]
        factors, nearest = np.empty((len(rows), len(self._parts))), np.empty(len(rows))
        for first in range(0, len(starts), most):
            part = slice(first, first + most)
            real = np.flatnonzero((tile >= first) & (tile < first + most))
            place = (tile[real] - first, rank[real] % size)
            found = self._tiles(padded[part], tile_owners[part], place, owners[order[real]])
            factors[order[real]], nearest[order[real]] = found
        return factors, nearest

    def _tiles(
        self, points: np.ndarray, tile_owners: np.ndarray, place: tuple[np.ndarray, np.ndarray], owners: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Factors and nearest distances of the points at some places of the tiles; the others are padding."""
        squared = self._crowd.squared(points, tile_owners)[place]
        widest = max(part.k for part in self._parts)
        chosen = np.argpartition(squared, widest - 1, axis=1)[:, :widest]
        near = np.take_along_axis(squared, chosen, axis=1)
        order = np.argsort(near, axis=1, kind="stable")
        distances = np.sqrt(np.take_along_axis(near, order, axis=1))
        indices = self._crowd.indices[owners[:, None], np.take_along_axis(chosen, order, axis=1)]
        factors = np.empty((len(owners), len(self._parts)))
        for i, part in enumerate(self._parts):
            neighbours = indices[:, : part.k]
            reached = np.maximum(distances[:, : part.k], self._reach[i][neighbours]).mean(axis=1) + 1e-10
            factors[:, i] = self._density[i][neighbours].mean(axis=1) * reached
        if self._known is self._crowd:
            return factors, distances[:, 0]
        return factors, np.sqrt(self._known.squared(points, tile_owners)[place].min(axis=1))
