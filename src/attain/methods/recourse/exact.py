"""Exact recourse for a linear score: every row's flip set, each item asked of the model itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from attain.methods.recourse.actions import Actions
from attain.methods.recourse.flip_set import FlipSet, Item
from attain.methods.recourse.program import Program, RecourseCost, Row
from attain.methods.recourse.rule_cuts import RuleCuts
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.programs import factual_scores
from attain.models.structure.linear import LinearScore
from attain.results.status import Status
from attain.tables import Region

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
        """The flip set of every row; an item refused because of rounding is asked for again with a little more gain.

        Nobody takes more than an even share of the time that is left.
        """
        ledger = problem.ledger
        own = factual_scores(problem, score)
        status = [Status.OUT_OF_REACH] * len(problem)
        items: list[tuple[int, Item]] = []
        waiting = np.arange(len(problem))
        both = problem.price + problem.goal.last_questions
        for nudge in _NUDGES:
            proposed: list[tuple[int, Item]] = []
            for place, i in enumerate(waiting.tolist()):
                if ledger.deadline.passed:
                    break
                # every item is asked about now, and again in the last check
                affordable = min(problem.options, int(ledger.left[i]) // both)
                if affordable < 1:
                    status[i] = Status.BUDGET_SPENT
                    continue
                need = score.threshold - own[i] + nudge * max(1.0, abs(own[i]), abs(score.threshold))
                program = actions.program(i, score, float(need))
                cuts = ScoreCuts(problem.region, i, program, score)
                until = ledger.deadline.share(len(waiting) - place)
                flip_set = FlipSet(program, self.cost, cuts, until)
                found = list(islice(self.items(flip_set), affordable))
                proposed += [(i, item) for item in found]
                if not found and nudge == _NUDGES[0] and flip_set.none():
                    status[i] = Status.NO_RECOURSE
            rows, owners = _rows(problem, proposed)
            accepted = problem.accepts(rows, owners)
            items += [pair for pair, good in zip(proposed, accepted, strict=True) if good]
            for i in owners[accepted]:
                status[i] = Status.FOUND
            refused = set(owners[~accepted].tolist())
            waiting = np.array([i for i in sorted(refused) if status[i] is not Status.FOUND], dtype=np.intp)
        rows, owners = _rows(problem, items)
        cost = np.round(actions.cost(rows, owners), 9)
        proven = np.array([item.proven for _, item in items], dtype=np.float64)
        return Answers(
            rows, owners, np.array([item.cost for _, item in items]), status, {"cost": cost, "proven": proven}
        )

    def items(self, flip_set: FlipSet) -> Iterator[Item]:
        """The items of one row, cheapest first."""
        return flip_set.exclusive() if self.exclusive else flip_set.distinct()


class ScoreCuts(RuleCuts):
    """Rules out choices that do not meet the goal by the linear score, too, without asking the model."""

    def __init__(self, region: Region, i: int, program: Program, score: LinearScore) -> None:
        super().__init__(region, i, program)
        self._score = score

    def __call__(self, actions: list[int]) -> list[Row]:
        # a score that is not known (a missing cell that no training row has) is left to the model
        short = self._score.score(self.row(actions))[0] < self._score.threshold
        return super().__call__(actions) or ([self.only(actions)] if short else [])


def _rows(problem: Problem, items: list[tuple[int, Item]]) -> tuple[np.ndarray, np.ndarray]:
    """The items as rows, and which row of the batch each is for."""
    rows = np.array([item.row for _, item in items]).reshape(len(items), len(problem.region.schema))
    return rows, np.array([i for i, _ in items], dtype=np.intp)
