"""Decisions about the columns of a schema that only a person can take, each as a question with its evidence.

    for question in attain.review.questions(schema, train, y):
        print(question)

What a column is, and what may happen to it, is asked, never assumed. What a column holds is the evidence; words, of
names and of levels, count only where they are certain (age, sex, `id`, `unknown`). They raise a question or say which
choice comes first; they never decide one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from attain.core.errors import DataError, SchemaError, listed
from attain.core.frames import Frame
from attain.core.text import joined, number
from attain.review.evidence import (
    SHOWN,
    all_differ,
    copies,
    goes_with,
    has_gaps,
    identifies,
    in_order,
    is_age,
    is_inborn,
    lengths_of_time,
    never_exceeds,
    percent,
    piles,
    short,
    successive,
    summary,
    uneven_shares,
    usual_change,
    words_of,
)
from attain.schema.computed import computed_columns
from attain.schema.feature import Feature, ordinary
from attain.schema.infer import conversion, leaking_columns, number_properties, step_of, unknown_levels
from attain.schema.reading import read_frame
from attain.schema.schema import Schema
from attain.schema.tokens import quoted_name

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


_ChoiceParts: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""The key, the text and the changes of a choice."""

_MOST_ROWS: Final = 200_000
_PEOPLE: Final = 20
"""A column of fewer values identifies nobody, whatever its name: `telephone` may be yes or no."""
_DIGITS: Final = re.compile(r"\d+")
_SEVERAL: Final = 3
"""The fewest columns with one word in common that are asked about together."""
_LEAST_CORRELATION: Final = 0.2
"""The least rank correlation with another column of a family: x1, x2, … of an array need not be one thing."""


def questions(schema: Schema, frame: Frame, y: Any = None) -> tuple[Question, ...]:
    """The questions about the columns of a frame that nobody has answered, in the schema's order.

    For a single column, what it holds is asked before what may happen to it, and a family of columns once. An answer
    changes the questions that follow, so ask for them again with the new schema. At most 200,000 rows are looked at.
    """
    values = read_frame(frame, schema.features)
    if y is not None and len(y) != len(values):
        raise DataError(f"y has {len(y)} labels, but the frame has {len(values)} rows")
    rows = np.linspace(0, len(values) - 1, min(len(values), _MOST_ROWS)).astype(np.intp)
    questioner = _Questioner(schema, values[rows], None if y is None else np.asarray(y)[rows])
    found = [question for name in schema.unreviewed for question in questioner.about(schema[name])]
    return tuple(_families(found, questioner.cells))


