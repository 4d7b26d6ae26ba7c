"""Rules as conditions of a row's program, made where a choice breaks them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from attain.methods.recourse.program import Program, Row, not_all
from attain.methods.search.programs import LinearRule, linear_rules
from attain.tables import Region, ordinary, unchanged

_MOST_TRIED: Final = 20_000
"""The most rows by which a cut is widened to further actions of one group."""
_LIMITS: Final = -1
"""In place of a rule's position: that computed columns stay within their limits."""


class RuleCuts:
    """What rules out choices of row i: conditions by the rules that they break.

    A linear rule is stated as it is. Any other, and a linear one that the solver's tolerance lets a choice break, gives
    cuts: sets of actions of the features that it is about, of which not all may be chosen from at once.
    """

    def __init__(self, region: Region, i: int, program: Program) -> None:
        self._region, self._i, self._program = region, i, program
        self._group = {int(j): g for g, some in enumerate(program.choices) for j in some.columns}
        self._stated: set[int] = set()

    def row(self, actions: list[int]) -> np.ndarray:
        """The choice as a row with its computed columns, (1, d)."""
        return self._derived(self._rows(actions, {}))

    def __call__(self, actions: list[int]) -> list[Row]:
        """Conditions by the rules that the choice breaks; none where it is allowed."""
        region, row, owner = self._region, self.row(actions), np.array([self._i])
        broken = np.flatnonzero(~region.kept(row, owner)[0]).tolist()
        if not broken:
            final, admitted = region.settled(row, owner)
            if admitted[0] and unchanged(final, row).all():
                return []
            if not region.violations(row, owner)["derived"][0]:
                return [self.only(actions)]
            broken = [_LIMITS]
        return [row for k in broken for row in self._linear(k) or self._cuts(actions, k)]

    def _linear(self, k: int) -> list[Row]:
        """Rule k as conditions, if it is linear, holds for the row, and was not among them before."""
        region = self._region
        if k in self._stated or k == _LIMITS or region.book.rules[k] not in region.binding(self._i):
            return []
        self._stated.add(k)
        parts = linear_rules(region.book.rules[k], region.schema)
        if any(not region.following.isdisjoint(part.weights) for part in parts):
            return []
        return [row for part in parts for row in self._linear_rows(part)]

    def _linear_rows(self, rule: LinearRule) -> Iterator[Row]:
        """A linear rule as conditions, one for each side; a missing or special cell lifts it."""
        choices = self._program.choices
        sums, lifted, fixed, scale = dict[int, np.ndarray](), dict[int, np.ndarray](), 0.0, 1.0
        for j, weight in rule.weights.items():
            g = self._group.get(j)
            cells = (
                self._region.start[[self._i], j] if g is None else choices[g].cells[:, choices[g].columns == j][:, 0]
            )
            known = ordinary(self._region.schema.features[j], cells)
            terms = weight * np.where(known, cells, 0.0)
            scale += float(np.abs(terms).max())
            if g is not None:
                sums[g] = sums.get(g, 0.0) + terms
                lifted[g] = lifted.get(g, False) | ~known
            elif known[0]:
                fixed += float(terms[0])
            else:
                return
        for side, sign in ((rule.high, 1.0), (rule.low, -1.0)):
            if math.isfinite(side):
                room = scale + abs(side)
                yield Row({g: sign * sums[g] / room - 2.0 * lifted[g] for g in sums}, sign * (side - fixed) / room)

    def _cuts(self, actions: list[int], k: int) -> list[Row]:
        """Sets of actions that break rule k together, the chosen ones among them, begun at either end of its groups."""
        groups = self._groups(k)
        orders = (groups, groups[::-1]) if len(groups) > 1 else (groups,)
        return [self._widened(actions, k, order) for order in orders]

    def only(self, actions: list[int]) -> Row:
        """A cut that rules out this choice alone."""
        pairs = enumerate(zip(self._program.choices, actions, strict=True))
        return not_all({g: np.arange(len(some.cost)) == a for g, (some, a) in pairs})

    def _groups(self, k: int) -> list[int]:
        """The groups that rule k is about."""
        region = self._region
        if k == _LIMITS:
            columns = {one.column for one in region.book.derivations}
        else:
            columns = {region.schema.position(name) for name in region.book.rules[k].names}
        for one in reversed(region.book.derivations):
            if one.column in columns:
                columns |= set(one.inputs)
        return sorted({self._group[j] for j in columns if j in self._group})

    def _widened(self, actions: list[int], k: int, groups: list[int]) -> Row:
        """Actions of these groups of which any that are chosen together break rule k, the chosen ones among them.

        Group after group takes in all actions that break it with whatever the groups before have taken in.
        """
        choices = self._program.choices
        taken = {g: np.array([actions[g]]) for g in groups}
        for g in groups:
            alone = self._breaking(actions, k, {g: np.arange(len(choices[g].cost))})
            others = {h: some for h, some in taken.items() if h != g and len(some) > 1}
            number = math.prod(map(len, others.values()))
            if number * len(alone) <= _MOST_TRIED:
                taken[g] = self._breaking(actions, k, {g: alone, **others}) if others else alone
        return not_all({g: np.isin(np.arange(len(choices[g].cost)), some) for g, some in taken.items()})

    def _breaking(self, actions: list[int], k: int, varied: dict[int, np.ndarray]) -> np.ndarray:
        """The actions of the first group that break rule k with all of the other groups', the rest as chosen."""
        first, *_ = varied.values()
        rows = self._derived(self._rows(actions, varied))
        owners = np.full(len(rows), self._i)
        region = self._region
        broken = region.violations(rows, owners)["derived"] if k == _LIMITS else ~region.kept(rows, owners)[:, k]
        return np.asarray(first[broken.reshape(len(first), -1).all(axis=1)])

    def _rows(self, actions: list[int], varied: dict[int, np.ndarray]) -> np.ndarray:
        """The rows with the chosen cells, and in some groups every combination of these actions."""
        sizes = [len(some) for some in varied.values()]
        picks = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
        rows = self._region.start[np.full(math.prod(sizes), self._i)]
        for group, a in zip(self._program.choices, actions, strict=True):
            rows[:, group.columns] = group.cells[a]
        for (g, some), pick in zip(varied.items(), picks, strict=True):
            rows[:, self._program.choices[g].columns] = self._program.choices[g].cells[some[pick]]
        return rows

    def _derived(self, rows: np.ndarray) -> np.ndarray:
        return self._region.derived(rows, self._region.factuals[np.full(len(rows), self._i)])
