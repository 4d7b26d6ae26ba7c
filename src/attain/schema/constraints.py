"""What one call of `explain` tightens, for all rows or for single ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import filterfalse
from typing import Any, Final

import numpy as np

from attain.core.errors import ConstraintError, SchemaError, did_you_mean, listed
from attain.schema.feature import Direction, Feature, Limits
from attain.schema.schema import Schema, check_whole

_LIMITS: Final = ("direction", "range", "bounds", "cost")


@dataclass(frozen=True)
class Constraints:
    """Further limits on what may change; they only tighten what the schema allows.

    Parameters
    ----------
    immutable
        Features that may not change in this call. Where one is a clock, no time may pass.
    direction
        `{"income": "increase"}`: which way a feature may move.
    range
        `{"credits": (0, 2)}`: how far a feature may move, relative to the row's own value.
    bounds
        `{"amount": (None, 5000)}`: the smallest and largest value of an answer; levels for an ordinal column.
    cost
        `{"housing": 3.0}`: weights that replace the schema's.
    max_changes
        The largest number of features an answer may change; waiting is none.
    max_months
        The longest that an answer may take, by the clocks and paces of the schema.
    people
        Further constraints for single rows, by row label (index label, or row number if the frame has no index):
        `{"p17": Constraints(immutable=["job"])}`.
    """

    immutable: Sequence[str] = ()
    direction: Mapping[str, Direction] = field(default_factory=dict)
    range: Mapping[str, Limits] = field(default_factory=dict)
    bounds: Mapping[str, Limits] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)
    max_changes: int | None = None
    max_months: int | None = None
    people: Mapping[Any, Constraints | Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Constraints | Mapping[str, Any] | None) -> Constraints:
        """Constraints from None, a dictionary with the same keys, or constraints."""
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise ConstraintError(
                f"constraints must be a dictionary such as {{'immutable': ['housing']}}, got {type(given).__name__}"
            )
        known = [item.name for item in fields(cls)]
        unknown = [key for key in given if key not in known]
        if unknown:
            meant = did_you_mean(str(unknown[0]), known) or f"; its keys are {', '.join(known)}"
            raise ConstraintError(f"constraints has no {listed(unknown)}{meant}")
        return cls(**given)

    def resolved(self, schema: Schema, labels: Sequence[Any]) -> Iterator[tuple[np.ndarray, Constraints]]:
        """Each set of constraints, checked, and the positions of the rows it applies to."""
        self._check(schema)
        yield np.arange(len(labels)), self
        if not self.people:
            return
        positions: dict[Any, list[int]] = {}
        for position, label in enumerate(labels):
            positions.setdefault(label, []).append(position)
        for label, given in self.people.items():
            if label not in positions:
                raise ConstraintError(
                    f"constraints['people'] names {label!r}, but there is no such row; row labels are "
                    f"{listed(positions, most=5)}"
                )
            own = Constraints.of(given)
            if own.people:
                raise ConstraintError(f"constraints['people'][{label!r}] must not contain 'people' itself")
            own._check(schema)
            yield np.array(positions[label]), own

    def limits(self, feature: Feature) -> Feature:
        """The feature with these limits instead of the schema's: its direction, range, bounds or reach, and cost."""
        given = {key: getattr(self, key)[feature.name] for key in _LIMITS if feature.name in getattr(self, key)}
        return _limited(feature, given)

    def _check(self, schema: Schema) -> None:
        if isinstance(self.immutable, str) or not isinstance(self.immutable, Iterable):
            raise ConstraintError(f"constraints['immutable'] must be a list of names, got {self.immutable!r}")
        for key in (*_LIMITS, "people"):
            if not isinstance(getattr(self, key), Mapping):
                raise ConstraintError(f"constraints[{key!r}] must be a dictionary, got {getattr(self, key)!r}")
        for key in ("immutable", *_LIMITS):
            if unknown := [*filterfalse(schema.names.__contains__, getattr(self, key))]:
                meant = did_you_mean(str(unknown[0]), schema.names) or f"; it has {listed(schema.names, most=40)}"
                raise ConstraintError(
                    f"constraints[{key!r}] names {listed(unknown)}, which the schema does not have{meant}"
                )
        for key in _LIMITS:
            for name, given in getattr(self, key).items():
                if key != "cost" and not schema[name].ordered:
                    raise ConstraintError(
                        f"constraints[{key!r}] names {name!r}, whose levels are not ordered; list it under "
                        "'immutable', or set transitions in the schema"
                    )
                try:
                    _limited(schema[name], {key: given})
                except SchemaError as error:
                    raise ConstraintError(f"constraints[{key!r}]: {error}") from None
        check_whole("constraints['max_changes']", self.max_changes, 1, ConstraintError)
        check_whole("constraints['max_months']", self.max_months, 0, ConstraintError)
        if self.max_months is not None and not (schema.clocks or schema.paced):
            raise ConstraintError(
                "constraints['max_months'] is given, but no feature of the schema has a clock or a pace, so that all "
                "answers take no time; set pace or clock of some"
            )


def _limited(feature: Feature, given: Mapping[str, Any]) -> Feature:
    """A feature with these limits alone; those of levels are called reach in a schema."""
    kind = "real" if feature.numeric else feature.kind
    properties = {"reach" if key == "bounds" and feature.levels else key: value for key, value in given.items()}
    return Feature(feature.name, kind, feature.levels, **properties)
