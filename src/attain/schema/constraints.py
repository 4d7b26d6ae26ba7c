"""What one call of `explain` tightens, for all rows or for single ones."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from attain.core.errors import ConstraintError, did_you_mean, listed
from attain.schema.feature import DIRECTIONS, Direction, Limits
from attain.schema.schema import Schema, check_months


@dataclass(frozen=True)
class Constraints:
    """Further limits on what may change; they only tighten what the schema allows.

    Parameters
    ----------
    immutable
        Features that may not change in this call.
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

    def _check(self, schema: Schema) -> None:
        if isinstance(self.immutable, str) or not isinstance(self.immutable, Iterable):
            raise ConstraintError(f"constraints['immutable'] must be a list of names, got {self.immutable!r}")
        for key in ("direction", "range", "bounds", "cost", "people"):
            if not isinstance(getattr(self, key), Mapping):
                raise ConstraintError(f"constraints[{key!r}] must be a dictionary, got {getattr(self, key)!r}")
        for key in ("immutable", "direction", "range", "bounds", "cost"):
            unknown = [name for name in getattr(self, key) if name not in schema]
            if unknown:
                meant = did_you_mean(str(unknown[0]), schema.names) or f"; it has {listed(schema.names, most=40)}"
                raise ConstraintError(
                    f"constraints[{key!r}] names {listed(unknown)}, which the schema does not have{meant}"
                )
        for name, direction in self.direction.items():
            if direction not in DIRECTIONS:
                raise ConstraintError(
                    f"constraints['direction'][{name!r}] must be one of {', '.join(DIRECTIONS)}, got {direction!r}"
                )
        for key in ("direction", "range", "bounds"):
            for name in getattr(self, key):
                if not schema[name].ordered:
                    raise ConstraintError(
                        f"constraints[{key!r}] names {name!r}, whose levels are not ordered; list it under "
                        "'immutable', or set transitions in the schema"
                    )
        for name, limits in self.range.items():
            _check_limits("range", name, limits)
        for name, limits in self.bounds.items():
            _check_limits("bounds", name, self.positions(name, limits, schema))
        for name, cost in self.cost.items():
            if not isinstance(cost, numbers.Real) or not 0 <= float(cost) < float("inf"):
                raise ConstraintError(f"constraints['cost'][{name!r}] must be a finite number ≥ 0, got {cost!r}")
        most = self.max_changes
        if most is not None and (not isinstance(most, int | np.integer) or isinstance(most, bool) or most < 1):
            raise ConstraintError(f"constraints['max_changes'] must be an integer ≥ 1, got {most!r}")

        check_months("constraints['max_months']", self.max_months, ConstraintError)
        if self.max_months is not None and not (schema.clocks or schema.paced):
            raise ConstraintError(
                "constraints['max_months'] is given, but no feature of the schema has a clock or a pace, so that all "
                "answers take no time; set pace or clock of some"
            )

    def positions(self, name: str, limits: Any, schema: Schema) -> Any:
        """Limits as cells of the matrix: those of an ordinal column are given as levels."""
        levels = schema[name].levels
        if not levels or not isinstance(limits, tuple | list):
            return limits
        unknown = [level for level in limits if level is not None and level not in levels]
        if unknown:
            raise ConstraintError(
                f"constraints['bounds'][{name!r}] names {listed(unknown)}; its levels are {listed(levels)}"
            )
        return tuple(None if level is None else levels.index(level) for level in limits)


def _check_limits(key: str, name: str, limits: object) -> None:
    sides = limits if isinstance(limits, tuple | list) and len(limits) == 2 else None
    if sides is None or any(s is not None and (not isinstance(s, numbers.Real) or s != s) for s in sides):
        raise ConstraintError(
            f"constraints[{key!r}][{name!r}] must be a pair such as (0, 2) or (None, 2), got {limits!r}"
        )
    low, high = sides
    if low is not None and high is not None and low > high:
        raise ConstraintError(f"constraints[{key!r}][{name!r}] has a lower limit above its upper limit: {limits!r}")
    if key == "range" and ((low is not None and low > 0) or (high is not None and high < 0)):
        raise ConstraintError(
            f"constraints['range'][{name!r}] is relative to the row's own value, so it must include 0, got {limits!r}"
        )
