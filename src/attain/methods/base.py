"""The contract of every method: fit on a frame, explain rows to a model, one result type.

A method implements `_prepare` (what it learns from the training data), `_search` (answers for a batch of rows) and,
where it looks at the model itself, `_inspect`. Everything a promise rests on is done here, once for all methods:
reading frames, resolving rules, the budget, the last check, the figures. So no method can return a row that fails to
flip the decision or violates a rule. Nothing that belongs to one call is stored on the explainer, so that several
threads can use it at once.
"""

from __future__ import annotations

import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import files
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, TypeVar, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from attain.core.checks import check_boolean, check_choice, check_integer, check_number
from attain.core.compiled import load_all, load_for
from attain.core.errors import AttainError, DataError, Interrupted
from attain.core.frames import Frame, one_row
from attain.core.limits import TIMEOUT
from attain.methods.context import Contexts, ModelContext
from attain.methods.figures import difficulty, diversity, faithfulness
from attain.methods.importance.changes import find_importances
from attain.methods.importance.contributions import compared_with, find_contributions
from attain.methods.menu import Menu, as_columns, suffices_alone
from attain.methods.notes import SWAPPED, doubtful_rules, own_breaks, undecided
from attain.methods.outcomes import (
    Decided,
    NotAsExpected,
    fixed_cells,
    judged_as_they_are,
    known_before,
    last_check,
    tell_late,
)
from attain.methods.parameters import check_fields, integer, number
from attain.methods.plane import MOST_SHOWN, plane_of, spaced
from attain.methods.provenance import LearnedDigests, call_settings, learned_digests
from attain.methods.ranges.finding import find_ranges
from attain.methods.running import Runner
from attain.methods.search.clock import Clock
from attain.methods.search.problem import Answers, Ledger, Problem
from attain.methods.search.slack import DRAWS, Slack
from attain.models import Goal, GoalLike, Model, probe_rows
from attain.models.structure.encoding import StructureError
from attain.models.structure.linear import linear_score
from attain.models.structure.products import ProductScore, product_score
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.results.counterfactuals import Counterfactuals
from attain.results.importance import Attributions
from attain.results.plots.planes import Plane
from attain.results.status import Status
from attain.schema import Constraints, Schema
from attain.schema.laws import KEPT, Law, find_laws, with_evidence
from attain.tables import Errors, Layout, Region, RuleBook, Table, desired_labels, read_labels

T = TypeVar("T")
_FEW: Final = 10
"""The most rows of a call in which a known model is asked only once: where it is not as expected, all is done again."""
KeptRows: TypeAlias = Literal["rows", "swapped", "none"]
"""What an explainer has of its training data: the rows, stand-ins for them, or each column's distribution."""
StandIns: TypeAlias = Callable[[np.ndarray, np.ndarray | None], tuple[Table, np.ndarray | None]]
"""From rows (n, d) and their labels (n,) to stand-ins for them, and their labels (m,)."""


class _Learned(BaseEstimator):
    """What `fit` learns for every method."""

    schema_: Schema
    table_: Table
    layout_: Layout
    percentiles_: Percentiles
    space_: MeasuringSpace
    labels_: np.ndarray | None
    laws_: tuple[Law, ...]
    book_: RuleBook
    observed_: tuple[np.ndarray, np.ndarray]
    drawn_seed_: int
    _digests: LearnedDigests | None


