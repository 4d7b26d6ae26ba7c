"""The measuring space: where distances between rows are taken, the same for every measure and every method.

Numbers and ordinal codes are z-scored by the training data, levels without an order are plain 0/1 indicators. Immutable
and derived columns are included. Cells that are not a point on a scale are placed as follows:

- a number or ordinal code that is missing or special sits at the mean (0) and switches on one 0/1 indicator, one per
  special code of the schema and one for missing, where the training data have missing cells or the schema lets them be
  filled in;
- a missing level switches on its own indicator likewise, and none of the levels;
- cells missing in columns that are complete in the training data share a single coordinate, the square root of their
  number. No training row has any, so the distance to a real row is what one indicator each would give.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from attain.core.arrays import FloatArray, IndexArray, flat, joined, starts
from attain.core.compiled import kernels
from attain.population.percentiles import as_matrix
from attain.schema import Schema
from attain.tables import ordinary, unchanged


@dataclass(frozen=True, eq=False)
class MeasuringSpace:
    """The map from the matrix of values to the space in which distances are measured.

    The coordinates are the scaled columns, then the indicators, then the shared one for unforeseen missing cells.

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
    def _flat(self) -> tuple[NDArray[np.generic], ...]:
        """What the kernel reads."""
        codes = [list(self.schema.features[column].special) for column in self.scaled]
        return (
            *(self.scaled.astype(np.int64), self.mean, self.scale, starts(codes), joined(codes)),
            *(self.indicated.astype(np.int64), self.states, self.complete.astype(np.int64)),
        )

    def transform(self, values: ArrayLike) -> FloatArray:
        """The points of the rows: (n, features) to (n, dimension), whatever the leading dimensions."""
        matrix = as_matrix(values, len(self.schema))
        points = np.empty((*matrix.shape[:-1], self.dimension))
        if (compiled := kernels("attain.population.space_kernels")) is not None:
            rows = np.ascontiguousarray(flat(matrix))
            compiled.transformed(rows, *self._flat, flat(points))
            return points
        for place, column in enumerate(self.scaled):
            cells = matrix[..., column]
            centred = (cells - self.mean[place]) / self.scale[place]
            points[..., place] = np.where(ordinary(self.schema.features[column], cells), centred, 0.0)
        states = matrix[..., self.indicated]
        points[..., len(self.scaled) : -1] = unchanged(states, self.states)
        points[..., -1] = np.sqrt(np.isnan(matrix[..., self.complete]).sum(axis=-1))
        return points

    def sparse(self, values: ArrayLike) -> csr_array:
        """The points of rows, (n, features) to (n, dimension), without the states that they are not in."""
        matrix = as_matrix(values, len(self.schema))
        first = np.searchsorted(self.indicated, np.arange(len(self.schema) + 1))
        parts = []
        for column in np.unique(self.indicated):
            states = self.states[first[column] : first[column + 1]]
            order = np.argsort(states)
            place = order[np.searchsorted(states[order], matrix[:, column]).clip(max=len(states) - 1)]
            at = np.flatnonzero(unchanged(states[place], matrix[:, column]))
            parts.append((at, len(self.scaled) + first[column] + place[at], np.ones(len(at))))
        for place, column in enumerate(self.scaled):
            at = np.flatnonzero(ordinary(self.schema.features[column], matrix[:, column]))
            centred = (matrix[at, column] - self.mean[place]) / self.scale[place]
            parts.append((at, np.full(len(at), place), centred))
        missing = np.sqrt(np.isnan(matrix[:, self.complete]).sum(axis=1))
        at = np.flatnonzero(missing)
        parts.append((at, np.full(len(at), self.dimension - 1), missing[at]))
        rows, columns, cells = (np.concatenate(some) for some in zip(*parts, strict=True))
        return csr_array((cells, (rows, columns)), shape=(len(matrix), self.dimension))


def _moments(cells: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation; a column whose cells are all equal has scale 1, whatever rounding says."""
    if not len(cells):
        return 0.0, 1.0
    if cells.min() == cells.max():
        return float(cells[0]), 1.0
    return float(cells.mean()), float(cells.std()) or 1.0
