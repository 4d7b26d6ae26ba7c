"""A linear model of any classifier in the neighbourhood of one row, and the search by it.

Records are drawn round the row and scored. A weighted ridge regression in the measuring space, through the row's own
score, says which cells help. The flip set of that model is a proposal: each item is asked of the real classifier,
and what it answers goes into the next round's regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logit

from attain.core.arrays import first_of_each
from attain.methods.recourse.actions import Actions
from attain.methods.recourse.flip_set import Item
from attain.methods.search.moves import Moves, Scale
from attain.methods.search.problem import Pool, Problem
from attain.models.structure.encoding import Encoding
from attain.models.structure.linear import LinearScore
from attain.population.space import MeasuringSpace

Propose = Callable[[int, LinearScore, Sequence[float]], Iterator[Item]]
"""(row, its local model, scores to gain) → for each of these the first items of a flip set."""

_RADII: Final = (1.0, 3.0)
"""Half of the records are drawn from each of these balls, in standard deviations."""
_ROUNDS: Final = 4
_OVERSHOOTS: Final = (1.0, 1.5, 2.5, 4.0)
"""A local model is less accurate farther out: items are also proposed that gain more than it says is needed."""
_RIDGE: Final = 1e-3
_WIDTH: Final = 0.75
"""The kernel's width, as a share of the root of the dimension."""
_EDGE: Final = 1e-4
_LEAST_WEIGHT: Final = 1e-12


