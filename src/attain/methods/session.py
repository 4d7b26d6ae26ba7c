"""`Session`: an explainer, a model and what is asked of it. All that is learned about these is learned once.

The path of a question: `explain` → `Session.answer` → the method's `_search` → `Problem.evaluate` → `Goal.score_rows` →
`Reader.read` → the model."""

from __future__ import annotations

import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, overload

import numpy as np

from attain.core.checks import TIMEOUT, check_boolean, check_integer, check_number
from attain.core.errors import AttainError, Interrupted
from attain.core.frames import Frame, one_row
from attain.methods.result import result_of
from attain.methods.search.outcomes import Batches, Decided, in_time, known_before, last_check
from attain.methods.search.problem import Answers, Deadline, Ledger, Problem
from attain.models import Goal, Model, probe_rows
from attain.models.goal import Control, StructureError, spread_positions
from attain.models.reader import LearningLimit
from attain.models.scores import AdditiveScore, additive_score, compile_score
from attain.population.reference import Reference
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from attain.schema import Constraints
from attain.tables import Errors, Region, Table, desired_labels

if TYPE_CHECKING:
    from attain.methods.base import Explainer

_LONGEST: Final = 0.5
"""The most seconds that a call asks, on average, whether the model still answers as before."""

T = TypeVar("T")

GivenConstraints = Constraints | Mapping[str, Any] | None


