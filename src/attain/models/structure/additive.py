"""Scores that a model adds up, with two classes, and their exact Shapley values.

A linear score is s(x) = constant + Σ_j c_j(x_j); that of a tree ensemble is the sum over trees of what the leaf that x
reaches gives the target more than the other class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attain.models.goal import Goal
from attain.models.structure.encoding import StructureError, once
from attain.models.structure.linear import LinearScore, decision_scores, linear_score
from attain.models.structure.trees import Ensemble, read_ensemble


class AdditiveScore(Protocol):
    """The score of a linear model or a tree ensemble.

    Attributes
    ----------
    scale
        What the score is, in words.
    """

    @property
    def scale(self) -> str: ...

    def shapley(self, goal: Goal, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The exact Shapley values of the score of each row (n, d) against each of some others (B, d), (n, B, d).

        The columns are the players: those of a coalition have the row's cells, the rest the other's. `goal` is that of
        the call: its rows may have levels that the schema does not have.
        """
        ...


def additive_score(goal: Goal, values: np.ndarray) -> AdditiveScore:
    """The score of the goal's model; `values` is the training matrix, on which it is compared with the model's own.

    Raises a `StructureError` for a model that is neither linear nor a tree ensemble, or has more than two classes.
    """
    return once(goal, "additive", lambda: _read(goal, values))


def _read(goal: Goal, values: np.ndarray) -> AdditiveScore:
    try:
        return LinearSum(linear_score(goal, values))
    except StructureError:
        return TreeSum.read(goal, values)


@dataclass(frozen=True, eq=False)
class LinearSum(AdditiveScore):
    """A linear score."""

    linear: LinearScore
    scale: str = "decision function"

    def shapley(self, goal: Goal, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        own, theirs = (
            np.column_stack([self.linear.weight(j, cells) for j, cells in enumerate(some.T)]) for some in (rows, others)
        )
        for i, j in np.argwhere(np.isnan(own)):  # a level that the schema does not have: the model itself knows it
            pair = rows[[i, i]]
            pair[1, j] = others[0, j]
            own[i, j] = theirs[0, j] - np.diff(decision_scores(goal, pair))[0]
        return np.asarray(own[:, None, :] - theirs)


@dataclass(frozen=True, eq=False)
class TreeSum(AdditiveScore):
    """A sum over trees.

    Attributes
    ----------
    worth
        What each leaf adds to the score, (L,).
    """

    trees: Ensemble
    worth: np.ndarray

    @classmethod
    def read(cls, goal: Goal, values: np.ndarray) -> TreeSum:
        if len(goal.classes) != 2:
            raise StructureError(f"the model has {len(goal.classes)} classes; sums over trees are for two")
        trees = read_ensemble(goal, values)
        k = goal.classes.index(goal.target)
        return cls(trees, trees.scale * (trees.value[:, k] - trees.value[:, 1 - k]))

    @property
    def scale(self) -> str:
        return "lead in probability" if self.trees.votes else "log-odds"

    def shapley(self, goal: Goal, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        return self.trees.shapley(self.worth, goal.reader, rows, others)
