"""What a person should decide about the columns of a schema, each item with its reason and the line that does it.

    for item in schema.advise(train):
        print(item)

Columns that people do not choose, columns about the past, clocks and scores that others compute are recognised by the
words of their names, in English and German; identifiers, codes, unknown levels, orders, steps and doubled columns by
what they hold. An item is open until the schema decides it: a column that is immutable, or may only increase, needs no
advice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from attain.core.checks import check_choice
from attain.core.frames import Frame
from attain.core.text import number
from attain.schema.feature import Feature
from attain.schema.reading import read_frame
from attain.schema.schema import Schema
from attain.schema.vocabulary import (
    in_order,
    is_an_age,
    means_unknown,
    names_an_identifier,
    topic_of,
    units_a_month,
)

Topic: TypeAlias = Literal[
    "choice", "clock", "past", "score", "identifier", "code", "unknown", "order", "step", "double"
]

TOPICS: Final[Mapping[Topic, tuple[str, str]]] = {
    "choice": (
        "people do not choose it: age, sex, origin, family status, dependants, religion, disability, capital gains",
        "`immutable = true`; an age advances all the same, `clock = 0.0833`, where answers take months",
    ),
    "clock": (
        "it advances with time: months since, tenure, years at",
        '`clock = 1`, its units a month, if the name says what they are; else `direction = "increase"`',
    ),
    "past": ("it is about the past: ever, past due, history, delinquencies, convictions", "`immutable = true`"),
    "score": ("others compute it: credit score, risk estimate, rating", "`immutable = true`"),
    "identifier": ("integers that differ in every row, by no accident", "`immutable = true`, or leave the column out"),
    "code": (
        "a number such as 98, 999 or −1 that several rows have, beyond a gap as wide as the range of all others",
        "`special = […]`",
    ),
    "unknown": ("a level such as `?`, `unknown`, `n/a` or `no account`", '`avoid = ["?"]`, or empty cells'),
    "order": (
        "levels in an order: low, medium, high; under 1 year, 1 to 4 years; or a column of numbers says the same",
        '`kind = "ordinal"`, with the levels in order',
    ),
    "step": ("numbers with more digits than anybody can aim at", "`step = 0.01`, or another power of ten"),
    "double": ("a column that says the same as another, by the laws", "leave one of the two out"),
}
"""What advice is about: when it is given, and what decides it."""

PRESETS: Final[Mapping[str, tuple[Topic, ...]]] = {
    "lending": ("choice", "clock", "past", "score", "identifier", "code", "unknown")
}
"""The topics of the advice that each preset of `Schema.infer` follows."""

MAX_MONTHS: Final[Mapping[str, int]] = {"lending": 24}
"""The longest that answers take by each preset, where columns are clocks."""

_FEWEST: Final = 30
"""The number of rows above which values that all differ say something."""
_COINCIDENCES: Final = 10
"""So many equal pairs would be expected among random numbers of the same spread, where an identifier has none."""
_CODES: Final = tuple(float(f"{first}{digit}") for first in ("", "9", "99", "999", "9999") for digit in range(96, 100))
_REPEATED: Final = tuple(float(digit * length) for length in range(2, 7) for digit in "78")
_BELOW: Final = (-1.0, *(-float(str(digit) * length) for length in range(1, 6) for digit in (7, 8, 9)))
_PILE: Final = 5
"""So many rows must have a code."""
_LEVELS: Final = 3
"""Two levels need no order."""
_DIGITS: Final = 100
"""A step divides the middle half of the values into about so many parts."""


@dataclass(frozen=True)
class Advice:
    """One thing to decide about a column.

    Attributes
    ----------
    column
        The name of the column.
    about
        The topic, one of `TOPICS`.
    reason
        Why, in a sentence.
    changes
        The properties of the feature that decide it: `{"immutable": True}`.
    decided
        Whether the schema decides it already.
    """

    column: str
    about: Topic
    reason: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    decided: bool = False

    @property
    def toml(self) -> str:
        """The lines for the feature in a TOML file; empty where there is none."""
        from attain.schema.toml import property_line

        return "\n".join(property_line(name, value) for name, value in self.changes.items())

    @property
    def python(self) -> str:
        """The same in Python."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.changes.items())
        return f"schema.change({self.column!r}, {given})" if given else ""

    def __str__(self) -> str:
        return f"{self.column}: {self.reason}" + (f"\n  schema = {self.python}" if self.python else "")


