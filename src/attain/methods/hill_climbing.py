"""Hill climbing with local search (Lash et al. 2017): inverse classification that needs nothing but scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attain.methods.base import Explainer, number
from attain.population.population import Population
from attain.schema import Direction
from attain.search.climb import Climb
from attain.search.moves import Costs, check_directions, units
from attain.search.problem import Answers, Problem

_ROWS_AT_ONCE = 200_000


@dataclass(kw_only=True, eq=False, repr=False)
class HillClimbingLocalSearch(Explainer):
    """The change that lowers the risk most within a budget of costs, or a cheap one that flips the decision.

    Takes any classifier; it only asks for scores. A change costs its share of the feature's range in the training data,
    times the feature's `cost`; another level, special code or filled cell counts a whole range.

    It climbs from the row itself, cell by cell: each turn tries every cell at several distances up and down and in
    every other state, and takes the move that gains most score per cost. Random training rows' free cells are further
    starts. A local search then improves what flipped the decision: changes are taken back wholly or in part, or
    exchanged for cheaper ones, while the decision stays flipped. With a number as `cost_budget` it climbs to the best
    score within that budget, as published, which need not flip the decision.

    With a model that gives labels only, or a score that is constant round the row, there is nothing to climb: then
    answers come from the random starts and the local search alone, and some that exist may be missed.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, missing cells, derived
    columns. Rules between features: by repair where that is easy, else by rejection; `max_changes`:
    by rejection of moves and starts that change more.

    The publication describes the method in outline; the neighbourhood, the starts and the rule of gain for cost are
    this package's own, and its answers need not equal those of the authors' program. Directions come from the schema;
    where it has none, both are tried and have a cost.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    cost_budget
        The most a change may cost; None looks for a cheap one that flips the decision. Unrelated to `budget`.
    directions
        For each feature named, the direction that has a cost; the other is free where the schema allows it.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed. Each row has its own stream of random numbers, so that batch and order do not matter.

    References
    ----------
    M. T. Lash, Q. Lin, W. N. Street, J. G. Robinson, J. Ohlmann: Generalized Inverse Classification, SIAM International
    Conference on Data Mining, 2017.
    """

    needs_rows = True

    citation = "lash2017generalized"
    own_figures = ("cost",)

    cost_budget: float | None = number(None, above=0)
    directions: Mapping[str, Direction] | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_directions(self.directions)

    def prepare(self, population: Population) -> None:
        check_directions(self.directions, population.schema)
        self.unit_ = units(population.schema, population.observed)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return max(_ROWS_AT_ONCE // (16 * len(self.population_.schema)), 1)

    def search(self, problem: Problem) -> Answers:
        costs = Costs(problem.region, self.unit_, directions=self.directions)
        climb = Climb(problem, costs, self.population_.scale.pools, self.population_.values, limit=self.cost_budget)
        return climb.answers("cost")
