"""The local search: candidates become cheaper, and keep the guard's limits, one version after the other.

A candidate x flips the decision. With cost C and excess E over the guard's limits its merit is M(x) = C(x) + w E(x).
In each round versions of every candidate are made on the data's own grid, and the one of least merit replaces the
candidate if it is better and flips the decision. With x⁰ the candidate's owner, the versions are, in order:

- reversions: one changed cell goes back, x_j + t (x⁰_j − x_j), t ∈ {1, 1/2, 1/4}, and t ∈ {1/8, 1/32} if no single
  change is better, so that numbers end near where the decision flips;
- attractions, if E > 0: one cell, or all, move towards a near real row r, x_j + t (r_j − x_j), t ∈ {1, 1/2};
- combinations: the best 2, 3, 5, 8 of those single changes that improve x, at most one for each feature;
- exchanges, if no single change is better: a change goes back, and the cheapest change of another feature makes up for
  it, one of eight features, in the best three candidates. It is known exactly where the model is compiled
  (`single_changes`). Elsewhere a costly change is made up for by a cheap number, x_k + 1.1 g_j (x_j − x⁰_j) / g_k,
  with g the slope of the surrogate;
- crossovers, then too: each cell from x, or from the owner's best other candidate.

The density is computed for the best two versions of each candidate only. A version may exceed the guard's limits if it
is much cheaper, as a way to something better; only what keeps them is in the evaluator's pool.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TypeAlias

import numpy as np

from attain.core.arrays import positions
from attain.methods.guarded.compiled_round import CompiledRound
from attain.methods.guarded.evaluator import CandidateEvaluator, Candidates, slices
from attain.methods.guarded.single_changes import SingleChanges
from attain.methods.search.pool import marked, rank_within

Versions: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Rows (n, d), and the position of the candidate that each is a version of, (n,)."""


def local_search(candidates: Candidates, evaluator: CandidateEvaluator, rounds: int) -> Candidates:
    """The candidates after at most `rounds` rounds; sooner, where no version of any of them is better."""
    slope, step = _slopes(evaluator)
    active, compiled = np.arange(len(candidates)), CompiledRound.of(evaluator)
    for _ in range(rounds):
        if not active.size or evaluator.problem.ledger.late.all():
            break
        now = _clocks_reset(candidates.take(active), evaluator)
        found = None if compiled is None else compiled.better(now)
        better, of = _better(now, evaluator, slope, step) if found is None else found
        better = evaluator.with_density_penalty(better)
        order = np.lexsort((better.merit, of))
        first = order[rank_within(of[order]) == 0]
        first = first[better.merit[first] < now.merit[of[first]]]
        active = active[of[first]]
        candidates = _replaced(candidates, active, better.take(first))
    return candidates


def _better(
    now: Candidates, evaluator: CandidateEvaluator, slope: np.ndarray, step: np.ndarray
) -> tuple[Candidates, np.ndarray]:
    """The best versions of candidates that are better, and whose version each is."""
    single, single_of = _single_changes(now, evaluator)
    stuck = positions(~marked(len(now), single_of))
    versions = [_combinations(single, single_of, now, evaluator)]
    if stuck.size:
        versions.append(_exchanges(now, stuck, evaluator, slope, step))
        versions.append(_crossovers(now, stuck, evaluator))
        versions += _fine_reversions(now, stuck, evaluator)
    other, other_of = evaluator.improvements(*_joined(versions, now), now)
    better, of = single.join(other), np.concatenate((single_of, other_of))
    order = np.lexsort((better.merit, of))
    order = order[rank_within(of[order]) < evaluator.settings.n_measured]
    return better.take(order), of[order]


def _clocks_reset(now: Candidates, evaluator: CandidateEvaluator) -> Candidates:
    """The candidates to make versions of: those that do not wait take as long as their versions need."""
    return replace(now, rows=evaluator.problem.region.clocks_reset(now.rows, now.owners))


def _replaced(candidates: Candidates, places: np.ndarray, by: Candidates) -> Candidates:
    kept = positions(~marked(len(candidates), places))
    order = np.argsort(np.concatenate((kept, places)), kind="stable")
    return candidates.take(kept).join(by).take(order)


def _joined(parts: list[Versions], now: Candidates) -> Versions:
    rows = [rows for rows, _ in parts]
    whose = [whose for _, whose in parts]
    return np.concatenate((now.rows[:0], *rows)), np.concatenate((np.empty(0, dtype=np.intp), *whose))


