"""Measures of a result: one row per explained row, two averages of each measure, and their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import AttainError, DataError
from attain.core.intervals import CONFIDENCE, NOTHING, RESAMPLES, mean_intervals, share_interval
from attain.core.text import table, wrapped
from attain.metrics.laws import Relations, broken
from attain.metrics.measures import (
    DEFAULT,
    MEASURES,
    AnswerMatrix,
    Compute,
    EvaluationContext,
    Measure,
    Unavailable,
    as_measures,
)
from attain.metrics.validity import unmargined_goal
from attain.population.population import DecidedPopulation, Population, Reference
from attain.schema import Constraints, Schema
from attain.schema.laws import Law, find_laws
from attain.tables import Table, read_labels

if TYPE_CHECKING:
    from attain.core.frames import Frame


_SAME: Final = "inlier_20"
"""Equal to `inlier`."""
_NOTE: Final = (
    "answered: mean over people with an answer. charged: mean over all who needed one, where a missing answer counts "
    "as the worst case. In brackets: 95 % intervals over people."
)
_REAL_NOTE: Final = " real people: mean over real people whom the measure does not rest on."


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The measures of a result.

    Attributes
    ----------
    frame
        One row per explained row, with the same index; NaN without an answer.
    summary
        One row per measure: `mean` over the rows `answered`, with their number (of those that have a value, if a
        measure has none for some of them); and `charged`, the mean over all `n` rows, in which a row without an answer
        enters with the worst case: TS the number of free features, MS 1, not valid, not an inlier, not connected.
        Measures without a worst case are not charged. `low` to `high` and `charged_low` to `charged_high` are
        intervals over rows: Wilson's for measures of 0 or 1, the bootstrap's for others. Rows that the model already
        decides as asked for, and rows that cannot be read, are not among the n. `real` is the mean over real people
        whom the measure does not rest on: held-out ones of the desired class, for measures of held-out data training
        ones, for `possible` those of every class.
    measures
        By column, the measures: titles, which way is better, what is charged.
    context
        What was measured, and against what.
    asked
        Which rows needed an answer.
    """

    frame: pd.DataFrame
    summary: pd.DataFrame
    measures: Mapping[str, Measure]
    context: EvaluationContext
    asked: BoolArray

    @property
    def reference(self) -> Reference:
        """The real rows that faithfulness was measured against, with the ε grid."""
        return self.context.people.reference

    @property
    def target(self) -> Any:
        """The class that was asked for."""
        return self.context.goal.target

    @property
    def probability(self) -> float | None:
        """The probability that was asked for."""
        return self.context.goal.probability

    @cached_property
    def charged(self) -> pd.DataFrame:
        """`frame` with the worst case for rows without an answer; NaN for rows that needed none."""
        found = self.frame["found"].to_numpy()
        n_free = len(self.context.schema.free)
        columns = {
            name: np.where(self.asked, measure.charged(self.frame[name].to_numpy(np.float64), found, n_free), np.nan)
            for name, measure in self.measures.items()
        }
        return pd.DataFrame(columns, index=self.frame.index)

    @cached_property
    def broken_laws(self) -> pd.DataFrame:
        """The laws of held-out people that answers break, one row for each, the most broken first.

        `law` and `sentence`; `answers`, the number of answers that break it, and their `share`; `factuals`, how many of
        these are for rows that break it themselves; `real`, the number of training rows that break it, and their
        `real_share`. Raises `Unavailable` without held-out data.
        """
        c = self.context
        if c.laws is None:
            raise Unavailable("broken_laws needs held-out data; pass X_test")
        known = np.array(c.laws, dtype=object)
        answers = broken(c.answers[c.found], c.laws, c.schema)
        counts = answers.sum(axis=0)
        most = np.argsort(-counts, kind="stable")[: (counts > 0).sum()]
        chosen, own = tuple(known[most]), c.factuals[c.found]
        real = broken(c.train.values, chosen, c.schema)
        return pd.DataFrame(
            {
                "law": [law.text for law in chosen],
                "sentence": [law.sentence for law in chosen],
                "answers": counts[most],
                "share": counts[most] / max(len(answers), 1),
                "factuals": (answers[:, most] & broken(own, chosen, c.schema)).sum(axis=0),
                "real": real.sum(axis=0),
                "real_share": real.mean(axis=0),
            }
        )

    def text(self, width: int | None = None) -> str:
        """The summary as a table for a terminal, what its columns mean, and how many laws answers break."""
        summary = self.summary.drop(index=_SAME, errors="ignore")
        with_real = bool(summary["real"].notna().any())
        header = ["measure", "answered", "charged", *(["real people"] if with_real else []), "better"]
        rows = []
        for name, row in summary.to_dict("index").items():
            measure = self.measures[str(name)]
            answered = measure.estimate(row["mean"], row["low"], row["high"])
            charged = measure.estimate(row["charged"], row["charged_low"], row["charged_high"])
            real = [measure.written(row["real"])] if with_real else []
            rows.append((measure.title, answered, charged, *real, measure.better))
        parts = [table(header, rows, width=width, right=range(1, len(header) - 1))]
        parts.append(wrapped(_NOTE + (_REAL_NOTE if with_real else ""), width))
        if self.context.laws:
            counts = f"{len(self.context.laws)}, broken by answers: {len(self.broken_laws)}"
            parts.append(wrapped(f"Laws of held-out people: {counts}.", width))
        elif self.context.people.held_out is not None:
            parts.append(wrapped("possible is not measured: no laws were found in the held-out people.", width))
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.text()


