"""The measuring space: where distances between rows are taken, the same for every measure and every method.

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

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from attain.core.arrays import FloatArray, IndexArray, flat
from attain.engine.typical import Space
from attain.population.percentiles import as_matrix
from attain.schema import Schema
from attain.tables import ordinary


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

    @classmethod
    def from_arrays(cls, schema: Schema, arrays: dict[str, NDArray[np.generic]]) -> MeasuringSpace:
        """The space that `arrays` was taken from."""
        return cls(schema, **arrays)  # type: ignore[arg-type]

    @property
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything but the schema, as plain arrays by name, for saving."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "schema"}

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
            self.stated,
            self.first.astype(np.intp),
            self.states,
            self.scaled,
            self.mean,
            self.scale,
            self.complete,
            np.array([code for some in codes for code in some], dtype=np.float64),
            np.cumsum([0, *map(len, codes)]).astype(np.intp),
        )

    def transform(self, values: ArrayLike) -> FloatArray:
        """The coordinates of the rows: (n, features) to (n, dimension), whatever the leading dimensions."""
        points = self.points(values)
        coordinates, numbers = np.zeros((*points.shape[:-1], self.dimension)), points[..., len(self.stated) :]
        coordinates[..., : len(self.scaled)], coordinates[..., -1] = numbers[..., :-1], numbers[..., -1]
        flat(coordinates)[self._switched_on(flat(points))] = 1.0
        return coordinates

    def sparse(self, values: ArrayLike) -> csr_array:
        """The coordinates of rows, (n, features) to (n, dimension), without the states that they are not in."""
        points = self.points(values)
        rows, on = self._switched_on(points)
        numbers = np.append(np.arange(len(self.scaled)), self.dimension - 1)
        cells = np.concatenate((np.ones(len(on)), points[:, len(self.stated) :].ravel()))
        rows = np.concatenate((rows, np.repeat(np.arange(len(points)), len(numbers))))
        return csr_array(
            (cells, (rows, np.concatenate((on, np.tile(numbers, len(points)))))), shape=(len(points), self.dimension)
        )

    def _switched_on(self, points: FloatArray) -> tuple[IndexArray, IndexArray]:
        """The indicators of points (n, cells) that are on: rows, and coordinates."""
        states = points[:, : len(self.stated)].astype(np.intp)
        rows, places = np.nonzero(states)
        return rows, len(self.scaled) + self.first[places] + states[rows, places] - 1


def _moments(cells: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation; a column whose cells are all equal has scale 1, whatever rounding says."""
    if not len(cells):
        return 0.0, 1.0
    if cells.min() == cells.max():
        return float(cells[0]), 1.0
    return float(cells.mean()), float(cells.std()) or 1.0
