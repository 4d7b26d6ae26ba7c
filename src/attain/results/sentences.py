"""Answers as sentences that can be read out to the person they are for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from attain.core.text import MONEY, is_grouped, plain, with_unit
from attain.results.status import Status, Typicality
from attain.schema.feature import Feature
from attain.schema.text import described, months

if TYPE_CHECKING:
    from attain.results.options import Change, Option
    from attain.results.record import Record

_DIGITS = 4
"""Significant digits of a number without a step."""
_ABOUT = "about "
"""Before a new value that is rounded."""
_USUAL_DECIMALS = 6
_MOST_DECIMALS, _LARGEST = 12, 1e15
"""Numbers that need more decimals, or are this large, are shown with an exponent."""
_TYPICALITY = {
    str(Typicality.TYPICAL): "The new record is typical of people with this decision.",
    str(Typicality.UNUSUAL): "The new record would be unusual among people with this decision.",
    str(
        Typicality.OUTSIDE
    ): "The new record is unlike those seen with this decision, so treat this suggestion with caution.",
}


def person_sentences(result: Record) -> list[str]:
    """A text for each person: what to change, by the best option, or why there is no answer."""
    texts = [result.reason(i) for i in range(len(result))]
    for place in np.flatnonzero(result.best).tolist():
        texts[result.owners[place]] = result.option(place).sentence
    return texts


def option_sentence(option: Option) -> str:
    """What to change, how long that takes, what follows from it, what else would do, and how typical the record is."""
    if not option.changes:
        return Status.FOUND.reason
    kinds: dict[str, list[Change]] = {"": [], "relation": [], "law": [], "time": []}
    for change in option.ordered:
        kinds[change.follows].append(change)
    chosen, followers, derived = kinds[""], kinds["relation"], kinds["law"] + kinds["time"]
    leading = [change for change in chosen if not change.only_typical]
    if not leading and not option.waits:  # nothing is left for them to follow
        leading, followers = followers, []
    led = [plain(change.feature.title) for change in followers]
    needed = actions(leading) + ([f"wait {months(option.months)}"] if option.waits else [])
    going = f"; {joined(led)} {'goes' if len(led) == 1 else 'go'} with {'it' if len(chosen) == 1 else 'these'}"
    parts = [f"For {option.request}, {joined(needed, ', and ')}{going if led else ''}."] if needed else []
    also = actions(change for change in chosen if change.only_typical)
    parts += (
        [f"To {'stay typical' if option.is_typical else 'be less unusual'}, also {joined(also, ', and ')}."]
        if also
        else []
    )
    parts += [f"This takes about {months(option.months)}."] if option.months and not option.waits else []
    parts += [f"This brings {joined([_change(change) for change in derived])}."] if derived else []
    parts += leeway(option)
    parts += [_TYPICALITY[option.level]] if option.level is not None else []
    parts += [f"It contradicts itself: {option.contradiction}."] if option.contradiction else []
    return " ".join(parts)


def only_typical(option: Option) -> list[str]:
    """A sentence on changes that only keep the record typical, where `importance` was asked for."""
    names = [plain(change.feature.title) for change in option.changes if change.only_typical]
    if not names:
        return []
    one = len(names) == 1
    needed = f"The change of {names[0]} is" if one else f"The changes of {joined(names)} are"
    if option.is_typical:
        return [f"{needed} not needed for the decision, but {'keeps' if one else 'keep'} the record typical."]
    return [f"{needed} not needed for the decision, but without {'it' if one else 'them'} the record is less typical."]


def leeway(option: Option) -> list[str]:
    """Which other values of each feature do as well, the others as suggested, where `ranges` were asked for.

    Columns that follow are not said, nor those whose range has the person's own value in it: the change is not needed.
    """
    ranged = [change for change in option.changes if change.checked is not None and change.follows in ("", "relation")]
    free = [
        f"any {plain(change.feature.title)}{interval(change)}"
        for change in ranged
        if has_room(change) and not _within(change)
    ]
    levels = [
        f"For {plain(change.feature.title)}, {joined([_quoted(level) for level in change.levels], ' or ')} will do as "
        "well."
        for change in ranged
        if change.levels
    ]
    if not free:
        return levels
    alone = f",{' each' if len(free) > 1 else ''} with the other changes as suggested" if len(ranged) > 1 else ""
    return [f"By the values checked, {joined(free, ' or ')} will do{alone}.", *levels]


def has_room(change: Change) -> bool:
    """Whether there is a range with more than one value."""
    return change.low is not None and _cell(change, change.low) < _cell(change, change.high)


def _within(change: Change) -> bool:
    """Whether the person's own value lies in the range."""
    low, own, high = (_cell(change, value) for value in (change.low, change.current, change.high))
    return low <= own <= high


