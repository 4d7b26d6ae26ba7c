"""The batches of a search: progress, interruption, the deadline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

import numpy as np

from attain.core import interrupts
from attain.core.progress import track
from attain.methods.search.problem import Answers, Problem
from attain.results.status import Status

_IN_VAIN: Final = (Status.OUT_OF_REACH, Status.NO_CHANGE_FOUND, Status.SHELLS_SPENT, Status.BUDGET_SPENT)
"""The statuses of rows for which no answer was found, though there may be one."""


class Batches:
    """The rows without an outcome, batch after batch; `add` takes the answers of the batch that came last.

    At the end of the `with` block every row has an outcome, and what is done is kept: rows that are not done by the
    deadline, and have no answer by then, are TIME_SPENT, and after Ctrl-C those that are left are INTERRUPTED.

    Parameters
    ----------
    problem, outcome
        The problem, and how the search of each row ended, None for those to be searched.
    most
        The most rows of a batch.
    name
        What the progress bar calls the method.
    """

    def __init__(self, problem: Problem, outcome: list[Status | None], most: int, name: str) -> None:
        self._problem, self._outcome = problem, outcome
        self._waiting = np.flatnonzero([status is None for status in outcome])
        self._bar = track(len(self._waiting), name)
        self._size = max(most if self._bar.most is None else min(most, self._bar.most), 1)
        self._parts: list[Answers] = []
        self.interrupted = False

    def __iter__(self) -> Iterator[Problem]:
        for start in range(0, len(self._waiting), self._size):
            if self._problem.ledger.deadline.passed:
                return
            self._some = self._waiting[start : start + self._size]
            yield self._problem.subset(self._some)

    def add(self, answers: Answers) -> None:
        some, late = self._some, self._problem.ledger.deadline.passed
        for i, status in zip(some, answers.status, strict=True):
            self._outcome[i] = Status.TIME_SPENT if late and status in _IN_VAIN else status
        self._parts.append(replace(answers, owners=some[answers.owners]))
        self._bar.update(len(some), found=answers.status.count(Status.FOUND))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        self._bar.close()
        if isinstance(error, KeyboardInterrupt):
            interrupts.answered()
            self.interrupted = True
        for i in self._waiting:
            self._outcome[i] = self._outcome[i] or (Status.INTERRUPTED if self.interrupted else Status.TIME_SPENT)
        return self.interrupted

    def answers(self, figures: tuple[str, ...]) -> Answers:
        """All answers; without any, the figures of these names are there too, and empty."""
        parts = self._parts
        if not parts:
            nothing = {name: np.empty(0) for name in figures}
            columns = len(self._problem.region.schema)
            return Answers(np.empty((0, columns)), np.empty(0, dtype=np.intp), np.empty(0), [], nothing)
        if len(parts) == 1:
            return parts[0]
        return Answers(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.owners for part in parts]),
            np.concatenate([part.sort_key for part in parts]),
            [status for part in parts for status in part.status],
            {
                name: np.concatenate([part.figures.get(name, np.full(len(part.rows), np.nan)) for part in parts])
                for name in dict.fromkeys(name for part in parts for name in part.figures)
            },
        )