class RealPeople:
    """Real people as a model decides about them: what the answers of any number of methods are measured against.

    Parameters
    ----------
    schema
        What the columns are.
    model
        The classifier that was explained. It is asked about all training and held-out rows.
    X_train, y_train
        The training data. Without labels (None) the model alone decides which rows are real desired ones.
    X_test, y_test
        Held-out data for the ε grid, `held_out_inlier` and `possible`. Without them the grid comes from each reference
        row's distance to the nearest other one.
    target, probability
        What the model was asked for.
    laws
        What `possible` and `broken_laws` hold answers against: laws, or their texts. By default those found in
        `X_test`, people of every class.

    Attributes
    ----------
    train, held_out
        The training people, and the held-out ones in the same measuring space; None without `X_test`.
    """

    def __init__(
        self,
        schema: Schema,
        model: Any,
        X_train: Frame,
        y_train: ArrayLike | None,
        *,
        target: Any,
        probability: float | None = None,
        X_test: Frame | None = None,
        y_test: ArrayLike | None = None,
        laws: Iterable[str | Law] | None = None,
    ) -> None:
        if X_test is None and y_test is not None:
            raise AttainError("y_test is given without X_test; pass both, or neither")
        train = Population.fit(*_read(schema, "_train", X_train, y_train), laws=None)
        self._request = (model, target, probability)
        self._laws = None if laws is None else tuple(Law(law) if isinstance(law, str) else law for law in laws)
        self._means: dict[Compute, float] = {}
        goal = unmargined_goal(model, train.table, target, probability)
        self.train, self.held_out = DecidedPopulation(train, goal, confirmed=True), None
        if X_test is not None:
            test = Population(*_read(schema, "_test", X_test, y_test))
            self.held_out = DecidedPopulation(test, goal, space=train.space, confirmed=True)
        for decided in (self.train, self.held_out):
            _ = decided and decided.desired  # labels that do not fit are refused here

    def __getstate__(self) -> dict[str, Any]:
        # The means are found by the measures' functions, which may not be picklable.
        return {**vars(self), "_means": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        model, target, probability = self._request
        self.train.goal = unmargined_goal(model, self.train.population.table, target, probability)
        if self.held_out is not None:
            self.held_out.goal = self.train.goal

    @cached_property
    def reference(self) -> Reference:
        """The distinct training people of the desired class, with the ε grid of held-out ones if there are any."""
        return self.train.reference if self.held_out is None else self.train.reference.with_held_out(self.held_out.real)

    @cached_property
    def laws(self) -> tuple[Law, ...] | None:
        """The laws that answers are held against; None without `X_test`."""
        if self._laws is not None or self.held_out is None:
            return self._laws
        return find_laws(self.train.population.schema.features, self.held_out.population.values)

    @cached_property
    def relations(self) -> Relations | None:
        """The relations that answers are held against; None without `X_test`."""
        test = None if self.held_out is None else self.held_out.population
        return None if test is None else Relations.learn(test.schema, test.values)

    def evaluate(
        self,
        result: Any,
        *,
        measures: Iterable[str | Measure | Compute] = DEFAULT,
        constraints: Constraints | Mapping[str, Any] | None = None,
        confidence: float = CONFIDENCE,
        resamples: int = RESAMPLES,
        random_state: int = 0,
    ) -> Evaluation:
        """The measures of a result: see `metrics.evaluate`.

        `result` may also be slices of one, as many as there are: each is measured by itself, and what is kept of it are
        its rows, their answers and their measures.
        """
        wanted = as_measures(measures)
        wanted = wanted if "found" in wanted else {"found": MEASURES["found"], **wanted}
        slices = []
        for part in result if isinstance(result, Iterable) else [result]:
            context = self.context(AnswerMatrix.of(part), constraints, random_state)
            frame = pd.DataFrame(_columns(wanted, context), index=pd.Index(part.table.labels))
            slices.append((frame, context.answers, context.factuals, context.found, context.result.asked))
        if not slices:
            raise DataError("there is nothing to measure")
        frames, *parts = zip(*slices, strict=True)
        frame, (answers, factuals, found, asked) = pd.concat(frames), map(np.concatenate, parts)
        if len(slices) > 1:
            table = replace(context.result.table, values=factuals, labels=frame.index.tolist())
            context = replace(context, result=AnswerMatrix(table, answers, found, *self._request[1:]))
        kept = {name: measure for name, measure in wanted.items() if name in frame}
        summary = summarised(
            {name: frame[name].to_numpy()[asked] for name in kept},
            kept,
            found[asked],
            len(context.schema.free),
            confidence=confidence,
            resamples=resamples,
            random_state=random_state,
        )
        summary["real"] = self._real_means(kept.values())
        return Evaluation(frame[list(kept)].assign(found=found), summary, kept, context, asked)

    def context(
        self, result: AnswerMatrix, constraints: Constraints | Mapping[str, Any] | None, random_state: int = 0
    ) -> EvaluationContext:
        """What the measures of a result get to see."""
        goal = self.train.goal
        if result.table.schema != self.train.population.schema:
            raise DataError("the result has another schema than these people; read them with the result's schema")
        if (result.target, result.probability) != (goal.target, goal.probability):
            raise DataError(
                f"the result is for target {result.target!r} with probability {result.probability}, these people are "
                f"decided for {goal.target!r} with {goal.probability}; read them for the same request"
            )
        return EvaluationContext(self, result, Constraints.of(constraints), random_state)

    def _real_means(self, measures: Iterable[Measure]) -> list[float]:
        """Each measure's mean over the real people it is compared with, NaN where there are none; found once."""
        missing = [measure for measure in measures if measure.compute not in self._means]
        for people in dict.fromkeys(measure.real for measure in missing):
            nobody = self.train.population.values[:0]
            rows = nobody if people is None else people(self._as_answers(nobody))
            seen = self._as_answers(rows) if len(rows) else None
            for measure in missing:
                if measure.real is people:
                    self._means[measure.compute] = float("nan") if seen is None else float(measure.column(seen).mean())
        return [self._means[measure.compute] for measure in measures]

    def _as_answers(self, rows: FloatArray) -> EvaluationContext:
        """Real people as if they were answers to themselves."""
        table = replace(self.train.population.table, values=rows, labels=range(len(rows)))
        found = np.ones(len(rows), dtype=np.bool_)
        return self.context(AnswerMatrix(table, rows, found, *self._request[1:]), None)


def _read(schema: Schema, part: str, X: Frame, y: ArrayLike | None) -> tuple[Table, np.ndarray | None]:
    """The rows and labels; numbers have the steps of the schema, whatever the types of the columns."""
    table = replace(Table.read(X, schema, f"X{part}"), schema=schema)
    return table, None if y is None else read_labels(y, table.labels, part)


def evaluate(
    result: Any,
    model: Any,
    X_train: Frame,
    y_train: ArrayLike | None,
    *,
    X_test: Frame | None = None,
    y_test: ArrayLike | None = None,
    measures: Iterable[str | Measure | Compute] = DEFAULT,
    constraints: Constraints | Mapping[str, Any] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    random_state: int = 0,
) -> Evaluation:
    """Validity, difficulty and faithfulness of the answers.

    Parameters
    ----------
    result
        What an explainer returned, or an `AnswerMatrix`; the best option of each row is measured.
    model, X_train, y_train, X_test, y_test
        As for `RealPeople`, which saves work if several results are measured against the same data.
    measures
        Names of registered measures, `Measure` objects, or functions of an `EvaluationContext`, which are named after
        themselves: `[*DEFAULT, measures.valid_after_retraining(models), my_function]`.
    constraints
        Those of the call that gave the result; `violations` counts them with the schema's rules.
    confidence, resamples, random_state
        Of the intervals; the seed is also that of measures that draw random numbers.
    """
    people = RealPeople(
        result.table.schema,
        model,
        X_train,
        y_train,
        target=result.target,
        probability=result.probability,
        X_test=X_test,
        y_test=y_test,
    )
    return people.evaluate(
        result,
        measures=measures,
        constraints=constraints,
        confidence=confidence,
        resamples=resamples,
        random_state=random_state,
    )


def summarised(
    columns: Mapping[str, FloatArray],
    measures: Mapping[str, Measure],
    found: BoolArray,
    n_free: int,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    random_state: int = 0,
) -> pd.DataFrame:
    """Two averages of each measure, over answered rows and charged over all, with their intervals: one row each."""
    values = {("mean", name): np.where(found, column, np.nan) for name, column in columns.items()}
    for name, column in columns.items():
        chargeable = measures[name].known or measures[name].worst is not None
        values["charged", name] = measures[name].charged(column, found, n_free) if chargeable else np.nan * column
    numbers = [key for key in values if not measures[key[1]].share]
    table = np.column_stack([values[key] for key in numbers] or [np.empty(0)])
    drawn = mean_intervals(table, confidence=confidence, resamples=resamples, random_state=random_state)
    intervals = dict(zip(numbers, drawn, strict=False))

    def average(side: str, name: str, among: FloatArray) -> tuple[float, float, float]:
        """The mean and the ends of its interval; NaN without rows, or if a row lacks a value."""
        if not len(among) or np.isnan(among).any():
            return np.nan, *NOTHING
        interval = intervals[side, name] if (side, name) in intervals else share_interval(among, confidence=confidence)
        return float(among.mean()), *interval

    lines = []
    for name in columns:
        present = values["mean", name][~np.isnan(values["mean", name])]
        charged = average("charged", name, values["charged", name])
        lines.append((*average("mean", name, present), len(present), *charged, len(found)))
    titles = ["mean", "low", "high", "answered", "charged", "charged_low", "charged_high", "n"]
    return pd.DataFrame(lines, index=pd.Index(list(columns), name="measure"), columns=titles)


def _columns(wanted: Mapping[str, Measure], context: EvaluationContext) -> dict[str, FloatArray]:
    """The numbers of each measure, without those that are optional and lack what they need."""
    columns = {}
    for name, measure in wanted.items():
        try:
            columns[name] = measure.column(context)
        except Unavailable:
            if not measure.optional:
                raise
    return columns
