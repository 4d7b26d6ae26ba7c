"""Decisions about the columns of a schema that only a person can take, each as a question with its evidence.

    for question in schema.questions(train, y):
        print(question)

What a column is, and what may happen to it, is asked, never assumed. What a column holds is the evidence; of words,
only those that are certain are looked at, such as age and sex, and they merely say which choice comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from attain.core.frames import Frame
from attain.schema.feature import Feature
from attain.schema.reading import read_frame
from attain.schema.schema import Schema

Topic: TypeAlias = Literal["outcome", "identifier", "copy", "text", "missing", "code", "order", "step", "change"]


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
        The properties of the features that it sets: `{"direction": "increase"}`.
    drop
        Whether the columns must leave the table instead: no property makes them harmless.
    asks
        `"months"`: the choice needs the months that the pace in `changes` takes; see `after`.
    """

    key: str
    text: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    drop: bool = False
    asks: Literal["months"] | None = None

    def after(self, months: float) -> Choice:
        """The choice with the number that it asks for."""
        return replace(self, changes={**self.changes, "pace": self.changes["pace"] / months}, asks=None)


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
    """

    columns: tuple[str, ...]
    topic: Topic
    evidence: str
    choices: tuple[Choice, ...]

    def toml(self, choice: Choice) -> str:
        """The lines that a choice adds to each feature in a TOML file; empty where it adds none."""
        from attain.schema.toml import property_line

        stated = {name: value for name, value in choice.changes.items() if value not in (None, (None, None), {})}
        return "\n".join(property_line(name, value) for name, value in stated.items())

    def __str__(self) -> str:
        lines = (f"  {choice.key}: {choice.text}" for choice in self.choices)
        return "\n".join([f"{', '.join(self.columns)}: {self.evidence}", *lines])


def questions(schema: Schema, frame: Frame, y: Any = None) -> tuple[Question, ...]:
    """The questions about the columns of a frame that nobody has answered, in the schema's order."""
    columns = read_frame(frame, schema.features).T
    found: list[Question] = []
    for feature, cells in zip(schema, columns, strict=True):
        if feature.searched and not feature.is_reviewed:
            found.append(_what_may_happen(feature, cells[~np.isnan(cells)]))
    return tuple(found)


def _what_may_happen(feature: Feature, cells: np.ndarray) -> Question:
    """The question that is asked about every column."""
    choices = [Choice("c", "people can change it")]
    if feature.ordered:
        choices.append(Choice("u", "only up", {"direction": "increase"}))
        choices.append(Choice("d", "only down", {"direction": "decrease"}))
    choices += [Choice("p", "it is past", {"immutable": True}), Choice("n", "not at all", {"immutable": True})]
    if feature.numeric:
        choices.append(Choice("y", "it passes with time, one a year", {"clock": 1 / 12}))
        choices.append(Choice("t", "it passes with time, one a month", {"clock": 1.0}))
    choices.append(Choice("m", "it takes … months", {"pace": 1.0}, asks="months"))
    choices.append(Choice("o", "this column tells the outcome", drop=True))
    distinct = len(np.unique(cells))
    return Question((feature.name,), "change", f"It has {distinct:,} different values.", tuple(choices))
