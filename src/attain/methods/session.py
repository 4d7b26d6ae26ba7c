"""`Session`: an explainer, a model and what is asked of it. All that is learned about these is learned once.

The path of a question: `explain` → `Session.answer` → the method's `_search` → `Problem.evaluate` → `Goal.judge` →
`Reader.read` → the model."""

from __future__ import annotations

import math
import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

import numpy as np

from attain.core.checks import TIMEOUT, check_boolean, check_integer, check_number
from attain.core.errors import AttainError, Interrupted
from attain.core.frames import Frame, one_row
from attain.methods.importance import compared_with, find_contributions, find_importances
from attain.methods.outcomes import Batches, Decided, fixed_cells, known_before, last_check
from attain.methods.plane import MOST_SHOWN, spaced
from attain.methods.provenance import call_settings
from attain.methods.ranges import find_ranges
from attain.methods.records import Assessed, Compared, Recheck, assessed, rounded, verdict
from attain.methods.result import difficulty, diversity, faithfulness, notes_on
from attain.methods.search.horizons import in_time
from attain.methods.search.problem import Answers, Deadline, Ledger, Problem
from attain.models import Goal, Model
from attain.models.goal import Control
from attain.models.structure.additive import AdditiveScore, additive_score
from attain.models.structure.compiled import compile_score
from attain.models.structure.encoding import StructureError
from attain.population.reference import Reference
from attain.results.counterfactuals import Counterfactuals
from attain.results.details import Attributions, Plane, Related
from attain.results.status import Status
from attain.schema import Constraints
from attain.tables import Errors, Region, Table, desired_labels, unchanged

if TYPE_CHECKING:
    from attain.methods.base import Explainer

GivenConstraints = Constraints | Mapping[str, Any] | None


@dataclass(frozen=True)
class Asked:
    """What is asked of one call of `explain` besides the model, the target and the constraints."""

    n: int
    ranges: bool
    importance: bool
    contributions: bool
    timeout: float | None

    def __post_init__(self) -> None:
        check_integer("n", self.n, 1)
        for name in ("ranges", "importance", "contributions"):
            check_boolean(name, getattr(self, name))
        if self.timeout is not None:
            check_number("timeout", self.timeout, above=0)


class People(NamedTuple):
    """The people of one call.

    Attributes
    ----------
    table
        Their rows.
    goal
        The session's, with counts of its own.
    before
        What the model decides about them as they are.
    deadline
        By when they are done: their time begins when the model is asked about them.
    learned
        How many rows the model had been asked about before this call, to learn about it.
    """

    table: Table
    goal: Goal
    before: Decided
    deadline: Deadline
    learned: int