class _Questioner:
    """The questions about the columns of some rows."""

    def __init__(self, schema: Schema, values: np.ndarray, labels: np.ndarray | None) -> None:
        self.labels = labels
        self.cells = dict(zip(schema.names, values.T, strict=True))
        self.outcome_shares = {} if labels is None else leaking_columns(schema.features, values, labels)
        self.earlier_copies = copies(schema.features, values)
        self.proposals = {proposal.column: proposal for proposal in computed_columns(schema.features, values)}
        self.age = next((feature.name for feature in schema if feature.numeric and is_age(feature.name)), None)

    def about(self, feature: Feature) -> Iterator[Question]:
        """The questions about a column: first what it holds, then what may happen to it."""
        stays = Choice("n", "it stays as it is, whatever it means", {feature.name: {"immutable": True}})
        for question in self._what_it_holds(feature):
            yield question if "n" in question.keys else replace(question, choices=(*question.choices, stays))
        yield self._what_may_happen(feature)

    def _what_it_holds(self, feature: Feature) -> Iterator[Question]:
        name, cells = feature.name, self.cells[feature.name]
        known = cells[ordinary(feature, cells)]
        if name in self.outcome_shares:
            yield _outcome_question(name, self.outcome_shares[name])
        if name in self.earlier_copies:
            earlier = self.earlier_copies[name]
            same = feature.numeric and np.array_equal(cells, self.cells[earlier], equal_nan=True)
            yield _copy_question(name, earlier, same)
        by_name = identifies(name) and len(np.unique(known)) >= _PEOPLE
        if by_name or (feature.numeric and all_differ(known)):
            yield _identifier_question(name, by_name)
        yield from _about_numbers(feature, known) if feature.numeric else _about_levels(feature, known)
        yield from self._code_questions(feature, known)

    def _code_questions(self, feature: Feature, known: np.ndarray) -> Iterator[Question]:
        """Whether small integers are codes, because their effect goes up and down, or because of gaps."""
        if not feature.integral and feature.kind != "ordinal":
            return
        numbers = known if feature.numeric else np.array([*feature.levels])[known.astype(np.intp)]
        if numbers.dtype.kind not in "if":
            return
        rows = np.isin(self.cells[feature.name], known)
        uneven = None if self.labels is None else uneven_shares(numbers, self.labels[rows])
        if uneven is not None:
            label, shares = uneven
            shown = ", ".join(f"{percent(share)} with {number(value)}" for value, share in shares.items())
            evidence = f"The outcome is {label} for {shown}: that goes up and down, as for names rather than numbers."
        elif has_gaps(numbers):
            evidence = f"It holds nothing but {joined(map(number, np.unique(numbers).tolist()))}."
        else:
            return
        levels = tuple(int(value) for value in np.unique(numbers))
        changes = {"kind": "categorical", "levels": levels, "bounds": (None, None), "step": None}
        yield _question(
            feature.name, "code", evidence, ("c", "each is the code of something", changes), ("k", "it is a number", {})
        )

    def _what_may_happen(self, feature: Feature) -> Question:
        """The question that is asked about every column; the likely choice first, where the data or its name say so."""
        name, cells = feature.name, self.cells[feature.name]
        known = cells[ordinary(feature, cells)]
        evidence, first = summary(feature, known), ""
        choices: list[_ChoiceParts] = [("c", "people can change it", {})]
        if feature.ordered:
            choices += [("u", "only up", {"direction": "increase"}), ("d", "only down", {"direction": "decrease"})]
        choices += [("p", "it is past", {"immutable": True}), ("n", "not at all", {"immutable": True})]
        steady = feature.numeric or (feature.ordered and successive(feature.levels))
        if steady:
            choices.append(("y", "it passes with time, one a year", {"clock": 1 / 12}))
            choices.append(("t", "it passes with time, one a month", {"clock": 1.0}))
        if name in self.proposals:
            proposal = self.proposals[name]
            evidence, first = f"{evidence} {proposal.sentence}", "f"
            rule = "derived" if proposal.exact else "follows"
            choices.append(("f", f"it follows from others: {proposal.expression}", {rule: proposal.expression}))
        elif is_inborn(name) or is_age(name):
            first = "y" if steady and is_age(name) else "n"
        elif self.age is not None and feature.numeric and never_exceeds(self.cells[name], self.cells[self.age]):
            evidence, first = f"{evidence} It never exceeds {self.age}, and rises with it.", "y"
        # the likely one first, the others as listed; months and the outcome always last
        choices.sort(key=lambda choice: choice[0] != first)
        question = _question(name, "change", evidence, *choices)
        pace = usual_change(known, feature.step) if feature.numeric and len(known) else 1.0
        takes = "it takes … months for a usual change" if feature.ordered else "it takes … months"
        timed = [Choice("m", takes, {name: {"pace": pace}}, asks="months")]
        if feature.ordered:
            rises = {name: {"pace": pace, "direction": "increase"}}
            timed.append(Choice("r", "only up, and it takes … months for a usual change", rises, asks="months"))
        gone = Choice("o", "this column tells the outcome", drop=(name,))
        return replace(question, choices=(*question.choices, *timed, gone))


def _question(name: str, topic: Topic, evidence: str, *choices: _ChoiceParts) -> Question:
    """A question about one column, of choices that set properties: keys, texts and changes."""
    made = (Choice(key, text, {name: changes} if changes else {}) for key, text, changes in choices)
    return Question((name,), topic, evidence, tuple(made))


def _outcome_question(name: str, share: float) -> Question:
    gone = Choice("o", "it is the outcome, or known only after it: it must leave the table", drop=(name,))
    kept = Choice("k", "it was known before")
    evidence = f"It tells the outcome of {percent(share)} of the people by itself."
    return Question((name,), "outcome", evidence, (gone, kept))


def _copy_question(name: str, earlier: str, same: bool) -> Question:
    choices = [Choice("d", f"it is one: leave {name} out", drop=(name,))]
    if same:
        choices.append(Choice("f", f"it always equals {earlier}", {name: {"derived": quoted_name(earlier)}}))
    choices.append(Choice("k", "both are needed"))
    evidence = f"It looks like a copy of {earlier}: it says the same in every row."
    return Question((name,), "copy", evidence, tuple(choices))


def _identifier_question(name: str, by_name: bool) -> Question:
    evidence = "It tells people apart, by its name." if by_name else "It is different in every row."
    gone = Choice("d", "it says who or where somebody is: leave it out", drop=(name,))
    stays = Choice("n", "it stays as it is", {name: {"immutable": True}})
    return Question((name,), "identifier", evidence, (gone, stays, Choice("k", "it says something else")))


def _about_numbers(feature: Feature, known: np.ndarray) -> Iterator[Question]:
    """Whether a few values apart from all others (0, 999) are numbers, and whether nearly all have a larger step."""
    apart = piles(known) if len(known) else []
    others = known[~np.isin(known, apart)]
    if apart:
        shown = joined(map(number, apart))
        evidence = (
            f"{shown} {'stands' if len(apart) == 1 else 'stand'} in {len(known) - len(others):,} of {len(known):,} "
            f"cells, apart from all others, {short(others.min())} to {short(others.max())}."
        )
        properties = number_properties(others, feature.name)

        def meaning(text: str) -> dict[str, Any]:
            return {**properties, "special": {**feature.special, **dict.fromkeys(apart, text)}}

        yield _question(
            feature.name,
            "missing",
            evidence,
            ("m", "it means that nothing is known", meaning("not known")),
            ("s", "it means something that is no number, such as none or never", meaning("")),
            ("k", "it is a number like the others", {}),
        )
    step = step_of(others) if len(others) else None
    if step is not None and feature.step is not None and step > feature.step:
        evidence = f"New values are multiples of {number(feature.step)}, and nearly all real ones of {number(step)}."
        rounded = ("s", f"multiples of {number(step)}", {"step": step})
        yield _question(feature.name, "step", evidence, rounded, ("k", "as they are", {}))


