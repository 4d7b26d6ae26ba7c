"""The kernel of `compiled_round`: versions of a person's candidates made, put to rules, guard and model, and compared.

Each version (`version_kernels`) is put into final form, priced and measured before the next one is looked at.
"""

from __future__ import annotations

import numpy as np

from attain.core.compiled import inlined, kernel, lean
from attain.core.order_kernels import ZERO
from attain.methods.guarded.compiled_round import Batch, Found, Like, Moves, Score
from attain.methods.guarded.guard_kernels import NEAR, find_nearest, overrun_of, room_for
from attain.methods.guarded.linear_kernels import linear_sum, linear_term, meets
from attain.methods.guarded.local_guard import ROUNDED, Room
from attain.methods.guarded.objective_kernels import COSTS, cost_of, find_shifts
from attain.methods.guarded.version_kernels import attract, combine, cross, exchange, rank_changes, revert
from attain.methods.search.pool_kernels import empty_table, is_first
from attain.models.structure.score_kernels import tree_sums
from attain.population.space_kernels import SPACE, find_point
from attain.tables import program as p
from attain.tables.cell_kernels import FLAGS, FLOATS, INTEGERS, LIMITS, PROGRAM, copy
from attain.tables.clock_kernels import number_of_changes
from attain.tables.program import Scratch
from attain.tables.region_kernels import counts, form, scratch_for

_DIGITS = 10.0**ROUNDED
_NODES = np.zeros((1, 6), np.int32)
_SCORE = Score(
    *(True, 1.0, True, (FLAGS[0], INTEGERS, FLOATS[0], FLAGS[0]), 1.0, FLOATS[0], FLOATS[0], FLOATS),
    *((_NODES, FLOATS, FLAGS[0], INTEGERS, INTEGERS, FLOATS), FLOATS[0], True, (INTEGERS, INTEGERS, INTEGERS)),
    *(INTEGERS, FLOATS, FLOATS[None]),
)
_MOVES = Moves(FLAGS[0], FLOATS[0], FLOATS[0], FLOATS[0], INTEGERS, 1, 1, 1, 1.0)
BATCH = Batch(PROGRAM, LIMITS, COSTS, SPACE, NEAR, FLOATS, _SCORE, _MOVES, INTEGERS, INTEGERS)
FOUND = Found(FLOATS[None], FLOATS, FLOATS, INTEGERS)
"""Examples of arguments."""


@lean
def find_relative(row: np.ndarray, owner: int, batch: Batch, point: np.ndarray, relative: np.ndarray) -> None:
    """The point of a row relative to its owner's."""
    find_point(row, batch.space, point)
    for k in range(len(point)):
        relative[k] = point[k] - batch.near.centre[owner, k]


@inlined
def longer(made: np.ndarray, size: int) -> np.ndarray:
    """Room for at least so many rows."""
    return made if size <= len(made) else np.empty((2 * size, made.shape[1]))


