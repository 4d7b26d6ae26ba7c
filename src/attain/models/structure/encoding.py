"""What a pipeline's preprocessing makes of each cell, learned by running it rather than by reading its steps.

Scalers, imputers, one-hot and ordinal encoders, column transformers and linear projections map a row x of d cells to
p coordinates that are a sum over cells:

    z(x) = constant + Σ_j c_j(x_j),    c_j(x) = x · slopes[j] for a number, a fixed vector for any other cell.

`Encoding.learn` reads the terms off rows that differ in one cell, and verifies the sum on real rows: it is exact, or
refused. Where there are many levels, cells of all columns differ at once: row t has cell t of every column that is to
be tried, and then of every column whose number has bit b, for each b; so each coordinate shows the number of its column
by the trials in which it changes. Only the pipeline's own `transform` steps run here. No prediction is asked for, so
nothing is counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from attain.core.errors import ModelError
from attain.models.goal import Goal, probe_rows
from attain.models.reader import Reader, by_halves
from attain.models.sklearn import unwrapped
from attain.schema import Feature, Schema
from attain.tables import ordinary

Transform: TypeAlias = Callable[[np.ndarray], Any]
"""Rows of the matrix, (n, d), to coordinates, (n, p), in an array or a sparse matrix."""

_TOLERANCE: Final = 1e-7
"""How far the sum may be from the preprocessing, relative to the largest value of each coordinate."""
_CHECKED_ROWS: Final = 256
_MOST_NUMBERS: Final = 20_000_000
"""The most numbers that an encoding holds, and that are computed to try each cell by itself."""
_AT_ONCE: Final = 8_000_000
"""The most numbers that are passed to the preprocessing at once, or returned by it."""
SEED: Final = 0
"""Fixed, so that whether a model is accepted depends on the model and the training rows alone."""

T = TypeVar("T")


class StructureError(ModelError):
    """The model does not have the structure that was asked for; the message says what is in the way."""


def once(goal: Goal, key: str, learn: Callable[[], T]) -> T:
    """What `learn` returns, or the `StructureError` it raises, kept as long as the goal is."""
    found = goal.reader.structure
    if key not in found:
        try:
            found[key] = learn()
        except StructureError as error:
            found[key] = error
    if isinstance(found[key], StructureError):
        raise found[key]
    result: T = found[key]
    return result


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
        batch = self._reader.batch(rows)
        for step in self.steps:
            try:
                batch = step.transform(batch)
            except (Exception, SystemExit) as error:
                raise ModelError(
                    f"the step {type(step).__name__} of {self._reader.title} raised {type(error).__name__} when "
                    f"transforming {len(rows)} rows: {error}"
                ) from error
        return batch


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
    levels
        Per column of levels, what each adds to the coordinates in `places`, (K, m); empty for columns of numbers.
        Linear between ordered levels.
    special
        Per column, what each special code adds, in the schema's order, (S, p).
    missing
        Per column, what a missing cell adds, (d, p); NaN where the training rows have none and it is not fillable.
    places
        Per column, the coordinates that its levels add to, (m,); none for all p.
    unseen
        What a level adds that the schema does not have.
    """

    schema: Schema
    constant: np.ndarray
    slopes: np.ndarray
    levels: tuple[np.ndarray, ...]
    special: tuple[np.ndarray, ...]
    missing: np.ndarray
    places: tuple[np.ndarray, ...] = ()
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
            moves, places = _moves(transform, base, start, cells, None if projection is None else projection.weights)
        constant = _projected(start, projection)[0].copy()
        shape = len(schema), len(constant)
        slopes, missing = np.zeros(shape), np.full(shape, np.nan)
        levels, special = [], []
        for j, (feature, tried, move) in enumerate(zip(schema, cells, moves, strict=True)):
            at = places[j] if places else np.arange(len(constant))
            offset = np.zeros(len(at))
            if feature.numeric:  # a refused number shows in the verification
                slopes[j, at] = slope = np.nan_to_num((move[1] - move[0]) / (tried[1] - tried[0]))
                offset = np.nan_to_num(move[0] - slope * tried[0])
            if np.isnan(tried[-1]):
                missing[j] = 0.0
                missing[j, at] = move[-1] - offset
            constant[at] += offset
            levels.append(move[: len(feature.levels)])
            codes = np.zeros((len(feature.special) if feature.numeric else 0, len(constant)))
            codes[:, at] = move[2 : 2 + len(codes)] - offset
            special.append(codes)
        encoding = cls(schema, constant, slopes, tuple(levels), tuple(special), missing, places)
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
        tables = zip(self.slopes, self.special, self.missing, strict=True)
        result = np.array([(np.vstack(table) != 0).any(axis=0) for table in tables])
        for j, table in enumerate(self.levels):
            result[j, self._place(j)] |= (table != 0).any(axis=0)
        return result

    def _place(self, j: int) -> Any:
        """The coordinates that the levels of column j add to."""
        return self.places[j] if self.places else slice(None)

    def level_terms(self, j: int) -> np.ndarray:
        """What each level of column j adds, (K, p)."""
        result = np.zeros((len(self.levels[j]), self.width))
        result[:, self._place(j)] = self.levels[j]
        return result

    def filled(self, rows: np.ndarray) -> Encoding:
        """Without NaN: unknown levels are interpolated, other unknown cells are like the column's mean number."""
        means = [
            cells[known].mean() if feature.numeric and (known := ordinary(feature, cells)).any() else 0.0
            for feature, cells in zip(self.schema, rows.T, strict=True)
        ]
        typical = np.array(means)[:, None] * self.slopes
        return replace(
            self,
            levels=tuple(_interpolated(table) for table in self.levels),
            special=tuple(np.where(np.isnan(own), mean, own) for own, mean in zip(self.special, typical, strict=True)),
            missing=np.where(np.isnan(self.missing), typical, self.missing),
            unseen=0.0,
        )

    def term(self, j: int, cells: np.ndarray) -> np.ndarray:
        """c_j of these cells, (n, p); ordered levels may lie between two positions."""
        feature = self.schema.features[j]
        if feature.numeric:
            result = cells[:, None] * self.slopes[j]
        else:
            low, share = _segment(cells, len(feature.levels))
            added = self.levels[j][low]
            between = np.flatnonzero(share)
            added[between] += share[between, None] * (self.levels[j][low[between] + 1] - added[between])
            result = np.zeros((len(cells), self.width))
            result[:, self._place(j)] = added
            result[cells >= len(feature.levels)] = self.unseen
        for code, term in zip(feature.special, self.special[j], strict=True):
            result[cells == code] = term
        result[np.isnan(cells)] = self.missing[j]
        return np.asarray(result)

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """The coordinates of the rows, (n, p); those of a row do not depend on the rows beside it, to the last bit."""
        result = np.repeat(self.constant[None], len(rows), axis=0)
        for j in range(len(self.schema)):
            result += self.term(j, rows[:, j])
        return result

    def gradient(self, rows: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """The slope in each cell, (n, d), of a score whose gradient in the coordinates is `outer`, (n, p).

        Numbers are in original units, ordered levels in positions. Other cells have no slope: 0.
        """
        result = np.zeros(rows.shape)
        outer = np.ascontiguousarray(outer)  # NumPy then sums each row by itself, in one order
        for j, feature in enumerate(self.schema):
            slope = self.slopes[j]
            if feature.levels and feature.ordered:
                rises = np.diff(self.level_terms(j), axis=0)
                slope = np.vstack((rises, rises[-1:], slope))[_segment(rows[:, j], len(feature.levels))[0]]
            inner = (outer * slope).sum(axis=1)
            result[:, j] = np.where(ordinary(feature, rows[:, j]), inner, 0.0)
        return result


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
    return np.array([_base(feature, cells) for feature, cells in zip(schema, rows.T, strict=True)])


def _base(feature: Feature, cells: np.ndarray) -> float:
    known = cells[ordinary(feature, cells)]
    return float(known.min() if len(known) else cells[0])


def _projected(coordinates: Any, projection: Projection | None) -> np.ndarray:
    return dense(coordinates) if projection is None else projection(coordinates)


def _moves(
    transform: Transform, base: np.ndarray, start: Any, cells: list[np.ndarray], weights: np.ndarray | None
) -> tuple[list[np.ndarray], tuple[np.ndarray, ...]]:
    """What each cell of each column adds to the base row's coordinates `start`, (A, m), and `Encoding.places`."""
    columns = np.repeat(np.arange(len(cells)), [len(tried) for tried in cells])
    if len(columns) * max(start.shape[1], len(base)) > _MOST_NUMBERS:
        return _moves_at_once(transform, base, start, cells, weights)
    trials = np.repeat(base[None], len(columns), axis=0)
    trials[np.arange(len(columns)), columns] = np.concatenate(cells)
    result = np.full((len(trials), start.shape[1]), np.nan)  # NaN for rows that are refused, as for an unknown level
    for at, encoded in by_halves(lambda rows: dense(transform(rows)), trials)[0]:
        result[at] = encoded
    result -= dense(start)
    result = result if weights is None else result @ weights
    return np.split(result, np.flatnonzero(np.diff(columns)) + 1), ()


def _moves_at_once(
    transform: Transform, base: np.ndarray, start: Any, cells: list[np.ndarray], weights: np.ndarray | None
) -> tuple[list[np.ndarray], tuple[np.ndarray, ...]]:
    """As `_moves`, for coordinates that depend on one column each; those that do not show in the verification."""
    longest, d = max(len(tried) for tried in cells), len(base)
    tried = np.column_stack([np.resize(some, longest) for some in cells])
    bits = (np.arange(d) >> np.arange((d - 1).bit_length())[:, None]) & 1
    trials = np.concatenate((tried, *(np.where(bit, tried, base) for bit in bits)))
    changes = _changes(transform, trials, start)
    width = changes.shape[1]
    rounds = np.repeat(np.arange(len(bits) + 1), np.diff(changes.indptr[::longest]))
    changed = np.zeros((len(bits) + 1, width), dtype=bool)
    changed[rounds, changes.indices] = True
    source = np.where(changed[0], (changed[1:] << np.arange(len(bits))[:, None]).sum(axis=0), -1)
    if source.max(initial=-1) >= d:
        raise StructureError("many levels are encoded together with other columns, so their inputs cannot be read")
    if weights is not None:
        found = changes[:longest].tocoo()
        at = found.row * d + source[found.col]
        sums = [np.bincount(at, found.data * w[found.col], minlength=longest * d).reshape(-1, d) for w in weights.T]
        return [np.column_stack([some[: len(cells[j]), j] for some in sums]) for j in range(d)], ()
    order = np.argsort(source, kind="stable")
    places = np.split(order, np.searchsorted(source[order], np.arange(d)))[1:]
    size = sum(len(some) * len(place) for some, place in zip(cells, places, strict=True))
    if size > _MOST_NUMBERS:
        raise StructureError(
            f"{sum(map(len, cells)):,} cells with {width:,} inputs of the estimator are too many to read"
        )
    columns = changes[:longest].tocsc()
    return [columns[:, place][: len(some)].toarray() for some, place in zip(cells, places, strict=True)], tuple(places)


def _changes(transform: Transform, rows: np.ndarray, start: Any) -> csr_array:
    """The coordinates of rows less those of the base row, `start`, (n, p)."""
    size = max(_AT_ONCE // max(rows.shape[1], 0 if issparse(start) else start.shape[1]), 1)
    base, parts = _sparse(start), []
    for at in range(0, len(rows), size):
        try:
            some = _sparse(transform(rows[at : at + size]))
        except ModelError as error:
            raise StructureError(f"some levels are refused: {error}") from error
        parts.append(some - csr_array(np.ones((some.shape[0], 1))) @ base)
    result = csr_array(vstack(parts))
    result.eliminate_zeros()
    return result


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
