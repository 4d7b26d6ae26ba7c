"""What is wrong with a change of one record, in plain Python that shares nothing with the package's own check."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attain.schema import VALUE, Feature, Schema

_LONGEST = 600
"""The most months that are tried."""


def faults(schema: Schema, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What is wrong with changing one record into another, in words; empty where nothing is.

    Records are dictionaries from column to value, None where a cell is missing. Rules between features, computed
    columns and conditions (`immutable_if`) are left to the caller, who knows what they mean.
    """
    found = []
    for feature in schema:
        old, new = _cell(before[feature.name]), _cell(after[feature.name])
        if feature.computed is None and not _equal(old, new):
            found += [f"{feature.name}: {word} ({old!r} → {new!r})" for word in _wrong(feature, old, new)]
    if not any(_takes(schema, before, after, months) for months in range((schema.max_months or _LONGEST) + 1)):
        found.append("no number of months explains where the clocks stand, and leaves time for the changes")
    return found


def _takes(schema: Schema, before: Mapping[str, Any], after: Mapping[str, Any], months: int) -> bool:
    """Whether all clocks stand where they do after some months, and no change is faster than its pace."""
    for feature in schema:
        old, new = (_place(feature, _cell(record[feature.name])) for record in (before, after))
        if old is None or new is None:
            continue
        if feature.clock is not None and not _shows(feature, old, new, months):
            return False
        if feature.pace is not None:
            size = abs(new - old) if feature.ordered else float(new != old)
            if size > feature.pace * months * (1 + 1e-9) + 1e-9 * feature.pace:
                return False
    return True


def _place(feature: Feature, value: Any) -> float | None:
    """A value on its scale; None where it is missing or a special code."""
    if value is None or value in feature.special:
        return None
    return float(feature.levels.index(value) if feature.levels else value)


def _shows(feature: Feature, old: float, new: float, months: int) -> bool:
    """Whether a clock that stood at `old` stands at `new` after some months: the last value on its grid."""
    exact = old + (feature.clock or 0.0) * months
    if feature.levels and exact >= len(feature.levels) - 1 - 1e-9:
        return new == len(feature.levels) - 1
    digit = 10.0 ** (math.floor(math.log10(abs(exact) or 1.0)) - 5)
    step = (feature.step or digit) if feature.numeric else 1.0
    return new == old if exact < old + step and new == old else -1e-6 * step <= exact - new < step * (1 + 1e-6)


def _cell(value: Any) -> Any:
    return None if value is None or value != value else value


def _equal(old: Any, new: Any) -> bool:
    return bool(old == new) and (old is None) == (new is None)


def _wrong(feature: Feature, old: Any, new: Any) -> list[str]:
    if feature.immutable and feature.clock is None:
        return ["immutable"]
    if new is None:
        return ["emptied"]
    if old is None and not feature.fillable:
        return ["filled"]
    return _wrong_number(feature, old, new) if feature.numeric else _wrong_level(feature, old, new)


def _wrong_number(feature: Feature, old: Any, new: Any) -> list[str]:
    old_state = None if old is None else old if old in feature.special else VALUE
    new_state = new if new in feature.special else VALUE
    if old_state is not None and old_state != new_state and new_state not in feature.transitions.get(old_state, ()):
        return ["transition"]
    if new_state != VALUE:
        return []
    wrong = []
    low, high = feature.bounds
    if (low is not None and new < low) or (high is not None and new > high) or math.isinf(new):
        wrong.append("bounds")
    if _beyond(feature.reach, old if old_state == VALUE else None, new):
        wrong.append("reach")
    if feature.step is not None and abs(new / feature.step - round(new / feature.step)) > 1e-6:
        wrong.append("step")
    if feature.kind == "count" and new != int(new):
        wrong.append("fraction")
    return wrong + (_wrong_move(feature, new - old) if old_state == VALUE else [])


def _beyond(reach: tuple[Any, Any], old: Any, new: Any) -> bool:
    """Whether a new value is further out of reach than the old one."""
    low, high = reach
    below = low is not None and new < low and (old is None or new < old)
    above = high is not None and new > high and (old is None or new > old)
    return below or above


def _wrong_level(feature: Feature, old: Any, new: Any) -> list[str]:
    if new not in feature.levels:
        return ["level"]
    if new in feature.avoid or (old in feature.transitions and new not in feature.transitions[old]):
        return ["transition"]
    if not feature.ordered:
        return []
    low, high, start, goal = (
        None if level is None else feature.levels.index(level) for level in (*feature.reach, old, new)
    )
    far = ["reach"] if _beyond((low, high), start, goal) else []
    return far + ([] if start is None or goal is None else _wrong_move(feature, goal - start))


def _wrong_move(feature: Feature, move: float) -> list[str]:
    down, up = feature.range
    slack = 1e-9 * max(1.0, abs(move))
    against = {"any": False, "increase": move < 0, "decrease": move > 0}[feature.direction]
    beyond = (down is not None and move < down - slack) or (up is not None and move > up + slack)
    return (["direction"] if against else []) + (["range"] if beyond else [])
