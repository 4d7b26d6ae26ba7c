"""The nearest of many points: exact, and the same whatever else is asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy.spatial import cKDTree

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.population.space import gap

_WIDER: Final = 4
"""How many times as many candidates are looked at next, where the last of them might be tied with one not seen."""
_ROUNDING: Final = 1e-12
"""The relative error of a squared distance from a matrix product, with some to spare."""
_CELLS: Final = 2_000_000
"""The most cells of candidates in one array: 16 MB."""

_TREE_DIMENSIONS: Final = 20
"""The most coordinates that vary for which a k-d tree is considered."""
_GROWTH: Final = 1.1
"""A k-d tree is used if a point's 20 nearest reach at least this much farther than its 10 nearest: 2^(1/7), as where
points fill seven dimensions. Measured at 10³ to 10⁵ points, matrix products are faster beyond that."""
_SAMPLE: Final = 100
_PAIRS: Final = 1_000_000
"""Up to this many pairs, a plain matrix product is faster than scikit-learn's search."""
_THREADED: Final = 1_000
"""From this many queries on, a tree answers them on all cores."""
_WRITTEN_OUT: Final = 20_000_000
"""The most cells of points with an indicator for each state, for matrix products: 160 MB."""


class Neighbours:
    """An index of points (n, cells) that finds the nearest ones by Euclidean distance; of those equally far, the first.

    The first `states` cells of a point are states, the others numbers, as in `MeasuringSpace.points`.

    Candidates come from a k-d tree or, where points fill too many dimensions for one, from all pairs by matrix
    products, with states written out as indicators; their distances are then computed directly, and more candidates are
    looked at until none that was not seen can be as near. Squared distances are summed one cell after the other. So the
    answer is that of brute force, and does not depend on the rest of the batch, on `k` or on how it was found.
    """

    def __init__(self, points: FloatArray, states: int = 0) -> None:
        self.points, self._states = np.ascontiguousarray(points), states

    def subset(self, chosen: IndexArray | BoolArray) -> Neighbours:
        """The index of some of the points."""
        return Neighbours(self.points[chosen], self._states)

    def query(self, points: FloatArray, k: int) -> tuple[FloatArray, IndexArray]:
        """Distances to the k nearest points (q, k), nearest first, and which they are; k is at most their number."""
        distances, indices = np.empty((len(points), k)), np.empty((len(points), k), dtype=np.intp)
        if not k:
            return distances, indices
        wide = len(self.points) * self._coordinates > _WRITTEN_OUT
        left, width = np.arange(len(points)), len(self.points) if wide else k + 1
        if len(left) and points is self.points and self._tree is not None:
            left = self._tree.indices[left]  # one after the other in space, and so in the cache
        while len(left):
            width = min(width, len(self.points))
            unsure = []
            for part in self._parts(left, width):
                distances[part], indices[part], sure = self._nearest(points[part], k, width)
                unsure.append(part[~sure])
            left, width = np.concatenate(unsure), _WIDER * width
        return np.sqrt(distances), indices

    def _parts(self, which: IndexArray, width: int) -> Iterator[IndexArray]:
        size = max(_CELLS // (width * max(self.points.shape[1], 1)), 1)
        return (which[start : start + size] for start in range(0, len(which), size))

    def _nearest(self, points: FloatArray, k: int, width: int) -> tuple[FloatArray, IndexArray, BoolArray]:
        """Squared distances and indices (q, k) among `width` candidates; and where there can be no others, (q,)."""
        candidates, beyond = self._candidates(points, width)
        distances = np.zeros(candidates.shape)
        for cell, column in enumerate(self.points.T):
            distances += gap(points[:, cell, None], column[candidates], cell < self._states)
        order = np.argsort(distances, axis=1, kind="stable")[:, :k]
        distances = np.take_along_axis(distances, order, axis=1)
        sure = (distances[:, -1] < beyond) | (width == len(self.points))
        return distances, np.take_along_axis(candidates, order, axis=1), sure

    def _candidates(self, points: FloatArray, width: int) -> tuple[IndexArray, FloatArray]:
        """The nearest `width` points, up to rounding, in order of position (q, width).

        And a squared distance (q,) that no other point is nearer than.
        """
        if width == len(self.points):
            return np.tile(np.arange(width), (len(points), 1)), np.full(len(points), np.inf)
        if self._tree is None:
            indices, farthest = self._of_all_pairs(points, width)
        else:
            workers = -1 if len(points) >= _THREADED else 1
            asked, apart = self._written_out(points)
            distances, indices = map(np.asarray, self._tree.query(asked, k=range(1, width + 1), workers=workers))
            farthest = distances[:, -1] ** 2 + apart
        beyond = farthest - _ROUNDING * (farthest + (points[:, self._states :] ** 2).sum(axis=1) + self._states)
        return np.sort(indices, axis=1), np.maximum(beyond, 0.0)

    def _of_all_pairs(self, points: FloatArray, width: int) -> tuple[IndexArray, FloatArray]:
        """The nearest `width` points (q, width) in any order, and the squared distance of the farthest (q,)."""
        asked, apart = self._written_out(points)
        if len(points) * len(self.points) > _PAIRS:
            distances, indices = self._pairs.kneighbors(asked, width)
            return indices, distances[:, -1] ** 2 + apart
        squared = self._squares - 2 * asked @ self._coordinate_points.T + (asked**2).sum(axis=1)[:, None]
        indices = np.argpartition(squared, width - 1, axis=1)[:, :width]
        return indices, np.take_along_axis(squared, indices[:, -1:], axis=1)[:, 0] + apart

    @cached_property
    def _present(self) -> list[FloatArray]:
        """The states of each cell that some point is in."""
        return [np.unique(column[column != 0]) for column in self.points[:, : self._states].T]

    @property
    def _coordinates(self) -> int:
        """How many cells points have with an indicator for each state."""
        return sum(map(len, self._present)) + self.points.shape[1] - self._states

    def _written_out(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (q, cells) with an indicator for each state that one of the index is in (q, coordinates).

        And how many other states each point is in (q,): they add 1 each to the squared distances of all.
        """
        parts = [points[:, [cell]] == present for cell, present in enumerate(self._present)]
        on = np.concatenate([points[:, :0], *parts], axis=1)
        apart = (points[:, : self._states] != 0).sum(axis=1) - on.sum(axis=1)
        return np.column_stack((on, points[:, self._states :])), apart

    @cached_property
    def _tree(self) -> cKDTree | None:
        # Boxes halved in space follow points that lie close together; boxes of equal numbers took 14 times as long.
        if not self._favours_tree():
            return None
        return cKDTree(self._coordinate_points, balanced_tree=False, compact_nodes=False)

    @cached_property
    def _coordinate_points(self) -> FloatArray:
        return np.ascontiguousarray(self._written_out(self.points)[0])

    @cached_property
    def _squares(self) -> FloatArray:
        return (self._coordinate_points**2).sum(axis=1)

    @cached_property
    def _pairs(self) -> Any:
        from sklearn.neighbors import NearestNeighbors  # takes long to import, and small tables do without

        return NearestNeighbors(algorithm="brute").fit(self._coordinate_points)

    def _favours_tree(self) -> bool:
        """Whether the points fill few enough dimensions, by a sample of them."""
        varying = np.ptp(self.points, axis=0).astype(bool)
        states = sum(len(present) for present, varies in zip(self._present, varying, strict=False) if varies)
        if varying[self._states :].sum() + states > _TREE_DIMENSIONS:
            return False
        sample = self.points[np.linspace(0, len(self.points) - 1, _SAMPLE).astype(np.intp)]
        inner, outer = (
            np.sqrt(self._of_all_pairs(sample, min(width, len(self.points)))[1].clip(min=0)) for width in (11, 21)
        )
        return bool(np.median(outer[inner > 0] / inner[inner > 0]) >= _GROWTH) if (inner > 0).any() else True
