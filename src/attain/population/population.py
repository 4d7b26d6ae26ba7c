"""Real rows: what they say without a model, how a model decides about them, and those of the desired class.

A `Reference` is what faithfulness is measured against, H⁺ ∩ D⁺: the distinct rows that meet the request by the model
and are labelled so, with an index of neighbours and the grid of ε for connectedness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.core.errors import AttainError
from attain.population.measuring import Percentiles, as_matrix, booleans
from attain.population.relations import Relations
from attain.population.space import MeasuringSpace, Neighbours
from attain.schema import Schema
from attain.schema.infer import leaking_columns
from attain.schema.laws import KEPT, Law, find_laws, with_evidence
from attain.tables import RuleBook, Table, desired_labels, ordinary

if TYPE_CHECKING:
    from attain.models import Goal


QUANTILES: Final = (0.5, 0.75, 0.9, 0.95)
"""The quantiles of real rows' nearest distances that make the ε grid."""

T = TypeVar("T")


@dataclass(eq=False)
class Reference:
    """The distinct real rows of the desired class.

    Duplicates are left out because they void every relative measure: a row with a twin has distance 0 to its nearest
    neighbour. The rows have a canonical order, so that nothing depends on the order of the training data.

    Attributes
    ----------
    space
        The measuring space.
    values, points
        The rows in original units (n, d) and as points of the measuring space (n, cells).
    rows
        The training row that each one is (the first, where several are equal).
    labelled
        Whether labels were used; without them the model's decision alone says which rows belong here.
    held_out
        Nearest distances of real rows outside the reference, where they are known.
    """

    space: MeasuringSpace
    values: FloatArray
    points: FloatArray
    rows: IndexArray
    labelled: bool
    held_out: FloatArray | None = None
    neighbours: dict[int, tuple[FloatArray, IndexArray]] = field(default_factory=dict, repr=False)
    """By k, what `own_neighbours` has found."""
    _learned: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _searched: tuple[FloatArray, FloatArray, IndexArray] | None = field(default=None, repr=False)

    @classmethod
    def build(
        cls,
        schema: Schema,
        train_values: ArrayLike,
        *,
        desired_labels: ArrayLike | None = None,
        met: ArrayLike,
        space: MeasuringSpace | None = None,
    ) -> Reference:
        """The reference of a training matrix.

        Parameters
        ----------
        desired_labels
            Which rows are labelled as the target (D⁺); None where labels are not known.
        met
            Which rows meet the request by the model (H⁺).
        space
            The measuring space, where it is already fitted; by default that of the training matrix.
        """
        matrix = as_matrix(train_values, len(schema))
        chosen = booleans("met", met, len(matrix), "training rows")
        if desired_labels is not None:
            chosen = chosen & booleans("desired_labels", desired_labels, len(matrix), "training rows")
        space = MeasuringSpace.fit(schema, matrix) if space is None else space
        members = np.flatnonzero(chosen)
        points, first = distinct(space.points(matrix[members]), len(space.stated))
        rows = members[first]
        return cls(space, matrix[rows], points, rows, labelled=desired_labels is not None)

    def with_held_out(self, values: ArrayLike) -> Reference:
        """The same reference with its ε grid taken from real rows of the desired class that are not in it."""
        held_out = as_matrix(values, len(self.space.schema))
        return replace(self, held_out=self.nearest(held_out)[0][:, 0] if len(self) else np.empty(0))

    def searched(self, values: ArrayLike, k: int = 40) -> Reference:
        """The same reference, with the k nearest neighbours of these rows found once for all later calls."""
        matrix = as_matrix(values, len(self.space.schema))
        nearest = self.nearest(matrix, k)
        same = copy(self)
        same._searched = (matrix, *nearest)
        return same

    def subset(self, chosen: IndexArray) -> Reference:
        """The reference of some of its rows, by their positions."""
        return Reference(self.space, self.values[chosen], self.points[chosen], self.rows[chosen], self.labelled)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def schema(self) -> Schema:
        return self.space.schema

    @cached_property
    def index(self) -> Neighbours:
        """The index of the points."""
        return Neighbours(self.points, len(self.space.stated))

    def learned(self, key: Hashable, learn: Callable[[], T]) -> T:
        """What `learn` returned the first time it was called for this key."""
        if key not in self._learned:
            self._learned[key] = learn()
        result: T = self._learned[key]
        return result

    @property
    def epsilon(self) -> dict[float, float]:
        """The ε grid: the .5, .75, .9 and .95 quantiles of real rows' distances to the nearest reference row.

        By default each reference row's distance to the nearest *other* one, which is what a held-out row without a twin
        would have, up to the one row left out. `with_held_out` takes it from held-out rows themselves.
        """
        distances = self.own_neighbours(1)[0].ravel() if self.held_out is None else self.held_out
        if not len(distances):
            return dict.fromkeys(QUANTILES, float("nan"))
        return dict(zip(QUANTILES, map(float, np.quantile(distances, QUANTILES)), strict=True))

    def nearest(self, values: ArrayLike, k: int = 1) -> tuple[FloatArray, IndexArray]:
        """Distances of rows in original units to the k nearest reference rows (all if there are fewer), and which."""
        k = min(k, len(self))
        if self._searched is not None:
            known, distances, indices = self._searched
            if k <= distances.shape[1] and np.array_equal(known, values, equal_nan=True):
                return distances[:, :k], indices[:, :k]
        return self.index.query(self.space.points(values), k)

    def own_neighbours(self, k: int) -> tuple[FloatArray, IndexArray]:
        """Each reference row's k nearest others (all if there are fewer): distances, and which."""
        known = [found for width, found in self.neighbours.items() if width >= k]
        if not known:
            known = [_without_self(*self.index.query(self.points, min(k + 1, len(self))))]
            self.neighbours[k] = known[0]
        distances, indices = known[0]
        return distances[:, :k], indices[:, :k]


