"""The measuring space, where distances between rows are taken, and the nearest of many points in it.

Numbers and ordinal codes are z-scored by the training data, levels without an order are plain 0/1 indicators. Immutable
and derived columns are included. Cells that are not a point on a scale are placed as follows:

- a number or ordinal code that is missing or special sits at the mean (0) and switches on one 0/1 indicator, one per
  special code of the schema and one for missing, where the training data have missing cells or the schema lets them be
  filled in;
- a missing level switches on its own indicator likewise, and none of the levels;
- cells missing in columns that are complete in the training data share a single coordinate, the square root of their
  number. No training row has any, so the distance to a real row is what one indicator each would give.

Every level is a coordinate. So that rows cost what columns cost, they are compared as points with fewer cells: the
state of each column that has indicators, which is the position of the one that is on, from 1, or 0 if none is; then the
scaled numbers; then the shared coordinate. The squared distance is the sum of `gap` over cells: (a − b)² of numbers,
and for states that differ the number of indicators that are on in one of the two, 1 or 2. Whole numbers come first, so
that their sum is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from attain.core.arrays import BoolArray, FloatArray, IndexArray, flat
from attain.engine.typical import Space
from attain.population.measuring import as_matrix
from attain.schema import Schema
from attain.tables import ordinary

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
_MOST_STATES: Final = 64
"""States of a cell are written out as indicators up to this many; beyond, points are also listed by their state."""
_LISTED: Final = 128
"""Up to this many points in one state are all compared; of more, the nearest are searched for."""


def gap(one: FloatArray, other: FloatArray, state: bool) -> FloatArray:
    """What a cell adds to the squared distance of points, a state or a number; in the precision of the cells."""
    if not state:
        return (one - other) ** 2
    on: FloatArray = (one != 0).astype(one.dtype) + (other != 0)
    return on * (one != other)


@dataclass(frozen=True, eq=False)
class MeasuringSpace:
    """The map from the matrix of values to the space in which distances are measured.

    The coordinates are the scaled columns, then the indicators, then the shared one for unforeseen missing cells. The
    cells of points are the states of the columns with indicators, `stated`, then the scaled columns, then the shared
    coordinate.

    Attributes
    ----------
    schema
        What the columns are.
    scaled
        The columns with an order, which are z-scored.
    mean, scale
        Their mean and standard deviation over the ordinary training cells; a constant or empty column has scale 1.
    indicated, states
        For each indicator, its column and the state it stands for: a level's code, a special code, or NaN for missing.
    complete
        The columns in which missing cells were not foreseen.
    """

    schema: Schema
    scaled: IndexArray
    mean: FloatArray
    scale: FloatArray
    indicated: IndexArray
    states: FloatArray
    complete: IndexArray

    @classmethod
    def fit(cls, schema: Schema, values: ArrayLike) -> MeasuringSpace:
        """The space of a training matrix."""
        matrix = as_matrix(values, len(schema))
        scaled = [column for column, feature in enumerate(schema) if feature.ordered]
        moments = [_moments(matrix[ordinary(schema.features[j], matrix[:, j]), j]) for j in scaled]
        missing = np.isnan(matrix).any(axis=0) | np.array([feature.fillable for feature in schema])
        states: list[tuple[int, float]] = []
        for column, feature in enumerate(schema):
            levels = () if feature.ordered else range(len(feature.levels))
            states += [(column, float(state)) for state in (*levels, *feature.special)]
            states += [(column, np.nan)] if missing[column] else []
        return cls(
            schema,
            scaled=np.array(scaled, dtype=np.intp),
            mean=np.array([mean for mean, _ in moments]),
            scale=np.array([scale for _, scale in moments]),
            indicated=np.array([column for column, _ in states], dtype=np.intp),
            states=np.array([state for _, state in states], dtype=np.float64),
            complete=np.flatnonzero(~missing),
        )

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.scaled) + len(self.indicated) + 1

    @cached_property
    def stated(self) -> IndexArray:
        """The columns with indicators: the first cells of a point are their states."""
        return np.unique(self.indicated)

    @cached_property
    def first(self) -> IndexArray:
        """Where the indicators of each of these columns begin among all, and the last end."""
        return np.append(np.searchsorted(self.indicated, self.stated), len(self.indicated))

    @cached_property
    def columns(self) -> IndexArray:
        """The column of each cell of a point; −1 for the shared coordinate."""
        return np.concatenate((self.stated, self.scaled, [-1])).astype(np.intp)

    def points(self, values: ArrayLike) -> FloatArray:
        """The points of the rows: (n, features) to (n, cells), whatever the leading dimensions."""
        matrix = as_matrix(values, len(self.schema))
        points: FloatArray = self.engine.points(np.ascontiguousarray(flat(matrix)))
        return points.reshape(*matrix.shape[:-1], len(self.columns))

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what the engine has of it, which is made again."""
        return {name: value for name, value in vars(self).items() if name != "engine"}

    @cached_property
    def engine(self) -> Space:
        """The space, for the engine."""
        codes = [list(feature.special) for feature in self.schema]
        return Space(
            (self.stated, self.first.astype(np.intp), self.states),
            (self.scaled, self.mean, self.scale),
            self.complete,
            (
                np.array([code for some in codes for code in some], dtype=np.float64),
                np.cumsum([0, *map(len, codes)]).astype(np.intp),
            ),
        )

    def transform(self, values: ArrayLike) -> FloatArray:
        """The coordinates of the rows: (n, features) to (n, dimension), whatever the leading dimensions."""
        matrix = as_matrix(values, len(self.schema))
        return self.sparse(flat(matrix)).toarray().reshape(*matrix.shape[:-1], self.dimension)

    def sparse(self, values: ArrayLike) -> csr_array:
        """The coordinates of rows, (n, features) to (n, dimension), without the states that they are not in."""
        points = self.points(values)
        states = points[:, : len(self.stated)].astype(np.intp)
        rows, places = np.nonzero(states)
        on = len(self.scaled) + self.first[places] + states[rows, places] - 1
        numbers = np.append(np.arange(len(self.scaled)), self.dimension - 1)
        cells = np.concatenate((np.ones(len(on)), points[:, len(self.stated) :].ravel()))
        rows = np.concatenate((rows, np.repeat(np.arange(len(points)), len(numbers))))
        return csr_array(
            (cells, (rows, np.concatenate((on, np.tile(numbers, len(points)))))), shape=(len(points), self.dimension)
        )


