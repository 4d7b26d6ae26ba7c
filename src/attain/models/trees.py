"""Tree ensembles in cells of the matrix, whichever library trained them, and whatever steps come before the trees.

`read_ensemble` opens a model (pipelines and parameter searches included), reads its trees, expresses each split in
cells of the matrix, and verifies on training rows that the trees predict what the model does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import comb
from typing import Any, Final

import numpy as np
from scipy.special import softmax

from attain.core.arrays import rank_among
from attain.engine.score import States
from attain.engine.trees import TreeSums
from attain.models.adapter import AnswerKind
from attain.models.encoding import Encoding, Preprocessing, Transform, base_row, states_of
from attain.models.goal import Goal, StructureError
from attain.models.reader import Reader, by_halves, probe_rows
from attain.models.tree_readers import Trees, read_trees
from attain.schema import Schema

_MOST_NODES: Final = 2_000_000
"""Larger ensembles are not read."""
_NODE: Final = np.dtype([("threshold", "f8"), ("column", "i4"), ("child", "i4")])
_TOLERANCE: Final = 1e-4
_CHECKED_ROWS: Final = 256
_MOST_ENTRIES: Final = 50_000_000
"""The largest table of the sides that states take, over all splits: ensembles that need more are not read."""
_FARTHEST: Final = 2**50
"""How far from a guess the end of a side is looked for, in floats: a quarter of its size."""


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
        """The trees of the goal's model, read without asking it; `rows` are training rows."""
        last = Preprocessing(goal.reader).estimator
        trees = read_trees(last, len(goal.classes))
        nodes = trees.nodes
        if len(nodes.feature) > _MOST_NODES:
            raise StructureError(f"the trees have {len(nodes.feature):,} nodes, more than {_MOST_NODES:,}")
        self._splits, self._reader = Splits(goal, trees, rows), goal.reader
        inner, which = np.flatnonzero(nodes.feature >= 0), self._splits.which
        tree, numbers = np.searchsorted(trees.roots, inner, side="right") - 1, np.arange(len(trees.roots))
        self.roots = numbers + 2 * np.searchsorted(tree, numbers)
        child, falling = tree + 1 + 2 * np.arange(len(inner)), self._splits.falling[which]
        node = np.empty(len(numbers) + 2 * len(inner), dtype=np.intp)  # which of the library's nodes each is
        node[self.roots] = trees.roots
        node[child] = np.where(falling, nodes.right[inner], nodes.left[inner])
        node[child + 1] = np.where(falling, nodes.left[inner], nodes.right[inner])
        leaf = nodes.feature[node] < 0
        place = np.searchsorted(inner, node[~leaf])
        self.nodes = np.zeros(len(node), dtype=_NODE)
        self.nodes["column"], self.nodes["child"] = -1, np.cumsum(leaf) - 1
        self._split = np.full(len(node), -1)
        self._split[~leaf] = split = which[place]
        self.nodes["column"][~leaf], self.nodes["child"][~leaf] = self._splits.column[split], child[place]
        self.nodes["threshold"][~leaf] = self._splits.threshold[split]
        self.value, self.start = nodes.value[node[leaf]], trees.start
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
        return TreeSums(states, refused, (self.nodes, begin, sides), (self.roots, group), value, start, self._single)

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

    return goal.cached("verified trees", verified)


def unverified_ensemble(goal: Goal, rows: np.ndarray) -> Ensemble:
    """As `read_ensemble`, without comparing the trees with the model."""
    return goal.cached("trees", lambda: Ensemble(goal, rows))


def _verify(ensemble: Ensemble, goal: Goal, rows: np.ndarray) -> None:
    """Compares the trees with the model: the same probabilities, or the same leads in score over the first class."""
    last, rows = Preprocessing(goal.reader).estimator, probe_rows(rows, _CHECKED_ROWS)
    kind: AnswerKind = "probabilities" if "probabilities" in goal.reader.kinds else "scores"
    if kind not in goal.reader.kinds:
        raise unreadable(last, "it gives neither probabilities nor scores to check them by")
    asked = goal.reader.read(rows, (kind,))[kind].reshape(len(rows), -1)
    own = ensemble.scale * (ensemble.start + ensemble.value[ensemble.leaves(rows)].sum(axis=1))
    if kind == "scores":
        own = own - own[:, :1]
        asked = asked if asked.shape[1] == 1 else asked - asked[:, :1]
    elif not ensemble.votes:
        own = softmax(own, axis=1)
    own = own[:, -asked.shape[1] :]
    if asked.shape != own.shape or not np.allclose(asked, own, rtol=_TOLERANCE, atol=_TOLERANCE):
        raise unreadable(last, "read as plain trees it does not predict what the model itself predicts")


