"""How long the model takes for each person, against a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Self

import numpy as np

from attain.models import GoalLike, Judgement
from attain.models.watch import PATIENCE

Judge = Callable[[np.ndarray, np.ndarray | None], Judgement]
"""`judge` or `decide` of a goal."""

_CHANCE: Final = 0.05
"""Seconds that a call may take by chance alone, such as for collecting garbage."""


class Clock:
    """Seconds of model time, person by person, against a limit.

    The seconds of a call are shared evenly over its rows. Where it takes much longer than usual, it is not known whose
    rows were slow: these people are charged the usual time, and from then on each half of them is asked about in calls
    of its own. So a person whose rows are slow is soon asked about alone, and charged all of it; the others are not.

    Parameters
    ----------
    people
        How many people there are.
    timeout
        The most seconds for each of them.
    """

    def __init__(self, people: int, timeout: float) -> None:
        self.timeout = timeout
        self.seconds = np.zeros(people)
        self._group = np.zeros(people, dtype=np.intp)

    @classmethod
    def of(cls, goal: GoalLike, people: int) -> Self | None:
        """The clock for a goal with a timeout; None for one without."""
        return None if goal.timeout is None else cls(people, goal.timeout)

    @property
    def over(self) -> np.ndarray:
        """Whose time is spent, (n,)."""
        return np.asarray(self.seconds > self.timeout)

    def judged(
        self, goal: GoalLike, judge: Judge, rows: np.ndarray, people: np.ndarray, chosen: np.ndarray
    ) -> Judgement:
        """What `judge` says of rows (n, d) of these people, (n,); it is asked about those that are `chosen`, (n,)."""
        met, score, asked = np.zeros(len(rows), dtype=bool), np.full(len(rows), goal.lowest), np.zeros(len(rows), int)
        failures: dict[int, str] = {}
        slow: list[int] = []
        groups = self._group[people]
        for group in np.unique(groups[chosen]):
            at = np.flatnonzero(chosen & (groups == group))
            part = self._timed(goal, judge, rows[at], people[at])
            met[at], score[at], asked[at] = part.met, part.score, part.asked
            failures |= {int(at[i]): sentence for i, sentence in part.failures.items()}
            slow += at[list(part.slow)].tolist()
        return Judgement(met, score, asked, failures, tuple(sorted(slow)))

    def _timed(self, goal: GoalLike, judge: Judge, rows: np.ndarray, people: np.ndarray) -> Judgement:
        """What `judge` says of rows of one group, charged to these people."""
        started = time.perf_counter()
        judged = judge(rows, people)
        seconds = time.perf_counter() - started
        slow = people[list(judged.slow)]
        others = np.unique(people[~np.isin(people, slow)])
        if len(others) > 1 or slow.size:
            usual = _CHANCE + PATIENCE * goal.usual_seconds(len(rows))
            if seconds > usual and not slow.size:
                self._group[others[len(others) // 2 :]] = self._group.max() + 1
            seconds = min(seconds, usual)
        np.add.at(self.seconds, people, seconds / len(rows))
        self.seconds[slow] = np.inf
        return judged
