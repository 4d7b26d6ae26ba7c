"""Which values of a single column meet a goal, all other cells as they are: found for all columns of a row at once.

A compiled score of one sum Σ_t f_t(x) is a linear model's or that of trees. Changing one cell changes few of its terms:
in a linear model one, in a tree none but what is behind the nodes on that column. So the sums along the grids of all
columns cost about as much as a few single rows, where asking about each value would cost as many as there are values.

Sums are those of a search for what to ask about: rounded otherwise than the score itself, never what decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from attain.core.compiled import kernels
from attain.models.goal import Goal, GoalLike
from attain.models.structure.compiled import CellSum, LinkedSums
from attain.models.structure.compiled_trees import KERNELS, TreeSum

MOST_VALUES: Final = 62
"""The most values of a column: each is a bit of an integer."""
_LARGEST: Final = 1e12
"""Sums whose link is looked for are smaller than this."""
_CELLS_AT_ONCE: Final = 1_000_000
"""How many entries the NumPy path follows at once: rows times trees times columns."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The values of f columns, G at most.

    Attributes
    ----------
    columns
        Their positions, (f,).
    values
        The values of each, (f, G); NaN behind the last.
    """

    columns: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray, values: Sequence[np.ndarray]) -> Grid:
        """The grid of some columns with their values."""
        table = np.full((len(columns), max(map(len, values), default=0)), np.nan)
        for k, some in enumerate(values):
            table[k, : len(some)] = some
        return cls(columns, table)


@dataclass(frozen=True, eq=False)
class LinearSweep:
    """Sums of a linear model along a grid; `terms` (f, G) are those of its values."""

    sums: CellSum
    grid: Grid
    terms: np.ndarray

    @classmethod
    def of(cls, sums: CellSum, grid: Grid) -> LinearSweep:
        """The sums along a grid."""
        cells = np.zeros((grid.values.shape[1], len(sums.slopes)))
        cells[:, grid.columns] = grid.values.T
        return cls(sums, grid, np.where(np.isnan(grid.values), np.nan, sums.cells(cells)[:, grid.columns].T))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The sum of each row with each value of each column, (n, f, G); NaN where there is none."""
        terms = self.sums.cells(rows)
        rest = (self.sums.constant + np.add.accumulate(terms, axis=1)[:, -1])[:, None] - terms[:, self.grid.columns]
        return np.asarray(rest[:, :, None] + self.terms)


