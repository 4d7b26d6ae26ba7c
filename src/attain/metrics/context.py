"""What a measure gets to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.metrics.laws import Relations
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.results.status import Status
from attain.schema import Constraints, Schema
from attain.schema.laws import Law
from attain.tables import Region, Table

if TYPE_CHECKING:
    from attain.metrics.evaluation import Background
    from attain.models import Goal


MOST_REAL: Final = 5000
"""The most real rows that answers are compared with one by one."""


class Measurable(Protocol):
    """What can be measured: a `Counterfactuals`, or anything with these attributes.

    `rows` and `owners` (several options per row), `person_figures` (search costs) and `statuses` (which rows needed an
    answer) are used if they are there.
    """

    @property
    def table(self) -> Table: ...
    @property
    def answers(self) -> FloatArray: ...
    @property
    def found(self) -> BoolArray: ...
    @property
    def target(self) -> Any: ...
    @property
    def probability(self) -> float | None: ...


@dataclass(frozen=True, eq=False)
class AnswerMatrix:
    """Answers from anywhere, in the form that `evaluate` takes.

    Attributes
    ----------
    table
        The rows that were explained.
    answers, found
        The answers, (n_rows, n_features) in original units, and which rows have one.
    target, probability
        What the model was asked for.
    person_figures
        Search costs by name, one number per row, such as `rows_scored`.
    statuses
        How the search for each row ended; by default all rows needed an answer.
    rows, owners
        Several options per row, and the position of the row that each is for.
    """

    table: Table
    answers: FloatArray
    found: BoolArray
    target: Any
    probability: float | None = None
    person_figures: Mapping[str, FloatArray] = field(default_factory=dict)
    statuses: Sequence[Status] | None = None
    rows: FloatArray | None = None
    owners: IndexArray | None = None


@dataclass(frozen=True, eq=False)
class EvaluationContext:
    """All that a measure may look at.

    Attributes
    ----------
    answers, factuals
        The answers and the rows they are for, both (n_rows, n_features) in original units; NaN without an answer.
    found
        Which rows have an answer.
    goal
        The model and what it was asked for.
    train, met
        The training data, and which of its rows meet the goal.
    reference
        The distinct training rows that meet the goal and are labelled with the target. A search for the answers'
        neighbours in it is done once and shared by all measures.
    held_out
        The same among held-out rows, in the same measuring space; None without `X_test`.
    real
        Rows that meet the goal and are labelled with the target, repeated ones included: held-out ones if there are
        any, else training rows.
    percentiles
        The distribution functions of the training columns.
    constraints
        Those of the call that gave the answers.
    result
        What is measured.
    random_state
        The seed of measures that draw random numbers.
    background
        Where `laws` and `relations` are looked for, when a measure first asks for them.
    """

    answers: FloatArray
    factuals: FloatArray
    found: BoolArray
    goal: Goal
    train: Table
    met: BoolArray
    reference: Reference
    held_out: Reference | None
    real: FloatArray
    percentiles: Percentiles
    constraints: Constraints
    result: Measurable
    random_state: int
    background: Background

    @property
    def laws(self) -> tuple[Law, ...] | None:
        """The laws of held-out people; None without `X_test`."""
        return self.background.laws

    @property
    def relations(self) -> Relations | None:
        """What columns of held-out people tell of each other; None without `X_test`."""
        return self.background.relations

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        return self.percentiles.schema

    @cached_property
    def region(self) -> Region:
        """What each row may reach."""
        return Region.of(self.result.table, self.constraints)

    def drawn(self, rows: FloatArray) -> FloatArray:
        """At most 5,000 of the rows, drawn by the seed and in their order."""
        return rows[np.sort(np.random.default_rng(self.random_state).permutation(len(rows))[:MOST_REAL])]