@inlined
def improving(
    made: np.ndarray,
    parents: np.ndarray,
    guides: np.ndarray,
    like: Like,
    owner: int,
    left: int,
    batch: Batch,
    scratch: Scratch,
    room: Room,
    kept: np.ndarray,
    cost: np.ndarray,
    excess: np.ndarray,
) -> tuple[int, int]:
    """`CandidateEvaluator.improvements` of versions, which are put into final form in place.

    Puts the positions of those that are better and flip the decision into `kept`, and says how many they are, and how
    many the model was asked about; the first is −1 where only the model itself can be asked about one. `guides` are
    positions of real rows, −1 for versions that guide themselves; none without guides.
    """
    n, d = made.shape
    program, near, score, weight = batch.program, batch.near, batch.score, batch.moves.excess_weight
    own, may, most_changes = batch.limits.values[owner], batch.limits.flags[owner], batch.max_changes[owner]
    bits, raw, settled, new = made.view(np.int64), empty_table(n), empty_table(n), np.empty(n, dtype=np.bool_)
    shifts = np.empty(program.integers[p.FREE + 1] - program.integers[p.FREE])
    point, relative, guide = np.empty(near.centre.shape[1]), np.empty(near.centre.shape[1], np.float32), np.empty(d)
    guided, number = len(guides) > 0, 0
    for i in range(n):  # many versions are equal before they are put into final form
        new[i] = is_first(i, made, bits, parents, raw)
    for i in range(n):
        if not new[i]:
            continue
        row, parent, than = made[i], like.rows[parents[i]], like.merits[parents[i]]
        if guided:
            copy(row if guides[i] < 0 else batch.values[guides[i]], guide)
        if not form(row, parent, guide, guided, own, may, program, scratch):
            continue
        if not counts(row, own, may, program, scratch) or not is_first(i, made, bits, parents, settled):
            continue
        find_shifts(row, parent, like.shifts[parents[i]], owner, program.integers, batch.costs, shifts)
        price = cost_of(row, owner, program, batch.costs, shifts)
        if not price < than:
            continue
        if score.linear:
            total = linear_sum(row, parent, like.terms[parents[i]], score)
            if total == total and not meets(total, score):
                continue
        find_relative(row, owner, batch, point, relative)
        enough = np.exp(min((than - price) / weight, 500.0) + 1.0 / _DIGITS)
        over = np.log(overrun_of(relative, owner, batch.levels[owner], enough, near, room))
        over = np.rint(over * _DIGITS) / _DIGITS
        over += max(number_of_changes(row, own, program.integers, program.numbers) - most_changes, 0)
        if price + weight * over < than:
            kept[number], cost[number], excess[number] = i, price, over
            number += 1
    return flipping(made, parents, like, min(number, left), score, kept, cost, excess)


@inlined
def flipping(
    made: np.ndarray,
    parents: np.ndarray,
    like: Like,
    asked: int,
    score: Score,
    kept: np.ndarray,
    cost: np.ndarray,
    excess: np.ndarray,
) -> tuple[int, int]:
    """Leaves only those of the first `asked` of `kept` that flip the decision; says as `improving` how many."""
    candidates, number = np.empty((asked, made.shape[1])), 0
    for i in range(asked):
        copy(made[kept[i]], candidates[i])
    if score.linear:
        sums = np.empty((asked, 1))
        for i in range(asked):
            parent = parents[kept[i]]
            sums[i, 0] = linear_sum(candidates[i], like.rows[parent], like.terms[parent], score)
    else:
        sums = tree_sums(candidates, score.states, score.trees, score.start, score.single)
    for i in range(asked):
        if np.isnan(sums[i, 0]):
            return -1, 0
        if meets(sums[i, 0], score):
            kept[number], cost[number], excess[number] = kept[i], cost[i], excess[i]
            number += 1
    return number, asked


@lean
def put(i: int, version: np.ndarray, cost: float, excess: float, weight: float, found: Found) -> None:
    """Puts a version among the best ones of candidate i, in order of merit; of equal ones the earlier comes first."""
    rows, costs, excesses, number = found
    most, place = rows.shape[1], number[i]
    while place > 0 and cost + weight * excess < costs[i, place - 1] + weight * excesses[i, place - 1]:
        place -= 1
    if place == most:
        return
    number[i] = min(number[i] + 1, most)
    for k in range(number[i] - 1, place, -1):
        copy(rows[i, k - 1], rows[i, k])
        costs[i, k], excesses[i, k] = costs[i, k - 1], excesses[i, k - 1]
    copy(version, rows[i, place])
    costs[i, place], excesses[i, place] = cost, excess


@lean
def rank_merits(merits: np.ndarray, ranked: np.ndarray) -> None:
    """Places by merit, the best first; of equal ones the earlier."""
    for c in range(len(merits)):
        place = c
        while place > 0 and merits[c] < merits[ranked[place - 1]]:
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = c


