"""One column: what it holds, and what may happen to it."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from attain.core.arrays import as_python
from attain.core.errors import SchemaError, listed

Kind: TypeAlias = Literal["real", "positive", "count", "interval", "ordinal", "categorical"]
Direction: TypeAlias = Literal["any", "increase", "decrease"]
Level: TypeAlias = str | bool | int | float
Limits: TypeAlias = tuple[float | None, float | None]

KINDS: Final = ("real", "positive", "count", "interval", "ordinal", "categorical")
NUMERIC: Final = ("real", "positive", "count", "interval")
DIRECTIONS: Final = ("any", "increase", "decrease")
VALUE: Final = "value"
"""In `transitions` of a number with special codes: any ordinary value."""

_OPEN: Final[Limits] = (None, None)
_ENDS: Final = (-math.inf, math.inf)
_DECISIONS: Final = (
    *("reviewed", "immutable", "immutable_if", "direction", "range", "reach", "transitions"),
    *("pace", "clock", "cost", "fillable", "derived", "follows"),
)
"""The properties that `Schema.infer` never sets: a person has decided on a column that has one."""
_ABOUT: Final = 0.01
"""The relative distance within which the rate of a clock means one unit in a whole number of months."""


@dataclass(frozen=True)
class Feature:
    """One column: what it holds, and what may happen to it.

    Parameters
    ----------
    name
        The column's name in the frame.
    kind
        `real` (any number), `positive` (a number ≥ 0, modelled on a log scale), `count` (0, 1, 2, …), `interval` (a
        number within bounds, such as a percentage), `ordinal` (ordered levels) or `categorical` (unordered levels).
    levels
        The levels of an ordinal column, lowest first, or of a categorical one.
    bounds
        The smallest and largest possible value, inclusive; None is open: data beyond them are refused. Special codes
        are not subject to them.
    step
        New values are multiples of it; 1 for counts. Without a step, new values have six significant digits.
    special
        Codes that stand for a state rather than a number, each with its meaning: `{-9: "no record"}`. A row neither
        enters nor leaves a special state unless `transitions` allow it.
    immutable
        The value never changes; that of a clock only as time passes, and nobody is told to wait for it.
    immutable_if
        A rule: the value never changes for people whose own record certainly satisfies it.
    direction
        Which way the value may move: `any`, `increase` or `decrease`.
    range
        How far the value may move, relative to the row's own: `(-1, 2)` is at most one down and two up; None is open.
        In an ordinal column it counts levels.
    reach
        The smallest and largest value that is suggested to anybody, inclusive; None is open. Levels for an ordinal
        column. Data may lie beyond it, up to `bounds`; a row that does may stay, or move towards it.
    transitions
        The levels or special codes that one may change to: `{"rents": ("owns",)}`. A level that is not listed may
        change to any other. `"value"` stands for the ordinary numbers of a column with special codes.
    avoid
        Levels that are suggested to nobody, such as `("?",)`: a row that has one may keep it or change.
    pace
        How much of the feature a person can change in a month, > 0: units, levels of an ordinal column, changes of a
        categorical one (0.5: a change takes two months). None takes no time. A change to or from a special code has no
        size, and takes no time either.
    clock
        The value advances by itself, by so many units a month: True is 1, and 1 / 12 a year. Nobody chooses it; all
        clocks of a row advance together, by the months that an answer takes. A missing cell or a special code stays,
        and so does the last of ordered levels.
    cost
        The weight of a change of this feature wherever changes are weighted, ≥ 0.
    fillable
        Whether a missing cell may be filled in. Otherwise it stays missing. A present cell never becomes missing.
    derived
        An expression over other columns, `"debt / income"`: recomputed when one of them changes, not searched.
    follows
        An expression over other columns that the value only resembles, `"months * charge"`: not searched. When one of
        them changes, the value moves as the expression does, and keeps the row's own ratio to it.
    likelihood
        The density that models the column, if it is not the default of its kind (`"poisson"` for a count,
        `"lognormal"` for a count or an interval).
    reviewed
        Who decided what may happen to the column, and when: `"Ada, 2026-11-19"`.
    label, unit, description
        For display.
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()
    bounds: Limits = _OPEN
    step: float | None = None
    special: Mapping[float, str] = field(default_factory=dict)
    immutable: bool = False
    immutable_if: str | None = None
    direction: Direction = "any"
    range: Limits = _OPEN
    reach: tuple[Level | None, Level | None] = _OPEN
    transitions: Mapping[Level, tuple[Level, ...]] = field(default_factory=dict)
    avoid: tuple[Level, ...] = ()
    pace: float | None = None
    clock: float | None = None
    cost: float = 1.0
    fillable: bool = False
    derived: str | None = None
    follows: str | None = None
    likelihood: str | None = None
    reviewed: str = ""
    label: str | None = None
    unit: str | None = None
    description: str | None = None

    def __post_init__(self) -> None:
        self._set("levels", _levels(self.name, "levels", self.levels))
        self._set("avoid", _levels(self.name, "avoid", self.avoid))
        self._set("special", _special_codes(self.name, self.special))
        self._set("transitions", _transitions(self.name, self.transitions))
        self._set("range", self._pair("range", _end))
        self._set("bounds", self._pair("bounds", _end))
        self._set("reach", self._pair("reach", _end if self.numeric else _level))
        for name in ("immutable", "fillable", "clock"):
            self._set(name, as_python(getattr(self, name)))
        if isinstance(self.clock, bool):
            self._set("clock", 1.0 if self.clock else None)
        for complaint in _complaints(self):
            raise SchemaError(f"feature {self.name!r}: {complaint}")
        if self.kind in ("count", "positive") and self.bounds[0] is None:
            self._set("bounds", (0.0, self.bounds[1]))
        if self.kind == "count" and self.step is None:
            self._set("step", 1.0)
        for name in ("step", "cost", "pace"):
            given = getattr(self, name)
            self._set(name, None if given is None else float(given))
        self._set("clock", None if self.clock is None else _whole_months(float(self.clock)))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _pair(self, name: str, convert: Callable[[Any], Level | None]) -> tuple[Level | None, Level | None]:
        given = getattr(self, name)
        try:
            low, high = given
            return None if low is None else convert(low), None if high is None else convert(high)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, SchemaError):
                raise
            form = "of levels" if name == "reach" and self.levels else "such as (0, 100)"
            raise SchemaError(
                f"{name} of {self.name!r} must be a pair {form}, with None where it is open, got {given!r:.80}"
            ) from None

    def __hash__(self) -> int:
        return hash((self.name, self.kind, self.levels))

    @cached_property
    def numeric(self) -> bool:
        """Whether the column holds numbers rather than levels."""
        return self.kind in NUMERIC

    @cached_property
    def ordered(self) -> bool:
        """Whether values are ordered, so that directions and ranges are meaningful."""
        return self.kind != "categorical"

    @cached_property
    def integral(self) -> bool:
        """Whether every new value is an integer."""
        return self.step is not None and float(self.step).is_integer()

    @cached_property
    def searched(self) -> bool:
        """Whether a search may change the column: neither immutable nor computed."""
        return not self.immutable and self.computed is None

    @cached_property
    def computed(self) -> str | None:
        """The expression of a column that is derived from others, or follows them; None for any other column."""
        return self.follows if self.derived is None else self.derived

    @property
    def suggested(self) -> tuple[float, float]:
        """The smallest and largest cell of the matrix that is suggested to anybody: `bounds` and `reach` together."""
        if self.numeric:
            (lowest, highest), (low, high) = self.bounds, self.reach
            floors = [float(side) for side in (lowest, low) if side is not None]
            ceilings = [float(side) for side in (highest, high) if side is not None]
            return max(floors, default=-math.inf), min(ceilings, default=math.inf)
        low, high = self.reach
        first = 0 if low is None else self.levels.index(low)
        return float(first), float(len(self.levels) - 1 if high is None else self.levels.index(high))

    @property
    def reaches(self) -> tuple[float, float]:
        """How far a cell may go down (≤ 0) and up, by direction and range."""
        down, up = (end if far is None else far for far, end in zip(self.range, _ENDS, strict=True))
        return 0.0 if self.direction == "increase" else down, 0.0 if self.direction == "decrease" else up

    @property
    def is_reviewed(self) -> bool:
        """Whether somebody has decided how the column may change: in `reviewed`, or with a property that says it."""
        return any(getattr(self, name) != getattr(Feature, name, {}) for name in _DECISIONS)

    @property
    def title(self) -> str:
        """The label, or else the name, for display."""
        return self.label or self.name