class Splits:
    """The different splits of the inner nodes of trees, U of them, expressed in cells of the matrix.

    A split of a library's tree compares one coordinate of the pipeline's output, z ≤ t. Each coordinate depends on one
    column of the matrix. So for a number the split is x ≤ b, or x > b where the coordinate falls, and b is the largest
    float on its side, found by running the pipeline; and for a level, a special code or a missing cell it is an entry
    of a table, again by running the pipeline. Both are exact: rounding inside the pipeline and to single precision is
    part of what is run.

    Attributes
    ----------
    which
        The split of each inner node, in the order of the nodes.
    column, threshold, falling
        The column of the matrix that each compares; a number goes left if it is at most the threshold, or, where the
        coordinate falls, if it is above, (U,).
    """

    def __init__(self, goal: Goal, trees: Trees, rows: np.ndarray) -> None:
        """The splits of the trees of the goal's model; `rows` are training rows.

        Raises a `StructureError` where a split cannot be expressed in cells of the matrix.
        """
        inner = trees.nodes.feature >= 0
        feature, threshold, *_, missing_left, _ = (column[inner] for column in trees.nodes)
        different = (feature, single_bounds(threshold) if trees.single else threshold, missing_left)
        (self._coordinate, self._bound, self._missing_left), self.which = _different(different)
        coordinate, bound = self._coordinate, self._bound
        transform, schema = Preprocessing(goal.reader), goal.layout.schema
        last = transform.estimator
        try:
            encoding = Encoding.learn(lambda asked: _split(transform(asked)), schema, rows).filled(rows)
        except StructureError as error:
            raise unreadable(last, "its preprocessing cannot be followed back to single columns") from error
        source = _sources(encoding, schema, trees, last)[coordinate]
        self._base, self._seen_missing = base_row(schema, rows), np.isnan(rows).any(axis=0)
        self._fillable = np.array([feature.fillable for feature in schema])
        self._constant, self._width = source < 0, trees.width
        self.column = np.where(self._constant, 0, source)
        self._level = transform(self._base[None])[0][coordinate]
        self.threshold = np.where(self._left(self._level, np.arange(len(bound))), np.inf, -np.inf)
        slope = np.where(self._constant, 0.0, encoding.slopes[self.column, coordinate])
        numeric = np.array([feature.numeric for feature in schema])[self.column]
        moving = np.flatnonzero(numeric & (slope != 0) & np.isfinite(bound))
        self.falling = np.zeros(len(bound), dtype=bool)
        self.falling[moving] = slope[moving] < 0
        guess = (bound - encoding.constant[coordinate])[moving] / slope[moving]
        self.threshold[moving] = self._boundaries(transform, moving, guess)

    def sides(self, reader: Reader) -> tuple[States, np.ndarray, np.ndarray, np.ndarray]:
        """The states of a reader's columns; where those of each split begin, (U,), and which side each goes to.

        0 is the side of numbers up to the threshold. Last, which states only the model can be asked about, (S,).
        """
        states = states_of(reader.layout)
        encoded, refused = self._encoded(Preprocessing(reader), states)
        count = np.diff(states.first)[self.column]
        if count.sum() > _MOST_ENTRIES:
            raise StructureError(f"the splits have {count.sum():,} entries for levels and missing cells")
        begin = np.cumsum(count) - count - np.asarray(states.first)[self.column]
        split = np.repeat(np.arange(len(count)), count)
        state = np.arange(count.sum()) - begin[split]
        cells = np.where(self._constant[split], self._level[split], encoded[state, self._coordinate[split]])
        return states, begin, self._left(cells, split) == self.falling[split], refused

    def _left(self, cells: np.ndarray, split: np.ndarray) -> np.ndarray:
        """Whether cells of the trees' columns go to the library's left child of splits."""
        return np.where(np.isnan(cells), self._missing_left[split], cells <= self._bound[split])

    def _encoded(self, transform: Transform, states: States) -> tuple[np.ndarray, np.ndarray]:
        """What the coordinates are for each state, (S, p), and which states only the model can be asked about, (S,)."""
        codes, column = np.asarray(states.codes), np.repeat(np.arange(states.columns), np.diff(states.first))
        tried = np.flatnonzero(~np.isnan(codes) | (self._seen_missing | self._fillable)[column])
        trials = np.repeat(self._base[None], len(tried), axis=0)
        trials[np.arange(len(tried)), column[tried]] = codes[tried]
        encoded = np.full((len(codes), self._width), np.nan)
        refused = np.ones(len(codes), dtype=bool)
        for at, made in by_halves(transform, trials)[0] if len(trials) else ():
            encoded[tried[at]] = made
            # whether the trees take a missing cell is seen where training rows have one
            refused[tried[at]] = np.isnan(made).any(axis=1) & ~self._seen_missing[column[tried[at]]]
        return encoded, refused

    def _boundaries(self, transform: Transform, splits: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """The largest number on the lower side of each of some splits, by bisection over the floats around a guess."""
        column, coordinate = self.column[splits], self._coordinate[splits]
        bound, falling = self._bound[splits], self.falling[splits]

        def low(at: np.ndarray, key: np.ndarray) -> np.ndarray:
            """Whether numbers are on the lower sides of the splits `at`; a row takes one split of each column."""
            row = rank_among(column[at])
            trials = np.repeat(self._base[None], row.max(initial=-1) + 1, axis=0)
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


def _split(encoded: np.ndarray) -> np.ndarray:
    """Missing cells as 0, followed by one indicator of missing cells per column, (n, 2p)."""
    missing = np.isnan(encoded)
    return np.column_stack((np.where(missing, 0.0, encoded), missing))


def _sources(encoding: Encoding, schema: Schema, trees: Trees, last: Any) -> np.ndarray:
    width, depends = encoding.width // 2, encoding.depends()
    if width != trees.width:
        raise unreadable(last, f"it has {trees.width} columns, but {width} reach it")
    depends = depends[:, :width] | depends[:, width:]
    mixed = np.intersect1d(np.flatnonzero(depends.sum(axis=0) > 1), trees.nodes.feature)
    if mixed.size:
        names = [schema.names[j] for j in np.flatnonzero(depends[:, mixed[0]])]
        raise unreadable(last, f"one of its columns is made of several: {', '.join(names)}")
    return np.where(depends.any(axis=0), depends.argmax(axis=0), -1)


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


def unreadable(last: Any, why: str) -> StructureError:
    return StructureError(
        f"the trees of the {type(last).__name__} model cannot be followed back to the table: {why}; give it numbers, "
        "or levels through a one-hot or ordinal encoder in a pipeline, or use GrowingSpheres or NearestUnlike, which "
        "take any classifier"
    )