def _single_changes(now: Candidates, evaluator: CandidateEvaluator) -> tuple[Candidates, np.ndarray]:
    """Better versions with one change, and whose version each is; some candidates at a time, to bound memory."""
    settings, width = evaluator.settings, len(evaluator.guard.reference.space.columns)
    moves, free = len(settings.attractions) * settings.n_attractors, len(evaluator.problem.region.schema.free_columns)
    versions = (len(settings.reversions) + moves) * free + moves
    found, of = [], []
    for part in slices(len(now), versions * max(now.rows.shape[1], width), settings.cells_at_once):
        some = now.take(np.arange(part.start, part.stop))
        moved, of_moved, towards = _attractions(some, evaluator)
        back, of_back = _joined(reversions(some.rows, some.owners, evaluator, settings.reversions), some)
        rows, whose = np.concatenate((back, moved)), np.concatenate((of_back, of_moved))
        # a version that breaks a law takes what the law is about from the real row that it moves towards
        better, whose = evaluator.improvements(rows, whose, some, np.concatenate((back, towards)))
        found.append(better)
        of.append(whose + part.start)
    return found[0].join(*found[1:]), np.concatenate(of)


def reversions(
    rows: np.ndarray, owners: np.ndarray, evaluator: CandidateEvaluator, parts: tuple[float, ...]
) -> list[Versions]:
    """Versions with one change taken back, wholly or in part; with clocks, also such that take as long as before.

    The rows' clocks are reset (`Region.clocks_reset`).
    """
    region = evaluator.problem.region
    whose, column = np.nonzero(region.changed(rows, owners))
    own, there = region.factuals[owners[whose], column], rows[whose, column]
    bases = [rows, region.final_form(rows, owners)] if region.schema.clocks else [rows]
    versions = []
    for base, part in product(bases, parts):
        cell = own if part == 1.0 else there + (own - there) * part
        able = positions((part == 1.0) | evaluator.ordered[column] & ~np.isnan(cell))
        made = base[whose[able]]
        made[np.arange(len(able)), column[able]] = cell[able]
        versions.append((made, whose[able]))
    return versions


def _fine_reversions(now: Candidates, stuck: np.ndarray, evaluator: CandidateEvaluator) -> list[Versions]:
    """Versions of candidates with a small part of one change taken back: numbers end where the decision does."""
    versions = reversions(now.rows[stuck], now.owners[stuck], evaluator, evaluator.settings.fine_reversions)
    return [(rows, stuck[whose]) for rows, whose in versions]