def ordinary(feature: Feature, cells: np.ndarray) -> np.ndarray:
    """Which cells of the matrix hold a value on the feature's own scale: neither missing nor a special code."""
    known = ~np.isnan(cells)
    for code in feature.special:
        known &= cells != code
    return known


def _level(given: object) -> Level:
    """A level as a Python scalar, so that schemas are equal and print alike wherever they come from."""
    level: object = as_python(given)
    if not isinstance(level, str | bool | int | float) or (isinstance(level, float) and not math.isfinite(level)):
        raise SchemaError(f"{given!r} cannot be a level; levels are strings, numbers or booleans")
    return level


def _levels(name: str, what: str, levels: object) -> tuple[Level, ...]:
    if isinstance(levels, str | bytes | Mapping) or not isinstance(levels, Iterable):
        raise SchemaError(f"{what} of {name!r} must be a list of levels, such as ['rents', 'owns'], got {levels!r}")
    return tuple(_level(level) for level in levels)


def _transitions(name: str, transitions: object) -> dict[Level, tuple[Level, ...]]:
    if not isinstance(transitions, Mapping):
        raise SchemaError(f"transitions of {name!r} must be a dictionary: {{'rents': ('owns',)}}, got {transitions!r}")
    return {_level(start): _levels(name, f"transitions[{start!r}]", goals) for start, goals in transitions.items()}