@dataclass(frozen=True)
class Call:
    """The arguments of one call of `explain`, but for model, people and target; `others` are goals of other models."""

    n: int = 1
    constraints: GivenConstraints = None
    ranges: bool = False
    importance: bool = False
    contributions: bool = False
    timeout: float | None = TIMEOUT
    allow_unreviewed: bool = False
    others: Sequence[Goal] = ()

    def __post_init__(self) -> None:
        check_integer("n", self.n, 1)
        for name in ("ranges", "importance", "contributions", "allow_unreviewed"):
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
    asked_before
        How many rows the model had been asked about before this call, to learn about it.
    """

    table: Table
    goal: Goal
    before: Decided
    deadline: Deadline
    asked_before: int


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
        What becomes of rows that cannot be read, as in `Explainer.explain`.
    """

    def __init__(self, explainer: Explainer, goal: Goal, errors: Errors, limit: LearningLimit | None = None) -> None:
        self.explainer, self.goal, self.errors = explainer, goal, errors
        self.lock = RLock()
        self.training = explainer.table_.values
        self._asked = np.zeros(len(self.training), dtype=bool)
        self._met, self._score = np.zeros(len(self.training), dtype=bool), np.full(len(self.training), np.nan)
        self._failed = np.zeros(len(self.training), dtype=bool)
        with goal.learning_within(limit):
            goal.compiled = compile_score(goal, self.training, self.judged)

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
            at = np.arange(len(self.training)) if at is None else at
            new = at[~self._asked[at]]
            if len(new):
                judged = self.goal.score_rows(self.training[new])
                self._met[new], self._score[new], self._asked[new] = judged.met, judged.score, True
                self._failed[new[list(judged.failures)]] = True
            return self._met[at], self._score[at]

    def cached(self, name: str, compute: Callable[[], T]) -> T:
        """What `compute` returns, computed when it is first asked for by this name."""
        with self.lock:
            return self.goal.cached(name, compute)

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

        def build() -> Reference:
            desired = None if explainer.labels_ is None else desired_labels(explainer.labels_, self.target)
            space, met = explainer.space_, self.judged()[0]
            return Reference.build(explainer.schema_, self.training, desired_labels=desired, met=met, space=space)

        return self.cached("reference", build)

    @property
    def inspected(self) -> Any:
        """What the method's `_inspect` learned about the model."""
        return self.cached("inspected", partial(self.explainer._inspect, self))

    @property
    def additive_score(self) -> AdditiveScore | None:
        """The score of a linear model or tree ensemble; None for other models, and for those that give labels only."""
        try:
            with self.lock:
                return None if self.goal.labels_only else additive_score(self.goal, self.training)
        except StructureError:
            return None

    def holds_for(self, model: Model) -> bool:
        """Whether the model, wrapped again, still answers as when the session was made."""
        return self._fresh_goal({}, model).confirm_again(self.training[:0]) is not None

    def _fresh_goal(self, unseen: Mapping[str, tuple[Any, ...]], model: Model) -> Goal:
        goal = self.goal.fresh_copy(unseen, model)
        goal.control = self.control
        return goal

    @property
    def control(self) -> Control:
        """What a model has to answer as it did, in each call.

        Where it gives no scores, these are all training rows that it does not fail on: a few equal labels do not show
        that it is the same model. Where the model is slow, only some of them are kept.
        """

        def chosen() -> Control:
            control = self.goal.control
            if self.goal.labels_only:
                met, score = self.judged()
                takes = ~self._failed
                control = Control(self.training[takes], met[takes], score[takes])
            n, seconds = len(control.rows), len(control.rows) * self.goal.seconds_per_row
            if seconds <= _LONGEST:
                return control
            some = spread_positions(n, max(int(n * _LONGEST / seconds), 1))
            return Control(*(part[some] for part in control))

        return self.cached("control", chosen)

    @overload
    def people(self, X: Frame, timeout: float | None, *, limit: LearningLimit | None = None) -> People: ...
    @overload
    def people(self, X: Frame, timeout: float | None, model: Model) -> People | None: ...
    def people(
        self, X: Frame, timeout: float | None, model: Model | None = None, limit: LearningLimit | None = None
    ) -> People | None:
        """The rows of a frame, and what the model decides about them as they are.

        `model` is the same model, wrapped again: it is asked about the control in the same call. None if it does not
        answer about that as when the session was made. `limit` is what is left of a limit of learning, else a new one.
        """
        table, asked_before = Table.read(one_row(X), self.explainer.schema_, errors=self.errors), self.goal.rows_asked
        rows, unseen = table.values[table.readable], table.layout.unseen
        limit = limit or learning_limit(self.explainer, timeout, len(table))
        with self.lock, self.goal.learning_within(limit):  # in nobody's own time
            _ = self.inspected
            if self.explainer.figures and self.explainer.has_rows_:
                _ = self.reference
            if model is not None:
                _ = self.control
        goal = self.goal.fresh_copy(unseen) if model is None else self._fresh_goal(unseen, model)
        deadline = Deadline(timeout, len(table))
        judged = goal.confirm_rows(rows) if model is None else goal.confirm_again(rows)
        return None if judged is None else People(table, goal, Decided.of(table, judged), deadline, asked_before)

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
        allow_unreviewed: bool = False,
    ) -> Counterfactuals:
        """For each row of `X`, the change that makes the model decide for the target; see `Explainer.explain`."""
        call = Call(n, constraints, ranges, importance, contributions, timeout, allow_unreviewed)
        return self.answer(self.people(X, timeout), call)

    def answer(self, people: People, call: Call) -> Counterfactuals:
        """What `explain` returns for people whom the model was asked about."""
        explainer = self.explainer
        problem, outcome = self._problem(people, call)
        measured = partial(explainer._measured, problem.inspected)
        size = explainer._batch_size(call.n, problem.inspected)
        with Batches(problem, outcome, size, type(explainer).__name__) as batches:
            for batch in batches:
                try:
                    found = in_time(batch, explainer._search, explainer._price, measured, explainer._months_cost)
                    found = last_check(batch, explainer._choose(batch, found))
                except AttainError:  # a sentence about the call
                    raise
                except Exception as error:
                    if self.errors == "raise":
                        raise
                    batches.fail(error)
                else:
                    batches.add(found)
        answers = batches.answers(("score_after", *explainer.own_figures))
        result = result_of(self, people, call, problem, outcome, answers, batches.failures)
        if batches.interrupted:
            raise Interrupted(result)
        return result

    def describe(self, X: Frame, answers: np.ndarray, **arguments: Any) -> Counterfactuals:
        """A result with these answers (m, d) for the one row of `X`, in their order, as if they had been found.

        `arguments` are those of `Explainer.explain`. The answers pass the last check like any others: one that changes
        nothing, breaks a rule or a constraint, or does not get the decision is left out.
        """
        call = Call(max(len(answers), 1), **arguments)
        people = self.people(X, call.timeout)
        problem, outcome = self._problem(people, call)
        given = answers if outcome[0] is None else answers[:0]
        own = np.repeat(people.table.values[:1], len(given), axis=0)
        figures = {"typicality": self.explainer._typicality(problem.inspected, given, own)}
        found = Answers(given, np.zeros(len(given), dtype=np.intp), np.arange(len(given), dtype=float), [], figures)
        checked = last_check(problem, replace(found, status=[Status.FOUND]))
        return result_of(self, people, call, problem, [outcome[0] or checked.status[0]], checked, {})

    def region(self, table: Table, constraints: GivenConstraints) -> Region:
        """What the rows of a table may become."""
        return Region.of(table, Constraints.of(constraints), self.explainer.observed_, self.explainer.book_)

    def _problem(self, people: People, call: Call) -> tuple[Problem, list[Status | None]]:
        """What is to be searched, and how the search of each row ended, None where that is not known before it."""
        table, before, explainer = people.table, people.before, self.explainer
        if call.contributions and not explainer.has_rows_:
            raise AttainError(
                "contributions compare with real people, but this explainer was saved without its training rows; save "
                "it with reference='rows'"
            )
        region = self.region(table, call.constraints)
        ledger = Ledger(len(table), explainer.budget, people.deadline)
        ledger.spent += before.asked
        others = tuple(other.fresh_copy(table.layout.unseen) for other in call.others)
        problem = Problem(people.goal, region, ledger, int(call.n), explainer._seed, self.inspected, others)
        return problem, known_before(region, before.met, before.unreadable)