def _cell(change: Change, value: Any) -> float:
    """A number, or the position of a level; NaN where it has none."""
    levels = change.feature.levels
    if not levels:
        return math.nan if value is None else float(value)
    return float(levels.index(value)) if value in levels else math.nan


def interval(change: Change) -> str:
    """` up to 33 months`, ` from 4 to 33 months`: an end is left out where the feature cannot go beyond it."""
    feature = change.feature
    (least, most), low, high = _limits(feature), _cell(change, change.low), _cell(change, change.high)
    if feature.levels:
        lower, upper = _quoted(change.low), _quoted(change.high)
    else:
        unit = bool(feature.unit)
        lower, upper = _inward(low, high, feature.step, unit), _inward(high, low, feature.step, unit)
    if low <= least:
        return "" if high >= most else f" up to {_with_unit(upper, feature)}"
    if high >= most:
        return f" from {_with_unit(lower, feature)} upwards"
    return f" from {_first(lower, feature)} to {_with_unit(upper, feature)}"


def _limits(feature: Feature) -> tuple[float, float]:
    """The least and the largest number, or position of a level, that anybody may be suggested."""
    if feature.levels:
        return 0.0, len(feature.levels) - 1.0
    lows, highs = zip(feature.bounds, feature.reach, strict=True)
    return (
        max((float(low) for low in lows if low is not None), default=-np.inf),
        min((float(high) for high in highs if high is not None), default=np.inf),
    )


def _inward(end: float, other: float, step: float | None, unit: bool = False) -> str:
    """An end of a range for reading, rounded towards the other one: what is said to do, does."""
    least = _decimals(abs(end - other), 2)
    if least > _MOST_DECIMALS or abs(end) >= _LARGEST:
        return repr(end)
    place = Decimal(1).scaleb(-max(least, min(_decimals(abs(end), _DIGITS), _USUAL_DECIMALS)))
    exact = Decimal(repr(end))
    rounded = exact.quantize(place, ROUND_FLOOR if end > other else ROUND_CEILING)
    return _written(exact if step is not None else rounded, is_grouped(end, unit))


def actions(changes: Iterable[Change]) -> list[str]:
    """`reduce duration from 48 to 24 months and amount from 5951 to 5075 DM`: one text for each verb."""
    found: dict[str, list[str]] = {}
    for change in changes:
        if change.current is None:
            filled = f"{plain(change.feature.title)} with {now_and_then(change, _quoted)[1]}"
            found.setdefault("fill in", []).append(filled)
        else:
            found.setdefault(_verb(change), []).append(_change(change))
    return [f"{verb} {joined(parts)}" for verb, parts in found.items()]


def _verb(change: Change) -> str:
    if not (_ordinary(change.current, change.feature) and _ordinary(change.suggested, change.feature)):
        return "change"
    return "increase" if change.suggested > change.current else "reduce"


def _change(change: Change) -> str:
    before, after = now_and_then(change, _quoted)
    return f"{plain(change.feature.title)} from {before} to {after}"


def worded(value: Any) -> str:
    """A level or a special code for reading: `yes` for True."""
    return plain("yes" if value is True else "no" if value is False else value)


