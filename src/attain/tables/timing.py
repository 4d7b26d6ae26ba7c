"""How long a change takes, and where the clocks of a row stand after it.

An answer takes T ≥ 0 whole months, one T for all features. A change of a feature with a pace p takes at least |Δ| / p
months, and a clock of rate r that stands at c goes on to

    value(T) = max(c, ⌊c + r T⌋),        ⌊ ⌋ on the grid of its column.

The last of ordered levels has no end: a clock that has come there stays. T is no column of its own. The *leading* clock
of a row, of those that can advance and are not immutable the one that shows the shortest time, says how long: a search
moves it like any number, and all others are computed. So

    T = max(least T with value(T) ≥ the leading clock's cell, what the paced changes need).
"""

from __future__ import annotations

import math

import numpy as np

from attain.schema.schema import Schema
from attain.tables.cells import ordinary
from attain.tables.grid import on_grid_below, on_grid_beyond

_ROUNDING = 1e-6
"""The share of a month that rounding may add."""


class Timing:
    """The clocks and paces of a schema.

    Attributes
    ----------
    clocks
        The columns of clocks: numbers first, and those that show the shortest time.
    paces
        The columns whose changes take time, each with its pace.
    """

    def __init__(self, schema: Schema) -> None:
        self._features = schema.features
        numeric = [feature.numeric for feature in schema]
        self.clocks = tuple(sorted(schema.clocks, key=lambda j: (not numeric[j], self._shortest(j), j)))
        self.paces = [(j, feature.pace) for j, feature in enumerate(schema) if feature.pace is not None]

    def _shortest(self, j: int) -> float:
        """The months that the clock of column j needs for one step."""
        return (self._step(j) or 0.0) / self._rate(j)

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

    def leads(self, factuals: np.ndarray) -> np.ndarray:
        """Which of them says how long an answer takes, (n, clocks): the first of each row that runs and is searched."""
        runs = self.runs(factuals) & np.array([not self._features[j].immutable for j in self.clocks], dtype=bool)
        return np.asarray(runs & (np.cumsum(runs, axis=1) == 1))

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
        """For how many months no clock of a row exceeds its limit in `high` (n, d) or comes to a special code, (n,)."""
        longest = np.full(len(factuals), math.inf)
        for j, runs in zip(self.clocks, self.runs(factuals).T, strict=True):
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

    def needed(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The months that the changes of features with a pace need, (n,)."""
        needed = np.zeros(len(rows))
        for j, pace in self.paces:
            feature, at = self._features[j], np.flatnonzero(rows[:, j] != factuals[:, j])
            at = at[ordinary(feature, rows[at, j]) & ordinary(feature, factuals[at, j])]
            size = np.abs(rows[at, j] - factuals[at, j]) if feature.ordered else np.ones(len(at))
            needed[at] = np.maximum(needed[at], _whole(size / pace))
        return needed

    def asked(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The months that the leading clock of each row shows, (n,)."""
        asked = np.zeros(len(rows))
        for j, leads in zip(self.clocks, self.leads(factuals).T, strict=True):
            at = np.flatnonzero(leads & (rows[:, j] != factuals[:, j]))
            at = at[ordinary(self._features[j], rows[at, j])]
            asked[at] = self._least(j, factuals[at, j], rows[at, j])
        return asked

    def latest(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The most months for which the leading clock of each row stands where it does, (n,); no limit without one."""
        latest = np.full(len(rows), math.inf)
        for j, leads in zip(self.clocks, self.leads(factuals).T, strict=True):
            latest[leads] = self._last(j, factuals[leads, j], rows[leads, j])
        return latest

    def months(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """How long it takes to become each row, (n,)."""
        return np.maximum(self.asked(rows, factuals), self.needed(rows, factuals))

    def in_step(self, rows: np.ndarray, factuals: np.ndarray, months: np.ndarray) -> np.ndarray:
        """The rows with all clocks where they stand after some months."""
        rows = rows.copy()
        rows[:, list(self.clocks)] = self.advanced(factuals, months)
        return rows

    def waiting(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """Which leading clocks (n, clocks) show more months than the changes need: rows that wait."""
        return self.leads(factuals) & (self.asked(rows, factuals) > self.needed(rows, factuals))[:, None]


def _whole(months: np.ndarray) -> np.ndarray:
    """Rounded up to whole months, but for rounding errors."""
    return np.ceil(months - _ROUNDING * np.maximum(1.0, np.abs(months))) + 0.0  # no negative zeros
