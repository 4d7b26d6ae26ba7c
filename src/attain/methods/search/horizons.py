"""Answers in a few spans of time, of which the cheapest wins.

Where a schema has clocks, every method searches for each of a few numbers of months T by itself: in `Region.at(T)`
nothing but the row's own changes is free. Of all that is found, whatever its T, the answer with the least price comes
first, and the sooner of equals. The changes of an answer may do sooner than after its T: so the model is asked about
the row with these changes after each number of months that they need at least. In the same way a row that needs no
change, because the decision flips by itself as time passes, is asked about month after month. That is done before any
search, and nothing is searched for in as much time: every change would come on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from attain.core.arrays import positions, rank_within
from attain.methods.search.options import different_changes
from attain.methods.search.problem import Answers, Problem
from attain.models import JointGoal
from attain.results.status import Status, Typicality
from attain.tables import unchanged

Figures: TypeAlias = dict[str, np.ndarray]

HORIZONS: Final = (math.inf, 24, 12, 6, 0)
"""The months that are searched; the first is all the time that there is."""
_LONGEST_WAIT: Final = 60
"""The most months after which rows are asked about as they stand."""
_TOLD: Final = (Status.BUDGET_SPENT, Status.SHELLS_SPENT, Status.NO_CHANGE_FOUND)
"""Of the ways in which the searches of a row ended, the first of these is told; else that it is out of reach."""


def in_time(
    problem: Problem,
    search: Callable[[Problem], Answers],
    price: Callable[[Problem, Answers], np.ndarray],
    measured: Callable[[np.ndarray, np.ndarray], Figures],
    months_cost: bool = False,
) -> Answers:
    """The answers of a search; in a schema with clocks, those of several spans of time, the cheapest first.

    Parameters
    ----------
    problem, search
        The rows, and what finds answers for them in the time that a problem's region has.
    price
        What answers cost, clocks included, (m,).
    measured
        The figures of answers (m, d) that follow from the rows and people's own (m, d), such as their typicality.
    months_cost
        Whether the price grows with the months of changes, too: then paces alone are a reason for several spans.
    """
    region, n = problem.region, len(problem)
    if not region.schema.clocks and not (months_cost and region.schema.paced):
        return search(problem)
    last = np.minimum(region.max_months, _LONGEST_WAIT)
    owners, rows = _soonest(problem, region.factuals, np.arange(n), np.ones(n), last)
    waiting = Answers(rows, owners, np.empty(0), [], measured(rows, region.factuals[owners]))
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
    cheapest = _sooner(problem, _cheapest(problem, _joined(found), price), measured)
    cheapest, answered = _cheapest(problem, cheapest, price), set(cheapest.owners.tolist())
    told = [next((status for status in _TOLD if status in some), Status.OUT_OF_REACH) for some in ended]
    return replace(cheapest, status=[Status.FOUND if i in answered else status for i, status in enumerate(told)])


def _soonest(
    problem: Problem, rows: np.ndarray, owners: np.ndarray, first: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of rows (m, d), those that meet the goal after some months from `first` to `last`, and these rows then.

    Nothing but time may differ, and some row must change or wait.
    """
    region, number = problem.region, np.maximum(last - first + 1, 0).astype(np.intp)
    of = np.repeat(np.arange(len(rows)), number)
    later, each = region.subset(owners[of]).at(first[of] + rank_within(of)), np.arange(len(of))
    made = later.final_form(rows[of], each)
    changed = region.changed(rows, owners)
    worth = np.asarray((unchanged(made, rows[of]) | ~changed[of]).all(axis=1)) & later.allows(made, each)
    worth &= (later.changed(made, each) == changed[of]).all(axis=1)
    worth &= np.asarray(changed.any(axis=1))[of] | later.waits(made, each)
    worth[1:] &= ~np.asarray(unchanged(made[1:], made[:-1]).all(axis=1)) | (of[1:] != of[:-1])
    asked = positions(worth)
    asked = asked[problem.affordable(owners[of[asked]])]
    if problem.others:
        problem = replace(problem, goal=JointGoal(problem.goal, problem.others))
    met = asked[problem.judge(made[asked], owners[of[asked]]).met]
    met = met[rank_within(of[met]) == 0]
    return of[met], made[met]


def _sooner(problem: Problem, answers: Answers, measured: Callable[[np.ndarray, np.ndarray], Figures]) -> Answers:
    """The answers after as little time as their changes need, if the decision flips then and they are as typical."""
    region, rows, owners = problem.region, answers.rows.copy(), answers.owners
    assert region.book.timing is not None
    needed = region.book.timing.needed(rows, region.factuals[owners])
    of, made = _soonest(problem, rows, owners, needed, region.months(rows, owners) - 1)
    known, figures = (
        measured(made, region.factuals[owners[of]]),
        {name: values.copy() for name, values in answers.figures.items()},
    )
    as_good = ~(known["typicality"] > figures["typicality"][of]) if "typicality" in known else np.ones(len(of), bool)
    rows[of[as_good]] = made[as_good]
    for name, values in known.items():
        figures[name][of[as_good]] = values[as_good]
    return replace(answers, rows=rows, figures=figures)


def _joined(found: Sequence[Answers]) -> Answers:
    """The answers of several searches; a figure that one of them does not give is NaN."""
    names = dict.fromkeys(name for part in found for name in part.figures)
    figures = {
        name: np.concatenate([part.figures.get(name, np.full(len(part.rows), math.nan)) for part in found])
        for name in names
    }
    rows, owners = np.concatenate([part.rows for part in found]), np.concatenate([part.owners for part in found])
    return Answers(rows, owners, np.zeros(len(rows)), [], figures)


def _cheapest(problem: Problem, every: Answers, price: Callable[[Problem, Answers], np.ndarray]) -> Answers:
    """The cheapest options of each row, the sooner of equals, such that they change other features, or do not wait."""
    region = problem.region
    every = every.at(np.argsort(region.months(every.rows, every.owners), kind="stable"))
    rows, owners, key = every.rows, every.owners, np.round(price(problem, every), 10)
    differ = np.column_stack((region.changed(rows, owners), region.waits(rows, owners)))
    chosen = different_changes(key, owners, differ, problem.options)
    return replace(every, sort_key=key).at(chosen[np.lexsort((key[chosen], owners[chosen]))])
