"""Diverse coherent explanations (Russell 2019): the nearest record on the mixed polytope, then ones unlike it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.core.errors import ModelError
from attain.methods.base import Explainer
from attain.methods.context import ModelContext
from attain.methods.russell.russell_program import MixedPolytope, Spread, in_program
from attain.methods.search.problem import Answers, Problem
from attain.models import GoalLike
from attain.models.structure.encoding import StructureError
from attain.models.structure.linear import ACCEPTED, LinearScore, decision_scores, linear_score
from attain.results.status import Status
from attain.tables import unchanged

_NUDGE = 1e-7
"""How much more than needed is asked for, relative to the score: the solver's tolerance and a number's last digit."""
_TRIES = 12
"""How often a record that is refused is met with a cut, or with more gain."""
_PEOPLE_AT_ONCE = 1_000


@dataclass(kw_only=True, eq=False, repr=False)
class Russell(Explainer):
    """The nearest record that turns a linear classifier's decision, and then ones that get there in other ways.

    Takes linear classifiers with two classes, recognised inside scikit-learn pipelines (`models.structure.linear`); for
    others see `ActionableRecourse`, which fits local linear models. Each feature is a number within its range or one of
    its states: a special code, a level, a missing cell. A mixed-integer program (HiGHS) finds the least distance: moves
    of numbers in units of their median absolute deviation, changes of state in the same units of their indicators. For
    each further option every change of the last one is forbidden in turn, unless no answer would be left.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, special codes, missing
    cells, `max_changes` and linear rules between features. Other rules are kept by rejection: the states that broke one
    are forbidden together. Derived columns are linearised at the person and verified, with more gain asked for until
    they hold. Distances are optimal where neither is at work, up to the six digits of numbers without a step.

    Departures from the publication: the decision must be passed by the margin, steps are part of the program (values
    are not rounded afterwards), an indicator's MAD, which is 0 for most, is replaced by 0.6745 standard deviations, and
    a level with an order is as far away as its position.

    Parameters
    ----------
    schema
        What the columns are; inferred from the training data where it is None.
    budget
        The most rows the model is asked about per person.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real people of the desired class.
    random_state
        Taken like every method does; nothing here is left to chance.

    References
    ----------
    C. Russell: Efficient Search for Diverse Coherent Explanations, FAT* 2019.
    """

    citation = "russell2019efficient"

    def _prepare(self) -> None:
        self.spread_ = Spread(self.schema_, self.table_.values)

    def _inspect(self, goal: GoalLike, context: ModelContext) -> LinearScore:
        try:
            return linear_score(goal, self.table_.values)
        except StructureError as error:
            raise ModelError(
                f"Russell takes {ACCEPTED}, but {error}; ActionableRecourse takes any classifier by local linear "
                "models, and so does GrowingSpheres without them"
            ) from error

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _PEOPLE_AT_ONCE

    def _search(self, problem: Problem) -> Answers:
        score: LinearScore = problem.inspected
        region, ledger = problem.region, problem.ledger
        own = score.score(region.factuals)
        unknown = np.flatnonzero(np.isnan(own))
        if unknown.size:  # a missing cell that no training person has
            ledger.charge(unknown)
            own[unknown] = decision_scores(problem.goal, region.factuals[unknown])
        status = [Status.OUT_OF_REACH] * len(problem)
        found: list[tuple[np.ndarray, int, float]] = []
        for i in range(len(problem)):
            # every option is asked about here, and again in the last check
            affordable = min(problem.options, int(ledger.budget - ledger.spent[i]) // 2)
            if affordable < 1:
                status[i] = Status.BUDGET_SPENT
                continue
            polytope = MixedPolytope(region, i, score, self.spread_)
            diverse = _Diverse(problem, polytope, score, i, score.threshold - float(own[i]))
            found += [(row, i, distance) for row, distance in diverse.options(affordable)]
        rows = np.array([row for row, _, _ in found]).reshape(-1, len(region.schema))
        owners = np.array([i for _, i, _ in found], dtype=np.intp)
        good = problem.accepts(rows, owners)
        for i in owners[good]:
            status[i] = Status.FOUND
        distance = np.array([distance for _, _, distance in found])[good]
        return Answers(rows[good], owners[good], distance, status, {"distance": np.round(distance, 6)})


class _Diverse:
    """The options of one person, the nearest first."""

    def __init__(self, problem: Problem, polytope: MixedPolytope, score: LinearScore, i: int, lacking: float) -> None:
        self._region = problem.region
        self._polytope = polytope
        self._score = score
        self._person = np.array([i])
        self._own = problem.region.factuals[i]
        self._lacking = lacking

    def options(self, most: int) -> Iterator[tuple[np.ndarray, float]]:
        restricted: frozenset[int] = frozenset()
        answer = self._solve(restricted)
        seen: set[bytes] = set()
        while answer is not None and answer[0].tobytes() not in seen:
            yield answer
            seen.add(answer[0].tobytes())
            if len(seen) == most:
                return
            answer, restricted = self._unlike(answer, restricted)

    def _unlike(
        self, answer: tuple[np.ndarray, float], restricted: frozenset[int]
    ) -> tuple[tuple[np.ndarray, float], frozenset[int]]:
        """The answer after each change of this one is forbidden in turn; what leaves no answer is allowed again."""
        row = answer[0]
        for j in np.flatnonzero(self._region.changed(row[None], self._person)[0]):
            without = restricted | {self._polytope.variable(int(j), row)}
            other = self._solve(without)
            if other is not None:
                answer, restricted = other, without
        return answer, restricted

    def _solve(self, restricted: frozenset[int]) -> tuple[np.ndarray, float] | None:
        """The nearest record in final form that keeps every rule and meets the goal by its score."""
        region, person = self._region, self._person
        need = self._lacking + _NUDGE * max(1.0, abs(self._lacking), abs(self._score.threshold))
        for _ in range(_TRIES):
            solved = self._polytope.solve(need, restricted)
            if solved is None:
                return None
            rejected = self._broken(solved[0])
            for columns in rejected:
                self._polytope.forbid_together(columns, solved[0])
            if rejected:
                continue
            row = region.final_form(solved[0][None], person)
            short = self._lacking - self._gained(row[0])
            if short > 0:
                need += max(1.05 * short, _NUDGE * max(1.0, abs(need)))
            elif region.allows(row, person)[0] and region.changed(row, person).any():
                return row[0], solved[1]
            else:
                return None
        return None

    def _broken(self, row: np.ndarray) -> list[list[int]]:
        """The columns of each rule that the program does not know of and this row breaks."""
        region = self._region
        kept = region.book.kept(region.book.derive(row[None], self._own[None]))[0]
        return [
            [region.schema.position(name) for name in rule.names]
            for rule, good in zip(region.schema.parsed_rules, kept, strict=True)
            if not good and not in_program(rule, region.schema)
        ]

    def _gained(self, row: np.ndarray) -> float:
        """The score that the changed cells bring."""
        changed = np.flatnonzero(~unchanged(row, self._own))
        return float(
            sum(self._score.weight(j, row[[j]])[0] - self._score.weight(j, self._own[[j]])[0] for j in changed.tolist())
        )
