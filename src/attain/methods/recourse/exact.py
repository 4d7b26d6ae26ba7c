"""Exact recourse for a linear score: every row's flip set, each item asked of the model itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from attain.methods.recourse.actions import Actions, RecourseCost
from attain.methods.recourse.flip_set import MOST_REJECTED, Check, FlipSet, Item, certainly_none
from attain.methods.recourse.program import Program
from attain.methods.search.factual_scores import factual_scores
from attain.methods.search.problem import Answers, Problem
from attain.models.structure.linear import LinearScore
from attain.results.status import Status
from attain.tables import unchanged

_NUDGES: Final = (1e-10, 1e-7, 1e-4)
"""How much more than needed an item must gain, relative to the score: rounding decides less than the first of these."""


@dataclass(frozen=True)
class ExactRecourse:
    """The cheapest actions that flip the decision of a linear score.

    Attributes
    ----------
    cost
        What is least; see `ActionableRecourse`.
    exclusive
        Whether no feature may change in two options of a row; if not, their sets of features differ.
    """

    cost: RecourseCost = "total"
    exclusive: bool = False

    def search(self, problem: Problem, actions: Actions, score: LinearScore) -> Answers:
        """The flip set of every row; an item refused because of rounding is asked for again with a little more gain."""
        ledger = problem.ledger
        own = factual_scores(problem, score)
        actions.prepare(score)
        status = [Status.OUT_OF_REACH] * len(problem)
        items: list[tuple[int, Item]] = []
        waiting = np.arange(len(problem))
        both = problem.price + problem.goal.last_questions
        for nudge in _NUDGES:
            proposed: list[tuple[int, Item]] = []
            for i in waiting.tolist():
                if ledger.late[i]:
                    continue
                need = score.threshold - own[i] + nudge * max(1.0, abs(own[i]), abs(score.threshold))
                program = actions.program(i, score, float(need))
                # every item is asked about now, and again in the last check
                affordable = min(problem.options, int(ledger.left[i]) // both)
                if certainly_none(program):
                    status[i] = Status.NO_RECOURSE
                elif affordable < 1:
                    status[i] = Status.BUDGET_SPENT
                else:
                    found = self.flip_set(program, ScoreCheck(problem, i, score))
                    proposed += [(i, item) for item in islice(found, affordable)]
                ledger.charge_time(i)
            rows, owners = written(problem, proposed)
            accepted = problem.accepts(rows, owners)
            items += [pair for pair, good in zip(proposed, accepted, strict=True) if good]
            for i in owners[accepted]:
                status[i] = Status.FOUND
            refused = set(owners[~accepted].tolist())
            waiting = np.array([i for i in sorted(refused) if status[i] is not Status.FOUND], dtype=np.intp)
        rows, owners = written(problem, items)
        cost = np.round(actions.cost(rows, owners), 9)
        # where final form repaired a rule, the row is not the choice that was proven to be the cheapest
        as_chosen = [
            bool(unchanged(row[item.columns], item.cells).all()) for row, (_, item) in zip(rows, items, strict=True)
        ]
        proven = np.array(
            [item.proven and same for (_, item), same in zip(items, as_chosen, strict=True)], dtype=np.float64
        )
        return Answers(
            rows, owners, np.array([item.cost for _, item in items]), status, {"cost": cost, "proven": proven}
        )

    def flip_set(
        self, program: Program, check: Check, most_rejected: int = MOST_REJECTED, proving: bool = True
    ) -> Iterator[Item]:
        """The items of one row, cheapest first; a part is given up after so many choices that fail their check.

        With `proving`, rules are conditions of the program; otherwise actions that broke one are left out, which takes
        a fraction of the time and may lose a cheaper item.
        """
        items = FlipSet(program, self.cost, check, most_rejected, proving)
        return items.exclusive() if self.exclusive else items.distinct()


class RulesCheck:
    """Whether an item keeps the rules."""

    def __init__(self, problem: Problem, i: int) -> None:
        self._problem = problem
        self._ledger = problem.ledger.subset(np.array([i]))
        self._i = i

    def seconds_left(self) -> float:
        return float(self._ledger.seconds_left[0])

    def __call__(self, item: Item, as_chosen: bool = False) -> bool:
        row = written(self._problem, [(self._i, item)])[0]
        return not (as_chosen and not unchanged(row[0, item.columns], item.cells).all()) and self._good(row)

    def _good(self, row: np.ndarray) -> bool:
        return bool(self._problem.region.allows(row, np.array([self._i]))[0])

    def broken(
        self, columns: np.ndarray, cells: np.ndarray, chosen: np.ndarray
    ) -> Iterator[tuple[list[int], np.ndarray]]:
        """For each rule that the `chosen` cells (m,) break: its columns, and which of the cells (n, m) break it too."""
        region = self._problem.region
        owners = np.full(len(cells) + 1, self._i)
        rows = region.factuals[owners]
        rows[:, columns] = np.vstack((chosen, cells))
        kept = region.kept(region.derived(rows, region.factuals[owners]), owners)
        for k in np.flatnonzero(~kept[0]).tolist():
            yield [region.schema.position(name) for name in region.book.rules[k].names], ~kept[1:, k]


class ScoreCheck(RulesCheck):
    """Whether an item also meets the goal by the linear score, without asking the model."""

    def __init__(self, problem: Problem, i: int, score: LinearScore) -> None:
        super().__init__(problem, i)
        self._score = score

    def _good(self, row: np.ndarray) -> bool:
        # a score that is not known (a missing cell that no training row has) is left to the model
        return not self._score.score(row)[0] < self._score.threshold and super()._good(row)


def written(problem: Problem, items: list[tuple[int, Item]]) -> tuple[np.ndarray, np.ndarray]:
    """The items as rows in final form, and which row each is for."""
    owners = np.array([i for i, _ in items], dtype=np.intp)
    rows = problem.region.factuals[owners]
    for row, (_, item) in zip(rows, items, strict=True):
        row[item.columns] = item.cells
    return problem.region.final_form(rows, owners), owners
