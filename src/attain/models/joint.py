"""`JointGoal`: several models that must agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from attain.engine.score import LeastScore, Score
from attain.models.goal import Goal, Judgement


class JointGoal(Goal):
    """A goal that is met where a first goal and all others are met; its score, target and model are the first's.

    The others are asked only about rows that meet the goals before them.
    """

    def __init__(self, first: Goal, others: Sequence[Goal]) -> None:
        vars(self).update(vars(first), compiled=None)
        self._goals = (first, *others)
        self.most_questions = sum(goal.most_questions for goal in self._goals)
        self.last_questions = sum(goal.last_questions for goal in self._goals)

    @property
    def rows_asked(self) -> int:
        return sum(goal.rows_asked for goal in self._goals)

    def score_rows(self, rows: np.ndarray) -> Judgement:
        return _jointly([goal.score_rows for goal in self._goals], rows)

    def confirm_rows(self, rows: np.ndarray) -> Judgement:
        return _jointly([goal.confirm_rows for goal in self._goals], rows)

    def compiled_score(self) -> Score | None:
        scores = [score for goal in self._goals if (score := goal.compiled_score()) is not None]
        return reduce(LeastScore, scores) if len(scores) == len(self._goals) else None

    def share(self, rows: np.ndarray) -> np.ndarray:
        """The share of the other goals that each row meets, (n,)."""
        return np.mean([other.score_rows(rows).met for other in self._goals[1:]], axis=0)


def _jointly(judges: Sequence[Callable[[np.ndarray], Judgement]], rows: np.ndarray) -> Judgement:
    met, score, asked, failures = judges[0](rows)
    met, asked = met.copy(), asked.copy()
    for judge in judges[1:]:
        left = np.flatnonzero(met)
        judged = judge(rows[left])
        met[left] = judged.met
        asked[left] += judged.asked
    return Judgement(met, score, asked, failures)
