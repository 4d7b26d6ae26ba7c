"""The guard for many candidates of each row: fast, because only real rows near that row are looked at.

Neighbours of a candidate x are searched in a shortlist: the s real rows nearest to its owner, and the s nearest to the
owner's cheapest start that passes the guard. Its distances to neighbours can therefore only be too large, never too
small. The final answers are put to the guard itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attain.core.compiled import kernels
from attain.methods.guarded.settings import GuardedSettings
from attain.population.guard import Guard, Limits
from attain.population.reference import Reference
from attain.population.space import gap

_KERNELS = "attain.methods.guarded.guard_kernels"
_OUT_OF_REACH = 1e15
"""The coordinates of the second copy of a real row on a shortlist: beyond all others."""
ROUNDED = 5
"""The digits of an excess: last bits must not decide between equals."""


class Near(NamedTuple):
    """What kernels read of the guard near n rows.

    Attributes
    ----------
    states
        How many of the first cells of points are states.
    centre
        The point of each row, which other points are relative to, (n, cells).
    crowd, indices, known, known_indices
        The points on the shortlists (n, cells, s), and which real rows they are (n, s): of the crowd, and of all real
        rows. The second points are empty where these are the same.
    facts
        The distance of each row of the crowd to its k-th neighbour and its local density, (crowd, sizes, 2).
    sizes
        The numbers of neighbours k, (sizes,).
    largest, farthest
        The limits after each relaxation, (relaxations, sizes) and (relaxations,).
    """

    states: int
    centre: np.ndarray
    crowd: np.ndarray
    indices: np.ndarray
    known: np.ndarray
    known_indices: np.ndarray
    facts: np.ndarray
    sizes: np.ndarray
    largest: np.ndarray
    farthest: np.ndarray


class Room(NamedTuple):
    """Room for a point's distances to a shortlist, and to put them in order."""

    apart: np.ndarray
    other: np.ndarray
    ordered: np.ndarray
    place: np.ndarray
    distance: np.ndarray
    bucket: np.ndarray
    start: np.ndarray


