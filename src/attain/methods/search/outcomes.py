"""How a person gets their status: `known_before`, by the search, by time (`Batches`), and by the `last_check`.

Where a schema has clocks, every method searches for each of a few numbers of months T by itself: in `Region.at(T)`
nothing but the row's own changes is free. Of all that is found, whatever its T, the answer with the least price comes
first, and the sooner of equals. The changes of an answer may do sooner than after its T: so the model is asked about
the row with these changes after each number of months that they need at least. In the same way a row that needs no
change, because the decision flips by itself as time passes, is asked about month after month. That is done before any
search, and nothing is searched for in as much time: every change would come on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np

from attain.core.arrays import positions, rank_within
from attain.core.progress import track
from attain.methods.search.problem import Answers, Problem, different_changes
from attain.models import JointGoal, Judgement
from attain.population.percentiles import Percentiles, total_shift
from attain.results.status import Status, Typicality
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
    answered = set(kept.owners.tolist())
    lost = [status is Status.FOUND and i not in answered for i, status in enumerate(answers.status)]
    status = [Status.OUT_OF_REACH if gone else status for gone, status in zip(lost, answers.status, strict=True)]
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
        self._bar = track(len(self._waiting), name)
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
        problem.goal.uncharge(problem.rows_searched - self._searched)
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
        nothing = {name: np.empty(0) for name in figures}
        columns = len(self._problem.region.schema)
        empty = Answers(np.empty((0, columns)), np.empty(0, dtype=np.intp), np.empty(0), [], nothing)
        return Answers.concatenated(self._parts or [empty])


Figures: TypeAlias = dict[str, np.ndarray]

HORIZONS: Final = (math.inf, 24, 12, 6, 0)
"""The months that are searched; the first is all the time that there is."""
_LONGEST_WAIT: Final = 60
"""The most months after which rows are asked about as they stand."""
_STATUS_PRIORITY: Final = (Status.BUDGET_SPENT, Status.SHELLS_SPENT, Status.NO_CHANGE_FOUND)
"""The status of a row without an answer is the first of these that a search of it ended with, else OUT_OF_REACH."""


def over_horizons(
    problem: Problem,
    search: Callable[[Problem], Answers],
    price: Callable[[Problem, Answers], np.ndarray],
    figures_of: Callable[[np.ndarray, np.ndarray], Figures] = lambda rows, own: {},
    *,
    months_cost: bool = False,
) -> Answers:
    """The answers of a search; in a schema with clocks, those of several spans of time, the cheapest first.

    Parameters
    ----------
    problem, search
        The rows, and what finds answers for them in the time that a problem's region has.
    price
        What answers cost, clocks included, (m,).
    figures_of
        The figures of answers (m, d) that follow from the rows and people's own (m, d), such as their typicality.
    months_cost
        Whether the price grows with the months of changes, too: then paces alone are a reason for several spans.
    """
    region, n = problem.region, len(problem)
    if not region.schema.clocks and not (months_cost and region.schema.paced):
        return search(problem)
    last = np.minimum(region.max_months, _LONGEST_WAIT)
    owners, rows = _soonest(problem, region.factuals, np.arange(n), np.ones(n), last)
    waiting = Answers(rows, owners, np.zeros(len(rows)), [], figures_of(rows, region.factuals[owners]))
    level = waiting.figures.get("typicality", np.zeros(len(rows)))
    enough = np.full(n, math.inf)
    enough[owners] = np.where(level > Typicality.TYPICAL, math.inf, region.months(rows, owners))
    found, ended, longer = [waiting], [[Status.OUT_OF_REACH] for _ in range(n)], region
    for turn, months in enumerate(HORIZONS, start=1):
        there = region.at(months)
        # with the clocks where they are in more time, less is no use, unless it is cheaper
        other = ~np.asarray(unchanged(there.start, longer.start).all(axis=1))
        other |= (turn == 1) | (months_cost & (there.max_months < longer.max_months))
        able = ~there.frozen.all(axis=1) & ((there.max_months < enough) | np.isinf(enough))
        some, longer = positions(other & able), there
        if some.size and not problem.ledger.deadline.passed:
            ledger = problem.ledger.subset(some, problem.ledger.budget * turn // len(HORIZONS))
            answers = search(replace(problem, region=there.subset(some), ledger=ledger))
            found.append(replace(answers, owners=some[answers.owners]))
            for i, status in zip(some, answers.status, strict=True):
                ended[i].append(status)
    cheapest = sooner(problem, _cheapest(problem, Answers.concatenated(found), price), figures_of)
    cheapest, answered = _cheapest(problem, cheapest, price), set(cheapest.owners.tolist())
    ended_as = [next((status for status in _STATUS_PRIORITY if status in some), Status.OUT_OF_REACH) for some in ended]
    return replace(cheapest, status=[Status.FOUND if i in answered else status for i, status in enumerate(ended_as)])


def shift_price(percentiles: Percentiles) -> Callable[[Problem, Answers], np.ndarray]:
    """The price of answers by their total shift, clocks included."""

    def price(problem: Problem, answers: Answers) -> np.ndarray:
        region, owners = problem.region, answers.owners
        shifts = percentiles.shift(region.factuals[owners], answers.rows)
        return total_shift(shifts * region.cost[owners], region.schema.free_columns)

    return price


def _soonest(
    problem: Problem, rows: np.ndarray, owners: np.ndarray, first: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of rows (m, d), those that meet the goal after some months from `first` to `last`, and these rows then.

    Nothing but time may differ, and some row must change or wait.
    """
    number = np.maximum(last - first + 1, 0).astype(np.intp)
    of = np.repeat(np.arange(len(rows)), number)

    def differ(made: np.ndarray) -> np.ndarray:
        """Which rows are not the same as a month before."""
        same = np.zeros(len(made), dtype=bool)
        same[1:] = np.asarray(unchanged(made[1:], made[:-1]).all(axis=1)) & (of[1:] == of[:-1])
        return ~same

    if problem.others:
        problem = replace(problem, goal=JointGoal(problem.goal, problem.others))
    tried = problem.ask(rows[of], owners[of], months=first[of] + rank_within(of), where=differ)
    hits = tried.hits[rank_within(of[tried.hits]) == 0]
    return of[hits], tried.rows[hits]


