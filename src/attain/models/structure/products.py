"""The scores of linear models and tree ensembles over products of cells: the least and the largest, exact or bounded.

A product takes a row and, for each of k columns j, a list of cells C_j; it stands for all rows that have a cell of each
list in these columns and the row's own cells elsewhere. With two classes,

    a linear score is    s(x) = constant + Σ_j c_j(x_j),
    a tree ensemble's    s(x) = Σ_leaves value · Π_j 1[x_j reaches the leaf],

so the least score is a sum of minima for the one; for the other a table over the product is written out where it is
small, and otherwise the sum of the least leaves that each tree can reach is a bound from below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from scipy.special import logit

from attain.models.goal import GoalLike, probe_rows
from attain.models.structure.encoding import StructureError, once
from attain.models.structure.linear import LinearScore, decision_scores, linear_score
from attain.models.structure.tree_shapley import TreePairs
from attain.models.structure.trees import Boxes, Ensemble, boxes, read_ensemble

_CHECKED_ROWS: Final = 256
_ROUNDING: Final = 1e-8
"""How far above the threshold a score must be, so that rounding does not decide."""
_LINK: Final = 1e-4
"""How far a model's log-odds may be from those of its trees: the sums of some libraries are in single precision."""
_MOST_CELLS: Final = 60_000
"""The largest table of scores that is written out."""
_MOST_LEAVES: Final = 100_000
"""Larger ensembles are not looked into: every product has to visit each leaf."""


class Product(Protocol):
    """The scores of a product of k lists of cells.

    Attributes
    ----------
    exact
        Whether `least` and `most` are attained; if not they are bounds.
    """

    exact: bool

    def least(self, first: Sequence[int], last: Sequence[int]) -> float:
        """The least score, less the threshold, of the cells from `first` to `last` of each list; or a lower bound."""
        ...

    def most(self) -> float:
        """The largest score of all cells, less the threshold; or an upper bound."""
        ...

    def table(self) -> np.ndarray | None:
        """The score of every choice of cells, less the threshold, (|C_1|, …, |C_k|); None where it is too large."""
        ...


class Axes(Protocol):
    """A row and lists of cells for some of its columns."""

    def product(self, columns: Sequence[int], keep: Mapping[int, np.ndarray] | None = None) -> Product:
        """The product of the lists of some of these columns, or of the cells to `keep` of each, (n,).

        In all other columns the row's own cells stay.
        """
        ...


