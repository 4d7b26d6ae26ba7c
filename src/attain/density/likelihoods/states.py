"""A column of numbers as a finite number of states, and the density of a cell within its state.

First come the special codes, then the ordinary values in ascending order: one state for each *atom*, a value that many
rows share, and intervals of about equally many rows between them. On either side of the values seen there is a tail, up
to the feature's bounds.

The base measure of a column:

- special codes and counts: counting measure, so the density is a probability;
- other numbers with a step: length. A value stands for an interval of one step around it, so the density is the
  probability of the value divided by the step;
- numbers without a step: length, plus counting measure on the atoms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.core.errors import DataError
from attain.schema import Feature
from attain.schema.feature import ordinary
from attain.tables import is_on_grid, on_grid

ATOM_ROWS, ATOM_SHARE = 5, 1e-3
"""A value is an atom if at least this many rows, and this share of them, have it."""
MOST_ATOMS, INTERVALS = 128, 64
"""How many atoms a column has at most, and about how many intervals for the other values."""
_ROWS_PER_INTERVAL = 10
_OUTER = 0.05
"""The scale of a tail is the mean excess over the outermost share of the values."""
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True, eq=False)
class States:
    """The states of one column."""

    feature: Feature
    step: float
    """The distance between values; 0 where values are continuous."""
    starts: FloatArray
    """Where the ordinary states begin (m,), ascending; on a grid half a step below their first value."""
    sizes: FloatArray
    """What an ordinary state spans (m,): its number of values, or its length; 0 is an atom of a continuous column."""
    tails: FloatArray
    """The scales of the lower and the upper tail (2,); 0 where there is none."""

    @classmethod
    def fit(cls, feature: Feature, cells: FloatArray) -> Self:
        """The states of a column from training cells (n,)."""
        values = cells[ordinary(feature, cells)]
        if np.isinf(values).any():
            raise DataError(f"column {feature.name!r} has infinite values; make them missing, or a special code")
        if not len(values):
            values = np.array([next((side for side in feature.bounds if side is not None), 0.0)])
        step = feature.step if feature.step is not None and is_on_grid(values, feature.step).all() else 0.0
        return cls(feature, step, *_partition(values, step, feature))

    @property
    def first(self) -> int:
        """The first ordinary state."""
        return len(self.feature.special)

    @property
    def count(self) -> int:
        """The number of states."""
        return self.first + len(self.starts)

    def encode(self, cells: FloatArray) -> IndexArray:
        """The state of each cell (n,), none of which is missing."""
        found = self.first + np.clip(np.searchsorted(self.starts, cells, side="right") - 1, 0, None)
        for state, code in enumerate(self.feature.special):
            found[cells == code] = state
        return found

    def log_within(self, cells: FloatArray, states: IndexArray) -> FloatArray:
        """The log-density of each cell given its state, with respect to the base measure; −inf outside the bounds."""
        place = states - self.first
        result = np.where(place >= 0, self._log_uniform[np.clip(place, 0, None)], 0.0)
        for side, inside in self._in_tails(states):
            result[inside] = self._log_tail(side, cells[inside])
        (low, high), margin = _limits(self.feature), self.step / 2
        # the comparison is with the edge of the last interval of one step: values may lie off the grid
        result[(place >= 0) & ((cells < low - margin) | (cells > high + margin))] = -np.inf
        return result

    def draw(self, states: IndexArray, u: FloatArray) -> FloatArray:
        """A cell of each state, for uniform numbers u in [0, 1): the value with the share u of the state below it."""
        cells = np.full(len(states), np.nan)
        for state, code in enumerate(self.feature.special):
            cells[states == state] = code
        usual = states >= self.first
        for side, inside in self._in_tails(states):
            cells[inside] = self._tail(side, u[inside])
            usual &= ~inside
        cells[usual] = self._uniform(states[usual] - self.first, u[usual])
        return cells

    @cached_property
    def _log_unit(self) -> float:
        """log of the base measure of one value on the grid."""
        return 0.0 if self.feature.kind == "count" or not self.step else float(np.log(self.step))

    @cached_property
    def _log_uniform(self) -> FloatArray:
        return -np.log(np.where(self.sizes > 0, self.sizes, 1.0)) - self._log_unit

    def _uniform(self, place: IndexArray, u: FloatArray) -> FloatArray:
        if not self.step:
            return self.starts[place] + u * self.sizes[place]
        return on_grid(self.starts[place] + self.step * (0.5 + np.floor(u * self.sizes[place])), self.step)

    def _in_tails(self, states: IndexArray) -> Iterator[tuple[int, BoolArray]]:
        """Each tail that some rows are in, 0 the lower and 1 the upper one, and which rows those are."""
        for side, state in enumerate((self.first, self.count - 1)):
            inside: BoolArray = states == state
            if self.tails[side] > 0 and inside.any():
                yield side, inside

    def _edge(self, side: int) -> float:
        """Where a tail begins: the end of the ordinary values on that side."""
        return float(self.starts[1] if side == 0 else self.starts[-1])

    def _log_tail(self, side: int, cells: FloatArray) -> FloatArray:
        """A truncated exponential, or geometric on a grid, from the edge outwards."""
        scale, size = self.tails[side], self.sizes[-side]
        away = np.abs(cells - self._edge(side))
        if not self.step:
            return -away / scale - np.log(scale) - _log_share(size / scale)
        rate, place = self.step / scale, np.floor(away / self.step)
        return -place * rate + _log_share(rate) - _log_share(size * rate) - self._log_unit

    def _tail(self, side: int, u: FloatArray) -> FloatArray:
        """The value with the share u of its tail below it."""
        scale, size = self.tails[side], self.sizes[-side]
        outwards = 1.0 if side else -1.0
        nearer = u if side else np.minimum(1 - u, _BELOW_ONE)
        away = -np.log1p(nearer * np.expm1(-size * (self.step or 1.0) / scale)) * scale
        if not self.step:
            return np.clip(self._edge(side) + outwards * away, *_limits(self.feature))
        place = np.minimum(np.floor(away / self.step), size - 1)
        return on_grid(self._edge(side) + outwards * self.step * (place + 0.5), self.step)


def _limits(feature: Feature) -> tuple[float, float]:
    """The bounds of a feature, infinite where it has none."""
    low, high = feature.bounds
    return -np.inf if low is None else low, np.inf if high is None else high


def _log_share(x: float) -> float:
    """log(1 − e⁻ˣ)."""
    return float(np.log(-np.expm1(-x)))


def _partition(values: FloatArray, step: float, feature: Feature) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`starts`, `sizes` and `tails` for the ordinary values of a column."""
    distinct, counts = np.unique(values, return_counts=True)
    atoms = distinct[_frequent(counts, len(values))] if len(distinct) > 1 else distinct
    rest = values[~np.isin(values, atoms)]
    cuts = _cuts(rest, step)
    low, high = float(distinct[0]), float(distinct[-1])
    if step:
        edges = np.concatenate([[low - step / 2, high + step / 2], atoms - step / 2, atoms + step / 2, cuts - step / 2])
        edges = on_grid(2 * edges / step, 1.0) * (step / 2)
        starts = np.unique(edges)
        sizes = np.rint(np.diff(starts) / step)
        starts, last = starts[:-1], float(starts[-1])
    else:
        after = np.nextafter(atoms, np.inf)
        starts = np.unique(np.concatenate([[low], atoms, after, cuts]))
        last = float(np.nextafter(high, np.inf))
        starts = starts[starts < last]
        sizes = np.diff(np.append(starts, last))
        sizes[np.isin(starts, atoms)] = 0.0
        kept = (sizes > 0) | np.isin(starts, atoms)
        starts, sizes = starts[kept], sizes[kept]
    return _with_tails(starts, sizes, last, values, step, feature)


