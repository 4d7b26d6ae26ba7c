"""Trying ranked candidates in growing blocks, until enough of them turn the decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attain.methods.search.pool import first_of_each
from attain.results.status import Status

if TYPE_CHECKING:
    from attain.methods.search.problem import Problem

_GROWTH = 4
"""By how much each block is larger than the one before it."""

Candidates = Callable[[np.ndarray, int, int], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""(people, start, stop) → their candidates from rank start up to stop: rows, whose each is, and its rank."""


class Hits(NamedTuple):
    """Candidates that turn the decision, in final form, grouped by person, and in their order within each."""

    rows: np.ndarray
    owners: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    status: list[Status]
    """How it ended, for everybody."""


def ranked_hits(
    problem: Problem, candidates: Candidates, available: np.ndarray, *, block: int, wanted: int, reserve: int
) -> Hits:
    """The candidates that turn the decision.

    The first `block` candidates of each person are all tried. Those with fewer than `wanted` hits go on to the next,
    larger block, until they have them, have no more of their `available` candidates, or have only `reserve` rows of
    their budget left.
    """
    ledger, region = problem.ledger, problem.region
    parts = [(np.empty((0, len(region.schema))), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))]
    number = np.zeros(problem.people, dtype=np.intp)
    cut = np.zeros(problem.people, dtype=bool)
    active, start, stop = np.arange(problem.people), 0, block
    while active.size:
        rows, owners, ranks = candidates(active, start, stop)
        rows = region.final_form(rows, owners)
        worth = np.flatnonzero(region.changed(rows, owners).any(axis=1) & region.allows(rows, owners))
        worth = worth[first_of_each(rows[worth], owners[worth])]
        affordable = ledger.affordable(owners[worth], reserve)
        cut[owners[worth[~affordable]]] = True
        asked = worth[affordable]
        met, score = problem.ask(rows[asked], owners[asked])
        hit = asked[met]
        parts.append((rows[hit], owners[hit], ranks[hit], score[met]))
        number += np.bincount(owners[hit], minlength=problem.people)
        active = active[(number[active] < wanted) & ~cut[active] & (available[active] > stop)]
        start, stop = stop, stop * (1 + _GROWTH)
    rows, owners, ranks, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(owners, kind="stable")
    return Hits(rows[order], owners[order], ranks[order], scores[order], _statuses(number, cut))


def _statuses(number: np.ndarray, cut: np.ndarray) -> list[Status]:
    return [
        Status.FOUND if hits else Status.BUDGET_SPENT if ended else Status.OUT_OF_REACH
        for hits, ended in zip(number, cut, strict=True)
    ]