class Session:
    """An explainer, a model and what is asked of it; `explainer.session(model, target=...)` makes one.

    What is learned about the model is learned when it is first needed, and kept: which training rows have the desired
    decision, the real rows to compare with, what the method looks into. So a session takes its model and the parameters
    of its explainer as they were: for a model that was trained again make another one. Several threads may share it.

    Attributes
    ----------
    explainer
        The fitted explainer.
    goal
        The model, and what is asked of it.
    errors
        What becomes of rows that cannot be read, as in `explain`.
    """

    def __init__(self, explainer: Explainer, goal: Goal, errors: Errors) -> None:
        self.explainer, self.goal, self.errors = explainer, goal, errors
        self.lock = RLock()
        self._training = explainer.table_.values
        self._asked = np.zeros(len(self._training), dtype=bool)
        self._met, self._score = np.zeros(len(self._training), dtype=bool), np.full(len(self._training), np.nan)
        self._kept: dict[str, Any] = {}
        goal.compiled = compile_score(goal, self._training, self.judged)

    @property
    def target(self) -> Any:
        """The desired class, as the model names it."""
        return self.goal.target

    @property
    def classes(self) -> tuple[Any, ...]:
        """The model's classes."""
        return self.goal.classes

    def judged(self, at: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Which training rows meet the goal, and their scores, (n,) each; or only of those at these positions.

        The model is asked about each training row at most once.
        """
        with self.lock:
            if at is None and self._asked.all():
                return self._met, self._score
            at = np.arange(len(self._training)) if at is None else at
            new = at[~self._asked[at]]
            if len(new):
                judged = self.goal.judge(self._training[new])
                self._met[new], self._score[new], self._asked[new] = judged.met, judged.score, True
            return self._met[at], self._score[at]

    def kept(self, name: str, compute: Callable[[], Any]) -> Any:
        """What `compute` returns, computed when it is first asked for by this name."""
        with self.lock:
            if name not in self._kept:
                self._kept[name] = compute()
            return self._kept[name]

    @property
    def met(self) -> np.ndarray:
        """Which training rows have the desired decision, (n,)."""
        return self.judged()[0]

    @property
    def reference(self) -> Reference:
        """The real rows of the desired class."""
        explainer = self.explainer
        if not explainer.has_rows_:
            raise AttainError("this explainer was saved without its training rows, so it has no reference")
        met, labels = self.met, explainer.labels_

        def build() -> Reference:
            desired = None if labels is None else desired_labels(labels, self.target)
            space = explainer.space_
            return Reference.build(explainer.schema_, self._training, desired_labels=desired, met=met, space=space)

        reference: Reference = self.kept("reference", build)
        return reference

    @property
    def inspected(self) -> Any:
        """What the method's `_inspect` learned about the model."""
        with self.lock:
            if "inspected" not in self._kept:
                self._kept["inspected"] = self.explainer._inspect(self)
            return self._kept["inspected"]

    @property
    def additive_score(self) -> AdditiveScore | None:
        """The score of a linear model or tree ensemble; None for other models."""

        def read() -> AdditiveScore | None:
            try:
                return additive_score(self.goal, self._training)
            except StructureError:
                return None

        score: AdditiveScore | None = self.kept("additive_score", read)
        return score

    def holds_for(self, model: Model) -> bool:
        """Whether the model, wrapped again, still answers as when the session was made."""
        return self._anew({}, model).decide_again(self._training[:0]) is not None

    def _anew(self, unseen: Mapping[str, tuple[Any, ...]], model: Model) -> Goal:
        goal = self.goal.anew(unseen, model)
        if goal.labels_only:  # a few equal labels do not show that it is the same model
            goal.control = Control(self._training, *self.judged())
        return goal

    @overload
    def people(self, X: Frame, timeout: float | None) -> People: ...
    @overload
    def people(self, X: Frame, timeout: float | None, model: Model) -> People | None: ...
    def people(self, X: Frame, timeout: float | None, model: Model | None = None) -> People | None:
        """The rows of a frame, and what the model decides about them as they are.

        With the `model`, wrapped again, it is asked about the control in the same call; None if it does not answer as
        when the session was made.
        """
        table, learned = Table.read(one_row(X), self.explainer.schema_, errors=self.errors), self.goal.rows_asked
        rows, unseen = table.values[table.readable], table.layout.unseen
        goal = self.goal.anew(unseen) if model is None else self._anew(unseen, model)
        _ = self.inspected  # what is learned takes nobody's time
        deadline = Deadline(timeout, len(table))
        judged = goal.decide(rows) if model is None else goal.decide_again(rows)
        return None if judged is None else People(table, goal, Decided.of(table, judged), deadline, learned)

    def explain(
        self,
        X: Frame,
        *,
        n: int = 1,
        constraints: GivenConstraints = None,
        ranges: bool = False,
        importance: bool = False,
        contributions: bool = False,
        timeout: float | None = TIMEOUT,
    ) -> Counterfactuals:
        """For each row of `X`, the change that makes the model decide for the target; parameters as in `explain`."""
        asked = Asked(n, ranges, importance, contributions, timeout)
        return self.answer(self.people(X, timeout), constraints, asked)

    def answer(
        self, people: People, constraints: GivenConstraints, asked: Asked, others: Sequence[Goal] = ()
    ) -> Counterfactuals:
        """What `explain` returns for people whom the model was asked about; `others` are goals of further models."""
        explainer = self.explainer
        problem, outcome = self._problem(people, constraints, asked, others)
        size, measured = (
            explainer._batch_size(asked.n, problem.inspected),
            partial(explainer._measured, problem.inspected),
        )
        with Batches(problem, outcome, size, type(explainer).__name__) as batches:
            for batch in batches:
                batches.add(in_time(batch, explainer._search, explainer._price, measured, explainer._months_cost))
        answers = batches.answers(explainer.own_figures)
        result = self._result(people, constraints, asked, others, problem, outcome, answers)
        if batches.interrupted:
            raise Interrupted(result)
        return result

    def describe(
        self, X: Frame, answers: np.ndarray, *, constraints: GivenConstraints = None, **asked: Any
    ) -> Counterfactuals:
        """A result with these answers (m, d) for the one row of `X`, in their order, as if they had been found.

        `asked` is as in `explain`. The answers pass the last check like any others: one that changes nothing, breaks a
        rule or a constraint, or does not get the decision is left out.
        """
        wanted = {"ranges": False, "importance": False, "contributions": False, "timeout": TIMEOUT} | asked
        request = Asked(max(len(answers), 1), **wanted)
        people = self.people(X, request.timeout)
        problem, outcome = self._problem(people, constraints, request, ())
        given = answers if outcome[0] is None else answers[:0]
        own = np.repeat(people.table.values[:1], len(given), axis=0)
        figures = {"typicality": self.explainer._typicality(problem.inspected, given, own)}
        found = Answers(given, np.zeros(len(given), dtype=np.intp), np.arange(len(given), dtype=float), [], figures)
        outcome[0] = outcome[0] or Status.FOUND
        return self._result(people, constraints, request, (), problem, outcome, found)

    def _region(self, table: Table, constraints: GivenConstraints) -> Region:
        return Region.of(table, Constraints.of(constraints), self.explainer.observed_, self.explainer.book_)

    def _problem(
        self, people: People, constraints: GivenConstraints, asked: Asked, others: Sequence[Goal]
    ) -> tuple[Problem, list[Status | None]]:
        """What is to be searched, and how the search of each row ended, None where that is not known before it."""
        table, before, explainer = people.table, people.before, self.explainer
        if asked.contributions and not explainer.has_rows_:
            raise AttainError(
                "contributions compare with real people, but this explainer was saved without its training rows; save "
                "it with reference='rows'"
            )
        region = self._region(table, constraints)
        ledger = Ledger(len(table), explainer.budget, people.deadline)
        ledger.spent += before.asked
        further = tuple(other.anew(table.layout.unseen) for other in others)
        problem = Problem(people.goal, region, ledger, int(asked.n), explainer._seed, self.inspected, further)
        return problem, known_before(region, before.met, before.unreadable)

    def _result(
        self,
        people: People,
        constraints: GivenConstraints,
        asked: Asked,
        others: Sequence[Goal],
        problem: Problem,
        outcome: list[Status | None],
        answers: Answers,
    ) -> Counterfactuals:
        """The last check, and all that a result says about the answers that pass it."""
        explainer, table, goal, before, _, learned = self.explainer, *people
        answers, after = last_check(problem, outcome, answers)
        rows, owners, percentiles = answers.rows, answers.owners, explainer.percentiles_
        found = find_ranges(problem, rows, owners, percentiles) if asked.ranges else None
        searched = problem.rows_searched
        importances = None
        if asked.importance:
            typicality = partial(explainer._typicality, problem.inspected)
            importances = find_importances(problem, rows, owners, typicality)
        attributions = self._attributions(problem, ~np.isnan(before.score)) if asked.contributions else None
        factuals = table.values[owners]
        shifts = percentiles.shift(factuals, rows)
        option_figures = {"score_after": _rounded(after), **difficulty(rows, factuals, shifts, table.schema)}
        option_figures |= answers.figures
        if explainer.book_.timing is not None:
            option_figures["months"] = problem.region.months(rows, owners)
        related = None
        if explainer.figures and explainer.has_rows_:
            option_figures |= faithfulness(rows, self.reference) | explainer._more_figures(rows, self)
            relations, rate = explainer.relations_, explainer._refused
            if len(relations):
                option_figures["relations_p"] = np.round(relations.p_value(rows, factuals), 6)
                said = tuple(relations.contradictions(rows, factuals, rate))
                related = Related(relations.follows(rows, factuals, rate), said)
        failed = self.goal.reader.failed + goal.reader.failed - len(before.unreadable.keys() - table.refused.keys())
        asked_in_all = self.goal.rows_asked - learned + goal.rows_asked
        asked_in_all += sum(other.rows_asked for other in (*others, *problem.others))
        return Counterfactuals(
            table=table,
            method=type(explainer).__name__,
            target=goal.target,
            target_name=goal.model.class_names.get(goal.target),
            probability=goal.probability,
            statuses=tuple(status or Status.INTERRUPTED for status in outcome),
            rows=rows,
            owners=owners,
            percentiles=(percentiles.of(factuals), percentiles.of(rows), shifts),
            person_figures={
                "score_before": _rounded(before.score),
                "rows_scored": problem.ledger.spent,
                "diversity": diversity(rows, owners, len(table), explainer.space_),
            },
            option_figures=option_figures,
            notes=notes_on(self, problem, answers, failed, attributions),
            laws=explainer.laws_,
            rows_asked=asked_in_all,
            rows_uncharged=asked_in_all - searched,
            unreadable=before.unreadable,
            intervals=found,
            importances=importances,
            attributions=attributions,
            related=related,
            settings=call_settings(self, goal, others, constraints, {**asdict(asked), "errors": self.errors}),
        )

    def _attributions(self, problem: Problem, scored: np.ndarray) -> Attributions:
        goal, region = problem.goal, problem.region
        assert isinstance(goal, Goal)
        others = compared_with(self._training, self.met, self.explainer._seed)
        free = ~(fixed_cells(region) | np.array([feature.immutable for feature in region.schema]))
        find = partial(find_contributions, goal, problem, np.flatnonzero(scored), others, free)
        try:
            return find(None if goal.labels_only else self.additive_score)
        except StructureError:
            return find(None)

    def recheck(self, result: Counterfactuals, constraints: GivenConstraints = None) -> Recheck:
        """The people of a result of this session, to check options of theirs that somebody has altered.

        `constraints` are those of the call.
        """
        return Recheck(self, result, self._region(result.table, constraints))

    def assess(self, table: Table, *, typicality: bool = True) -> list[Assessed]:
        """What is known about each row without a search; without `typicality`, which takes longer, `level` is None."""
        rows, readable = table.values, table.readable
        said = self.goal.anew(table.layout.unseen).classify(rows[readable])
        levels = np.full(len(rows), math.nan)
        if typicality and len(readable):
            levels[readable] = self.explainer._typicality(self.inspected, rows[readable])
        return assessed(table, said, levels, self.explainer.book_, self.explainer.percentiles_)

    def completed(self, person: Table, edited: Table) -> Table:
        """The edited rows with what follows from others: computed columns, and clocks for the time it takes.

        A row with a value that cannot be computed, such as a share of nothing, cannot be read.
        """
        region = self._region(person, None).after(edited.values, np.arange(len(edited.values)))
        clocks, values = list(region.schema.clocks), edited.values.copy()
        values[:, clocks] = region.start[:, clocks]
        values = region.derived(values, region.factuals)
        refused, titles = dict(edited.refused), [feature.title for feature in edited.schema]
        for i, j in np.argwhere(np.isinf(values)).tolist():
            refused.setdefault(i, f"{titles[j]} cannot be computed from these values")
            values[i, j] = math.nan
        return replace(edited, values=values, refused=refused)

    def compare(self, person: Table, edited: Table, constraints: GivenConstraints = None) -> Compared:
        """The first row of `edited` beside the first of `person`; both can be read."""
        explainer, owners = self.explainer, np.zeros(1, dtype=np.intp)
        rows, own = edited.values[:1], person.values[:1]
        region = self._region(person, constraints)
        violated = [kind for kind, broken in region.violations(rows, owners).items() if broken[0]]
        texts = {rule.text for rule in explainer.book_.rules}
        figures = difficulty(rows, own, explainer.percentiles_.shift(own, rows), explainer.schema_)
        if explainer.has_rows_:
            figures |= faithfulness(rows, self.reference)
        return Compared(
            flips=bool(self.goal.anew(edited.layout.unseen).decide(rows).met[0]),
            allowed=not violated,
            violated=tuple(kind for kind in violated if kind not in texts),
            changed=tuple(np.array(explainer.schema_.names)[~unchanged(own, rows)[0]].tolist()),
            total_shift=rounded(100 * figures["total_shift"][0], 3),
            max_shift=rounded(100 * figures["max_shift"][0], 3),
            outlier=verdict(figures, "outlier"),
            connected=verdict(figures, "connected"),
            months=float(region.months(rows, owners)[0]) if explainer.book_.timing is not None else 0.0,
        )

    def plane(self, factuals: np.ndarray, options: np.ndarray) -> Plane:
        """Real people, rows and decision regions in a plane, for `result.plot.map`.

        It is that of the two leading principal components of the training rows, in the measuring space or, for methods
        with an autoencoder, in its latent space; a point has the decisions about real people nearby. Where a latent
        space has two dimensions and `factuals` one row, the regions are decisions about decoded rows that keep this
        row's immutable features.

        Parameters
        ----------
        factuals, options
            Rows of the matrix, (p, d) and (m, d).
        """
        if not self.explainer.has_rows_:
            raise AttainError("this explainer was saved without its training rows, so there are no people to show")
        chosen = spaced(len(self._training), MOST_SHOWN)
        rows = np.concatenate([self._training[chosen], factuals, options])
        return self.explainer._plane(self.goal, self.met[chosen], rows, factuals)


def _rounded(score: np.ndarray) -> np.ndarray:
    """Scores to six decimals: a model's last bits depend on how many rows it is asked about at once."""
    return np.round(score, 6) + 0.0


_KEPT: Final = 4
"""How many sessions are kept; the one used longest ago is forgotten first."""


class Request(NamedTuple):
    """A model, what is asked of it, and the parameters of the explainer that what is learned depends on.

    Attributes
    ----------
    model, wrapped
        What the user passed, and the same as a `Model`.
    """

    model: Any
    wrapped: Model
    target: Any
    probability: float | None
    errors: Errors
    parameters: str

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.model), repr(self.target), self.probability, self.errors, self.parameters


