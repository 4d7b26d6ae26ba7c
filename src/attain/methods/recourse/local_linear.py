"""A linear model of any classifier in the neighbourhood of one row, and the search by it.

Records are drawn round the row and scored. A weighted ridge regression in the measuring space, through the row's own
score, says which cells help. The flip set of that model is a proposal: each item is asked of the real classifier,
and what it answers goes into the next round's regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from scipy.special import logit

from attain.methods.recourse.actions import Actions
from attain.methods.recourse.flip_set import Item
from attain.methods.search.moves import Moves, Scale
from attain.methods.search.pool import Pool, first_of_each
from attain.methods.search.problem import Problem
from attain.models.structure.encoding import Encoding
from attain.models.structure.linear import LinearScore

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

    `encoding` is the measuring space, as a sum over cells.
    """

    def __init__(self, problem: Problem, actions: Actions, encoding: Encoding, scale: Scale, samples: int) -> None:
        self._problem = problem
        self._actions = actions
        self._encoding = encoding
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
                self._problem.ledger.charge_time(i)
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
        rows = self._problem.region.factuals[owners]
        self._keep(rows, owners, self._problem.ask(rows, owners)[1])

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

    def _transformed(self) -> tuple[np.ndarray, np.ndarray, float]:
        """All scored rows as points, their scores (log-odds where these are bounded), and the score that is needed."""
        goal, score = self._problem.goal, self._score
        wanted = goal.margin if goal.probability is None else min(goal.probability + goal.margin, 1.0)
        low = -1.0 if goal.probability is None else 0.0
        if np.isin(score, (0.0, 1.0)).all() and goal.probability is None:
            low, wanted = 0.0, 0.5  # a model that gives labels only
        if (score >= low).all() and (score <= 1.0).all():
            chances = np.clip((np.append(score, wanted) - low) / (1.0 - low), _EDGE, 1 - _EDGE)
            score, wanted = logit(chances[:-1]), float(logit(chances[-1]))
        return self._encoding.encode(self._rows), score, wanted

    def _proposals(
        self, i: int, scored: tuple[np.ndarray, np.ndarray, float], propose: Propose
    ) -> Iterator[tuple[np.ndarray, int]]:
        points, score, wanted = scored
        mine = np.flatnonzero(self._owners == i)
        if len(mine) < 2:
            return
        own = mine[0]  # the row itself was asked first
        slopes = _slopes(points[mine] - points[own], score[mine] - score[own])
        model = LinearScore(self._encoding.compose_linear(slopes[:, None], np.zeros(1)), threshold=0.0)
        lacking = max(wanted - float(score[own]), _EDGE)
        for item in propose(i, model, [overshoot * lacking for overshoot in _OVERSHOOTS]):
            row = self._problem.region.factuals[i].copy()
            row[item.columns] = item.cells
            yield row, i


def _slopes(points: np.ndarray, score: np.ndarray) -> np.ndarray:
    """The ridge regression through the origin, (p,): (XᵀWX + ρI)⁻¹ XᵀWy with W = exp(−‖x‖² / 2w²).

    With more coordinates than points it is solved in the points: Xᵀ (XXᵀ + ρW⁻¹)⁻¹ y.
    """
    width = _WIDTH * np.sqrt(points.shape[1])
    weight = np.exp(-(points**2).sum(axis=1) / (2 * width**2))
    if points.shape[1] > len(points):
        kernel = points @ points.T + np.diag(_RIDGE * weight.sum() / np.maximum(weight, _LEAST_WEIGHT))
        return np.asarray(points.T @ np.linalg.solve(kernel, score))
    weighted = points * weight[:, None]
    normal = points.T @ weighted + _RIDGE * weight.sum() * np.eye(points.shape[1])
    return np.linalg.solve(normal, weighted.T @ score)
