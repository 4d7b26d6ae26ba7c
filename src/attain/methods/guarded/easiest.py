"""The easiest record of all that flips a linear model's decision: the price of faithfulness, and a start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attain.methods.recourse.actions import ActionGrid, Actions
from attain.methods.recourse.exact import ExactRecourse
from attain.methods.search.problem import Answers, Problem
from attain.models import Goal
from attain.models.structure.encoding import StructureError
from attain.models.structure.linear import LinearScore, linear_score
from attain.population.percentiles import Percentiles
from attain.schema import Schema


class Easiest:
    """Exact recourse for linear models: the least total shift there is, on the observed grid, faithful or not.

    The guarded search shares `recourse.actions` and `recourse.exact` with `ActionableRecourse`; no other method uses a
    part of another one.
    """

    def __init__(self, schema: Schema, values: np.ndarray, percentiles: Percentiles, most_values: int) -> None:
        self._values, self._percentiles = values, percentiles
        self._grid = ActionGrid(schema, values, "observed")
        self._grid.points = [_thinned(points, most_values) for points in self._grid.points]

    def score(self, goal: Goal) -> LinearScore | None:
        """The score of a linear model; None for other models."""
        try:
            return linear_score(goal, self._values)
        except StructureError:
            return None

    def search(self, problem: Problem, score: LinearScore) -> Answers:
        """The easiest record of each row, with its total shift as the figure `cost`.

        Laws take no part: it is the price of keeping them, too, that is read from it.
        """
        region = problem.region.without_laws()
        actions = Actions(region, self._grid, self._percentiles, "total")
        return ExactRecourse().search(replace(problem, region=region, options=1), actions, score)


def _thinned(points: np.ndarray, most: int) -> np.ndarray:
    """The points, or `most` of them at even ranks, including the first and the last."""
    if len(points) <= most:
        return points
    return points[np.unique(np.linspace(0, len(points) - 1, most).astype(np.intp))]