class Sessions:
    """The sessions of the models and requests seen last, found by the model object and what is asked of it."""

    def __init__(self) -> None:
        self._forget()
        _alive.add(self)

    def _forget(self) -> None:
        self._lock, self.making = RLock(), RLock()
        self._known: OrderedDict[tuple[Any, ...], tuple[Any, Session]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, request: Request) -> Session | None:
        """The session of a model that lists the same classes as when it was made."""
        with self._lock:
            known, session = self._known.get(request.key, (None, None))
            classes = request.wrapped.adapter.classes
            if session is None or known is not request.model or session.goal.model.adapter.classes != classes:
                return None
            self._known.move_to_end(request.key)
            return session

    def keep(self, request: Request, session: Session) -> Session:
        """Keeps a session with its model, so that no other object has that identity."""
        with self._lock:
            self._known[request.key] = (request.model, session)
            self._known.move_to_end(request.key)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return session

    def after_fork(self) -> None:
        """In a forked process, forgets what another thread was learning when it was forked: there it never ends."""
        locks = (self._lock, self.making, *(session.lock for _, session in self._known.values()))
        if any(map(_held, locks)):
            self._forget()


def _held(lock: Any) -> bool:
    """Whether another thread holds a lock."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


_alive: weakref.WeakSet[Sessions] = weakref.WeakSet()


def _after_fork() -> None:
    for sessions in list(_alive):
        sessions.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