def distinct(points: FloatArray, states: int = 0) -> tuple[FloatArray, IndexArray]:
    """The distinct rows in a fixed order, and the first position of each; the first `states` cells are states."""
    # Adding 0 turns −0 into 0, so that rows are equal exactly when their bytes are.
    plain = np.ascontiguousarray(points + 0.0)
    varying = (plain != plain[:1]).any(axis=0)
    if not varying.any():
        return plain[:1], np.arange(len(plain[:1]))
    # after numbers, states in the order that the bytes of their indicators have: none, the last, …, the first
    on = plain[:, :states][:, varying[:states]]
    backwards = np.where(on > 0, on.max(axis=0) + 1 - on, 0).astype(">u8").view(np.float64)
    cells = np.ascontiguousarray(np.column_stack((plain[:, states:][:, varying[states:]], backwards)))
    keys = cells.view(np.dtype((np.void, cells.shape[1] * cells.itemsize))).ravel()
    _, first = np.unique(keys, return_index=True)
    return plain[first], first


def _without_self(distances: FloatArray, indices: IndexArray) -> tuple[FloatArray, IndexArray]:
    own = indices == np.arange(len(indices))[:, None]
    # Where rounding hides a row from its own neighbours, the last of them makes room instead.
    own[~own.any(axis=1), -1:] = True
    shape = (len(indices), max(indices.shape[1] - 1, 0))
    return distances[~own].reshape(shape), indices[~own].reshape(shape)


GivenLaws: TypeAlias = Literal["found"] | Sequence[str | Law] | None

_BROKEN_RULE: Final = 0.01
"""A rule that a larger share of the rows breaks is named in a note: it is perhaps not what was meant."""


