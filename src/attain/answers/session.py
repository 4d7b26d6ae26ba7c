"""`Session`: an explainer, a model and what is asked of it. All that is learned about these is learned once.

The path of a question: `explain` → `Session.answer` → the method's `search` → `Problem.ask` → `Goal.score_rows` →
`Reader.read` → the model."""

from __future__ import annotations

import os
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import Any, Final, NamedTuple, Protocol, overload

import numpy as np

from attain.answers.result import result_of
from attain.core.errors import TIMEOUT, AttainError, Interrupted, check_boolean, check_integer, check_number
from attain.core.frames import Frame, one_row
from attain.models import Goal, Model
from attain.models.compiled import compile_score
from attain.models.goal import Control, StructureError
from attain.models.reader import PROBE_ROWS, LearningLimit, spread_positions
from attain.models.scores import AdditiveScore, additive_score
from attain.population.population import DecidedPopulation, Population
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from attain.schema import Constraints, Schema
from attain.search.horizons import over_horizons, shift_price
from attain.search.problem import Answers, Deadline, Ledger, Problem
from attain.search.statuses import Batches, FirstDecision, last_check, status_before_search
from attain.tables import Errors, Region, Table

_LONGEST: Final = 0.5
"""How many seconds asking about the control may take in a call, by the model's mean time per row."""

GivenConstraints = Constraints | Mapping[str, Any] | None


class Explainer(Protocol):
    """The part of `attain.methods.base.Explainer` that a session uses, once it is fitted."""

    schema: Schema | None
    budget: int
    figures: bool
    population_: Population

    @property
    def compares_times(self) -> bool: ...
    @property
    def own_figures(self) -> tuple[str, ...]: ...
    @property
    def _seed(self) -> int: ...
    def inspect(self, decided: DecidedPopulation) -> Any: ...
    def search(self, problem: Problem) -> Answers: ...
    def _batch_size(self, n: int, inspected: Any) -> int: ...
    def _more_figures(self, rows: np.ndarray, decided: DecidedPopulation) -> dict[str, np.ndarray]: ...
    def _typicality(self, inspected: Any, rows: np.ndarray, own: np.ndarray | None = None) -> np.ndarray: ...
    def _notes(self, inspected: Any) -> tuple[str, ...]: ...
    def _described(self) -> dict[str, Any]: ...
    def _goal(
        self, model: Any, target: Any, probability: float | None, *, tolerant: bool = True, limit: LearningLimit | None
    ) -> Goal: ...