def advise(schema: Schema, frame: Frame, *, decided: bool = False) -> tuple[Advice, ...]:
    """What is to be decided about the columns of a frame, in the schema's order; with `decided`, what has been too."""
    values = read_frame(frame, schema.features)
    twins = _twins(schema)
    items = [item for j, name in enumerate(schema.names) for item in _items(schema, values, j, twins.get(name))]
    if schema.clocks or schema.paced or any(not item.decided and "clock" in item.changes for item in items):
        items = [_aged(item, schema, values) for item in items]
    return tuple(item for item in items if decided or not item.decided)


def _aged(item: Advice, schema: Schema, values: np.ndarray) -> Advice:
    """Advice about an age where answers take months: nobody is asked to change it, but it advances."""
    feature, cells = schema[item.column], values[:, schema.position(item.column)]
    if item.about != "choice" or not (feature.numeric and is_an_age(feature.name)):
        return item
    in_years = not np.isnan(cells).all() and 18 < np.nanmedian(cells) < 100
    rate = units_a_month(feature.name, feature.unit) or (1 / 12 if in_years else None)
    if rate is None or feature.transitions or feature.fillable:
        return item
    reason = f"{item.reason} But it advances while others change, and an answer should hold at the age then."
    return replace(item, reason=reason, changes={**item.changes, "clock": _plain(round(rate, 4))})


def columns_to_decide(schema: Schema) -> dict[str, str]:
    """The columns that a search may change though, by their names, nobody can; each with the reason."""
    named = ((feature, topic_of(feature.name)) for feature in schema)
    return {feature.name: found[1] for feature, found in named if found is not None and not _restricted(feature)}


def followed(schema: Schema, frame: Frame, preset: str) -> Schema:
    """The schema with the advice of a preset followed."""
    check_choice("preset", preset, PRESETS)
    for item in advise(schema, frame):
        if item.about in PRESETS[preset]:
            # a number that identifies people is no clock, whatever its name says
            schema = schema.change(item.column, **{"clock": None} if item.about == "identifier" else {}, **item.changes)
    return schema.with_max_months(MAX_MONTHS[preset]) if schema.clocks else schema


def _items(schema: Schema, values: np.ndarray, j: int, twin: str | None) -> Iterator[Advice]:
    feature, cells = schema.features[j], values[:, j]
    present = cells[~np.isnan(cells)]
    other = None if twin is None else schema[twin]
    scale = None if other is None or not other.numeric else values[:, schema.position(other.name)]
    restricted, order = _restricted(feature), _order(feature, cells, scale)
    named = topic_of(feature.name)
    if named is not None:
        about, reason = named
        changes = _clock(feature, order) if about == "clock" else {"immutable": True}
        yield Advice(feature.name, about, reason, changes, decided=restricted)
    if order and (named is None or named[0] != "clock"):
        yield Advice(
            feature.name,
            "order",
            "Its levels seem to be in an order, so that a step up or down means something.",
            order,
            decided=restricted or feature.kind == "ordinal",
        )
    yield from _numeric_items(feature, present) if feature.numeric else _unknown(feature, present)
    if other is not None and schema.position(other.name) < j:
        reason = f"It says the same as {other.name}: leave one of the two out, if the model can do without it."
        yield Advice(feature.name, "double", reason, decided=not (feature.searched and other.searched))


