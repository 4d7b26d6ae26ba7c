"""The guarded search: the easiest answer among those that real rows of the desired class could have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from attain.answers.session import Call
from attain.core.errors import TIMEOUT, AttainError
from attain.core.frames import Frame
from attain.methods.base import Explainer, choice, integer, number
from attain.methods.guarded.guard_context import (
    Calibration,
    GuardContext,
    held_out,
)
from attain.methods.guarded.purposes import with_purposes
from attain.methods.guarded.search import GuardedSearch, ShiftCosts, engine_crowds
from attain.methods.guarded.settings import GuardedSettings
from attain.models import Goal
from attain.population.guard import Setting
from attain.population.population import DecidedPopulation, Population
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Constraints
from attain.search.horizons import over_horizons
from attain.search.problem import Answers, Problem
from attain.tables import Errors

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
    compares_times = True
    citation = "pawelczyk2020learning"
    own_figures = ("typicality", "typicality_p")
    _settings: ClassVar[GuardedSettings] = GuardedSettings()

    guard: Setting = choice("connected", Setting)
    rate: float | None = number(None, above=0, below=1)
    max_shift_weight: float = number(0.5, least=0)
    change_weight: float = number(0.02, least=0)
    month_weight: float | None = number(None, least=0)
    effort: int = integer(1, least=1)
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
        session, people = self._sessions.people(request, X, call.timeout)
        return session.answer(people, call)

    def inspect(self, decided: DecidedPopulation) -> GuardedSearch:
        """The search with the guard of this model and target."""
        decided.judged()  # asks the model here, few frames below `explain`
        context = GuardContext.of(decided, self.guard, self._calibration, self._settings)
        rate = self._settings.rates[self.guard] if self.rate is None else float(self.rate)
        population = decided.population
        return GuardedSearch(
            guard=context.guard,
            relations=population.relations,
            crowds=engine_crowds(context.guard),
            rates=(rate, rate / self._settings.unusual),
            costs=ShiftCosts(population.percentiles, self.max_shift_weight, self.change_weight),
            scale=population.scale,
            effort=self.effort,
            settings=self._settings,
            month_weight=self.month_weight,
            has_class_guard=context.known,
            notes=context.notes,
        )

    def _typicality(self, inspected: GuardedSearch, rows: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
        return inspected.figures_of(rows, own)["typicality"]

    def _notes(self, inspected: GuardedSearch) -> tuple[str, ...]:
        return inspected.notes

    def _batch_size(self, n: int, inspected: GuardedSearch) -> int:
        return _BATCH

    def search(self, problem: Problem) -> Answers:
        search: GuardedSearch = problem.inspected
        months_cost = search.month_weight is not None
        found = over_horizons(problem, search.answers, search.price, search.figures_of, months_cost=months_cost)
        if problem.options == 1:
            return found
        return with_purposes(search, replace(problem, region=search.with_free_clocks(problem.region)), found)
