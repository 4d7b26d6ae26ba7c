"""Answers as sentences that can be read out to the person they are for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from itertools import groupby
from typing import Any

import numpy as np

from attain.core.text import MONEY, is_grouped, number, plain, with_unit
from attain.results.record import Record
from attain.results.status import Status, Typicality
from attain.schema.feature import Feature
from attain.schema.text import described, months

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
    texts, options = [result.reason(i) for i in range(len(result))], option_sentences(result)
    for i in np.flatnonzero(result.best):
        texts[result.owners[i]] = options[i]
    return texts


def option_sentences(result: Record) -> list[str]:
    """A text for each option (m,): what to change, with values rounded for reading."""
    texts = [Status.FOUND.reason] * len(result.owners)
    for cells in changed_options(result):
        texts[_option(result, cells)] = _sentence(result, cells)
    return texts


def _option(result: Record, cells: Sequence[Mapping[str, Any]]) -> int:
    """The position of an option among all, from its changed cells."""
    return int(np.searchsorted(result.owners, cells[0]["position"])) + cells[0]["option"] - 1


def _sentence(result: Record, cells: Sequence[Mapping[str, Any]]) -> str:
    """What to change, how long that takes, what follows from it, what else would do, and how typical the record is."""
    first = cells[0]
    changes = [(cell, result.table.schema[cell["feature"]]) for cell in cells]
    derived = [_change(cell, feature) for cell, feature in changes if _follows(result, feature)]
    followers = [(cell, feature) for cell, feature in changes if cell["follows"] and not _follows(result, feature)]
    chosen = [(cell, feature) for cell, feature in changes if not (cell["follows"] or _follows(result, feature))]
    spare = _only_typical(result, cells)
    leading = [(cell, feature) for cell, feature in chosen if feature not in spare]
    if not leading and not first["waits"]:  # nothing is left for them to follow
        leading, followers = followers, []
    led = [plain(feature.title) for _, feature in followers]
    needed = actions(leading)
    needed += [f"wait {months(first['months'])}"] if first["waits"] else []
    going = f"; {joined(led)} {'goes' if len(led) == 1 else 'go'} with {'it' if len(chosen) == 1 else 'these'}"
    parts = [f"For {requested(result)}, {joined(needed, ', and ')}{going if led else ''}."] if needed else []
    also = actions((cell, feature) for cell, feature in chosen if feature in spare)
    aim = "stay typical" if first["level"] == str(Typicality.TYPICAL) else "be less unusual"
    parts += [f"To {aim}, also {joined(also, ', and ')}."] if also else []
    parts += [f"This takes about {months(first['months'])}."] if first["months"] and not first["waits"] else []
    parts += [f"This brings {joined(derived)}."] if derived else []
    parts += leeway(result, cells)
    parts += [_TYPICALITY[first["level"]]] if first["level"] is not None else []
    wrong = "" if result.related is None else result.related.contradictions[_option(result, cells)]
    parts += [f"It contradicts itself: {wrong}."] if wrong else []
    return " ".join(parts)


def requested(result: Record) -> str:
    """The request in words: the decision, and the probability if one was asked for."""
    likely = "" if result.probability is None else f" with a probability of at least {number(result.probability)}"
    name = result.decision
    return f"{f'the decision {_quoted(name)}' if isinstance(name, str) else f'class {plain(name)}'}{likely}"


def only_typical(result: Record, cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence on changes that only keep the record typical, where `importance` was asked for."""
    names = [plain(feature.title) for feature in _only_typical(result, cells)]
    if not names:
        return []
    one = len(names) == 1
    needed = f"The change of {names[0]} is" if one else f"The changes of {joined(names)} are"
    if cells[0]["level"] == str(Typicality.TYPICAL):
        return [f"{needed} not needed for the decision, but {'keeps' if one else 'keep'} the record typical."]
    return [f"{needed} not needed for the decision, but without {'it' if one else 'them'} the record is less typical."]


def _only_typical(result: Record, cells: Sequence[Mapping[str, Any]]) -> list[Feature]:
    """The features of an option whose changes can be left out together: they only keep the record typical."""
    found, i = result.importances, _option(result, cells)
    if found is None:
        return []
    mine = slice(*np.searchsorted(found.option, (i, i + 1)).tolist())
    return [result.table.schema.features[j] for j in found.column[mine][found.only_typical[mine] == 1]]


