"""Tree ensembles in cells of the matrix, whichever library trained them.

`read_ensemble` opens a model (pipelines and parameter searches included), reads its trees, says each split in cells of
the matrix, and verifies on training rows that the trees predict what the model does.
"""

from __future__ import annotations

from functools import cached_property
from math import comb
from typing import Final

import numpy as np
from scipy.special import softmax

from attain.engine.score import States
from attain.engine.trees import TreeSums
from attain.models.adapter import AnswerKind
from attain.models.goal import Goal, probe_rows
from attain.models.reader import Reader
from attain.models.structure.encoding import Preprocessing, StructureError, once
from attain.models.structure.splits import Splits, unreadable
from attain.models.structure.tree_readers import read_trees

_MOST_NODES: Final = 2_000_000
"""Larger ensembles are not read."""
_NODE: Final = np.dtype([("threshold", "f8"), ("column", "i4"), ("child", "i4")])
_TOLERANCE: Final = 1e-4
_CHECKED_ROWS: Final = 256


class Ensemble:
    """The T trees of a model, with L leaves.

    Attributes
    ----------
    nodes
        The nodes as the engine takes them, tree after tree: its root, then the pairs of children of its inner nodes.
    roots
        The first node of each tree, (T,).
    value, start
        What leaves add to the score of each class, (L, K), and what the sums start from, (K,).
    votes
        Whether trees vote (forests): values are then the shares of the classes, to be averaged.
    scale
        By what the sums are multiplied to be the model's own score, or the shares.
    """

    def __init__(self, goal: Goal, rows: np.ndarray) -> None:
        """The trees of the goal's model, which is not asked anything; `rows` are training rows."""
        last = Preprocessing(goal.reader).estimator
        trees = read_trees(last, len(goal.classes))
        if len(trees.feature) > _MOST_NODES:
            raise StructureError(f"the trees have {len(trees.feature):,} nodes, more than {_MOST_NODES:,}")
        self._splits, self._reader = Splits(goal, trees, rows), goal.reader
        inner, which = np.flatnonzero(trees.feature >= 0), self._splits.which
        tree, numbers = np.searchsorted(trees.roots, inner, side="right") - 1, np.arange(len(trees.roots))
        self.roots = numbers + 2 * np.searchsorted(tree, numbers)
        child, falling = tree + 1 + 2 * np.arange(len(inner)), self._splits.falling[which]
        node = np.empty(len(numbers) + 2 * len(inner), dtype=np.intp)  # which of the library's nodes each is
        node[self.roots] = trees.roots
        node[child] = np.where(falling, trees.right[inner], trees.left[inner])
        node[child + 1] = np.where(falling, trees.left[inner], trees.right[inner])
        leaf = trees.feature[node] < 0
        place = np.searchsorted(inner, node[~leaf])
        self.nodes = np.zeros(len(node), dtype=_NODE)
        self.nodes["column"], self.nodes["child"] = -1, np.cumsum(leaf) - 1
        self._split = np.full(len(node), -1)
        self._split[~leaf] = split = which[place]
        self.nodes["column"][~leaf], self.nodes["child"][~leaf] = self._splits.column[split], child[place]
        self.nodes["threshold"][~leaf] = self._splits.threshold[split]
        self.value, self.start = trees.value[node[leaf]], trees.start
        self.votes, self._single = trees.votes, trees.single_sums
        self.scale = 1 / len(self.roots) if trees.votes else trees.scale

    @cached_property
    def _sides(self) -> tuple[States, np.ndarray, np.ndarray, np.ndarray]:
        return self._splits.sides(self._reader)

    def conditions(self, reader: Reader | None = None) -> tuple[States, np.ndarray, np.ndarray, np.ndarray]:
        """The states of the columns, where those of each node begin among the sides, the sides, and which are refused.

        `reader` is needed for rows with levels that the schema does not have.
        """
        found = self._sides if reader is None or not reader.layout.unseen else self._splits.sides(reader)
        states, begin, sides, refused = found
        return states, np.append(begin, 0)[self._split], sides, refused

    def sums(
        self, value: np.ndarray, start: np.ndarray, group: np.ndarray | None = None, reader: Reader | None = None
    ) -> TreeSums:
        """The sums of what leaves add, (L, V), from a start on; by default each tree adds to the first V of them."""
        states, begin, sides, refused = self.conditions(reader)
        group = np.zeros(len(self.roots)) if group is None else group
        return TreeSums(states, refused, self.nodes, begin, sides, self.roots, group, value, start, self._single)

    def leaves(self, rows: np.ndarray, reader: Reader | None = None) -> np.ndarray:
        """The leaf that each row reaches in each tree, (n, T)."""
        return np.asarray(self.sums(np.zeros((len(self.value), 1)), np.zeros(1), reader=reader).leaves_of(rows))

    @cached_property
    def tree(self) -> np.ndarray:
        """The tree of each leaf, (L,)."""
        return np.searchsorted(self.roots, np.flatnonzero(self.nodes["column"] < 0), side="right") - 1

    def steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All steps on the paths to leaves: the leaf, the node that is passed, and whether to its second child."""
        inner, node = np.flatnonzero(self.nodes["column"] >= 0), np.flatnonzero(self.nodes["column"] < 0)
        parent = np.full(len(self.nodes), -1)
        parent[self.nodes["child"][inner]] = parent[self.nodes["child"][inner] + 1] = inner
        leaf, parts = np.arange(len(node)), []
        while len(leaf):  # all leaves move up to their roots together
            up = parent[node]
            leaf, node, up = leaf[up >= 0], node[up >= 0], up[up >= 0]
            parts.append((leaf, up, node != self.nodes["child"][up]))
            node = up
        leaf, node, second = (np.concatenate(some) for some in zip(*parts, strict=True))
        return leaf, node, second

    def sums_of(self, classes: list[int]) -> TreeSums:
        """The sums of some classes. A tree of a forest adds to all of them, a boosted one to one."""
        value, start = self.value[:, classes], self.start[classes]
        if self.votes or len(classes) == 1:
            return self.sums(value, start)
        first = np.searchsorted(self.tree, np.arange(len(self.roots)))
        group = np.logical_or.reduceat(value != 0, first, axis=0).argmax(axis=1)
        return self.sums(value[np.arange(len(value)), group[self.tree]][:, None], start, group)

    def shapley(self, worth: np.ndarray, reader: Reader, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The exact Shapley values of the sum of what leaves add, (L,): of rows against others, (n, B, d)."""
        most = range(min(rows.shape[1], int(np.bincount(self.steps()[0], minlength=1).max())) + 1)
        weights = np.array([[1 / (a * comb(a + b, a)) if a else 0.0 for b in most] for a in most])
        sums = self.sums(worth[:, None], np.zeros(1), reader=reader)
        return np.asarray(sums.shapley(rows, others, weights))


