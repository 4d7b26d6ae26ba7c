"""The guarded search: the easiest answer among those that real rows of the desired class could have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from attain.core.checks import check_integer
from attain.core.errors import AttainError
from attain.core.frames import Frame
from attain.core.limits import TIMEOUT
from attain.methods.base import Explainer, StandIns
from attain.methods.context import ModelContext
from attain.methods.densities import (
    DensityChoice,
    check_density_choice,
    density_state,
    fitted_density,
    restored_density,
)
from attain.methods.density_rank import density_rank
from attain.methods.guarded.answers import guarded_answers
from attain.methods.guarded.certificate import Certifier
from attain.methods.guarded.easiest import Easiest
from attain.methods.guarded.guard_context import (
    DENSITY_SAW,
    Calibration,
    CalibrationScores,
    GuardContext,
    held_out,
)
from attain.methods.guarded.objective import Objective, weighted
from attain.methods.guarded.robust import Refit, other_goals
from attain.methods.guarded.search import GuardedSearch
from attain.methods.guarded.settings import GuardedSettings
from attain.methods.guarded.single_changes import grid_of
from attain.methods.parameters import choice, integer, number
from attain.methods.search.moves import Scale
from attain.methods.search.problem import Answers, Problem
from attain.models import Goal, GoalLike
from attain.models.structure.sweeps import Sweep
from attain.population.guard import Setting
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Typicality
from attain.schema import Constraints
from attain.tables import Errors, Region, without_unseen


@dataclass(kw_only=True, eq=False, repr=False)
class Guarded(Explainer):
    """The easiest change that flips the decision, among records that real rows of the desired class could have.

    A guard is fitted on real rows of the desired class: a record passes if it is no more unusual than they are, by
    local outlier factors, distance and, where there is one, a density, calibrated so that a new real row is refused
    with a known probability. The search starts near real rows and by following the model's score, and then makes
    answers as easy as they can be while they flip the decision and pass the guard. Where no answer passes, the guard
    is relaxed step by step, and the answer's level says so.

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
    density
        A density model of real rows, which becomes a part of the guard, and which starts are drawn from: `"trees"`, a
        `TreeDensity`; any density that passes `attain.testing.check_density`; or an autoencoder with `sample`, such as
        a `CHVAE`. It is cloned and fitted with the schema, unless it is fitted already. None, the default: the guard is
        made of outlier factors and distance only.
    guard
        `"connected"`: answers are not outliers among real rows, and close to one of them. `"typical"`: not outliers.
    rate
        The share of *real* rows of the desired class that the guard may refuse. None takes 0.18 for `connected` and
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
    kernels_pay = 1
    citation = "pawelczyk2020learning"
    own_figures = ("typicality", "typicality_p")
    _settings: ClassVar[GuardedSettings] = GuardedSettings()

    density: DensityChoice = None
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
            fifth of `X` is held out from density and guard for calibration.
        """
        self._read_training(X, y)
        self.calibration_: Calibration | CalibrationScores | None = (
            None if calibration is None else Calibration.read(calibration, self.schema_, self.labels_)
        )
        self.held_out_seed_ = self._seed
        self._aside = self._held_out()
        self.density_was_fitted_ = hasattr(self.density, "schema_")
        self._prepare()
        return self

    def _with_stand_ins(self, made: StandIns) -> Self:
        if self.density_was_fitted_:
            raise AttainError(
                "this density was fitted on real rows before, so it cannot be saved without them; pass one that is not "
                "fitted, or save with reference='rows'"
            )
        values, labels, aside = self.table_.values, self.labels_, self._aside
        other = copy(self)
        other._remember(*made(values[~aside], None if labels is None else labels[~aside]), self.laws_, kept="swapped")
        other.calibration_, other._aside = None, np.zeros(len(other.table_), dtype=bool)
        other._prepare()
        given = self.calibration_
        own = Calibration(values[aside], None if labels is None else labels[aside])
        other.calibration_ = CalibrationScores.fit(
            self.guard,
            given if isinstance(given, Calibration) else own,
            Calibration(other.table_.values, other.labels_),
            other.space_,
            other._guard_density(),
            self._settings,
        )
        return other

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_density_choice(self.density)

    def _prepare(self) -> None:
        rows = self._rows_to_learn_from()
        self.density_ = fitted_density(self.density, self.schema_, rows, self._seed, self._settings.density_samples)
        self._prepare_search()

    def _prepare_search(self) -> None:
        self.scale_ = Scale(self.schema_, self.table_.values)
        # what the cost measures shifts by; `percentiles_` is what TS and MS are reported by
        self._cost_percentiles = replace(self.percentiles_, method=self._settings.cost)
        most = self._settings.easiest_values
        self._recourse = Easiest(self.table_.schema, self.table_.values, self.percentiles_, most)

    def _rows_to_learn_from(self) -> np.ndarray:
        values = self.table_.values
        kept = values[~self._aside]
        return kept if len(kept) > 1 else values

    def _held_out(self) -> np.ndarray:
        """Which training rows (n,) are for calibration: none where there are others for it."""
        if self.calibration_ is not None:
            return np.zeros(len(self.table_), dtype=bool)
        return held_out(self.table_.values, self.labels_, self.held_out_seed_, self._settings)

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts: dict[str, Any] = {
            "held_out_seed": self.held_out_seed_,
            "density_was_fitted": self.density_was_fitted_,
            "density": None,
        }
        arrays: dict[str, np.ndarray] = {}
        if self.density_ is not None:
            facts["density"], arrays = density_state(self.density_)
        if self.calibration_ is not None:
            more, rows = self.calibration_.state()
            facts, arrays = facts | more, arrays | rows
        return facts, arrays

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.calibration_ = None
        if "calibration" in arrays:
            self.calibration_ = Calibration.restore(facts, arrays, self.schema_, self.labels_ is not None)
        elif "calibrated" in facts:
            self.calibration_ = CalibrationScores.restore(facts, arrays)
        self.held_out_seed_ = int(facts["held_out_seed"])
        self._aside = self._held_out()
        self.density_was_fitted_ = bool(facts["density_was_fitted"])
        self.density_ = restored_density(
            self.density, self.schema_, facts["density"], arrays, self._seed, self._settings.density_samples
        )
        self._prepare_search()

    def warm_up(self) -> Self:
        super().warm_up()
        if self.density_ is not None:
            self._log_density(self.table_.values[:1])
            self._draw(self.table_.values[:1])
        return self

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
        slack: float | None = None,
        ranges: bool = False,
        importance: bool = False,
        contributions: bool = False,
        timeout: float | None = TIMEOUT,
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
        self._check_fitted()
        request = partial(self._request, model, target, probability, errors, timeout)
        others: list[Goal] = []
        if robust is not None:
            layout, values = self.layout_, self.table_.values
            others = other_goals(
                robust,
                lambda other: self._goal(other, target, probability, tolerant=errors == "status", timeout=timeout),
                lambda drawn: layout.frame(values[drawn]),
                self.labels_,
                self._seed,
                self._settings.refits,
            )
        return self._explain(request, X, n, constraints, errors, slack, ranges, importance, contributions, others)

    def certificate(
        self,
        model: Any,
        result: Counterfactuals,
        *,
        constraints: Constraints | Mapping[str, Any] | None = None,
        balls: int = 200,
    ) -> Frame:
        """For each answer, how far it is from the guarded optimum, proven: for linear models and `guard="connected"`.

        A record that passes the guard lies within its distance limit of a real row: in a ball around it. The bound is
        the least cost of a record that flips the decision, keeps the rules of its columns and lies in any ball. Rules
        between features, outlier factors and density take no part, so no guarded answer costs less. Numbers take every
        multiple of their step or, where that is too many or there is no step, values of training rows.

        Parameters
        ----------
        model
            The model that the answers were made for.
        result
            What `explain` returned; the best option of each row is used. Answers of other methods are taken, too.
        constraints
            Those that the answers were made with.
        balls
            The most balls searched for each row; few have to be.

        Returns
        -------
        Frame
            A frame with one row per answer: `cost`, the answer's total shift plus `max_shift_weight` times its largest
            plus `change_weight` for each change, by the percentiles that the search uses; `bound`, which no guarded
            answer undercuts; `gap` between them; `certified`, whether the bound is exactly the least over all balls;
            `least`, the cost of the easiest record found in a ball; `balls`, how many were searched; and `reason`, why
            an answer is not certified. An answer that is unusual is compared with all that are as unusual.
        """
        check_integer("balls", balls, 1)
        goal = self._request(model, result.target, result.probability).with_unseen(result.table.layout.unseen)
        if result.table.schema != self.schema_:
            raise AttainError("result has another schema than this explainer was fitted with")
        region = Region.of(result.table, Constraints.of(constraints), self.observed_)
        region = weighted(region, self.month_weight)
        objective = Objective(
            self._cost_percentiles, region, self.max_shift_weight, self.change_weight, self.month_weight
        )
        certifier = Certifier(
            goal, self._guard_context(goal), self._rates, objective, self.table_.values, self._settings
        )
        return certifier.certificate(result, balls)

    def _guard_context(self, goal: GoalLike) -> GuardContext:
        found: GuardContext = self._context(goal).inspected(goal, self._parameters(), self._inspect)
        return found

    def _inspect(self, goal: GoalLike, context: ModelContext) -> GuardContext:
        """The guard for this model and target, and the score of a linear model."""
        found = GuardContext.of(
            goal,
            self.guard,
            self.table_.values,
            context.judged(goal),
            self.labels_,
            self.calibration_,
            self._aside,
            self.space_,
            self._guard_density(),
            self._settings,
        )
        grid = grid_of(self.schema_, self.scale_, self._settings.sweep_values)
        linear = self._recourse.score(goal) if self.easiest else None
        return replace(found, linear=linear, sweep=Sweep.of(goal, grid))

    def _typicality(self, inspected: GuardContext, rows: np.ndarray) -> np.ndarray:
        if not inspected.known or not len(rows):
            return np.full(len(rows), float(Typicality.OUTSIDE))
        p_value = inspected.guard.p_value(inspected.guard.score(rows))
        return np.sum([p_value <= rate for rate in self._rates], axis=0).astype(np.float64)

    def _notes(self, inspected: GuardContext) -> tuple[str, ...]:
        seen = self.density_was_fitted_ and self.calibration_ is None and inspected.guard.held_out
        return (*inspected.notes, DENSITY_SAW) if seen else inspected.notes

    def _batch_size(self, n: int, inspected: GuardContext) -> int:
        rows, columns = self.table_.values.shape
        most = min(self._settings.distances_at_once // rows, self._settings.batch_cells // columns)
        return int(np.clip(most, 16, 512))

    def _guard_density(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """The guard's density; None without."""
        return None if self.density_ is None else self._log_density

    def _log_density(self, rows: np.ndarray) -> np.ndarray:
        """The log-density (n,) of rows given their immutable features."""
        assert self.density_ is not None
        return self.density_.log_density(without_unseen(self.schema_, rows)) if len(rows) else np.empty(0)

    def _draw(self, rows: np.ndarray) -> np.ndarray:
        """Draws of the free features given the immutable ones of rows, one row's after the other, (n · draws, d)."""
        assert self.density_ is not None
        seed = (self._seed ^ self._settings.draw_stream) % 2**32
        return self.density_.sample(without_unseen(self.schema_, rows), self._settings.n_draws, random_state=seed)

    @property
    def _rates(self) -> tuple[float, float]:
        """The shares of real rows that the guard refuses: of typical answers, and of unusual ones."""
        rate = self._settings.rates[self.guard] if self.rate is None else float(self.rate)
        return rate, rate / self._settings.unusual

    def _search(self, problem: Problem) -> Answers:
        found: GuardContext = problem.inspected
        search = GuardedSearch(
            found.guard,
            self._rates,
            found.surrogate,
            found.accepted,
            self._cost_percentiles,
            self.scale_,
            self.max_shift_weight,
            self.change_weight,
            self.month_weight,
            self.effort,
            self._settings,
            self._draw if self.density_ is not None and self._settings.n_draws else None,
            found.sweep,
        )
        easiest = None if found.linear is None else self._recourse.search(problem, found.linear)
        answers = guarded_answers(problem, search, easiest)
        if found.known:
            return answers
        unknown = {"typicality": float(Typicality.OUTSIDE), "typicality_p": np.nan}
        figures = {name: np.full(len(answers.rows), value) for name, value in unknown.items()}
        return replace(answers, figures={**answers.figures, **figures})

    def _more_figures(self, rows: np.ndarray, goal: GoalLike, context: ModelContext) -> dict[str, np.ndarray]:
        return {} if self.density_ is None else density_rank(rows, goal, context, self._log_density)
