"""How the search of each row ends: what is known before it, and the last check after it."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from attain.methods.search.problem import Answers, Ledger, Problem
from attain.models import Goal, GoalLike, Judgement
from attain.results.status import Status
from attain.tables import Region, Table

_SEARCHED_IN_VAIN = (Status.OUT_OF_REACH, Status.NO_CHANGE_FOUND, Status.SHELLS_SPENT, Status.BUDGET_SPENT)
"""The statuses of rows for which no answer was found, though there may be one."""


class NotAsExpected(Exception):
    """A model that was expected to answer as before does not, or it is not known what to expect."""


class Decided(NamedTuple):
    """What the model decides about rows as they are.

    Attributes
    ----------
    met, score
        Which rows meet the goal, and their score, (n,) each; NaN for rows that cannot be read.
    unreadable
        Why these cannot be read, by position.
    readable
        The positions of the rows that the model was asked about.
    """

    met: np.ndarray
    score: np.ndarray
    unreadable: dict[int, str]
    readable: np.ndarray


def judged_as_they_are(goal: GoalLike, table: Table, ledger: Ledger) -> Decided:
    """What the model decides about rows as they are; of a goal that is not confirmed, what it is expected to."""
    readable = table.readable
    if isinstance(goal, Goal) and not goal.confirmed:
        judged = _expected(goal, table.values[readable])
        ledger.charge(readable, judged.asked)
    else:
        judged = ledger.decide(goal, table.values[readable], readable)
    met, score = np.zeros(len(table), dtype=bool), np.full(len(table), math.nan)
    met[readable], score[readable] = judged.met, judged.score
    score[readable[list(judged.failures)]] = math.nan
    failures = {int(readable[i]): judged.failures[i] for i in judged.failures.keys() - set(judged.slow)}
    return Decided(met, score, dict(sorted({**table.refused, **failures}.items())), readable)


def _expected(goal: Goal, rows: np.ndarray) -> Judgement:
    """What the compiled score says of rows; nothing is counted, because the last check asks about them."""
    assert goal.compiled is not None
    score = goal.compiled(rows)
    if np.isnan(score).any():
        raise NotAsExpected
    return Judgement(goal.meets(score), score, np.full(len(rows), goal.last_questions))


def known_before(region: Region, met: np.ndarray, unreadable: Collection[int], late: np.ndarray) -> list[Status | None]:
    """The status of rows whose outcome is known before any search; None for the others."""
    nothing_free = np.asarray(region.frozen.all(axis=1))
    stuck_rule = np.zeros(len(region), dtype=bool)
    fixed, kept = fixed_cells(region), region.book.kept(region.factuals) | region.book.is_law
    for k, rule in enumerate(region.schema.parsed_rules):
        columns = [region.schema.position(name) for name in rule.names]
        stuck_rule |= ~kept[:, k] & np.asarray(fixed[:, columns].all(axis=1))
    return [
        Status.UNREADABLE if i in unreadable
        else Status.ALREADY_DESIRED if met[i]
        else Status.TIME_SPENT if late[i]
        else Status.NOTHING_FREE if nothing_free[i]
        else Status.RULES_CONFLICT if stuck_rule[i]
        else None
        for i in range(len(region))
    ]  # fmt: skip


def fixed_cells(region: Region) -> np.ndarray:
    """Which cells no answer can change: frozen ones, and derived ones computed from nothing but fixed ones."""
    fixed, clocks = region.frozen.copy(), list(region.schema.clocks)
    # without anything to do, or to wait for, no time passes
    fixed[:, clocks] &= fixed.all(axis=1, keepdims=True) | ~(region.high > region.factuals)[:, clocks]
    for one in region.book.derivations:
        fixed[:, one.column] = fixed[:, one.inputs].all(axis=1)
    return fixed


def last_check(
    problem: Problem, outcome: list[Status | None], answers: Answers, before: Decided | None = None
) -> tuple[Answers, np.ndarray]:
    """The last check: final form again, every rule again, the model's own decision. At most n options for each row.

    A goal that is not confirmed is now, by the same call, which is about the rows as they are, too: `before`, whose
    scores become the model's own. Where the model answers otherwise than expected, `NotAsExpected` is raised.
    """
    region, owners, goal = problem.region, answers.owners, problem.goal
    rows = region.final_form(answers.rows, owners)
    if isinstance(goal, Goal) and not goal.confirmed:
        assert before is not None
        decided = _confirmed(goal, region.factuals, rows, before)
        problem.ledger.charge(owners, decided.asked)
        problem.ledger.charge_time()
    else:
        decided = problem.ledger.decide(goal, rows, owners)
    good = region.allows(rows, owners) & decided.met & region.changed(rows, owners).any(axis=1)
    order = np.lexsort((answers.sort_key, owners))
    order = order[good[order]]
    firsts = np.searchsorted(owners[order], owners[order], side="left")
    order = order[np.arange(len(order)) - firsts < problem.options]
    kept = Answers(
        rows[order],
        owners[order],
        answers.sort_key[order],
        answers.status,
        {name: values[order] for name, values in answers.figures.items()},
    )
    answered = set(kept.owners.tolist())
    for i, status in enumerate(outcome):
        if status is Status.FOUND and i not in answered:
            outcome[i] = Status.OUT_OF_REACH
    return kept, decided.score[order]


def _confirmed(goal: Goal, factuals: np.ndarray, rows: np.ndarray, before: Decided) -> Judgement:
    readable, n = before.readable, len(before.readable)
    judged = goal.confirm(np.concatenate((factuals[readable], rows)))
    if judged is None or not np.array_equal(judged.met[:n], before.met[readable]):
        raise NotAsExpected
    before.score[readable] = judged.score[:n]
    return Judgement(judged.met[n:], judged.score[n:], judged.asked[n:])


def tell_late(outcome: list[Status | None], ledger: Ledger) -> None:
    """Says of rows without an answer whose time is spent that it is: the search of these did not end by itself."""
    for i in np.flatnonzero(ledger.late):
        if outcome[i] in _SEARCHED_IN_VAIN:
            outcome[i] = Status.TIME_SPENT
