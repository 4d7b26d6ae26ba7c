"""The contract of every method: fit on a frame, explain rows to a model, one result type.

A method implements `search` (answers for a batch of rows) and, where it learns from the training rows or looks at the
model itself, `prepare` and `inspect`. Everything a promise rests on is done here, once for all methods:
reading frames, resolving rules, the budget, the last check, the figures. So no method can return a row that fails to
flip the decision or violates a rule. Nothing that belongs to one call is stored on the explainer, so that several
threads can use it at once."""

from __future__ import annotations

import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from attain.answers.session import Call, Request, Session, Sessions
from attain.core.errors import TIMEOUT, AttainError, DataError, check_choice, check_integer, check_number
from attain.core.frames import Frame
from attain.models import Goal, Model, probe_rows
from attain.models.reader import LearningLimit
from attain.population.population import DecidedPopulation, GivenLaws, Population
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Constraints, Schema
from attain.schema.laws import Law
from attain.search.problem import Answers, Problem
from attain.tables import Errors, Table, read_labels


def integer(default: int | None, least: int) -> Any:
    """A field for an integer ≥ `least`."""
    return _checked(default, lambda name, value: check_integer(name, value, least))


def number(default: float | None, **limits: float) -> Any:
    """A field for a number within limits: `least`, `above` or `below`."""
    return _checked(default, lambda name, value: check_number(name, value, **limits))


def choice(default: str, known: Any) -> Any:
    """A field for one of the `known` values: a `Literal`."""
    return _checked(default, lambda name, value: check_choice(name, value, get_args(known)))


def _checked(default: Any, check: Callable[[str, Any], None]) -> Any:
    return field(default=default, metadata={"check": check})


_LEARNED_BY = ("schema", "autoencoder")
"""Parameters that only `fit` looks at."""


def check_fields(explainer: Any) -> None:
    """Refuses values that the fields do not take, in a sentence that names the parameter.

    A class that only gives a parameter another default keeps the check of its parent.
    """
    checks: dict[str, Callable[[str, Any], None]] = {}
    for parent in reversed(type(explainer).__mro__):
        declared = getattr(parent, "__dataclass_fields__", {})
        checks |= {name: item.metadata["check"] for name, item in declared.items() if "check" in item.metadata}
    for parameter in fields(explainer):
        value, name = getattr(explainer, parameter.name), parameter.name
        if name in checks and not (value is None and parameter.default is None):
            checks[name](name, value)


