"""Flip sets: the cheapest choice of actions that flips the decision, then the cheapest that change other features.

A program is solved without any rule first. Where the choice breaks one, that rule is added as a condition, and the
program is solved again: a choice that keeps all rules is the cheapest of those that do. Further choices come from
splitting what is left into parts, each with some features that must change and some that must not (Lawler's procedure),
and always opening the part with the cheapest choice.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

import numpy as np

from attain.methods.recourse.program import Features, Program, RecourseCost, Row, cheapest, not_all
from attain.methods.recourse.rule_cuts import RuleCuts
from attain.methods.search.problem import Deadline

MOST_ROUNDS: Final = 200
"""How often a part is solved again, with further conditions, before it is given up."""


@dataclass(frozen=True)
class Item:
    """One choice of actions.

    Attributes
    ----------
    row
        What the person becomes, (d,).
    changed
        The columns that change.
    cost
        What the items of a row are ordered by: the total, or the largest and then the total.
    proven
        Whether no cheaper item is left, as shown by the solver.
    """

    row: np.ndarray
    changed: Features
    cost: float
    proven: bool = True


class FlipSet:
    """The items of one program, cheapest first.

    `check` gives conditions that a choice breaks, none where it is an answer; `program` gets them, too. Once a part was
    left unsolved because of a limit, a cheaper item may hide there: later items are not `proven`. Without `proving`, an
    item may cost a little more than another.
    """

    def __init__(
        self,
        program: Program,
        cost: RecourseCost,
        check: RuleCuts,
        until: Deadline,
        most_rounds: int = MOST_ROUNDS,
        proving: bool = True,
    ) -> None:
        self.program, self._cost = program, cost
        self._check, self._until, self._most_rounds, self._proving = check, until, most_rounds, proving
        self._complete = program.exact

    def none(self) -> bool:
        """Whether, once the first item was looked for in vain, it is certain that there is none, on the grid or not."""
        told = {g for row in self.program.rows for g in row.weights}
        joint = {g for g, some in enumerate(self.program.choices) if len(some.columns) > 1}
        return self._complete and all(self.program.choices[g].exhaustive for g in told | joint)

    def exclusive(self) -> Iterator[Item]:
        """Items of which no two change the same feature."""
        used: Features = frozenset()
        while (item := self._cheapest(frozenset(), used)) is not None:
            yield replace(item, proven=self._complete)
            if not item.changed:
                return
            used |= item.changed

    def distinct(self) -> Iterator[Item]:
        """Items that change different sets of features."""
        number = count()
        heap: list[tuple[float, int, Item, Features, Features]] = []

        def open_part(required: Features, forbidden: Features) -> None:
            item = self._cheapest(required, forbidden)
            if item is not None:
                heapq.heappush(heap, (item.cost, next(number), item, required, forbidden))

        columns = [int(j) for some in self.program.choices for j in some.columns]
        open_part(frozenset(), frozenset())
        while heap:
            _, _, item, required, forbidden = heapq.heappop(heap)
            yield replace(item, proven=self._complete)
            for j in columns:
                if j in required or j in forbidden:
                    continue
                if j in item.changed:
                    open_part(required, forbidden | {j})
                    required |= {j}
                else:
                    open_part(required | {j}, forbidden)
                    forbidden |= {j}

    def _cheapest(self, required: Features, forbidden: Features) -> Item | None:
        """The cheapest item in which these features change and those do not."""
        for _ in range(self._most_rounds):
            actions, proven = cheapest(
                self.program, self._cost, self._until.seconds_left, required, forbidden, self._proving
            )
            self._complete &= proven
            if actions is None:
                return None
            rows = self._short(actions) or self._check(actions)
            if not rows:
                return self._item(actions)
            self.program = replace(self.program, rows=[*self.program.rows, *rows])
        self._complete = False
        return None

    def _short(self, actions: list[int]) -> list[Row]:
        """A cut where the choice gains a little less than needed, which HiGHS tolerates: no less is enough either."""
        pairs = list(zip(self.program.choices, actions, strict=True))
        if sum(some.gain[a] for some, a in pairs) >= self.program.need:
            return []
        return [not_all({g: some.gain <= some.gain[a] for g, (some, a) in enumerate(pairs)})]

    def _item(self, actions: list[int]) -> Item:
        pairs = list(zip(self.program.choices, actions, strict=True))
        changed = frozenset(int(j) for some, a in pairs for j in some.columns[some.moved[a]])
        costs = [float(some.cost[a]) for some, a in pairs]
        value = max(costs, default=0.0) + 1e-6 * sum(costs) if self._cost == "max" else sum(costs)
        return Item(self._check.row(actions)[0], changed, value)
