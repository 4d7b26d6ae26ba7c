"""The multiple-choice knapsack, solved exactly: one action from each group, enough gain, the least cost.

    minimise Σ_g cost[g, a_g]   subject to   Σ_g gain[g, a_g] ≥ need,   Σ_g changes[g, a_g] ≤ most

Only actions on a group's Pareto frontier of cost and gain can be in an optimum. Dynamic programming adds the groups one
by one. A partial choice (cost c, gain v) is dropped where another costs no more and gains no less, and where
c + bound(need − v) is not below the best complete choice known; the bound is the linear relaxation of the groups to
come, a convex piecewise linear function. A first pass with a beam finds that choice, the second is exhaustive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from attain.core.compiled import kernels

_BEAM: Final = 16
"""Partial choices kept in the first pass."""
_EQUAL: Final = 1e-12
"""Costs closer than this are equal."""


@dataclass(frozen=True)
class Group:
    """The A actions of one group: what each costs, what it gains, and how many features it changes, (A,) each."""

    cost: np.ndarray
    gain: np.ndarray
    changes: np.ndarray

    def where(self, keep: np.ndarray) -> Group:
        """Some of the actions."""
        return Group(self.cost[keep], self.gain[keep], self.changes[keep])


def cheapest(groups: list[Group], need: float, most: int, proving: bool = True) -> list[int] | None:
    """One action of each group: the least total cost with a total gain of `need` and at most `most` changes.

    None where no choice meets both. Without `proving`, the choice of the first pass, which may cost a little more.
    """
    if not groups:
        return [] if need <= 0 else None
    counted = most < sum(int(group.changes.max()) for group in groups)
    compiled = None if counted else kernels("attain.methods.recourse.knapsack_kernels")
    if compiled is not None:
        cost, gain = (np.concatenate(parts) for parts in zip(*((one.cost, one.gain) for one in groups), strict=True))
        start = np.cumsum([0, *(len(group.cost) for group in groups)])
        found = compiled.cheapest(cost, gain, start, need, _may_stay(groups), _BEAM, proving).tolist()
        return None if found[0] < 0 else found
    limit = _alone(groups, need, most)
    if limit == np.inf and most_gain(groups, np.inf, most) < need:
        return None
    affordable = [np.flatnonzero(group.cost <= limit) for group in groups]
    kept = [
        some[_frontier(group.cost[some], group.gain[some], group.changes[some] if counted else None)]
        for group, some in zip(groups, affordable, strict=True)
    ]
    order = sorted(range(len(groups)), key=lambda g: -float(np.ptp(groups[g].gain[kept[g]])))
    stages = [groups[g].where(kept[g]) for g in order]
    if not counted:
        stages = [Group(stage.cost, stage.gain, np.zeros_like(stage.changes)) for stage in stages]
    bounds = _suffix_bounds(stages)
    changes = most if counted else 0
    first = _pass(stages, bounds, need, changes, np.inf, _BEAM)
    best = first
    if proving or first is None:
        best = _pass(stages, bounds, need, changes, np.inf if first is None else first[0], None) or first
    if best is None:
        return None
    chosen = [0] * len(groups)
    for g, action in zip(order, best[1], strict=True):
        chosen[g] = int(kept[g][action])
    return chosen


def _alone(groups: list[Group], need: float, most: int) -> float:
    """What the cheapest action costs that gains enough alone, where all other groups can stay as they are.

    No action that costs more can be part of a cheaper choice.
    """
    if not _may_stay(groups):
        return np.inf
    enough = [group.cost[(group.gain >= need) & (group.changes <= most)] for group in groups]
    return float(min((costs.min() for costs in enough if len(costs)), default=np.inf))


def _may_stay(groups: list[Group]) -> bool:
    """Whether the first action of every group is to stay as it is."""
    return all(group.cost[0] == group.gain[0] == group.changes[0] == 0 for group in groups)


def least_limit(groups: list[Group], need: float, most: int) -> float | None:
    """The smallest c such that actions of cost at most c gain `need` with at most `most` changes; None for none."""
    costs = np.unique(np.concatenate([group.cost for group in groups])) if groups else np.zeros(1)
    low, high = 0, len(costs) - 1
    if most_gain(groups, costs[high], most) < need:
        return None
    while low < high:
        middle = (low + high) // 2
        if most_gain(groups, costs[middle], most) >= need:
            high = middle
        else:
            low = middle + 1
    return float(costs[high])


def most_gain(groups: list[Group], limit: float, most: int) -> float:
    """The largest total gain of actions that cost at most `limit` each, with at most `most` changes; −inf for none."""
    if limit == np.inf and most >= sum(int(group.changes.max()) for group in groups):
        return float(sum(group.gain.max() for group in groups))
    best = np.zeros(1)
    for group in groups:
        allowed = group.cost <= limit
        width = int(group.changes.max()) + 1
        own = np.full(width, -np.inf)
        np.maximum.at(own, group.changes[allowed], group.gain[allowed])
        total = np.full(len(best) + width - 1, -np.inf)
        for changes, gain in enumerate(own):
            if gain > -np.inf:
                part = total[changes : changes + len(best)]
                np.maximum(part, best + gain, out=part)
        best = total[: most + 1]
    return float(best.max())


def _frontier(cost: np.ndarray, gain: np.ndarray, changes: np.ndarray | None = None) -> np.ndarray:
    """Positions of the entries that no other beats in cost, gain and, where given, changes; cheapest first."""
    order = np.lexsort((-gain, cost)) if changes is None else np.lexsort((changes, -gain, cost))
    if changes is None:
        return np.asarray(order[rises(gain[order])])
    kept = np.zeros(len(order), dtype=bool)
    for number in np.unique(changes):
        within = np.flatnonzero(changes[order] <= number)
        rising = within[rises(gain[order[within]])]
        kept[rising[changes[order[rising]] == number]] = True
    return np.asarray(order[kept])


def rises(gain: np.ndarray) -> np.ndarray:
    """Where each entry is larger than all before it."""
    before = np.concatenate(([-np.inf], np.maximum.accumulate(gain)[:-1]))
    return np.asarray(gain > before)


@dataclass(frozen=True)
class _Bound:
    """The least cost of a total gain in the linear relaxation: convex, piecewise linear, infinite beyond its end."""

    gain: np.ndarray
    cost: np.ndarray

    def __call__(self, need: np.ndarray) -> np.ndarray:
        if len(self.gain) == 1:
            return np.where(need > self.gain[0] + _EQUAL, np.inf, self.cost[0])
        at = np.clip(np.searchsorted(self.gain, need, side="right") - 1, 0, len(self.gain) - 2)
        slope = np.diff(self.cost)[at] / np.diff(self.gain)[at]
        inside = self.cost[at] + (need - self.gain[at]) * slope
        inside = np.where(need >= self.gain[-1], self.cost[-1], np.where(need <= self.gain[0], self.cost[0], inside))
        return np.where(need > self.gain[-1] + _EQUAL, np.inf, inside)


def _suffix_bounds(stages: list[Group]) -> list[_Bound]:
    """For each stage, the bound on what it and all after it cost."""
    gains, costs = np.empty(0), np.empty(0)
    start_gain = start_cost = 0.0
    bounds = [_Bound(np.zeros(1), np.zeros(1))]
    for stage in reversed(stages):
        order = np.lexsort((-stage.gain, stage.cost))
        order = order[rises(stage.gain[order])]
        hull = _lower_hull(stage.gain[order], stage.cost[order])
        start_gain += float(stage.gain[order[0]])
        start_cost += float(stage.cost[order[0]])
        gains = np.append(gains, np.diff(stage.gain[order][hull]))
        costs = np.append(costs, np.diff(stage.cost[order][hull]))
        steep = np.argsort(costs / gains, kind="stable")
        gains, costs = gains[steep], costs[steep]
        bounds.append(
            _Bound(
                start_gain + np.concatenate(([0.0], gains.cumsum())),
                start_cost + np.concatenate(([0.0], costs.cumsum())),
            )
        )
    return bounds[::-1]


def _lower_hull(gain: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Positions of the corners of the convex hull from below; both coordinates rise."""
    hull: list[int] = []
    x, y = gain.tolist(), cost.tolist()  # plain numbers, which Python handles faster
    for i in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) >= (y[i] - y[a]) * (x[b] - x[a]):
                hull.pop()
            else:
                break
        hull.append(i)
    return np.array(hull)