def _special_codes(name: str, special: object) -> dict[float, str]:
    if isinstance(special, Mapping):
        pairs = dict(special)
    elif isinstance(special, Iterable) and not isinstance(special, str):
        pairs = dict.fromkeys(special, "")
    else:
        raise SchemaError(f"special of {name!r} must map codes to meanings: {{-9: 'no record'}}, got {special!r}")
    try:
        codes = {float(code): str(meaning) for code, meaning in pairs.items()}
        if not all(map(math.isfinite, codes)):
            raise ValueError
        return codes
    except (TypeError, ValueError, OverflowError):
        raise SchemaError(f"special of {name!r} has a code that is not a finite number: {listed(pairs)}") from None


def _whole_months(rate: float) -> float:
    """The rate; one within 1 % of one unit in a whole number of months becomes that: 0.083 is 1 / 12."""
    months = round(1 / rate) if rate < 1 else 1
    return 1 / months if abs(rate * months - 1) <= _ABOUT else rate


def _end(given: Any) -> float | None:
    """The end of a range as a float; None where it is open."""
    end = float(given)
    if math.isnan(end):
        raise ValueError
    return None if math.isinf(end) else end


def _is_number(value: Any) -> bool:
    known = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return known and bool(abs(value) <= sys.float_info.max)


_TYPES: Final[tuple[tuple[tuple[str, ...], Any, str], ...]] = (
    (("immutable", "fillable"), bool, "True or False"),
    (("immutable_if", "derived", "follows", "likelihood", "label", "unit", "description"), str | None, "a string"),
    (("reviewed",), str, "a string, such as 'Ada, 2026-11-19'"),
)
_EXCLUDED: Final = (
    ("only a numeric column can be computed from others", ("derived", "follows"), lambda f: not f.numeric),
    (
        "a computed column cannot have {}; set that of the columns it is computed from",
        ("immutable", "immutable_if", "pace"),
        lambda f: f.computed is not None,
    ),
    (
        "a clock advances by itself and is never chosen, so it cannot have {}; leave one of the two out",
        ("immutable_if", "derived", "follows", "pace", "transitions", "fillable"),
        lambda f: f.clock is not None,
    ),
    (
        "{} is given, but its levels are not ordered; use transitions, or kind='ordinal'",
        ("direction", "range", "reach", "clock"),
        lambda f: not f.ordered,
    ),
    ("a column of numbers has no {}; did you mean kind='categorical'?", ("levels", "avoid"), lambda f: f.numeric),
    (
        "a column of levels has no {}; omit levels that are impossible, set reach, or make each special code a level",
        ("special", "bounds", "step"),
        lambda f: not f.numeric,
    ),
)
"""Complaints, the properties that they are about, and the features that may not have these."""


