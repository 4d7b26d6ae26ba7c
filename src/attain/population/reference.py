"""The real rows of the desired class, H⁺ ∩ D⁺: those that meet the request by the model and are labelled so.

A `Reference` is what faithfulness is measured against: the distinct rows in the measuring space, an index of neighbours
and the grid of ε for connectedness.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import FloatArray, IndexArray
from attain.population.measuring import booleans
from attain.population.percentiles import as_matrix
from attain.population.space import MeasuringSpace, Neighbours
from attain.schema import Schema

QUANTILES: Final = (0.5, 0.75, 0.9, 0.95)
"""The quantiles of real rows' nearest distances that make the ε grid."""

T = TypeVar("T")


@dataclass(eq=False)
class Reference:
    """The distinct real rows of the desired class.

    Duplicates are left out because they void every relative measure: a row with a twin has distance 0 to its nearest
    neighbour. The rows have a canonical order, so that nothing depends on the order of the training data.

    Attributes
    ----------
    space
        The measuring space.
    values, points
        The rows in original units (n, d) and as points of the measuring space (n, cells).
    rows
        The training row that each one is (the first, where several are equal).
    labelled
        Whether labels were used; without them the model's decision alone says which rows belong here.
    held_out
        Nearest distances of real rows outside the reference, where they are known.
    """

    space: MeasuringSpace
    values: FloatArray
    points: FloatArray
    rows: IndexArray
    labelled: bool
    held_out: FloatArray | None = None
    neighbours: dict[int, tuple[FloatArray, IndexArray]] = field(default_factory=dict, repr=False)
    """By k, what `own_neighbours` has found."""
    _learned: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _searched: tuple[FloatArray, FloatArray, IndexArray] | None = field(default=None, repr=False)

    @classmethod
    def build(
        cls,
        schema: Schema,
        train_values: ArrayLike,
        *,
        desired_labels: ArrayLike | None = None,
        met: ArrayLike,
        space: MeasuringSpace | None = None,
    ) -> Reference:
        """The reference of a training matrix.

        Parameters
        ----------
        desired_labels
            Which rows are labelled as the target (D⁺); None where labels are not known.
        met
            Which rows meet the request by the model (H⁺).
        space
            The measuring space, where it is already fitted; by default that of the training matrix.
        """
        matrix = as_matrix(train_values, len(schema))
        chosen = booleans("met", met, len(matrix), "training rows")
        if desired_labels is not None:
            chosen = chosen & booleans("desired_labels", desired_labels, len(matrix), "training rows")
        space = MeasuringSpace.fit(schema, matrix) if space is None else space
        members = np.flatnonzero(chosen)
        points, first = distinct(space.points(matrix[members]), len(space.stated))
        rows = members[first]
        return cls(space, matrix[rows], points, rows, labelled=desired_labels is not None)

    def with_held_out(self, values: ArrayLike) -> Reference:
        """The same reference with its ε grid taken from real rows of the desired class that are not in it."""
        held_out = as_matrix(values, len(self.space.schema))
        return replace(self, held_out=self.nearest(held_out)[0][:, 0] if len(self) else np.empty(0))

    def searched(self, values: ArrayLike, k: int = 40) -> Reference:
        """The same reference, with the k nearest neighbours of these rows found once for all later calls."""
        matrix = as_matrix(values, len(self.space.schema))
        nearest = self.nearest(matrix, k)
        same = copy(self)
        same._searched = (matrix, *nearest)
        return same

    def subset(self, chosen: IndexArray) -> Reference:
        """The reference of some of its rows, by their positions."""
        return Reference(self.space, self.values[chosen], self.points[chosen], self.rows[chosen], self.labelled)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def schema(self) -> Schema:
        return self.space.schema

    @cached_property
    def index(self) -> Neighbours:
        """The index of the points."""
        return Neighbours(self.points, len(self.space.stated))

    def learned(self, key: Hashable, learn: Callable[[], T]) -> T:
        """What `learn` returned the first time it was called for this key."""
        if key not in self._learned:
            self._learned[key] = learn()
        result: T = self._learned[key]
        return result

    @property
    def epsilon(self) -> dict[float, float]:
        """The ε grid: the .5, .75, .9 and .95 quantiles of real rows' distances to the nearest reference row.

        By default each reference row's distance to the nearest *other* one, which is what a held-out row without a twin
        would have, up to the one row left out. `with_held_out` takes it from held-out rows themselves.
        """
        distances = self.own_neighbours(1)[0].ravel() if self.held_out is None else self.held_out
        if not len(distances):
            return dict.fromkeys(QUANTILES, float("nan"))
        return dict(zip(QUANTILES, map(float, np.quantile(distances, QUANTILES)), strict=True))

    def nearest(self, values: ArrayLike, k: int = 1) -> tuple[FloatArray, IndexArray]:
        """Distances of rows in original units to the k nearest reference rows (all if there are fewer), and which."""
        k = min(k, len(self))
        if self._searched is not None:
            known, distances, indices = self._searched
            if k <= distances.shape[1] and np.array_equal(known, values, equal_nan=True):
                return distances[:, :k], indices[:, :k]
        return self.index.query(self.space.points(values), k)

    def own_neighbours(self, k: int) -> tuple[FloatArray, IndexArray]:
        """Each reference row's k nearest others (all if there are fewer): distances, and which."""
        known = [found for width, found in self.neighbours.items() if width >= k]
        if not known:
            known = [_without_self(*self.index.query(self.points, min(k + 1, len(self))))]
            self.neighbours[k] = known[0]
        distances, indices = known[0]
        return distances[:, :k], indices[:, :k]


def distinct(points: FloatArray, states: int = 0) -> tuple[FloatArray, IndexArray]:
    """The distinct rows in a fixed order, and the first position of each; the first `states` cells are states."""
    # Adding 0 turns −0 into 0, so that rows are equal exactly when their bytes are.
    plain = np.ascontiguousarray(points + 0.0)
    varying = (plain != plain[:1]).any(axis=0)
    if not varying.any():
        return plain[:1], np.arange(len(plain[:1]))
    # after numbers, states in the order that the bytes of their indicators have: none, the last, …, the first
    on = plain[:, :states][:, varying[:states]]
    backwards = np.where(on > 0, on.max(axis=0) + 1 - on, 0).astype(">u8").view(np.float64)
    cells = np.ascontiguousarray(np.column_stack((plain[:, states:][:, varying[states:]], backwards)))
    keys = cells.view(np.dtype((np.void, cells.shape[1] * cells.itemsize))).ravel()
    _, first = np.unique(keys, return_index=True)
    return plain[first], first


def _without_self(distances: FloatArray, indices: IndexArray) -> tuple[FloatArray, IndexArray]:
    own = indices == np.arange(len(indices))[:, None]
    # Where rounding hides a row from its own neighbours, the last of them makes room instead.
    own[~own.any(axis=1), -1:] = True
    shape = (len(indices), max(indices.shape[1] - 1, 0))
    return distances[~own].reshape(shape), indices[~own].reshape(shape)
