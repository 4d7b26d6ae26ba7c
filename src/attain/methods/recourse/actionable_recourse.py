"""Actionable Recourse (Ustun, Spangher, Liu 2019): the cheapest actions that flip a linear classifier's decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np

from attain.core.checks import check_choice, check_integer
from attain.methods.base import Explainer, choice, integer
from attain.methods.recourse.actions import ActionGrid, Actions
from attain.methods.recourse.exact import ExactRecourse
from attain.methods.recourse.flip_set import FlipSet, Item
from attain.methods.recourse.local_linear import LocalSearch
from attain.methods.recourse.program import RecourseCost
from attain.methods.recourse.rule_cuts import RuleCuts
from attain.methods.search.moves import Scale
from attain.methods.search.problem import Answers, Problem, diverse, sparse
from attain.methods.session import Session
from attain.models.structure.encoding import StructureError
from attain.models.structure.linear import LinearScore, linear_score
from attain.population.percentiles import Percentiles

Estimate = Literal["ecdf", "kde"]
Difference = Literal["distinct", "exclusive"]

_PROPOSED = 2
"""Items of a local model's flip set that are asked of the real one, for each gain."""
_MOST_ROUNDS = 5
"""How often the program of a local model, which is a guess in any case, is solved for one item."""
_FEW = 30
"""The most features for which a second item is proposed."""
_ROWS_AT_ONCE = 1_000


@dataclass(kw_only=True, eq=False, repr=False)
class ActionableRecourse(Explainer):
    """The cheapest change of features that flips a linear classifier's decision, proven to be the cheapest.

    Each free feature has actions: the values it may take, with a cost in percentiles of the training rows and a gain
    in score. One action per feature is chosen so that the gain is enough and the cost least. Takes every classifier:

    - linear ones with two classes are recognised inside scikit-learn pipelines (`models.structure.linear`), and their
      answers are exact optima over the grid. The figure `proven` is 1 for these; it is 0 where the solver reached a
      limit (10,000 nodes, 200 programs, an even share of the call's time), or where a column is computed from features
      with more than 60,000 joint actions, so that a cheaper answer may exist. Where no allowed change can flip the
      decision, the status is `NO_RECOURSE`. That is certain for every value that the schema, the constraints and the
      range of the training data allow, on the grid or not; where it cannot be shown, the status is `OUT_OF_REACH`.
    - for any other a local linear model is fitted round each row (`attain.methods.recourse.local_linear`), each item is
      verified on the real classifier, and the figure `proven` is missing.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, special codes and missing
    cells (states with actions of their own), `max_changes`, and derived columns, which give the features that they are
    computed from joint actions. Rules between features and laws are added where an optimum breaks them, and the program
    is solved again: a linear one as it is, any other by the actions that break it together. So the answer is the
    cheapest of all that keep them.

    Departures from the publication: percentiles by the empirical distribution instead of a kernel estimate (`kde` gives
    that), values within the range of the training data instead of their 1st to 99th percentile, a changed level counts
    like one feature and costs 1, and the local cost keeps 1 − Q at 1 / 2n or more so that it stays finite.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    cost
        What is least: `total`, the sum of the shifts in percentiles; `max`, the largest of them, and then the total;
        `local`, the sum of |log((1 − Q(x̃)) / (1 − Q(x)))|, which counts steps more towards the top. Each feature's cost
        is weighted as the schema or the constraints say.
    percentiles
        `ecdf`, the distribution function that TS and MS are reported by, or `kde`, a kernel estimate.
    grid
        `observed`: each number may become what it is in some training row. `exact`: also the last value before the next
        such one. With `ecdf`, that makes the least total (or maximum) the least TS (or MS) of all allowed records, a
        bound for every other method. An integer: this many equal steps over the range of the training data. The first
        and last value that the row may reach are always among them.
    flip_set
        How several options differ. `distinct`: no two change the same set of features. `exclusive`: no feature changes
        in two of them.
    samples
        Records drawn round each row for a local linear model; linear classifiers need none.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed of the local models. Not used for linear classifiers.

    References
    ----------
    B. Ustun, A. Spangher, Y. Liu: Actionable Recourse in Linear Classification, FAT* 2019.
    """

    citation = "ustun2019actionable"
    own_figures = ("cost", "proven")

    cost: RecourseCost = choice("total", RecourseCost)
    percentiles: Estimate = choice("ecdf", Estimate)
    grid: Literal["observed", "exact"] | int = "observed"
    flip_set: Difference = choice("distinct", Difference)
    samples: int = integer(400, least=2)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.grid, str):
            check_choice("grid", self.grid, ("observed", "exact"))
        else:
            check_integer("grid", self.grid, 1)

    def _prepare(self) -> None:
        values = self.table_.values
        self.grid_ = ActionGrid(self.schema_, values, self.grid)
        self.cost_percentiles_ = (
            self.percentiles_ if self.percentiles == "ecdf" else Percentiles.fit(self.schema_, values, method="kde")
        )
        self.scale_ = Scale(self.schema_, values)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _ROWS_AT_ONCE

    def _inspect(self, session: Session) -> LinearScore | None:
        """The model as a linear score; None where it is not linear."""
        try:
            return linear_score(session.goal, self.table_.values)
        except StructureError:
            return None

    def _search(self, problem: Problem) -> Answers:
        actions = Actions(problem.region, self.grid_, self.cost_percentiles_, self.cost)
        exact = ExactRecourse(self.cost, self.flip_set == "exclusive")
        if problem.inspected is None:
            return self._search_locally(problem, actions, exact)
        return exact.search(problem, actions, problem.inspected)

    def _search_locally(self, problem: Problem, actions: Actions, exact: ExactRecourse) -> Answers:
        region = problem.region
        search = LocalSearch(problem, actions, self.space_, self.scale_, self.samples)

        def propose(i: int, model: LinearScore, needs: Sequence[float]) -> Iterator[Item]:
            program = actions.program(i, model, 0.0)
            # a second item takes a program for each feature
            number = _PROPOSED if len(program.choices) <= _FEW else 1
            check = RuleCuts(region, i, program)
            for need in needs:
                until = problem.ledger.deadline
                found = FlipSet(replace(program, need=need), self.cost, check, until, _MOST_ROUNDS, proving=False)
                yield from islice(exact.items(found), number)
                program = found.program

        search.run(propose)
        rows, owners = search.pool.rows, search.pool.owners
        rows = sparse(rows, owners, actions.costs(rows, owners), problem)
        cost = actions.cost(rows, owners)
        rows, owners, cost = diverse(rows, owners, cost, region, problem.options)
        status = problem.statuses(owners, problem.spent(search.reserve + self.samples))
        return Answers(rows, owners, cost, status, {"cost": np.round(cost, 9)})