def _complaints(feature: Feature) -> Iterator[str]:
    """Sentences about how a feature contradicts itself."""
    if not isinstance(feature.name, str) or not feature.name:
        yield f"name must be a non-empty string, got {feature.name!r}"
    for name, choices in (("kind", KINDS), ("direction", DIRECTIONS)):
        if getattr(feature, name) not in choices:
            yield f"{name} must be one of {', '.join(choices)}, got {getattr(feature, name)!r}"
    if not _is_number(feature.cost) or feature.cost < 0:
        yield f"cost must be a finite number ≥ 0, got {feature.cost!r:.80}"
    for name in ("step", "pace", "clock"):
        given = getattr(feature, name)
        if given is not None and not (_is_number(given) and given > 0):
            yield f"{name} must be a finite number > 0, got {given!r:.80}"
    for names, kinds, wanted in _TYPES:
        for name in names:
            if not isinstance(getattr(feature, name), kinds):
                yield f"{name} must be {wanted}, got {getattr(feature, name)!r}"
    for complaint, names, concerns in _EXCLUDED:
        for name in names:
            if getattr(feature, name) not in (getattr(Feature, name, None), (), {}) and concerns(feature):
                yield complaint.format(name)
    if feature.derived is not None and feature.follows is not None:
        yield f"derived is {feature.derived!r} and follows is {feature.follows!r}; leave one of the two out"
    if feature.clock is not None and feature.direction == "decrease":
        yield "a clock cannot go backwards, but direction is 'decrease'"
    down, up = feature.range
    if (down is not None and down > 0) or (up is not None and up < 0):
        yield f"range is relative to the row's own value, so it must include 0, got {feature.range}"
    yield from _number_complaints(feature) if feature.numeric else _level_complaints(feature)
    low, high = feature.suggested
    if low > high:
        yield f"the lower end of reach is above the upper one: {feature.reach}"
    yield from _transition_complaints(feature)


def _number_complaints(feature: Feature) -> Iterator[str]:
    low, high = feature.bounds
    if low is not None and high is not None and low > high:
        yield f"the lower bound is above the upper one: {feature.bounds}"
    if feature.kind == "interval" and (low is None or high is None):
        yield "an interval column needs both bounds, such as bounds=(0, 100)"
    if feature.kind in ("positive", "count") and low is not None and low < 0:
        yield f"a {feature.kind} column has no values below 0, but its lower bound is {low:g}"
    if feature.kind == "count" and feature.step is not None and not float(feature.step).is_integer():
        yield f"the step of a count must be an integer, got {feature.step!r}"
    lowest, highest = (end if side is None else side for side, end in zip(feature.bounds, _ENDS, strict=True))
    if any(side is not None and not lowest <= float(side) <= highest for side in feature.reach):
        yield (
            f"reach is {feature.reach}, but bounds are {feature.bounds}: bounds are the values that data may hold, "
            "reach those among them that are suggested; widen bounds, or narrow reach"
        )


def _level_complaints(feature: Feature) -> Iterator[str]:
    if not feature.levels:
        yield f"a {feature.kind} column needs its levels"
    if twice := [level for level, count in Counter(feature.levels).items() if count > 1]:
        yield f"levels are repeated: {listed(twice)}"
    for name in ("reach", "avoid"):
        unknown = [level for level in getattr(feature, name) if level is not None and level not in feature.levels]
        if unknown:
            yield f"{name} names {listed(unknown)}; its levels are {listed(feature.levels)}"


def _transition_complaints(feature: Feature) -> Iterator[str]:
    states: set[object] = set(feature.levels) if feature.levels else {*feature.special, VALUE}
    if feature.transitions and feature.numeric and not feature.special:
        yield "transitions need levels or special codes, and it has neither; use direction and range"
    for start, goals in feature.transitions.items():
        for state in (start, *goals):
            if state not in states:
                yield f"transitions name {state!r}, which is not one of {listed(sorted(states, key=str))}"
