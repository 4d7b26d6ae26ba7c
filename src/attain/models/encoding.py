"""What a pipeline's preprocessing makes of each cell, learned by running it rather than by reading its steps.

Scalers, imputers, one-hot and ordinal encoders, column transformers and linear projections map a row x of d cells to
p coordinates that are a sum over cells:

    z(x) = constant + Σ_j c_j(x_j),    c_j(x) = x · slopes[j] for a number, a fixed vector for any other cell.

`Encoding.learn` reads the terms off rows that differ from a base row in one cell, and verifies the sum on real rows: it
is exact, or refused. Only the pipeline's own `transform` steps run here. No prediction is asked for, so nothing is
counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from attain.engine.score import States
from attain.models.goal import StructureError
from attain.models.reader import Reader, by_halves, probe_rows
from attain.models.sklearn import transformed, unwrapped
from attain.schema import Feature, Schema
from attain.tables import Layout, ordinary

Transform: TypeAlias = Callable[[np.ndarray], Any]
"""Rows of the matrix, (n, d), to coordinates, (n, p), in an array or a sparse matrix."""

_TOLERANCE: Final = 1e-7
"""How far the sum may be from the preprocessing, relative to the largest value of each coordinate."""
_CHECKED_ROWS: Final = 256
_MOST_NUMBERS: Final = 20_000_000
"""The most numbers that the levels of an encoding add."""
_AT_ONCE: Final = 8_000_000
"""The most numbers that are passed to the preprocessing at once, or returned by it."""
SEED: Final = 0
"""Fixed, so that whether a model is accepted depends on the model and the training rows alone."""


class Projection(NamedTuple):
    """z ↦ z · weights + intercept, with weights (p, m) and intercept (m,)."""

    weights: np.ndarray
    intercept: np.ndarray

    def __call__(self, coordinates: Any) -> np.ndarray:
        known = coordinates if issparse(coordinates) else dense(coordinates)
        return np.asarray(known @ self.weights + self.intercept)


class Preprocessing:
    """The steps of a model before the estimator that decides, called with rows of the matrix; and that estimator."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.steps, self.estimator = unwrapped(reader.model.model)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return dense(self.inputs(rows))

    def inputs(self, rows: np.ndarray) -> Any:
        """What reaches the estimator, (n, p), in an array, a frame or a sparse matrix."""
        if not self.steps:
            return self._reader.array(rows)
        return transformed(self.steps, self._reader.batch(rows), self._reader.title)


def dense(values: Any) -> np.ndarray:
    """A dense array of floats from a frame, an array or a sparse matrix."""
    try:
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
    except (TypeError, ValueError):
        raise StructureError("levels that are not numbers reach the estimator without an encoder") from None


