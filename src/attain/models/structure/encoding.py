"""What a pipeline's preprocessing makes of each cell, learned by running it rather than by reading its steps.

Scalers, imputers, one-hot and ordinal encoders, column transformers and linear projections map a row x of d cells to
p coordinates that are a sum over cells:

    z(x) = constant + Σ_j c_j(x_j),    c_j(x) = x · slopes[j] for a number, a fixed vector for any other cell.

`Encoding.learn` reads the terms off rows that differ in one cell, and verifies the sum on real rows: it is exact, or
refused. Only the pipeline's own `transform` steps run here. No prediction is asked for, so nothing is counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from attain.core.errors import ModelError
from attain.models.goal import GoalLike, probe_rows
from attain.models.reader import Reader, by_halves
from attain.models.sklearn import unwrapped
from attain.schema import Feature, Schema
from attain.tables import ordinary

Transform: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Rows of the matrix, (n, d), to coordinates, (n, p)."""

_TOLERANCE: Final = 1e-7
"""How far the sum may be from the preprocessing, relative to the largest value of each coordinate."""
_CHECKED_ROWS: Final = 256
_MOST_NUMBERS: Final = 50_000_000
"""The most numbers that are computed to learn an encoding: each level is tried by itself, and makes a row of inputs."""
SEED: Final = 0
"""Fixed, so that whether a model is accepted depends on the model and the training rows alone."""

T = TypeVar("T")


class StructureError(ModelError):
    """The model does not have the structure that was asked for; the message says what is in the way."""


def once(goal: GoalLike, key: str, learn: Callable[[], T]) -> T:
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


class Preprocessing:
    """The steps of a model before the estimator that decides, called with rows of the matrix; and that estimator."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.steps, self.estimator = unwrapped(reader.model.model)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        if not self.steps:
            return dense(self._reader.array(rows))
        batch = self._reader.batch(rows)
        for step in self.steps:
            try:
                batch = step.transform(batch)
            except (Exception, SystemExit) as error:
                raise ModelError(
                    f"the step {type(step).__name__} of {self._reader.title} raised {type(error).__name__} when "
                    f"transforming {len(rows)} rows: {error}"
                ) from error
        return dense(batch)


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
        Per column of levels, what each adds, (K, p); empty for columns of numbers. Linear between ordered levels.
    special
        Per column, what each special code adds, in the schema's order, (S, p).
    missing
        Per column, what a missing cell adds, (d, p); NaN where the training rows have none and it is not fillable.
    unseen
        What a level adds that the schema does not have.
    """

    schema: Schema
    constant: np.ndarray
    slopes: np.ndarray
    levels: tuple[np.ndarray, ...]
    special: tuple[np.ndarray, ...]
    missing: np.ndarray
    unseen: float = np.nan

    @classmethod
    def learn(cls, transform: Transform, schema: Schema, rows: np.ndarray) -> Encoding:
        """The encoding that `transform` computes; `rows` are training rows.

        Raises a `StructureError` where it is not a sum over cells.
        """
        cells = [_cells_to_try(feature, rows[:, j]) for j, feature in enumerate(schema)]
        base = base_row(schema, rows)
        columns = np.repeat(np.arange(len(schema)), [len(tried) for tried in cells])
        constant = transform(base[None])[0].copy()
        if len(columns) * max(len(constant), len(schema)) > _MOST_NUMBERS:
            raise StructureError(
                f"{len(columns):,} cells to try and {len(constant):,} inputs of the estimator are too many to be read"
            )
        trials = np.repeat(base[None], len(columns), axis=0)
        trials[np.arange(len(columns)), columns] = np.concatenate(cells)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that a level is unknown is what is to be learned
            moves = _where_accepted(transform, trials, len(constant)) - constant
        slopes, missing = np.zeros((len(schema), len(constant))), np.full((len(schema), len(constant)), np.nan)
        levels, special = [], []
        for j, feature in enumerate(schema):
            tried, move = cells[j], moves[columns == j]
            offset = np.zeros(len(constant))
            if feature.numeric:  # a refused number shows in the verification
                slopes[j] = np.nan_to_num((move[1] - move[0]) / (tried[1] - tried[0]))
                offset = np.nan_to_num(move[0] - slopes[j] * tried[0])
            if np.isnan(tried[-1]):
                missing[j] = move[-1] - offset
            constant += offset
            levels.append(move[: len(feature.levels)])
            special.append((move[2 : 2 + len(feature.special)] if feature.numeric else move[:0]) - offset)
        encoding = cls(schema, constant, slopes, tuple(levels), tuple(special), missing)
        real = probe_rows(rows, _CHECKED_ROWS)
        # columns shuffled one by one meet in pairs that real rows may not have
        encoding.verify(transform, np.concatenate((real, np.random.default_rng(SEED).permuted(real, axis=0))))
        return encoding

    def verify(self, transform: Transform, rows: np.ndarray) -> None:
        """Raises a `StructureError` where the sum of some row is not what `transform` computes."""
        expected = transform(rows)
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
        tables = zip(self.slopes, self.levels, self.special, self.missing, strict=True)
        return np.array([(np.vstack(table) != 0).any(axis=0) for table in tables])

    def compose_linear(self, weights: np.ndarray, intercept: np.ndarray) -> Encoding:
        """The encoding followed by z ↦ z · weights + intercept, with weights (p, m) and intercept (m,)."""
        return replace(
            self,
            constant=self.constant @ weights + intercept,
            slopes=self.slopes @ weights,
            levels=tuple(table @ weights for table in self.levels),
            special=tuple(table @ weights for table in self.special),
            missing=self.missing @ weights,
        )

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
            result = self.levels[j][low]
            between = np.flatnonzero(share)
            result[between] += share[between, None] * (self.levels[j][low[between] + 1] - result[between])
            result[cells >= len(feature.levels)] = self.unseen
        for code, added in zip(feature.special, self.special[j], strict=True):
            result[cells == code] = added
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
                rises = np.diff(self.levels[j], axis=0)
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


def _where_accepted(transform: Transform, rows: np.ndarray, width: int) -> np.ndarray:
    """`transform` of each row; NaN for rows that it refuses, such as those with a level it was not fitted on."""
    result = np.full((len(rows), width), np.nan)
    for at, encoded in by_halves(transform, rows)[0]:
        result[at] = encoded
    return result


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
