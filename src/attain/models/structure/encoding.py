"""What a model's preprocessing makes of each cell, learned by asking it and not by reading its steps.

Scalers, imputers, one-hot and ordinal encoders, column transformers and linear projections all turn a row into a sum of
contributions, one a cell: a number contributes in proportion to itself, a level, a special code or a missing cell
contributes a fixed vector. `Encoding.learn` finds the contributions from a few rows and then makes sure, on real ones,
that their sum is what the preprocessing gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from attain.core.errors import ModelError
from attain.schema import Feature, Schema
from attain.tables import ordinary

_TOLERANCE = 1e-7
_CHECKED_ROWS = 256


@dataclass(frozen=True, eq=False)
class Encoding:
    """Rows of the matrix as p coordinates: constant + Σ_j contribution of cell j.

    Attributes
    ----------
    schema
        What the columns are.
    constant
        What every row has, (p,).
    origin, slopes
        A number x in column j contributes (x − origin[j]) · slopes[j]; (d,) and (d, p).
    states
        Per column of levels the contribution of each level, (K, p). Between two ordered levels it is a straight line.
    marks
        Per column the contribution of each special code, and of a missing cell under NaN.
    """

    schema: Schema
    constant: np.ndarray
    origin: np.ndarray
    slopes: np.ndarray
    states: dict[int, np.ndarray]
    marks: dict[int, dict[float, np.ndarray]]

    @classmethod
    def learn(cls, transform: Callable[[np.ndarray], np.ndarray], schema: Schema, rows: np.ndarray) -> Encoding:
        """The encoding that `transform` computes; `rows` are real ones, from which the values asked about are taken.

        Raises a `ModelError` where it is no sum of contributions.
        """
        base = rows[0].copy()
        trials: list[tuple[int, float]] = []
        for j, feature in enumerate(schema):
            values = _values_to_ask(feature, rows[:, j])
            base[j] = values[0] if len(values) else rows[0, j]
            trials += [(j, value) for value in values]
        asked = np.repeat(base[None, :], len(trials) + 1, axis=0)
        for i, (j, value) in enumerate(trials, start=1):
            asked[i, j] = value
        answers = transform(asked)
        constant, moves = answers[0], answers[1:] - answers[0]
        encoding = cls(schema, constant, np.nan_to_num(base), np.zeros((len(schema), len(constant))), {}, {})
        for (j, value), move in zip(trials, moves, strict=True):
            encoding._note(j, value, move)
        for j, table in encoding.states.items():
            _bridge(table, {int(value) for column, value in trials if column == j and value == value})
        checked = rows[:_CHECKED_ROWS]
        # columns shuffled one by one meet in pairs that real rows may not have
        random = np.random.default_rng(0)
        shuffled = np.column_stack([random.permutation(column) for column in checked.T])
        encoding._verify(transform, np.concatenate((checked, shuffled)))
        return encoding

    def _note(self, j: int, value: float, move: np.ndarray) -> None:
        feature = self.schema.features[j]
        if np.isnan(value) or value in feature.special:
            self.marks.setdefault(j, {})[value] = move
        elif not feature.numeric:
            self.states.setdefault(j, np.full((len(feature.levels), len(move)), np.nan))[int(value)] = move
        elif value != self.origin[j]:
            self.slopes[j] = move / (value - self.origin[j])

    def _verify(self, transform: Callable[[np.ndarray], np.ndarray], rows: np.ndarray) -> None:
        expected, got = transform(rows), self.encode(rows)
        size = np.maximum(np.abs(expected).max(axis=0, initial=1.0), 1.0)
        if not np.all(np.abs(expected - got) <= _TOLERANCE * size):
            raise ModelError(
                "the model's preprocessing bends or mixes columns (as a QuantileTransformer, PolynomialFeatures or a "
                "function of several columns does), so that its slope is not known; scalers, imputers and encoders of "
                "single columns, and linear projections, are fine"
            )

    @property
    def width(self) -> int:
        return len(self.constant)

    def folded(self, weights: np.ndarray, intercept: np.ndarray) -> Encoding:
        """The encoding followed by a linear map: weights (p, m) and intercept (m,)."""
        return replace(
            self,
            constant=self.constant @ weights + intercept,
            slopes=self.slopes @ weights,
            states={j: table @ weights for j, table in self.states.items()},
            marks={j: {value: move @ weights for value, move in marks.items()} for j, marks in self.marks.items()},
        )

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """The coordinates of the rows, (n, p); ordered levels may lie between two positions."""
        numbers = np.zeros(rows.shape)
        extra = np.zeros((len(rows), self.width))
        for j, feature in enumerate(self.schema):
            cells = rows[:, j]
            known = ordinary(feature, cells)
            if feature.numeric:
                numbers[known, j] = cells[known] - self.origin[j]
            elif j in self.states:
                low, share = _segment(cells[known], len(feature.levels))
                table = self.states[j]
                high = np.minimum(low + 1, len(table) - 1)
                extra[known] += table[low] * (1 - share)[:, None] + table[high] * share[:, None]
            for value, move in self.marks.get(j, {}).items():
                extra[np.isnan(cells) if np.isnan(value) else cells == value] += move
        return np.asarray(self.constant + _product(numbers, self.slopes) + extra)

    def pulled(self, rows: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The slope in each cell, (n, d), of a score whose gradient in the coordinates is given, (n, p).

        Numbers are in original units, ordered levels in positions. Other cells have no slope: 0.
        """
        result = np.zeros(rows.shape)
        numeric = [j for j, feature in enumerate(self.schema) if feature.numeric]
        result[:, numeric] = _product(gradient, self.slopes[numeric].T)
        for j, feature in enumerate(self.schema):
            known = ordinary(feature, rows[:, j])
            result[~known, j] = 0.0
            if j in self.states and feature.ordered and len(feature.levels) > 1:
                low, _ = _segment(rows[known, j], len(feature.levels))
                rise = np.diff(self.states[j], axis=0)[np.minimum(low, len(feature.levels) - 2)]
                result[known, j] = (gradient[known] * rise).sum(axis=1)
        return result


def _values_to_ask(feature: Feature, cells: np.ndarray) -> list[float]:
    """Real cells whose contributions say all: the range of a number, each level, each special code, missing."""
    known = cells[ordinary(feature, cells)]
    if feature.numeric:
        values = [known.min(), known.max()] if known.size and known.min() < known.max() else [*known[:1]]
    else:
        values = [*np.unique(known)]
    values += [code for code in feature.special if (cells == code).any()]
    return [float(value) for value in values] + ([np.nan] if np.isnan(cells).any() else [])


def _bridge(table: np.ndarray, seen: set[int]) -> None:
    """Levels that no real row has contribute what the seen ones beside them would, drawn with straight lines."""
    positions = sorted(seen)
    for column in table.T:
        column[:] = np.interp(np.arange(len(table)), positions, column[positions])


def _segment(cells: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray]:
    clipped = np.clip(cells, 0, levels - 1)
    low = np.floor(clipped).astype(np.intp)
    return low, clipped - low


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left @ right; for a few columns row by row, so that a row's last bits do not depend on the rows beside it."""
    if right.shape[1] > 4:
        return np.asarray(left @ right)
    return np.stack([(left * right[:, k]).sum(axis=1) for k in range(right.shape[1])], axis=1)
