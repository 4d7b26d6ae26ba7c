"""Tree ensembles as plain arrays, whichever library grew them.

`read_ensemble` opens a model (pipelines and parameter searches included), reads its trees, learns which column of the
table each column of the trees comes from, and makes sure on real rows that the arrays predict what the model does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.core.errors import ModelError
from attain.models.goal import GoalLike
from attain.models.structure.encoding import Encoding
from attain.models.structure.tree_readers import Growth, grown
from attain.schema import Schema

_TOLERANCE = 1e-4
_CHECKED_ROWS = 256
_LARGEST_SHARE = 1 - 1e-4
"""Probabilities nearer to 0 or 1 say too little about the margin behind them, in single precision."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """One box a leaf over the trees' columns: the cells of its rows lie above `low` and not above `high`.

    Attributes
    ----------
    leaf, tree
        Which node and which tree each box is of, (L,).
    low, high
        (L, p).
    missing
        Whether a missing cell gets there too, (L, p).
    """

    leaf: np.ndarray
    tree: np.ndarray
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray

    def holds(self, cells: np.ndarray, column: int, boxes: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Whether cells of one column lie in the boxes; the shapes broadcast."""
        inside = (cells > self.low[boxes, column]) & (cells <= self.high[boxes, column])
        return np.where(np.isnan(cells), self.missing[boxes, column], inside)

    @property
    def used(self) -> np.ndarray:
        """The columns that some path asks about."""
        asked = (self.low > -np.inf) | (self.high < np.inf) | ~self.missing
        return np.flatnonzero(asked.any(axis=0))


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees, and how rows of the matrix reach them.

    Attributes
    ----------
    growth
        The trees' nodes.
    sources
        Which column of the matrix each column of the trees comes from, (p,); −1 for a constant one.
    """

    growth: Growth
    schema: Schema
    sources: np.ndarray
    _encoding: Encoding
    _goal: GoalLike
    _steps: tuple[Any, ...]

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """The rows as the trees see them, (n, p)."""
        return self.growth.seen(_encoded(self._goal, self._steps, rows))

    def images(self, column: int) -> np.ndarray:
        """What each level of a column of the matrix becomes, (K, p); NaN where it becomes missing."""
        width = len(self.sources)
        doubled = self._encoding.constant + self._encoding.states[column]
        return self.growth.seen(np.where(doubled[:, width:] > 0.5, np.nan, doubled[:, :width]))

    def line(self, column: int, encoded: int) -> tuple[float, float]:
        """Intercept and slope of what a number in a column of the matrix becomes in a column of the trees."""
        slope = float(self._encoding.slopes[column, encoded])
        return float(self._encoding.constant[encoded] - slope * self._encoding.origin[column]), slope


def read_ensemble(goal: GoalLike, rows: np.ndarray) -> Ensemble:
    """The trees of the goal's model; `rows` are real ones, on which they are checked against it.

    Raises a `ModelError` for a model that is no tree ensemble, or whose trees see the columns in a way that cannot be
    undone.
    """
    steps, last = _opened(goal.model.model)
    growth = grown(last, len(goal.classes))
    schema = goal.layout.schema
    try:
        encoding = Encoding.learn(lambda asked: _split(_encoded(goal, steps, asked)), schema, rows)
    except ModelError as error:
        raise _unreadable(last, "its preprocessing cannot be followed back to single columns") from error
    sources = _sources(encoding, schema, growth, last)
    ensemble = Ensemble(growth, schema, sources, encoding, goal, steps)
    _verify(ensemble, goal, rows, last)
    return ensemble


def boxes(growth: Growth) -> Boxes:
    """The box of every leaf that some row can reach: the conditions on its path, intersected."""
    nodes, width = len(growth.feature), growth.width
    low, high = np.full((nodes, width), -np.inf), np.full((nodes, width), np.inf)
    missing = np.ones((nodes, width), dtype=bool)
    tree = np.zeros(nodes, dtype=np.intp)
    tree[growth.roots] = np.arange(len(growth.roots))
    front = growth.roots
    while front.size:
        front = front[growth.feature[front] >= 0]
        column, threshold = growth.feature[front], growth.threshold[front]
        for child, goes in ((growth.left, growth.missing_left), (growth.right, ~growth.missing_left)):
            after = child[front]
            low[after], high[after], missing[after] = low[front], high[front], missing[front]
            missing[after, column] &= goes[front]
            tree[after] = tree[front]
        left, right = growth.left[front], growth.right[front]
        high[left, column] = np.minimum(high[left, column], threshold)
        low[right, column] = np.maximum(low[right, column], threshold)
        front = np.concatenate((left, right))
    leaf = np.flatnonzero(growth.feature < 0)
    leaf = leaf[((low[leaf] < high[leaf]) | missing[leaf]).all(axis=1)]
    return Boxes(leaf, tree[leaf], low[leaf], high[leaf], missing[leaf])


def _opened(model: Any) -> tuple[tuple[Any, ...], Any]:
    """The steps before the estimator that decides, and that estimator."""
    steps: list[Any] = []
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(getattr(model, "steps", None), list) and model.steps:
            steps += [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]
            model = model.steps[-1][1]
        elif hasattr(model, "response_method") and hasattr(model, "estimator_"):
            model = model.estimator_  # it only decides at another threshold
        else:
            return tuple(steps), model


def _encoded(goal: GoalLike, steps: tuple[Any, ...], rows: np.ndarray) -> np.ndarray:
    batch = goal.reader.batch(rows)
    if not steps:
        columns = list(batch.columns) if hasattr(batch, "columns") else list(goal.layout.columns)
        places = [goal.layout.columns.index(name) for name in columns]
        return _numbers(goal.layout.array(rows)[:, places])
    for step in steps:
        batch = step.transform(batch)
    return _numbers(batch.toarray() if hasattr(batch, "toarray") else batch)


def _numbers(cells: Any) -> np.ndarray:
    try:
        return np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError("levels that are no numbers reach the trees") from None


def _split(encoded: np.ndarray) -> np.ndarray:
    """Missing cells as zeros, and beside them one column each that says where they are."""
    missing = np.isnan(encoded)
    return np.column_stack((np.where(missing, 0.0, encoded), missing))


def _sources(encoding: Encoding, schema: Schema, growth: Growth, last: Any) -> np.ndarray:
    depends = np.abs(encoding.slopes) > 0
    for j, table in encoding.states.items():
        depends[j] |= (np.abs(table) > 0).any(axis=0)
    for j, marks in encoding.marks.items():
        depends[j] |= np.logical_or.reduce([np.abs(move) > 0 for move in marks.values()])
    width = encoding.width // 2
    if width != growth.width:
        raise _unreadable(last, f"it has {growth.width} columns, but {width} reach it")
    depends = depends[:, :width] | depends[:, width:]
    mixed = np.intersect1d(np.flatnonzero(depends.sum(axis=0) > 1), growth.feature)
    if mixed.size:
        names = [schema.names[j] for j in np.flatnonzero(depends[:, mixed[0]])]
        raise _unreadable(last, f"one of its columns is made of several: {', '.join(names)}")
    return np.where(depends.any(axis=0), depends.argmax(axis=0), -1)


def _verify(ensemble: Ensemble, goal: GoalLike, rows: np.ndarray, last: Any) -> None:
    """Makes sure that the arrays say what the model does: the same shares, or the same margins up to their unit."""
    rows = rows[:_CHECKED_ROWS]
    own = ensemble.growth.scores(ensemble.encode(rows))
    adapter = goal.model.adapter
    kind = "probabilities" if "probabilities" in adapter.kinds else "scores"
    if kind not in adapter.kinds:
        raise _unreadable(last, "it gives neither probabilities nor scores to check them by")
    said = np.asarray(goal.reader.read(rows, (kind,))[kind], dtype=np.float64).reshape(len(rows), -1)
    if ensemble.growth.votes and kind == "probabilities":
        good = said.shape == own.shape and bool(np.allclose(said, own / len(ensemble.growth.roots), atol=_TOLERANCE))
    else:
        good = _same_margins(own, _margins(said, kind))
    if not good:
        raise _unreadable(last, "read as plain trees it does not predict what the model itself predicts")


def _margins(said: np.ndarray, kind: str) -> np.ndarray:
    """Each class's lead over the first, from probabilities or scores; NaN where a probability says too little."""
    if kind == "scores":
        return said - said[:, :1] if said.shape[1] > 1 else np.column_stack((np.zeros(len(said)), said))
    if said.shape[1] == 1:
        said = np.column_stack((1 - said, said))
    vague = (said.max(axis=1) > _LARGEST_SHARE) | (said.min(axis=1) < 1 - _LARGEST_SHARE)
    with np.errstate(divide="ignore"):
        margins = np.log(said) - np.log(said[:, :1])
    return np.where(vague[:, None], np.nan, margins)


def _same_margins(own: np.ndarray, said: np.ndarray) -> bool:
    if own.shape != said.shape:
        return False
    for k in range(1, own.shape[1]):
        known = np.isfinite(said[:, k])
        x, y = (own[:, k] - own[:, 0])[known], said[known, k]
        if len(x) < 2:
            return False
        if x.std() == 0:
            return bool(y.std() <= _TOLERANCE)
        slope = ((x - x.mean()) * (y - y.mean())).mean() / x.var()
        apart = np.abs(y - y.mean() - slope * (x - x.mean())).max()
        if slope <= 0 or apart > 10 * _TOLERANCE * max(1.0, float(y.std())):
            return False
    return True


def _unreadable(last: Any, why: str) -> ModelError:
    return ModelError(
        f"the trees of the {type(last).__name__} model cannot be followed back to the table: {why}; give it numbers, "
        "or levels through a one-hot or ordinal encoder in a pipeline, or use GrowingSpheres or NearestUnlike, which "
        "take any classifier"
    )
