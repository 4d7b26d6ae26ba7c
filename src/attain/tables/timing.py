"""How long a change takes, and where the clocks of a row stand after it.

An answer takes T ≥ 0 whole months, one T for all features. A change of a feature with a pace p takes at least |Δ| / p
months, and a clock of rate r that stands at c goes on to

    value(T) = max(c, ⌊c + r T⌋),        ⌊ ⌋ on the grid of its column.

The last of ordered levels has no end: a clock that has come there stays. T is no column, and no clock is searched: T is
given, and all clocks follow from it. A row takes the least T that is enough for its paced changes, and after which no
clock is behind its cell.
"""

from __future__ import annotations

import math

import numpy as np

from attain.core.arrays import unchanged
from attain.engine.cells import on_grid, spacing
from attain.schema.feature import ordinary
from attain.schema.schema import Schema

_ROUNDING = 1e-9
"""The share of a month that rounding may add."""
_APART = 1e-6
"""The share of the distance between grid values that rounding may lose."""
_CENTURY = 1200.0


class Timing:
    """The clocks and paces of a schema.

    Attributes
    ----------
    clocks
        The columns of clocks.
    paces
        The columns whose changes take time, each with its pace.
    """

    def __init__(self, schema: Schema) -> None:
        self._features = schema.features
        self.clocks = schema.clocks
        self._counted = [j for j in self.clocks if not schema.features[j].immutable]
        self.paces = [(j, feature.pace) for j, feature in enumerate(schema) if feature.pace is not None]

    def _step(self, j: int) -> float | None:
        return self._features[j].step if self._features[j].numeric else 1.0

    def _top(self, j: int) -> float:
        """The last level of column j; no limit for numbers."""
        return math.inf if self._features[j].numeric else len(self._features[j].levels) - 1.0

    def _rate(self, j: int) -> float:
        rate = self._features[j].clock
        assert rate is not None
        return rate

    def runs(self, factuals: np.ndarray) -> np.ndarray:
        """Which clocks (columns, in the order of `clocks`) have a value that can advance, (n, clocks)."""
        runs = np.zeros((len(factuals), len(self.clocks)), dtype=bool)
        for k, j in enumerate(self.clocks):
            runs[:, k] = ordinary(self._features[j], factuals[:, j]) & (factuals[:, j] < self._top(j))
        return runs

    def _value(self, j: int, own: np.ndarray, months: np.ndarray) -> np.ndarray:
        """Where the clock of column j stands after some months."""
        later = np.maximum(own, on_grid_below(own + self._rate(j) * months, self._step(j)))
        return np.where(months > 0, np.minimum(later, self._top(j)), own)

    def _least(self, j: int, own: np.ndarray, value: np.ndarray) -> np.ndarray:
        """The months after which the clock of column j stands at `value` or beyond."""
        with np.errstate(invalid="ignore"):
            months = np.maximum(_whole((value - own) / self._rate(j)), 0.0)
        # rounding may be off by one
        months = np.where(self._value(j, own, months) < value, months + 1, months)
        return np.where((months > 0) & (self._value(j, own, months - 1) >= value), months - 1, months)

    def _last(self, j: int, own: np.ndarray, value: np.ndarray) -> np.ndarray:
        """The months after which the clock of column j has not passed `value` yet, at most."""
        months = self._least(j, own, on_grid_beyond(value, self._step(j))) - 1
        months = np.where(self._value(j, own, months) > value, months - 1, months)
        return np.where(value >= self._top(j), math.inf, months)

    def longest(self, factuals: np.ndarray, high: np.ndarray) -> np.ndarray:
        """For how many months no clock of a row exceeds its limit in `high` (n, d) or comes to a special code, (n,).

        A number without a limit goes on for a century.
        """
        longest = np.full(len(factuals), math.inf)
        for j, runs in zip(self.clocks, self.runs(factuals).T, strict=True):
            if self._features[j].numeric:
                longest[runs] = np.minimum(longest[runs], _CENTURY)
            at = np.flatnonzero(runs & np.isfinite(high[:, j]))
            own = factuals[at, j]
            longest[at] = np.minimum(longest[at], self._last(j, own, np.maximum(high[at, j], own)))
            for code in self._features[j].special:
                at = np.flatnonzero(runs & (factuals[:, j] < code))
                longest[at] = np.minimum(longest[at], self._least(j, factuals[at, j], np.full(len(at), code)) - 1)
        return np.maximum(longest, 0.0)

    def advanced(self, factuals: np.ndarray, months: np.ndarray) -> np.ndarray:
        """Where the clocks of rows stand after some months, (n, clocks)."""
        cells = factuals[:, list(self.clocks)]
        for k, (j, runs) in enumerate(zip(self.clocks, self.runs(factuals).T, strict=True)):
            cells[runs, k] = self._value(j, cells[runs, k], months[runs])
        return cells

    def reach(self, pace: float, months: np.ndarray) -> np.ndarray:
        """How far changes with a pace go in some months, rounding errors of `needed` included."""
        return np.asarray(pace * (months + _ROUNDING * np.maximum(1.0, months)))

    def needed(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The months that the changes of features with a pace need, (n,)."""
        needed = np.zeros(len(rows))
        for j, pace in self.paces:
            feature, at = self._features[j], np.flatnonzero(rows[:, j] != factuals[:, j])
            at = at[ordinary(feature, rows[at, j]) & ordinary(feature, factuals[at, j])]
            size = np.abs(rows[at, j] - factuals[at, j]) if feature.ordered else np.ones(len(at))
            needed[at] = np.maximum(needed[at], _whole(size / pace))
        return needed

    def months(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """How long it takes to become each row, (n,)."""
        months = self.needed(rows, factuals)
        for j, runs in zip(self.clocks, self.runs(factuals).T, strict=True):
            at = np.flatnonzero(runs & (rows[:, j] > factuals[:, j]))
            at = at[ordinary(self._features[j], rows[at, j])]
            months[at] = np.maximum(months[at], self._least(j, factuals[at, j], rows[at, j]))
        return months

    def waits(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """Which rows take longer than their changes need, (n,), for a clock that is not immutable."""
        clocks = self._counted
        advanced = ~np.asarray(unchanged(rows[:, clocks], factuals[:, clocks]).all(axis=1))
        return advanced & (self.months(rows, factuals) > self.needed(rows, factuals))

    def in_step(self, rows: np.ndarray, months: np.ndarray) -> np.ndarray:
        """The rows with all clocks where they stand after some months."""
        rows = rows.copy()
        rows[:, list(self.clocks)] = self.advanced(rows, months)
        return rows


def on_grid_below(values: np.ndarray, step: float | None) -> np.ndarray:
    """The largest grid value that is not above each value, but for rounding errors."""
    nearest, apart = on_grid(values, step), spacing(values, step)
    with np.errstate(invalid="ignore"):
        return np.where(nearest > values + _APART * apart, on_grid(nearest - apart, step), nearest)


def on_grid_beyond(values: np.ndarray, step: float | None) -> np.ndarray:
    """The grid value that follows each value."""
    below = on_grid_below(values, step)
    return on_grid(below + spacing(below, step), step)


def _whole(months: np.ndarray) -> np.ndarray:
    """Months rounded up, without rounding errors."""
    return np.ceil(months - _ROUNDING * np.maximum(1.0, np.abs(months))) + 0.0  # no negative zeros