def _about_levels(feature: Feature, known: np.ndarray) -> Iterator[Question]:
    """Whether levels are numbers, ordered, lengths of time, or say that nothing is known."""
    levels, unknown = feature.levels, unknown_levels(feature.levels)
    line = conversion(feature.name, levels)
    if line:
        shown = joined(f"“{level}”" for level in levels[:SHOWN])
        numbers = Choice("t", "they are numbers: convert the column", convert=line)
        evidence = f"Its levels are numbers written as text, such as {shown}."
        yield Question((feature.name,), "text", evidence, (numbers, Choice("k", "they are names")))
        return
    if unknown and not set(unknown) <= set(feature.avoid) and len(unknown) < len(levels):
        rows = int(np.isin(known, [levels.index(level) for level in unknown]).sum())
        shown = joined(f"“{level}”" for level in unknown)
        evidence = f"{shown} ({rows:,} rows) seems to say that nothing is known."
        avoided = tuple(dict.fromkeys((*feature.avoid, *unknown)))
        avoid = ("a", "it does: nobody is told to get there", {"avoid": avoided})
        yield _question(feature.name, "missing", evidence, avoid, ("k", "it is a level like the others", {}))
    ordered = in_order(levels) if feature.kind == "categorical" else ()
    if ordered:
        ordinal: dict[str, Any] = {"kind": "ordinal", "levels": ordered}
        choices: list[_ChoiceParts] = [
            ("o", "they are ordered", ordinal),
            ("u", "they are, and people can only go up", {**ordinal, "direction": "increase"}),
            ("k", "they are not", {}),
        ]
        lengths = lengths_of_time(levels)
        if lengths is not None:
            months, all_lengths = lengths
            # time leads from one length of time to the next, but not from a level that is none
            passing = {"clock": 1 / months} if all_lengths else {"direction": "increase", "pace": 1 / months}
            text = f"they are, and time leads from one to the next in {number(months)} months"
            choices.insert(0, ("y", text, {**ordinal, **passing}))
        evidence = f"Its levels look ordered, from the lowest to the highest: {', '.join(map(str, ordered))}."
        yield _question(feature.name, "order", evidence, *choices)


def _families(found: Iterable[Question], cells: Mapping[str, np.ndarray]) -> list[Question]:
    """The questions, with those about columns of one family as one.

    Columns are a family if they share a stem with different numbers (`PAY_2`, `PAY_3`), go together, and have the same
    choices. Three columns or more are asked about together, too, if their names begin or end with the same word
    (`mean radius`, `mean area`), two or more if they begin with the same two, unless the data or their names make one
    choice likelier than others.
    """
    members: dict[object, list[Question]] = {}
    for question in found:
        (name,) = question.columns
        effects = [] if question.topic == "change" else [repr(choice.changes.get(name)) for choice in question.choices]
        members.setdefault((_DIGITS.sub("#", name), question.topic, *question.keys, *effects), []).append(question)
    families, single = [], []
    for together in members.values():
        related = [one for one in together if _is_related(one, together, cells)]
        single += [one for one in together if one not in related]
        families += [family(related)] if related else []
    while sharing := _sharing_words(single):
        (text, _, _), together = max(sharing.items(), key=lambda item: len(item[1]))
        families.append(family(together, f"Their names have “{text}” in common."))
        single = [one for one in single if one not in together]
    order = {name: position for position, name in enumerate(cells)}
    return sorted([*families, *single], key=lambda question: (order[question.columns[0]], question.topic == "change"))


def _sharing_words(questions: Iterable[Question]) -> dict[tuple[str, int, bool], list[Question]]:
    """Questions about what may happen to columns whose names begin or end with the same word, or the same two words."""
    found: dict[tuple[str, int, bool], list[Question]] = {}
    for question in questions:
        words = words_of(question.columns[0]).split()
        if question.topic == "change" and question.choices[0].key == "c":
            # of equal texts the later entry counts: a single word is a beginning
            ends = {words[0]: 0, words[-1]: -1, " ".join(words[:2]): 0} if words else {}
            for text, end in ends.items():
                found.setdefault((text, end, "u" in question.keys), []).append(question)
    least = {key: 2 if " " in key[0] else _SEVERAL for key in found}
    return {key: one for key, one in found.items() if len(one) >= least[key] and len(key[0]) > 1}


def _is_related(question: Question, together: Iterable[Question], cells: Mapping[str, np.ndarray]) -> bool:
    own = cells[question.columns[0]]
    others = (cells[other.columns[0]] for other in together if other is not question)
    return any(goes_with(own, other) >= _LEAST_CORRELATION for other in others)