@dataclass(frozen=True)
class Shortlist:
    """For each of n rows, s real rows.

    Attributes
    ----------
    centre
        The point of the row itself, (n, cells), without its states. Other points are relative to it: far from the
        origin, single precision would lose what is near.
    indices
        The positions of the real rows in increasing order, (n, s); some twice.
    points
        Their points (n, cells, s), in single precision.
    states
        How many cells of a point, the first, are states.
    """

    centre: np.ndarray
    indices: np.ndarray
    points: np.ndarray
    states: int

    @classmethod
    def around(cls, reference: Reference, places: np.ndarray, size: int) -> Shortlist:
        """The real rows nearest to each of the places (n, places, cells), the first of which is the row's own point."""
        size = min(size, len(reference))
        found = reference.index.query(places.reshape(-1, places.shape[2]), size)[1]
        indices = np.sort(found.reshape(len(places), -1), axis=1)
        states = len(reference.space.stated)
        centre = np.where(np.arange(places.shape[2]) < states, 0.0, places[:, 0])
        compiled = kernels(_KERNELS)
        if compiled is not None:
            return cls(centre, indices, compiled.shortlisted(reference.points, centre, indices), states)
        points = (reference.points[indices] - centre[:, None]).astype(np.float32)
        points[:, 1:][indices[:, 1:] == indices[:, :-1]] = _OUT_OF_REACH
        return cls(centre, indices, np.ascontiguousarray(points.transpose(0, 2, 1)), states)

    def relative(self, points: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Points (n, cells) relative to those of their owners, in single precision."""
        return (points - self.centre[owners]).astype(np.float32, order="C")

    def nearest(self, relative: np.ndarray, owners: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances (n, k) to the k nearest real rows of the shortlists, nearest first, and places on them (n, k)."""
        squared = np.zeros((len(relative), self.indices.shape[1]), dtype=np.float32)
        for cell in range(relative.shape[1]):
            squared += gap(relative[:, cell, None], self.points[owners, cell], cell < self.states)
        # bits of positive numbers are in their order; places make all keys different
        keys = squared.view(np.int32).astype(np.int64) << 32 | np.arange(squared.shape[1])
        keys = np.sort(np.partition(keys, k - 1, axis=1)[:, :k], axis=1)
        return np.sqrt((keys >> 32).astype(np.int32).view(np.float32)), keys & 0xFFFFFFFF


def squared_distances(points: np.ndarray, others: np.ndarray, states: int, counted: np.ndarray) -> np.ndarray:
    """Squared distances (n, m), one cell after the other, so that none depends on the rest of the batch.

    The first `states` cells are states. `counted` (n, cells) says which cells of each point count.
    """
    total = np.zeros((len(points), len(others)))
    for cell in range(points.shape[1]):
        if counted[:, cell].any():
            total += gap(points[:, cell, None], others[None, :, cell], cell < states) * counted[:, cell, None]
    return total


class LocalGuard:
    """The guard near each row of a batch; `places` (n, places, cells) are those that shortlists are drawn around."""

    def __init__(self, guard: Guard, places: np.ndarray, settings: GuardedSettings) -> None:
        self._reference, self._settings = guard.reference, settings
        self._crowd = Shortlist.around(guard.crowd, places, settings.shortlist)
        same = guard.reference is guard.crowd
        self._known = self._crowd if same else Shortlist.around(guard.reference, places, settings.shortlist)
        self._sizes, self._facts = np.array([part.k for part in guard.local_densities]), guard.reaches

    def excess(
        self,
        points: np.ndarray,
        owners: np.ndarray,
        limits: list[Limits],
        which: np.ndarray,
        most: np.ndarray | None = None,
    ) -> np.ndarray:
        """By how much each point (n, cells) exceeds its limits, those at `which` (n,); 0 where it keeps them all, (n,).

        Σ_k log⁺(factor_k / limit_k) + 2 log⁺(distance / limit). The density is computed later, for the best only.
        Where it is larger than `most` (n,), any larger number will do.
        """
        compiled, relative, near = kernels(_KERNELS), self._crowd.relative(points, owners), self.near(limits)
        if compiled is None:
            product = self._overrun(relative, owners, near.largest[which], near.farthest[which])
        else:
            enough = np.full(len(points), np.inf) if most is None else np.exp(np.minimum(most, 500.0) + 0.1**ROUNDED)
            product = compiled.overrun(relative, np.argsort(owners, kind="stable"), owners, near, which, enough)
        return np.round(np.log(product), ROUNDED)

    def near(self, limits: list[Limits]) -> Near:
        """What kernels read."""
        crowd, known = self._crowd, self._known
        return Near(
            *(crowd.states, crowd.centre, crowd.points, crowd.indices),
            *(crowd.points[:0, :0, :0].copy() if known is crowd else known.points, known.indices),
            *(self._facts, self._sizes),
            np.array([limit.factors for limit in limits]).reshape(len(limits), len(self._sizes)),
            np.array([limit.distance for limit in limits]),
        )

    def nearest(self, rows: np.ndarray, owners: np.ndarray, n: int) -> np.ndarray:
        """The n real rows nearest to each row, by the shortlists, (rows, n, d)."""
        known = self._known
        n, relative = min(n, known.indices.shape[1]), known.relative(self._reference.space.points(rows), owners)
        compiled = kernels(_KERNELS)
        if compiled is not None:
            found = compiled.nearest(relative, owners, self.near([]), n)
        else:
            found = np.empty((len(rows), n), dtype=np.intp)
            for part in self._parts(len(rows)):
                places = known.nearest(relative[part], owners[part], n)[1]
                found[part] = known.indices[owners[part, None], places]
        values: np.ndarray = self._reference.values[found]
        return values

    def _overrun(
        self, relative: np.ndarray, owners: np.ndarray, largest: np.ndarray, farthest: np.ndarray
    ) -> np.ndarray:
        """Π_k max(factor_k / limit_k, 1) · max(distance / limit, 1)² of points, with limits (n, sizes) and (n,)."""
        factors, distance = self.position(relative, owners)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = distance / farthest
            product = np.where(over > 1, over * over, 1.0)
            for i in range(factors.shape[1]):
                over = factors[:, i] / largest[:, i]
                product *= np.where(over > 1, over, 1.0)
        return product

    def position(self, relative: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outlier factors (n, sizes) and nearest distances (n,) of points, by the shortlists."""
        factors, distance = np.empty((len(relative), len(self._sizes))), np.empty(len(relative))
        for part in self._parts(len(relative)):
            near, places = self._crowd.nearest(relative[part], owners[part], self._sizes[-1])
            rows = self._crowd.indices[owners[part, None], places]
            for i, k in enumerate(self._sizes):
                # one after the other, not in pairs, as `sum` does
                reached = np.maximum(near[:, :k], self._facts[rows[:, :k], i, 0]).cumsum(axis=1)[:, -1] / k + 1e-10
                factors[part, i] = self._facts[rows[:, :k], i, 1].cumsum(axis=1)[:, -1] / k * reached
            same = self._known is self._crowd
            distance[part] = (near if same else self._known.nearest(relative[part], owners[part], 1)[0])[:, 0]
        return factors, distance

    def _parts(self, n: int) -> list[np.ndarray]:
        size = self._settings.measured_at_once
        return [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