def read_ensemble(goal: Goal, rows: np.ndarray) -> Ensemble:
    """The trees of the goal's model; `rows` are training rows, on which they are compared with it.

    Raises a `StructureError` for a model that is not a tree ensemble, or whose trees take columns that cannot be traced
    back to single columns of the matrix.
    """

    def verified() -> Ensemble:
        ensemble = unverified_ensemble(goal, rows)
        _verify(ensemble, goal, rows)
        return ensemble

    return once(goal, "verified trees", verified)


def unverified_ensemble(goal: Goal, rows: np.ndarray) -> Ensemble:
    """As `read_ensemble`, without comparing the trees with the model, which is not asked anything."""
    return once(goal, "trees", lambda: Ensemble(goal, rows))


def _verify(ensemble: Ensemble, goal: Goal, rows: np.ndarray) -> None:
    """Compares the trees with the model: the same probabilities, or the same leads in score over the first class."""
    last, rows = Preprocessing(goal.reader).estimator, probe_rows(rows, _CHECKED_ROWS)
    kind: AnswerKind = "probabilities" if "probabilities" in goal.reader.kinds else "scores"
    if kind not in goal.reader.kinds:
        raise unreadable(last, "it gives neither probabilities nor scores to check them by")
    said = goal.reader.read(rows, (kind,))[kind].reshape(len(rows), -1)
    own = ensemble.scale * (ensemble.start + ensemble.value[ensemble.leaves(rows)].sum(axis=1))
    if kind == "scores":
        own = own - own[:, :1]
        said = said if said.shape[1] == 1 else said - said[:, :1]
    elif not ensemble.votes:
        own = softmax(own, axis=1)
    own = own[:, -said.shape[1] :]
    if said.shape != own.shape or not np.allclose(said, own, rtol=_TOLERANCE, atol=_TOLERANCE):
        raise unreadable(last, "read as plain trees it does not predict what the model itself predicts")
