"""Answers as sentences that can be read out to the person they are for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from itertools import groupby
from typing import Any

import numpy as np

from attain.core.text import number, plain
from attain.results.record import Record
from attain.results.status import Status, Typicality
from attain.schema.feature import Feature
from attain.schema.text import described, months

_DIGITS = 4
"""Significant digits of a number without a step."""
_GROUPED = 10_000
"""From here on, numbers have commas between groups of three digits."""
_USUAL_DECIMALS = 6
_MOST_DECIMALS, _LARGEST = 12, 1e15
"""Numbers that need more decimals, or are this large, are shown with an exponent."""
_FOLLOWS = "This brings"
"""What is said of columns that are computed from others."""
_TYPICALITY = {
    str(Typicality.TYPICAL): "The new record is typical of people with this decision.",
    str(Typicality.UNUSUAL): "The new record would be unusual among people with this decision.",
    str(
        Typicality.OUTSIDE
    ): "The new record is unlike those seen with this decision, so treat this suggestion with caution.",
}


def person_sentences(result: Record) -> list[str]:
    """A text for each person: what to change, by the best option, or why there is no answer."""
    texts, options = [result.reason(i) for i in range(len(result))], option_sentences(result)
    for i in np.flatnonzero(result.best):
        texts[result.owners[i]] = options[i]
    return texts


def option_sentences(result: Record) -> list[str]:
    """A text for each option (m,): what to change, with values rounded for reading."""
    texts = [Status.FOUND.reason] * len(result.owners)
    for cells in changed_options(result):
        first = np.searchsorted(result.owners, cells[0]["position"])
        texts[first + cells[0]["option"] - 1] = _sentence(result, cells)
    return texts


def _sentence(result: Record, cells: Sequence[Mapping[str, Any]]) -> str:
    """What to change, how long that takes, what follows from it, and how typical the new record is."""
    first = cells[0]
    features = [result.table.schema[cell["feature"]] for cell in cells]
    actions: dict[str, list[str]] = {}
    for cell, feature in zip(cells, features, strict=True):
        verb, change = _action(cell, feature, feature.name in result.following)
        actions.setdefault(verb, []).append(change)
    derived = actions.pop(_FOLLOWS, [])
    chosen = [f"{verb} {_joined(changes)}" for verb, changes in actions.items()]
    chosen += [f"wait {months(first['months'])}"] if first["waits"] else []
    parts = [f"For {requested(result)}, {_joined(chosen, ', and ')}."] if chosen else []
    parts += [f"This takes about {months(first['months'])}."] if first["months"] and not first["waits"] else []
    parts += [f"{_FOLLOWS} {_joined(derived)}."] if derived else []
    parts += [_TYPICALITY[first["level"]]] if first["level"] is not None else []
    return " ".join(parts)


def requested(result: Record) -> str:
    """The request in words: the decision, and the probability if one was asked for."""
    likely = "" if result.probability is None else f" with a probability of at least {number(result.probability)}"
    return f"the decision {_quoted(result.target)}{likely}"


def changed_options(result: Record, positions: Collection[int] | None = None) -> list[list[dict[str, Any]]]:
    """The changed cells of all people, or of those at some positions, grouped by option."""
    cells = result.changed_cells(positions)
    return [list(group) for _, group in groupby(cells, key=lambda cell: (cell["position"], cell["option"]))]


def _action(cell: Mapping[str, Any], feature: Feature, follows: bool) -> tuple[str, str]:
    """The verb and its object: `reduce`, `duration from 48 to 24 months`; `follows` is for what a law computes.

    Clocks follow, too: nobody chooses them.
    """
    title, before, after = plain(feature.title), *now_and_then(cell, feature, _quoted)
    change = f"{title} from {before} to {after}"
    if follows or feature.derived is not None or feature.clock is not None:
        return _FOLLOWS, change
    if cell["current"] is None:
        return "fill in", f"{title} with {after}"
    if not (_ordinary(cell["current"], feature) and _ordinary(cell["counterfactual"], feature)):
        return "change", change
    return "increase" if cell["counterfactual"] > cell["current"] else "reduce", change


def now_and_then(cell: Mapping[str, Any], feature: Feature, quoted: Callable[[Any], str] = plain) -> tuple[str, str]:
    """Both values of a changed cell for reading, `48` and `24 months`: the unit of two numbers stands once.

    Levels and the meanings of special codes are written by `quoted`.
    """
    before, after = cell["current"], cell["counterfactual"]
    if not (_ordinary(before, feature) and _ordinary(after, feature)):
        return _alone(before, feature, quoted), _alone(after, feature, quoted)
    shown, new = readable(before, after, feature.step)
    return shown, _with_unit(new, feature)


def _alone(value: Any, feature: Feature, quoted: Callable[[Any], str]) -> str:
    if value is None:
        return "missing"
    if not _ordinary(value, feature):
        return quoted(described(value, feature) if feature.numeric else value)
    return _with_unit(readable(value, value, feature.step)[1], feature)


def _with_unit(number: str, feature: Feature) -> str:
    return f"{number} {plain(feature.unit)}" if feature.unit else number


def _ordinary(value: Any, feature: Feature) -> bool:
    """Whether this is a number on a scale: no special code, no missing cell, and levels only if they are numbers."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and feature.ordered and float(value) not in feature.special


def _quoted(value: Any) -> str:
    return f"“{plain(value)}”" if isinstance(value, str) else plain(value)


def _joined(parts: Sequence[str], last: str = " and ") -> str:
    return last.join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def readable(before: float, after: float, step: float | None) -> tuple[str, str]:
    """Two numbers with the digits that it takes to read them and tell them apart.

    Each has four significant digits, at most six decimals, but as many as it takes to show two digits of the difference
    and all that the step has. A new value without a step is rounded away from the old one, so that no less than the
    change is asked for, and is called `about` where that alters it.
    """
    least = max(_decimals(abs(after - before), 2), 0 if step is None else _decimals_of(step))
    if least > _MOST_DECIMALS or max(abs(before), abs(after)) >= _LARGEST:
        return f"{before:.12g}", f"{after:.12g}"
    place, new_place = (
        Decimal(1).scaleb(-max(least, min(_decimals(abs(value), _DIGITS), _USUAL_DECIMALS)))
        for value in (before, after)
    )
    exact = Decimal(repr(after))
    outward = ROUND_CEILING if after > before else ROUND_FLOOR if after < before else ROUND_HALF_EVEN
    new = exact if step is not None else exact.quantize(new_place, outward)
    grouped = max(abs(before), abs(after)) >= _GROUPED
    about = "" if new == exact else "about "
    return _written(Decimal(repr(before)).quantize(place), grouped), about + _written(new, grouped)


def _decimals(size: float, digits: int) -> int:
    """How many decimals a number has if it is shown with some significant digits; integers are not rounded."""
    return max(0, digits - 1 - Decimal(size).adjusted()) if size else 0


def _decimals_of(step: float) -> int:
    return max(0, -int(Decimal(repr(step)).normalize().as_tuple().exponent))


def _written(value: Decimal, grouped: bool) -> str:
    text = f"{value + 0:,f}" if grouped else f"{value + 0:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