@kernel((FLOATS, INTEGERS, FLOATS[0], FLOATS[0], INTEGERS, BATCH, INTEGERS, INTEGERS, FOUND))
def improve(
    rows: np.ndarray,
    owners: np.ndarray,
    merits: np.ndarray,
    excess: np.ndarray,
    grouped: np.ndarray,
    batch: Batch,
    left: np.ndarray,
    asked: np.ndarray,
    found: Found,
) -> bool:
    """Puts the best versions of candidates that are better and flip the decision into `found`.

    `grouped` are the positions of candidates owner by owner; `left` and `asked` (rows of the batch,) how many questions
    may be asked, and are. Says whether the compiled model knew all answers.
    """
    n, d = rows.shape
    program, moves, near = batch.program, batch.moves, batch.near
    room, scratch, free = room_for(near), scratch_for(d, program, batch.limits), len(batch.score.columns)
    made, still = np.empty((64, d)), np.zeros(free)
    point, relative = np.empty(near.centre.shape[1]), np.empty(near.centre.shape[1], np.float32)
    end = 0
    while end < n:
        begin, owner = end, owners[grouped[end]]
        while end < n and owners[grouped[end]] == owner:
            end += 1
        which, m, own = grouped[begin:end], end - begin, batch.costs.factuals[owner]
        like = Like(np.empty((m, d)), np.empty(m), np.empty((m, free)), np.empty((m, d)))
        ranked, best = np.empty(m, np.int64), np.empty((m, d + 1), np.int64)
        real = np.full((m, moves.n_attractors), -1, np.int64)
        every, stuck, swept = np.ones(m, np.bool_), np.ones(m, np.bool_), np.zeros(m, np.bool_)
        changes, unusual = 0, 0
        for c in range(m):
            row = rows[which[c]]
            copy(row, like.rows[c])
            like.merits[c] = merits[which[c]]
            find_shifts(row, own, still, owner, program.integers, batch.costs, like.shifts[c])
            for j in range(d if batch.score.linear else 0):
                like.terms[c, j] = linear_term(row[j], j, batch.score)
            changes += number_of_changes(row, own, program.integers, program.numbers)
            if excess[which[c]] > 0:
                unusual += 1
                find_relative(row, owner, batch, point, relative)
                find_nearest(relative, owner, near, room, real[c])
        rank_merits(like.merits, ranked)
        size = len(moves.reversions) * changes + unusual * moves.n_attractors * len(moves.attractions) * (1 + free)
        size += m * (len(moves.combined) + 2) + changes * (min(moves.n_made_up, free) + len(moves.fine_reversions))
        made = longer(made, size)
        parents, guides, kept = np.empty(size, np.int64), np.full(size, -1, np.int64), np.empty(size, np.int64)
        prices, over, merit = np.empty(size), np.empty(size), np.empty(size)
        single = revert(like.rows, every, moves.reversions, owner, batch, made, parents, ZERO)
        single = attract(like.rows, real, batch, made, parents, guides, single)
        known, questions = improving(
            made[:single], parents, guides, like, owner, left[owner], batch, scratch, room, kept, prices, over
        )
        if known < 0:
            return False
        for i in range(known):
            merit[i] = prices[i] + moves.excess_weight * over[i]
            stuck[parents[kept[i]]] = False
            put(which[parents[kept[i]]], made[kept[i]], prices[i], over[i], moves.excess_weight, found)
        for rank in range(min(moves.n_swept, m)):
            swept[ranked[rank]] = stuck[ranked[rank]]
        rank_changes(like.rows, made, kept, known, parents, merit, best)
        number = combine(like.rows, moves.combined, best, made, parents, single)
        number = exchange(like, swept, owner, batch, made, parents, number)
        number = cross(like, stuck, ranked, program.integers, made, parents, number)
        number = revert(like.rows, stuck, moves.fine_reversions, owner, batch, made, parents, number)
        known, more = improving(
            made[single:number], parents[single:], guides[:0], like, owner, left[owner] - questions, batch, scratch,
            room, kept, prices, over,
        )  # fmt: skip
        if known < 0:
            return False
        for i in range(known):
            at = single + kept[i]
            put(which[parents[at]], made[at], prices[i], over[i], moves.excess_weight, found)
        asked[owner] = questions + more
    return True
