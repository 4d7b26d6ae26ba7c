"""The contract of every method: fit on a frame, explain people to a model, one result type.

A method implements `_prepare` (what it learns from the training data) and `_search` (candidates for a batch of people).
Everything a promise rests on is done here, once, for all: reading frames, resolving rules, the budget, the last check,
the figures. So no method can return a row that does not turn the decision or breaks a rule.
"""

from __future__ import annotations

import math
import numbers
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from attain.core.errors import AttainError, DataError
from attain.core.frames import Frame
from attain.core.progress import track
from attain.methods.figures import difficulty, diversity, faithfulness
from attain.methods.search.problem import Answers, Ledger, Problem
from attain.models import Goal, GoalLike, Model
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from attain.schema import Constraints, Schema
from attain.tables import Layout, Region, Table, desired_labels, read_labels

_PROBE_ROWS = 256
"""How many training rows the model is asked about to recognise it, and to see that it answers the same twice."""


class Explainer(BaseEstimator, ABC):
    """What all methods share; see the module's text.

    Subclasses take at least `schema`, `budget`, `margin`, `figures` and `random_state`.
    """

    citation: ClassVar[str]
    """The method's publication, as BibTeX."""

    schema: Schema | None
    budget: int
    margin: float
    figures: bool
    random_state: int

    schema_: Schema
    table_: Table
    layout_: Layout
    percentiles_: Percentiles
    space_: MeasuringSpace
    labels_: np.ndarray | None
    observed_: tuple[np.ndarray, np.ndarray]

    def fit(self, X: Frame, y: Any = None) -> Self:
        """Learns from people like those to be explained; their true labels `y` let answers be compared with real ones.

        Without a schema one is inferred, with nothing immutable: better look at it first (`Schema.infer`).
        """
        self._check_parameters()
        schema = Schema.infer(X) if self.schema is None else self.schema
        if not isinstance(schema, Schema):
            raise AttainError(f"schema is a {type(schema).__name__}; pass an attain.Schema, or None to infer one")
        table = Table.read(X, schema)
        if len(table) < 2:
            raise DataError(f"X has {len(table)} rows; fitting takes at least 2, and hundreds to be of use")
        self._remember(table, None if y is None else read_labels(y, table.labels))
        self._prepare()
        return self

    def _remember(self, table: Table, labels: np.ndarray | None, *, real: bool = True) -> None:
        """Keeps the training people, and what follows from them for every method.

        Where an explainer was saved without its training rows, `real` is False: the rows then only have the columns'
        distributions, and belong to nobody.
        """
        self.labels_ = labels
        self.rows_are_real_ = real
        self.schema_, self.table_, self.layout_ = table.schema, table, table.layout
        self.n_features_in_ = len(table.schema)
        self.feature_names_in_ = np.array(table.layout.columns, dtype=object)
        self.percentiles_ = Percentiles.fit(table.schema, table.values)
        self.space_ = MeasuringSpace.fit(table.schema, table.values)
        self.observed_ = _observed_range(table)
        self._references: dict[str, Reference] = {}

    needs_rows: ClassVar[bool] = False
    """Whether the method cannot work without its training rows, so that it cannot be saved without them."""

    def save(self, path: str | os.PathLike[str], reference: Literal["rows", "none"] = "rows") -> None:
        """Writes the fitted explainer into one file, atomically; `attain.load` reads it.

        `reference="rows"` keeps the training rows and labels in the file, which real people's figures need. With
        `"none"` it has only each column's distribution, every column shuffled by itself: answers are the same where
        the method needs no rows, and outlier and connectedness are missing.
        """
        from attain.methods.persistence import save

        self._check_fitted()
        save(self, path, reference)

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What `_prepare` learned that is not cheap to learn again, as JSON and arrays."""
        return {}, {}

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Takes back what `_learned` gave; by default everything is learned again from the rows."""
        self._prepare()

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may feed to `fit`: missing cells, texts and categories too."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    @abstractmethod
    def _prepare(self) -> None:
        """Learns what the method needs from `table_`."""

    def _accept(self, goal: GoalLike) -> None:
        """Refuses, in words, a model the method cannot take; any other hook into the model belongs here too."""

    @abstractmethod
    def _search(self, problem: Problem) -> Answers:
        """Candidates for a batch of people whose decision is not the desired one and who can change something."""

    def _further_figures(self, rows: np.ndarray, reference: Reference) -> dict[str, np.ndarray]:
        """Figures of answers that only this method can give, one per option."""
        return {}

    @abstractmethod
    def _batch_size(self, problem_rows: int) -> int:
        """How many people go through one call of `_search`, so that memory stays within bounds."""

    def explain(
        self,
        model: Any,
        X: Frame,
        *,
        target: Any,
        probability: float | None = None,
        n: int = 1,
        constraints: Constraints | Mapping[str, Any] | None = None,
    ) -> Counterfactuals:
        """For each person in `X`, the change that makes `model` decide `target`.

        Parameters
        ----------
        model
            Any classifier: scikit-learn, XGBoost, LightGBM, torch, an ONNX file, a function; see `attain.Model`.
        X
            The people: a frame with the schema's columns.
        target
            The desired class.
        probability
            Ask for at least this probability of it, instead of for the decision.
        n
            How many different options each person is offered.
        constraints
            What may change in this call; see `attain.Constraints`. They only tighten the schema.
        """
        self._check_fitted()
        self._check_parameters()
        if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 1:
            raise AttainError(f"n is {n!r}; it takes a whole number from 1 upward")
        table = Table.read(X, self.schema_)
        goal = self._goal(model, target, probability)
        self._accept(goal)
        region = Region.of(table, Constraints.of(constraints), self.observed_)
        before = goal.decide(table.values)
        ledger = Ledger(len(table), self.budget)
        ledger.charge(np.arange(len(table)))
        outcome = _outset(region, before.met)
        answers = self._run(goal, region, ledger, outcome, int(n))
        answers, score = _checked(goal, region, ledger, outcome, answers, int(n))
        return self._result(table, goal, outcome, answers, ledger, before.score, score, int(n))

    def cite(self) -> str:
        """The publication of the method, as BibTeX."""
        return self.citation

    def reference(self, model: Any, target: Any, probability: float | None = None) -> Reference:
        """The real people of the desired class, built once per model and target."""
        self._check_fitted()
        if not self.rows_are_real_:
            raise AttainError("this explainer was saved without its training rows, so it has no reference")
        return self._reference(self._goal(model, target, probability))

    def _goal(self, model: Any, target: Any, probability: float | None) -> Goal:
        probe = self.table_.values[:_PROBE_ROWS]
        return Goal(
            Model.of(model), self.layout_, target=target, probability=probability, margin=self.margin, probe=probe
        )

    def _reference(self, goal: GoalLike) -> Reference:
        key = goal.fingerprint()
        if key not in self._references:
            values = self.table_.values
            desired = None if self.labels_ is None else desired_labels(self.labels_, goal.target)
            met = goal.judge(values).met
            self._references[key] = Reference.build(
                self.schema_, values, desired_labels=desired, met=met, space=self.space_
            )
        return self._references[key]

    def _run(self, goal: Goal, region: Region, ledger: Ledger, outcome: list[Status | None], n: int) -> Answers:
        """All batches of people, one after the other; an interruption keeps what is done."""
        waiting = np.flatnonzero([status is None for status in outcome])
        found: list[Answers] = []
        bar = track(len(waiting), type(self).__name__)
        try:
            for people in _batches(waiting, self._batch_size(n)):
                part = Ledger(len(people), self.budget)
                part.spent[:] = ledger.spent[people]
                problem = Problem(goal, region.subset(people), part, n, self.random_state)
                answers = self._search(problem)
                ledger.spent[people] = part.spent
                for i, status in zip(people, answers.status, strict=True):
                    outcome[i] = status
                found.append(_with_owners(answers, people))
                bar.update(len(people), found=answers.status.count(Status.FOUND))
        except KeyboardInterrupt:
            for i in waiting:
                outcome[i] = outcome[i] or Status.INTERRUPTED
        finally:
            bar.close()
        return _joined(found, len(region.schema))

    def _result(
        self,
        table: Table,
        goal: Goal,
        outcome: list[Status | None],
        answers: Answers,
        ledger: Ledger,
        before: np.ndarray,
        after: np.ndarray,
        n: int,
    ) -> Counterfactuals:
        factuals = table.values[answers.owners]
        percentiles = (
            self.percentiles_.of(factuals),
            self.percentiles_.of(answers.rows),
            self.percentiles_.shift(factuals, answers.rows),
        )
        option_figures = {
            "score_after": _rounded(after),
            **difficulty(answers.rows, factuals, self.percentiles_),
            **answers.figures,
        }
        notes: tuple[str, ...] = ()
        if self.figures and not self.rows_are_real_:
            notes = ("Outlier and connectedness are missing: the explainer was saved without its training rows.",)
        elif self.figures:
            reference = self._reference(goal)
            option_figures |= faithfulness(answers.rows, reference)
            option_figures |= self._further_figures(answers.rows, reference)
            if not reference.labelled:
                notes = ("Real people of the desired class are those the model decides for: no labels were given.",)
        offered = np.bincount(answers.owners, minlength=len(table))
        fewer = int(((offered > 0) & (offered < n)).sum())
        if fewer:
            notes += (f"{fewer} people have fewer than the {n} options asked for: no others were found.",)
        return Counterfactuals(
            table=table,
            method=type(self).__name__,
            target=goal.target,
            probability=goal.probability,
            statuses=tuple(status or Status.INTERRUPTED for status in outcome),
            rows=answers.rows,
            owners=answers.owners,
            percentiles=percentiles,
            person_figures={
                "score_before": _rounded(before),
                "rows_scored": ledger.spent,
                "diversity": diversity(answers.rows, answers.owners, len(table), self.space_),
            },
            option_figures=option_figures,
            notes=notes,
        )

    def _check_fitted(self) -> None:
        if not hasattr(self, "table_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X) with training data first")

    def _check_parameters(self) -> None:
        """Refuses values that no method can take; methods add their own."""
        self._check_whole("budget", self.budget, 2)
        self._check_whole("random_state", self.random_state, 0)
        if self.random_state >= 2**64:
            raise AttainError(f"random_state is {self.random_state!r}; it takes a whole number below 2**64")
        if not isinstance(self.margin, numbers.Real) or not 0 <= float(self.margin) < math.inf:
            raise AttainError(f"margin is {self.margin!r}; it takes a number from 0 upward")

    def _check_whole(self, name: str, value: object, least: int) -> None:
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
            raise AttainError(f"{name} is {value!r}; it takes a whole number from {least} upward")

    def _check_positive(self, name: str, value: object, *, zero: bool = False) -> None:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
        if not (0 < number < math.inf or (zero and number == 0)):
            raise AttainError(f"{name} is {value!r}; it takes a number {'from 0 upward' if zero else 'above 0'}")