def leeway(result: Record, cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which other values of each feature do as well, the others as suggested, where `ranges` were asked for.

    Columns that follow are not said, nor those whose range has the person's own value in it: the change is not needed.
    """
    found, schema, i = result.intervals, result.table.schema, _option(result, cells)
    if found is None:
        return []
    rows = [
        r
        for r in range(*np.searchsorted(found.option, (i, i + 1)).tolist())
        if not _follows(result, schema.features[found.column[r]])
    ]
    free, levels = [], []
    for r in rows:
        feature = schema.features[int(found.column[r])]
        low, high = float(found.low[r]), float(found.high[r])
        own = float(result.table.values[result.owners[i], found.column[r]])
        if low < high and not low <= own <= high:
            free.append(f"any {plain(feature.title)}{interval(low, high, feature)}")
        if found.levels[r]:
            others = joined([_quoted(feature.levels[level]) for level in found.levels[r]], " or ")
            levels.append(f"For {plain(feature.title)}, {others} will do as well.")
    if not free:
        return levels
    alone = f",{' each' if len(free) > 1 else ''} with the other changes as suggested" if len(rows) > 1 else ""
    return [f"By the values checked, {joined(free, ' or ')} will do{alone}.", *levels]


def interval(low: float, high: float, feature: Feature) -> str:
    """` up to 33 months`, ` from 4 to 33 months`: an end is left out where the feature cannot go beyond it."""
    least, most = _limits(feature)
    if feature.levels:
        lower, upper = (_quoted(feature.levels[int(end)]) for end in (low, high))
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


def changed_options(result: Record, positions: Collection[int] | None = None) -> list[list[dict[str, Any]]]:
    """The changed cells of all people, or of those at some positions, grouped by option.

    What people do comes first, then what follows from that, and clocks last.
    """
    cells = groupby(result.changed_cells(positions), key=lambda cell: (cell["position"], cell["option"]))
    return [sorted(group, key=lambda cell: _order(result, result.table.schema[cell["feature"]])) for _, group in cells]


def _order(result: Record, feature: Feature) -> tuple[bool, bool]:
    return _follows(result, feature), feature.clock is not None


def actions(changes: Iterable[tuple[Mapping[str, Any], Feature]]) -> list[str]:
    """`reduce duration from 48 to 24 months and amount from 5951 to 5075 DM`: one text for each verb."""
    found: dict[str, list[str]] = {}
    for cell, feature in changes:
        verb, change = _action(cell, feature)
        found.setdefault(verb, []).append(change)
    return [f"{verb} {joined(parts)}" for verb, parts in found.items()]


def _action(cell: Mapping[str, Any], feature: Feature) -> tuple[str, str]:
    """The verb and its object: `reduce`, `duration from 48 to 24 months`."""
    if cell["current"] is None:
        return "fill in", f"{plain(feature.title)} with {now_and_then(cell, feature, _quoted)[1]}"
    change = _change(cell, feature)
    if not (_ordinary(cell["current"], feature) and _ordinary(cell["counterfactual"], feature)):
        return "change", change
    return "increase" if cell["counterfactual"] > cell["current"] else "reduce", change


def _change(cell: Mapping[str, Any], feature: Feature) -> str:
    before, after = now_and_then(cell, feature, _quoted)
    return f"{plain(feature.title)} from {before} to {after}"


def _follows(result: Record, feature: Feature) -> bool:
    """Whether a feature is computed from others, by its formula or a law. Clocks follow, too: nobody chooses them."""
    return feature.name in result.following or feature.computed is not None or feature.clock is not None


def worded(value: Any) -> str:
    """A level or a special code for reading: `yes` for True."""
    return plain("yes" if value is True else "no" if value is False else value)


def now_and_then(cell: Mapping[str, Any], feature: Feature, quoted: Callable[[Any], str] = worded) -> tuple[str, str]:
    """Both values of a changed cell for reading, `48` and `24 months`: the unit of two numbers stands once.

    Levels and the meanings of special codes are written by `quoted`.
    """
    before, after = cell["current"], cell["counterfactual"]
    if not (_ordinary(before, feature) and _ordinary(after, feature)):
        return _alone(before, feature, quoted), _alone(after, feature, quoted)
    shown, new = readable(before, after, feature.step, bool(feature.unit))
    return _first(shown, feature), _with_unit(new, feature)


def arrow(cell: Mapping[str, Any], feature: Feature) -> str:
    """A changed cell on one line: `duration: 48 → 24 months`."""
    return f"{plain(feature.title)}: {' → '.join(now_and_then(cell, feature))}"


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
