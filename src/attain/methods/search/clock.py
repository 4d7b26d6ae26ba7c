"""How long each person's search takes, against a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Self

import numpy as np

from attain.core.arrays import positions
from attain.models import GoalLike, Judgement
from attain.models.watch import PATIENCE

Judge = Callable[[np.ndarray, np.ndarray | None], Judgement]
"""`judge` or `decide` of a goal."""

_CHANCE: Final = 0.05
"""Seconds that a call may take by chance alone, such as for collecting garbage."""
GRACE: Final = 0.5
"""Seconds for the last check of a person whose time is spent."""


class Clock:
    """Seconds of search, person by person, against a limit.

    The seconds of a call to the model are shared evenly over its rows. Where it takes much longer than usual, it is not
    known whose rows were slow: these people are charged the usual time, and from then on each half of them is asked
    about in calls of its own. So a person whose rows are slow is soon asked about alone, and charged all of it; the
    others are not. All other seconds are those of the people who are searched together, in equal shares.

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
        self._charged_until = time.perf_counter()

    @classmethod
    def of(cls, goal: GoalLike, people: int) -> Self | None:
        """The clock for a goal with a timeout; None for one without."""
        return None if goal.timeout is None else cls(people, goal.timeout)

    def charge(self, people: np.ndarray) -> None:
        """Charges the time since the last charge to those of the people, distinct, who have time left."""
        now = time.perf_counter()
        able = people[self.seconds[people] <= self.timeout]
        if able.size:
            self.seconds[able] += (now - self._charged_until) / len(able)
        self._charged_until = now

    @property
    def left(self) -> np.ndarray:
        """The seconds that each person has left, (n,); 0 or less where their time is spent."""
        return np.asarray(self.timeout - self.seconds)

    def judged(
        self, goal: GoalLike, judge: Judge, rows: np.ndarray, people: np.ndarray, chosen: np.ndarray
    ) -> Judgement:
        """What `judge` says of rows (n, d) of these people, (n,); it is asked about those that are `chosen`, (n,)."""
        if len(rows) and chosen.all() and not self._group.any():
            return self._timed(goal, judge, rows, people)
        met, score, asked = np.zeros(len(rows), dtype=bool), np.full(len(rows), goal.lowest), np.zeros(len(rows), int)
        failures: dict[int, str] = {}
        slow: list[int] = []
        groups = self._group[people]
        for group in np.unique(groups[chosen]):
            at = positions(chosen & (groups == group))
            part = self._timed(goal, judge, rows[at], people[at])
            met[at], score[at], asked[at] = part.met, part.score, part.asked
            failures |= {int(at[i]): sentence for i, sentence in part.failures.items()}
            slow += at[list(part.slow)].tolist()
        return Judgement(met, score, asked, failures, tuple(sorted(slow)))

    def _timed(self, goal: GoalLike, judge: Judge, rows: np.ndarray, people: np.ndarray) -> Judgement:
        """What `judge` says of rows of one group, charged to these people."""
        asked = np.unique(people)
        self.charge(asked)
        goal.allow(max(float(self.left[asked].max()), GRACE))
        started = time.perf_counter()
        judged = judge(rows, people)
        self._charged_until = time.perf_counter()
        seconds = self._charged_until - started
        slow = people[list(judged.slow)]
        others = np.setdiff1d(asked, slow) if slow.size else asked
        if len(others) > 1 or slow.size:
            usual = _CHANCE + PATIENCE * goal.usual_seconds(len(rows))
            if seconds > usual and not slow.size:
                self._group[others[len(others) // 2 :]] = self._group.max() + 1
            seconds = min(seconds, usual)
        np.add.at(self.seconds, people, seconds / len(rows))
        self.seconds[slow] = np.inf
        return judged
