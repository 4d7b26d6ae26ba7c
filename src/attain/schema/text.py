"""A schema as a table, and single values with their units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING

from attain.core.text import ENGLISH, is_grouped, number, plain, table, wrapped

if TYPE_CHECKING:
    from attain.schema.feature import Feature
    from attain.schema.schema import Law, Schema

FEATURE_HEADER = ("feature", "kind", "may change", "values", "step")
_ROUNDING = 1e-6
"""The share of a month that rounding may add; answers take whole months."""
_LEVELS = 8
"""How many levels of a feature are listed."""
_LAWS = 5
"""How many laws are listed."""
_LONGEST = 200
"""How many characters of a law are shown."""


def schema_table(schema: Schema, width: int | None = None) -> str:
    """One line for each feature, then the rules and the first laws."""
    body = table(FEATURE_HEADER, feature_lines(schema), width=width)
    longest = [] if schema.max_months is None else [f"answers take at most {ENGLISH.duration(schema.max_months)}"]
    rules = [f"rule: {plain(rule)}" for rule in schema.rules]
    return "\n".join([body, *longest, *rules, *_laws(schema.laws or (), width)])


def feature_lines(schema: Schema) -> list[tuple[str, ...]]:
    """The cells under `FEATURE_HEADER` for each feature."""
    return [(f.name, f.kind, _freedom(f), _values(f), "" if f.step is None else number(f.step)) for f in schema]


def _laws(laws: Sequence[Law], width: int | None) -> Iterator[str]:
    if laws:
        some = f", the first {_LAWS} of them" if len(laws) > _LAWS else ""
        yield f"{len(laws):,} {'law' if len(laws) == 1 else 'laws'}{some}:"
    for law in laws[:_LAWS]:
        yield wrapped(shorten(plain(law.sentence or law.text), _LONGEST, placeholder=" …"), width, "  ")


def described(value: object, feature: Feature) -> str:
    """A value with its unit; a special code by its meaning, or as `code -9` if it has none; `yes` for True."""
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float) or not feature.numeric:
        return str(value)
    if float(value) in feature.special:
        return feature.special[float(value)] or f"code {number(value)}"
    return ENGLISH.with_unit(number(value, is_grouped(value, bool(feature.unit))), feature.unit or "")


def _freedom(feature: Feature) -> str:
    if feature.immutable and feature.clock is None:
        return "no"
    if feature.computed is not None:
        return f"{'=' if feature.follows is None else 'follows'} {feature.computed}"
    if feature.clock is not None:
        return f"clock, {_a_month(feature.clock, '', feature.clock < 1)}"
    parts = [{"any": "yes", "increase": "only up", "decrease": "only down"}[feature.direction]]
    if feature.range != (None, None):
        low, high = feature.range
        parts.append(f"by {'any' if low is None else number(low)} to {'any' if high is None else '+' + number(high)}")
    if feature.reach != (None, None):
        ends = ("any" if side is None else described(side, feature) for side in feature.reach)
        parts.append(f"to {' … '.join(ends)}")
    if feature.transitions:
        parts.append("partly")
    if feature.avoid:
        parts.append(f"not to {', '.join(map(str, feature.avoid))}")
    if feature.fillable:
        parts.append("fillable")
    if feature.immutable_if is not None:
        parts.append(f"not if {feature.immutable_if}")
    if feature.pace is not None:
        if feature.pace < 1 and not feature.numeric:
            parts.append(f"at most 1 in {ENGLISH.duration(math.ceil(1 / feature.pace - _ROUNDING))}")
        else:
            parts.append(f"at most {_a_month(feature.pace, feature.unit or '', False)}")
    return ", ".join(parts)


def _a_month(rate: float, unit: str, slow: bool) -> str:
    """`€200 a month`, or if that is slow `1 in 12 months`."""
    return (
        f"1 in {ENGLISH.duration(round(1 / rate, 1))}" if slow else f"{ENGLISH.with_unit(number(rate), unit)} a month"
    )


def _values(feature: Feature) -> str:
    if not feature.numeric:
        order = " < " if feature.kind == "ordinal" else ", "
        shown = order.join(str(level) for level in feature.levels[:_LEVELS])
        return shown + (f" … ({len(feature.levels)} levels)" if len(feature.levels) > _LEVELS else "")
    low, high = feature.bounds
    scale = f"{'−∞' if low is None else number(low)} … {'∞' if high is None else number(high)}"
    unit = f" {feature.unit}" if feature.unit else ""
    codes = f"; codes {', '.join(number(code) for code in feature.special)}" if feature.special else ""
    return scale + unit + codes
