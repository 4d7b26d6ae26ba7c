"""Trees that partition rows so that a column's states differ from leaf to leaf.

A tree is grown level by level from histograms over groups of states, all nodes of a level at once: one count per node,
group of the input and class of the target is all that a split needs. The gain of a split is the log-likelihood that it
adds, Σ n log n over classes and both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.density.histograms.states import Coded

LEAF = -1


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in the order of their levels; the children of a node are next to each other."""

    column: IndexArray
    """The column of the table that a node looks at; −1 is a leaf."""
    group: IndexArray
    """Rows whose group is at most this go to the first child; where groups have no order, those with just this one."""
    child: IndexArray
    """The first child; for a leaf its number among the leaves."""

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return int((self.column == LEAF).sum())

    def leaf(self, groups: Coded, unordered: BoolArray) -> IndexArray:
        """The number of the leaf of each row, for groups (n, d) of the columns' states."""
        node = np.zeros(len(groups), dtype=np.intp)
        rows = np.arange(len(groups))
        while len(rows):
            at = node[rows]
            column = self.column[at]
            rows, at, column = rows[column != LEAF], at[column != LEAF], column[column != LEAF]
            node[rows] = self.child[at] + ~_goes_left(groups[rows, column], self.group[at], unordered[column])
        return self.child[node]


def _goes_left(group: Coded, limit: IndexArray, unordered: BoolArray) -> BoolArray:
    left: BoolArray = np.where(unordered, group == limit, group <= limit)
    return left


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    smallest: int
    """The least number of rows in a leaf."""
    depth: int


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree, and for each level the node of each row and the number of nodes: what smoothing needs."""

    tree: Tree
    levels: list[tuple[IndexArray, IndexArray]]
    """For each level the nodes of that level, and for each row the node it is in, or the leaf it has reached."""


def grow(
    groups: Coded,
    sizes: Sequence[int],
    unordered: BoolArray,
    inputs: Sequence[int],
    classes: Coded,
    limits: Limits,
    generator: np.random.Generator | None = None,
) -> Grown:
    """A tree for classes (n,) of the target, over groups (n, d) of the columns `inputs`.

    `sizes` are the numbers of groups of the columns. With a generator, each node looks at a random half of the inputs.
    """
    count = int(classes.max()) + 1
    node = np.zeros(len(classes), dtype=np.intp)
    column, group, child = [LEAF], [0], [0]
    levels = [(np.zeros(1, dtype=np.intp), node)]
    opened = np.zeros(1, dtype=np.intp)
    for _ in range(limits.depth):
        local = np.full(len(column), -1, dtype=np.intp)
        local[opened] = np.arange(len(opened))
        rows = np.flatnonzero(local[node] >= 0)
        if not len(rows) or not inputs:
            break
        best = _best_splits(
            groups, sizes, unordered, inputs, classes, count, local[node[rows]], rows, len(opened), limits, generator
        )
        chosen = np.flatnonzero(best.gain > 0)
        if not len(chosen):
            break
        first = len(column)
        for place, split in enumerate(chosen):
            at = opened[split]
            column[at], group[at], child[at] = int(best.column[split]), int(best.group[split]), first + 2 * place
        column += [LEAF] * (2 * len(chosen))
        group += [0] * (2 * len(chosen))
        child += [0] * (2 * len(chosen))
        starts = np.full(len(opened), -1, dtype=np.intp)
        starts[chosen] = first + 2 * np.arange(len(chosen))
        inside = local[node[rows]]
        moved = starts[inside] >= 0
        rows, inside = rows[moved], inside[moved]
        looked = best.column[inside]
        left = _goes_left(groups[rows, looked], best.group[inside], unordered[looked])
        node = node.copy()
        node[rows] = starts[inside] + ~left
        opened = first + np.arange(2 * len(chosen))
        levels.append((opened, node))
        held = np.bincount(node, minlength=len(column))[opened]
        opened = opened[held >= 2 * limits.smallest]
    columns, children = np.array(column, dtype=np.intp), np.array(child, dtype=np.intp)
    ends = columns == LEAF
    children[ends] = np.arange(ends.sum())
    return Grown(Tree(columns, np.array(group, dtype=np.intp), children), levels)


@dataclass(frozen=True, eq=False)
class _Splits:
    gain: FloatArray
    column: IndexArray
    group: IndexArray


def _best_splits(
    groups: Coded,
    sizes: Sequence[int],
    unordered: BoolArray,
    inputs: Sequence[int],
    classes: Coded,
    count: int,
    node: IndexArray,
    rows: IndexArray,
    nodes: int,
    limits: Limits,
    generator: np.random.Generator | None,
) -> _Splits:
    """For each of the open nodes the split with the largest gain; the first column, and the first group, of equals."""
    gain, column, group = np.zeros(nodes), np.zeros(nodes, dtype=np.intp), np.zeros(nodes, dtype=np.intp)
    target = classes[rows]
    total = np.bincount(node * count + target, minlength=nodes * count).reshape(nodes, 1, count)
    terms = _n_log_n(len(rows))
    whole = total.sum(axis=2)
    before = terms[total].sum(axis=2) - terms[whole]
    skipped = np.zeros((nodes, len(inputs)), dtype=bool)
    if generator is not None:
        order = generator.random((nodes, len(inputs))).argsort(axis=1).argsort(axis=1)
        skipped = order >= max(1, (len(inputs) + 1) // 2)
    for place, j in enumerate(inputs):
        size = sizes[j]
        if size < 2:
            continue
        code = (node * size + groups[rows, j]) * count + target
        tally = np.bincount(code, minlength=nodes * size * count).reshape(nodes, size, count)
        left = tally if unordered[j] else tally[:, :-1].cumsum(axis=1)
        held = left.sum(axis=2)
        rest = whole - held
        fits = (held >= limits.smallest) & (rest >= limits.smallest) & ~skipped[:, [place]]
        after = terms[left].sum(axis=2) - terms[held] + terms[total - left].sum(axis=2) - terms[rest]
        gained = np.where(fits, after - before, -1.0)
        best = gained.argmax(axis=1)
        found = gained[np.arange(nodes), best]
        better = found > gain
        gain[better], column[better], group[better] = found[better], j, best[better]
    return _Splits(gain, column, group)


def _n_log_n(largest: int) -> FloatArray:
    n = np.arange(largest + 1, dtype=np.float64)
    return n * np.log(np.maximum(n, 1.0))
