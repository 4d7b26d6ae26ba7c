"""The last mile, on the data's own grid: changes taken back, wholly or in part, exchanged, and crossed over.

Walkers are records that turn the decision. In each round versions of every walker are tried, and the best that is
better than the walker takes its place; what only a few of its changes gained is tried together, too. A version must
keep the rules and turn the decision. It may exceed the guard's limits by a little if it is much easier, as a way to
something better; what keeps them is in the pool, and only that is an answer.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

import numpy as np

from attain.methods.guarded.surrogate import Surrogate
from attain.methods.guarded.trials import Points, Trials, slices
from attain.methods.search.pool import rank_within
from attain.population.space import MeasuringSpace

_PARTS: Final = (1.0, 0.5, 0.25)
"""How much of a change is taken back."""
_TOGETHER: Final = (2, 3, 5, 8)
"""How many of the changes that gained something are tried together."""
_REAL: Final = 3
"""Real people nearest to a walker that it is drawn to."""
_DENSE: Final = 2
"""Of so many of the best versions the autoencoder's density is asked."""
_EXCHANGED, _PUSHED = 3, 3
"""How many of the costliest changes are taken back while one of so many other features makes up for it."""


def walked(walkers: Points, trials: Trials, surrogate: Surrogate, space: MeasuringSpace, rounds: int) -> Points:
    """The walkers after so many rounds, or when no version of any of them is better."""
    slope, spread = _slopes(surrogate, space)
    active = np.arange(len(walkers))
    for _ in range(rounds):
        if not active.size:
            break
        now = walkers.take(active)
        singles, mine = _single_changes(now, trials)
        rows, whose = _together(singles, mine, now)
        joint, ours = trials.improving(rows, whose, now)
        stuck = np.setdiff1d(np.arange(len(now)), np.concatenate((mine, ours)))
        rows, whose = _exchanged(now.take(stuck), trials, slope, spread)
        rows, whose = _both((rows, stuck[whose]), _crossed(now, stuck, trials))
        other, theirs = trials.improving(rows, whose, now)
        better, of = singles.join(joint).join(other), np.concatenate((mine, ours, theirs))
        order = np.lexsort((better.merit, of))
        order = order[rank_within(of[order]) < _DENSE]
        better, of = trials.settled(better.take(order)), of[order]
        order = np.lexsort((better.merit, of))
        first = order[rank_within(of[order]) == 0]
        first = first[better.merit[first] < now.merit[of[first]]]
        walkers = _replaced(walkers, active[of[first]], better.take(first))
        active = active[of[first]]
    return walkers


def _single_changes(now: Points, trials: Trials) -> tuple[Points, np.ndarray]:
    """Better versions with one change taken back or one cell moved towards a real row, and whose version each is.

    Of each walker with f free columns there are at most 3 f + 6 (f + 1): memory is bounded by looking at some walkers
    at a time.
    """
    free = len(trials.problem.region.schema.free_columns)
    versions = (len(_PARTS) + 2 * _REAL) * free + 2 * _REAL
    width = max(now.rows.shape[1], trials.space.dimension)
    found = []
    for part in slices(len(now), versions * width, trials.cells_at_once):
        some = now.take(np.arange(len(now))[part])
        better, whose = trials.improving(*_both(_taken_back(some, trials), _towards(some, trials)), some)
        found.append((better, whose + part.start))
    points = reduce(Points.join, [better for better, _ in found])
    return points, np.concatenate([whose for _, whose in found])


def _replaced(walkers: Points, places: np.ndarray, by: Points) -> Points:
    rows, cost, excess = walkers.rows.copy(), walkers.cost.copy(), walkers.excess.copy()
    rows[places], cost[places], excess[places] = by.rows, by.cost, by.excess
    return Points(rows, walkers.owners, cost, excess)


