"""What a search is given (`Problem`, `Ledger`, `Deadline`) and gives back (`Answers`), and what searches share.

Searches find answers only through `Problem.ask`. `score` rates the rows that a search starts from, `examine` judges
rows that are not offered, and the last check (`search/statuses.py`) confirms answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from attain.core.arrays import first_of_each, positions, rank_among, rank_within
from attain.models import Goal, Judgement
from attain.results.status import Status
from attain.tables import Region


class Deadline:
    """A point in time, `timeout` seconds for each of `people` from now; with None there is none, and no clock."""

    def __init__(self, timeout: float | None = None, people: int = 1) -> None:
        self._end = None if timeout is None else time.perf_counter() + timeout * people

    @property
    def seconds_left(self) -> float:
        """The seconds until then: 0 or less where it has passed, infinite without an end."""
        return math.inf if self._end is None else self._end - time.perf_counter()

    @property
    def passed(self) -> bool:
        return self.seconds_left <= 0

    def share(self, people: int) -> Deadline:
        """A deadline for the first of `people` who are left, after an even share of the time left."""
        return Deadline(None if self._end is None else self.seconds_left / people)


class Ledger:
    """How many questions the model was asked for each owner, a budget for these, and a deadline.

    Parameters
    ----------
    n_rows
        The number of owners: rows that are being explained.
    budget
        The largest number of questions that may be asked for each owner.
    deadline
        After it nobody has any rows left, so that searches end by themselves.
    """

    def __init__(self, n_rows: int, budget: int, deadline: Deadline | None = None) -> None:
        self.budget = budget
        self.spent = np.zeros(n_rows, dtype=np.int64)
        self.deadline = deadline or Deadline()
        self._parent: tuple[Ledger, np.ndarray] | None = None

    def subset(self, owners: np.ndarray, budget: int | None = None) -> Ledger:
        """A ledger of some owners that charges this one, too; what was spent counts towards another `budget`."""
        part = Ledger(len(owners), self.budget if budget is None else budget, self.deadline)
        part.spent[:] = self.spent[owners]
        part._parent = (self, owners)
        return part

    @property
    def left(self) -> np.ndarray:
        """How many questions may still be asked for each owner, (n,)."""
        if self.deadline.passed:
            return np.zeros_like(self.spent)
        return np.maximum(self.budget - self.spent, 0)

    def affordable(self, owners: np.ndarray, kept_back: int | np.ndarray = 0, price: int = 1) -> np.ndarray:
        """Which rows can still be asked about, at `price` questions each, if every owner keeps `kept_back` questions.

        Earlier rows come first.
        """
        left = np.maximum(self.left - kept_back, 0) // price
        if len(owners) <= left.min(initial=len(owners)):  # enough for all, even if they had one owner
            return np.ones(len(owners), dtype=bool)
        return rank_among(owners) < left[owners]

    def charge(self, owners: np.ndarray, asked: np.ndarray | None = None) -> None:
        """Charges one row for each entry of `owners`, or as many as `asked` says."""
        self._add(np.bincount(owners, asked, minlength=len(self.spent)).astype(np.int64))

    def _add(self, number: np.ndarray) -> None:
        self.spent += number
        if self._parent is not None:
            ledger, owners = self._parent
            ledger._add(np.bincount(owners, number, minlength=len(ledger.spent)).astype(np.int64))


class Asked(NamedTuple):
    """What became of n candidates.

    Attributes
    ----------
    rows
        The candidates in final form, (n, d).
    asked
        The positions of those that the model was asked about, (m,).
    met, score
        Of those, which flip the decision, and how clearly, (m,) each.
    unaffordable
        The positions of those that were left out for lack of budget.
    """

    rows: np.ndarray
    asked: np.ndarray
    met: np.ndarray
    score: np.ndarray
    unaffordable: np.ndarray

    @property
    def hits(self) -> np.ndarray:
        """The positions of the candidates that flip the decision, in order."""
        return np.asarray(self.asked[self.met])


@dataclass(frozen=True)
class Problem:
    """A batch of rows to explain: where they are, where they may go, and how to ask the model.

    Attributes
    ----------
    goal
        The model and what is asked of it.
    region
        What each row may become.
    ledger
        What the search of each row has cost so far.
    options
        How many options are wanted for each row.
    seed
        The seed of all random numbers; each row has a stream of its own.
    inspected
        What the method's `inspect` learned about the model.
    others
        Goals of other models; `ask` ignores them, and a search that wants them replaces the goal by a `JointGoal`.
    """

    goal: Goal
    region: Region
    ledger: Ledger
    options: int
    seed: int
    inspected: Any = None
    others: tuple[Goal, ...] = ()

    def __len__(self) -> int:
        return len(self.region)

    @property
    def rows_searched(self) -> int:
        """How many rows the models were asked about so far, without what is not charged (`Reader.uncharged`)."""
        searched = self.goal.rows_charged
        for other in self.others:
            searched += other.rows_charged
        return searched

    def subset(self, owners: np.ndarray) -> Self:
        """The problem of some rows; what is charged to it is charged here too."""
        return replace(self, region=self.region.subset(owners), ledger=self.ledger.subset(owners))

    def examine(self, rows: np.ndarray) -> Judgement:
        """Judges rows that are not offered as answers, such as an answer with one change undone.

        They are not charged. After the deadline the model is not asked, and no row meets the goal.
        """
        if self.ledger.deadline.passed:
            n = len(rows)
            return Judgement(np.zeros(n, dtype=bool), np.full(n, self.goal.lowest), np.zeros(n, dtype=np.int64))
        return self.goal.score_rows(rows)

    def score(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The scores of rows that a search starts from, (n,), such as people's own; charged to their owners."""
        examined = self.examine(rows)
        self.ledger.charge(owners, examined.asked)
        return examined.score

    def charge_scored(self, owner: int, rows: int) -> None:
        """Charges rows that a search has ranked by the compiled score, as if the model had been asked about them."""
        self.ledger.charge(np.array([owner]), np.array([rows]))
        self.goal.reader.count_rows(rows)

    def affordable(self, owners: np.ndarray, reserve: int | np.ndarray | None = None) -> np.ndarray:
        """Which of these rows can still be asked about; `reserve` as in `ask`."""
        return self.ledger.affordable(owners, self._kept_back(reserve), self.price)

    @property
    def price(self) -> int:
        """The most questions that `ask` puts to the model about a row."""
        return self.goal.most_questions

    @property
    def last_price(self) -> int:
        """The most questions that the last check asks about all options of a row."""
        return self.options * self.goal.last_questions

    def _kept_back(self, reserve: int | np.ndarray | None) -> int | np.ndarray:
        """How many questions each owner keeps back: the last check's, and `price` for each row beyond the options."""
        more = 0 if reserve is None else np.maximum(reserve - self.options, 0)
        return self.last_price + more * self.price

    def ask(
        self,
        rows: np.ndarray,
        owners: np.ndarray,
        *,
        reserve: int | np.ndarray | None = None,
        where: Callable[[np.ndarray], np.ndarray] | None = None,
        distinct: np.ndarray | None = None,
        months: np.ndarray | None = None,
        scored: bool = False,
    ) -> Asked:
        """Puts candidates into final form, drops those that break a rule or the budget, and asks about the rest.

        Parameters
        ----------
        rows, owners
            The candidates (n, d), and which row of the batch each is for, (n,).
        reserve
            How many answers each owner keeps budget for. The last check of all options is kept in any case, and one row
            more for each answer beyond them; None keeps only the last check.
        where
            A further condition on the candidates in final form, (n, d) → (n,), checked before the model is asked.
        distinct
            A group number for each candidate, (n,): of equal candidates of a group only the first is asked about.
        months
            Asks about the candidates as they are after so many months, (n,), with the same changes.
        scored
            Asks about all candidates, also those that break a rule or fail `where`; such rows are never hits.
        """
        if months is None:
            rows, admitted = self.region.form_and_admit(rows, owners)
        else:
            rows, admitted = self.region.later(rows, owners, months)
        if where is not None:
            admitted &= where(rows)
        chosen = np.arange(len(rows)) if scored else positions(admitted)
        if distinct is not None:
            chosen = chosen[first_of_each(rows[chosen], distinct[chosen])]
        affordable = self.affordable(owners[chosen], reserve)
        asked, unaffordable = chosen[affordable], chosen[~affordable]
        met, score, questions, _ = self.goal.score_rows(rows[asked])
        self.ledger.charge(owners[asked], questions)
        return Asked(rows, asked, met & admitted[asked], score, unaffordable)

    def accepts(
        self, rows: np.ndarray, owners: np.ndarray, where: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """Asks about candidates; True for those that flip the decision within the budget, `where` as in `ask`."""
        accepted = np.zeros(len(rows), dtype=bool)
        accepted[self.ask(rows, owners, where=where).hits] = True
        return accepted

    def rows_left(self, reserve: int | np.ndarray | None = None) -> np.ndarray:
        """How many rows may still be asked about for each owner, (n,); `reserve` as in `ask`."""
        return np.asarray(np.maximum(self.ledger.left - self._kept_back(reserve), 0) // self.price)

    def out_of_budget(self, reserve: int | np.ndarray | None = None) -> np.ndarray:
        """Which owners have no budget for another row, (n,); `reserve` as in `ask`."""
        return self.rows_left(reserve) == 0

    def statuses(
        self, answered: np.ndarray, out_of_budget: np.ndarray | None = None, otherwise: Status = Status.OUT_OF_REACH
    ) -> list[Status]:
        """How the search of each row ended: found for the owners `answered`, else budget spent, else `otherwise`."""
        ended = np.full(len(self), otherwise, dtype=object)
        ended[self.out_of_budget() if out_of_budget is None else out_of_budget] = Status.BUDGET_SPENT
        ended[answered] = Status.FOUND
        statuses: list[Status] = ended.tolist()
        return statuses


@dataclass(frozen=True)
class Answers:
    """What a search found.

    Attributes
    ----------
    rows, owners
        The answers in final form (m, d), and which row of the batch each is for, (m,).
    sort_key
        What the options of a row are ordered by, (m,); smaller is better.
    status
        How the search of each row of the batch ended.
    figures
        Further figures of each answer, by name, (m,) each.
    """

    rows: np.ndarray
    owners: np.ndarray
    sort_key: np.ndarray
    status: list[Status]
    figures: Mapping[str, np.ndarray] = field(default_factory=dict)

    def at(self, chosen: np.ndarray) -> Answers:
        """The answers at some positions; how each search ended stays."""
        figures = {name: values[chosen] for name, values in self.figures.items()}
        return Answers(self.rows[chosen], self.owners[chosen], self.sort_key[chosen], self.status, figures)

    def with_answers_to(self, other: Answers, owners: np.ndarray) -> Answers:
        """These and those of another search of the rows at `owners`, whose status is that of the other search."""
        status = list(self.status)
        for i, ended in zip(owners, other.status, strict=True):
            status[i] = ended
        return replace(Answers.concatenated([self, replace(other, owners=owners[other.owners])]), status=status)

    @classmethod
    def concatenated(cls, parts: Sequence[Answers]) -> Answers:
        """The answers of several searches, one after the other; a figure that one of them does not give is NaN."""
        if len(parts) == 1:
            return parts[0]
        names = dict.fromkeys(name for part in parts for name in part.figures)
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.owners for part in parts]),
            np.concatenate([part.sort_key for part in parts]),
            [status for part in parts for status in part.status],
            {
                name: np.concatenate([part.figures.get(name, np.full(len(part.rows), math.nan)) for part in parts])
                for name in names
            },
        )


