"""Actionable Recourse (Ustun, Spangher, Liu 2019): the cheapest actions that flip a linear classifier's decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logit

from attain.core.arrays import first_of_each
from attain.core.errors import check_choice, check_integer
from attain.methods.base import Explainer, choice, integer
from attain.methods.recourse.actions import ActionGrid, Actions, PercentilePrices
from attain.methods.recourse.program import FlipSet, Item, RecourseCost, cheap_choice
from attain.methods.recourse.rule_cuts import RuleCuts, row_of
from attain.models.encoding import Encoding
from attain.models.goal import StructureError
from attain.models.scores import LinearScore, decision_scores, linear_score
from attain.population.population import DecidedPopulation, Population
from attain.population.space import MeasuringSpace
from attain.results.status import Status
from attain.search.moves import Moves
from attain.search.pool import Pool, diverse
from attain.search.problem import Answers, Problem, sparse

_ROWS_AT_ONCE: Final = 1_000
_NUDGES: Final = (1e-10, 1e-7, 1e-4)
"""How much more than needed an item must gain, relative to the score; rounding errors are below the first of these."""
_PROPOSED: Final = 2
"""Choices by a local model that are asked of the real one, for each gain."""
_RADII: Final = (1.0, 3.0)
"""Half of the records are drawn from each of these balls, in standard deviations."""
_ROUNDS: Final = 4
_OVERSHOOTS: Final = (1.0, 1.5, 2.5, 4.0)
"""A local model is less accurate farther out: items are also proposed that gain more than it says is needed."""
_RIDGE: Final = 1e-3
_WIDTH: Final = 0.75
"""The kernel's width, as a share of the root of the dimension."""
_EDGE: Final = 1e-4
_LEAST_WEIGHT: Final = 1e-12