def _observed_range(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """The least and largest ordinary value of each column; NaN where there is none."""
    values = table.values.copy()
    for j, feature in enumerate(table.schema):
        if feature.special:
            values[np.isin(values[:, j], list(feature.special)), j] = math.nan
    empty = np.isnan(values).all(axis=0)
    values[:, empty] = 0.0
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    low[empty], high[empty] = math.nan, math.nan
    return low, high


def _outset(region: Region, met: np.ndarray) -> list[Status | None]:
    """Whose end is known before any search."""
    nothing_free = np.asarray(region.frozen.all(axis=1))
    stuck_rule = np.zeros(len(region), dtype=bool)
    fixed, kept = _fixed(region), region.book.kept(region.factuals)
    for k, rule in enumerate(region.schema.parsed_rules):
        columns = [region.schema.position(name) for name in rule.names]
        stuck_rule |= ~kept[:, k] & np.asarray(fixed[:, columns].all(axis=1))
    return [
        Status.ALREADY_DESIRED if met[i]
        else Status.NOTHING_FREE if nothing_free[i]
        else Status.RULES_CONFLICT if stuck_rule[i]
        else None
        for i in range(len(region))
    ]  # fmt: skip


def _fixed(region: Region) -> np.ndarray:
    """Which cells no answer can change: frozen ones, and derived ones computed from nothing but fixed ones."""
    fixed = region.frozen.copy()
    for j, expression in region.schema.derivations:
        inputs = [region.schema.position(name) for name in expression.names]
        fixed[:, j] = fixed[:, inputs].all(axis=1)
    return fixed


def _batches(people: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for start in range(0, len(people), max(size, 1)):
        yield people[start : start + max(size, 1)]


def _with_owners(answers: Answers, people: np.ndarray) -> Answers:
    return Answers(answers.rows, people[answers.owners], answers.cost, answers.status, answers.figures)


def _joined(parts: list[Answers], features: int) -> Answers:
    if not parts:
        return Answers(np.empty((0, features)), np.empty(0, dtype=np.intp), np.empty(0), [])
    names = parts[0].figures.keys()
    return Answers(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.owners for part in parts]),
        np.concatenate([part.cost for part in parts]),
        [status for part in parts for status in part.status],
        {name: np.concatenate([part.figures[name] for part in parts]) for name in names},
    )