def learning_limit(explainer: Explainer, timeout: float | None, people: int) -> LearningLimit:
    """The limit of learning about a model: as long as the people have together."""
    rows = explainer.table_.values
    return LearningLimit(timeout, max(people, 1), len(rows) + 4 * len(probe_rows(rows)))


_MOST_SESSIONS: Final = 4
"""How many sessions are kept; the one used longest ago is forgotten first."""


class Request(NamedTuple):
    """A model and what an explainer is asked about it.

    Attributes
    ----------
    model, wrapped
        What the user passed, and the same as a `Model`.
    parameters
        Those of the explainer that what is learned depends on.
    """

    explainer: Explainer
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
        self._known: OrderedDict[tuple[Any, ...], tuple[Any, Session]] = OrderedDict()
        self.renew_locks()
        _alive.add(self)

    def renew_locks(self) -> None:
        """In a forked process nobody would release a lock that another thread held when it was forked."""
        self._lock, self._making = RLock(), RLock()
        for _, session in self._known.values():
            session.lock = RLock()

    def __len__(self) -> int:
        return len(self._known)

    def session(self, request: Request) -> Session:
        """The session of a request; a known one if the model still answers as when it was made."""
        session = self._find(request)
        return session if session is not None and session.holds_for(request.wrapped) else self._new(request, session)

    def explain(self, request: Request, X: Frame, call: Call) -> Counterfactuals:
        """The answers of the session of a request; whether a known one still holds is asked along with the people."""
        session = self._find(request)
        people = None if session is None else session.people(X, call.timeout, request.wrapped)
        if session is None or people is None:
            rows = len(Table.read(one_row(X), request.explainer.schema_, errors=request.errors))
            limit = learning_limit(request.explainer, call.timeout, rows)
            session = self._new(request, session, limit)
            # all that the new session has learned was asked in this call
            people = session.people(X, call.timeout, limit=limit)._replace(asked_before=0)
        return session.answer(people, call)

    def _find(self, request: Request) -> Session | None:
        """The session of a model that lists the same classes as when it was made."""
        with self._lock:
            known, session = self._known.get(request.key, (None, None))
            classes = request.wrapped.adapter.classes
            if session is None or known is not request.model or session.goal.model.adapter.classes != classes:
                return None
            self._known.move_to_end(request.key)
            return session

    def _new(self, request: Request, old: Session | None, limit: LearningLimit | None = None) -> Session:
        """A session instead of the old one, unless another thread has made one meanwhile.

        It is kept with its model, so that no other object has that identity.
        """
        with self._making:
            session = self._find(request)
            if session is None or session is old:
                explainer, tolerant = request.explainer, request.errors == "status"
                goal = explainer._goal(
                    request.wrapped, request.target, request.probability, tolerant=tolerant, limit=limit
                )
                session = Session(explainer, goal, request.errors, limit)
                with self._lock:
                    self._known[request.key] = (request.model, session)
                    self._known.move_to_end(request.key)
                    while len(self._known) > _MOST_SESSIONS:
                        self._known.popitem(last=False)
            return session


_alive: weakref.WeakSet[Sessions] = weakref.WeakSet()


def _after_fork() -> None:
    for sessions in list(_alive):
        sessions.renew_locks()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
