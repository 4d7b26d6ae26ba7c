"""Trees whose nodes compare cells of the matrix itself, whatever steps of a pipeline come before them.

A split of a library's tree compares one coordinate of the pipeline's output, z ≤ t. Each coordinate depends on one
column of the matrix. So for a number the split is x ≤ b, or x > b where the coordinate falls, and b is the largest
float on its side, found by running the pipeline; and for a level, a special code or a missing cell it is an entry of a
table, again by running the pipeline. Both are exact: rounding inside the pipeline and to single precision is part of
what is run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from attain.core.compiled import kernels
from attain.models.reader import by_halves
from attain.models.structure.encoding import StructureError, Transform, base_row
from attain.models.structure.states import UNKNOWN, States
from attain.models.structure.tree_readers import TreeNodes
from attain.models.structure.trees import Ensemble

KERNELS: Final = "attain.models.structure.score_kernels"
_MOST_ENTRIES: Final = 50_000_000
"""The largest table of the sides that states take, over all splits: ensembles that need more are not compiled."""
_MOST_NODES: Final = 2_000_000
"""Larger ensembles are not compiled."""
_FARTHEST: Final = 2**50
"""How far from a guess the end of a side is looked for, in floats: a quarter of its size."""
_CELLS_AT_ONCE: Final = 4_000_000
"""How many nodes the NumPy path follows at once, rows times trees."""


@dataclass(frozen=True, eq=False)
class TreeSum:
    """Sums over T trees of the values of the leaves that rows of the matrix reach, C sums for each row.

    Attributes
    ----------
    states, refused
        The states of the columns, and which of them only the model can be asked about, (S,).
    nodes
        (nodes, 6), 24 bytes each: the column of the matrix that a node compares, −1 for a leaf; its first child, which
        the second one follows; where its states begin among the `sides`; 0; and in the last two, as one double, its
        threshold. A number goes to the first child if it is at most the threshold.
    sides
        Which child, 0 or 1, states go to: that of state s is at the node's beginning plus s.
    roots, group
        The first node of each tree, and the first of the sums that it adds to, (T,).
    value
        What leaves add to V sums, (nodes, V).
    start
        What the sums start from, (C,).
    single
        Whether sums are rounded to single precision after each tree.
    """

    states: States
    refused: np.ndarray
    nodes: np.ndarray
    sides: np.ndarray
    roots: np.ndarray
    group: np.ndarray
    value: np.ndarray
    start: np.ndarray
    single: bool

    @property
    def thresholds(self) -> np.ndarray:
        """The nodes as (nodes, 3) doubles, of which the last is the threshold."""
        return self.nodes.view(np.float64)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The sums of each row, (n, C), tree after tree; NaN for rows that only the model can be asked about."""
        compiled, states = kernels(KERNELS), self.states
        if compiled is not None:
            found: np.ndarray = compiled.tree_sums(
                np.ascontiguousarray(rows),
                (states.numeric, states.first, states.codes, self.refused),
                (self.nodes, self.thresholds, self.sides, self.roots, self.group, self.value),
                self.start,
                self.single,
            )
            return found
        size = max(_CELLS_AT_ONCE // len(self.roots), 1)
        parts = [self._sums(rows[start : start + size]) for start in range(0, max(len(rows), 1), size)]
        return np.concatenate(parts)

    def _sums(self, rows: np.ndarray) -> np.ndarray:
        state = self.states.of_cells(rows)
        value = self.value[self.leaves(rows, state)]
        width = self.value.shape[1]
        result = np.empty((len(rows), len(self.start)))
        kind = np.float32 if self.single else np.float64
        for first in range(0, len(self.start), width):
            own = value[:, self.group == first]
            own[:, 0] += self.start[first : first + width]
            sums = np.add.accumulate(own, axis=1, dtype=kind)  # which adds in order, unlike sum
            result[:, first : first + width] = sums[:, -1]
        result[self.unknown(state)] = np.nan
        return result

    def unknown(self, state: np.ndarray) -> np.ndarray:
        """Which rows only the model can be asked about, by the states of their cells (n, d)."""
        return np.asarray(((state == UNKNOWN) | ((state >= 0) & self.refused[state])).any(axis=1))

    def leaves(self, rows: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The leaf each row reaches in each tree, (n, T)."""
        columns, child = self.nodes[:, 0], self.nodes[:, 1]
        result = np.tile(self.roots, len(rows))
        place, row = np.arange(len(result)), np.repeat(np.arange(len(rows)), len(self.roots))
        while True:
            node = result[place]
            inner = columns[node] >= 0
            place, row, node = place[inner], row[inner], node[inner]
            if not len(place):
                return result.reshape(len(rows), len(self.roots))
            result[place] = child[node] + self.second(rows, state, node, row)

    def second(self, rows: np.ndarray, state: np.ndarray, node: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Whether rows at the positions `row` go to the second child of inner nodes, (m,) each."""
        column = self.nodes[node, 0]
        own = state[row, column]
        side: np.ndarray = rows[row, column] > self.thresholds[node, 2]
        listed = np.flatnonzero(own >= 0)
        side[listed] = self.sides[self.nodes[node[listed], 2] + own[listed]]
        return side


def compile_trees(ensemble: Ensemble, rows: np.ndarray, target: int) -> TreeSum:
    """The sums of an ensemble: of each class, or of one of two, which is the target for votes and else the second.

    `rows` are training rows. Raises a `StructureError` where a split cannot be said in cells of the matrix.
    """
    trees = ensemble.nodes
    if len(trees.feature) > _MOST_NODES:
        raise StructureError(f"the trees have {len(trees.feature):,} nodes, more than {_MOST_NODES:,}")
    inner = np.flatnonzero(trees.feature >= 0)
    bound = single_bounds(trees.threshold[inner]) if trees.single else trees.threshold[inner]
    different, which = _different((trees.feature[inner], bound, trees.missing_left[inner]))
    states = States.of(ensemble.schema)
    splits = _Splits(ensemble, states, rows, *different)
    falling = splits.falling[which]
    first, second = np.where(falling, (trees.right[inner], trees.left[inner]), (trees.left[inner], trees.right[inner]))
    place = np.empty(len(trees.feature), dtype=np.intp)  # the roots, then pairs of children
    place[trees.roots] = np.arange(len(trees.roots))
    child = len(trees.roots) + 2 * np.arange(len(inner))
    place[first], place[second] = child, child + 1
    nodes = np.zeros((len(place), 6), dtype=np.int32)
    nodes[:, 0] = -1
    own = place[inner]
    nodes[own, 0], nodes[own, 1], nodes[own, 2] = splits.column[which], child, splits.begin[which]
    nodes.view(np.float64)[own, 2] = splits.threshold[which]
    group, value, start = _values(trees, target)
    placed = np.empty_like(value)
    placed[place] = value
    return TreeSum(
        states,
        splits.refused,
        nodes,
        splits.sides,
        np.arange(len(trees.roots), dtype=np.int64),
        group,
        placed,
        start,
        trees.single_sums,
    )


def _different(keys: tuple[np.ndarray, ...]) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The different entries of several arrays side by side, and which of them each is."""
    order = np.lexsort(keys)
    ordered = [key[order] for key in keys]
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in ordered])
    which = np.empty(len(order), dtype=np.intp)
    which[order] = np.cumsum(new) - 1
    return tuple(key[new] for key in ordered), which


def single_bounds(threshold: np.ndarray) -> np.ndarray:
    """The largest doubles that are at most the threshold once they are rounded to single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        below = threshold.astype(np.float32)
        below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf)).astype(np.float64)
        middle = below.astype(np.float64) + (above - below) / 2
        bound = np.where(middle.astype(np.float32) <= below, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isfinite(threshold), bound, threshold)


