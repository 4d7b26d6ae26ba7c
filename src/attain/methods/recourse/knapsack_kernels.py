"""Kernel of `knapsack`: one program without a limit on changes, as `knapsack.cheapest` solves it."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import inlined, kernel, lean
from attain.core.order_kernels import ZERO, select, sort

_EQUAL = 1e-12


@lean
def frontier(cost: np.ndarray, gain: np.ndarray, index: np.ndarray, size: int, kept: np.ndarray) -> int:
    """Puts the entries that no other beats in cost and gain, cheapest first, into `kept`, and gives their number.

    `index` are the entries' positions; it and `cost` are put into order.
    """
    sort(cost, index, size)
    number, best, i = 0, -np.inf, 0
    while i < size:
        first, j = i, i + 1
        while j < size and cost[j] == cost[i]:
            if gain[index[j]] > gain[index[first]]:
                first = j
            j += 1
        if gain[index[first]] > best:
            best = gain[index[first]]
            kept[number] = index[first]
            number += 1
        i = j
    return number


@inlined
def grown(values: np.ndarray) -> np.ndarray:
    """The values, with room for as many more."""
    larger = np.empty(2 * len(values), values.dtype)
    for i in range(len(values)):
        larger[i] = values[i]
    return larger


@inlined
def one_pass(
    cost: np.ndarray,
    gain: np.ndarray,
    start: np.ndarray,
    bound_gain: np.ndarray,
    bound_cost: np.ndarray,
    bound_size: np.ndarray,
    need: float,
    known: float,
    beam: int,
    chosen: np.ndarray,
) -> float:
    """The least cost below `known`, infinite where there is none; its action of each stage is put into `chosen`."""
    stages, room = len(start) - 1, 1024
    part_cost, part_gain, parts = np.zeros(1), np.zeros(1), 1
    new_cost, new_gain, least = np.empty(room), np.empty(room), np.empty(room)
    origin, index = np.empty(room, np.int64), np.empty(room, np.int64)
    trail, ends, filled = np.empty(room, np.int64), np.zeros(stages + 1, np.int64), 0
    for stage in range(stages):
        width, number, last = start[stage + 1] - start[stage], ZERO, bound_size[stage + 1] - 1
        xs, ys = bound_gain[stage + 1], bound_cost[stage + 1]
        for p in range(parts):
            at = last
            for a in range(width):
                total = part_cost[p] + cost[start[stage] + a]
                if total >= known - _EQUAL:
                    break
                reached = part_gain[p] + gain[start[stage] + a]
                lacking = need - reached
                if lacking > xs[last] + _EQUAL:
                    continue
                while at > 0 and xs[at] > lacking:
                    at -= 1
                if lacking <= xs[0]:
                    more = ys[0]
                elif at >= last:
                    more = ys[last]
                else:
                    more = ys[at] + (lacking - xs[at]) * ((ys[at + 1] - ys[at]) / (xs[at + 1] - xs[at]))
                if total + more < known - _EQUAL:
                    if number == len(new_cost):
                        new_cost, new_gain, least = grown(new_cost), grown(new_gain), grown(least)
                        origin, index = grown(origin), grown(index)
                    new_cost[number], new_gain[number], least[number] = total, reached, total + more
                    origin[number], index[number] = p * width + a, number
                    number += 1
        if number > beam > 0:
            select(least, index, number, beam)
            number = beam
        ordered, which = np.empty(max(number, 1)), np.empty(max(number, 1), np.int64)
        for i in range(number):
            ordered[i], which[i] = new_cost[index[i]], index[i]
        kept = np.empty(max(number, 1), np.int64)
        parts = frontier(ordered, new_gain, which, number, kept)
        if not parts:
            return np.inf
        part_cost, part_gain = np.empty(parts), np.empty(parts)
        while filled + parts > len(trail):
            trail = grown(trail)
        for i in range(parts):
            part_cost[i], part_gain[i] = new_cost[kept[i]], new_gain[kept[i]]
            trail[filled + i] = origin[kept[i]]
        filled += parts
        ends[stage + 1] = filled
    best = -1
    for i in range(parts):
        if part_gain[i] >= need and (best < 0 or part_cost[i] < part_cost[best]):
            best = i
    if best < 0:
        return np.inf
    at = best
    for stage in range(stages - 1, -1, -1):
        width = start[stage + 1] - start[stage]
        code = trail[ends[stage] + at]
        chosen[stage] = code % width
        at = code // width
    return part_cost[best]


@kernel("i8[::1](f8[::1], f8[::1], i8[::1], f8, b1, i8, b1)")
def cheapest(
    cost: np.ndarray, gain: np.ndarray, start: np.ndarray, need: float, may_stay: bool, beam: int, proving: bool
) -> np.ndarray:
    """The action of each group; −1 everywhere where no choice gains enough.

    The actions of group g are those from `start[g]` to `start[g + 1]`; `may_stay` says that the first of each is to
    stay as it is. Without `proving`, the choice is that of the first pass, by a beam.
    """
    groups, actions = len(start) - 1, len(cost)
    limit, most = np.inf, 0.0
    for g in range(groups):
        largest = -np.inf
        for a in range(start[g], start[g + 1]):
            largest = max(largest, gain[a])
            if may_stay and gain[a] >= need:
                limit = min(limit, cost[a])
        most += largest
    found = np.full(groups, -1)
    if limit == np.inf and most < need:
        return found
    # the frontier of each group, and the groups whose gains differ most first
    ordered, index, kept = np.empty(actions), np.empty(actions, np.int64), np.empty(actions, np.int64)
    sizes, spread, order = np.zeros(groups + 1, np.int64), np.empty(groups), np.empty(groups, np.int64)
    for g in range(groups):
        number = ZERO
        for a in range(start[g], start[g + 1]):
            if cost[a] <= limit:
                ordered[number], index[number] = cost[a], a
                number += 1
        own = kept[start[g] :]
        sizes[g] = frontier(ordered, gain, index, number, own)
        spread[g], order[g] = -(gain[own[sizes[g] - 1]] - gain[own[0]]), g
    sort(spread, order, groups)
    first, total = np.zeros(groups + 1, np.int64), 0
    for stage in range(groups):
        total += sizes[order[stage]]
        first[stage + 1] = total
    stage_cost, stage_gain = np.empty(total), np.empty(total)
    for stage in range(groups):
        for a in range(sizes[order[stage]]):
            action = kept[start[order[stage]] + a]
            stage_cost[first[stage] + a], stage_gain[first[stage] + a] = cost[action], gain[action]
    # the linear relaxation of each stage and all after it
    bound_gain, bound_cost = np.zeros((groups + 1, total + 1)), np.zeros((groups + 1, total + 1))
    bound_size, hull = np.ones(groups + 1, np.int64), np.empty(total, np.int64)
    gains, costs, ratio, place = np.empty(total), np.empty(total), np.empty(total), np.empty(total, np.int64)
    pieces, start_gain, start_cost = ZERO, 0.0, 0.0
    for stage in range(groups - 1, -1, -1):
        corners = 0
        for i in range(first[stage], first[stage + 1]):
            while corners > 1:
                a, b = hull[corners - 2], hull[corners - 1]
                rise = (stage_cost[b] - stage_cost[a]) * (stage_gain[i] - stage_gain[a])
                if rise < (stage_cost[i] - stage_cost[a]) * (stage_gain[b] - stage_gain[a]):
                    break
                corners -= 1
            hull[corners] = i
            corners += 1
        start_gain += stage_gain[first[stage]]
        start_cost += stage_cost[first[stage]]
        for i in range(1, corners):
            gains[pieces] = stage_gain[hull[i]] - stage_gain[hull[i - 1]]
            costs[pieces] = stage_cost[hull[i]] - stage_cost[hull[i - 1]]
            pieces += 1
        for i in range(pieces):
            ratio[i], place[i] = costs[i] / gains[i], i
        sort(ratio, place, pieces)
        gain_so_far, cost_so_far = 0.0, 0.0
        bound_gain[stage, 0], bound_cost[stage, 0] = start_gain, start_cost
        for i in range(pieces):
            gain_so_far += gains[place[i]]
            cost_so_far += costs[place[i]]
            bound_gain[stage, i + 1] = start_gain + gain_so_far
            bound_cost[stage, i + 1] = start_cost + cost_so_far
        bound_size[stage] = pieces + 1
        for i in range(pieces):  # in order of steepness, for the next stage
            ratio[i] = gains[place[i]]
        for i in range(pieces):
            gains[i], ratio[i] = ratio[i], costs[place[i]]
        for i in range(pieces):
            costs[i] = ratio[i]
    chosen, again = np.empty(groups, np.int64), np.empty(groups, np.int64)
    bounds = bound_gain, bound_cost, bound_size
    known = one_pass(stage_cost, stage_gain, first, *bounds, need, np.inf, beam, chosen)
    more = proving or known == np.inf
    if more and one_pass(stage_cost, stage_gain, first, *bounds, need, known, 0, again) < np.inf:
        chosen = again
    elif known == np.inf:
        return found
    for stage in range(groups):
        found[order[stage]] = kept[start[order[stage]] + chosen[stage]] - start[order[stage]]
    return found