@dataclass(frozen=True)
class Call:
    """The arguments of `explain` that choose neither session nor people; `others` are goals of other models."""

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
        A copy of the session's goal that counts the questions of this call.
    before
        What the model decides about them as they are.
    deadline
        When the work on them must end; the time starts just before the model is asked about them.
    asked_before
        How many rows the model had been asked about before this call, to learn about it.
    """

    table: Table
    goal: Goal
    before: FirstDecision
    deadline: Deadline
    asked_before: int


class Session:
    """An explainer, a model and what is asked of it; `explainer.session(model, target=...)` makes one.

    What is learned about the model is learned when it is first needed, and kept: which training rows have the desired
    decision, the real rows to compare with, and what the method's `inspect` returns. A session assumes that neither its
    model nor the parameters of its explainer change: for a model that was trained again make another one. Several
    threads may share it.

    Attributes
    ----------
    explainer
        The fitted explainer.
    decided
        The training rows, and what the model decides about them; its `goal` is the model and what is asked of it.
    errors
        What becomes of rows that cannot be read, and of searches that fail, as in `Explainer.explain`.
    """

    def __init__(self, explainer: Explainer, goal: Goal, errors: Errors, limit: LearningLimit | None = None) -> None:
        self.explainer, self.errors = explainer, errors
        self.decided = DecidedPopulation(explainer.population_, goal)
        with goal.learning_within(limit):
            goal.compiled = compile_score(goal, explainer.population_.values, self.decided.judged)

    @property
    def target(self) -> Any:
        """The desired class, as the model names it."""
        return self.decided.goal.target

    @property
    def classes(self) -> tuple[Any, ...]:
        """The model's classes."""
        return self.decided.goal.classes

    @property
    def inspected(self) -> Any:
        """What the method's `inspect` learned about the model."""
        return self.decided.cached("inspected", partial(self.explainer.inspect, self.decided))

    @property
    def additive_score(self) -> AdditiveScore | None:
        """The score of a linear model or tree ensemble; None for other models, and for those that give labels only."""
        decided = self.decided
        try:
            with decided.lock:
                return None if decided.goal.labels_only else additive_score(decided.goal, decided.population.values)
        except StructureError:
            return None

    def holds_for(self, model: Model) -> bool:
        """Whether the model, wrapped again, still answers as when the session was made."""
        return self._fresh_goal({}, model).confirm_again(self.decided.population.values[:0]) is not None

    def _fresh_goal(self, unseen: Mapping[str, tuple[Any, ...]], model: Model) -> Goal:
        goal = self.decided.goal.fresh_copy(unseen, model)
        goal.control = self.control
        return goal

    @property
    def control(self) -> Control:
        """The rows, with what the model said of them, by which each call sees that it is unchanged.

        Where it gives no scores, these are all training rows that it does not fail on: a few equal labels do not show
        that it is the same model. Where the model is slow, only some of them are kept.
        """
        decided = self.decided

        def chosen() -> Control:
            control = decided.goal.control
            if decided.goal.labels_only:
                met, score = decided.judged()
                takes = ~decided.failed
                control = Control(decided.population.values[takes], met[takes], score[takes])
            n = len(control.rows)
            seconds = n * decided.goal.reader.seconds / max(decided.goal.rows_asked, 1)
            if seconds <= _LONGEST:
                return control
            some = spread_positions(n, max(int(n * _LONGEST / seconds), 1))
            return Control(*(part[some] for part in control))

        return decided.cached("control", chosen)

    @overload
    def people(self, X: Frame, timeout: float | None, *, limit: LearningLimit | None = None) -> People: ...
    @overload
    def people(self, X: Frame, timeout: float | None, model: Model) -> People | None: ...
    def people(
        self, X: Frame, timeout: float | None, model: Model | None = None, limit: LearningLimit | None = None
    ) -> People | None:
        """The rows of a frame, and what the model decides about them as they are.

        `model` is the same model, wrapped again: it is asked about the control in the same call. None if it
        answers otherwise than when the session was made. `limit` is a limit of learning that is partly used; by default
        a new one.
        """
        decided = self.decided
        asked_before = decided.goal.rows_asked
        table = Table.read(one_row(X), decided.population.schema, errors=self.errors)
        rows, unseen = table.values[table.readable], table.layout.unseen
        limit = limit or learning_limit(self.explainer, timeout, len(table))
        with decided.lock, decided.goal.learning_within(limit):  # learned now, so that it takes nobody's time
            _ = self.inspected
            if self.explainer.figures and decided.population.has_rows:
                decided.judged()  # asks the model here, few frames below `explain`
                _ = decided.reference
            if model is not None:
                _ = self.control
        goal = decided.goal.fresh_copy(unseen) if model is None else self._fresh_goal(unseen, model)
        deadline = Deadline(timeout, len(table))
        judged = goal.confirm_rows(rows) if model is None else goal.confirm_again(rows)
        return None if judged is None else People(table, goal, FirstDecision.of(table, judged), deadline, asked_before)

    def explain(self, X: Frame, **arguments: Any) -> Counterfactuals:
        """For each row of `X`, the change that makes the model decide for the target.

        `arguments` are those of `Explainer.explain` from `n` on, but for `errors`.
        """
        call = Call(**arguments)
        return self.answer(self.people(X, call.timeout), call)

    def answer(self, people: People, call: Call) -> Counterfactuals:
        """What `explain` returns for people whom the model was asked about."""
        explainer = self.explainer
        problem, outcome = self._problem(people, call)
        search, price = explainer.search, shift_price(explainer.population_.percentiles)
        size = explainer._batch_size(call.n, problem.inspected)
        with Batches(problem, outcome, size, type(explainer).__name__) as batches:
            for batch in batches:
                try:
                    found = search(batch) if explainer.compares_times else over_horizons(batch, search, price)
                    found = last_check(batch, found)
                except AttainError:  # written for the user
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

        `arguments` are those of `explain` after `n`. The last check puts the answers into final form, and leaves out
        those that change nothing, break a rule or a constraint, or do not get the decision.
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
        population = self.decided.population
        return Region.of(table, Constraints.of(constraints), population.observed, population.rule_book)

    def _problem(self, people: People, call: Call) -> tuple[Problem, list[Status | None]]:
        """The problem, and the status of each row that needs no search, else None."""
        table, before, explainer = people.table, people.before, self.explainer
        if call.contributions and not explainer.population_.has_rows:
            raise AttainError(
                "contributions compare with real people, but this explainer was saved without its training rows; save "
                "it with reference='rows'"
            )
        region = self.region(table, call.constraints)
        ledger = Ledger(len(table), explainer.budget, people.deadline)
        ledger.spent += before.asked
        others = tuple(other.fresh_copy(table.layout.unseen) for other in call.others)
        problem = Problem(people.goal, region, ledger, int(call.n), explainer._seed, self.inspected, others)
        return problem, status_before_search(region, before.met, before.unreadable)