def sooner(problem: Problem, answers: Answers, figures_of: Callable[[np.ndarray, np.ndarray], Figures]) -> Answers:
    """The answers after as little time as their changes need, if the decision flips then and they are as typical."""
    region, rows, owners = problem.region, answers.rows.copy(), answers.owners
    assert region.book.timing is not None
    needed = region.book.timing.needed(rows, region.factuals[owners])
    of, made = _soonest(problem, rows, owners, needed, region.months(rows, owners) - 1)
    known = figures_of(made, region.factuals[owners[of]])
    figures = {name: values.copy() for name, values in answers.figures.items()}
    as_good = ~(known["typicality"] > figures["typicality"][of]) if "typicality" in known else np.ones(len(of), bool)
    rows[of[as_good]] = made[as_good]
    for name, values in known.items():
        figures[name][of[as_good]] = values[as_good]
    return replace(answers, rows=rows, figures=figures)


def _cheapest(problem: Problem, every: Answers, price: Callable[[Problem, Answers], np.ndarray]) -> Answers:
    """The cheapest options of each row, the sooner of equals, such that they change other features, or do not wait."""
    region = problem.region
    every = every.at(np.argsort(region.months(every.rows, every.owners), kind="stable"))
    rows, owners, key = every.rows, every.owners, np.round(price(problem, every), 10)
    differ = np.column_stack((region.changed(rows, owners), region.waits(rows, owners)))
    chosen = different_changes(key, owners, differ, problem.options)
    return replace(every, sort_key=key).at(chosen[np.lexsort((key[chosen], owners[chosen]))])
