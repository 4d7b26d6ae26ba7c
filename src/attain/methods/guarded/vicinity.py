"""The guard, asked about many candidates of each person: quickly, among the real people near that person.

A candidate's neighbours are looked for among a shortlist: the real people nearest to the person, and those nearest to
where the search is heading. So its distances can only come out too large, never too small. What the search ends with
is put to the guard itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from attain.methods.search.pool import rank_within
from attain.population.guard import Guard, Limits
from attain.population.reference import Reference

_SHORTLIST: Final = 160
"""Real people on a shortlist for each of the places it is drawn round."""
_NOBODY: Final = 1e30
"""A squared length that puts the second copy of a person on a shortlist out of everybody's reach."""
_TILE: Final = 16
_TILES_AT_ONCE: Final = 256
"""Candidates of one person are looked at in tiles of one size, so that their figures do not depend on others."""


@dataclass(frozen=True)
class Shortlist:
    """For each person, some of the real people: their positions (n, s), points (n, s, d) and squared lengths (n, s).

    Points are taken from the person's own (n, d): far from the origin, single precision would swallow what is near.
    """

    centre: np.ndarray
    who: np.ndarray
    points: np.ndarray
    squares: np.ndarray
    copies: np.ndarray

    @classmethod
    def round(cls, reference: Reference, places: np.ndarray) -> Shortlist:
        """The people nearest to each of the places (n, places, d), the first of which is the person's own."""
        number = min(_SHORTLIST, len(reference))
        near, others = places.astype(np.float32), reference.points.astype(np.float32)
        found = [_nearest(squared_distances(near[:, i], others), number) for i in range(places.shape[1])]
        who = np.sort(np.concatenate(found, axis=1), axis=1)
        centre = places[:, 0]
        points = (reference.points[who] - centre[:, None]).astype(np.float32)
        copies = np.zeros(who.shape, dtype=np.float32)
        copies[:, 1:][who[:, 1:] == who[:, :-1]] = _NOBODY
        return cls(centre, who, points, (points**2).sum(axis=2) + copies, copies)

    def squared(self, points: np.ndarray, people: np.ndarray) -> np.ndarray:
        """Squared distances (tiles, tile, s) of tiles of points (tiles, tile, d) to the shortlists of their people."""
        products = np.matmul(points, self.points[people].transpose(0, 2, 1))
        squares = (points**2).sum(axis=2)[:, :, None] + self.squares[people][:, None, :] - 2 * products
        return np.maximum(squares, np.float32(0.0))


def squared_distances(points: np.ndarray, others: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Squared distances (n, m), dimension by dimension, so that each is the same in any company.

    `weights` (n, d) says how much each dimension counts for each point.
    """
    total = np.zeros((len(points), len(others)), dtype=points.dtype)
    for dimension in range(points.shape[1]):
        apart = (points[:, dimension, None] - others[None, :, dimension]) ** 2
        total += apart if weights is None else apart * weights[:, dimension, None]
    return total


def _nearest(squared: np.ndarray, number: int) -> np.ndarray:
    """The positions of the smallest values of each row, in order of position."""
    if number >= squared.shape[1]:
        return np.broadcast_to(np.arange(squared.shape[1]), squared.shape).copy()
    return np.sort(np.argpartition(squared, number - 1, axis=1)[:, :number], axis=1)


class Vicinity:
    """The guard within reach of each person of a batch."""

    def __init__(self, guard: Guard, places: np.ndarray) -> None:
        self._guard = guard
        self._space = guard.people.space
        self._crowd = Shortlist.round(guard.crowd, places)
        self._people = self._crowd if guard.people is guard.crowd else Shortlist.round(guard.people, places)
        self._parts = guard.local_densities
        self._reach = np.stack([part.reach for part in self._parts]).astype(np.float32)
        self._density = np.stack([part.density for part in self._parts]).astype(np.float32)

    def excess(self, rows: np.ndarray, owners: np.ndarray, limits: list[Limits], level: np.ndarray) -> np.ndarray:
        """By how much, in logarithms, each row exceeds the limits of its level; 0 where it keeps them all.

        The autoencoder's density takes no part: it is asked about what the search ends with.
        """
        factors, distance = self._position(rows, owners)
        largest = np.array([limit.factors for limit in limits])[level]
        reach = np.array([limit.distance for limit in limits])[level]
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.log(np.maximum(factors / largest, 1.0)).sum(axis=1)
            over += 2 * np.log(np.maximum(np.where(np.isinf(reach), 0.0, distance / reach), 1.0))
        return np.round(over, 5)

    def nearest(self, rows: np.ndarray, owners: np.ndarray, number: int) -> np.ndarray:
        """The rows of the real people nearest to each row, (n, number, d), by the shortlists."""
        number = min(number, self._people.who.shape[1])
        points = self._space.transform(rows) - self._people.centre[owners]
        found = np.empty((len(rows), number), dtype=np.intp)
        for part in (slice(start, start + _TILES_AT_ONCE) for start in range(0, len(rows), _TILES_AT_ONCE)):
            near = self._people.points[owners[part]]
            squared = ((near - points[part, None]) ** 2).sum(axis=2) + self._people.copies[owners[part]]
            order = np.argsort(squared, axis=1, kind="stable")[:, :number]
            found[part] = np.take_along_axis(self._people.who[owners[part]], order, axis=1)
        return self._guard.people.values[found]

    def _position(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outlier factors (n, sizes) and nearest distances, by the shortlists."""
        order = np.argsort(owners, kind="stable")
        rank = rank_within(owners[order])
        starts = np.flatnonzero(rank % _TILE == 0)
        tile = np.cumsum(rank % _TILE == 0) - 1
        points = self._space.transform(rows) - self._crowd.centre[owners]
        padded = np.zeros((len(starts), _TILE, points.shape[1]), dtype=np.float32)
        padded[tile, rank % _TILE] = points[order]
        people = owners[order[starts]]
        factors, nearest = np.empty((len(rows), len(self._parts))), np.empty(len(rows))
        for first in range(0, len(starts), _TILES_AT_ONCE):
            part = slice(first, first + _TILES_AT_ONCE)
            real = np.flatnonzero((tile >= first) & (tile < first + _TILES_AT_ONCE))
            place = (tile[real] - first, rank[real] % _TILE)
            found = self._tiles(padded[part], people[part], place, owners[order[real]])
            factors[order[real]], nearest[order[real]] = found
        return factors, nearest

    def _tiles(
        self, points: np.ndarray, people: np.ndarray, place: tuple[np.ndarray, np.ndarray], owners: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Factors and nearest distances of the points at these places of the tiles; the others only pad them."""
        squared = self._crowd.squared(points, people)[place]
        widest = max(part.k for part in self._parts)
        chosen = np.argpartition(squared, widest - 1, axis=1)[:, :widest]
        near = np.take_along_axis(squared, chosen, axis=1)
        order = np.argsort(near, axis=1, kind="stable")
        distances = np.sqrt(np.take_along_axis(near, order, axis=1))
        who = self._crowd.who[owners[:, None], np.take_along_axis(chosen, order, axis=1)]
        factors = np.empty((len(owners), len(self._parts)))
        for i, part in enumerate(self._parts):
            neighbours = who[:, : part.k]
            reached = np.maximum(distances[:, : part.k], self._reach[i][neighbours]).mean(axis=1) + 1e-10
            factors[:, i] = self._density[i][neighbours].mean(axis=1) * reached
        if self._people is self._crowd:
            return factors, distances[:, 0]
        return factors, np.sqrt(self._people.squared(points, people)[place].min(axis=1))