@dataclass(frozen=True, eq=False)
class Population:
    """All that real rows say without a model, learned once and shared by methods and measures.

    Attributes
    ----------
    table
        The rows. Where `has_rows` is false they are made up, with the distribution of each column.
    labels
        Their true labels, (n,); None where they are not known.
    laws
        The laws that answers keep.
    has_rows
        Whether the rows are real. They are not in an explainer that was saved without its training rows.
    """

    table: Table
    labels: np.ndarray | None = None
    laws: tuple[Law, ...] = ()
    has_rows: bool = True

    @classmethod
    def fit(cls, table: Table, labels: np.ndarray | None = None, laws: GivenLaws = "found") -> Population:
        """The population of real rows.

        Parameters
        ----------
        laws
            The laws that answers keep: `"found"` takes those of the schema or, if none were looked for yet, finds those
            of the rows; None keeps none; a list is kept, with the evidence of these rows.
        """
        population = cls(table, labels, _chosen_laws(table, laws))
        _ = population.percentiles, population.space, population.observed  # so that no answer waits for them
        return population

    @property
    def schema(self) -> Schema:
        return self.table.schema

    @property
    def values(self) -> FloatArray:
        """The rows as a matrix, (n, d)."""
        return self.table.values

    @cached_property
    def percentiles(self) -> Percentiles:
        """The distribution functions of the columns."""
        return Percentiles.fit(self.schema, self.values)

    @cached_property
    def space(self) -> MeasuringSpace:
        """The space in which distances are measured."""
        return MeasuringSpace.fit(self.schema, self.values)

    @cached_property
    def observed(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest ordinary value of each column, (d,) each; NaN where there is none."""
        columns = [cells[ordinary(feature, cells)] for feature, cells in zip(self.schema, self.values.T, strict=True)]
        low, high = (
            np.array([end(cells) if len(cells) else math.nan for cells in columns]) for end in (np.min, np.max)
        )
        return low, high

    @cached_property
    def scale(self) -> Scale:
        """The spread and the ordinary values of each column."""
        return Scale(self.schema, self.values)

    @cached_property
    def relations(self) -> Relations:
        """How the columns go together; there are no relations where the rows are not real."""
        return Relations.fit(self.schema, self.values if self.has_rows else self.values[:0])

    @cached_property
    def rule_book(self) -> RuleBook:
        """The rules of the schema and the laws, compiled."""
        return RuleBook(self.schema, self.laws)

    @cached_property
    def distinct(self) -> Reference:
        """The distinct rows, whatever their class."""
        everybody = np.ones(len(self.values), dtype=bool)
        return Reference.build(self.schema, self.values, met=everybody, space=self.space)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """A note for each rule or law that many rows break, and for each column that seems to be the outcome."""
        if not self.has_rows:
            return ()
        broken = 1 - self.rule_book.kept(self.values).mean(axis=0)
        leaks = {} if self.labels is None else leaking_columns(self.schema.features, self.values, self.labels)
        rules = (
            f"The rule {rule.text!r} is broken by {'all' if share == 1 else f'{share:.0%} of'} training rows; check "
            "that it says what you mean."
            for rule, share in zip(self.rule_book.rules, broken.tolist(), strict=True)
            if share > _BROKEN_RULE
        )
        columns = (
            f"{name!r} alone tells the labels of {share:.1%} of the training rows. If it is the outcome, or known only "
            "after it, leave it out; otherwise say in the schema what may happen to it."
            for name, share in leaks.items()
            if not self.schema[name].numeric  # a threshold of a number may well be how it is decided
        )
        return (*rules, *columns)


class Scale:
    """The scale of each column.

    Attributes
    ----------
    spread
        The standard deviation of each ordered column over its ordinary cells; 1 where there is none.
    pools
        The sorted ordinary cells of each column: what a cell that had no value may become.
    """

    def __init__(self, schema: Schema, values: FloatArray) -> None:
        self.pools = [np.sort(values[ordinary(feature, values[:, j]), j]) for j, feature in enumerate(schema)]
        deviations = np.array([float(cells.std()) if cells.size else 0.0 for cells in self.pools])
        ordered = np.array([feature.ordered for feature in schema])
        self.spread = np.where(ordered & (deviations > 0), deviations, 1.0)


class DecidedPopulation:
    """The training rows, with what one model decides about each, asked for when it is first needed.

    Parameters
    ----------
    population
        The rows.
    goal
        The model, and what is asked of it.
    space
        The measuring space of the reference; by default that of the population.
    confirmed
        Whether the model's own decision is asked for (`Goal.confirm_rows`), or only its score (`Goal.score_rows`).

    Attributes
    ----------
    failed
        Which of the rows that were asked about the model fails on, (n,).
    """

    def __init__(
        self, population: Population, goal: Goal, *, space: MeasuringSpace | None = None, confirmed: bool = False
    ) -> None:
        n = len(population.values)
        self.population, self.goal, self.space = population, goal, population.space if space is None else space
        self.lock = RLock()
        self._confirmed = confirmed
        self._asked, self._met, self._score = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), np.full(n, np.nan)
        self.failed = np.zeros(n, dtype=bool)
        self._cached: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock, and the goal, which has functions that cannot be pickled and has to be set again."""
        return {name: value for name, value in vars(self).items() if name not in ("goal", "lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=RLock())

    def judged(self, at: np.ndarray | None = None) -> tuple[BoolArray, FloatArray]:
        """Which rows meet the goal, and their scores, (n,) each; or only of the rows at these positions."""
        with self.lock:
            if at is None and self._asked.all():
                return self._met, self._score
            at = np.arange(len(self._asked)) if at is None else at
            new = at[~self._asked[at]]
            if len(new):
                rows = self.population.values[new]
                judged = self.goal.confirm_rows(rows) if self._confirmed else self.goal.score_rows(rows)
                self._met[new], self._score[new], self._asked[new] = judged.met, judged.score, True
                self.failed[new[list(judged.failures)]] = True
            return self._met[at], self._score[at]

    def cached(self, name: str, compute: Callable[[], T]) -> T:
        """What `compute` returned when it was first asked for by this name."""
        with self.lock:
            if name not in self._cached:
                self._cached[name] = compute()
            found: T = self._cached[name]
            return found

    @property
    def met(self) -> BoolArray:
        """Which rows meet the goal, (n,)."""
        return self.judged()[0]

    @property
    def labelled(self) -> BoolArray | None:
        """Which rows are labelled with the target, (n,); None where labels are not known."""
        labels = self.population.labels
        return None if labels is None else self.cached("labelled", lambda: desired_labels(labels, self.goal.target))

    @property
    def desired(self) -> BoolArray:
        """Which rows are of the desired class: by the model and, where they are known, by their labels, (n,)."""
        labelled = self.labelled
        return self.met if labelled is None else self.met & labelled

    @property
    def real(self) -> FloatArray:
        """The rows of the desired class, repeated ones included."""
        return self.population.values[self.desired]

    @property
    def reference(self) -> Reference:
        """The distinct rows of the desired class."""
        if not self.population.has_rows:
            raise AttainError("this explainer was saved without its training rows, so it has no reference")
        return self.cached("reference", self.reference_without)

    def reference_without(self, left_out: BoolArray | None = None) -> Reference:
        """The distinct rows of the desired class but for some of the rows, `left_out` (n,)."""
        labelled, (met, _) = self.labelled, self.judged()
        return Reference.build(
            self.population.schema,
            self.population.values,
            desired_labels=labelled,
            met=met if left_out is None else met & ~left_out,
            space=self.space,
        )


def _chosen_laws(table: Table, laws: GivenLaws) -> tuple[Law, ...]:
    features, values, known = table.schema.features, table.values, table.schema.laws
    if laws is None:
        return ()
    if laws != "found":
        known = tuple(law if isinstance(law, Law) else Law(law) for law in laws)
    if known is None:
        return find_laws(features, values, exceptions=KEPT)
    return with_evidence(known, features, values)