def _taken_back(now: Points, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
    """Versions with one change taken back, wholly or in part."""
    region = trials.problem.region
    whose, column = np.nonzero(region.changed(now.rows, now.owners))
    own = region.factuals[now.owners[whose], column]
    there = now.rows[whose, column]
    ordered = np.array([feature.ordered for feature in region.schema])
    versions, walkers = [], []
    for part in _PARTS:
        cell = own if part == 1.0 else there + (own - there) * part
        worth = np.flatnonzero(np.full(len(whose), True) if part == 1.0 else ordered[column] & ~np.isnan(cell))
        rows = now.rows[whose[worth]]
        rows[np.arange(len(worth)), column[worth]] = cell[worth]
        versions.append(rows)
        walkers.append(whose[worth])
    return np.concatenate(versions), np.concatenate(walkers)


def _towards(now: Points, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
    """Versions of walkers beyond the guard's limits with one cell, or all, moved towards a real person near them."""
    assert trials.vicinity is not None
    odd = np.flatnonzero(now.excess > 0)
    region = trials.problem.region
    free = region.schema.free_columns
    ordered = np.array([feature.ordered for feature in region.schema])[free]
    near = trials.vicinity.nearest(now.rows[odd], now.owners[odd], _REAL)
    versions, walkers = [], []
    for i in range(near.shape[1]):
        for part in (1.0, 0.5):
            there = near[:, i][:, free]
            here = now.rows[odd][:, free]
            cells = there if part == 1.0 else np.where(ordered, here + (there - here) * part, there)
            whole = now.rows[odd].copy()
            whole[:, free] = cells
            versions.append(whole)
            walkers.append(odd)
            for k, j in enumerate(free):
                single = now.rows[odd].copy()
                single[:, j] = cells[:, k]
                versions.append(single)
                walkers.append(odd)
    return np.concatenate(versions), np.concatenate(walkers)


def _both(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate((first[0], second[0])), np.concatenate((first[1], second[1]))


def _together(singles: Points, whose: np.ndarray, now: Points) -> tuple[np.ndarray, np.ndarray]:
    """Versions with several of the changes that gained something, the most gainful first, one for each feature."""
    empty = np.empty((0, now.rows.shape[1])), np.empty(0, dtype=np.intp)
    if not len(singles):
        return empty
    differs = ~((singles.rows == now.rows[whose]) | (np.isnan(singles.rows) & np.isnan(now.rows[whose])))
    column = differs.argmax(axis=1)
    order = np.lexsort((singles.merit, column, whose))
    key = whose[order] * now.rows.shape[1] + column[order]
    order = order[rank_within(key) == 0]  # the best of each feature
    order = order[np.lexsort((singles.merit[order], whose[order]))]
    place = rank_within(whose[order])
    number = np.bincount(whose[order], minlength=len(now))
    versions, walkers = [], []
    for size in _TOGETHER:
        able = np.flatnonzero(number >= size)
        if not able.size:
            break
        rows = now.rows[able]
        slot = np.full(len(now), -1)
        slot[able] = np.arange(len(able))
        used = order[(place < size) & (slot[whose[order]] >= 0)]
        rows[slot[whose[used]], column[used]] = singles.rows[used, column[used]]
        versions.append(rows)
        walkers.append(able)
    return (np.concatenate(versions), np.concatenate(walkers)) if versions else empty


def _exchanged(now: Points, trials: Trials, slope: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Versions with a costly change taken back, and another number moved on by as much as makes up for the score."""
    region, objective = trials.problem.region, trials.objective
    empty = np.empty((0, len(region.schema))), np.empty(0, dtype=np.intp)
    if not len(now) or not slope.any():
        return empty
    free = region.schema.free_columns
    shifts = objective.shifts(now.rows, now.owners)
    own = region.factuals[now.owners]
    moved = np.nan_to_num(now.rows - own)[:, free]
    lost = moved * slope[free]
    movable = ~region.frozen[now.owners][:, free] & (slope[free] != 0) & ~np.isnan(now.rows[:, free])
    # what a step of the score costs in each number, by how the training data are spread there
    near = objective.price(now.rows, now.owners, spread)
    price = np.where(movable, near / np.where(movable, np.abs(slope[free]), 1.0), np.inf)
    costly = np.argsort(-shifts, axis=1, kind="stable")[:, :_EXCHANGED]
    cheap = np.argsort(price, axis=1, kind="stable")[:, :_PUSHED]
    walkers = np.arange(len(now))
    versions, whose = [], []
    for i in range(costly.shape[1]):
        for k in range(cheap.shape[1]):
            back, on = costly[:, i], cheap[:, k]
            worth = np.flatnonzero(
                (back != on) & (shifts[walkers, back] > 0) & np.isfinite(price[walkers, on]) & (lost[walkers, back] > 0)
            )
            rows = now.rows[worth]
            place = np.arange(len(worth))
            rows[place, free[back[worth]]] = own[worth, free[back[worth]]]
            rows[place, free[on[worth]]] += 1.1 * lost[worth, back[worth]] / slope[free[on[worth]]]
            versions.append(rows)
            whose.append(worth)
    return np.concatenate(versions), np.concatenate(whose)


def _crossed(now: Points, stuck: np.ndarray, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
    """Versions of walkers that take each changed feature from themselves or from the person's best other walker."""
    order = np.lexsort((now.merit, now.owners))
    first = order[np.searchsorted(now.owners[order], now.owners[stuck])]
    second = order[np.minimum(np.searchsorted(now.owners[order], now.owners[stuck]) + 1, len(order) - 1)]
    mate = np.where(first == stuck, second, first)
    fine = np.flatnonzero((now.owners[mate] == now.owners[stuck]) & (mate != stuck))
    if not fine.size:
        return np.empty((0, now.rows.shape[1])), np.empty(0, dtype=np.intp)
    mine, theirs = stuck[fine], mate[fine]
    own, other = (
        trials.objective.shifts(now.rows[mine], now.owners[mine]),
        trials.objective.shifts(now.rows[theirs], now.owners[theirs]),
    )
    free = trials.problem.region.schema.free_columns
    easier = now.rows[mine].copy()
    easier[:, free] = np.where(other < own, now.rows[theirs][:, free], easier[:, free])
    half = now.rows[mine].copy()
    turn = (np.arange(len(free)) % 2).astype(bool)
    half[:, free] = np.where(turn, now.rows[theirs][:, free], half[:, free])
    return np.concatenate((easier, half)), np.concatenate((mine, mine))


def _slopes(surrogate: Surrogate, space: MeasuringSpace) -> tuple[np.ndarray, np.ndarray]:
    """The score gained by one unit of each number, 0 for what is no number; and a small step of each."""
    slope, spread = np.zeros(len(space.schema)), np.ones(len(space.schema))
    for place, column in enumerate(space.scaled):
        slope[column], spread[column] = surrogate.slope[place] / space.scale[place], space.scale[place] / 2
    return slope, spread
