"""Answers after several spans of time, for schemas with clocks.

Every method searches for each of a few numbers of months T by itself: in `Region.at(T)` nothing but the row's own
changes is free. Of all that is found, whatever its T, the answer with the least price comes first, and the sooner of
equals. The changes of an answer may do sooner than after its T: so the model is asked about the row with these changes
after each number of months that they need at least. In the same way a row that needs no change, because the decision
flips by itself as time passes, is asked about month after month. That is done before any search, and nothing is
searched for in as much time: every change would come on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from attain.core.arrays import positions, rank_within
from attain.models import JointGoal
from attain.population.measuring import Percentiles
from attain.results.status import Status, Typicality
from attain.search.pool import different_changes
from attain.search.problem import Answers, Problem
from attain.tables import unchanged

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
        return np.asarray((shifts * region.cost[owners])[:, region.schema.free_columns].sum(axis=1))

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
