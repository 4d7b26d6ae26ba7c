"""A method's search, batch after batch: progress, interruption, a model that is too slow, slack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attain.core import interrupts
from attain.core.progress import track
from attain.methods.search.problem import Answers, Problem
from attain.models.watch import SlowModelError
from attain.results.status import Status


@dataclass(frozen=True)
class Runner:
    """Runs a search over batches of rows.

    Parameters
    ----------
    name
        What the progress bar calls the method.
    search
        From a problem to the answers of its rows.
    size
        The most rows of a batch.
    figures
        The names of the figures that the search gives for each answer.
    """

    name: str
    search: Callable[[Problem], Answers]
    size: int
    figures: Sequence[str]

    def run(self, problem: Problem, outcome: list[Status | None]) -> tuple[Answers, bool]:
        """All answers, and whether the search was interrupted; what is done is kept.

        Rows whose outcome is None are searched, and get one. With a slack, rows without an answer that holds within it
        are searched again without.
        """
        if problem.slack is None:
            return self._batches(problem, outcome)
        waiting = [i for i, status in enumerate(outcome) if status is None]
        # half the budget is kept for rows without an answer that holds within the slack
        half = problem.ledger.subset(np.arange(len(problem)), problem.ledger.budget // 2)
        rough, interrupted = self._batches(replace(problem, ledger=half), outcome)
        if interrupted:
            return rough, True
        for i in waiting:
            outcome[i] = outcome[i] if outcome[i] is Status.FOUND else None
        exact, interrupted = self._batches(replace(problem, slack=None), outcome)
        found = [part for part in (rough, exact) if len(part.rows)]
        return self._joined(problem, found), interrupted

    def _batches(self, problem: Problem, outcome: list[Status | None]) -> tuple[Answers, bool]:
        waiting = np.flatnonzero([status is None for status in outcome])
        parts: list[Answers] = []
        bar = track(len(waiting), self.name)
        size = max(self.size if bar.most is None else min(self.size, bar.most), 1)
        interrupted = False
        try:
            for start in range(0, len(waiting), size):
                for some, answers in self._searched(problem, waiting[start : start + size]):
                    for i, status in zip(some, answers.status, strict=True):
                        outcome[i] = status
                    parts.append(replace(answers, owners=some[answers.owners]))
                    bar.update(len(some), found=answers.status.count(Status.FOUND))
        except KeyboardInterrupt:
            interrupts.answered()
            interrupted = True
            for i in waiting:
                outcome[i] = outcome[i] or Status.INTERRUPTED
        finally:
            bar.close()
        return self._joined(problem, parts), interrupted

    def _searched(self, problem: Problem, owners: np.ndarray) -> Iterator[tuple[np.ndarray, Answers]]:
        """The answers of a batch; of one row after the other where the slope of the model's score takes too long."""
        try:
            answers = self.search(problem.subset(owners))
        except SlowModelError:
            if len(owners) == 1:
                yield owners, replace(self._joined(problem, []), status=[Status.TIME_SPENT])
                return
            for i in owners:
                yield from self._searched(problem, np.array([i]))
            return
        problem.ledger.subset(owners).charge_time()
        yield owners, answers

    def _joined(self, problem: Problem, parts: Sequence[Answers]) -> Answers:
        if not parts:
            figures = {name: np.empty(0) for name in self.figures}
            none = np.empty((0, len(problem.region.schema)))
            return Answers(none, np.empty(0, dtype=np.intp), np.empty(0), [], figures)
        return Answers(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.owners for part in parts]),
            np.concatenate([part.sort_key for part in parts]),
            [status for part in parts for status in part.status],
            {name: np.concatenate([part.figures[name] for part in parts]) for name in parts[0].figures},
        )