@dataclass(frozen=True, eq=False)
class TreeSweep:
    """Sums of trees along a grid.

    Attributes
    ----------
    place
        The position of each column of the matrix in the grid, −1 for others, (d,).
    every
        A bit for each value of each column of the grid, (f,).
    right
        The values of its column that go to the second child of each node, as bits, (nodes,).
    """

    sums: TreeSum
    grid: Grid
    place: np.ndarray
    every: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, sums: TreeSum, grid: Grid) -> TreeSweep:
        """The sums along a grid."""
        states, nodes = sums.states, sums.nodes
        place, cells = np.full(len(states.numeric), -1), np.zeros((grid.values.shape[1], len(states.numeric)))
        place[grid.columns] = np.arange(len(grid.columns))
        cells[:, grid.columns] = grid.values.T
        state, known = states.of_cells(cells), ~np.isnan(grid.values)
        bits = np.int64(1) << np.arange(grid.values.shape[1])
        right = np.zeros(len(nodes), dtype=np.int64)
        for k, j in enumerate(grid.columns):
            at = np.flatnonzero(nodes[:, 0] == j)
            listed = state[:, j] >= 0
            side = cells[None, :, j] > sums.thresholds[at, 2, None]
            side[:, listed] = sums.sides[nodes[at, 2, None] + state[listed, j]]
            right[at] = (side & known[k]) @ bits
        return cls(sums, grid, place, known @ bits, right)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The sum of each row with each value of each column, (n, f, G); NaN where there is none."""
        sums, states = self.sums, self.sums.states
        result = np.empty((len(rows), *self.grid.values.shape))
        compiled = kernels(KERNELS)
        if compiled is not None:
            compiled.tree_sweeps(
                np.ascontiguousarray(rows),
                (states.numeric, states.first, states.codes, sums.refused),
                (sums.nodes, sums.thresholds, sums.sides, sums.roots, sums.value),
                sums.start[0],
                (self.place, self.every, self.right),
                result,
            )
            return result
        size = max(_CELLS_AT_ONCE // (len(sums.roots) * max(len(self.every), 1)), 1)
        for start in range(0, len(rows), size):
            result[start : start + size] = self._along(rows[start : start + size])
        return result

    def _along(self, rows: np.ndarray) -> np.ndarray:
        sums, trees, (f, g) = self.sums, len(self.sums.roots), self.grid.values.shape
        state = sums.states.of_cells(rows)
        own = sums.leaves(rows, state)
        tree, row, column = (part.ravel() for part in np.indices((trees, len(rows), f)))
        leaf, entry, bits = self._reached(rows, state, sums.roots[tree], row, column)
        moved = np.flatnonzero(leaf != own[row[entry], tree[entry]])
        moved = moved[np.argsort(entry[moved], kind="stable")]  # tree after tree
        leaf, entry, bits = leaf[moved], entry[moved], bits[moved]
        gained = sums.value[leaf, 0] - sums.value[own[row[entry], tree[entry]], 0]
        at, value = np.nonzero(bits[:, None] >> np.arange(g) & 1)
        result = np.zeros((len(rows), f, g))
        np.add.at(result, (row[entry[at]], column[entry[at]], value), gained[at])
        whole = sums.value[own, 0]
        whole[:, 0] += sums.start[0]
        result += np.add.accumulate(whole, axis=1)[:, -1, None, None]
        result[:, np.isnan(self.grid.values)] = np.nan
        result[sums.unknown(state)] = np.nan
        return result

    def _reached(
        self, rows: np.ndarray, state: np.ndarray, node: np.ndarray, row: np.ndarray, column: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The leaves that values of a column of the grid reach, the entry (row and column) of each, and the values."""
        entry, bits, done = np.arange(len(node)), self.every[column], []
        while True:
            inner = self.sums.nodes[node, 0] >= 0
            done.append((node[~inner], entry[~inner], bits[~inner]))
            node, entry, bits = node[inner], entry[inner], bits[inner]
            if not len(node):
                break
            child, compared = self.sums.nodes[node, 1].astype(np.intp), self.sums.nodes[node, 0]
            side = self.sums.second(rows, state, node, row[entry])
            moving = self.place[compared] == column[entry]
            first = np.where(moving, bits & ~self.right[node], np.where(side, 0, bits))
            second = np.where(moving, bits & self.right[node], np.where(side, bits, 0))
            node, entry = np.concatenate((child, child + 1)), np.concatenate((entry, entry))
            bits = np.concatenate((first, second))
            node, entry, bits = node[bits != 0], entry[bits != 0], bits[bits != 0]
        leaf, entry, bits = (np.concatenate(part) for part in zip(*done, strict=True))
        return leaf, entry, bits


Sums: TypeAlias = LinearSweep | TreeSweep


@dataclass(frozen=True, eq=False)
class Sweep:
    """Which values of single columns meet a goal.

    Attributes
    ----------
    along
        The sums of rows along the grid.
    least, rising
        The goal is met from this sum on, or where it is not `rising`, up to this sum.
    """

    along: Sums
    least: float
    rising: bool

    @classmethod
    def of(cls, goal: GoalLike, grid: Grid) -> Sweep | None:
        """The sweep of a goal whose model is compiled to one sum; None for others."""
        if not isinstance(goal, Goal) or not isinstance(goal.compiled, LinkedSums) or not grid.values.size:
            return None
        score = goal.compiled
        if isinstance(score.sums, CellSum):
            along: Sums = LinearSweep.of(score.sums, grid)
        elif isinstance(score.sums, TreeSum) and len(score.sums.start) == 1:
            along = TreeSweep.of(score.sums, grid)
        else:
            return None

        def met(total: float) -> bool:
            shape = (1,) if isinstance(score.sums, CellSum) else (1, 1)
            with np.errstate(over="ignore"):
                return bool(goal.meets(score.link(np.full(shape, total)))[0])

        low, high = -_LARGEST, _LARGEST
        rising = met(high)
        if rising == met(low):
            return None
        while np.nextafter(low, high) < high:
            middle = low / 2 + high / 2
            low, high = (low, middle) if met(middle) == rising else (middle, high)
        return cls(along, high if rising else low, rising)

    @property
    def grid(self) -> Grid:
        return self.along.grid

    def gains(self, rows: np.ndarray) -> np.ndarray:
        """Which share of what a row lacks each value of each column gains, (n, f, G): 1 where it meets the goal."""
        own = self.along.sums(rows).reshape(len(rows), 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.minimum((self.along(rows) - own) / (self.least - own), 1.0))

    def met(self, rows: np.ndarray) -> np.ndarray:
        """Whether each row meets the goal with each value of each column, (n, f, G)."""
        return np.ascontiguousarray(self.meets(self.along(rows)))

    def meets(self, sums: np.ndarray) -> np.ndarray:
        """Whether sums meet the goal."""
        return np.asarray(sums >= self.least if self.rising else sums <= self.least)