class ProductScore(Protocol):
    """A model's score, as far as products need it.

    Attributes
    ----------
    doubt
        A row meets the goal where the score is at least 0, and does not where it is below −`doubt`: rounding decides
        between.
    scale
        What the score is, in words.
    """

    doubt: float

    @property
    def scale(self) -> str: ...

    def score(self, rows: np.ndarray) -> np.ndarray:
        """The score of each row, less the threshold, (n,)."""
        ...

    def breaks(self, j: int) -> np.ndarray:
        """The numbers of column j at which the score may jump; between them it is linear, in an interval."""
        ...

    def axes(self, row: np.ndarray, cells: Mapping[int, np.ndarray]) -> Axes:
        """A row (d,) and a list of cells for each of some columns."""
        ...

    def shapley(self, goal: GoalLike, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The exact Shapley values of the score of each row (n, d) against each of some others (B, d), (n, B, d).

        The columns are the players: those of a coalition have the row's cells, the rest the other's. `goal` is that of
        the call: its rows may have levels that the schema does not have.
        """
        ...


def product_score(goal: GoalLike, values: np.ndarray) -> ProductScore:
    """The score of the goal's model; `values` is the training matrix, on which it is compared with the model's own.

    Raises a `StructureError` for a model that is neither linear nor a tree ensemble, or has more than two classes.
    """
    return once(goal, "product", lambda: _read(goal, values))


def _read(goal: GoalLike, values: np.ndarray) -> ProductScore:
    try:
        return LinearProducts(linear_score(goal, values))
    except StructureError:
        return TreeProducts.read(goal, values)


@dataclass(frozen=True, eq=False)
class LinearProducts(ProductScore):
    """A linear score."""

    linear: LinearScore
    doubt: float = 2 * _ROUNDING
    scale: str = "decision function"

    def score(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.linear.score(rows) - self.linear.threshold - _ROUNDING)

    def breaks(self, j: int) -> np.ndarray:
        return np.empty(0)

    def axes(self, row: np.ndarray, cells: Mapping[int, np.ndarray]) -> Axes:
        weights = {j: self.linear.weight(j, np.append(row[j], some)) for j, some in cells.items()}
        gains = {j: weight[1:] - weight[0] for j, weight in weights.items()}
        return _LinearAxes(float(self.score(row[None])[0]), gains)

    def shapley(self, goal: GoalLike, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        own, theirs = (
            np.column_stack([self.linear.weight(j, cells) for j, cells in enumerate(some.T)]) for some in (rows, others)
        )
        for i, j in np.argwhere(np.isnan(own)):  # a level that the schema does not have: the model itself knows it
            pair = rows[[i, i]]
            pair[1, j] = others[0, j]
            own[i, j] = theirs[0, j] - np.diff(decision_scores(goal, pair))[0]
        return np.asarray(own[:, None, :] - theirs)


@dataclass(frozen=True, eq=False)
class _LinearAxes(Axes):
    base: float
    gains: dict[int, np.ndarray]

    def product(self, columns: Sequence[int], keep: Mapping[int, np.ndarray] | None = None) -> Product:
        return _LinearProduct(self.base, [self.gains[j] if keep is None else self.gains[j][keep[j]] for j in columns])


@dataclass(frozen=True, eq=False)
class _LinearProduct(Product):
    base: float
    gains: list[np.ndarray]
    exact: bool = True

    def least(self, first: Sequence[int], last: Sequence[int]) -> float:
        parts = zip(self.gains, first, last, strict=True)
        return self.base + sum(float(gain[a : b + 1].min()) for gain, a, b in parts)

    def most(self) -> float:
        return self.base + sum(float(gain.max()) for gain in self.gains)

    def table(self) -> np.ndarray | None:
        if math.prod(len(gain) for gain in self.gains) > _MOST_CELLS:
            return None
        return self.base + sum(np.ix_(*self.gains), np.zeros(()))


@dataclass(frozen=True, eq=False)
class TreeProducts(ProductScore):
    """A tree ensemble with two classes: the sum over trees of what a leaf gives the target more than the other class.

    Attributes
    ----------
    worth
        What each node, as a leaf, adds to the score, (nodes,).
    threshold
        A score that certainly meets the goal; the least that may is lower by `doubt`.
    """

    ensemble: Ensemble
    worth: np.ndarray
    threshold: float
    doubt: float

    @classmethod
    def read(cls, goal: GoalLike, values: np.ndarray) -> TreeProducts:
        if len(goal.classes) != 2:
            raise StructureError(f"the model has {len(goal.classes)} classes; bounds of scores are for two")
        ensemble = read_ensemble(goal, values)
        nodes = ensemble.nodes
        if len(nodes.feature) > _MOST_LEAVES:
            raise StructureError(f"the ensemble has {len(nodes.feature):,} nodes, more than {_MOST_LEAVES:,}")
        k = goal.classes.index(goal.target)
        worth = nodes.value[:, k] - nodes.value[:, 1 - k]
        worth = worth / len(nodes.roots) if nodes.votes else worth
        rows = probe_rows(values, _CHECKED_ROWS)
        sums = cls(ensemble, worth, 0.0, 0.0)._sums(rows)
        return cls(ensemble, worth, *_threshold(goal, rows, sums, nodes.votes))

    def _sums(self, rows: np.ndarray) -> np.ndarray:
        nodes = self.ensemble.nodes
        leaves = nodes.leaves(self.ensemble.encode(rows))
        return np.asarray(self.worth[leaves].sum(axis=1))

    def score(self, rows: np.ndarray) -> np.ndarray:
        return self._sums(rows) - self.threshold

    def breaks(self, j: int) -> np.ndarray:
        nodes, ensemble = self.ensemble.nodes, self.ensemble
        found = [np.empty(0)]
        for column in np.flatnonzero(ensemble.sources == j):
            start, slope = ensemble.number_map(j, int(column))
            if slope:
                found.append((np.unique(nodes.threshold[nodes.feature == column]) - start) / slope)
        return np.unique(np.concatenate(found))

    @cached_property
    def _boxes(self) -> Boxes:
        return boxes(self.ensemble.nodes)

    @property
    def scale(self) -> str:
        return "lead in probability" if self.ensemble.nodes.votes else "log-odds"

    def shapley(self, goal: GoalLike, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        ensemble, found = self.ensemble, self._boxes
        if not found.conditions:
            return np.zeros((len(rows), len(others), rows.shape[1]))
        encoded = ensemble.encode(others)
        pairs = TreePairs(found, self.worth[found.leaf], ensemble.sources, rows.shape[1], encoded)
        return pairs.values(ensemble.encode(rows, goal.reader))

    def axes(self, row: np.ndarray, cells: Mapping[int, np.ndarray]) -> Axes:
        rows = np.repeat(row[None], 1 + sum(len(some) for some in cells.values()), axis=0)
        parts, start = {}, 1
        for j, some in cells.items():
            parts[j] = slice(start, start + len(some))
            rows[parts[j], j] = some
            start += len(some)
        encoded, sources = self.ensemble.encode(rows), self.ensemble.sources
        own = {j: self._reached(encoded[:1], sources == j)[0] for j in cells}
        others = self._reached(encoded[:1], ~np.isin(sources, list(cells)))[0]
        reached = {j: self._reached(encoded[part], sources == j) for j, part in parts.items()}
        return _TreeAxes(self, own, others, reached)

    def _reached(self, encoded: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Which leaves the rows reach as far as the columns `asked` of the trees decide, (n, leaves)."""
        reached = np.ones((len(encoded), len(self._boxes.leaf)), dtype=bool)
        for column, (box, low, high, missing) in self._boxes.conditions.items():
            if asked[column]:
                cells = encoded[:, column, None]
                reached[:, box] &= np.where(np.isnan(cells), missing, (cells > low) & (cells <= high))
        return reached


@dataclass(frozen=True, eq=False)
class _TreeAxes(Axes):
    """Which leaves are reached as far as each column decides: by the row's own cell (L,), by those listed (n, L)."""

    score: TreeProducts
    own: dict[int, np.ndarray]
    others: np.ndarray
    reached: dict[int, np.ndarray]

    def product(self, columns: Sequence[int], keep: Mapping[int, np.ndarray] | None = None) -> Product:
        held = self.others.copy()
        for j, own in self.own.items():
            held &= own | (j in columns)
        reached = [self.reached[j] if keep is None else self.reached[j][keep[j]] for j in columns]
        for mask in reached:
            held &= mask.any(axis=0)
        leaves, found = np.flatnonzero(held), self.score._boxes
        masks = [mask[:, leaves] for mask in reached]
        return _TreeProduct(masks, self.score.worth[found.leaf[leaves]], found.tree[leaves], self.score.threshold)


class _TreeProduct(Product):
    """Leaves that some choice of cells reaches: per list of cells, which cells reach each, (|C_j|, L)."""

    def __init__(self, masks: list[np.ndarray], worth: np.ndarray, tree: np.ndarray, threshold: float) -> None:
        # neighbouring cells that reach the same leaves are one piece
        self._pieces = [_pieces(mask) for mask in masks]
        self._masks = [
            mask[np.unique(piece, return_index=True)[1]] for mask, piece in zip(masks, self._pieces, strict=True)
        ]
        self._worth, self._threshold = worth, threshold
        self._firsts = np.flatnonzero(np.diff(tree, prepend=-1))
        self.exact = math.prod(len(mask) for mask in self._masks) <= _MOST_CELLS

    @cached_property
    def _small(self) -> np.ndarray:
        """The scores of all choices of pieces."""
        product = self._worth[None, :]
        for mask in self._masks[1:]:
            product = (product[:, None, :] * mask[None]).reshape(-1, mask.shape[1])
        if not self._masks:
            return np.asarray(product.sum() - self._threshold)
        scores = self._masks[0].astype(np.float64) @ product.T
        return scores.reshape([len(mask) for mask in self._masks]) - self._threshold

    def least(self, first: Sequence[int], last: Sequence[int]) -> float:
        ranges = [slice(piece[a], piece[b] + 1) for piece, a, b in zip(self._pieces, first, last, strict=True)]
        if self.exact:
            return float(self._small[tuple(ranges)].min())
        reached = [mask[part].any(axis=0) for mask, part in zip(self._masks, ranges, strict=True)]
        return self._bound(np.logical_and.reduce(reached), np.minimum, np.inf)

    def most(self) -> float:
        if self.exact:
            return float(self._small.max())
        return self._bound(np.ones(len(self._worth), dtype=bool), np.maximum, -np.inf)

    def _bound(self, reached: np.ndarray, chosen: np.ufunc, other: float) -> float:
        """The sum over trees of the least, or the largest, leaf that is reached."""
        worth = np.where(reached, self._worth, other)
        return float(chosen.reduceat(worth, self._firsts).sum() - self._threshold)

    def table(self) -> np.ndarray | None:
        return np.asarray(self._small[np.ix_(*self._pieces)]) if self.exact else None


def _pieces(mask: np.ndarray) -> np.ndarray:
    """The number of each row among runs of equal ones, from 0, (n,)."""
    changes = (mask[1:] != mask[:-1]).any(axis=1)
    return np.concatenate(([0], np.cumsum(changes)))


def _threshold(goal: GoalLike, rows: np.ndarray, own: np.ndarray, votes: bool) -> tuple[float, float]:
    """A sum over trees from which on the goal is met, by the link to what the goal is judged by; and the doubt.

    Votes are the lead in probability itself; otherwise log-odds, or the model's own score, are a · sum + b.
    """
    met, judged = goal.judge(rows)[:2]
    if goal.probability is None:
        wanted = goal.margin
    else:
        judged, wanted = 2 * judged - 1, 2 * min(goal.probability + goal.margin, 1.0) - 1
    bounded = bool((np.abs(judged) <= 1).all())
    if votes:
        slope, offset, off = 1.0, 0.0, float(np.abs(judged - own).max())
        tolerance = _ROUNDING
    else:
        if bounded:
            inner = np.abs(judged) < 1 - 1e-6
            judged, own_inner = 2 * np.arctanh(judged[inner]), own[inner]
            wanted = float(logit((1 + wanted) / 2))
        else:
            own_inner = own
        if len(own_inner) < 2 or np.ptp(own_inner) == 0 or not np.isfinite(wanted):
            raise StructureError("the trees' scores do not determine what the goal is judged by")
        slope, offset = (float(part) for part in np.polyfit(own_inner, judged, 1))
        off = float(np.abs(slope * own_inner + offset - judged).max())
        tolerance = _LINK
    if slope <= 0 or off > tolerance:
        raise StructureError("the model's decision is not a function of the sum of its trees")
    threshold = (wanted - offset + tolerance) / slope
    if (met != (own >= threshold))[np.abs(own - threshold) > 2 * tolerance / slope].any():
        raise StructureError("the model decides by something else than the sum of its trees")
    return float(threshold), 2 * tolerance / slope
