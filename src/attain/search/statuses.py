"""How a person gets their status: before any search, by the search, by time (`Batches`), and by the last check."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Final, NamedTuple, Self

import numpy as np

from attain.core.arrays import rank_within
from attain.core.progress import ProgressBar
from attain.models import Judgement
from attain.results.status import Status
from attain.search.problem import Answers, Problem
from attain.tables import Region, Table, unchanged


class FirstDecision(NamedTuple):
    """What the model decides about rows as they are.

    Attributes
    ----------
    met, score
        Which rows meet the goal, and their score, (n,) each; NaN for rows that cannot be read.
    asked
        How many questions about each row were asked, (n,).
    unreadable
        Why these cannot be read, by position.
    """

    met: np.ndarray
    score: np.ndarray
    asked: np.ndarray
    unreadable: dict[int, str]

    @classmethod
    def of(cls, table: Table, judged: Judgement) -> FirstDecision:
        """From what the goal decides about the rows of a table that can be read."""
        readable = table.readable
        met, score = np.zeros(len(table), dtype=bool), np.full(len(table), math.nan)
        asked = np.zeros(len(table), dtype=np.int64)
        met[readable], score[readable], asked[readable] = judged.met, judged.score, judged.asked
        unreadable = dict(table.refused)
        for i, sentence in judged.failures.items():
            score[readable[i]], unreadable[int(readable[i])] = math.nan, sentence
        return cls(met, score, asked, dict(sorted(unreadable.items())))


def status_before_search(region: Region, met: np.ndarray, unreadable: Collection[int]) -> list[Status | None]:
    """The status of rows whose outcome is known before any search; None for the others."""
    nothing_free = region.frozen.all(axis=1) & ~region.waits(region.start, np.arange(len(region)))
    stuck_rule = np.zeros(len(region), dtype=bool)
    fixed, kept = fixed_cells(region), region.book.kept(region.factuals) | region.book.is_law
    for k, rule in enumerate(region.schema.parsed_rules):
        columns = [region.schema.position(name) for name in rule.names]
        stuck_rule |= ~kept[:, k] & np.asarray(fixed[:, columns].all(axis=1))
    outcome = np.full(len(region), None, dtype=object)
    outcome[stuck_rule] = Status.RULES_CONFLICT
    outcome[nothing_free] = Status.NOTHING_FREE
    outcome[met] = Status.ALREADY_DESIRED
    outcome[list(unreadable)] = Status.UNREADABLE
    known: list[Status | None] = outcome.tolist()
    return known


def fixed_cells(region: Region) -> np.ndarray:
    """Which cells no answer can change: frozen ones that time does not move, and what is computed from them alone."""
    fixed = region.frozen & unchanged(region.start, region.factuals)
    for one in region.book.derivations:
        fixed[:, one.column] = fixed[:, one.inputs].all(axis=1)
    return fixed


def last_check(problem: Problem, answers: Answers) -> Answers:
    """The last check: final form again, every rule again, the model's own decision. At most n options for each row."""
    region, owners = problem.region, answers.owners
    rows = region.after(answers.rows, owners).final_form(answers.rows, np.arange(len(owners)))
    decided = problem.goal.confirm_rows(rows)
    problem.ledger.charge(owners, decided.asked)  # even after the deadline
    good = region.allows(rows, owners) & decided.met
    good &= region.changed(rows, owners).any(axis=1) | region.waits(rows, owners)
    order = np.lexsort((answers.sort_key, owners))
    order = order[good[order]]
    order = order[rank_within(owners[order]) < problem.options]
    figures = {"score_after": rounded_score(decided.score), **answers.figures}
    kept = replace(answers, rows=rows, figures=figures).at(order)
    status = list(answers.status)
    for i in set(range(len(status))).difference(kept.owners.tolist()):
        status[i] = Status.OUT_OF_REACH if status[i] is Status.FOUND else status[i]
    return replace(kept, status=status)


def rounded_score(score: np.ndarray) -> np.ndarray:
    """Scores to six decimals: a model's last bits depend on how many rows it is asked about at once."""
    return np.round(score, 6) + 0.0


_IN_VAIN: Final = (Status.OUT_OF_REACH, Status.NO_CHANGE_FOUND, Status.SHELLS_SPENT, Status.BUDGET_SPENT)
"""The statuses of rows for which no answer was found, though there may be one."""


class Batches:
    """The rows without an outcome, batch after batch; `add` takes the answers of the batch that came last.

    Where the search of a batch ended with an error, `fail` takes that instead: the halves of the batch come next, down
    to single rows, which are FAILED. What was charged for the batch is taken back.

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
        self.failures: dict[int, str] = {}
        self._bar = ProgressBar(len(self._waiting), name)
        size = max(most, 1)
        self._left = [self._waiting[at : at + size] for at in range(0, len(self._waiting), size)][::-1]
        self._parts: list[Answers] = []
        self.interrupted = False

    def __iter__(self) -> Iterator[Problem]:
        while self._left and not self._problem.ledger.deadline.passed:
            self._some = self._left.pop()
            self._spent, self._searched = self._problem.ledger.spent[self._some], self._problem.rows_searched
            yield self._problem.subset(self._some)

    def add(self, answers: Answers) -> None:
        some, late = self._some, self._problem.ledger.deadline.passed
        for i, status in zip(some, answers.status, strict=True):
            self._outcome[i] = Status.TIME_SPENT if late and status in _IN_VAIN else status
        self._parts.append(replace(answers, owners=some[answers.owners]))
        self._bar.update(len(some), found=answers.status.count(Status.FOUND))

    def fail(self, error: Exception) -> None:
        problem, some = self._problem, self._some
        problem.ledger.spent[some] = self._spent
        problem.goal.reader.uncharged += problem.rows_searched - self._searched
        if len(some) > 1:
            self._left += [some[len(some) // 2 :], some[: len(some) // 2]]
            return
        self._outcome[some[0]] = Status.FAILED
        self.failures[int(some[0])] = f"{type(error).__name__}: {error}"
        self._bar.update(1, found=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        self._bar.close()
        if isinstance(error, KeyboardInterrupt):
            self.interrupted = True
        for i in self._waiting:
            self._outcome[i] = self._outcome[i] or (Status.INTERRUPTED if self.interrupted else Status.TIME_SPENT)
        return self.interrupted

    def answers(self, figures: tuple[str, ...]) -> Answers:
        """All answers; without any, the figures of these names are there too, and empty."""
        if self._parts:
            return Answers.concatenated(self._parts)
        nothing, columns = {name: np.empty(0) for name in figures}, len(self._problem.region.schema)
        return Answers(np.empty((0, columns)), np.empty(0, dtype=np.intp), np.empty(0), [], nothing)
