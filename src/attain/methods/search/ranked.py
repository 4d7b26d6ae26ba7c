"""Trying ranked candidates in growing blocks, until enough of them turn the decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attain.methods.search.problem import Problem
from attain.results.status import Status

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
    parts = [
        (np.empty((0, len(problem.region.schema))), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))
    ]
    number = np.zeros(len(problem), dtype=np.intp)
    cut = np.zeros(len(problem), dtype=bool)
    active, start, stop = np.arange(len(problem)), 0, block
    while active.size:
        rows, owners, ranks = candidates(active, start, stop)
        tried = problem.evaluate(rows, owners, reserve=reserve, distinct=owners)
        cut[owners[tried.unaffordable]] = True
        hit = tried.hits
        parts.append((tried.rows[hit], owners[hit], ranks[hit], tried.score[tried.met]))
        number += np.bincount(owners[hit], minlength=len(problem))
        active = active[(number[active] < wanted) & ~cut[active] & (available[active] > stop)]
        start, stop = stop, stop * (1 + _GROWTH)
    rows, owners, ranks, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(owners, kind="stable")
    return Hits(rows[order], owners[order], ranks[order], scores[order], problem.statuses(owners, cut))
