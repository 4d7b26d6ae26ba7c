"""The linear scores of the rows to be explained."""

from __future__ import annotations

import numpy as np

from attain.methods.search.problem import Problem
from attain.models.structure.linear import LinearScore, decision_scores


def factual_scores(problem: Problem, score: LinearScore) -> np.ndarray:
    """The score of each row, (n,); the model is asked where a cell is missing that never is in the training data."""
    own = score.score(problem.region.start)
    unknown = np.flatnonzero(np.isnan(own))
    if unknown.size:
        problem.ledger.charge(unknown)
        own[unknown] = decision_scores(problem.goal, problem.region.start[unknown])
    return own