@dataclass(kw_only=True, eq=False, repr=False)
class ActionableRecourse(Explainer):
    """The cheapest change of features that flips a linear classifier's decision, proven to be the cheapest.

    Each free feature has actions: the values it may take, with a cost in percentiles of the training rows and a gain
    in score. One action per feature is chosen so that the gain is enough and the cost least. Takes every classifier:

    - linear ones with two classes are recognised inside scikit-learn pipelines (`models.scores`), and their
      answers are exact optima over the grid. The figure `proven` is 1 for these; it is 0 where the solver reached a
      limit (10,000 nodes, 200 programs, an even share of the call's time), or where a column is computed from features
      with more than 60,000 joint actions, so that a cheaper answer may exist. Where no allowed change can flip the
      decision, the status is `NO_RECOURSE`. That is certain for every value that the schema, the constraints and the
      range of the training data allow, on the grid or not; where it cannot be shown, the status is `OUT_OF_REACH`.
    - for any other a local linear model is fitted round each row (`LocalSearch`), cheap choices by it are verified on
      the real classifier, and the figure `proven` is missing.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, special codes and missing
    cells (states with actions of their own), `max_changes`, and derived columns, which give the features that they are
    computed from joint actions. Rules between features and laws are added where an optimum breaks them, and the program
    is solved again: a linear one as it is, any other by the actions that break it together. So the answer is the
    cheapest of all that keep them. With a local model, rules are kept by repair where that is easy, else by rejection.

    Several options change different sets of features each.

    Departures from the publication: percentiles by the empirical distribution, by which TS and MS are reported, instead
    of a kernel estimate; values within the range of the training data instead of their 1st to 99th percentile; a
    changed level counts like one feature and costs 1, and the local cost keeps 1 − Q at 1 / 2n or more so that it stays
    finite.

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
    grid
        `observed`: each number may become what it is in some training row. `exact`: also the last value before the next
        such one, which makes the least total (or maximum) the least TS (or MS) of all allowed records, a bound for
        every other method. An integer: this many equal steps over the range of the training data. The first
        and last value that the row may reach are always among them.
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
    grid: Literal["observed", "exact"] | int = "observed"
    samples: int = integer(400, least=2)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.grid, str):
            check_choice("grid", self.grid, ("observed", "exact"))
        else:
            check_integer("grid", self.grid, 1)

    def prepare(self, population: Population) -> None:
        values = population.values
        self.grid_ = ActionGrid(population.schema, values, self.grid)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _ROWS_AT_ONCE

    def inspect(self, decided: DecidedPopulation) -> LinearScore | None:
        """The model as a linear score; None where it is not linear."""
        try:
            return linear_score(decided.goal, decided.population.values)
        except StructureError:
            return None

    def search(self, problem: Problem) -> Answers:
        prices = PercentilePrices(self.population_.percentiles, self.cost, len(self.population_.values))
        actions = Actions(problem.region, self.grid_, prices, largest=self.cost == "max")
        if problem.inspected is None:
            return LocalSearch(self, problem, actions).answers()
        return exact_recourse(problem, actions, problem.inspected)


def exact_recourse(
    problem: Problem,
    actions: Actions,
    score: LinearScore,
    listed: Callable[[FlipSet], Iterator[Item]] = FlipSet.items,
) -> Answers:
    """The flip set of every row for a linear score, each of the items `listed` asked of the model itself.

    An item refused because of rounding is asked for again with a little more gain. Nobody takes more than an even share
    of the time that is left.
    """
    deadline, before = problem.ledger.deadline, _factual_scores(problem, score)
    status = [Status.OUT_OF_REACH] * len(problem)
    kept: list[Item] = []
    rows, owners = np.empty((0, len(problem.region.schema))), np.empty(0, dtype=np.intp)
    waiting = np.arange(len(problem))
    twice = problem.price + problem.goal.last_questions
    for nudge in _NUDGES:
        proposed: list[tuple[int, Item, np.ndarray]] = []
        for place, i in enumerate(waiting.tolist()):
            if deadline.passed:
                break
            # every item is asked about now, and again in the last check
            affordable = min(problem.options, int(problem.ledger.left[i]) // twice)
            if affordable < 1:
                status[i] = Status.BUDGET_SPENT
                continue
            need = score.threshold - before[i] + nudge * max(1.0, abs(before[i]), abs(score.threshold))
            program = actions.program(i, score, float(need))
            cuts = RuleCuts(problem.region, i, program, score)
            cost: RecourseCost = "max" if actions.largest else "total"
            flip_set = FlipSet(program, cost, cuts, deadline.share(len(waiting) - place))
            found = list(islice(listed(flip_set), affordable))
            proposed += [(i, item, cuts.row(item.actions)) for item in found]
            if not found and nudge == _NUDGES[0] and flip_set.proves_no_recourse():
                status[i] = Status.NO_RECOURSE
        new = np.array([i for i, *_ in proposed], dtype=np.intp)
        candidates = np.concatenate([rows[:0], *(row for *_, row in proposed)])
        accepted = problem.accepts(candidates, new)
        kept += [item for (_, item, _), good in zip(proposed, accepted, strict=True) if good]
        rows, owners = np.concatenate((rows, candidates[accepted])), np.concatenate((owners, new[accepted]))
        for i in new[accepted]:
            status[i] = Status.FOUND
        waiting = np.array([i for i in np.unique(new[~accepted]) if status[i] is not Status.FOUND], dtype=np.intp)
    proven = np.array([item.proven for item in kept], dtype=np.float64)
    figures = {"cost": np.round(actions.cost(rows, owners), 9), "proven": proven}
    return Answers(rows, owners, np.array([item.cost for item in kept]), status, figures)


def _factual_scores(problem: Problem, score: LinearScore) -> np.ndarray:
    """The score of each row, (n,); the model is asked where a cell is missing that never is in the training data."""
    own = score.score(problem.region.start)
    unknown = np.flatnonzero(np.isnan(own))
    if unknown.size:
        problem.ledger.charge(unknown)
        own[unknown] = decision_scores(problem.goal, problem.region.start[unknown])
    return own


class LocalSearch:
    """The search by a linear model of any classifier in the neighbourhood of each row.

    Records are drawn round the row and scored. A weighted ridge regression in the measuring space, through the row's
    own score, says which cells help. Cheap choices by that model are proposals: each is asked of the real classifier,
    and what it answers goes into the next round's regression.
    """

    def __init__(self, settings: ActionableRecourse, problem: Problem, actions: Actions) -> None:
        self._settings, self._problem, self._actions = settings, problem, actions
        self._space = settings.population_.space
        self._moves = Moves(problem.region, settings.population_.scale, problem.seed)
        keep = 4 * problem.options
        self._pool = Pool(len(problem), len(problem.region.schema), keep)
        self._rows, self._owners = np.empty((0, len(problem.region.schema))), np.empty(0, dtype=np.intp)
        self._score = np.empty(0)
        # rows kept back for taking back changes, and for the last check
        self._reserve = keep * (1 + self._moves.dimensions)

    def answers(self) -> Answers:
        problem, actions = self._problem, self._actions
        self._run()
        rows, owners = self._pool.rows, self._pool.owners
        rows = sparse(rows, owners, actions.costs(rows, owners), problem)
        rows, owners, cost = diverse(rows, owners, actions.cost(rows, owners), problem.region, problem.options)
        status = problem.statuses(owners, problem.out_of_budget(self._reserve + self._settings.samples))
        return Answers(rows, owners, cost, status, {"cost": np.round(cost, 9)})

    def _run(self) -> None:
        """Draws, then proposes and asks in rounds, while the budget lasts."""
        waiting = np.arange(len(self._problem))
        own = waiting[self._problem.affordable(waiting, self._reserve)]
        self._remember(self._problem.region.start[own], own, self._problem.score(self._problem.region.start[own], own))
        for radius in _RADII:
            inner, outer = np.zeros(len(waiting)), np.full(len(waiting), radius)
            self._ask(*self._moves.draw(waiting, inner, outer, self._settings.samples // len(_RADII)))
        for _ in range(_ROUNDS):
            scored, before = self._transformed(), self._pool.nearest.copy()
            proposals = [(row, i) for i in waiting.tolist() for row in self._proposals(i, *scored)]
            if not proposals:
                return
            self._ask(np.concatenate([row for row, _ in proposals]), np.array([i for _, i in proposals]))
            # an answer that another round did not improve is final
            nearest = self._pool.nearest[waiting]
            waiting = waiting[np.isinf(nearest) | (nearest < before[waiting])]

    def _ask(self, rows: np.ndarray, owners: np.ndarray) -> None:
        """Asks about rows that are new, allowed and affordable, and remembers the answers."""
        tried = self._problem.ask(
            rows, owners, reserve=self._reserve, where=lambda rows: self._unseen(rows, owners), distinct=owners
        )
        self._remember(tried.rows[tried.asked], owners[tried.asked], tried.score)
        rows, owners = tried.rows[tried.hits], owners[tried.hits]
        self._pool.add(rows, owners, self._actions.cost(rows, owners))

    def _remember(self, rows: np.ndarray, owners: np.ndarray, score: np.ndarray) -> None:
        self._rows = np.concatenate((self._rows, rows))
        self._owners = np.concatenate((self._owners, owners))
        self._score = np.concatenate((self._score, score))

    def _unseen(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows were not asked about before."""
        known = len(self._rows)
        first = first_of_each(np.concatenate((self._rows, rows)), np.concatenate((self._owners, owners)))
        return np.isin(np.arange(len(rows)) + known, first)

    def _transformed(self) -> tuple[csr_array, np.ndarray, float]:
        """All scored rows as points, their scores (log-odds where these are bounded), and the score that is needed."""
        goal, score = self._problem.goal, self._score
        wanted = goal.margin if goal.probability is None else min(goal.probability + goal.margin, 1.0)
        low = -1.0 if goal.probability is None else 0.0
        if np.isin(score, (0.0, 1.0)).all() and goal.probability is None:
            low, wanted = 0.0, 0.5  # a model that gives labels only
        if (score >= low).all() and (score <= 1.0).all():
            chances = np.clip((np.append(score, wanted) - low) / (1.0 - low), _EDGE, 1 - _EDGE)
            score, wanted = logit(chances[:-1]), float(logit(chances[-1]))
        return self._space.sparse(self._rows), score, wanted

    def _proposals(self, i: int, points: csr_array, score: np.ndarray, wanted: float) -> Iterator[np.ndarray]:
        """For each gain, a cheap choice by row i's local model, and one without its dearest change; rows (1, d)."""
        mine = np.flatnonzero(self._owners == i)
        if len(mine) < 2:
            return
        own = mine[0]  # the row itself was asked first
        moves = points[mine] - csr_array(np.ones((len(mine), 1))) @ points[[own]]
        model = _linear(self._space, _slopes(moves, score[mine] - score[own]))
        lacking = max(wanted - float(score[own]), _EDGE)
        program = self._actions.program(i, model, 0.0)
        for overshoot in _OVERSHOOTS:
            needed = replace(program, need=overshoot * lacking)
            for _ in range(_PROPOSED):
                chosen = cheap_choice(needed)
                if chosen is None:
                    break
                yield row_of(self._problem.region, i, program.choices, chosen)
                dearest = int(np.argmax([group.cost[a] for group, a in needed.pairs(chosen)]))
                keeps = [np.arange(1 if g == dearest else size) for g, size in enumerate(needed.sizes)]
                needed = needed.where(keeps)