def _pass(
    stages: list[Group], bounds: list[_Bound], need: float, most: int, known: float, beam: int | None
) -> tuple[float, list[int]] | None:
    """The cheapest complete choice cheaper than `known`, and its cost; a beam keeps only the most promising."""
    cost, gain, changes = np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.intp)
    trail: list[tuple[np.ndarray, np.ndarray]] = []
    for stage, bound in zip(stages, bounds[1:], strict=True):
        width = len(stage.cost)
        cost = (cost[:, None] + stage.cost).ravel()
        gain = (gain[:, None] + stage.gain).ravel()
        changes = (changes[:, None] + stage.changes).ravel()
        least = cost + bound(need - gain)
        keep = np.flatnonzero((least < known - _EQUAL) & (changes <= most))
        if beam is not None and len(keep) > beam:
            keep = np.sort(keep[np.argsort(least[keep], kind="stable")[:beam]])
        keep = keep[_frontier(cost[keep], gain[keep], changes[keep] if most else None)]
        if not len(keep):
            return None
        cost, gain, changes = cost[keep], gain[keep], changes[keep]
        trail.append(np.divmod(keep, width))
    enough = np.flatnonzero(gain >= need)
    if not len(enough):
        return None
    at = int(enough[np.argmin(cost[enough])])
    total, chosen = float(cost[at]), []
    for parent, action in reversed(trail):
        chosen.append(int(action[at]))
        at = int(parent[at])
    return total, chosen[::-1]