def now_and_then(change: Change, quoted: Callable[[Any], str] = worded) -> tuple[str, str]:
    """Both values of a change for reading, `48` and `24 months`: the unit of two numbers stands once.

    Levels and the meanings of special codes are written by `quoted`.
    """
    feature, before, after = change.feature, change.current, change.suggested
    if not (_ordinary(before, feature) and _ordinary(after, feature)):
        return _alone(before, feature, quoted), _alone(after, feature, quoted)
    shown, new = readable(before, after, feature.step, bool(feature.unit))
    return _first(shown, feature), _with_unit(new, feature)


def arrow(change: Change) -> str:
    """A change on one line: `duration: 48 → 24 months`."""
    return f"{plain(change.feature.title)}: {' → '.join(now_and_then(change))}"


def _alone(value: Any, feature: Feature, quoted: Callable[[Any], str]) -> str:
    if value is None:
        return "missing"
    if not _ordinary(value, feature):
        return quoted(described(value, feature) if feature.numeric else value)
    return _with_unit(readable(value, value, feature.step, bool(feature.unit))[1], feature)


def _with_unit(text: str, feature: Feature) -> str:
    bare = text.removeprefix(_ABOUT)
    return text[: len(text) - len(bare)] + with_unit(bare, plain(feature.unit or ""))


def _first(text: str, feature: Feature) -> str:
    """The first of two numbers: without its unit, which stands behind the second, unless units stand in front."""
    return _with_unit(text, feature) if feature.unit in MONEY else text


def _ordinary(value: Any, feature: Feature) -> bool:
    """Whether this is a number on a scale: no special code, no missing cell, and levels only if they are numbers."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and feature.ordered and float(value) not in feature.special


def _quoted(value: Any) -> str:
    return f"“{plain(value)}”" if isinstance(value, str) else worded(value)


def joined(parts: Sequence[str], last: str = " and ") -> str:
    return last.join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def readable(before: float, after: float, step: float | None, unit: bool = False) -> tuple[str, str]:
    """Two numbers with the digits that it takes to read them and tell them apart.

    Each has the digits of `own_number`, but as many as it takes to show two digits of the difference. A new value
    without a step is rounded away from the old one, so that no less than the change is asked for, and is called `about`
    where that alters it. `unit` says whether a unit follows.
    """
    least = _decimals(abs(after - before), 2)
    if least > _MOST_DECIMALS or max(abs(before), abs(after)) >= _LARGEST:
        return f"{before:.12g}", f"{after:.12g}"
    exact = Decimal(repr(after))
    outward = ROUND_CEILING if after > before else ROUND_FLOOR if after < before else ROUND_HALF_EVEN
    new = exact if step is not None else exact.quantize(_place(after, step, least), outward)
    grouped = is_grouped(max(abs(before), abs(after)), unit)
    about = "" if new == exact else _ABOUT
    return _written(own_number(before, step, least), grouped), about + _written(new, grouped)


def own_number(value: float, step: float | None, least: int = 0) -> Decimal:
    """A person's own number for reading, here and in letters.

    It has four significant digits, but at most six decimals, and at least those of the step and `least`.
    """
    return Decimal(repr(float(value))).quantize(_place(value, step, least))


def _place(value: float, step: float | None, least: int) -> Decimal:
    """The last digit that is shown."""
    usual = min(_decimals(abs(value), _DIGITS), _USUAL_DECIMALS)
    return Decimal(1).scaleb(-max(least, usual, 0 if step is None else _decimals_of(step)))


def _decimals(size: float, digits: int) -> int:
    """How many decimals a number has if it is shown with some significant digits; integers are not rounded."""
    return max(0, digits - 1 - Decimal(size).adjusted()) if size else 0


def _decimals_of(step: float) -> int:
    return max(0, -int(Decimal(repr(step)).normalize().as_tuple().exponent))


def _written(value: Decimal, grouped: bool) -> str:
    text = f"{value + 0:,f}" if grouped else f"{value + 0:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