@dataclass(kw_only=True, eq=False, repr=False)
class Explainer(BaseEstimator, ABC):
    """What all methods share; see the module's text.

    The parameters of a method are the fields of its class, all but `schema` by keyword: those below, and its own. `fit`
    learns `population_`: all that the training rows say without a model.
    """

    citation: ClassVar[str]
    """The method's publication: an entry of `citations.bib`, or BibTeX."""
    needs_rows: ClassVar[bool] = False
    """Whether the method cannot work without its training rows, so that it cannot be saved without them."""
    compares_times: ClassVar[bool] = False
    """Whether the method's search itself compares answers after several numbers of months (`over_horizons`)."""
    own_figures: ClassVar[tuple[str, ...]] = ()
    """The figures that the method's search gives for each answer; results without an answer have them, too."""

    schema: Schema | None = field(default=None, kw_only=False)
    laws: GivenLaws = "found"
    budget: int = integer(20_000, least=2)
    margin: float = number(1e-6, least=0)
    figures: bool = True
    random_state: int | None = 0

    def fit(self, X: Frame, y: Any = None) -> Self:
        """Learns from rows like those to be explained; their true labels `y` let answers be compared with real rows.

        Without a schema one is inferred, with nothing immutable: better look at it first (`Schema.infer`).
        """
        self._fit_population(X, y)
        self.prepare(self.population_)
        return self

    def _fit_population(self, X: Frame, y: Any) -> None:
        """Checks the parameters, and reads the training data."""
        self._check_parameters()
        schema = Schema.infer(X) if self.schema is None else self.schema
        if not isinstance(schema, Schema):
            raise AttainError(f"schema must be an attain.Schema, or None to infer one, got a {type(schema).__name__}")
        table = Table.read(X, schema)
        if len(table) < 2:
            raise DataError(f"X has {len(table)} rows; fitting takes at least 2, and hundreds to be of use")
        self._keep(Population.fit(table, None if y is None else read_labels(y, table.labels), self.laws))
        for note in self.population_.notes:
            warnings.warn(note, stacklevel=3)

    def _keep(self, population: Population) -> None:
        self.population_ = population
        self.n_features_in_ = len(population.schema)
        self.feature_names_in_ = np.array(population.table.layout.columns, dtype=object)
        self.drawn_seed_ = int(np.random.default_rng().integers(2**32))
        self._sessions = Sessions()
        self._digests: tuple[str | None, str | None] | None = None
        self._checked: str | None = None  # the parameters that were checked last

    def save(self, path: str | os.PathLike[str], reference: Literal["rows", "none"] = "rows") -> None:
        """Writes the fitted explainer into one file, atomically; `attain.load` reads it.

        Parameters
        ----------
        path
            The file.
        reference
            What the file keeps of the training data. `"rows"`: the training rows and their labels. `"none"`: only each
            column's distribution, every column shuffled by itself: answers are the same, outlier and connectedness are
            missing, and methods that search among the rows are refused.
        """
        from attain.methods.persistence import save

        self._check_fitted()
        save(self, path, reference)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what was learned about models, which holds locks and belongs to those models."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_sessions"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._sessions = Sessions()

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What `prepare` learned that is not cheap to learn again, as JSON and arrays."""
        return {}, {}

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Takes back what `_learned` gave; by default everything is learned again from the rows."""
        self.prepare(self.population_)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may feed to `fit`: missing cells, strings and categories too."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def prepare(self, population: Population) -> None:
        """Learns what the method needs from the training rows, beyond what every population knows of itself."""

    def inspect(self, decided: DecidedPopulation) -> Any:
        """What the method needs to know about a model and request; `search` finds it as `problem.inspected`.

        It is kept with the session. A model that the method cannot take is refused here, in a sentence.
        """
        return None

    @abstractmethod
    def search(self, problem: Problem) -> Answers:
        """Answers for a batch of rows whose decision is not the desired one and that can change."""

    @abstractmethod
    def _batch_size(self, n: int, inspected: Any) -> int:
        """How many rows go through one call of `search` for `n` options each, so that memory stays bounded."""

    def _more_figures(self, rows: np.ndarray, decided: DecidedPopulation) -> dict[str, np.ndarray]:
        """Figures that compare answers with real rows in a way of the method's own, one per option."""
        return {}

    def _typicality(self, inspected: Any, rows: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
        """How typical rows are, as members of `Typicality`, (n,); NaN where the method does not say.

        A row may be as far off a relation as that of its person, `own` (n, d).
        """
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
        ranges: bool = False,
        importance: bool = False,
        contributions: bool = False,
        timeout: float | None = TIMEOUT,
        allow_unreviewed: bool = False,
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
            others are answered as without it; with "raise" it raises a `DataError` or a `ModelError`. In the same way
            the status of a row whose search ends with an unexpected error is FAILED, and `problems` has the error. An
            unknown level in an immutable column without an order is passed to the model, unless this is "raise".
        ranges
            Whether the ranges in which each change may lie are found too, value by value; see `Counterfactuals.ranges`.
            The model is asked about at most 97 values of each changed number, and about each level, which are charged
            to the budget. Neither these nor what follows is found after the `timeout`.
        importance
            Whether it is found how much each change matters; see `Counterfactuals.importance`. The model is asked about
            2^m + m rows for m changes, or 256 (m + 1) + m for more than 12, which are not charged to the budget.
        contributions
            Whether it is found what each input contributes to the decision that was made; see
            `Counterfactuals.contributions`. Linear models and tree ensembles with two classes are not asked for it, any
            other model about at most 200 rows for each person and input, which are not charged to the budget.
        timeout
            Seconds for each row: m rows have m times as long together, and as long again to learn about the model
            first. If that is not enough, the call ends with an error that names the timeout to give. It is looked at
            between calls of the model and batches of the search. A row that is not done then has the status TIME_SPENT,
            unless an answer was found before; those that are done are answered as without it. A call of the model that
            never returns cannot be cut short: run such a model in a process of its own. The default is many times what
            a search takes, so that answers do not depend on the machine. None sets no limit.
        allow_unreviewed
            Whether letters may be written about answers that change features that nobody has reviewed; it is recorded
            in `settings`. Everything else that people read says which features these are.

        Raises
        ------
        Interrupted
            After Ctrl-C; its `result` has the answers found until then.
        """
        request = self._request(model, target, probability, errors)
        call = Call(n, constraints, ranges, importance, contributions, timeout, allow_unreviewed)
        session, people = self._sessions.people(request, X, call.timeout)
        return session.answer(people, call)

    def session(
        self, model: Any, *, target: Any, probability: float | None = None, errors: Errors = "status"
    ) -> Session:
        """A model and what is asked of it, with all that is learned about them; parameters as in `explain`.

        The last four are kept, and found again for the same model object as long as it answers alike on a probe: up to
        256 training rows or, for a model that gives labels only, all of them.
        """
        return self._sessions.session(self._request(model, target, probability, errors))

    def _request(self, model: Any, target: Any, probability: float | None, errors: Errors) -> Request:
        """What is asked for, after checking that this explainer is ready."""
        self._check_fitted()
        check_choice("errors", errors, get_args(Errors))
        parameters = repr([getattr(self, item.name) for item in fields(self) if item.name not in _LEARNED_BY])
        if parameters != self._checked:
            self._check_parameters()
            self._checked = parameters
        return Request(self, model, Model.of(model), target, probability, errors, parameters)

    def cite(self) -> str:
        """The publication of the method, as BibTeX."""
        entries = files("attain.methods").joinpath("citations.bib").read_text(encoding="utf-8").split("\n\n")
        return next((entry for entry in entries if f"{{{self.citation}," in entry), self.citation).strip()

    def _described(self) -> dict[str, Any]:
        """What answers follow from besides the model and the call, as JSON."""
        from attain.methods.persistence import described

        return described(self)

    def _goal(
        self,
        model: Any,
        target: Any,
        probability: float | None,
        *,
        tolerant: bool = True,
        limit: LearningLimit | None = None,
    ) -> Goal:
        return Goal(
            model,
            self.population_.table.layout,
            target=target,
            probability=probability,
            margin=self.margin,
            probe=probe_rows(self.population_.values),
            tolerant=tolerant,
            limit=limit,
        )

    @property
    def _seed(self) -> int:
        """The seed of the search: `random_state`, or one drawn by `fit` where that is None."""
        return self.drawn_seed_ if self.random_state is None else int(self.random_state)

    def _check_fitted(self) -> None:
        if not hasattr(self, "population_"):
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