def _moments(cells: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation; a column whose cells are all equal has scale 1, whatever rounding says."""
    if not len(cells):
        return 0.0, 1.0
    if cells.min() == cells.max():
        return float(cells[0]), 1.0
    return float(cells.mean()), float(cells.std()) or 1.0


class Neighbours:
    """An index of points (n, cells) that finds the nearest ones by Euclidean distance; of those equally far, the first.

    The first `states` cells of a point are states, the others numbers, as in `MeasuringSpace.points`.

    Candidates come from a k-d tree or, where points fill too many dimensions for one, from all pairs by matrix
    products, with states written out as indicators; their distances are then computed directly, and more candidates are
    looked at until none that was not seen can be as near. A cell of very many states is left out there: points in
    other states are all equally far by it, and those in the same state are candidates, too. Squared distances are
    summed one cell after the other. So the answer is that of brute force, and does not depend on the rest of the batch,
    on `k` or on how it was found.
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
        width += _LISTED * len(self._by_state)
        size = max(_CELLS // (width * max(self.points.shape[1], 1)), 1)
        return (which[start : start + size] for start in range(0, len(which), size))

    def _nearest(self, points: FloatArray, k: int, width: int) -> tuple[FloatArray, IndexArray, BoolArray]:
        """Squared distances and indices (q, k) among `width` candidates; and where there can be no others, (q,)."""
        candidates, beyond = self._candidates(points, k, width)
        distances = np.zeros(candidates.shape)
        for cell, column in enumerate(self.points.T):
            distances += gap(points[:, cell, None], column[candidates], cell < self._states)
        if self._by_state:  # a point may be a candidate twice
            distances[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = np.inf
        order = np.argsort(distances, axis=1, kind="stable")[:, :k]
        distances = np.take_along_axis(distances, order, axis=1)
        sure = (distances[:, -1] < beyond) | (width == len(self.points))
        return distances, np.take_along_axis(candidates, order, axis=1), sure

    def _candidates(self, points: FloatArray, k: int, width: int) -> tuple[IndexArray, FloatArray]:
        """The nearest `width` points, up to rounding, and those in the same states, in order of position (q, c).

        And a squared distance (q,) that no other point is nearer than, or a candidate is as near for k of them.
        """
        if width == len(self.points):
            return np.tile(np.arange(width), (len(points), 1)), np.full(len(points), np.inf)
        asked, apart = self._written_out(points)
        if self._tree is None:
            indices, farthest = self._of_all_pairs(asked, width)
        else:
            workers = -1 if len(points) >= _THREADED else 1
            distances, indices = map(np.asarray, self._tree.query(asked, k=range(1, width + 1), workers=workers))
            farthest = distances[:, -1] ** 2
        farthest = farthest + apart
        beyond = farthest - _ROUNDING * (farthest + (points[:, self._states :] ** 2).sum(axis=1) + self._states)
        indices = np.concatenate([indices, *(listed.candidates(points, k) for listed in self._by_state)], axis=1)
        return np.sort(indices, axis=1), np.maximum(beyond, 0.0)

    def _of_all_pairs(self, asked: FloatArray, width: int) -> tuple[IndexArray, FloatArray]:
        """The nearest `width` points (q, width) in any order, and the squared distance of the farthest (q,)."""
        if len(asked) * len(self.points) > _PAIRS:
            distances, indices = self._pairs.kneighbors(asked, width)
            return indices, distances[:, -1] ** 2
        squared = self._squares - 2 * asked @ self._coordinate_points.T + (asked**2).sum(axis=1)[:, None]
        indices = np.argpartition(squared, width - 1, axis=1)[:, :width]
        return indices, np.take_along_axis(squared, indices[:, -1:], axis=1)[:, 0]

    @cached_property
    def _present(self) -> list[FloatArray]:
        """The states of each cell that some point is in; none where there are too many to write out."""
        present = [np.unique(column[column != 0]) for column in self.points[:, : self._states].T]
        return [states if len(states) <= _MOST_STATES else states[:0] for states in present]

    @cached_property
    def _by_state(self) -> list[PointsByState]:
        """The points by their state in each cell that is not written out."""
        cells = [cell for cell, states in enumerate(self._present) if not len(states) and self.points[:, cell].any()]
        return [PointsByState(self, cell) for cell in cells]

    @property
    def _coordinates(self) -> int:
        """How many cells points have with an indicator for each state."""
        return sum(map(len, self._present)) + self.points.shape[1] - self._states

    def _written_out(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (q, cells) with an indicator for each state that one of the index is in (q, coordinates).

        And what other states add to the squared distances of all that are not in the same state, (q,).
        """
        parts = [points[:, [cell]] == present for cell, present in enumerate(self._present)]
        on = np.concatenate([points[:, :0], *parts], axis=1)
        apart = (points[:, : self._states] != 0).sum(axis=1) - on.sum(axis=1)
        for listed in self._by_state:  # 1 is there already, for the state that the asked point is in
            apart += (points[:, listed.cell] != 0) & listed.everywhere
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
        sample = self._coordinate_points[np.linspace(0, len(self.points) - 1, _SAMPLE).astype(np.intp)]
        inner, outer = (
            np.sqrt(self._of_all_pairs(sample, min(width, len(self.points)))[1].clip(min=0)) for width in (11, 21)
        )
        return bool(np.median(outer[inner > 0] / inner[inner > 0]) >= _GROWTH) if (inner > 0).any() else True


class PointsByState:
    """The points of an index by their state in one cell; `everywhere` says whether all of them are in one."""

    def __init__(self, index: Neighbours, cell: int) -> None:
        self.cell, self._index = cell, index
        states = index.points[:, cell]
        self.everywhere = bool((states != 0).all())
        self._order = np.argsort(states, kind="stable")
        self._states, self._first, self._number = np.unique(states[self._order], return_index=True, return_counts=True)
        self._large: dict[int, Neighbours] = {}

    def candidates(self, points: FloatArray, k: int) -> IndexArray:
        """Points in the same state as each of some others, the k nearest of these among them, (q, c).

        Where there are fewer some are repeated, and where there is none it is any point.
        """
        most = max(_LISTED, k)
        at = np.searchsorted(self._states, points[:, self.cell]).clip(max=len(self._states) - 1)
        number = np.where(self._states[at] == points[:, self.cell], self._number[at], 1)
        width = min(int(number.max(initial=1)), most)
        found: IndexArray = self._order[self._first[at, None] + np.minimum(np.arange(width), number[:, None] - 1)]
        for group in np.unique(at[number > most]).tolist():
            asked = np.flatnonzero((at == group) & (number > most))
            members = self._order[self._first[group] : self._first[group] + self._number[group]]
            if group not in self._large:
                self._large[group] = self._index.subset(members)
            nearest = self._large[group].query(points[asked], k)[1]
            found[asked] = members[np.pad(nearest, ((0, 0), (0, width - k)), mode="edge")]
        return found
