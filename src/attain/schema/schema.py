"""What each column is, and what may happen to it.

A `Schema` is plain, immutable data: print it (`print(schema)`), change it (`schema.change("age", immutable=True)`),
save it (`schema.to_toml("schema.toml")`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from attain.core.errors import AttainError, SchemaError, check_integer, listed, repeated
from attain.schema.feature import Feature, Kind
from attain.schema.formulas import Comparison, Expression, Formula
from attain.schema.language import parse_expression, parse_rule

if TYPE_CHECKING:
    from attain.core.frames import Frame


@dataclass(frozen=True)
class Rule:
    """A relation between columns that every answer satisfies: `a <= b`, or `if owner = no then mortgage = 0`.

    A row breaks the rule only where it is certainly false: not where that depends on a number that is missing or a
    special code (see `attain.schema.formulas`).
    """

    text: str
    formula: Formula

    @property
    def names(self) -> tuple[str, ...]:
        return self.formula.names

    @property
    def determines(self) -> tuple[str, Expression] | None:
        """The column and the expression of a rule `column = expression` over other columns; None for other rules.

        `abs(column - expression) <= constant` is such a rule, up to rounding. Where the column has levels, the value of
        the expression is the position of a level, or NaN.
        """
        formula = self.formula
        if not isinstance(formula, Comparison):
            return None
        name, value = formula.left.column, formula.right
        if formula.operator == "<=" and not value.names and (apart := formula.left.distance) is not None:
            name, value = apart
        elif formula.operator != "=":
            return None
        return None if name is None or not value.names or name in value.names else (name, value)

    @property
    def solutions(self) -> tuple[tuple[str, Expression], ...]:
        """The columns that the rule determines: the one on the left, and both of an operation on two columns."""
        found = self.determines
        return () if found is None else (found, *found[1].solved_for(found[0]))


@dataclass(frozen=True)
class Law:
    """A rule that was found in data, and the evidence for it. Two laws are equal if their texts are.

    Attributes
    ----------
    text
        The law in the language of rules: ``a <= b``, ``if owner = no then mortgage = 0``.
    sentence
        What it says, for people.
    applies
        The number of rows that it says something about: rows in which its condition holds and its numbers are known.
    broken
        The number of those that break it.
    expected
        The number that would break it if its columns were independent.
    rate
        An upper bound (95 %) of the share of new rows, among those it applies to, that break it.

    The evidence is None for a law that was read from a file or written by a person.
    """

    text: str
    sentence: str = field(default="", compare=False)
    applies: int | None = field(default=None, compare=False)
    broken: int | None = field(default=None, compare=False)
    expected: float | None = field(default=None, compare=False)
    rate: float | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.text} ({self.evidence})" if self.evidence else self.text

    @property
    def evidence(self) -> str:
        """What it rests on, in words; empty where that is unknown."""
        if self.applies is None or self.broken is None or self.expected is None or self.rate is None:
            return ""
        holds = f"all but {self.broken:,} of {self.applies:,}" if self.broken else f"{self.applies:,}"
        return (
            f"holds for {holds} people; by chance {self.expected:,.0f} would break it; "
            f"at most {100 * self.rate:.2g} % of new people do"
        )


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table, in order, the rules between them, and the laws that were found in data.

    An answer satisfies every rule. It keeps every law too, but a row that breaks a law itself may go on breaking it.
    `laws` is None where none have been looked for: explainers then find those of their training data. No answer takes
    longer than `max_months`, by the clocks and paces of the features; None is no limit.
    """

    features: tuple[Feature, ...]
    rules: tuple[str, ...] = ()
    laws: tuple[Law, ...] | None = None
    max_months: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.features, Iterable):
            raise SchemaError(f"features must be a list of Feature objects, got {self.features!r}")
        object.__setattr__(self, "features", tuple(self.features))
        object.__setattr__(self, "rules", _texts("rules", self.rules, str))
        if self.laws is not None:
            laws = _texts("laws", self.laws, str | Law)
            object.__setattr__(self, "laws", tuple(Law(law) if isinstance(law, str) else law for law in laws))
        check_whole("max_months", self.max_months, 0, SchemaError)
        if not self.features:
            raise SchemaError("a schema needs at least one feature")
        for feature in self.features:
            if not isinstance(feature, Feature):
                raise SchemaError(f"features must be a list of Feature objects, got a {type(feature).__name__} in it")
        if twice := repeated(self.names):
            raise SchemaError(f"two features have the same name: {listed(twice)}")
        _ = self.parsed_rules, self.parsed_laws, self.derivations, self.conditions

    @classmethod
    def infer(
        cls,
        frame: Frame,
        *,
        immutable: Iterable[str] = (),
        kinds: Mapping[str, Kind] | None = None,
        rules: Sequence[str] = (),
        laws: bool = True,
    ) -> Schema:
        """A first guess at the schema of a frame, to be reviewed and edited; see `attain.schema.infer`.

        `attain.review.questions(schema, frame)` asks what only a person can decide about its columns.
        """
        from attain.schema.infer import infer

        return infer(frame, immutable, kinds, rules, laws)

    @classmethod
    def from_toml(cls, source: str | PathLike[str]) -> Schema:
        """The schema in a TOML file or text, such as `to_toml` writes: a path, or the text itself."""
        from attain.schema.text import from_toml, read_file

        if isinstance(source, PathLike) or ("\n" not in source and source.endswith(".toml")):
            return read_file(source)
        return from_toml(source)

    def to_toml(self, path: str | PathLike[str] | None = None) -> str:
        """The schema as TOML text to read and edit, also written to a `path`; `Schema.from_toml` restores it."""
        from attain.schema.text import to_toml

        return to_toml(self, path)

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
        laws = f", {len(self.laws)} laws" if self.laws else ""
        return f"<Schema of {len(self)} features, {len(self.immutable)} of them immutable{rules}{laws}>"

    def __str__(self) -> str:
        from attain.schema.text import schema_table

        return schema_table(self)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def _columns(self) -> dict[str, Feature]:
        return {feature.name: feature for feature in self.features}

    def position(self, name: str) -> int:
        """The matrix column of the feature."""
        if name not in self._positions:
            raise SchemaError(f"there is no feature {name!r} in the schema; it has {listed(self.names, most=40)}")
        return self._positions[name]

    @property
    def immutable(self) -> tuple[str, ...]:
        """The names of the features that never change."""
        return tuple(feature.name for feature in self.features if feature.immutable)

    @property
    def free(self) -> tuple[str, ...]:
        """The names of the features that a search may change."""
        return tuple(feature.name for feature in self.features if feature.searched)

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """The names of the features that a search may change and nobody has decided on; see `Feature.is_reviewed`."""
        return tuple(feature.name for feature in self.features if feature.searched and not feature.is_reviewed)

    @cached_property
    def free_columns(self) -> np.ndarray:
        """The positions of the free features."""
        return np.flatnonzero(self.searched)

    @cached_property
    def searched(self) -> np.ndarray:
        """Which features are free, (d,)."""
        return np.array([feature.searched for feature in self.features], dtype=bool)

    @cached_property
    def counted(self) -> np.ndarray:
        """Which features count where changes are counted: those that are neither computed nor clocks, (d,)."""
        return np.array([feature.computed is None and feature.clock is None for feature in self.features], dtype=bool)

    @cached_property
    def fillable(self) -> np.ndarray:
        """Which features may be filled where they are missing, (d,)."""
        return np.array([feature.fillable for feature in self.features], dtype=bool)

    @cached_property
    def costs(self) -> np.ndarray:
        """What a change of each feature weighs, (d,)."""
        return np.array([feature.cost for feature in self.features], dtype=np.float64)

    @cached_property
    def suggested(self) -> np.ndarray:
        """The smallest and the largest cell of each feature that is suggested to anybody, (2, d)."""
        return np.array([feature.suggested for feature in self.features], dtype=np.float64).reshape(-1, 2).T

    @cached_property
    def reaches(self) -> np.ndarray:
        """How far a cell of each feature may go down (≤ 0) and up, by its direction and range, (2, d)."""
        return np.array([feature.reaches for feature in self.features], dtype=np.float64).T

    @cached_property
    def codes(self) -> np.ndarray:
        """The special codes of each feature, (d, S), filled up with NaN; S is 0 where there are none."""
        most = max((len(feature.special) for feature in self.features), default=0)
        return np.array([[*f.special, *[math.nan] * (most - len(f.special))] for f in self.features], dtype=np.float64)

    @cached_property
    def grids(self) -> tuple[tuple[float | None, np.ndarray], ...]:
        """The steps of numbers, None for six significant digits, each with the positions of its features."""
        steps = dict.fromkeys(feature.step for feature in self.features if feature.numeric)
        every = [(j, feature) for j, feature in enumerate(self.features) if feature.numeric]
        return tuple((step, np.array([j for j, f in every if f.step == step], dtype=np.intp)) for step in steps)

    @cached_property
    def clocks(self) -> tuple[int, ...]:
        """The positions of the features that advance with time."""
        return tuple(j for j, feature in enumerate(self.features) if feature.clock is not None)

    @cached_property
    def paced(self) -> tuple[int, ...]:
        """The positions of the features whose changes take time."""
        return tuple(j for j, feature in enumerate(self.features) if feature.pace is not None)

    @cached_property
    def immutable_columns(self) -> np.ndarray:
        """The positions of the immutable features."""
        return np.array([j for j, feature in enumerate(self.features) if feature.immutable], dtype=np.intp)

    @cached_property
    def parsed_rules(self) -> tuple[Rule, ...]:
        return tuple(self.rule(text) for text in self.rules)

    @cached_property
    def parsed_laws(self) -> tuple[Rule, ...]:
        """The laws as rules; none where none have been looked for."""
        advice = "; correct it, or leave it out"
        return tuple(
            self._rule_of(f"the law {law.text!r} does not fit the features", law.text, advice)
            for law in self.laws or ()
        )

    @cached_property
    def conditions(self) -> tuple[tuple[int, Rule], ...]:
        """The position and condition of each feature that is immutable for some people."""
        return tuple(
            (j, self._rule_of(f"immutable_if of {feature.name!r} cannot be parsed", feature.immutable_if))
            for j, feature in enumerate(self.features)
            if feature.immutable_if is not None
        )

    def _rule_of(self, complaint: str, text: str, advice: str = "") -> Rule:
        try:
            return self.rule(text)
        except SchemaError as error:
            raise SchemaError(f"{complaint}: {error}{advice}") from None

    def rule(self, text: str) -> Rule:
        """A rule between the features, parsed; a `SchemaError` says what does not fit."""
        return Rule(text, parse_rule(text, self._columns))

    @cached_property
    def derivations(self) -> tuple[tuple[int, Expression], ...]:
        """The position and expression of each computed column, in an order in which they can be computed."""
        waiting = {f.name: parse_expression(f.computed, self._columns) for f in self.features if f.computed is not None}
        for name, expression in waiting.items():
            for used in expression.names:
                if not self[used].numeric:
                    how = "is derived from" if self[name].follows is None else "follows"
                    raise SchemaError(f"feature {name!r} {how} {used!r}, which is not numeric")
        ordered: list[tuple[int, Expression]] = []
        while waiting:
            ready = [name for name, e in waiting.items() if not any(used in waiting for used in e.names)]
            if not ready:
                raise SchemaError(f"the computed columns {listed(waiting)} depend on each other in a cycle")
            ordered += [(self._positions[name], waiting.pop(name)) for name in ready]
        return tuple(ordered)

    def change(self, names: str | Iterable[str], **changes: Any) -> Schema:
        """A copy with changed properties of the named features: `schema.change("age", immutable=True)`."""
        chosen = {names} if isinstance(names, str) else set(names)
        for name in chosen:
            self.position(name)
        known = {item.name for item in fields(Feature)}
        for name in changes:
            if name not in known:
                raise SchemaError(f"a feature has no property {name!r}; it has {', '.join(sorted(known))}")
        features = tuple(replace(f, **changes) if f.name in chosen else f for f in self.features)
        return replace(self, features=features)

    def without(self, names: Iterable[str]) -> Schema:
        """A copy without some features, and without the rules and laws that name them."""
        gone = set(names)
        for name in gone:
            self.position(name)
        rules = tuple(rule.text for rule in self.parsed_rules if not gone.intersection(rule.names))
        features = tuple(feature for feature in self.features if feature.name not in gone)
        return replace(self.without_laws_of(gone), features=features, rules=rules)

    def without_laws_of(self, names: Iterable[str]) -> Schema:
        """A copy without the laws that name one of these features."""
        known = zip(self.laws or (), self.parsed_laws, strict=True)
        kept = tuple(law for law, rule in known if not set(names).intersection(rule.names))
        return self if self.laws is None else replace(self, laws=kept)

    def with_rules(self, *rules: str) -> Schema:
        """A copy with additional rules between features."""
        return replace(self, rules=(*self.rules, *rules))

    def with_max_months(self, max_months: int | None) -> Schema:
        """A copy in which answers take this many months at most."""
        return replace(self, max_months=max_months)

    def with_laws(self, laws: Iterable[Law | str] | None) -> Schema:
        """A copy with these laws instead; None: explainers find those of their training data."""
        return replace(self, laws=laws)  # type: ignore[arg-type]


def check_whole(name: str, value: object, least: int, error: type[AttainError]) -> None:
    """Refuses what is neither None nor an integer ≥ `least`."""
    try:
        if value is not None:
            check_integer(name, value, least)
    except AttainError as problem:
        raise error(f"{problem}; or None for no limit") from None


def _texts(name: str, given: Any, kinds: Any) -> tuple[Any, ...]:
    items = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else None
    if items is None or not all(isinstance(item, kinds) for item in items):
        raise SchemaError(f"{name} must be a list of strings, such as ['a <= b'], got {given!r}")
    return items


def without_bounds(schema: Schema) -> Schema:
    """The schema with every number allowed, so that answers of any method can be read."""
    numbers = [feature.name for feature in schema if feature.numeric]
    return schema.change(numbers, kind="real", bounds=(None, None)) if numbers else schema