def _linear(space: MeasuringSpace, slopes: np.ndarray) -> LinearScore:
    """Σ_k slopes[k] · z_k as a sum over cells. A missing cell of a column that has none counts like its mean."""
    d, schema, n = len(space.schema), space.schema, len(space.scaled)
    unit, offset = np.zeros(d), np.zeros(d)
    unit[space.scaled] = slopes[:n] / space.scale
    offset[space.scaled] = unit[space.scaled] * space.mean  # what a column adds less at 0 than at its mean
    ends = np.searchsorted(space.indicated, np.arange(d + 1)) + n
    states = []
    for j, feature in enumerate(schema):
        terms = slopes[ends[j] : ends[j + 1]] + offset[j]
        levels = np.arange(len(feature.levels)) * unit[j] if feature.ordered else terms[: len(feature.levels)]
        codes = terms[0 if feature.ordered else len(feature.levels) :]
        missing = [] if len(codes) > len(feature.special) else [offset[j]]
        states.append(np.array([*levels, *codes, *missing])[:, None])
    numeric = np.array([feature.numeric for feature in schema])
    slope = np.where(numeric, unit, 0.0)[:, None]
    constant = np.array([-offset.sum()])
    encoding = Encoding(schema, constant, slope, tuple(states), (slice(None),) * d, unseen=0.0)
    return LinearScore(encoding, threshold=0.0)


def _slopes(points: csr_array, score: np.ndarray) -> np.ndarray:
    """The ridge regression through the origin, (p,): (XᵀWX + ρI)⁻¹ XᵀWy with W = exp(−‖x‖² / 2w²).

    With more coordinates than points it is solved in the points: Xᵀ (XXᵀ + ρW⁻¹)⁻¹ y.
    """
    width = _WIDTH * np.sqrt(points.shape[1])
    weight = np.exp(-points.power(2).sum(axis=1) / (2 * width**2))
    if points.shape[1] > points.shape[0]:
        kernel = (points @ points.T).toarray() + np.diag(_RIDGE * weight.sum() / np.maximum(weight, _LEAST_WEIGHT))
        return np.asarray(points.T @ np.linalg.solve(kernel, score))
    dense = points.toarray()
    weighted = dense * weight[:, None]
    normal = dense.T @ weighted + _RIDGE * weight.sum() * np.eye(dense.shape[1])
    return np.linalg.solve(normal, weighted.T @ score)