def _checked(
    goal: Goal, region: Region, ledger: Ledger, outcome: list[Status | None], answers: Answers, n: int
) -> tuple[Answers, np.ndarray]:
    """The last check: final form again, every rule anew, the model's own decision. At most n options a person."""
    rows = region.final_form(answers.rows, answers.owners)
    decided = goal.decide(rows)
    ledger.charge(answers.owners)
    good = region.allows(rows, answers.owners) & decided.met & region.changed(rows, answers.owners).any(axis=1)
    order = np.lexsort((answers.cost, answers.owners))
    order = order[good[order]]
    firsts = np.searchsorted(answers.owners[order], answers.owners[order], side="left")
    order = order[np.arange(len(order)) - firsts < n]
    kept = Answers(
        rows[order],
        answers.owners[order],
        answers.cost[order],
        answers.status,
        {name: values[order] for name, values in answers.figures.items()},
    )
    answered = set(kept.owners.tolist())
    for i, status in enumerate(outcome):
        if status is Status.FOUND and i not in answered:
            outcome[i] = Status.OUT_OF_REACH
    return kept, decided.score[order]


def _rounded(score: np.ndarray) -> np.ndarray:
    """Scores to six decimals: a model's last bits depend on how many rows it is asked about at once."""
    return np.round(score, 6) + 0.0