@dataclass(kw_only=True, eq=False, repr=False)
class Explainer(_Learned, ABC):
    """What all methods share; see the module's text.

    The parameters of a method are the fields of its class, all but `schema` by keyword: those below, and its own.
    """

    citation: ClassVar[str]
    """The method's publication: an entry of `citations.bib`, or BibTeX."""
    needs_rows: ClassVar[bool] = False
    """Whether the method cannot work without its training rows, so that it cannot be saved without them."""
    kernels_pay: ClassVar[int] = 0
    """How many rows of `Guarded` a row takes as long as, where kernels are put to use by themselves for many rows.

    With 0 they are not; see `warm_up`.
    """
    own_figures: ClassVar[tuple[str, ...]] = ()
    """The figures that the method's search gives for each answer; results without an answer have them, too."""

    schema: Schema | None = field(default=None, kw_only=False)
    laws: Literal["found"] | Sequence[str | Law] | None = "found"
    budget: int = integer(20_000, least=2)
    margin: float = number(1e-6, least=0)
    figures: bool = True
    random_state: int | None = 0

    def fit(self, X: Frame, y: Any = None) -> Self:
        """Learns from rows like those to be explained; their true labels `y` let answers be compared with real rows.

        Without a schema one is inferred, with nothing immutable: better look at it first (`Schema.infer`).
        """
        self._read_training(X, y)
        self._prepare()
        return self

    def _read_training(self, X: Frame, y: Any) -> None:
        """Checks the parameters, and reads the training data."""
        self._check_parameters()
        schema = Schema.infer(X) if self.schema is None else self.schema
        if not isinstance(schema, Schema):
            raise AttainError(f"schema must be an attain.Schema, or None to infer one, got a {type(schema).__name__}")
        table = Table.read(X, schema)
        if len(table) < 2:
            raise DataError(f"X has {len(table)} rows; fitting takes at least 2, and hundreds to be of use")
        self._remember(table, None if y is None else read_labels(y, table.labels), self._chosen_laws(table))
        for note in self._rule_notes:
            warnings.warn(note, stacklevel=3)

    def _chosen_laws(self, table: Table) -> tuple[Law, ...]:
        """The laws that answers keep: those given, or else the schema's, or else those of the training rows."""
        if self.laws is None:
            return ()
        features, values = table.schema.features, table.values
        if self.laws == "found":
            known = table.schema.laws
            return (
                find_laws(features, values, exceptions=KEPT)
                if known is None
                else with_evidence(known, features, values)
            )
        given = [law if isinstance(law, Law) else Law(law) for law in self.laws]
        return with_evidence(given, features, values)

    def _remember(
        self, table: Table, labels: np.ndarray | None, laws: tuple[Law, ...], *, kept: KeptRows = "rows"
    ) -> None:
        """Keeps the training rows, and what follows from them for every method.

        Where an explainer was saved without its training rows, `kept` says what its rows are instead; see `save`.
        """
        self.labels_, self.laws_ = labels, laws
        self.book_ = RuleBook(table.schema, laws)
        self.kept_rows_, self.has_rows_ = kept, kept != "none"
        self._rule_notes = doubtful_rules(self.book_, table.values) if self.has_rows_ else ()
        self.schema_, self.table_, self.layout_ = table.schema, table, table.layout
        self.n_features_in_ = len(table.schema)
        self.feature_names_in_ = np.array(table.layout.columns, dtype=object)
        self.percentiles_ = Percentiles.fit(table.schema, table.values)
        self.space_ = MeasuringSpace.fit(table.schema, table.values)
        self.observed_ = _observed_range(table)
        self.drawn_seed_ = int(np.random.default_rng().integers(2**32))
        self._contexts, self._digests = Contexts(), None

    def save(self, path: str | os.PathLike[str], reference: KeptRows = "rows") -> None:
        """Writes the fitted explainer into one file, atomically; `attain.load` reads it.

        Parameters
        ----------
        path
            The file.
        reference
            What the file keeps of the training data. `"rows"`: the training rows and their labels. `"swapped"`:
            stand-ins, each cell of which is that of one of the five most similar rows, so that no training row is in
            the file; the method is fitted on them again, and answers are compared with them. `"none"`: only each
            column's distribution, every column shuffled by itself: answers are the same if the method needs no rows,
            and outlier and connectedness are missing.
        """
        from attain.methods.persistence import save

        self._check_fitted()
        save(self, path, reference)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what was learned about models, which holds locks and belongs to those models."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_contexts"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._contexts = Contexts()

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What `_prepare` learned that is not cheap to learn again, as JSON and arrays."""
        return {}, {}

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Takes back what `_learned` gave; by default everything is learned again from the rows."""
        self._prepare()

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may feed to `fit`: missing cells, strings and categories too."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    @abstractmethod
    def _prepare(self) -> None:
        """Learns what the method needs from `table_`."""

    def _with_stand_ins(self, made: StandIns) -> Self:
        """The same method, fitted on stand-ins for its training rows."""
        other = copy(self)
        other._remember(*made(self.table_.values, self.labels_), self.laws_, kept="swapped")
        other._prepare()
        return other

    def _inspect(self, goal: GoalLike, context: ModelContext) -> Any:
        """What the method needs to know about a model and request; `_search` finds it as `problem.inspected`.

        It is kept, and asked for again only when a parameter has changed. A model that the method cannot take is
        refused here, in a sentence.
        """
        return None

    @abstractmethod
    def _search(self, problem: Problem) -> Answers:
        """Answers for a batch of rows whose decision is not the desired one and that can change."""

    @abstractmethod
    def _batch_size(self, n: int, inspected: Any) -> int:
        """How many rows go through one call of `_search` for `n` options each, so that memory stays bounded."""

    def _more_figures(self, rows: np.ndarray, goal: GoalLike, context: ModelContext) -> dict[str, np.ndarray]:
        """Figures that compare answers with real rows in a way of the method's own, one per option."""
        return {}

    def _typicality(self, inspected: Any, rows: np.ndarray) -> np.ndarray:
        """How typical rows are, as members of `Typicality`, (n,); NaN where the method does not say."""
        return np.full(len(rows), math.nan)

    def _notes(self, inspected: Any) -> tuple[str, ...]:
        """What a reader of this method's answers must know."""
        return ()

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
    ) -> Counterfactuals:
        """For each row of `X`, the change that makes `model` decide for `target`.

        Parameters
        ----------
        model
            Any classifier: scikit-learn, XGBoost, LightGBM, torch, an ONNX file, a function; see `attain.Model`.
        X
            The rows to explain, usually one per person: a frame with the schema's columns; or a single person, as a
            dictionary of cells by column or a pandas series, a row of a frame.
        target
            The desired class.
        probability
            Ask for at least this probability of it, instead of for the decision.
        n
            How many different options each row is offered.
        constraints
            What may change in this call; see `attain.Constraints`. They only tighten the schema.
        errors
            What a row does that cannot be read: an unknown level, text for a number, a value out of bounds, a row
            that the model fails on. With "status" it gets the status UNREADABLE and a sentence in `reasons`, and all
            others are answered as without it; with "raise" it raises a `DataError` or a `ModelError`. An unknown level
            in an immutable column without an order is passed to the model, unless this is "raise".
        slack
            Ask for answers that still hold when each changed number or ordered level is carried out only to ± `slack`
            percentile points of its column, from 0 to 100. The figure `holds_within_slack` is the share of 100 such
            executions, drawn at random, that hold; a row without such an answer gets one that holds as it is.
        ranges
            Whether the ranges in which each change may lie are found too; see `Counterfactuals.ranges`. Neither these
            nor what follows is found for a row whose time is spent.
        importance
            Whether it is found how much each change matters; see `Counterfactuals.importance`. The model is asked about
            2^m + m rows for m changes, or 256 (m + 1) + m for more than 12, which are not charged to the budget.
        contributions
            Whether it is found what each input contributes to the decision that was made; see
            `Counterfactuals.contributions`. Linear models and tree ensembles with two classes are not asked for it, any
            other model about at most 200 rows for each person and input, which are not charged to the budget.
        timeout
            The most seconds for one row, of the search and of the model. A row that takes longer, or on which the model
            hangs, gets the status TIME_SPENT, unless an answer was found before; all others are answered as without
            it. A row explained alone is answered within a second of it, m rows within m times as long; what is learned
            about the model first is not counted. The default is many times what a search takes, so that answers do not
            depend on the machine. The model is called in threads, and a call that hangs is left behind: Python cannot
            stop it. None sets no limit, and the model is called in the caller's own thread.

        Raises
        ------
        Interrupted
            After Ctrl-C; its `result` has the answers found until then.
        """
        request = partial(self._request, model, target, probability, errors, timeout)
        return self._explain(request, X, n, constraints, errors, slack, ranges, importance, contributions)

    def _request(
        self,
        model: Any,
        target: Any,
        probability: float | None,
        errors: Errors = "status",
        timeout: float | None = None,
        confirmed: bool = True,
    ) -> Goal:
        """A model and what is asked of it, after checking that this explainer is ready."""
        self._check_fitted()
        self._check_parameters()
        if timeout is not None:
            check_number("timeout", timeout, above=0)
        return self._goal(model, target, probability, tolerant=errors == "status", timeout=timeout, confirmed=confirmed)

    def _explain(
        self,
        request: Callable[..., Goal],
        X: Frame,
        n: int,
        constraints: Constraints | Mapping[str, Any] | None,
        errors: Errors,
        slack: float | None,
        ranges: bool,
        importance: bool,
        contributions: bool,
        others: Sequence[Goal] = (),
    ) -> Counterfactuals:
        self._check_fitted()
        check_integer("n", n, 1)
        check_choice("errors", errors, get_args(Errors))
        more = {"ranges": ranges, "importance": importance, "contributions": contributions}
        for name, value in more.items():
            check_boolean(name, value)
        if slack is not None:
            check_number("slack", slack, above=0, below=100)
        if contributions and not self.has_rows_:
            raise AttainError(
                "contributions compare with real people, but this explainer was saved without its training rows; save "
                "it with reference='rows'"
            )
        table = Table.read(one_row(X), self.schema_, errors=errors)
        levels = sum(len(feature.levels) for feature in self.schema_)
        parts = len(self.schema_) + len(self.book_.rules) + levels // 50  # a level takes a fraction of a column's time
        load_for(max(len(table) * self.kernels_pay, 1), parts)
        asked = {"n": int(n), "slack": slack, **more, "errors": errors}
        answered = partial(self._answered_by, table=table, constraints=constraints, asked=asked, others=others)
        goal = request(confirmed=len(table) > _FEW)
        if not goal.confirmed:
            before = 0
            if self._contexts.ready(goal, self._parameters()):
                try:
                    return answered(goal)
                except NotAsExpected:
                    self._contexts.forget(goal)
                    before = goal.rows_asked
            goal = request()
            goal.reader.count.rows += before
        return answered(goal)

    def _answered_by(
        self,
        goal: Goal,
        *,
        table: Table,
        constraints: Constraints | Mapping[str, Any] | None,
        asked: Mapping[str, Any],
        others: Sequence[Goal],
    ) -> Counterfactuals:
        """The result for the rows of a table; `asked` has the other arguments of `explain` by name.

        Raises `NotAsExpected` where the goal is not confirmed, and the model does not answer as it did before.
        """
        ranges, importance, contributions = (asked[name] for name in ("ranges", "importance", "contributions"))
        rough = None if asked["slack"] is None else self._slack(goal, asked["slack"])
        context = self._context(goal)
        inspected = context.inspected(goal, self._parameters(), self._inspect)
        region = Region.of(table, Constraints.of(constraints), self.observed_, self.book_)
        if table.layout.unseen:
            goal, *others = (one.with_unseen(table.layout.unseen) for one in (goal, *others))
        product = self._product_score(goal) if ranges else None
        ledger = Ledger(len(table), self.budget, Clock.of(goal, len(table)))
        problem = Problem(goal, region, ledger, asked["n"], self._seed, inspected, tuple(others))
        asked_before = problem.rows_searched
        before = judged_as_they_are(goal, table, ledger)
        outcome = known_before(region, before.met, before.unreadable, ledger.late)
        answers, interrupted = self._run(replace(problem, slack=rough), outcome)
        answers, after = last_check(problem, outcome, answers, before)
        tell_late(outcome, ledger)
        if rough is not None:
            answers = _with_slack_figure(problem, answers, rough)
        found = find_ranges(problem, answers.rows, answers.owners, self.percentiles_, product) if ranges else None
        searched = problem.rows_searched - asked_before
        importances = None
        if importance:
            typicality = partial(self._typicality, inspected)
            importances = find_importances(problem, answers.rows, answers.owners, typicality)
        attributions = self._attributions(problem, ~np.isnan(before.score), context) if contributions else None
        result = self._result(table, problem, context, outcome, answers, before, after)
        settings = self._settings_of(goal, others, constraints, {**asked, "timeout": goal.timeout})
        result = replace(result, intervals=found, importances=importances, attributions=attributions, settings=settings)
        result = replace(result, rows_uncharged=result.rows_asked - searched)
        if attributions is not None and not attributions.people:
            nobody = "No training row has the desired decision, so there are no contributions."
            result = replace(result, notes=(*result.notes, nobody))
        if interrupted:
            raise Interrupted(result)
        return result

    def _attributions(self, problem: Problem, scored: np.ndarray, context: ModelContext) -> Attributions:
        goal, region = problem.goal, problem.region
        assert isinstance(goal, Goal)
        others = compared_with(self.table_.values, context.met(goal), self._seed)
        free = ~(fixed_cells(region) | np.array([feature.immutable for feature in region.schema]))
        find = partial(find_contributions, goal, problem, np.flatnonzero(scored), others, free)
        try:
            return find(self._product_score(goal))
        except StructureError:
            return find(None)

    def _settings_of(
        self,
        goal: Goal,
        others: Sequence[Goal],
        constraints: Constraints | Mapping[str, Any] | None,
        asked: Mapping[str, Any],
    ) -> dict[str, Any]:
        """`Counterfactuals.settings`; the digests of what `fit` learned are computed once."""
        if self._digests is None:
            self._digests = learned_digests(self)
        return call_settings(self, self._digests, self._seed, goal, others, constraints, asked)

    def menu(
        self,
        model: Any,
        person: Frame,
        *,
        target: Any,
        probability: float | None = None,
        most: int = 3,
        constraints: Constraints | Mapping[str, Any] | None = None,
        timeout: float | None = TIMEOUT,
    ) -> Frame:
        """For one person, which sets of at most `most` features suffice, and which of them cannot.

        Parameters
        ----------
        model, target, probability, constraints
            As in `explain`. Each set is searched by this method, with the whole budget.
        person
            A single row: a frame, a dictionary of cells by column, or a pandas series.
        most
            The size of the largest sets. The number of sets grows with its power: 20 features have 210 sets of up to
            two, and 1,350 of up to three.
        timeout
            The most seconds for the whole menu, as in `explain`. Sets that were not looked at by then are missing, and
            single features that were not have "time spent" in `suffices`.

        Returns
        -------
        Frame
            A frame with one row per set, cheapest first, then the single features that do not suffice: `features`;
            `suffices`, which is "yes", "no" where it is proven that no change of these features is enough (for linear
            models and tree ensembles), or else "not found" or "time spent"; `values`, what the features become;
            `change`, the same for reading; `total_shift` in percentile points; `months`, where the schema has clocks or
            paces; and `typicality`, where the method has a guard. Waiting is a change of the clock that says how long.
            Two features are listed if together they are cheaper than either alone, by a tenth or more; three and more
            if none of them is enough with fewer. Sets of several features that do not suffice are not listed.
        """
        check_integer("most", most, 1)
        goal = self._request(model, target, probability, "raise", timeout)
        table = Table.read(one_row(person, "person"), self.schema_, "person")
        if len(table) != 1:
            raise DataError(f"person has {len(table)} rows; a menu is for one")
        if goal.decide(table.values).met[0]:
            name = goal.model.class_names.get(goal.target, goal.target)
            raise AttainError(f"the model decides for {name!r} already; there is nothing to change")
        region = Region.of(table, Constraints.of(constraints), self.observed_, self.book_)
        inspected = self._context(goal).inspected(goal, self._parameters(), self._inspect)
        score = self._product_score(goal)
        problem = Problem(goal, region, Ledger(1, self.budget, Clock.of(goal, 1)), 1, self._seed, inspected)
        menu = Menu(problem, self._answered, partial(self._typicality, inspected), self.percentiles_, score)
        return table.layout.library.make(as_columns(menu.entries(most), table))

    def _suffices_alone(self, goal: Goal, table: Table, constraints: Constraints) -> np.ndarray:
        """For each row, the features that suffice alone, (n, d); none for rows that have the desired decision."""
        goal = goal.with_unseen(table.layout.unseen)
        decided = judged_as_they_are(goal, table, Ledger(len(table), self.budget))
        wanting = np.flatnonzero(~decided.met & ~np.isnan(decided.score))
        region = Region.of(table, constraints, self.observed_, self.book_)
        problem = Problem(goal, region, Ledger(len(table), self.budget), 1, self._seed)
        result = np.zeros(table.values.shape, dtype=bool)
        result[wanting] = suffices_alone(problem.subset(wanting), self.percentiles_, self._product_score(goal))
        return result

    def _answered(self, problem: Problem) -> Answers:
        """The answers of all rows of a problem, after the last check."""
        outcome = known_before(problem.region, np.zeros(len(problem), dtype=bool), (), problem.ledger.late)
        answers, interrupted = self._run(problem, outcome)
        if interrupted:
            raise KeyboardInterrupt
        return last_check(problem, outcome, answers)[0]

    def warm_up(self) -> Self:
        """Loads all that is compiled, so that the first answers of a process take no longer than later ones.

        Kernels of Numba are read from its cache on disk in a second or, the first time, compiled in half a minute. They
        are in use for the rest of the process, and give the same answers to the byte, only sooner. Without this call
        they are put to use by the first call of `Guarded.explain` for 100 rows or more, 3,000 where nothing is in the
        cache yet. The environment variable `ATTAIN_COMPILED=0` switches them off.
        """
        self._check_fitted()
        load_all()
        return self

    def cite(self) -> str:
        """The publication of the method, as BibTeX."""
        entries = files("attain.methods").joinpath("citations.bib").read_text(encoding="utf-8").split("\n\n")
        return next((entry for entry in entries if f"{{{self.citation}," in entry), self.citation).strip()

    def reference(self, model: Any, target: Any, probability: float | None = None) -> Reference:
        """The real rows of the desired class, built once for each model and target."""
        goal = self._request(model, target, probability)
        if not self.has_rows_:
            raise AttainError("this explainer was saved without its training rows, so it has no reference")
        return self._context(goal).reference(goal)

    def plane(
        self, model: Any, factuals: np.ndarray, options: np.ndarray, *, target: Any, probability: float | None = None
    ) -> Plane:
        """Real people, rows and decision regions in a plane, for `result.plot.map`.

        It is that of the two leading principal components of the training rows, in the measuring space or, for methods
        with an autoencoder, in its latent space; a point has the decisions about real people nearby. Where a latent
        space has two dimensions and `factuals` one row, the regions are decisions about decoded rows that keep this
        row's immutable features.

        Parameters
        ----------
        model, target, probability
            As in `explain`.
        factuals, options
            Rows of the matrix, (p, d) and (m, d).
        """
        goal = self._request(model, target, probability)
        if not self.has_rows_:
            raise AttainError("this explainer was saved without its training rows, so there are no people to show")
        chosen = spaced(len(self.table_), MOST_SHOWN)
        rows = np.concatenate([self.table_.values[chosen], factuals, options])
        return self._plane(goal, self._context(goal).met(goal)[chosen], rows, factuals)

    def _plane(self, goal: GoalLike, accepted: np.ndarray, rows: np.ndarray, factuals: np.ndarray) -> Plane:
        """The plane of rows: real people, `accepted` or not, then the factuals, then options."""
        return plane_of(self.space_.transform(rows), len(factuals), accepted, latent=False)

    def _goal(
        self,
        model: Any,
        target: Any,
        probability: float | None,
        *,
        tolerant: bool = True,
        timeout: float | None = None,
        confirmed: bool = True,
    ) -> Goal:
        """The goal of a model; one that is known and compiled need not be `confirmed` before it is judged."""
        wrapped = Model.of(model)
        return Goal(
            wrapped,
            self.layout_,
            target=target,
            probability=probability,
            margin=self.margin,
            probe=probe_rows(self.table_.values),
            tolerant=tolerant,
            timeout=timeout,
            known=self._contexts.probed(wrapped.model),
            confirmed=confirmed or not self._contexts.compiled(wrapped.model),
        )

    def _context(self, goal: GoalLike) -> ModelContext:
        values, labels = self.table_.values, self.labels_

        def build(target: Any, met: np.ndarray) -> Reference:
            desired = None if labels is None else desired_labels(labels, target)
            return Reference.build(self.schema_, values, desired_labels=desired, met=met, space=self.space_)

        context = self._contexts.of(goal, values, build)
        if isinstance(goal, Goal):
            goal.compiled = context.compiled(goal)
        return context

    def _parameters(self) -> str:
        """The parameters that what is learned about a model may depend on."""
        given = self.get_params(deep=False)
        return repr(
            {name: given[name] for name in sorted(given.keys() - {"schema", "autoencoder", "density", "figures"})}
        )

    def _slack(self, goal: GoalLike, points: float) -> Slack:
        return Slack(self.percentiles_, points / 100, self._structure(goal, linear_score))

    def _product_score(self, goal: GoalLike) -> ProductScore | None:
        return self._structure(goal, product_score)

    def _structure(self, goal: GoalLike, read: Callable[[GoalLike, np.ndarray], T]) -> T | None:
        """What `read` finds inside the model, found once for each model and request; None where it finds nothing."""
        if goal.labels_only:  # whose context is asked about all training rows
            return None

        def found() -> T | None:
            try:
                return read(goal, self.table_.values)
            except StructureError:
                return None

        score: T | None = self._context(goal).kept(read.__name__, found)
        return score

    def _run(self, problem: Problem, outcome: list[Status | None]) -> tuple[Answers, bool]:
        """All answers, and whether the search was interrupted."""
        size = self._batch_size(problem.options, problem.inspected)
        return Runner(type(self).__name__, self._search, size, self.own_figures).run(problem, outcome)

    def _result(
        self,
        table: Table,
        problem: Problem,
        context: ModelContext,
        outcome: list[Status | None],
        answers: Answers,
        before: Decided,
        after: np.ndarray,
    ) -> Counterfactuals:
        goal, n = problem.goal, problem.options
        factuals = table.values[answers.owners]
        option_figures = {
            "score_after": _rounded(after),
            **difficulty(answers.rows, factuals, self.percentiles_),
            **answers.figures,
        }
        if self.book_.timing is not None:
            option_figures["months"] = problem.region.months(answers.rows, answers.owners)
        notes = (*self._rule_notes, *self._notes(problem.inspected))
        if self.figures and not self.has_rows_:
            notes += ("This explainer was saved without its training rows: outlier and connectedness are missing.",)
        elif self.figures:
            reference = context.reference(goal)
            option_figures |= faithfulness(answers.rows, reference)
            option_figures |= self._more_figures(answers.rows, goal, context)
            if not reference.labelled:
                notes += ("No labels were given: real rows of the desired class are those the model decides for.",)
        if self.figures and self.kept_rows_ == "swapped":
            notes += (SWAPPED,)
        notes += undecided(problem.region, answers, self.schema is None)
        notes += own_breaks(problem.region, self.laws_)
        offered = np.bincount(answers.owners, minlength=len(table))
        fewer = int(((offered > 0) & (offered < n)).sum())
        if fewer:
            have = f"{fewer} people have" if fewer > 1 else "1 person has"
            notes += (f"{have} fewer than the {n} options asked for: no others were found.",)
        failed = goal.reader.failed - len(before.unreadable.keys() - table.refused.keys())
        if failed:
            notes += (f"The model failed on {failed} rows that it was asked about; they count as not flipping it.",)
        return Counterfactuals(
            table=table,
            method=type(self).__name__,
            target=goal.target,
            target_name=goal.model.class_names.get(goal.target),
            probability=goal.probability,
            statuses=tuple(status or Status.INTERRUPTED for status in outcome),
            rows=answers.rows,
            owners=answers.owners,
            percentiles=(
                self.percentiles_.of(factuals),
                self.percentiles_.of(answers.rows),
                self.percentiles_.shift(factuals, answers.rows),
            ),
            person_figures={
                "score_before": _rounded(before.score),
                "rows_scored": problem.ledger.spent,
                "diversity": diversity(answers.rows, answers.owners, len(table), self.space_),
            },
            option_figures=option_figures,
            notes=notes,
            laws=self.laws_,
            rows_asked=goal.rows_asked + sum(other.rows_asked for other in problem.others),
            unreadable=before.unreadable,
        )

    @property
    def _seed(self) -> int:
        """The seed of the search: `random_state`, or one drawn by `fit` where that is None."""
        return self.drawn_seed_ if self.random_state is None else int(self.random_state)

    def _check_fitted(self) -> None:
        if not hasattr(self, "table_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X) with training data first")

    def _check_parameters(self) -> None:
        """Refuses values that the fields do not take; methods add checks of their own."""
        check_fields(self)
        listed = isinstance(self.laws, list | tuple) and all(isinstance(law, str | Law) for law in self.laws)
        if not listed and self.laws is not None and self.laws != "found":
            raise AttainError(f"laws must be 'found', None or a list of rules such as ['a <= b'], got {self.laws!r}")
        if self.random_state is not None:
            check_integer("random_state", self.random_state, 0)
            check_number("random_state", self.random_state, least=0, below=2**64)


def _observed_range(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest ordinary value of each column; NaN where there is none."""
    values = table.values.copy()
    for j, feature in enumerate(table.schema):
        if feature.special:
            values[np.isin(values[:, j], list(feature.special)), j] = math.nan
    empty = np.isnan(values).all(axis=0)
    values[:, empty] = 0.0
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    low[empty], high[empty] = math.nan, math.nan
    return low, high


def _with_slack_figure(problem: Problem, answers: Answers, slack: Slack) -> Answers:
    """The answers with the share of their executions that hold; NaN where the budget is spent."""
    share = np.full(len(answers.rows), math.nan)
    able = problem.ledger.affordable(answers.owners, price=DRAWS * problem.goal.most_questions)
    rows, owners = answers.rows[able], answers.owners[able]
    share[able] = slack.share(rows, owners, problem.region, problem.meets, problem.seed)
    return replace(answers, figures={**answers.figures, "holds_within_slack": share})


def _rounded(score: np.ndarray) -> np.ndarray:
    """Scores to six decimals: a model's last bits depend on how many rows it is asked about at once."""
    return np.round(score, 6) + 0.0
