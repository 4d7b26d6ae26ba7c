"""The probability of each state of a column in each leaf of a tree, smoothed towards the nodes above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from attain.core.arrays import FloatArray, IndexArray
from attain.density.densities.growing import Grown, Tree
from attain.density.histograms.states import Coded


@dataclass(frozen=True, eq=False)
class Leaves:
    """A tree, and the probability of each state in each of its leaves."""

    tree: Tree
    mass: NDArray[np.float32]
    """(leaves, K), in the precision of a file; `probability` is what is used."""

    @cached_property
    def probability(self) -> FloatArray:
        """(leaves, K); the rows sum to 1."""
        return self.mass.astype(np.float64) / self.sums[:, None]

    @cached_property
    def sums(self) -> FloatArray:
        """The sum of the masses of each leaf, about 1."""
        return self.mass.astype(np.float64).sum(axis=1)

    @cached_property
    def _ladder(self) -> FloatArray:
        """Leaf number plus cumulative probability, ascending over all leaves: one binary search finds any state."""
        return (np.cumsum(self.probability, axis=1) + np.arange(len(self.mass))[:, None]).ravel()

    @cached_property
    def _last(self) -> IndexArray:
        """The last possible state of each leaf."""
        return np.asarray(self.mass.shape[1] - 1 - (self.mass[:, ::-1] > 0).argmax(axis=1), dtype=np.intp)

    def draw(self, leaf: IndexArray, u: FloatArray) -> IndexArray:
        """The state of each leaf at the share u in [0, 1) of its probability."""
        found = np.searchsorted(self._ladder, leaf + u, side="right") - leaf * self.mass.shape[1]
        # rounding may put u just below 1 beyond the last state that is possible
        return np.minimum(found, self._last[leaf])


def smoothed(grown: Grown, states: Coded, root: FloatArray, nested: Sequence[IndexArray], strength: float) -> Leaves:
    """Leaf probabilities from those of the root (K,), by back-off to the parent at every resolution.

    `nested` are groupings of the states from one group to one state each, by where their groups start; see
    `nested_groups`. With n rows of a node in a group G at level l, and h part of G at level l + 1,

        p(h | G, node) = (n(h) + w · p(h | G, parent)) / (n(G) + w),   w = strength · (l + 1),

    and the probability of a state is the product over levels. So a leaf of few rows says where its values lie, and its
    parents say what they are precisely.
    """
    tree, count = grown.tree, len(root)
    parent = np.zeros(len(tree.column), dtype=np.intp)
    inner = np.flatnonzero(tree.column >= 0)
    parent[tree.child[inner]] = parent[tree.child[inner] + 1] = inner
    refined = [_Level(coarse, fine, root, len(tree.column)) for coarse, fine in pairwise(nested)]
    for nodes, node in grown.levels[1:]:
        local = np.full(len(tree.column), -1, dtype=np.intp)
        local[nodes] = np.arange(len(nodes))
        place = local[node]
        inside = place >= 0
        tally = np.bincount(place[inside] * count + states[inside], minlength=len(nodes) * count)
        tally = tally.reshape(len(nodes), count)
        for number, level in enumerate(refined, start=1):
            level.back_off(nodes, parent[nodes], tally, strength * number)
    ends = tree.column < 0
    mass = np.ones((int(ends.sum()), count))
    for level in refined:
        mass *= level.conditional[ends][:, level.part_of(count)]
    return Leaves(tree, mass.astype(np.float32))


class _Level:
    """p(part | group) in every node of a tree, for the parts that one grouping makes of a coarser one's groups."""

    def __init__(self, coarse: IndexArray, fine: IndexArray, root: FloatArray, nodes: int) -> None:
        self.coarse, self.fine = coarse, fine
        self.group = np.searchsorted(coarse, fine, side="right") - 1
        part, group = np.add.reduceat(root, fine), np.add.reduceat(root, coarse)[self.group]
        self.conditional = np.empty((nodes, len(fine)))
        self.conditional[0] = np.where(group > 0, part / np.where(group > 0, group, 1.0), 1.0)

    def part_of(self, states: int) -> IndexArray:
        """The part of each state."""
        return np.searchsorted(self.fine, np.arange(states), side="right") - 1

    def back_off(self, nodes: IndexArray, parents: IndexArray, tally: IndexArray, weight: float) -> None:
        part, group = np.add.reduceat(tally, self.fine, axis=1), np.add.reduceat(tally, self.coarse, axis=1)
        prior = self.conditional[parents]
        self.conditional[nodes] = (part + weight * prior) / (group[:, self.group] + weight)
