"""The catalogue of measures: what a measure gets to see, what a missing answer is charged, and how tables show it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.core.errors import AttainError
from attain.metrics import validity
from attain.metrics.laws import FAR, Relations, possible
from attain.population import faithfulness, measuring
from attain.population.measuring import Percentiles, mean_pairwise_distance
from attain.population.population import QUANTILES, Reference
from attain.results.status import Status
from attain.schema import Constraints, Schema
from attain.schema.laws import Law
from attain.tables import Region, Table

if TYPE_CHECKING:
    from attain.metrics.evaluation import RealPeople
    from attain.models import Goal

Better: TypeAlias = Literal["lower", "higher"]
Compute: TypeAlias = Callable[["EvaluationContext"], FloatArray]

NEIGHBOURS: Final = (5, 10, 20, 40)
"""The numbers of neighbours for which the outlier verdict is reported; 20 is that of `inlier`."""
MOST_REAL: Final = 5000
"""The most real rows that answers are compared with one by one."""
_PARTS: Final = {
    "space": "reference.space",
    "train_values": "train.values",
    "target": "goal.target",
    "probability": "goal.probability",
}
"""Where in a context an argument is found that is no attribute of it."""
_FILLED: Final = ("found", "probability", "random_state")
"""Arguments that are taken from the context though they have defaults."""


class Unavailable(AttainError):
    """A measure needs something that the evaluation does not have."""


@dataclass(frozen=True, eq=False)
class AnswerMatrix:
    """Answers from anywhere, in the form that `evaluate` takes. A `Counterfactuals` has the same attributes.

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

    @classmethod
    def of(cls, result: Any) -> AnswerMatrix:
        """What there is of these attributes in a result."""
        names = (field.name for field in fields(cls))
        return cls(**{name: getattr(result, name) for name in names if hasattr(result, name)})

    @property
    def asked(self) -> BoolArray:
        """Which rows needed an answer, and could be read."""
        if self.statuses is None:
            return np.ones(len(self.found), dtype=np.bool_)
        none_needed = (Status.ALREADY_DESIRED, Status.UNREADABLE)
        return np.array([status not in none_needed for status in self.statuses], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class EvaluationContext:
    """All that a measure may look at.

    Attributes
    ----------
    people
        What is measured against: real people as the model decides about them.
    result
        What is measured.
    constraints
        Those of the call that gave the answers.
    random_state
        The seed of measures that draw random numbers.
    """

    people: RealPeople
    result: AnswerMatrix
    constraints: Constraints
    random_state: int

    @property
    def answers(self) -> FloatArray:
        """The answers in original units, (n_rows, n_features); NaN without one."""
        return self.result.answers

    @property
    def factuals(self) -> FloatArray:
        """The rows that the answers are for, (n_rows, n_features)."""
        return self.result.table.values

    @cached_property
    def found(self) -> BoolArray:
        """Which rows have an answer."""
        return np.asarray(self.result.found, dtype=np.bool_)

    @cached_property
    def goal(self) -> Goal:
        """The model and what it was asked for."""
        return self.people.train.goal.fresh_copy(self.result.table.layout.unseen)

    @property
    def train(self) -> Table:
        """The training data."""
        table = self.people.train.population.table
        return replace(table, layout=replace(table.layout, unseen=self.result.table.layout.unseen))

    @cached_property
    def reference(self) -> Reference:
        """The distinct training rows that meet the goal and are labelled with the target.

        All measures share one search for the answers' neighbours in it.
        """
        return self.people.reference.searched(self.answers[self.found])

    @property
    def held_out(self) -> Reference | None:
        """The same among held-out rows, in the same measuring space; None without `X_test`."""
        return None if self.people.held_out is None else self.people.held_out.reference

    @property
    def real(self) -> FloatArray:
        """Rows of the desired class, repeated ones included: held-out ones if there are any, else training rows."""
        return (self.people.held_out or self.people.train).real

    @property
    def percentiles(self) -> Percentiles:
        """The distribution functions of the training columns."""
        return self.people.train.population.percentiles

    @property
    def laws(self) -> tuple[Law, ...] | None:
        """The laws of held-out people; None without `X_test`."""
        return self.people.laws

    @property
    def relations(self) -> Relations | None:
        """How columns of held-out people go together; None without `X_test`."""
        return self.people.relations

    @property
    def schema(self) -> Schema:
        return self.people.train.population.schema

    @cached_property
    def region(self) -> Region:
        """What each row may reach."""
        return Region.of(self.result.table, self.constraints)

    def drawn(self, rows: FloatArray) -> FloatArray:
        """At most 5,000 of the rows, drawn by the seed and in their order."""
        return rows[np.sort(np.random.default_rng(self.random_state).permutation(len(rows))[:MOST_REAL])]


@dataclass(frozen=True)
class Measure:
    """A measure of answers.

    Attributes
    ----------
    name
        Its column in `Evaluation.frame`.
    compute
        Gives one number for each row of the context; NaN without an answer.
    title
        What tables call it; by default its name.
    better
        Which way is better.
    worst
        What a row without an answer is charged; None if there is no worst case, `"free"` for the number of free
        features.
    share
        Whether the numbers are 0 and 1, so that the mean is a share of rows, with Wilson's interval.
    known
        Whether rows without an answer have a value, too, such as what their search cost.
    optional
        Whether the column is left out, instead of raising `Unavailable`, if the evaluation lacks what it needs.
    real
        Gives rows of real people, (n, n_features), whose mean is shown next to that of the answers: people that the
        measure itself does not rest on. None if there is nothing to compare with.
    """

    name: str
    compute: Compute
    title: str = ""
    better: Better = "lower"
    worst: float | Literal["free"] | None = None
    share: bool = False
    known: bool = False
    optional: bool = False
    real: Compute | None = None

    def column(self, context: EvaluationContext) -> FloatArray:
        """One number for each row of the context; raises unless the function gives as many."""
        try:
            values = np.asarray(self.compute(context), dtype=np.float64)
        except Unavailable as error:
            raise Unavailable(f"{self.name} {error}") from None
        if values.shape != context.found.shape:
            raise AttainError(
                f"the measure {self.name!r} must give one number for each of the {len(context.found)} rows, got an "
                f"array of shape {values.shape}"
            )
        return values if self.known else np.where(context.found, values, np.nan)

    def written(self, value: float) -> str:
        """A value for reading: shares in per cent, other numbers with about three digits."""
        if not math.isfinite(value):
            return "–" if math.isnan(value) else "∞"
        if self.share:
            return f"{100 * value:z.0f} %"
        return f"{value:z,.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"

    def estimate(self, value: float, low: float, high: float) -> str:
        """A value with its interval: `81 % [70, 90]`."""
        if math.isnan(value) or math.isnan(low):
            return self.written(value)
        ends = ", ".join(self.written(end).removesuffix(" %") for end in (low, high))
        return f"{self.written(value)} [{ends}]"

    def charged(self, values: FloatArray, found: BoolArray, n_free: int) -> FloatArray:
        """The values, with the worst case for rows without an answer; NaN if there is no worst case."""
        if self.known:
            return values
        worst = float(n_free) if self.worst == "free" else np.nan if self.worst is None else self.worst
        return np.where(found, values, worst)


def from_context(function: Callable[..., FloatArray], **options: Any) -> Compute:
    """The function with its arguments taken from the context by their names, but for the options."""
    needed = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in options and (parameter.default is parameter.empty or name in _FILLED)
    ]
    return lambda c: function(**{name: attrgetter(_PARTS.get(name, name))(c) for name in needed}, **options)


