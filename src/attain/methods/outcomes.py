"""How an answer gets its status."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Final, NamedTuple, Self

import numpy as np

from attain.core.progress import interrupt_answered, track
from attain.methods.search.problem import Answers, Problem
from attain.models import Judgement
from attain.results.status import Status
from attain.tables import Region, Table, unchanged


class Decided(NamedTuple):
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
    def of(cls, table: Table, judged: Judgement) -> Decided:
        """From what the goal decides about the rows of a table that can be read."""
        readable = table.readable
        met, score = np.zeros(len(table), dtype=bool), np.full(len(table), math.nan)
        asked = np.zeros(len(table), dtype=np.int64)
        met[readable], score[readable], asked[readable] = judged.met, judged.score, judged.asked
        score[readable[list(judged.failures)]] = math.nan
        failures = {int(readable[i]): sentence for i, sentence in judged.failures.items()}
        return cls(met, score, asked, dict(sorted({**table.refused, **failures}.items())))


def known_before(region: Region, met: np.ndarray, unreadable: Collection[int]) -> list[Status | None]:
    """The status of rows whose outcome is known before any search; None for the others."""
    nothing_free = region.frozen.all(axis=1) & ~region.waits(region.start, np.arange(len(region)))
    stuck_rule = np.zeros(len(region), dtype=bool)
    fixed, kept = fixed_cells(region), region.book.kept(region.factuals) | region.book.is_law
    for k, rule in enumerate(region.schema.parsed_rules):
        columns = [region.schema.position(name) for name in rule.names]
        stuck_rule |= ~kept[:, k] & np.asarray(fixed[:, columns].all(axis=1))
    return [
        Status.UNREADABLE if i in unreadable
        else Status.ALREADY_DESIRED if met[i]
        else Status.NOTHING_FREE if nothing_free[i]
        else Status.RULES_CONFLICT if stuck_rule[i]
        else None
        for i in range(len(region))
    ]  # fmt: skip


def fixed_cells(region: Region) -> np.ndarray:
    """Which cells no answer can change: frozen ones that time does not move, and what is computed from them alone."""
    fixed = region.frozen & unchanged(region.start, region.factuals)
    for one in region.book.derivations:
        fixed[:, one.column] = fixed[:, one.inputs].all(axis=1)
    return fixed


def last_check(problem: Problem, outcome: list[Status | None], answers: Answers) -> tuple[Answers, np.ndarray]:
    """The last check: final form again, every rule again, the model's own decision. At most n options for each row."""
    region, owners = problem.region, answers.owners
    rows = region.after(answers.rows, owners).final_form(answers.rows, np.arange(len(owners)))
    decided = problem.decide(rows, owners)
    good = region.allows(rows, owners) & decided.met
    good &= region.changed(rows, owners).any(axis=1) | region.waits(rows, owners)
    order = np.lexsort((answers.sort_key, owners))
    order = order[good[order]]
    firsts = np.searchsorted(owners[order], owners[order], side="left")
    order = order[np.arange(len(order)) - firsts < problem.options]
    kept = replace(answers, rows=rows).at(order)
    answered = set(kept.owners.tolist())
    for i, status in enumerate(outcome):
        if status is Status.FOUND and i not in answered:
            outcome[i] = Status.OUT_OF_REACH
    return kept, decided.score[order]


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
            interrupt_answered()
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
