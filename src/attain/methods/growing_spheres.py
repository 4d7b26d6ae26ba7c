"""Growing Spheres (Laugel et al. 2017): the nearest record, in any direction, that flips the decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.methods.base import Explainer, integer, number
from attain.results.status import Status
from attain.search.moves import Moves
from attain.search.pool import Pool, diverse
from attain.search.problem import Answers, Problem, sparse

_ROWS_AT_ONCE = 200_000
_SMALLEST_BALL = 1e-3
_SPARE_OPTIONS = 8
"""Hits kept for each option asked for: after taking back changes, several become the same."""


@dataclass(kw_only=True, eq=False, repr=False)
class GrowingSpheres(Explainer):
    """The nearest record that flips the decision, searched in growing shells round the row.

    Takes any classifier. First a ball is shrunk until nothing in it flips the decision, then shells grow outward from
    it until something does; last, every change that is not needed is taken back (smallest first). Numbers are measured
    in standard deviations; another level counts √2. Candidates are put on their grid and into their levels before the
    model is asked, so that rounding never undoes an answer. Of the training data it uses only the spread: answers may
    be unlike any real row.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, missing cells, derived
    columns, `max_changes`. Rules between features: by repair where that is easy, else by rejection.

    Departures from the publication: the last ball without an answer is remembered (the released code divides once
    more), shells are uniform in volume in any dimension, and shells widen with the radius (`growth`), so that the
    search ends.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    samples
        Records tried in each ball or shell.
    radius
        The radius of the first ball, in standard deviations.
    step
        The least width of a shell, in standard deviations.
    growth
        The width of a shell as a share of its radius, where that is larger than `step`. 0 gives the published shells.
    sparsity
        Whether changes that are not needed are taken back.
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
    T. Laugel, M.-J. Lesot, C. Marsala, X. Renard, M. Detyniecki: Inverse Classification for Comparison-based
    Interpretability in Machine Learning, arXiv:1712.08443, 2017.
    """

    citation = "laugel2017inverse"

    samples: int = integer(200, least=1)
    radius: float = number(1.0, above=0)
    step: float = number(0.1, above=0)
    growth: float = number(0.1, least=0)
    sparsity: bool = True

    def _batch_size(self, n: int, inspected: Any) -> int:
        return max(_ROWS_AT_ONCE // self.samples, 1)

    def search(self, problem: Problem) -> Answers:
        shells = _Shells(self, problem)
        radius = shells.shrink()
        status = shells.grow(radius)
        rows, owners, region = shells.pool.rows, shells.pool.owners, problem.region
        if self.sparsity:
            rows = sparse(rows, owners, shells.moves.sizes(rows, owners), problem)
        cost = shells.moves.distances(rows, owners)
        rows, owners, cost = diverse(rows, owners, cost, region, problem.options)
        return Answers(rows, owners, cost, status)


class _Shells:
    """The search of one batch: a ball round each row that shrinks, then shells that grow."""

    def __init__(self, settings: GrowingSpheres, problem: Problem) -> None:
        self.settings = settings
        self.problem = problem
        self.moves = Moves(problem.region, settings.population_.scale, problem.seed)
        keep = 1 if problem.options == 1 else _SPARE_OPTIONS * problem.options
        self.pool = Pool(len(problem), len(problem.region.schema), keep)
        # rows kept back for taking back changes, and for the last check
        wished = keep * (1 + (self.moves.dimensions if settings.sparsity else np.zeros(len(problem), dtype=np.intp)))
        self.reserve: np.ndarray = np.maximum(np.minimum(wished, problem.ledger.budget // 2), problem.options)

    def shrink(self) -> np.ndarray:
        """The radius of a ball round each row in which nothing was found, (n,)."""
        radius = np.full(len(self.problem), float(self.settings.radius))
        active = np.arange(len(self.problem))
        while active.size:
            active = active[self._try(active, np.zeros(len(active)), radius[active])]
            radius[active] /= 2
            active = active[radius[active] >= _SMALLEST_BALL * self.settings.radius]
        return radius

    def grow(self, inner: np.ndarray) -> list[Status]:
        """Shells outward, until something flips the decision, there is nowhere left to go, or the budget is spent."""
        status = np.full(len(self.problem), Status.FOUND, dtype=object)
        pool = self.pool
        wanted = 1 if self.problem.options == 1 else 2 * self.problem.options
        active = np.arange(len(self.problem))
        while active.size:
            spent = self.problem.out_of_budget(self.reserve)[active]
            beyond = inner[active] > self.moves.farthest[active]
            empty = pool.size[active] == 0
            status[active[empty & spent]] = Status.BUDGET_SPENT
            status[active[empty & beyond & ~spent]] = Status.OUT_OF_REACH
            # the next shell cannot have a nearer hit
            done = (pool.nearest[active] <= inner[active]) & (pool.size[active] >= wanted)
            active = active[~(spent | beyond | done)]
            outer = inner[active] + np.maximum(self.settings.step, self.settings.growth * inner[active])
            hit = self._try(active, inner[active], outer)
            inner[active] = outer
            active = active[~(hit & (pool.size[active] >= wanted))]
        return list(status)

    def _try(self, owners: np.ndarray, inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """Draws records from one shell for each owner; returns which owners have a hit."""
        rows, whose = self.moves.draw(owners, inner, outer, self.settings.samples)
        tried = self.problem.ask(rows, whose, reserve=self.reserve)
        rows, whose = tried.rows[tried.hits], whose[tried.hits]
        self.pool.add(rows, whose, self.moves.distances(rows, whose))
        return np.isin(owners, whose)