def _verdict(name: str, title: str, compute: Compute, real: Compute | None = None) -> Measure:
    """A measure of 0 or 1, of which 0 is charged."""
    return Measure(name, compute, title, "higher", 0.0, share=True, real=real)


def _held_out(c: EvaluationContext) -> FloatArray:
    """Held-out people of the desired class, whom the reference does not contain."""
    return c.drawn(c.real if c.held_out is not None else c.real[:0])


def _reference_people(c: EvaluationContext) -> FloatArray:
    """Training people of the desired class, whom the held-out reference does not contain."""
    return c.drawn(c.reference.values)


def _training(c: EvaluationContext) -> FloatArray:
    """Training people of every class: answers keep much of refused people, and a law holds for these, too."""
    return c.train.values


def inlier(k: int = 20, name: str | None = None) -> Measure:
    """1 for answers whose local outlier factor with k neighbours is at most that of 99 % of the reference."""
    return _verdict(
        name or f"inlier_{k}",
        f"inlier, {k} neighbours" if name is None else name,
        lambda c: 1.0 - faithfulness.outlier(c.answers, c.reference, k, c.found),
        _held_out,
    )


def held_out_inlier(k: int = 20, name: str | None = None) -> Measure:
    """`inlier` against held-out data."""
    return _verdict(
        name or f"held_out_inlier_{k}",
        "inlier, held-out" if k == 20 else f"inlier, held-out, {k} neighbours",
        lambda c: 1.0 - faithfulness.outlier(c.answers, _needed(c.held_out), k, c.found),
        _reference_people,
    )