def _clock(feature: Feature, order: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a column a clock, or else lets it only increase, or else not change."""
    rate = units_a_month(feature.name, feature.unit)
    if feature.numeric and rate is not None and not (feature.transitions or feature.fillable):
        return {"clock": _plain(round(rate, 4))}
    return {**order, "direction": "increase"} if feature.ordered or order else {"immutable": True}


def _twins(schema: Schema) -> dict[str, str]:
    """The columns that, by the laws, determine each other: the one by the other, both ways."""
    found = [rule.determines for rule in schema.parsed_laws]
    by = {(name, expression.names[0]) for name, expression in filter(None, found) if len(expression.names) == 1}
    same = {(name, expression.column) for name, expression in filter(None, found) if expression.column is not None}
    pairs = {pair for pair in by if pair[::-1] in by} | same
    return {name: other for one, two in sorted(pairs) for name, other in ((one, two), (two, one))}


def _restricted(feature: Feature) -> bool:
    """Whether somebody has decided how the column may change."""
    return (
        not feature.searched
        or feature.clock is not None
        or feature.pace is not None
        or feature.direction != "any"
        or feature.range != (None, None)
        or feature.reach != (None, None)
        or bool(feature.transitions and not feature.numeric)
        or feature.cost != 1
    )


def _numeric_items(feature: Feature, present: np.ndarray) -> Iterator[Advice]:
    codes = _codes(present)
    ordinary = present[~np.isin(present, [*codes, *feature.special])]
    if _identifies(feature.name, ordinary):
        reason = "It is different in every row, so it seems to identify people: leave it out, or let nothing change it."
        yield Advice(feature.name, "identifier", reason, {"immutable": True}, decided=not feature.searched)
        return
    if codes:
        counts = [f"{number(code)} ({int((present == code).sum()):,} rows)" for code in codes]
        reason = (
            f"{' and '.join(counts)} {'is' if len(codes) == 1 else 'are'} far from all other values, "
            f"{number(ordinary.min())} to {number(ordinary.max())}: a code for a state rather than a number."
        )
        meant = {**dict.fromkeys(codes, ""), **feature.special}
        special = {_plain(code): meant[code] or f"code {number(code)}" for code in sorted(meant)}
        known = all(code in feature.special for code in codes) or not feature.searched
        yield Advice(feature.name, "code", reason, {"special": special}, decided=known)
    step = _step(ordinary)
    if step is not None and feature.step is None:
        reason = "Without a step, a new value may have six digits: more than anybody can aim at."
        yield Advice(feature.name, "step", reason, {"step": step}, decided=not feature.searched)


def _plain(code: float) -> float | int:
    return int(code) if code.is_integer() else code


def _identifies(name: str, values: np.ndarray) -> bool:
    """Whether integers differ in every row, and that is no accident.

    n numbers drawn at random from R integers have about n² / 2R equal pairs.
    """
    n = len(values)
    if n <= _FEWEST or (values != np.floor(values)).any() or len(np.unique(values)) < n:
        return False
    return names_an_identifier(name) or n * n / 2 >= _COINCIDENCES * (np.ptp(values) + 1)


def _codes(values: np.ndarray) -> list[float]:
    """Values such as 98, 999 or −9 that several rows have, beyond a gap as wide as the range of all others."""
    distinct, counts = np.unique(values, return_counts=True)
    codes: list[float] = []
    for known, inward in (((*_CODES, *_REPEATED), -1), (_BELOW, 1)):
        some = np.isin(distinct, known) & (counts > 1)
        # codes stand at the very end
        ends = np.logical_and.accumulate(some[::inward])[::inward]
        others = distinct[~ends]
        if not ends.any() or len(others) < 2 or counts[ends].sum() < _PILE:
            continue
        gap = np.abs(distinct[ends][0 if inward < 0 else -1] - others[-1 if inward < 0 else 0])
        if gap >= np.ptp(others) or (inward > 0 and others[0] >= 0):
            codes += distinct[ends].tolist()
    return codes


def _step(values: np.ndarray) -> float | None:
    """A power of ten for numbers with more digits than anybody can aim at; None for integers."""
    if not len(values) or (values == np.floor(values)).all():
        return None
    for low, high in ((25, 75), (5, 95), (0, 100)):
        spread = float(np.subtract(*np.percentile(values, [high, low])))
        if spread > 0:
            return float(f"1e{round(math.log10(spread / _DIGITS))}")
    return None


def _unknown(feature: Feature, present: np.ndarray) -> Iterator[Advice]:
    found = [level for level in feature.levels if isinstance(level, str) and means_unknown(level)]
    if found and len(found) < len(feature.levels):
        rows = int(np.isin(present, [feature.levels.index(level) for level in found]).sum())
        shown = " and ".join(f"“{level}”" for level in found)
        reason = (
            f"{shown} ({rows:,} rows) {'seems' if len(found) == 1 else 'seem'} to mean that nothing is known: no "
            "answer should lead to it. Cells that say nothing else may as well be empty."
        )
        known = set(found) <= set(feature.avoid) or not feature.searched or bool(feature.transitions)
        yield Advice(
            feature.name, "unknown", reason, {"avoid": tuple(dict.fromkeys((*feature.avoid, *found)))}, decided=known
        )


def _order(feature: Feature, cells: np.ndarray, scale: np.ndarray | None) -> dict[str, Any]:
    """The kind and levels of a column of texts that have an order; empty where none is recognised.

    `scale` has the numbers of a column that says the same, if there is one.
    """
    levels = [level for level in feature.levels if isinstance(level, str)]
    if len(levels) < max(len(feature.levels), _LEVELS):
        return {}
    if scale is not None and np.isin(np.arange(len(levels)), cells).all():
        places = [float(scale[cells == position][0]) for position in range(len(levels))]
        return {"kind": "ordinal", "levels": tuple(levels[k] for k in np.argsort(places))}
    ordered = in_order(levels)
    return {} if ordered is None else {"kind": "ordinal", "levels": ordered}
