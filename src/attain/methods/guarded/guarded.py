"""The guarded search: the easiest answer among those that real rows of the desired class could have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from attain.core.checks import TIMEOUT
from attain.core.errors import AttainError
from attain.core.frames import Frame
from attain.methods.base import Explainer, choice, integer, number
from attain.methods.guarded.guard_context import (
    Calibration,
    GuardContext,
    held_out,
)
from attain.methods.guarded.purposes import with_purposes
from attain.methods.guarded.search import LESS_TYPICAL, GuardedSearch, GuardedSettings, ShiftCosts, engine_crowds
from attain.methods.recourse.actionable_recourse import exact_recourse
from attain.methods.recourse.actions import ActionGrid, Actions
from attain.methods.search.problem import Answers, Problem
from attain.methods.session import Call
from attain.models import Goal
from attain.models.goal import StructureError
from attain.models.scores import LinearScore, linear_score
from attain.population.percentiles import Percentiles
from attain.population.population import DecidedPopulation, Population
from attain.population.typical import Setting
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Typicality
from attain.schema import Constraints, Schema
from attain.tables import Errors, Region


class Easiest:
    """Exact recourse for linear models: the least total shift there is, on the observed grid, faithful or not.

    The guarded search shares `recourse` with `ActionableRecourse`; no other method uses a part of another one.
    """

    def __init__(self, schema: Schema, values: np.ndarray, percentiles: Percentiles, most_values: int) -> None:
        self._values, self._percentiles = values, percentiles
        self._grid = ActionGrid(schema, values, "observed")
        self._grid.points = [_thinned(points, most_values) for points in self._grid.points]

    def score(self, goal: Goal) -> LinearScore | None:
        """The score of a linear model; None for other models."""
        try:
            return linear_score(goal, self._values)
        except StructureError:
            return None

    def search(self, problem: Problem, score: LinearScore) -> Answers:
        """The easiest record of each row, with its total shift as the figure `cost`.

        Laws take no part: it is the price of keeping them, too, that is read from it.
        """
        region = problem.region.without_laws()
        actions = Actions(region, self._grid, self._percentiles, "total")
        return exact_recourse(replace(problem, region=region, options=1), actions, score)


def _thinned(points: np.ndarray, most: int) -> np.ndarray:
    """The points, or `most` of them at even ranks, including the first and the last."""
    if len(points) <= most:
        return points
    return points[np.unique(np.linspace(0, len(points) - 1, most).astype(np.intp))]


Refit: TypeAlias = Callable[[Any, Any, int], Any]
"""From a frame, its labels and a seed to a fitted model."""


def other_goals(
    robust: Sequence[Any] | Refit,
    goal_of: Callable[[Any], Goal],
    frame_of: Callable[[np.ndarray], Frame],
    labels: np.ndarray | None,
    seed: int,
    refits: int,
) -> list[Goal]:
    """The goals of the given models, or of models that a function fits on training rows drawn with replacement."""
    if not callable(robust):
        models = list(robust) if isinstance(robust, Sequence) and not isinstance(robust, str) else []
        if not models:
            found = repr(robust) if isinstance(robust, str | Sequence) else f"a {type(robust).__name__}"
            raise AttainError(
                f"robust must be a list of models, or a function of (X, y, seed) that fits one, got {found}"
            )
        return [goal_of(model) for model in models]
    if labels is None:
        raise AttainError("robust is a function that fits models, but fit had no labels; fit with y, or pass models")
    random = np.random.default_rng(seed)
    goals = []
    for _ in range(refits):
        drawn = random.integers(len(labels), size=len(labels))
        goals.append(goal_of(robust(frame_of(drawn), labels[drawn].tolist(), int(random.integers(2**31 - 1)))))
    return goals


_BATCH = 256
"""The people of a batch."""
_REFITS = 5
"""Models fitted on rows drawn with replacement, where `robust` is a function."""


@dataclass(kw_only=True, eq=False, repr=False)
class Guarded(Explainer):
    """The easiest change that flips the decision, among records that real rows of the desired class could have.

    A guard is fitted on real rows of the desired class: a record passes if it is no more unusual than they are, by
    local outlier factors and distance, and its columns go together as theirs do; each is calibrated so that a new real
    row is refused with a known probability. The search starts near real rows and by following the model's score, and
    then makes answers as easy as they can be while they flip the decision and pass the guard. Where no answer passes,
    the guard is relaxed step by step, and the answer's level says so.

    Takes any classifier. Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions,
    missing cells, derived columns, clocks, paces, `max_changes`, `max_months`. Rules between features: by repair where
    that is easy, else by rejection.

    Parameters
    ----------
    schema
        What the columns are; inferred from the training data where it is None.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    guard
        `"connected"`: answers are not outliers among real rows, and close to one of them. `"typical"`: not outliers.
    rate
        The share of *real* rows of the desired class that the guard may refuse, and of all real rows that relations
        between columns may. None takes 0.18 for `connected` and
        0.1 for `typical`.
    max_shift_weight, change_weight
        An answer's cost is its total shift, plus `max_shift_weight` times its largest shift, plus `change_weight` for
        each changed feature; shifts are in percentiles (1 is the whole range), weighted by the costs of the schema.
        In the cost, unlike in the figures, rows at a value count half: leaving a value that 90 % have costs 0.45.
    month_weight
        What each month that an answer takes adds to its cost, where the schema has clocks or paces; the shifts of
        clocks then do not count. None counts them like all others, and months cost nothing more.
    effort
        How many times as many candidates go through the local search: answers become a little easier, options more,
        and both take longer to find.
    easiest
        For linear models, whether the exact easiest answer is found too, faithful or not, on the grid of observed
        values (of columns with more than 1,024, those at even ranks): its total shift stands beside each answer as
        `easiest_shift`, so that the price of faithfulness can be read. It is one of the starts, too. It takes longer
        than the rest of the search.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed of training and search; None draws one in `fit`. Each row has random numbers of its own.

    References
    ----------
    The measures are those of M. Pawelczyk, K. Broelemann, G. Kasneci: Learning Model-Agnostic
    Counterfactual Explanations for Tabular Data, The Web Conference 2020; the search is this package's own.
    """

    needs_rows = True
    citation = "pawelczyk2020learning"
    own_figures = ("typicality", "typicality_p")
    _settings: ClassVar[GuardedSettings] = GuardedSettings()

    guard: Setting = choice("connected", Setting)
    rate: float | None = number(None, above=0, below=1)
    max_shift_weight: float = number(0.5, least=0)
    change_weight: float = number(0.02, least=0)
    month_weight: float | None = number(None, least=0)
    effort: int = integer(1, least=1)
    easiest: bool = False
    budget: int = integer(50_000, least=2)

    def fit(self, X: Frame, y: Any = None, *, calibration: Any = None) -> Self:
        """Learns from rows like those to be explained; their true labels `y` let answers be compared with real rows.

        Parameters
        ----------
        X, y
            The training rows and their labels.
        calibration
            Rows that the classifier never saw, as a frame, or as a frame and their labels, `(X, y)`. Without it a
            fifth of `X` is held out from the guard for calibration.
        """
        self._fit_population(X, y)
        known = self.population_
        self.calibration_: Calibration | None = None
        if calibration is not None:
            self.calibration_ = Calibration.read(calibration, known.schema, known.labels)
        self.held_out_seed_ = self._seed
        self.prepare(known)
        return self

    def prepare(self, population: Population) -> None:
        most = self._settings.easiest_values
        self._recourse = Easiest(population.schema, population.values, population.percentiles, most)
        population.relations  # noqa: B018 (learned here, so that no answer waits for it)
        values, labels = population.values, population.labels
        self._calibration = self.calibration_ or held_out(values, labels, self.held_out_seed_, self._settings)

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts, arrays = ({}, {}) if self.calibration_ is None else self.calibration_.state()
        return {"held_out_seed": self.held_out_seed_, **facts}, arrays

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.calibration_ = None
        if "calibration" in arrays:
            self.calibration_ = Calibration.restore(facts, arrays, self.population_)
        self.held_out_seed_ = int(facts["held_out_seed"])
        self.prepare(self.population_)

    def explain(
        self,
        model: Any,
        X: Frame,
        *,
        target: Any,
        probability: float | None = None,
        n: int = 1,
        constraints: Constraints | Mapping[str, Any] | None = None,
        errors: Errors = "status",
        ranges: bool = False,
        importance: bool = False,
        contributions: bool = False,
        timeout: float | None = TIMEOUT,
        allow_unreviewed: bool = False,
        robust: Sequence[Any] | Refit | None = None,
    ) -> Counterfactuals:
        """For each row of `X`, the change that makes `model` decide for `target`.

        All parameters but `robust` are those of every method: see
        [`Explainer.explain`][attain.methods.Explainer.explain].

        Parameters
        ----------
        robust
            Asks for answers that other models accept, too: a list of fitted models, or a function of (X, y, seed) that
            fits one, which is called for rows drawn again from the training data. The figure `holds_under` is the
            share of these models under which an answer is valid; a row without an answer valid under all of them gets
            one that is valid under `model`.
        """
        request = self._request(model, target, probability, errors)
        others: list[Goal] = []
        if robust is not None:
            table = self.population_.table
            others = other_goals(
                robust,
                lambda other: self._goal(other, target, probability, tolerant=errors == "status"),
                lambda drawn: table.layout.frame(table.values[drawn]),
                self.population_.labels,
                self._seed,
                _REFITS,
            )
        call = Call(n, constraints, ranges, importance, contributions, timeout, allow_unreviewed, others)
        return self._sessions.explain(request, X, call)

    def inspect(self, decided: DecidedPopulation) -> GuardContext:
        """The guard for this model and target, and the score of a linear model."""
        decided.judged()  # asks the model here, few frames below `explain`
        found = GuardContext.of(decided, self.guard, self._calibration, self._settings)
        linear = self._recourse.score(decided.goal) if self.easiest else None
        return replace(found, linear=linear, crowds=engine_crowds(found.guard))

    def _typicality(self, inspected: GuardContext, rows: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
        return self._measured(inspected, rows, own)["typicality"]

    def _measured(self, inspected: GuardContext, rows: np.ndarray, own: np.ndarray | None) -> dict[str, np.ndarray]:
        if not inspected.known or not len(rows):
            outside, unknown = np.full(len(rows), float(Typicality.OUTSIDE)), np.full(len(rows), np.nan)
            return {"typicality": outside, "typicality_p": unknown}
        p_value = inspected.guard.p_value(inspected.guard.score(rows))
        least = np.minimum(p_value, self.population_.relations.p_value(rows, own))
        level = np.sum([least <= rate for rate in self._rates], axis=0).astype(np.float64)
        return {"typicality": level, "typicality_p": np.round(p_value, 6)}

    def _notes(self, inspected: GuardContext) -> tuple[str, ...]:
        return inspected.notes

    def _batch_size(self, n: int, inspected: GuardContext) -> int:
        return _BATCH

    @property
    def _rates(self) -> tuple[float, float]:
        """The shares of real rows that the guard refuses: of typical answers, and of unusual ones."""
        rate = self._settings.rates[self.guard] if self.rate is None else float(self.rate)
        return rate, rate / self._settings.unusual

    @property
    def _costs(self) -> ShiftCosts:
        return ShiftCosts(self.population_.percentiles, self.max_shift_weight, self.change_weight)

    @property
    def _months_cost(self) -> bool:
        return self.month_weight is not None

    def _price(self, problem: Problem, answers: Answers) -> np.ndarray:
        rows, owners, region = answers.rows, answers.owners, self._weighted(problem.region)
        cost = self._costs.of(rows, owners, region) + (self.month_weight or 0.0) * region.months(rows, owners)
        return np.asarray(cost + LESS_TYPICAL * answers.figures["typicality"])

    def _weighted(self, region: Region) -> Region:
        """The region with the costs of changes: where months have a weight, clocks cost nothing by themselves."""
        if self.month_weight is None or not region.schema.clocks:
            return region
        cost = region.cost.copy()
        cost[:, list(region.schema.clocks)] = 0.0
        return replace(region, cost=cost)

    def _guarded_search(self, found: GuardContext) -> GuardedSearch:
        assert found.crowds is not None
        return GuardedSearch(
            found.guard,
            self.population_.relations,
            found.crowds,
            self._rates,
            self._costs,
            self.population_.scale,
            self.effort,
            self._settings,
        )

    def _choose(self, problem: Problem, found: Answers) -> Answers:
        if problem.options == 1:
            return found
        problem = replace(problem, region=self._weighted(problem.region))
        measured = partial(self._measured, problem.inspected)
        return with_purposes(self._guarded_search(problem.inspected), problem, found, measured)

    def search(self, problem: Problem) -> Answers:
        found: GuardContext = problem.inspected
        problem = replace(problem, region=self._weighted(problem.region))
        easiest = None if found.linear is None else self._recourse.search(problem, found.linear)
        answers = self._guarded_search(found).answers(problem, easiest)
        if found.known:
            return answers
        unknown = {"typicality": float(Typicality.OUTSIDE), "typicality_p": np.nan}
        figures = {name: np.full(len(answers.rows), value) for name, value in unknown.items()}
        return replace(answers, figures={**answers.figures, **figures})