def learning_limit(explainer: Explainer, timeout: float | None, people: int) -> LearningLimit:
    """The limit of learning about a model: the time that all people have together."""
    probed = 4 * PROBE_ROWS  # scores and labels, twice each
    return LearningLimit(timeout, max(people, 1), len(explainer.population_.values) + probed)


_MOST_SESSIONS: Final = 4
"""How many sessions are kept; the one used longest ago is forgotten first."""


class Request(NamedTuple):
    """A model and what an explainer is asked about it.

    Attributes
    ----------
    model, wrapped
        What the user passed, and the same as a `Model`.
    parameters
        The parameters of the explainer that a session depends on, as text.
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
        """Makes new locks: in a forked process, one that another thread held would never be released."""
        self._lock, self._making = RLock(), RLock()
        for _, session in self._known.values():
            session.decided.lock = RLock()

    def __len__(self) -> int:
        return len(self._known)

    def session(self, request: Request) -> Session:
        """The session of a request; a known one if the model still answers as when it was made."""
        session = self._find(request)
        return session if session is not None and session.holds_for(request.wrapped) else self._new(request, session)

    def people(self, request: Request, X: Frame, timeout: float | None) -> tuple[Session, People]:
        """The session of a request, and its people; a known session is tested in the call that asks about them."""
        session = self._find(request)
        people = None if session is None else session.people(X, timeout, request.wrapped)
        if session is None or people is None:
            rows = len(Table.read(one_row(X), request.explainer.population_.schema, errors=request.errors))
            limit = learning_limit(request.explainer, timeout, rows)
            session = self._new(request, session, limit)
            # nothing was asked before this call
            people = session.people(X, timeout, limit=limit)._replace(asked_before=0)
        return session, people

    def _find(self, request: Request) -> Session | None:
        """The stored session of a request, if it is of the same model object with the same classes."""
        with self._lock:
            known, session = self._known.get(request.key, (None, None))
            classes = request.wrapped.adapter.classes
            if session is None or known is not request.model or session.decided.goal.model.adapter.classes != classes:
                return None
            self._known.move_to_end(request.key)
            return session

    def _new(self, request: Request, old: Session | None, limit: LearningLimit | None = None) -> Session:
        """A session instead of the old one, unless another thread has made one meanwhile.

        It is kept with its model, so that no other object gets the same `id`.
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
