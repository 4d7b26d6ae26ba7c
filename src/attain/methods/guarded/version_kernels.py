"""Versions of one person's candidates, made in the order in which `local_search` makes them.

Each function puts versions behind the first `number` of `made`, with the position of the candidate that each is a
version of among `parents`, and says how many there are then.
"""

from __future__ import annotations

import numpy as np

from attain.core.compiled import inlined, lean
from attain.core.order_kernels import select
from attain.methods.guarded.compiled_round import Batch, Like
from attain.methods.guarded.linear_kernels import linear_sweep, meets
from attain.methods.guarded.objective_kernels import find_shifts
from attain.models.structure.score_kernels import tree_sweeps
from attain.tables import program as p
from attain.tables.cell_kernels import copy, same


@lean
def revert(
    rows: np.ndarray,
    chosen: np.ndarray,
    parts: np.ndarray,
    owner: int,
    batch: Batch,
    made: np.ndarray,
    parents: np.ndarray,
    number: int,
) -> int:
    """`reversions` of the rows that are `chosen`, (m,)."""
    own, integers, ordered = batch.costs.factuals[owner], batch.program.integers, batch.moves.ordered
    for part in parts:
        for c in range(len(rows)):
            if not chosen[c]:
                continue
            row = rows[c]
            for at in range(integers[p.COUNTED], integers[p.COUNTED + 1]):
                j = integers[at]
                if same(row[j], own[j]):
                    continue
                cell = own[j] if part == 1.0 else row[j] + (own[j] - row[j]) * part
                if part != 1.0 and (not ordered[j] or cell != cell):
                    continue
                copy(row, made[number])
                made[number, j] = cell
                parents[number] = c
                number += 1
    return number


@lean
def attract(
    rows: np.ndarray,
    near: np.ndarray,
    batch: Batch,
    made: np.ndarray,
    parents: np.ndarray,
    guides: np.ndarray,
    number: int,
) -> int:
    """`_attractions` of rows towards the real rows `near` (m, n); rows without any have −1 there."""
    integers, moves, values = batch.program.integers, batch.moves, batch.values
    first, end = integers[p.FREE], integers[p.FREE + 1]
    for a in range(near.shape[1]):
        for part in moves.attractions:
            for one in range(first - 1, end):  # all cells, then one after the other
                for c in range(len(rows)):
                    if near[c, a] < 0:
                        continue
                    row, real = rows[c], values[near[c, a]]
                    copy(row, made[number])
                    for at in range(first, end):
                        if one < first or at == one:
                            j = integers[at]
                            whole = part == 1.0 or not moves.ordered[j]
                            made[number, j] = real[j] if whole else row[j] + (real[j] - row[j]) * part
                    parents[number], guides[number] = c, near[c, a]
                    number += 1
    return number


@lean
def combine(
    rows: np.ndarray,
    sizes: np.ndarray,
    best: np.ndarray,
    made: np.ndarray,
    parents: np.ndarray,
    number: int,
) -> int:
    """`_combinations`: `best` (m, d + 1) has the number of features with a better change of each row, then the
    versions with them, the best first.
    """
    for size in sizes:
        for c in range(len(rows)):
            if best[c, 0] < size:
                continue
            row = rows[c]
            copy(row, made[number])
            for rank in range(size):
                change = made[best[c, 1 + rank]]
                for j in range(len(row)):
                    if not same(change[j], row[j]):
                        made[number, j] = change[j]
            parents[number] = c
            number += 1
    return number


@lean
def rank_changes(
    rows: np.ndarray,
    made: np.ndarray,
    kept: np.ndarray,
    n_kept: int,
    parents: np.ndarray,
    merits: np.ndarray,
    best: np.ndarray,
) -> None:
    """Fills `best`, as `combine` reads it: of versions that change the same feature first, the best."""
    m, d = rows.shape
    for c in range(m):
        for j in range(d + 1):
            best[c, j] = -1
        best[c, 0] = 0
    for i in range(n_kept):
        c = parents[kept[i]]
        row, version = rows[c], made[kept[i]]
        j = 0
        while j < d and same(version[j], row[j]):
            j += 1
        if j == d:  # the candidate itself looks better, while its density is not computed
            continue
        if best[c, 1 + j] < 0 or merits[i] < merits[best[c, 1 + j]]:
            best[c, 1 + j] = i
    for c in range(m):
        number = 0
        for j in range(d):
            i = best[c, 1 + j]
            if i < 0:
                continue
            place = number
            while place > 0 and merits[i] < merits[best[c, place]]:
                best[c, 1 + place] = best[c, place]
                place -= 1
            best[c, 1 + place] = i
            number += 1
        best[c, 0] = number
        for rank in range(number):
            best[c, 1 + rank] = kept[best[c, 1 + rank]]