def connected(quantile: float, min_samples: int = 2) -> Measure:
    """1 for answers connected to the reference at ε, this quantile of real rows' nearest distance."""
    percent, suffix = f"{100 * quantile:.0f}", "" if min_samples == 2 else f"_{min_samples}"
    return _verdict(
        f"connected_{percent}{suffix}",
        f"connected at ε{percent}",
        lambda c: faithfulness.connected(c.answers, c.reference, c.reference.epsilon[quantile], min_samples, c.found),
        _held_out,
    )


def valid_after_retraining(models: Iterable[Any]) -> Measure:
    """The share of retrained models, such as `metrics.retrained` yields, that still decide as asked for."""
    compute = from_context(validity.valid_after_retraining, models=models)
    return Measure("valid_after_retraining", compute, "valid after retraining", "higher", 0.0)


def valid_after_inexact_execution(points: float = 5.0, draws: int = 20) -> Measure:
    """The share of inexact executions that still bring what was asked for."""
    compute = from_context(validity.valid_after_inexact_execution, points=points, draws=draws)
    return Measure("valid_after_inexact_execution", compute, "valid, done inexactly", "higher", 0.0)


def _needed(part: Any) -> Any:
    """What the context knows from held-out data; raises if there are none."""
    if part is None:
        raise Unavailable("needs held-out data; pass X_test")
    return part


def _violations(c: EvaluationContext) -> FloatArray:
    return np.asarray(validity.violations(c.answers, c.region, c.found).to_numpy().sum(axis=1))


def _possible(c: EvaluationContext) -> FloatArray:
    if not _needed(c.laws):
        raise Unavailable("needs laws, and none were found in X_test")
    return possible(c.answers, c.laws or (), c.schema, c.found)


def _breaks(limits: float) -> Compute:
    """1 for answers that are off a relation by more than this number of limits."""

    def compute(c: EvaluationContext) -> FloatArray:
        relations: Relations = _needed(c.relations)
        if not len(relations.columns):
            raise Unavailable("needs columns that others predict")
        result = np.zeros(len(c.found))
        result[c.found] = relations.broken(c.answers[c.found], c.factuals[c.found], limits).any(axis=1)
        return result

    return compute


def _diversity(c: EvaluationContext) -> FloatArray:
    rows, owners = c.result.rows, c.result.owners
    if rows is None or owners is None or len(owners) <= c.found.sum():
        raise Unavailable("needs several options per row; call explain with n of 2 or more")
    return mean_pairwise_distance(rows, owners, len(c.found), c.reference.space)


