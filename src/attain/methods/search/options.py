"""From candidates to the options of each row: the nearest hits, different ones, ranked ones, fewer changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attain.core.arrays import first_of_each, rank_within
from attain.methods.search.problem import Problem
from attain.results.status import Status
from attain.tables import Region


class Pool:
    """Keeps, for each of n owners, the `keep` nearest distinct rows that were added; equal rows are equally near."""

    def __init__(self, n_owners: int, features: int, keep: int) -> None:
        self.keep = keep
        self._rows = np.empty((n_owners, keep, features))
        self._distances = np.full((n_owners, keep), np.inf)
        self.size = np.zeros(n_owners, dtype=np.intp)
        self.nearest = np.full(n_owners, np.inf)

    def add(self, rows: np.ndarray, owners: np.ndarray, distances: np.ndarray) -> None:
        """Adds rows, each with its owner and its distance from it."""
        if not len(rows):
            return
        touched = np.unique(owners)
        places = np.arange(self.keep) < self.size[touched, None]
        rows = np.concatenate((self._rows[touched][places], rows))
        distances = np.concatenate((self._distances[touched][places], distances))
        owners = np.concatenate((np.repeat(touched, self.size[touched]), owners))
        distinct = first_of_each(rows, owners)
        rows, owners, distances = rows[distinct], owners[distinct], distances[distinct]
        order = np.lexsort((distances, owners))
        rank = rank_within(owners[order])
        order, rank = order[rank < self.keep], rank[rank < self.keep]
        self._rows[owners[order], rank] = rows[order]
        self._distances[touched] = np.inf
        self._distances[owners[order], rank] = distances[order]
        self.size[touched] = np.bincount(np.searchsorted(touched, owners[order]), minlength=len(touched))
        self.nearest[touched] = self._distances[touched, 0]

    @property
    def _filled(self) -> np.ndarray:
        return np.arange(self.keep) < self.size[:, None]

    @property
    def rows(self) -> np.ndarray:
        """All rows kept, grouped by owner, nearest first."""
        return self._rows[self._filled]

    @property
    def owners(self) -> np.ndarray:
        """The owner of each row."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @property
    def distances(self) -> np.ndarray:
        """How far each row is from its owner."""
        return self._distances[self._filled]


def diverse(
    rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, region: Region, options: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At most `options` rows per owner: the cheapest, the cheapest that change other sets of features, then others.

    Never the same row twice.
    """
    kept = diverse_order(rows, owners, cost, region, options)
    return rows[kept], owners[kept], cost[kept]


def diverse_order(rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, region: Region, options: int) -> np.ndarray:
    """The positions of the rows that `diverse` chooses, grouped by owner, in its order."""
    distinct = first_of_each(rows, owners)
    order = distinct[np.lexsort((cost[distinct], owners[distinct]))]
    repeated = np.ones(len(order), dtype=bool)
    repeated[first_of_each(region.changed(rows[order], owners[order]), owners[order])] = False
    order = order[np.lexsort((repeated, owners[order]))]
    return np.asarray(order[rank_within(owners[order]) < options])


def different_changes(sort_key: np.ndarray, owners: np.ndarray, changed: np.ndarray, n: int) -> np.ndarray:
    """The positions of at most n rows of each owner: the best, then those that do not change all that one before does.

    A change of the same features by other amounts, or of more features, is not a different one. `changed` (rows, d)
    are the features that each row changes; a smaller `sort_key` is better.
    """
    left = np.lexsort((sort_key, owners))
    chosen = [left[:0]]
    for _ in range(n):
        first = left[rank_within(owners[left]) == 0]
        chosen.append(first)
        taken = first[np.searchsorted(owners[first], owners[left])]
        left = left[~(changed[left] | ~changed[taken]).all(axis=1)]
    return np.concatenate(chosen)


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


def sparse(rows: np.ndarray, owners: np.ndarray, sizes: np.ndarray, problem: Problem) -> np.ndarray:
    """The answers with every change taken back that is not needed, the smallest first.

    `sizes` holds how far each cell moved (0: not at all). Each change is taken back in turn and stays so where the row
    is still accepted. All answers go through it together: at most one question per feature and answer.
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
        left = region.changed(trial, owners[active]).sum(axis=1)
        before = region.changed(rows[active], owners[active]).sum(axis=1)
        taken = np.flatnonzero((left < before) & (left > 0))
        accepted = problem.accepts(trial[taken], owners[active][taken])
        rows[active[taken[accepted]]] = trial[taken[accepted]]
    return rows
