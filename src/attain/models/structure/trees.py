"""Tree ensembles as plain arrays, whichever library trained them.

`read_ensemble` opens a model (pipelines and parameter searches included), reads its trees, learns which column of the
table each column of the trees comes from, and verifies on training rows that the arrays predict what the model does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.models.adapter import AnswerKind
from attain.models.goal import GoalLike, probe_rows
from attain.models.reader import Reader
from attain.models.structure.encoding import Encoding, Preprocessing, StructureError
from attain.models.structure.tree_readers import TreeNodes, read_trees
from attain.schema import Schema

_TOLERANCE = 1e-4
_CHECKED_ROWS = 256
_LEAVES_AT_ONCE = 20_000
"""How many paths are followed at once, which bounds the memory that `boxes` needs beside its result."""
_LARGEST_SHARE = 1 - 1e-4
"""Probabilities nearer to 0 or 1 do not determine the margin well enough in single precision."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """One box per leaf over the trees' columns: the cells of its rows lie above `low` and not above `high`.

    Conditions are kept only for the columns on a leaf's path, so memory grows with leaves × depth, not × columns.

    Attributes
    ----------
    leaf, tree
        Which node and which tree each box belongs to, (L,).
    conditions
        Per column that some path asks about: the boxes with a condition on it, their `low` and `high`, and whether a
        missing cell gets there too.
    """

    leaf: np.ndarray
    tree: np.ndarray
    conditions: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]

    def interval(self, column: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """low, high and missing of all boxes in one column, (L,) each."""
        low, high = np.full(len(self.leaf), -np.inf), np.full(len(self.leaf), np.inf)
        missing = np.ones(len(self.leaf), dtype=bool)
        if column in self.conditions:
            box, lows, highs, present = self.conditions[column]
            low[box], high[box], missing[box] = lows, highs, present
        return low, high, missing

    def holds(self, cells: np.ndarray, column: int, boxes: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Whether cells of one column lie in the boxes; the shapes broadcast."""
        low, high, missing = (ends[boxes] for ends in self.interval(column))
        return np.where(np.isnan(cells), missing, (cells > low) & (cells <= high))

    @property
    def used(self) -> np.ndarray:
        """The columns that some path asks about."""
        return np.array(sorted(self.conditions), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees, and how rows of the matrix are encoded for them.

    Attributes
    ----------
    nodes
        The trees' nodes.
    sources
        Which column of the matrix each column of the trees comes from, (p,); −1 for a constant one.
    preprocessing
        The steps before the trees.
    """

    nodes: TreeNodes
    schema: Schema
    sources: np.ndarray
    preprocessing: Preprocessing
    _encoding: Encoding

    def encode(self, rows: np.ndarray, reader: Reader | None = None) -> np.ndarray:
        """The rows as the trees compare them, (n, p); `reader` is needed for rows with levels the schema lacks."""
        preprocessing = self.preprocessing if reader is None else Preprocessing(reader)
        return self.nodes.as_compared(preprocessing(rows))

    def encoded_levels(self, column: int) -> np.ndarray:
        """What each level of a column of the matrix becomes, (K, p); NaN where it becomes missing."""
        width = len(self.sources)
        doubled = self._encoding.constant + self._encoding.level_terms(column)
        return self.nodes.as_compared(np.where(doubled[:, width:] > 0.5, np.nan, doubled[:, :width]))

    def number_map(self, column: Any, encoded: Any) -> tuple[Any, Any]:
        """a and b of a + b · x, which a number x in a column of the matrix becomes in a column of the trees.

        Takes a pair of columns, or an array of either.
        """
        return self._encoding.constant[encoded], self._encoding.slopes[column, encoded]


def read_ensemble(goal: GoalLike, rows: np.ndarray) -> Ensemble:
    """The trees of the goal's model; `rows` are training rows, on which they are compared with it.

    Raises a `StructureError` for a model that is not a tree ensemble, or whose trees take columns that cannot be traced
    back to single columns of the matrix.
    """
    ensemble = unverified_ensemble(goal, rows)
    _verify(ensemble, goal, rows, ensemble.preprocessing.estimator)
    return ensemble


def unverified_ensemble(goal: GoalLike, rows: np.ndarray) -> Ensemble:
    """As `read_ensemble`, without comparing the trees with the model, which is not asked anything."""
    preprocessing = Preprocessing(goal.reader)
    last = preprocessing.estimator
    nodes = read_trees(last, len(goal.classes))
    schema = goal.layout.schema
    try:
        encoding = Encoding.learn(lambda asked: _split(preprocessing(asked)), schema, rows).filled(rows)
    except StructureError as error:
        raise _unreadable(last, "its preprocessing cannot be followed back to single columns") from error
    return Ensemble(nodes, schema, _sources(encoding, schema, nodes, last), preprocessing, encoding)


def boxes(nodes: TreeNodes) -> Boxes:
    """The box of every leaf that some row can reach: the conditions on its path, intersected."""
    inner = np.flatnonzero(nodes.feature >= 0)
    parent = np.full(len(nodes.feature), -1)
    parent[nodes.left[inner]] = parent[nodes.right[inner]] = inner
    leaf = np.flatnonzero(nodes.feature < 0)
    parts = [_conditions(nodes, parent, leaf, start) for start in range(0, len(leaf), _LEAVES_AT_ONCE)]
    column, box, low, high, missing = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    reached = np.ones(len(leaf), dtype=bool)
    reached[box[(low >= high) & ~missing]] = False
    order = np.argsort(column, kind="stable")
    order = order[reached[box[order]]]
    box = (np.cumsum(reached) - 1)[box]  # its place among the boxes that are kept
    columns, first = np.unique(column[order], return_index=True)
    conditions = {
        int(j): (box[at], low[at], high[at], missing[at])
        for j, at in zip(columns, np.split(order, first[1:]), strict=False)
    }
    tree = np.searchsorted(nodes.roots, leaf[reached], side="right") - 1
    return Boxes(leaf[reached], tree, conditions)


def _conditions(nodes: TreeNodes, parent: np.ndarray, leaf: np.ndarray, start: int) -> tuple[np.ndarray, ...]:
    """Column, box, low, high and missing of all conditions on the paths to some leaves, one per column and box."""
    box = np.arange(start, min(start + _LEAVES_AT_ONCE, len(leaf)))
    node, parts = leaf[box], []
    while len(box):  # all leaves move up to their roots together
        up = parent[node]
        box, node, up = box[up >= 0], node[up >= 0], up[up >= 0]
        left, threshold = node == nodes.left[up], nodes.threshold[up]
        low, high = np.where(left, -np.inf, threshold), np.where(left, threshold, np.inf)
        parts.append((nodes.feature[up], box, low, high, nodes.missing_left[up] == left))
        node = up
    column, box, low, high, missing = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.lexsort((box, column))
    column, box = column[order], box[order]
    first = np.flatnonzero((np.diff(column, prepend=-1) != 0) | (np.diff(box, prepend=-1) != 0))
    if not len(first):
        return column, box, low, high, missing
    return (
        column[first],
        box[first],
        np.maximum.reduceat(low[order], first),
        np.minimum.reduceat(high[order], first),
        np.logical_and.reduceat(missing[order], first),
    )


def _split(encoded: np.ndarray) -> np.ndarray:
    """Missing cells as 0, followed by one indicator of missing cells per column, (n, 2p)."""
    missing = np.isnan(encoded)
    return np.column_stack((np.where(missing, 0.0, encoded), missing))


def _sources(encoding: Encoding, schema: Schema, nodes: TreeNodes, last: Any) -> np.ndarray:
    width, depends = encoding.width // 2, encoding.depends()
    if width != nodes.width:
        raise _unreadable(last, f"it has {nodes.width} columns, but {width} reach it")
    depends = depends[:, :width] | depends[:, width:]
    mixed = np.intersect1d(np.flatnonzero(depends.sum(axis=0) > 1), nodes.feature)
    if mixed.size:
        names = [schema.names[j] for j in np.flatnonzero(depends[:, mixed[0]])]
        raise _unreadable(last, f"one of its columns is made of several: {', '.join(names)}")
    return np.where(depends.any(axis=0), depends.argmax(axis=0), -1)


def _verify(ensemble: Ensemble, goal: GoalLike, rows: np.ndarray, last: Any) -> None:
    """Compares the arrays with the model: the same shares, or the same margins up to a factor and a constant."""
    rows = probe_rows(rows, _CHECKED_ROWS)
    own = ensemble.nodes.scores(ensemble.encode(rows))
    kind: AnswerKind = "probabilities" if "probabilities" in goal.reader.kinds else "scores"
    if kind not in goal.reader.kinds:
        raise _unreadable(last, "it gives neither probabilities nor scores to check them by")
    said = goal.reader.read(rows, (kind,))[kind].reshape(len(rows), -1)
    if ensemble.nodes.votes and kind == "probabilities":
        good = said.shape == own.shape and bool(np.allclose(said, own / len(ensemble.nodes.roots), atol=_TOLERANCE))
    else:
        good = _same_margins(own, _margins(said, kind))
    if not good:
        raise _unreadable(last, "read as plain trees it does not predict what the model itself predicts")


def _margins(said: np.ndarray, kind: str) -> np.ndarray:
    """Each class's lead over the first, from probabilities or scores; NaN where a probability does not determine it."""
    if kind == "scores":
        return said - said[:, :1] if said.shape[1] > 1 else np.column_stack((np.zeros(len(said)), said))
    if said.shape[1] == 1:
        said = np.column_stack((1 - said, said))
    vague = (said.max(axis=1) > _LARGEST_SHARE) | (said.min(axis=1) < 1 - _LARGEST_SHARE)
    with np.errstate(divide="ignore"):
        margins = np.log(said) - np.log(said[:, :1])
    return np.where(vague[:, None], np.nan, margins)


def _same_margins(own: np.ndarray, said: np.ndarray) -> bool:
    """Whether the leads over the first class are a · own + b with a > 0, class by class."""
    if own.shape != said.shape:
        return False
    for x, y in zip((own - own[:, :1]).T[1:], said.T[1:], strict=True):
        known = np.isfinite(y)
        x, y = x[known], y[known]
        if len(x) < 2:
            return False
        if np.ptp(x) == 0:
            return bool(y.std() <= _TOLERANCE)
        x, y = x - x.mean(), y - y.mean()
        slope = (x * y).mean() / x.var()
        if slope <= 0 or np.abs(y - slope * x).max() > 10 * _TOLERANCE * max(1.0, float(y.std())):
            return False
    return True


def _unreadable(last: Any, why: str) -> StructureError:
    return StructureError(
        f"the trees of the {type(last).__name__} model cannot be followed back to the table: {why}; give it numbers, "
        "or levels through a one-hot or ordinal encoder in a pipeline, or use GrowingSpheres or NearestUnlike, which "
        "take any classifier"
    )