class LocalSearch:
    """The search of one batch by local linear models; `pool` holds what flipped the decision.

    Local models are linear in the coordinates of `space`.
    """

    def __init__(self, problem: Problem, actions: Actions, space: MeasuringSpace, scale: Scale, samples: int) -> None:
        self._problem = problem
        self._actions = actions
        self._space = space
        self._samples = samples
        self._moves = Moves(problem.region, scale, problem.seed)
        keep = 4 * problem.options
        self.pool = Pool(len(problem), len(problem.region.schema), keep)
        self._rows = np.empty((0, len(problem.region.schema)))
        self._owners = np.empty(0, dtype=np.intp)
        self._score = np.empty(0)
        # rows kept back for taking back changes, and for the last check
        self.reserve = keep * (1 + self._moves.dimensions)

    def run(self, propose: Propose) -> None:
        """Draws, then proposes and asks in rounds, while the budget lasts."""
        waiting = np.arange(len(self._problem))
        self._ask_own()
        for radius in _RADII:
            inner, outer = np.zeros(len(waiting)), np.full(len(waiting), radius)
            self._ask(*self._moves.draw(waiting, inner, outer, self._samples // len(_RADII)))
        for _ in range(_ROUNDS):
            scored, before = self._transformed(), self.pool.nearest.copy()
            proposals: list[tuple[np.ndarray, int]] = []
            for i in waiting.tolist():
                proposals += self._proposals(i, scored, propose)
            if not proposals:
                return
            self._ask(np.array([row for row, _ in proposals]), np.array([i for _, i in proposals]))
            # an answer that another round did not improve is final
            nearest = self.pool.nearest[waiting]
            waiting = waiting[np.isinf(nearest) | (nearest < before[waiting])]

    def _ask(self, rows: np.ndarray, owners: np.ndarray) -> None:
        """Asks about rows that are new, allowed and affordable, and remembers the answers."""
        tried = self._problem.evaluate(
            rows, owners, reserve=self.reserve, where=lambda rows: self._unseen(rows, owners), distinct=owners
        )
        self._keep(tried.rows[tried.asked], owners[tried.asked], tried.score)
        rows, owners = tried.rows[tried.hits], owners[tried.hits]
        self.pool.add(rows, owners, self._actions.cost(rows, owners))

    def _ask_own(self) -> None:
        """Asks about the rows to be explained themselves."""
        owners = np.arange(len(self._problem))
        owners = owners[self._problem.affordable(owners, self.reserve)]
        rows = self._problem.region.start[owners]
        self._keep(rows, owners, self._problem.judge(rows, owners).score)

    def _keep(self, rows: np.ndarray, owners: np.ndarray, score: np.ndarray) -> None:
        self._rows = np.concatenate((self._rows, rows))
        self._owners = np.concatenate((self._owners, owners))
        self._score = np.concatenate((self._score, score))

    def _unseen(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows were not asked about before."""
        known = len(self._rows)
        first = first_of_each(np.concatenate((self._rows, rows)), np.concatenate((self._owners, owners)))
        unseen = np.zeros(len(rows), dtype=bool)
        unseen[first[first >= known] - known] = True
        return unseen

    def _transformed(self) -> tuple[csr_array, np.ndarray, float]:
        """All scored rows as points, their scores (log-odds where these are bounded), and the score that is needed."""
        goal, score = self._problem.goal, self._score
        wanted = goal.margin if goal.probability is None else min(goal.probability + goal.margin, 1.0)
        low = -1.0 if goal.probability is None else 0.0
        if np.isin(score, (0.0, 1.0)).all() and goal.probability is None:
            low, wanted = 0.0, 0.5  # a model that gives labels only
        if (score >= low).all() and (score <= 1.0).all():
            chances = np.clip((np.append(score, wanted) - low) / (1.0 - low), _EDGE, 1 - _EDGE)
            score, wanted = logit(chances[:-1]), float(logit(chances[-1]))
        return self._space.sparse(self._rows), score, wanted

    def _proposals(
        self, i: int, scored: tuple[csr_array, np.ndarray, float], propose: Propose
    ) -> Iterator[tuple[np.ndarray, int]]:
        points, score, wanted = scored
        mine = np.flatnonzero(self._owners == i)
        if len(mine) < 2:
            return
        own = mine[0]  # the row itself was asked first
        moves = points[mine] - csr_array(np.ones((len(mine), 1))) @ points[[own]]
        model = _linear(self._space, _slopes(moves, score[mine] - score[own]))
        lacking = max(wanted - float(score[own]), _EDGE)
        for item in propose(i, model, [overshoot * lacking for overshoot in _OVERSHOOTS]):
            yield item.row, i


def _linear(space: MeasuringSpace, slopes: np.ndarray) -> LinearScore:
    """Σ_k slopes[k] · z_k as a sum over cells. A missing cell of a column that has none counts like its mean."""
    d, schema, n = len(space.schema), space.schema, len(space.scaled)
    unit, offset = np.zeros(d), np.zeros(d)
    unit[space.scaled] = slopes[:n] / space.scale
    offset[space.scaled] = unit[space.scaled] * space.mean  # what a column adds less at 0 than at its mean
    ends = np.searchsorted(space.indicated, np.arange(d + 1)) + n
    levels, special, missing = [], [], offset.copy()
    for j, feature in enumerate(schema):
        of_states = slopes[ends[j] : ends[j + 1]] + offset[j]
        own = 0 if feature.ordered else len(feature.levels)
        levels.append((np.arange(len(feature.levels)) * unit[j] if feature.ordered else of_states[:own])[:, None])
        special.append(of_states[own : own + len(feature.special)][:, None])
        if len(of_states) > own + len(feature.special):
            missing[j] = of_states[-1]
    numeric = np.array([feature.numeric for feature in schema])
    slope = np.where(numeric, unit, 0.0)[:, None]
    constant = np.array([-offset.sum()])
    encoding = Encoding(schema, constant, slope, tuple(levels), tuple(special), missing[:, None], unseen=0.0)
    return LinearScore(encoding, threshold=0.0)


def _slopes(points: csr_array, score: np.ndarray) -> np.ndarray:
    """The ridge regression through the origin, (p,): (XᵀWX + ρI)⁻¹ XᵀWy with W = exp(−‖x‖² / 2w²).

    With more coordinates than points it is solved in the points: Xᵀ (XXᵀ + ρW⁻¹)⁻¹ y.
    """
    width = _WIDTH * np.sqrt(points.shape[1])
    weight = np.exp(-points.power(2).sum(axis=1) / (2 * width**2))
    if points.shape[1] > points.shape[0]:
        kernel = (points @ points.T).toarray() + np.diag(_RIDGE * weight.sum() / np.maximum(weight, _LEAST_WEIGHT))
        return np.asarray(points.T @ np.linalg.solve(kernel, score))
    dense = points.toarray()
    weighted = dense * weight[:, None]
    normal = dense.T @ weighted + _RIDGE * weight.sum() * np.eye(dense.shape[1])
    return np.linalg.solve(normal, weighted.T @ score)