def _values(nodes: TreeNodes, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The group of each tree, the values of the leaves, and the start."""
    trees, classes = len(nodes.roots), nodes.value.shape[1]
    none = np.zeros(trees, dtype=np.int64)
    if classes == 2:
        k = target if nodes.votes else 1
        return none, nodes.value[:, [k]], nodes.start[[k]]
    if nodes.votes:
        return none, nodes.value, nodes.start
    group = np.logical_or.reduceat(nodes.value != 0, nodes.roots, axis=0).argmax(axis=1)
    of_node = np.repeat(group, np.diff(np.append(nodes.roots, len(nodes.value))))
    return group, nodes.value[np.arange(len(of_node)), of_node][:, None], nodes.start


class _Splits:
    """Different splits, U of them, said in cells of the matrix.

    Attributes
    ----------
    column, threshold, falling
        The column of the matrix that each compares; a number goes left if it is at most the threshold, or, where the
        coordinate falls, if it is above, (U,).
    begin, sides
        State s of its column goes to the side `sides[begin[u] + s]`: 0 is that of numbers up to the threshold.
    refused
        The states that only the model can be asked about, (S,).
    """

    def __init__(
        self,
        ensemble: Ensemble,
        states: States,
        rows: np.ndarray,
        coordinate: np.ndarray,
        bound: np.ndarray,
        missing_left: np.ndarray,
    ) -> None:
        base = base_row(ensemble.schema, rows)
        transform = ensemble.preprocessing
        encoded, self.refused = _encoded_states(transform, states, ensemble, rows, base)
        constant = ensemble.sources[coordinate] < 0
        self.column = np.where(constant, 0, ensemble.sources[coordinate])
        offset, slope = ensemble.number_map(self.column, coordinate)
        slope = np.where(constant, 0.0, slope)
        level = transform(base[None])[0][coordinate]
        left = np.where(np.isnan(level), missing_left, level <= bound)
        self.threshold = np.where(left, np.inf, -np.inf)
        moving = np.flatnonzero(states.numeric[self.column] & (slope != 0) & np.isfinite(bound))
        self.falling = np.zeros(len(bound), dtype=bool)
        self.falling[moving] = slope[moving] < 0
        self.threshold[moving] = _boundaries(
            transform,
            base,
            self.column[moving],
            coordinate[moving],
            bound[moving],
            self.falling[moving],
            ((bound - offset)[moving]) / slope[moving],
        )
        count = np.diff(states.first)[self.column]
        if count.sum() > _MOST_ENTRIES:
            raise StructureError(f"the splits have {count.sum():,} entries for levels and missing cells")
        self.begin = np.cumsum(count) - count - states.first[self.column]
        split = np.repeat(np.arange(len(count)), count)
        state = np.arange(count.sum()) - self.begin[split]
        cells = np.where(constant[split], level[split], encoded[state, coordinate[split]])
        left = np.where(np.isnan(cells), missing_left[split], cells <= bound[split])
        self.sides = left == self.falling[split]


def _encoded_states(
    transform: Transform, states: States, ensemble: Ensemble, rows: np.ndarray, base: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What the coordinates are for each state, (S, p), and which states only the model can be asked about, (S,)."""
    seen_missing = np.isnan(rows).any(axis=0)
    fillable = np.array([feature.fillable for feature in ensemble.schema])
    missing = np.isnan(states.codes)
    tried = np.flatnonzero(~missing | (seen_missing | fillable)[states.column])
    trials = np.repeat(base[None], len(tried), axis=0)
    trials[np.arange(len(tried)), states.column[tried]] = states.codes[tried]
    encoded = np.full((len(states.codes), len(ensemble.sources)), np.nan)
    refused = np.ones(len(states.codes), dtype=bool)
    for at, made in by_halves(transform, trials)[0] if len(trials) else ():
        encoded[tried[at]] = made
        # whether the trees take a missing cell is seen where training rows have one
        refused[tried[at]] = np.isnan(made).any(axis=1) & ~seen_missing[states.column[tried[at]]]
    return encoded, refused


def _boundaries(
    transform: Transform,
    base: np.ndarray,
    column: np.ndarray,
    coordinate: np.ndarray,
    bound: np.ndarray,
    falling: np.ndarray,
    guess: np.ndarray,
) -> np.ndarray:
    """The largest number on the lower side of each split, by bisection over the floats around a guess."""

    def low(at: np.ndarray, key: np.ndarray) -> np.ndarray:
        """Whether these numbers are on the lower sides of the splits `at`; a row takes one split of each column."""
        order = np.argsort(column[at], kind="stable")
        grouped = column[at][order]
        row = np.empty(len(at), dtype=np.intp)
        row[order] = np.arange(len(at)) - np.searchsorted(grouped, grouped, side="left")
        trials = np.repeat(base[None], row.max(initial=-1) + 1, axis=0)
        trials[row, column[at]] = _floats(key)
        encoded = transform(trials)[row, coordinate[at]] if len(at) else np.empty(0)
        return np.asarray((encoded <= bound[at]) != falling[at])

    under, over = _bracket(low, _keys(guess))
    while (wide := np.flatnonzero(over - under > 1)).size:
        middle = under[wide] + (over[wide] - under[wide]) // 2
        lower = low(wide, middle)
        under[wide] = np.where(lower, middle, under[wide])
        over[wide] = np.where(lower, over[wide], middle)
    return _floats(under)


def _bracket(low: Callable[[np.ndarray, np.ndarray], np.ndarray], key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of a number on the lower side of each split, and of one on the upper side, from guesses of its end."""
    waiting, step = np.arange(len(key)), 1
    side = low(waiting, key)
    under, over, towards = key.copy(), key.copy(), np.where(side, 1, -1)
    while waiting.size:
        if step > _FARTHEST:
            raise StructureError("a split has all numbers on one side")
        key = np.where(side[waiting], under[waiting], over[waiting]) + step * towards[waiting]
        lower = low(waiting, key)
        under[waiting[lower]], over[waiting[~lower]] = key[lower], key[~lower]
        waiting, step = waiting[lower == side[waiting]], 2 * step
    return under, over


_SIGN: Final = np.int64(np.iinfo(np.int64).min)


def _keys(values: np.ndarray) -> np.ndarray:
    """Integers in the order of the floats: neighbours differ by 1."""
    bits = np.ascontiguousarray(values + 0.0).view(np.int64)
    return np.where(bits < 0, -(bits & ~_SIGN), bits)


def _floats(keys: np.ndarray) -> np.ndarray:
    """The floats of `_keys`."""
    return np.where(keys < 0, -1.0, 1.0) * np.abs(keys).view(np.float64)
