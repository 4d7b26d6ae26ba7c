"""The easiest record of all that turns a linear model's decision: a floor for the guarded search, and a start."""

from __future__ import annotations

from typing import Final

import numpy as np

from attain.methods.recourse.actionable_recourse import ActionableRecourse
from attain.methods.search.problem import Answers, Ledger, Problem
from attain.models import GoalLike
from attain.models.structure.encoding import StructureError
from attain.models.structure.linear import linear_score
from attain.tables import Table

_VALUES: Final = 1024
"""Of a column with more observed values so many are kept, evenly by their rank: a shift is then off by 0.1 points."""


class Easiest:
    """Exact recourse for linear models: the least total shift there is, on the observed grid, faithful or not."""

    def __init__(self, table: Table, labels: np.ndarray | None) -> None:
        self._recourse = ActionableRecourse(table.schema, cost="total", grid="observed", figures=False)
        self._recourse._remember(table, labels)
        self._recourse._prepare()
        grid = self._recourse.grid_
        grid.points = [_thinned(points) for points in grid.points]

    def fits(self, goal: GoalLike) -> bool:
        """Whether the model is linear."""
        try:
            linear_score(goal, self._recourse.table_.values)
        except StructureError:
            return False
        return True

    def search(self, problem: Problem) -> Answers:
        """The easiest record of each person, with its total shift as `cost`; nobody is charged for it."""
        ledger = Ledger(problem.people, problem.ledger.budget)
        return self._recourse._search(Problem(problem.goal, problem.region, ledger, 1, problem.seed))


def _thinned(points: np.ndarray) -> np.ndarray:
    """The points, or so many of them at even ranks, the first and the last among them."""
    if len(points) <= _VALUES:
        return points
    return points[np.unique(np.linspace(0, len(points) - 1, _VALUES).astype(np.intp))]
