"""Decisions about the columns of a schema that only a person can take, each as a question with its evidence.

    for question in schema.questions(train, y):
        print(question)

What a column is, and what may happen to it, is asked, never assumed. What a column holds is the evidence; of words,
only those that are certain are looked at, such as age and sex, and they merely say which choice comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from attain.core.errors import SchemaError
from attain.core.frames import Frame
from attain.schema.feature import Feature
from attain.schema.reading import read_frame
from attain.schema.schema import Schema

Topic: TypeAlias = Literal["outcome", "identifier", "copy", "text", "missing", "code", "order", "step", "change"]

_NUMBER: Final = re.compile(r"\d+")
_ALIKE: Final = 0.2
"""The least rank correlation with another column of a family: x1, x2, … of an array need not be one thing."""


@dataclass(frozen=True)
class Choice:
    """One answer to a question.

    Attributes
    ----------
    key
        What is typed for it.
    text
        What it says: `only up`.
    changes
        The properties that it sets, by column: `{"income": {"direction": "increase"}}`.
    drop
        The columns that must leave the table, because no property makes them harmless.
    convert
        What must be done to the table, as a line of pandas; empty where the properties are enough.
    asks
        `"months"`: the choice needs the months that a change takes; see `after`. `"parts"`: the columns of a family
        are different things, and the question's `parts` ask about each.
    """

    key: str
    text: str
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    convert: str = ""
    asks: Literal["months", "parts"] | None = None

    def after(self, months: float) -> Choice:
        """The choice with the months that it asks for."""
        changes = {name: {**given, "pace": given["pace"] / months} for name, given in self.changes.items()}
        return replace(self, changes=changes, asks=None)


@dataclass(frozen=True)
class Question:
    """One decision about a column, or about a family of columns at once.

    Attributes
    ----------
    columns
        The columns that it is about.
    topic
        What is asked: `change` is what may happen to the columns, all others are about what they hold.
    evidence
        What the data say, in a sentence.
    choices
        The answers to choose from, the likely one first.
    parts
        The same question about each column of a family; empty for a single column.
    """

    columns: tuple[str, ...]
    topic: Topic
    evidence: str
    choices: tuple[Choice, ...]
    parts: tuple[Question, ...] = ()

    @property
    def id(self) -> str:
        """A name by which the question is known again when the schema has changed: `code: education`."""
        return f"{self.topic}: {', '.join(self.columns)}"

    def __getitem__(self, key: str) -> Choice:
        """The choice with this key."""
        for choice in self.choices:
            if choice.key == key:
                return choice
        keys = ", ".join(choice.key for choice in self.choices)
        raise SchemaError(f"the question about {', '.join(self.columns)} has no choice {key!r}; it has {keys}")

    def apply(self, schema: Schema, choice: Choice, by: str) -> Schema:
        """The schema after a choice; `by` says who decided and when: `"Ada, 2026-11-19"`.

        Where the choice says what may happen to the columns, they are reviewed. Columns that must leave the table leave
        the schema.
        """
        if choice.asks == "months":
            raise SchemaError(f"“{choice.text}” needs the months that a change takes: choice.after(months)")
        for name, changes in choice.changes.items():
            schema = schema.change(name, **changes)
        if self.topic == "change" and choice.asks is None:
            schema = schema.change([name for name in self.columns if name not in choice.drop], reviewed=by)
        return schema.without(choice.drop)

    def __str__(self) -> str:
        lines = (f"  {choice.key}: {choice.text}" for choice in self.choices)
        return "\n".join([f"{', '.join(self.columns)}: {self.evidence}", *lines])


def questions(schema: Schema, frame: Frame, y: Any = None) -> tuple[Question, ...]:
    """The questions about the columns of a frame that nobody has answered, in the schema's order.

    What a column holds is asked before what may happen to it, and a family of columns once. An answer changes the
    questions that follow, so ask for them again with the new schema.
    """
    columns = read_frame(frame, schema.features).T
    found: list[Question] = []
    for feature, cells in zip(schema, columns, strict=True):
        if feature.searched and not feature.is_reviewed:
            found.append(_what_may_happen(feature, cells[~np.isnan(cells)]))
    return tuple(_families(found, dict(zip(schema.names, columns, strict=True))))


def _what_may_happen(feature: Feature, cells: np.ndarray) -> Question:
    """The question that is asked about every column."""
    name = feature.name

    def choice(key: str, text: str, **changes: Any) -> Choice:
        return Choice(key, text, {name: changes} if changes else {})

    choices = [choice("c", "people can change it")]
    if feature.ordered:
        choices.append(choice("u", "only up", direction="increase"))
        choices.append(choice("d", "only down", direction="decrease"))
    choices.append(choice("p", "it is past", immutable=True))
    choices.append(choice("n", "not at all", immutable=True))
    if feature.numeric:
        choices.append(choice("y", "it passes with time, one a year", clock=1 / 12))
        choices.append(choice("t", "it passes with time, one a month", clock=1.0))
    choices.append(Choice("m", "it takes … months", {name: {"pace": 1.0}}, asks="months"))
    choices.append(Choice("o", "this column tells the outcome", drop=(name,)))
    distinct = len(np.unique(cells))
    return Question((name,), "change", f"It has {distinct:,} different values.", tuple(choices))


def _families(found: Iterable[Question], cells: Mapping[str, np.ndarray]) -> list[Question]:
    """The questions, with those about columns of one family as one.

    Columns are a family if they share a stem with different numbers (`PAY_2`, `PAY_3`), go together, and have the same
    choices.
    """
    members: dict[tuple[Any, ...], list[Question]] = {}
    for question in found:
        stem = _NUMBER.sub("#", question.columns[0]) if len(question.columns) == 1 else question.columns
        choices = tuple((choice.key, choice.text) for choice in question.choices)
        members.setdefault((stem, question.topic, choices), []).append(question)
    families = []
    for together in members.values():
        related = [one for one in together if _is_related(one, together, cells)]
        families += [one for one in together if one not in related]
        families += [_family(related)] if related else []
    order = {name: position for position, name in enumerate(cells)}
    return sorted(families, key=lambda question: (order[question.columns[0]], question.topic == "change"))


def _is_related(question: Question, together: Iterable[Question], cells: Mapping[str, np.ndarray]) -> bool:
    own = cells[question.columns[0]]
    others = (cells[other.columns[0]] for other in together if other is not question)
    return any(abs(_correlation(own, other)) >= _ALIKE for other in others)


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    """The rank correlation of two columns, 0 where one is constant."""
    from scipy.stats import rankdata

    known = ~(np.isnan(x) | np.isnan(y))
    if not known.any() or np.ptp(x[known]) == 0 or np.ptp(y[known]) == 0:
        return 0.0
    return float(np.corrcoef(rankdata(x[known]), rankdata(y[known]))[0, 1])


def _family(parts: list[Question]) -> Question:
    columns = tuple(part.columns[0] for part in parts)
    if len(parts) == 1:
        return parts[0]
    choices = [
        replace(
            choice,
            changes={name: given for part in parts for name, given in part[choice.key].changes.items()},
            drop=tuple(name for part in parts for name in part[choice.key].drop),
        )
        for choice in parts[0].choices
    ]
    choices.append(Choice("e", "they are different things: ask about each", asks="parts"))
    evidence = f"They look like one thing several times. {parts[0].evidence}"
    return Question(columns, parts[0].topic, evidence, tuple(choices), tuple(parts))
