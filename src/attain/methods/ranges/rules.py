"""Whether a rule can be broken anywhere in a box, by interval arithmetic: never denied wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from attain.schema.formulas import All, Among, Any, Comparison, Formula, Implication, Missing, Not, View

Interval: TypeAlias = tuple[float, float]

_ROUNDING: Final = 1e-10
"""Less than what counts as equal in a comparison."""


def can_break(formula: Formula, view: View, moved: Mapping[str, Interval]) -> bool:
    """Whether the formula can be false in a box: `view` is one row, and `moved` are the intervals of some columns."""
    return _possible(formula, view, moved)[1]


def _possible(formula: Formula, view: View, moved: Mapping[str, Interval]) -> tuple[bool, bool]:
    """Whether the formula can be true, and whether it can be false, at some point of the box.

    Both follow from those of the parts as truth and falsehood at one point do.
    """
    if moved.keys().isdisjoint(formula.names):
        holds, fails = formula.judge(view)
        return bool(holds[0]), bool(fails[0])
    match formula:
        case Not(part):
            true, false = _possible(part, view, moved)
            return false, true
        case All(parts):
            trues, falses = zip(*(_possible(part, view, moved) for part in parts), strict=True)
            return all(trues), any(falses)
        case Any(parts):
            trues, falses = zip(*(_possible(part, view, moved) for part in parts), strict=True)
            return any(trues), all(falses)
        case Implication(condition, consequence):
            met, unmet = _possible(condition, view, moved)
            true, false = _possible(consequence, view, moved)
            return unmet or true, met and false
        case Comparison():
            return _compared(formula, view, moved)
        case Among(name=name, values=values):
            low, high = moved[name]
            return any(low <= value <= high for value in values), True
        case Missing():
            return False, True


def _compared(part: Comparison, view: View, moved: Mapping[str, Interval]) -> tuple[bool, bool]:
    if not all(view.known(name)[0] for name in part.names):
        return False, False
    form = part.linear()
    if form is None:
        return True, True
    weights, constant = form
    ends = [
        sorted(weight * end for end in moved.get(name, (view.columns[name][0],) * 2))
        for name, weight in weights.items()
    ]
    low, high = constant + sum(end[0] for end in ends), constant + sum(end[1] for end in ends)
    # numbers that are almost equal count as equal: by more than `least`, and by less than `most`
    least, most = _ROUNDING, 100 * _ROUNDING * max(1.0, *(abs(end) for pair in ends for end in pair))
    below, above, equal = low < -least, high > least, low <= most and high >= -most
    return {
        "<=": (low <= most, above),
        "<": (below, high >= -most),
        ">=": (high >= -most, below),
        ">": (above, low <= most),
        "=": (equal, below or above),
        "≠": (below or above, equal),
    }[part.operator]