def _cost(name: str) -> Compute:
    def compute(c: EvaluationContext) -> FloatArray:
        if name not in c.result.person_figures:
            raise Unavailable("is not part of the result")
        return np.asarray(c.result.person_figures[name], dtype=np.float64)

    return compute


_DEFAULT: Final = (
    _verdict("found", "has an answer", lambda c: c.found.astype(np.float64)),
    _verdict("valid", "decided as asked for", from_context(validity.valid)),
    _verdict("type_valid", "valid and may exist", from_context(validity.type_valid)),
    Measure("violations", _violations, "rules broken"),
    Measure("total_shift", from_context(measuring.total_shift), "total shift (TS)", worst="free"),
    Measure("max_shift", from_context(measuring.max_shift), "largest shift (MS)", worst=1.0),
    Measure("changed", from_context(measuring.changed), "features changed (L0)"),
    Measure("l1", from_context(measuring.distance, norm="l1"), "L1 distance"),
    Measure("l2", from_context(measuring.distance, norm="l2"), "L2 distance"),
    Measure("linf", from_context(measuring.distance, norm="linf"), "L∞ distance"),
    Measure("redundant", from_context(validity.redundant), "changes not needed"),
    Measure("proximity", from_context(faithfulness.proximity), "proximity (P)"),
    Measure("local_outlier_factor", from_context(faithfulness.local_outlier_factor), "local outlier factor"),
    inlier(20, "inlier"),
    *(inlier(k) for k in NEIGHBOURS),
    held_out_inlier(20, "held_out_inlier"),
    Measure("nearest_distance", from_context(faithfulness.nearest_distance), "nearest real row"),
    *(connected(quantile) for quantile in QUANTILES),
    _verdict("possible", "breaks no law", _possible, _training),
    Measure("relations_broken", _breaks(1.0), "breaks a relation", share=True, real=_training),
    Measure("relations_broken_by_far", _breaks(FAR), "breaks a relation by far", share=True, real=_training),
    Measure("copied", from_context(measuring.copies), "copies a training row", share=True),
    Measure("copied_free", from_context(measuring.copies, free=True), "copies free cells", share=True),
    Measure("diversity", _diversity, "distance of options", "higher"),
    Measure("rows_scored", _cost("rows_scored"), "rows scored", known=True),
    Measure("seconds", _cost("seconds"), "seconds", known=True),
)

DEFAULT: Final = tuple(replace(measure, optional=True) for measure in _DEFAULT)
"""What `evaluate` reports by default: columns whose inputs are missing (held-out data, several options, costs) are left
out."""

MEASURES: Final[dict[str, Measure]] = {
    measure.name: measure for measure in (*_DEFAULT, valid_after_inexact_execution())
}
"""The measures that can be asked for by name, in the order in which the default ones are reported."""


def register(measure: Measure) -> None:
    """Makes a measure available by its name: `evaluate(..., measures=[*DEFAULT, "name"])`."""
    if measure.name in MEASURES:
        raise AttainError(f"a measure named {measure.name!r} is registered already; choose another name")
    MEASURES[measure.name] = measure


def as_measures(given: Iterable[str | Measure | Compute]) -> dict[str, Measure]:
    """The measures by name: names are looked up, functions are called by their own name."""
    result: dict[str, Measure] = {}
    for item in given:
        if isinstance(item, str):
            if item not in MEASURES:
                raise AttainError(f"measures names {item!r}; registered are {', '.join(MEASURES)}")
            item = MEASURES[item]
        elif not isinstance(item, Measure):
            if not callable(item):
                raise AttainError(f"measures must hold names, Measure objects or functions, got {item!r}")
            item = Measure(item.__name__, item)
        if item.name in result:
            raise AttainError(f"measures names {item.name!r} twice; give each column a name of its own")
        result[item.name] = item
    return result
