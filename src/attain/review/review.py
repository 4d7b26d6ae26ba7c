"""Questions about a schema, those that most answers depend on first, until every answer rests on decisions.

review = attain.Review(attain.Guarded(schema), model, refused, target="good", train=train, y=labels)
while not review.done:
    asked = review.questions()[0]
    review.decide(asked.question.id, "n", by="Ada")
review.schema.to_toml("schema.toml")
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone

from attain.core.errors import AttainError, DataError, SchemaError, check_number
from attain.core.frames import Frame, open_frame
from attain.core.text import ENGLISH
from attain.methods.base import Explainer
from attain.results.counterfactuals import Counterfactuals
from attain.review.question import Choice, Question, family, questions
from attain.schema import Schema
from attain.schema.infer import conversion
from attain.tables import unchanged

_MOST_ROWS: Final = 20_000
_FITTED: Final = 3_000
"""How many training rows the questions look at, and how many of them the answers are found with."""
_PEOPLE: Final = 40
_FIRST, _LATER = 1 / 2, 2 / 3
"""A column that a larger share of the answers change is asked about by itself: before the first decision, and after."""
_STAYS: Final = ("n", "p")
"""Choices that leave a column as it is, whatever it holds."""
_LEAVE, _CONVERT = "; it must leave the table", "; it must be converted"
"""Ends of `reviewed` for a column that stays as it is until the table changes."""


@dataclass(frozen=True)
class OpenQuestion:
    """An open question.

    Attributes
    ----------
    question
        The question, with its evidence and its choices.
    answers
        The number of answers that change one of its columns.
    by_column
        The number that change each of its columns.
    example
        The sentence of the one with the fewest changes; empty where there is none.
    """

    question: Question
    answers: int
    by_column: Mapping[str, int]
    example: str


class Review:
    """Decisions of a person about the columns of a table, those that most answers depend on first.

    After each decision the explainer is fitted again with the new schema, and the answers are found again. A column
    that must leave the table, or be converted, is held as it is until then, because the model may need it: see `to_do`.

    Parameters
    ----------
    explainer
        A method, fitted or not; it stays as it is. The review starts with its schema, or else with an inferred one.
    model, target, probability
        As in `Explainer.explain`.
    people
        Those whose answers are looked at; by default up to 40 training rows that the model decides against.
    train, y
        Training rows and their labels; by default those that the explainer was fitted on. Questions look at 20,000 of
        them at most, and the answers are found with 3,000, so that nobody waits for long.

    Attributes
    ----------
    schema
        The schema with all decisions; to go on another day, save it, and start with it.
    result
        The present answers.
    """

    def __init__(
        self,
        explainer: Explainer,
        model: Any,
        people: Frame | None = None,
        *,
        target: Any,
        probability: float | None = None,
        train: Frame | None = None,
        y: Any = None,
    ) -> None:
        self._explainer, self._model = explainer, model
        self._goal_arguments: dict[str, Any] = {"target": target, "probability": probability}
        self._train, self._labels = _training(explainer, train, y)
        self.schema = Schema.infer(self._train) if explainer.schema is None else explainer.schema
        self._people = self._refused() if people is None else people
        self._decisions: list[dict[str, Any]] = []
        self._decided: set[tuple[str, str]] = set()
        self._separate: set[str] = set()
        self._remember(self.schema)

    @property
    def share_unreviewed(self) -> float:
        """The share of the answers that change a feature nobody has reviewed; 0 where there are no answers."""
        changed = self._changes(self.schema.unreviewed)
        return float(changed.any(axis=1).mean()) if len(changed) else 0.0

    @property
    def done(self) -> bool:
        """Whether every answer rests on features that somebody has decided on."""
        return not self.questions()

    @property
    def to_do(self) -> tuple[str, ...]:
        """What must be done to the table, a sentence for each column; the model is then trained again."""
        found = []
        for feature in self.schema:
            if feature.reviewed.endswith(_LEAVE):
                found.append(f"Leave {feature.name} out of the table and the schema.")
            elif feature.reviewed.endswith(_CONVERT):
                found.append(f"Convert {feature.name}, and infer it anew: {conversion(feature.name, feature.levels)}")
        return tuple(found)

    def questions(self) -> list[OpenQuestion]:
        """The questions to be answered before every answer rests on decisions, the next one first.

        What a column holds is asked before what may happen to it, and columns of one family once. Columns that at most
        half of the answers change come last, together, unless somebody wants to be asked about each; after the first
        decision those that at most two thirds change.
        """
        time = list(self._about_time())
        relevant = [one for one in map(self._with_answers, self._open()) if one.answers]
        relevant.sort(key=lambda one: -one.answers)
        limit = (_LATER if self._decisions else _FIRST) * self.result.found.sum()
        alone = [one for one in relevant if one.answers > limit or self._separate.issuperset(one.question.columns)]
        excluded = {name for one in alone for name in one.question.columns} | self._separate
        left = [name for name in self.schema.unreviewed if name not in excluded]
        if len({name for one in relevant if one not in alone for name in one.question.columns} - excluded) < 2:
            return [*time, *relevant]
        return [*time, *alone, self._with_answers(self._rest(left))]

    def outlook(
        self, id: str, key: str, *, months: float | None = None, columns: Sequence[str] | None = None
    ) -> Counterfactuals:
        """The answers that a choice would give, without taking it; parameters as in `decide`."""
        question, choice, _ = self._chosen(id, key, months, columns)
        return self._answers(_applied(question, self.schema, choice, "somebody"))

    def decide(
        self,
        id: str,
        key: str,
        by: str,
        *,
        months: float | None = None,
        columns: Sequence[str] | None = None,
        when: date | None = None,
    ) -> None:
        """Takes a decision, and finds the answers again.

        Parameters
        ----------
        id
            The question: `asked.question.id`.
        key
            The key of the choice.
        by
            Who decides.
        months
            For a choice that asks for months: how long a change takes.
        columns
            Decide on these columns of the question only; the others are asked about again. Where it is open what a
            column holds, that is asked first, unless the column stays as it is.
        when
            The day; by default today.
        """
        if not by.strip():
            raise SchemaError("by must be the name of the person who decides, got nothing")
        question, choice, separate = self._chosen(id, key, months, columns)
        before = _row(self._with_answers(question))  # how many depend on it, before the answers are found again
        if choice.asks != "parts":
            self._remember(_applied(question, self.schema, choice, f"{by.strip()}, {when or date.today()}"))
            self._decided.update((question.topic, name) for name in question.columns)
        self._separate |= separate
        after = {"choice": key, "text": choice.text, "by": by.strip(), "found": int(self.result.found.sum())}
        self._decisions.append({**before, **after, "unreviewed": self.share_unreviewed})

    def frame(self) -> pd.DataFrame:
        """The decisions of this review in their order, then the open questions, one a row.

        Columns: `question`, its id; `columns`, `topic`, `evidence`; `answers`, how many change it, with an `example`;
        `choice` and its `text`, and `by` whom it was taken; then how many people have an answer (`found`) and which
        share of these rests on features that nobody has reviewed (`unreviewed`), after it.
        """
        names = ("question", "columns", "topic", "evidence", "answers", "example")
        decided = ("choice", "text", "by", "found", "unreviewed")
        return pd.DataFrame([*self._decisions, *map(_row, self.questions())], columns=[*names, *decided])

    def _refused(self) -> Frame:
        """At most 40 training rows, evenly spread, that the model decides against."""
        met = self._fitted(self.schema).session(self._model, **self._goal_arguments).decided.met
        if met.all():
            raise DataError("the model has the desired decision for all training rows; give the people to be explained")
        train, _ = _spread_rows(self._train, None, _FITTED)  # the rows of `_fitted`, which `met` is about
        return _spread_rows(train, None, _PEOPLE, np.flatnonzero(~met))[0]

    def _fitted(self, schema: Schema) -> Explainer:
        explainer: Explainer = clone(self._explainer)
        parameters = explainer.get_params()
        inner = {name for name in parameters if name.endswith("__schema") and parameters[name] is not None}
        explainer.set_params(**dict.fromkeys(("schema", *inner), schema))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what fitting warns of is asked here
            return explainer.fit(*_spread_rows(self._train, self._labels, _FITTED))

    def _answers(self, schema: Schema) -> Counterfactuals:
        return self._fitted(schema).explain(self._model, self._people, **self._goal_arguments)

    def _remember(self, schema: Schema) -> None:
        """Adopts a schema, and finds its answers and questions."""
        result, asked = self._answers(schema), questions(schema, self._train, self._labels)
        self.schema, self.result = schema, result
        self._parts = [part for question in asked for part in question.parts or (question,)]
        self._families = [[part.id for part in question.parts or (question,)] for question in asked]

    def _open(self) -> Iterator[Question]:
        """The questions that are open. Questions about changes wait until it is known what a column holds."""
        waiting = self._waiting
        left = {part.id: part for part in self._parts if (part.topic, part.columns[0]) not in self._decided}
        ready = {id: one for id, one in left.items() if one.topic != "change" or one.columns[0] not in waiting}
        for ids in self._families:
            separate = [id for id in ids if id in ready and ready[id].columns[0] in self._separate]
            together = [ready[id] for id in ids if id in ready and id not in separate]
            yield from (ready[id] for id in separate)
            if together:
                yield family(together)

    def _about_time(self) -> Iterator[OpenQuestion]:
        """How long people can wait, where answers take months and the schema has no limit."""
        longest = float(self.result.months[self.result.best].max(initial=0.0))
        if longest and self.schema.max_months is None:
            columns = tuple(self.schema.features[j].name for j in sorted({*self.schema.clocks, *self.schema.paced}))
            evidence = f"Answers take up to {ENGLISH.duration(longest)}, and nobody has said how long people can wait."
            limit = Choice("m", "at most … months", asks="months")
            yield self._with_answers(Question(columns, "time", evidence, (limit,)))

    def _rest(self, names: Sequence[str]) -> Question:
        """What may happen to columns that few answers change, asked at once."""
        parts = [part for part in self._parts if part.topic == "change" and part.columns[0] in names]
        parts.sort(key=lambda part: -int(self._changes(part.columns).sum()))
        return family(parts, "Nobody has decided on these columns.", "ncudpyrt", shared=False)

    @property
    def _waiting(self) -> set[str]:
        """The columns whose content is still unknown."""
        left = {(part.topic, part.columns[0]) for part in self._parts if part.topic != "change"} - self._decided
        return {name for _, name in left}

    def _changes(self, names: Sequence[str]) -> np.ndarray:
        """Which of k columns each of the b answers changes, (b, k)."""
        result, columns = self.result, [self.schema.position(name) for name in names]
        changed = ~unchanged(result.table.values[result.owners[result.best]], result.rows[result.best])
        return np.asarray(changed[:, columns])

    def _with_answers(self, question: Question) -> OpenQuestion:
        changed = self._changes(question.columns)
        counts = dict(zip(question.columns, changed.sum(axis=0).tolist(), strict=True))
        using = np.flatnonzero(changed.any(axis=1))
        if not len(using):
            return OpenQuestion(question, 0, counts, "")
        places = np.flatnonzero(self.result.best)[using]
        shortest = places[np.argmin(self.result.option_figures["features_changed"][places])]
        return OpenQuestion(question, len(using), counts, self.result.option(int(shortest)).sentence)

    def _chosen(
        self, id: str, key: str, months: float | None, columns: Sequence[str] | None
    ) -> tuple[Question, Choice, set[str]]:
        """The question about the chosen columns, the choice, and the columns to ask about one by one.

        Without `columns` it is about those that have the choice. Where none of them is ready, because it is open what
        they hold, each is to be asked about.
        """
        known = {asked.question.id: asked.question for asked in self.questions()}
        if id not in known:
            raise SchemaError(f"no open question is called {id!r}; open are {', '.join(map(repr, known)) or 'none'}")
        question, names = known[id], set(known[id].columns if columns is None else columns)
        waiting = self._waiting & names if question.topic == "change" and key not in _STAYS else set()
        ready = names - waiting
        if columns is None:
            ready = {part.columns[0] for part in question.parts if key in part.keys} & ready or ready
        if question[key].asks == "parts" or (names and not ready):
            return question.about(names), question["e"], names
        question = question.about(ready)
        choice = question[key]
        if choice.asks == "months" and months is not None:
            check_number("months", months, above=0)
            choice = choice.after(months)
        return question, choice, waiting


def _training(explainer: Explainer, train: Frame | None, y: Any) -> tuple[Frame, np.ndarray | None]:
    """The rows and labels to fit on."""
    if train is None:
        if not (hasattr(explainer, "population_") and explainer.population_.has_rows):
            raise AttainError("train is missing: this explainer holds no training rows; give those and their labels y")
        train, y = explainer.population_.table.layout.frame(explainer.population_.values), explainer.population_.labels
    return _spread_rows(train, None if y is None else np.asarray(y), _MOST_ROWS)


def _spread_rows(
    frame: Frame, labels: np.ndarray | None, most: int, positions: np.ndarray | None = None
) -> tuple[Frame, np.ndarray | None]:
    """At most `most` rows of a frame, or of those at some positions, evenly spread, and their labels."""
    frame, library, _ = open_frame(frame, "train")
    rows = len(library.read(frame))
    if labels is not None and len(labels) != rows:
        raise DataError(f"y has {len(labels)} labels, but train has {rows} rows")
    positions = np.arange(rows) if positions is None else positions
    chosen = positions[np.linspace(0, len(positions) - 1, min(len(positions), most)).astype(np.intp)]
    return library.take(frame, chosen), None if labels is None else labels[chosen]


def _applied(question: Question, schema: Schema, choice: Choice, by: str) -> Schema:
    """The schema after a choice; until the table changes, a column stays as it is, or goes on to equal its copy."""
    if choice.drop or choice.convert:
        by += _LEAVE if choice.drop else _CONVERT
        stays = {name: {"immutable": True} for name in question.columns}
        equals = (other.changes for other in question.choices if question.topic == "copy" and other.changes)
        choice = replace(choice, changes=next(equals, stays), drop=(), convert="")
    return question.apply(schema, choice, by)


def _row(asked: OpenQuestion) -> dict[str, Any]:
    question = asked.question
    facts = {"question": question.id, "columns": question.columns, "topic": question.topic}
    return {**facts, "evidence": question.evidence, "answers": asked.answers, "example": asked.example}
