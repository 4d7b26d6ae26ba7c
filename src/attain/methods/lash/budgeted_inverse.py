"""Budget-constrained inverse classification (Lash et al. 2017): the least risk that a budget of costs can buy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.core.checks import check_number
from attain.core.errors import AttainError, ModelError
from attain.methods.base import Explainer
from attain.methods.context import ModelContext
from attain.methods.lash.budget_search import BudgetSearch
from attain.methods.lash.indirect import IndirectFeatures
from attain.methods.parameters import integer, number
from attain.methods.search.costs import check_directions, units
from attain.methods.search.moves import Scale
from attain.methods.search.problem import Answers, Problem
from attain.models import GoalLike
from attain.models.structure.smooth import Smooth, smooth_score
from attain.schema import Direction

_ROWS_AT_ONCE = 1_000


@dataclass(kw_only=True, eq=False, repr=False)
class BudgetedInverseClassification(Explainer):
    """The change that lowers the risk most within a budget of costs, or the least budget that flips the decision.

    Takes classifiers whose score has a known slope: support vector machines with a Gaussian or linear kernel, logistic
    regression and other linear models, alone or in scikit-learn pipelines whose steps scale, fill in or encode single
    columns; torch modules and JAX functions too. `HillClimbingLocalSearch` takes any other.

    Moves are measured as shares of each feature's range in the training data and cost that share times the feature's
    `cost`. A projected gradient method finds the moves of least risk within a budget. With a number as `cost_budget`
    that is done once, as published, which need not flip the decision; without, the least budget that flips it is found
    by bisection. Features named in `indirect` are not moved: they follow the others by kernel regression over the
    training rows, at no cost. The method starts at the row itself; where a score that is not linear has other local
    optima, it starts once more at the values of the best of 64 training rows.

    Ordered levels are relaxed to their positions. Levels without an order, special codes and missing cells stay fixed
    in the gradient method; only where that does not flip the decision, the switches that raise the score are made
    first, the most gain per cost first, each at the cost of a whole range.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, missing cells, derived
    columns. `max_changes`: by keeping the moves that matter most and solving again, else by rejection. Rules between
    features: by repair where that is easy, else by rejection.

    Departures from the publication and its released code: directions come from the schema, and where it has none
    both are tried and have a cost (the published second setting, in which one is free, is `directions`); the projection
    is exact; indirect features are estimated at the current moves, not at those one step before; an indirect feature
    moves by as much as its estimate (`keep_residual`), so that no move changes nothing; the best move on the way is
    kept, not the last; answers are on their grid, and within `cost_budget` there too.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    cost_budget
        The most a change may cost; None looks for the least that flips the decision. Unrelated to `budget`.
    indirect
        Names of ordered features that follow the others.
    widths
        The kernel's width σ for indirect features, as a share of the range: one number, or one per feature. None
        chooses it by leave-one-out cross-validation.
    keep_residual
        Whether an indirect feature keeps its distance from its estimate. False puts the estimate itself in its place,
        as published, also where nothing else changes.
    directions
        For each feature named, the direction that has a cost; the other is free where the schema allows it.
    iterations, tolerance
        The most steps of the gradient method, and the relative change of the risk at which it ends.
    bisections
        How often the range of budgets is halved.
    budget
        The most rows the model is asked about for each row explained. The gradient method itself does not ask it.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed; it only chooses the training rows an indirect feature is estimated from, where there are many.

    References
    ----------
    M. T. Lash, Q. Lin, W. N. Street, J. G. Robinson: A Budget-Constrained Inverse Classification Framework for Smooth
    Classifiers, ICDM Workshops, 2017.
    """

    needs_rows = True

    citation = "lash2017budget"
    own_figures = ("cost",)

    cost_budget: float | None = number(None, above=0)
    indirect: Sequence[str] = ()
    widths: float | Mapping[str, float] | None = None
    keep_residual: bool = True
    directions: Mapping[str, Direction] | None = None
    iterations: int = integer(50, least=1)
    tolerance: float = number(1e-4, least=0)
    bisections: int = integer(8, least=0)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.indirect, str):
            raise AttainError(
                f"indirect must be a sequence of column names such as ({self.indirect!r},), got {self.indirect!r}"
            )
        widths = self.widths.values() if isinstance(self.widths, Mapping) else [self.widths]
        for width in widths:
            if width is not None:
                check_number("widths", width, above=0)
        check_directions(self.directions)

    def _prepare(self) -> None:
        check_directions(self.directions, self.schema_)
        self.unit_ = units(self.schema_, self.observed_)
        self.scale_ = Scale(self.schema_, self.table_.values)
        columns = np.array([self._indirect_column(name) for name in self.indirect], dtype=np.intp)
        self.indirect_: IndirectFeatures | None = None
        if len(columns):
            widths = self.widths or {}
            if not isinstance(widths, Mapping):
                widths = dict.fromkeys(self.indirect, widths)
            values = self.table_.values
            self.indirect_ = IndirectFeatures.fit(self.space_, values, self.unit_, columns, widths, self._seed)

    def _indirect_column(self, name: str) -> int:
        feature = self.schema_[name]
        if not feature.ordered or not feature.searched:
            what = "has levels without an order" if not feature.ordered else "is immutable or derived"
            raise AttainError(f"indirect names {name!r}, which {what}; it takes ordered features that may change")
        column = self.schema_.position(name)
        if not len(self.scale_.pools[column]):
            raise AttainError(f"indirect names {name!r}, which has no ordinary value in the training data")
        return column

    def _inspect(self, goal: GoalLike, context: ModelContext) -> Smooth:
        try:
            return smooth_score(goal, self.schema_, self.table_.values)
        except ModelError as error:
            raise ModelError(
                f"BudgetedInverseClassification follows the slope of the model's score, and {error}. "
                "HillClimbingLocalSearch solves the same problem for any classifier"
            ) from error

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _ROWS_AT_ONCE

    def _search(self, problem: Problem) -> Answers:
        return BudgetSearch(self, problem).answers()
