"""A question about the columns of a schema, with its evidence and what there is to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from attain.core.errors import SchemaError, listed
from attain.core.text import ENGLISH
from attain.schema.schema import Schema

Topic: TypeAlias = Literal[
    "outcome", "identifier", "copy", "text", "missing", "code", "order", "step", "change", "time"
]


@dataclass(frozen=True)
class Choice:
    """One choice of a question.

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
        `"months"`: the choice needs the months that a change takes, or that people can wait; see `after`. `"parts"`:
        the columns of a family are different things, and the question's `parts` ask about each.
    max_months
        The limit of months that it sets for the whole schema.
    """

    key: str
    text: str
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    convert: str = ""
    asks: Literal["months", "parts"] | None = None
    max_months: int | None = None

    def after(self, months: float) -> Choice:
        """The choice with the months that it asks for."""
        if not self.changes:
            return replace(self, max_months=int(months), asks=None)
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
        What is asked: `change` is what may happen to the columns, `time` how long people can wait for a suggestion that
        changes them, and all others are about what they hold.
    evidence
        What the data say, in a sentence.
    choices
        What there is to choose from, the likely one first.
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
        """A name that stays the same when the schema changes: `code: education`."""
        return f"{self.topic}: {', '.join(self.columns)}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the choices, in their order."""
        return tuple(choice.key for choice in self.choices)

    def __getitem__(self, key: str) -> Choice:
        """The choice with this key."""
        for choice in self.choices:
            if choice.key == key:
                return choice
        asked = f"the question about {listed(self.columns, 2)}"
        raise SchemaError(f"{asked} has no choice {key!r}; it has {', '.join(self.keys)}")

    def about(self, columns: Iterable[str]) -> Question:
        """The same question about some of its columns."""
        names = set(columns)
        if not names or names.difference(self.columns):
            raise SchemaError(f"columns must be some of {', '.join(self.columns)}, got {listed(sorted(names))}")
        parts = [part for part in self.parts or (self,) if part.columns[0] in names]
        return family(parts, self.evidence, [key for key in self.keys if key != "e"])

    def apply(self, schema: Schema, choice: Choice, by: str) -> Schema:
        """The schema after a choice; `by` says who decided and when: `"Ada, 2026-11-19"`.

        Where the choice says what may happen to the columns, they are reviewed. Columns that must leave the table leave
        the schema. A choice that asks for parts changes nothing: ask the `parts`.
        """
        if choice.asks == "months":
            raise SchemaError(f"“{choice.text}” needs the months: choice.after(months)")
        if choice.max_months is not None:
            return schema.with_max_months(choice.max_months)
        for name, changes in choice.changes.items():
            if changes.get("kind", schema[name].kind) != schema[name].kind:
                schema = schema.without_laws_of((name,))
            schema = schema.change(name, **changes)
        if choice.asks is None:
            staying = [name for name in self.columns if name not in choice.drop]
            decided = [name for name in staying if self.topic == "change" or schema[name].is_reviewed]
            schema = schema.change(decided, reviewed=by)
        return schema.without(choice.drop)

    def __str__(self) -> str:
        lines = (f"  {choice.key}: {choice.text}" for choice in self.choices)
        return "\n".join([f"{', '.join(self.columns)}: {self.evidence}", *lines])


def time_question(schema: Schema, longest: float) -> Question:
    """How long people can wait, where the schema has no limit; now the slowest suggestion takes `longest` months."""
    columns = tuple(schema.features[j].name for j in sorted({*schema.clocks, *schema.paced}))
    evidence = f"Answers take up to {ENGLISH.duration(longest)}, and nobody has said how long people can wait."
    return Question(columns, "time", evidence, (Choice("m", "at most … months", asks="months"),))


def family(parts: Sequence[Question], evidence: str = "", keys: Iterable[str] = (), *, shared: bool = True) -> Question:
    """The same question about several columns as one, with the choices that all of them have, in the order of `keys`.

    With `shared=False` also those that only some have. A question about a single column stays as it is.
    """
    if len(parts) == 1:
        return parts[0]
    enough = all if shared else any
    offered = dict.fromkeys(key for part in parts for key in part.keys)
    chosen = [key for key in keys or offered if enough(key in part.keys for part in parts)]
    choices = []
    for key in chosen:
        own = [part[key] for part in parts if key in part.keys]
        changes = {name: given for choice in own for name, given in choice.changes.items()}
        choices.append(replace(own[0], changes=changes, drop=tuple(name for choice in own for name in choice.drop)))
    choices.append(Choice("e", "they are different things: ask about each", asks="parts"))
    columns = tuple(part.columns[0] for part in parts)
    evidence = evidence or f"They look like one thing several times. {parts[0].evidence}"
    return Question(columns, parts[0].topic, evidence, tuple(choices), tuple(parts))