def _frequent(counts: IndexArray, rows: int) -> BoolArray:
    """Which distinct values are atoms: frequent ones, the most frequent where there are too many."""
    frequent: BoolArray = counts >= max(ATOM_ROWS, ATOM_SHARE * rows)
    if frequent.sum() > MOST_ATOMS:
        frequent[np.argsort(-counts, kind="stable")[MOST_ATOMS:]] = False
    return frequent


def _cuts(values: FloatArray, step: float) -> FloatArray:
    """Values at which intervals begin, so that each has about the same number of rows."""
    intervals = int(np.clip(len(values) // _ROWS_PER_INTERVAL, 1, INTERVALS))
    if len(values) == 0:
        return np.zeros(0)
    method: Literal["higher", "midpoint"] = "higher" if step else "midpoint"
    return np.unique(np.quantile(values, np.arange(1, intervals) / intervals, method=method))


def _with_tails(
    starts: FloatArray, sizes: FloatArray, last: float, values: FloatArray, step: float, feature: Feature
) -> tuple[FloatArray, FloatArray, FloatArray]:
    (low, high), tails = _limits(feature), np.zeros(2)
    rooms = starts[0] - (low - step / 2), (high + step / 2) - last
    for side, room in enumerate(rooms):
        size = np.floor(room / step + 1e-6) if step else room
        if size <= 0 or (not step and size <= 1e-9 * max(1.0, abs(last))):
            continue
        tails[side] = _tail_scale(values if side else -values, step)
        begin = starts[0] - size * (step or 1.0)
        starts = np.append(starts, last) if side else np.insert(starts, 0, begin)
        sizes = np.append(sizes, size) if side else np.insert(sizes, 0, size)
    return starts, sizes, tails


def _tail_scale(values: FloatArray, step: float) -> float:
    """The mean excess of the values over their upper 5 %: the scale of an exponential tail."""
    outer = np.quantile(values, 1 - _OUTER)
    excess = (values[values >= outer] - outer).mean()
    spread = float(np.ptp(values)) or float(max(1.0, np.abs(values).max()))
    return float(max(excess, step, 1e-3 * spread))