@inlined
def exchange(
    like: Like,
    swept: np.ndarray,
    owner: int,
    batch: Batch,
    made: np.ndarray,
    parents: np.ndarray,
    number: int,
) -> int:
    """`_exact_exchanges` of the rows that are `swept`, (m,)."""
    costs, score, most, integers = batch.costs, batch.score, batch.moves.n_made_up, batch.program.integers
    own, d, (f, g) = costs.factuals[owner], made.shape[1], score.values.shape
    shifts, terms, sums = np.empty(f), np.empty(d), np.empty((1, f, g))
    value, price, estimate = np.empty(f, np.int64), np.empty(f), np.empty(f)
    ordered, places, base = np.empty(f), np.empty(f, np.int64), np.empty((1, d))
    for c in range(len(swept)):
        if not swept[c]:
            continue
        row = like.rows[c]
        for at in range(integers[p.COUNTED], integers[p.COUNTED + 1]):
            j = integers[at]
            if same(row[j], own[j]):
                continue
            copy(row, base[0])
            base[0, j] = own[j]
            if score.linear:
                linear_sweep(base[0], score, terms, sums[0])
            else:
                nodes, thresholds, sides, roots, _, leaves = score.trees
                trees = (nodes, thresholds, sides, roots, leaves)
                tree_sweeps(base, score.states, trees, score.start[0], score.along, sums)
            find_shifts(base[0], row, like.shifts[c], owner, integers, costs, shifts)
            total, largest, second, widest, changes = 0.0, 0.0, 0.0, 0, 0
            for k in range(f):
                total = shifts[k] if k == 0 else total + shifts[k]
                changes += shifts[k] > 0
                if k == 0 or shifts[k] > largest:
                    second = 0.0 if k == 0 else largest
                    largest, widest = shifts[k], k
                elif k == 1 or shifts[k] > second:
                    second = shifts[k]
            for k in range(f):
                value[k], price[k] = 0, np.inf
                for v in range(g):
                    if score.prices[owner, k, v] < price[k] and meets(sums[0, k, v], score):
                        value[k], price[k] = v, score.prices[owner, k, v]
                others = second if k == widest else largest
                estimate[k] = total - shifts[k] + price[k] + costs.max_shift_weight * max(others, price[k])
                estimate[k] += costs.change_weight * (changes - (shifts[k] > 0) + (price[k] > 0))
                ordered[k], places[k] = estimate[k], k
            bar, last = np.inf, f
            if most < f:
                select(ordered, places, f, most)
                bar, last = ordered[most - 1], places[most - 1]
            for k in range(f):
                wanted = estimate[k] < bar or (estimate[k] == bar and k <= last)
                if wanted and estimate[k] < like.merits[c]:
                    copy(base[0], made[number])
                    made[number, score.columns[k]] = score.values[k, value[k]]
                    parents[number] = c
                    number += 1
    return number


@lean
def cross(
    like: Like,
    stuck: np.ndarray,
    ranked: np.ndarray,
    integers: np.ndarray,
    made: np.ndarray,
    parents: np.ndarray,
    number: int,
) -> int:
    """`_crossovers` of the rows that are `stuck`, (m,), with the first of `ranked`, or the second."""
    first, end = integers[p.FREE], integers[p.FREE + 1]
    for kind in range(2 if len(stuck) > 1 else 0):
        for c in range(len(stuck)):
            if not stuck[c]:
                continue
            mate = ranked[1] if ranked[0] == c else ranked[0]
            copy(like.rows[c], made[number])
            for k in range(end - first):
                if (like.shifts[mate, k] < like.shifts[c, k]) if kind == 0 else (k % 2 == 1):
                    made[number, integers[first + k]] = like.rows[mate, integers[first + k]]
            parents[number] = c
            number += 1
    return number