@dataclass(frozen=True, eq=False)
class Encoding:
    """Rows of the matrix as p coordinates, as a sum over cells; NaN where the preprocessing does not take a cell.

    Attributes
    ----------
    schema
        What the d columns are.
    constant
        (p,).
    slopes
        Per column of numbers, what one unit adds, (d, p); 0 for columns of levels.
    states
        Per column, what each state adds to the coordinates in `places`, (S + 1, m): the special codes of a number or
        the levels, then a missing cell, which is NaN where the training rows have none and it is not fillable. Linear
        between ordered levels.
    places
        Per column, the coordinates that its states add to, (m,); a slice for all p.
    unseen
        What a level adds that the schema does not have.
    """

    schema: Schema
    constant: np.ndarray
    slopes: np.ndarray
    states: tuple[np.ndarray, ...]
    places: tuple[Any, ...]
    unseen: float = np.nan

    @classmethod
    def learn(
        cls, transform: Transform, schema: Schema, rows: np.ndarray, projection: Projection | None = None
    ) -> Encoding:
        """The encoding that `transform` computes, followed by the projection; `rows` are training rows.

        Raises a `StructureError` where it is not a sum over cells.
        """
        cells = [_cells_to_try(feature, rows[:, j]) for j, feature in enumerate(schema)]
        base = base_row(schema, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that a level is unknown is what is to be learned
            start = transform(base[None])
            moves, refused = _moves(transform, base, start, cells)
        constant = _projected(start, projection)[0].copy()
        if projection is not None:
            moves = np.asarray(moves @ projection.weights)
        slopes, ends = np.zeros((len(schema), len(constant))), np.cumsum([0, *map(len, cells)])
        states, places, size = [], [], 0
        for j, (feature, tried) in enumerate(zip(schema, cells, strict=True)):
            place: Any = slice(None)
            move: Any = moves[ends[j] : ends[j + 1]]
            if projection is None:
                place = np.unique(move.indices) if feature.levels else np.arange(len(constant))
                size += len(tried) * len(place)
                if size > _MOST_NUMBERS:
                    raise StructureError(
                        f"{ends[-1]:,} cells with {len(constant):,} inputs of the estimator are too many to read"
                    )
                move = move[:, place].toarray()
            move[refused[ends[j] : ends[j + 1]]] = np.nan
            if feature.numeric:  # a refused number shows in the verification
                slopes[j] = np.nan_to_num((move[1] - move[0]) / (tried[1] - tried[0]))
                offset = np.nan_to_num(move[0] - slopes[j] * tried[0])
                constant += offset
                move = move[2:] - offset
            missing = [] if np.isnan(tried[-1]) else [np.full((1, move.shape[1]), np.nan)]
            states.append(np.concatenate([move, *missing]))
            places.append(place)
        encoding = cls(schema, constant, slopes, tuple(states), tuple(places))
        real = probe_rows(rows, _CHECKED_ROWS)
        # columns shuffled one by one meet in pairs that real rows may not have
        checked = np.concatenate((real, np.random.default_rng(SEED).permuted(real, axis=0)))
        encoding.verify(transform, checked, projection)
        return encoding

    def verify(self, transform: Transform, rows: np.ndarray, projection: Projection | None = None) -> None:
        """Raises a `StructureError` where the sum of some row is not what `transform` and the projection compute."""
        expected = _projected(transform(rows), projection)
        size = np.maximum(np.abs(expected).max(axis=0, initial=1.0), 1.0)
        if not np.all(np.abs(expected - self.encode(rows)) <= _TOLERANCE * size):
            raise StructureError(
                "the model's preprocessing bends or mixes columns (as a QuantileTransformer, PolynomialFeatures or a "
                "function of several columns does), so its slope is unknown; scalers, imputers and encoders of single "
                "columns, and linear projections, are fine"
            )

    @property
    def width(self) -> int:
        return len(self.constant)

    def depends(self) -> np.ndarray:
        """Which coordinates each column affects, (d, p)."""
        result: np.ndarray = self.slopes != 0
        for j, (table, place) in enumerate(zip(self.states, self.places, strict=True)):
            result[j, place] |= (table != 0).any(axis=0)
        return result

    def terms(self, j: int) -> np.ndarray:
        """What each state of column j adds, (S + 1, p)."""
        result = np.zeros((len(self.states[j]), self.width))
        result[:, self.places[j]] = self.states[j]
        return result

    def filled(self, rows: np.ndarray) -> Encoding:
        """Without NaN: unknown levels are interpolated, other unknown cells are like the column's mean number."""
        states = []
        for j, (feature, table) in enumerate(zip(self.schema, self.states, strict=True)):
            known = ordinary(feature, rows[:, j])
            typical = self.slopes[j, self.places[j]] * (rows[known, j].mean() if feature.numeric and known.any() else 0)
            levels = table[:-1] if feature.numeric else _interpolated(table[:-1])
            table = np.concatenate((levels, table[-1:]))
            states.append(np.where(np.isnan(table), typical, table))
        return replace(self, states=tuple(states), unseen=0.0)

    def term(self, j: int, cells: np.ndarray) -> np.ndarray:
        """c_j of these cells, (n, p); ordered levels may lie between two positions."""
        feature, table = self.schema.features[j], self.states[j]
        missing = np.isnan(cells)
        if feature.numeric:
            result = cells[:, None] * self.slopes[j]
            for state, term in zip((*feature.special, np.nan), table, strict=True):
                result[missing if np.isnan(state) else cells == state] = term
            return np.asarray(result)
        low, share = _segment(cells, len(feature.levels))
        low[missing] = len(feature.levels)
        added = table[low]
        between = np.flatnonzero(share)
        added[between] += share[between, None] * (table[low[between] + 1] - added[between])
        result = np.zeros((len(cells), self.width))
        result[:, self.places[j]] = added
        result[cells >= len(feature.levels)] = self.unseen
        return result

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """The coordinates of the rows, (n, p); to the last bit, those of a row do not depend on the other rows."""
        result = np.repeat(self.constant[None], len(rows), axis=0)
        for j in range(len(self.schema)):
            result += self.term(j, rows[:, j])
        return result

    def gradient(self, rows: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """The slope in each cell, (n, d), of a score whose gradient in the coordinates is `outer`, (n, p).

        Numbers are in original units, ordered levels in positions. Other cells have no slope: 0.
        """
        result = np.zeros(rows.shape)
        outer = np.ascontiguousarray(outer)  # NumPy then sums each row separately, in one order
        for j, feature in enumerate(self.schema):
            slope = self.slopes[j]
            if feature.levels and feature.ordered:
                rises = np.diff(self.terms(j)[:-1], axis=0)
                slope = np.vstack((rises, rises[-1:], slope))[_segment(rows[:, j], len(feature.levels))[0]]
            inner = (outer * slope).sum(axis=1)
            result[:, j] = np.where(ordinary(feature, rows[:, j]), inner, 0.0)
        return result


def states_of(layout: Layout) -> States:
    """The cells that are states rather than numbers; unseen levels come after those of the schema."""
    codes = []
    for feature in layout.schema:
        levels = range(len(feature.levels) + len(layout.unseen.get(feature.name, ())))
        codes.append(np.array([*(feature.special if feature.numeric else levels), np.nan]))
    first = np.cumsum([0, *map(len, codes)])
    return States([feature.numeric for feature in layout.schema], first, np.concatenate(codes))


def _cells_to_try(feature: Feature, cells: np.ndarray) -> np.ndarray:
    """Two numbers and the special codes, or all levels; and NaN last, where a cell may be missing."""
    tried = np.arange(len(feature.levels), dtype=np.float64)
    if feature.numeric:
        known = cells[ordinary(feature, cells)]
        low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
        tried = np.array([low, high if high > low else low + 1.0, *feature.special])
    return np.append(tried, np.nan) if feature.fillable or np.isnan(cells).any() else tried


def base_row(schema: Schema, rows: np.ndarray) -> np.ndarray:
    """A row of real cells: the least ordinary one of each column, (d,)."""
    known = [ordinary(feature, cells) for feature, cells in zip(schema, rows.T, strict=True)]
    return np.array([cells[mask].min() if mask.any() else cells[0] for mask, cells in zip(known, rows.T, strict=True)])


def _projected(coordinates: Any, projection: Projection | None) -> np.ndarray:
    return dense(coordinates) if projection is None else projection(coordinates)


def _moves(transform: Transform, base: np.ndarray, start: Any, cells: list[np.ndarray]) -> tuple[Any, np.ndarray]:
    """What each cell adds to the base row's coordinates `start`, a sparse (A, p), and which cells are refused, (A,).

    Most cells change few coordinates, so that columns of many levels take little room.
    """
    columns, tried = np.repeat(np.arange(len(cells)), [len(those) for those in cells]), np.concatenate(cells)
    size = max(_AT_ONCE // max(len(base), 0 if issparse(start) else start.shape[1]), 1)
    first, taken, parts = _sparse(start), np.zeros(len(tried), dtype=bool), []
    for begin in range(0, len(tried), size):
        which = np.arange(begin, min(begin + size, len(tried)))
        trials = np.repeat(base[None], len(which), axis=0)
        trials[np.arange(len(which)), columns[which]] = tried[which]
        for at, coordinates in by_halves(lambda rows: _sparse(transform(rows)), trials)[0]:
            taken[which[at]] = True
            parts.append(coordinates - csr_array(np.ones((len(at), 1))) @ first)
    moves = csr_array(vstack([csr_array((0, first.shape[1])), *parts]))
    moves.eliminate_zeros()
    return moves[(np.cumsum(taken) - 1).clip(min=0)], ~taken


def _sparse(coordinates: Any) -> csr_array:
    known: Any = coordinates if issparse(coordinates) else dense(coordinates)
    return csr_array(known)


def _interpolated(table: np.ndarray) -> np.ndarray:
    """The table (K, p) with straight lines between known rows, NaN ones filled in."""
    known = np.flatnonzero(~np.isnan(table).any(axis=1))
    if len(known) in (0, len(table)):
        return np.nan_to_num(table)
    return np.column_stack([np.interp(np.arange(len(table)), known, column[known]) for column in table.T])


def _segment(cells: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """The level at or below each cell, and how far towards the next one the cell is, from 0 to 1."""
    clipped = np.clip(np.nan_to_num(cells), 0, levels - 1)
    low = np.floor(clipped).astype(np.intp)
    return low, clipped - low
