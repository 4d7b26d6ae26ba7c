"""What each column is, and what may happen to it.

A `Schema` is plain, immutable data: look at it (`print(schema)`), change it (`schema.change("age", immutable=True)`),
save it (`schema.to_toml()`). It knows no frames and no arrays beyond the matrix described in `docs/architecture.md`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from attain.core.errors import SchemaError, listed
from attain.schema.expressions import Clause, Expression, parse_rule
from attain.schema.text import schema_table

if TYPE_CHECKING:
    from attain.core.frames import Frame

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


@dataclass(frozen=True)
class Feature:
    """One column: what it holds, and what may happen to it.

    Parameters
    ----------
    name
        The column's name in the frame.
    kind
        `real` (any number), `positive` (a number from 0 upward, modelled on a log scale), `count` (0, 1, 2, …),
        `interval` (a number between two bounds, such as a percentage), `ordinal` (levels with an order) or
        `categorical` (levels without one).
    levels
        The levels of an ordinal column, lowest first, or of a categorical one.
    bounds
        The smallest and largest value that exists, inclusive; None is open. Special codes lie outside the scale.
    step
        The grid of new values: whole multiples of it. 1 for counts. Without a step, new values have six significant
        digits.
    special
        Codes that are states and no numbers, each with its meaning: `{-9: "no record"}`. A person stays in a special
        state, and outside it, unless `transitions` say otherwise.
    immutable
        The cell can never change.
    direction
        Which way the value may move: `any`, `increase` or `decrease`.
    range
        How far the value may move, relative to the person: `(-1, 2)` is at most one down and two up; None is open. An
        ordinal column counts levels.
    transitions
        Where a level or special code may go: `{"rents": ("owns",)}`. A level that is not named may go anywhere.
        `"value"` stands for the ordinary numbers of a column with special codes.
    cost
        The weight of a change of this feature wherever changes are weighed, from 0 upward.
    fillable
        A missing cell may be filled in. Otherwise missing stays missing. A present cell is never emptied.
    derived
        An expression over other columns, `"debt / income"`: recomputed when one of them changes, never searched.
    likelihood
        Which density models the column, where its kind offers several (`"negative_binomial"` for a count, `"beta"` for
        an interval); None takes the kind's default.
    label, unit, description
        For the people who read answers.
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()
    bounds: Limits = _OPEN
    step: float | None = None
    special: Mapping[float, str] = field(default_factory=dict)
    immutable: bool = False
    direction: Direction = "any"
    range: Limits = _OPEN
    transitions: Mapping[Level, tuple[Level, ...]] = field(default_factory=dict)
    cost: float = 1.0
    fillable: bool = False
    derived: str | None = None
    likelihood: str | None = None
    label: str | None = None
    unit: str | None = None
    description: str | None = None

    def __post_init__(self) -> None:
        self._set("levels", _levels(self.name, "levels", self.levels))
        self._set("special", _special_codes(self.name, self.special))
        self._set("transitions", _transitions(self.name, self.transitions))
        self._set("range", self._limits("range", self.range))
        self._set("bounds", self._limits("bounds", self.bounds))
        _check(self)
        if self.kind in ("count", "positive") and self.bounds[0] is None:
            self._set("bounds", (0.0, self.bounds[1]))
        if self.kind == "count" and self.step is None:
            self._set("step", 1.0)
        self._set("step", None if self.step is None else float(self.step))
        self._set("cost", float(self.cost))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _limits(self, name: str, limits: Limits) -> Limits:
        try:
            low, high = limits
            low, high = (None if side is None or math.isinf(side) else float(side) for side in (low, high))
        except (TypeError, ValueError):
            raise SchemaError(
                f"{name} of {self.name!r} is {limits!r}; it takes a pair such as (0, 100), with None where it is open"
            ) from None
        if any(side is not None and math.isnan(side) for side in (low, high)):
            raise SchemaError(f"{name} of {self.name!r} is {limits!r}; NaN is no limit, None is")
        return (low, high)

    def __hash__(self) -> int:
        return hash((self.name, self.kind, self.levels))

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers, not levels."""
        return self.kind in NUMERIC

    @property
    def ordered(self) -> bool:
        """Whether values have an order, so that directions and ranges mean something."""
        return self.kind != "categorical"

    @property
    def integral(self) -> bool:
        """Whether every new value is a whole number."""
        return self.step is not None and float(self.step).is_integer()

    @property
    def searched(self) -> bool:
        """Whether a search may change the column: free, and not derived from others."""
        return not self.immutable and self.derived is None

    @property
    def title(self) -> str:
        """What people read: the label, or else the name."""
        return self.label or self.name


def _plain(level: object) -> Level:
    """A level as a plain Python scalar, so that schemas compare and print alike wherever they came from."""
    item = level.item() if isinstance(level, np.generic) else level
    if not isinstance(item, str | bool | int | float) or (isinstance(item, float) and not math.isfinite(item)):
        raise SchemaError(f"{level!r} cannot be a level; levels are texts, whole numbers, numbers or booleans")
    return item


def _levels(name: str, what: str, levels: object) -> tuple[Level, ...]:
    if isinstance(levels, str | bytes | Mapping) or not isinstance(levels, Iterable):
        raise SchemaError(f"{what} of {name!r} is {levels!r}; it takes a list of levels, such as ['rents', 'owns']")
    return tuple(_plain(level) for level in levels)


def _transitions(name: str, transitions: object) -> dict[Level, tuple[Level, ...]]:
    if not isinstance(transitions, Mapping):
        raise SchemaError(f"transitions of {name!r} is {transitions!r}; it takes a dictionary: {{'rents': ('owns',)}}")
    return {_plain(start): _levels(name, f"transitions[{start!r}]", goals) for start, goals in transitions.items()}


def _special_codes(name: str, special: object) -> dict[float, str]:
    if isinstance(special, Mapping):
        pairs = dict(special)
    elif isinstance(special, Iterable) and not isinstance(special, str):
        pairs = dict.fromkeys(special, "")
    else:
        raise SchemaError(f"special of {name!r} is {special!r}; it takes codes with their meaning: {{-9: 'no record'}}")
    try:
        codes = {float(code): str(meaning) for code, meaning in pairs.items()}
        if not all(map(math.isfinite, codes)):
            raise ValueError
        return codes
    except (TypeError, ValueError):
        raise SchemaError(f"special of {name!r} has a code that is no number: {listed(pairs)}") from None


def _check(feature: Feature) -> None:
    """Refuses a feature that contradicts itself."""
    for complaint in _complaints(feature):
        raise SchemaError(f"feature {feature.name!r}: {complaint}")


def _complaints(feature: Feature) -> Iterator[str]:
    if not isinstance(feature.name, str) or not feature.name:
        yield "a name is a text with at least one character"
    if feature.kind not in KINDS:
        yield f"kind is {feature.kind!r}; it takes one of {', '.join(KINDS)}"
    if feature.direction not in DIRECTIONS:
        yield f"direction is {feature.direction!r}; it takes one of {', '.join(DIRECTIONS)}"
    if not isinstance(feature.cost, numbers.Real) or not 0 <= float(feature.cost) < math.inf:
        yield f"cost is {feature.cost!r}; it takes a number from 0 upward"
    step = 1.0 if feature.step is None else feature.step
    if not isinstance(step, numbers.Real) or not 0 < float(step) < math.inf:
        yield f"step is {feature.step!r}; it takes a number above 0"
    for name in ("immutable", "fillable"):
        if not isinstance(getattr(feature, name), bool | np.bool_):
            yield f"{name} is {getattr(feature, name)!r}; it takes True or False"
    for name in ("derived", "likelihood", "label", "unit", "description"):
        if not isinstance(getattr(feature, name), str | None):
            yield f"{name} is {getattr(feature, name)!r}; it takes a text"
    low, high = feature.bounds
    if low is not None and high is not None and low > high:
        yield f"bounds are {feature.bounds}; the lower one is above the upper one"
    down, up = feature.range
    if (down is not None and down > 0) or (up is not None and up < 0):
        yield f"range is {feature.range}; it is relative to the person, so it runs from 0 or below to 0 or above"
    yield from _numeric_complaints(feature) if feature.numeric else _level_complaints(feature)
    yield from _transition_complaints(feature)


def _numeric_complaints(feature: Feature) -> Iterator[str]:
    low, high = feature.bounds
    if feature.levels:
        yield f"a {feature.kind} column has no levels; did you mean kind='categorical'?"
    if feature.kind == "interval" and (low is None or high is None):
        yield "an interval column needs both bounds, such as bounds=(0, 100)"
    if feature.kind in ("positive", "count") and low is not None and low < 0:
        yield f"a {feature.kind} column has no values below 0, but its lower bound is {low:g}"
    if feature.kind == "count" and feature.step is not None and not float(feature.step).is_integer():
        yield f"step is {feature.step!r}; a count moves by whole numbers"
    if feature.derived is not None and feature.immutable:
        yield "a derived column cannot be immutable; make the columns it is computed from immutable"


def _level_complaints(feature: Feature) -> Iterator[str]:
    if not feature.levels:
        yield f"a {feature.kind} column needs its levels"
    keys = [(isinstance(level, bool), level) for level in feature.levels]
    if len(set(keys)) < len(keys) or len(set(feature.levels)) < len(feature.levels):
        twice = [level for level in feature.levels if feature.levels.count(level) > 1]
        yield f"levels are listed twice: {listed(dict.fromkeys(twice))}"
    if feature.special:
        yield f"a {feature.kind} column has no special codes; make each code a level"
    if feature.bounds != _OPEN:
        yield f"a {feature.kind} column has no bounds; leave out levels that do not exist"
    if feature.step is not None:
        yield f"a {feature.kind} column has no step"
    if feature.derived is not None:
        yield "only a column of numbers can be derived"
    if not feature.ordered and feature.direction != "any":
        yield f"direction is {feature.direction!r}, but its levels have no order; use transitions, or kind='ordinal'"
    if not feature.ordered and feature.range != _OPEN:
        yield f"range is {feature.range}, but its levels have no order; use transitions, or kind='ordinal'"


def _transition_complaints(feature: Feature) -> Iterator[str]:
    states: set[object] = set(feature.levels) if feature.levels else {*feature.special, VALUE}
    if feature.transitions and feature.numeric and not feature.special:
        yield "transitions are between levels or special codes, and it has neither; use direction and range"
    for start, goals in feature.transitions.items():
        for state in (start, *goals):
            if state not in states:
                yield f"transitions name {state!r}, which is none of {listed(sorted(states, key=str))}"


@dataclass(frozen=True)
class Rule:
    """A relation between columns that every answer keeps: `a <= b`, or `if owner = no then mortgage = 0`.

    A row in which a number it compares is missing or a special code does not break the rule.
    """

    text: str
    condition: Clause | None
    consequence: Clause

    @property
    def names(self) -> tuple[str, ...]:
        first = self.condition.names if self.condition else ()
        return tuple(dict.fromkeys((*first, *self.consequence.names)))


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table, in order, and the rules between them."""

    features: tuple[Feature, ...]
    rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.features, Iterable):
            raise SchemaError(f"a schema is made of a list of features, not of {self.features!r}")
        object.__setattr__(self, "features", tuple(self.features))
        rules = (self.rules,) if isinstance(self.rules, str) else self.rules
        if not isinstance(rules, Iterable) or not all(isinstance(rule, str) for rule in rules):
            raise SchemaError(f"rules is {self.rules!r}; it takes a list of texts, such as ['a <= b']")
        object.__setattr__(self, "rules", tuple(rules))
        if not self.features:
            raise SchemaError("a schema needs at least one feature")
        for feature in self.features:
            if not isinstance(feature, Feature):
                raise SchemaError(f"a schema is made of Feature objects, not of {type(feature).__name__}")
        twice = [name for name in dict.fromkeys(self.names) if self.names.count(name) > 1]
        if twice:
            raise SchemaError(f"two features have the same name: {listed(twice)}")
        _ = self.parsed_rules, self.derivations

    @classmethod
    def infer(
        cls,
        frame: Frame,
        *,
        immutable: Iterable[str] = (),
        kinds: Mapping[str, Kind] | None = None,
        rules: Sequence[str] = (),
    ) -> Schema:
        """A first guess at the schema of a frame, to be looked at and edited; see `attain.schema.infer`."""
        from attain.schema.infer import infer

        return infer(frame, immutable=immutable, kinds=kinds, rules=rules)

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """The schema that a text written by `to_toml` holds."""
        from attain.schema.toml import read

        return read(text)

    def to_toml(self) -> str:
        """The schema as TOML, for people to edit; `Schema.from_toml` gives back an equal one."""
        from attain.schema.toml import write

        return write(self)

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __contains__(self, name: object) -> bool:
        return name in self._positions

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.position(name)]

    def __repr__(self) -> str:
        """One line; `print` shows the table."""
        rules = f", {len(self.rules)} rules" if self.rules else ""
        return f"<Schema of {len(self)} features, {len(self.immutable)} of them immutable{rules}>"

    def __str__(self) -> str:
        return schema_table(self)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def position(self, name: str) -> int:
        """Which column of the matrix holds the feature."""
        if name not in self._positions:
            raise SchemaError(f"there is no feature {name!r} in the schema; it has {listed(self.names, most=40)}")
        return self._positions[name]

    @property
    def immutable(self) -> tuple[str, ...]:
        """The names of the features that can never change."""
        return tuple(feature.name for feature in self.features if feature.immutable)

    @property
    def free(self) -> tuple[str, ...]:
        """The names of the features that a search may change."""
        return tuple(feature.name for feature in self.features if feature.searched)

    @cached_property
    def free_columns(self) -> np.ndarray:
        """The positions of the free features."""
        return np.array([j for j, feature in enumerate(self.features) if feature.searched], dtype=np.intp)

    @cached_property
    def immutable_columns(self) -> np.ndarray:
        """The positions of the immutable features."""
        return np.array([j for j, feature in enumerate(self.features) if feature.immutable], dtype=np.intp)

    @cached_property
    def parsed_rules(self) -> tuple[Rule, ...]:
        columns = {feature.name: feature for feature in self.features}
        return tuple(Rule(text, *parse_rule(text, columns)) for text in self.rules)

    @cached_property
    def derivations(self) -> tuple[tuple[int, Expression], ...]:
        """Each derived column and its expression, in an order in which they can be computed."""
        waiting = {f.name: Expression.parse(f.derived) for f in self.features if f.derived is not None}
        for name, expression in waiting.items():
            for used in expression.names:
                if used not in self._positions:
                    raise SchemaError(f"feature {name!r} is derived from {used!r}, which is not in the schema")
                if not self[used].numeric:
                    raise SchemaError(f"feature {name!r} is derived from {used!r}, which is no column of numbers")
        ordered: list[tuple[int, Expression]] = []
        while waiting:
            ready = [name for name, e in waiting.items() if not any(used in waiting for used in e.names)]
            if not ready:
                raise SchemaError(f"the derived columns {listed(waiting)} are computed from each other in a circle")
            ordered += [(self._positions[name], waiting.pop(name)) for name in ready]
        return tuple(ordered)

    def change(self, names: str | Iterable[str], **changes: Any) -> Schema:
        """A copy in which the named features have other properties: `schema.change("age", immutable=True)`."""
        chosen = {names} if isinstance(names, str) else set(names)
        for name in chosen:
            self.position(name)
        known = {item.name for item in fields(Feature)}
        for name in changes:
            if name not in known:
                raise SchemaError(f"a feature has no property {name!r}; it has {', '.join(sorted(known))}")
        features = tuple(replace(f, **changes) if f.name in chosen else f for f in self.features)
        return replace(self, features=features)

    def with_rules(self, *rules: str) -> Schema:
        """A copy with further rules between features."""
        return replace(self, rules=(*self.rules, *rules))