_GROWTH = 4
"""Each block is this many times as large as all earlier ones together."""

CandidateSource = Callable[[np.ndarray, int, int], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""(owners, start, stop) → their candidates from rank start up to stop: rows, the owner of each, and its rank."""


class Hits(NamedTuple):
    """Candidates that flip the decision, in final form, grouped by owner, and in their order within each."""

    rows: np.ndarray
    owners: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    status: list[Status]
    """How the search of each row of the batch ended."""


def ranks_between(owners: np.ndarray, start: int, stop: int, n_available: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lists the ranks from start up to stop that each owner has: owners and ranks, (m,); `owners` are sorted."""
    number = np.maximum(np.minimum(n_available[owners], stop) - start, 0)
    owners = np.repeat(owners, number)
    return owners, start + rank_within(owners)


def ranked_hits(
    problem: Problem, source: CandidateSource, n_available: np.ndarray, *, block: int, wanted: int, reserve: int
) -> Hits:
    """Candidates of each row that flip the decision, asked about in growing blocks.

    The first `block` candidates of each row are all tried. A row goes on to the next, larger block until it has
    `wanted` hits, has none of its `n_available` candidates left, or has only the budget for its `reserve`.
    """
    none = np.empty(0, dtype=np.intp)
    parts = [(problem.region.factuals[:0], none, none, np.empty(0))]
    number = np.zeros(len(problem), dtype=np.intp)
    cut = np.zeros(len(problem), dtype=bool)
    active, start, stop = np.arange(len(problem)), 0, block
    while active.size:
        rows, owners, ranks = source(active, start, stop)
        tried = problem.ask(rows, owners, reserve=reserve, distinct=owners)
        cut[owners[tried.unaffordable]] = True
        hit = tried.hits
        parts.append((tried.rows[hit], owners[hit], ranks[hit], tried.score[tried.met]))
        number += np.bincount(owners[hit], minlength=len(problem))
        active = active[(number[active] < wanted) & ~cut[active] & (n_available[active] > stop)]
        start, stop = stop, stop * (1 + _GROWTH)
    rows, owners, ranks, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(owners, kind="stable")
    return Hits(rows[order], owners[order], ranks[order], scores[order], problem.statuses(owners, cut))


def sparse(
    rows: np.ndarray,
    owners: np.ndarray,
    sizes: np.ndarray,
    problem: Problem,
    keeps: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """The answers without the changes that they do not need, until the deadline.

    Changes are undone one at a time, the smallest first by `sizes` (how far each cell moved, 0: not at all), and stay
    undone where the row is still accepted. At most one row is asked about per feature and answer. `keeps` is a further
    condition: on positions of the answers, (m,), and the rows tried, (m, d).
    """
    rows, region = rows.copy(), problem.region
    order = np.argsort(np.where(sizes > 0, sizes, np.inf), axis=1, kind="stable")
    moved = (sizes > 0).sum(axis=1)
    for turn in range(int(moved.max(initial=0))):
        if problem.ledger.deadline.passed:
            break
        active = np.flatnonzero(moved > turn)
        columns = order[active, turn]
        trial = rows[active]
        trial[np.arange(len(active)), columns] = region.factuals[owners[active], columns]
        trial = region.final_form(trial, owners[active])
        # a rule may take back other changes too, or put this one back in place
        n_now = region.changed(trial, owners[active]).sum(axis=1)
        n_before = region.changed(rows[active], owners[active]).sum(axis=1)
        smaller = np.flatnonzero((n_now < n_before) & (n_now > 0))
        where = None if keeps is None else partial(keeps, active[smaller])
        accepted = problem.accepts(trial[smaller], owners[active][smaller], where)
        rows[active[smaller[accepted]]] = trial[smaller[accepted]]
    return rows