def _attractions(now: Candidates, evaluator: CandidateEvaluator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Versions of candidates beyond the guard's limits with all cells, or one, moved towards a near real row.

    And whose version each is, and these real rows.
    """
    assert evaluator.local_guard is not None
    unusual, settings = positions(now.excess > 0), evaluator.settings
    free, parts = evaluator.problem.region.schema.free_columns, np.array(settings.attractions)[:, None, None]
    rows = now.rows[unusual]
    near = evaluator.local_guard.nearest(rows, now.owners[unusual], settings.n_attractors).transpose(1, 0, 2)
    here, there = rows[:, free], near[:, None, :, free]
    # which numbers go how far, and states all the way: (attractors, parts, candidates, free)
    cells = np.where((parts == 1.0) | ~evaluator.ordered[free], there, here + (there - here) * parts)
    versions = np.empty((*cells.shape[:2], 1 + len(free), *rows.shape))
    versions[:] = rows
    versions[:, :, 0, :, free] = np.moveaxis(cells, -1, 0)
    for k, j in enumerate(free):
        versions[:, :, 1 + k, :, j] = cells[..., k]
    towards = np.broadcast_to(near[:, None, None], versions.shape)
    each = np.broadcast_to(unusual, versions.shape[:-1])
    return versions.reshape(-1, rows.shape[1]), each.ravel(), towards.reshape(-1, rows.shape[1])


def _combinations(single: Candidates, whose: np.ndarray, now: Candidates, evaluator: CandidateEvaluator) -> Versions:
    """Versions with several of the single changes, the best first, at most one for each feature."""
    differs = ~((single.rows == now.rows[whose]) | (np.isnan(single.rows) & np.isnan(now.rows[whose])))
    clocks = list(evaluator.problem.region.schema.clocks)
    if clocks:  # they follow another change, unless there is none
        others = np.delete(differs, clocks, axis=1).any(axis=1)
        differs[:, clocks] &= ~others[:, None]
    column = differs.argmax(axis=1)
    order = np.lexsort((single.merit, column, whose))
    order = order[differs.any(axis=1)[order]]  # a candidate itself looks better, while its density is not computed
    order = order[rank_within(whose[order] * now.rows.shape[1] + column[order]) == 0]  # the best of each feature
    order = order[np.lexsort((single.merit[order], whose[order]))]
    place, number = rank_within(whose[order]), np.bincount(whose[order], minlength=len(now))
    versions = []
    for size in evaluator.settings.combined:
        able = positions(number >= size)
        rows = now.rows[able]
        used = order[(place < size) & (number[whose[order]] >= size)]
        # a single change has others in tow where a law ties them together
        at, columns = np.nonzero(differs[used])
        rows[np.searchsorted(able, whose[used])[at], columns] = single.rows[used[at], columns]
        versions.append((rows, able))
    return _joined(versions, now)


def _exchanges(
    now: Candidates, stuck: np.ndarray, evaluator: CandidateEvaluator, slope: np.ndarray, step: np.ndarray
) -> Versions:
    """Versions with one change taken back, and another one that makes up for it."""
    if evaluator.single_changes is None:
        rows, whose = _guessed_exchanges(now.take(stuck), evaluator, slope, step)
        return rows, stuck[whose]
    order = np.lexsort((now.merit, now.owners))
    best = order[rank_within(now.owners[order]) < evaluator.settings.n_swept]
    best = stuck[marked(len(now), best)[stuck]]
    rows, whose = _exact_exchanges(now.take(best), evaluator, evaluator.single_changes)
    return rows, best[whose]


def _guessed_exchanges(now: Candidates, evaluator: CandidateEvaluator, slope: np.ndarray, step: np.ndarray) -> Versions:
    """Versions with a costly change taken back, and a cheap number moved so that the score stays the same."""
    region, objective, settings = evaluator.problem.region, evaluator.objective, evaluator.settings
    if not len(now) or not slope.any():
        return _joined([], now)
    free = region.schema.free_columns
    own, shifts = region.factuals[now.owners], objective.shifts(now.rows, now.owners)
    lost = np.nan_to_num(now.rows - own)[:, free] * slope[free]
    movable = ~region.frozen[now.owners][:, free] & (slope[free] != 0) & ~np.isnan(now.rows[:, free])
    # the cost of a unit of score by each number, from how the training data are spread near its value
    price = objective.price(now.rows, now.owners, step) / np.where(movable, np.abs(slope[free]), 1.0)
    price = np.where(movable, price, np.inf)
    costly = np.argsort(-shifts, axis=1, kind="stable")[:, : settings.n_reverted]
    cheap = np.argsort(price, axis=1, kind="stable")[:, : settings.n_compensating]
    every = np.arange(len(now))
    versions = []
    for back in costly.T:
        for on in cheap.T:
            able = (back != on) & (shifts[every, back] > 0) & np.isfinite(price[every, on]) & (lost[every, back] > 0)
            worth = positions(able)
            rows, place, j, k = now.rows[worth], np.arange(len(worth)), free[back[worth]], free[on[worth]]
            rows[place, j] = own[worth, j]
            rows[place, k] += settings.compensation * lost[worth, back[worth]] / slope[k]
            versions.append((rows, worth))
    return _joined(versions, now)


def _exact_exchanges(now: Candidates, evaluator: CandidateEvaluator, changes: SingleChanges) -> Versions:
    """Versions with one change taken back, and the cheapest change of another feature that makes up for it."""
    region = evaluator.problem.region
    of, column = np.nonzero(region.changed(now.rows, now.owners))
    rows = now.rows[of]
    rows[np.arange(len(of)), column] = region.factuals[now.owners[of], column]
    versions, whose = changes.of(rows, now.owners[of], now.merit[of], evaluator.settings.n_made_up)
    return versions, of[whose]


def _crossovers(now: Candidates, stuck: np.ndarray, evaluator: CandidateEvaluator) -> Versions:
    """Versions with each cell from the candidate, or from its owner's best other candidate.

    One takes the smaller shift of each feature, the other every second feature.
    """
    order = np.lexsort((now.merit, now.owners))
    start = np.searchsorted(now.owners[order], now.owners[stuck])
    first, second = order[start], order[np.minimum(start + 1, len(order) - 1)]
    mate = np.where(first == stuck, second, first)
    paired = positions((now.owners[mate] == now.owners[stuck]) & (mate != stuck))
    mine, theirs = stuck[paired], mate[paired]
    own, other = (evaluator.objective.shifts(now.rows[some], now.owners[some]) for some in (mine, theirs))
    free = evaluator.problem.region.schema.free_columns
    versions = []
    for from_other in (other < own, np.broadcast_to(np.arange(len(free)) % 2 == 1, own.shape)):
        rows = now.rows[mine]
        rows[:, free] = np.where(from_other, now.rows[theirs][:, free], rows[:, free])
        versions.append((rows, mine))
    return _joined(versions, now)


def _slopes(evaluator: CandidateEvaluator) -> tuple[np.ndarray, np.ndarray]:
    """The score gained by a unit of each number (d,), 0 for other columns; and a small step of each (d,)."""
    space, surrogate = evaluator.guard.reference.space, evaluator.surrogate
    slope, step = np.zeros(len(space.schema)), np.ones(len(space.schema))
    slopes = surrogate.slopes[len(space.stated) : -1]
    slope[space.scaled], step[space.scaled] = slopes / space.scale, space.scale / 2
    return slope, step
