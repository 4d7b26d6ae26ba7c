"""Trying ranked candidates in growing blocks, until enough of them flip the decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attain.methods.search.pool import rank_within
from attain.methods.search.problem import Problem
from attain.results.status import Status

_GROWTH = 4
"""By how much each block is larger than the one before it."""

Candidates = Callable[[np.ndarray, int, int], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""(owners, start, stop) → their candidates from rank start up to stop: rows, the owner of each, and its rank."""


class Hits(NamedTuple):
    """Candidates that flip the decision, in final form, grouped by owner, and in their order within each."""

    rows: np.ndarray
    owners: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    status: list[Status]
    """How the search of each row of the batch ended."""


def ranks_between(owners: np.ndarray, start: int, stop: int, available: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ranks from start up to stop that each owner has, and whose each is; `owners` are sorted."""
    number = np.maximum(np.minimum(available[owners], stop) - start, 0)
    owners = np.repeat(owners, number)
    return owners, start + rank_within(owners)


def ranked_hits(
    problem: Problem, candidates: Candidates, available: np.ndarray, *, block: int, wanted: int, reserve: int
) -> Hits:
    """The candidates of each row that flip the decision.

    The first `block` candidates of each row are all tried. Rows with fewer than `wanted` hits go on to the next, larger
    block, until they have them, none of their `available` candidates is left, or only `reserve` rows of their budget.
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
