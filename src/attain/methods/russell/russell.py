"""Diverse coherent explanations (Russell 2019): the nearest record on the mixed polytope, then ones unlike it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attain.core.errors import ModelError
from attain.methods.base import Explainer
from attain.methods.context import ModelContext
from attain.methods.russell.russell_program import MixedPolytope, Spread
from attain.methods.search.factual_scores import factual_scores
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.signatures import Signatures
from attain.models import GoalLike
from attain.models.structure.encoding import StructureError
from attain.models.structure.linear import ACCEPTED, LinearScore, linear_score
from attain.results.status import Status
from attain.tables import unchanged

_NUDGE = 1e-7
"""How much more than needed is asked for, relative to the score: the solver's tolerance and a number's last digit."""
_TRIES = 12
"""How often the program is solved again, with a cut or more gain, after a record that is not an answer."""
_ROWS_AT_ONCE = 1_000


class _Nearest(NamedTuple):
    """A record that flips the decision, its distance, and whether that is shown to be the least."""

    row: np.ndarray
    distance: float
    proven: bool


@dataclass(kw_only=True, eq=False, repr=False)
class Russell(Explainer):
    """The nearest record that flips a linear classifier's decision, and then ones that do so in other ways.

    Takes linear classifiers with two classes, recognised inside scikit-learn pipelines (`models.structure.linear`); for
    others see `ActionableRecourse`, which fits local linear models. Each feature is a number within its range or one of
    its states: a special code, a level, a missing cell. A mixed-integer program (HiGHS) finds the least distance: moves
    of numbers in units of their median absolute deviation, changes of state in the same units of their indicators. For
    each further option every change of the last one is forbidden in turn, unless no answer would be left.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, special codes, missing
    cells, `max_changes` and linear rules between features. Other rules are kept by rejection: the states that broke one
    are forbidden together. Derived columns are linearised at the row and verified, with more gain asked for until the
    decision flips. Clocks other than the leading one are no part of the program either. The figure `proven` is 1 where
    the distance is the least there is (up to the six digits of numbers without a step), and 0 where one of these was
    needed, the schema has clocks, or the solver reached its limit of 10,000 nodes.

    Departures from the publication: the score must exceed the boundary by the margin, steps are part of the program
    (values are not rounded afterwards), an indicator's MAD, which is 0 for most, is replaced by 0.6745 standard
    deviations, and a level with an order is as far away as its position.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        Not used: the method is deterministic.

    References
    ----------
    C. Russell: Efficient Search for Diverse Coherent Explanations, FAT* 2019.
    """

    citation = "russell2019efficient"
    own_figures = ("distance", "proven")

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
        return _ROWS_AT_ONCE

    def _search(self, problem: Problem) -> Answers:
        score: LinearScore = problem.inspected
        region, ledger = problem.region, problem.ledger
        own, signatures = factual_scores(problem, score), Signatures(region)
        status = [Status.OUT_OF_REACH] * len(problem)
        found: list[tuple[int, _Nearest]] = []
        both = problem.price + problem.goal.last_questions
        for i in range(len(problem)):
            # every option is asked about here, and again in the last check
            affordable = min(problem.options, int(ledger.left[i]) // both)
            if affordable < 1:
                status[i] = Status.BUDGET_SPENT
                continue
            polytope = MixedPolytope(region, i, score, self.spread_, signatures, affordable)
            diverse = _Diverse(problem, polytope, score, i, score.threshold - float(own[i]))
            found += [(i, nearest) for nearest in diverse.options(affordable)]
            ledger.charge_time(i)
        rows = np.array([nearest.row for _, nearest in found]).reshape(-1, len(region.schema))
        owners = np.array([i for i, _ in found], dtype=np.intp)
        good = problem.accepts(rows, owners)
        for i in owners[good]:
            status[i] = Status.FOUND
        distance = np.array([nearest.distance for _, nearest in found])[good]
        proven = np.array([nearest.proven for _, nearest in found], dtype=np.float64)[good]
        figures = {"distance": np.round(distance, 6), "proven": proven}
        return Answers(rows[good], owners[good], distance, status, figures)


class _Diverse:
    """The options of one row, the nearest first."""

    def __init__(self, problem: Problem, polytope: MixedPolytope, score: LinearScore, i: int, lacking: float) -> None:
        self._region = problem.region
        self._ledger = problem.ledger.subset(np.array([i]))
        self._polytope = polytope
        self._score = score
        self._owner = np.array([i])
        self._own = problem.region.factuals[i]
        self._lacking = lacking
        self._cut = False

    def options(self, most: int) -> Iterator[_Nearest]:
        restricted: frozenset[int] = frozenset()
        answer = self._solve(restricted)
        seen: set[bytes] = set()
        while answer is not None and answer.row.tobytes() not in seen:
            yield answer
            seen.add(answer.row.tobytes())
            if len(seen) == most:
                return
            answer, restricted = self._unlike(answer, restricted)

    def _unlike(self, answer: _Nearest, restricted: frozenset[int]) -> tuple[_Nearest, frozenset[int]]:
        """The answer after each change of this one is forbidden in turn; what leaves no answer is allowed again."""
        row = answer.row
        for j in np.flatnonzero(self._region.changed(row[None], self._owner)[0]):
            without = restricted | {self._polytope.variable(int(j), row)}
            other = self._solve(without)
            if other is not None:
                answer, restricted = other, without
        return answer, restricted

    def _solve(self, restricted: frozenset[int]) -> _Nearest | None:
        """The nearest record in final form that keeps every rule and meets the goal by its score."""
        region, owner = self._region, self._owner
        need = self._lacking + _NUDGE * max(1.0, abs(self._lacking), abs(self._score.threshold))
        for attempt in range(_TRIES):
            solved = self._polytope.solve(need, restricted, float(self._ledger.seconds_left[0]))
            if solved is None:
                return None
            proposed, solution = solved
            rejected = self._broken(proposed)
            for columns in rejected:
                self._polytope.forbid_together(columns, proposed)
            if rejected:
                self._cut = True
                continue
            row = region.final_form(proposed[None], owner)
            short = self._lacking - self._gained(row[0])
            if short > 0:
                need += max(1.05 * short, _NUDGE * max(1.0, abs(need)))
            elif region.allows(row, owner)[0] and region.changed(row, owner).any():
                proven = solution.proven and attempt == 0 and not self._cut and not region.schema.clocks
                return _Nearest(row[0], solution.value, proven)
            else:
                return None
        return None

    def _broken(self, row: np.ndarray) -> list[list[int]]:
        """The columns of each rule that is not part of the program and that this row violates."""
        region = self._region
        kept = region.kept(region.derived(row[None], self._own[None]), self._owner)[0]
        return [
            [region.schema.position(name) for name in rule.names]
            for rule, good in zip(region.book.rules, kept, strict=True)
            if not good and rule not in self._polytope.linear
        ]

    def _gained(self, row: np.ndarray) -> float:
        """What the changed cells add to the score."""
        changed = np.flatnonzero(~unchanged(row, self._own))
        return float(
            sum(self._score.weight(j, row[[j]])[0] - self._score.weight(j, self._own[[j]])[0] for j in changed.tolist())
        )
