"""Answers as sentences that can be read out to the person they are for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attain.core.text import ENGLISH, joined, number, plain, points
from attain.results.status import NOT_ADVISED, Status, Verdict
from attain.schema import Feature, Schema
from attain.schema.text import described
from attain.tables import Table

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals
    from attain.results.options import Change, Option

_VERDICTS: Final = {
    Verdict.TYPICAL: "The new record is typical of people with this decision.",
    Verdict.UNUSUAL: "Few people with this decision have such a record, so this may be hard to do.",
    Verdict.UNLIKE: "That record is unlike those seen with this decision.",
    Verdict.CONTRADICTORY: "That record contradicts itself: {}.",
}


_PURPOSES: Final = {
    "smallest": "This is the smallest change that is enough.",
    "typical": "This asks for more than the smallest change that is enough, so that the record is more like those of "
    "people with this decision.",
}
_NAMED: Final = 5
"""How many changes a sentence names; the others are in the tables."""


def person_sentences(result: Counterfactuals) -> list[str]:
    """A text for each person: what to change, by the best option, or why there is no answer."""
    texts = [result.reason(i) for i in range(len(result))]
    for place in np.flatnonzero(result.best).tolist():
        texts[result.owners[place]] = result.option(place).sentence
    return texts


def unreadable_sentence(schema: Schema, trouble: str) -> str:
    """A sentence that a record cannot be read; it names the feature to check, if that is known."""
    for feature in schema:
        if trouble.startswith(f"column {feature.name!r}, row "):
            return f"This record cannot be read; please check {plain(feature.title)}."
    return Status.UNREADABLE.reason


def why_nothing_is_free(table: Table, position: int) -> str:
    """Why no cell of a record may change: all that could are missing, or special codes; empty for other reasons."""
    row = table.values[position].tolist()
    cells = [(feature, cell) for feature, cell in zip(table.schema, row, strict=True) if feature.searched]
    codes = {cell: feature.special[cell] for feature, cell in cells if cell in feature.special}
    held = (
        not feature.fillable if math.isnan(cell) else cell in feature.special and cell not in feature.transitions
        for feature, cell in cells
    )
    if not cells or not all(held):
        return ""
    shown = ", ".join(f"{number(code)}: {plain(text)}" if text else number(code) for code, text in codes.items())
    ways = ["missing"] if any(math.isnan(cell) for _, cell in cells) else []
    ways += [f"recorded as a code ({shown}) rather than a number"] if codes else []
    return f"every value that could is {' or '.join(ways)}"


def option_sentence(option: Option) -> str:
    """What to change, how long that takes, what follows from it, what else would do, and how typical the record is."""
    if not option.changes:
        return Status.FOUND.reason
    if option.verdict in NOT_ADVISED:
        return _nearest(option, _VERDICTS[option.verdict].format(option.contradiction))
    kinds: dict[str, list[Change]] = {"": [], "relation": [], "law": [], "time": []}
    for change in option.ordered:
        kinds[change.follows].append(change)
    chosen, followers, derived = kinds[""], kinds["relation"], kinds["law"] + kinds["time"]
    leading = [change for change in chosen if not change.only_typical]
    if not leading and not option.waits:  # nothing is left for them to follow
        leading, followers = followers, []
    named, unsaid = _few(leading)
    needed = actions(named) + ([f"wait {ENGLISH.duration(option.months)}"] if option.waits else [])
    parts = [
        f"For {option.request}, {joined(needed, ', and ')}{_going(followers, len(chosen))}." if needed else "",
        f"{_more(unsaid)} {'is' if unsaid == 1 else 'are'} needed, too." if unsaid else "",
        f"This takes about {ENGLISH.duration(option.months_needed)}."
        if option.months_needed and not option.waits
        else "",
        *for_typical(option, chosen),
        f"This brings {_largest(derived)}." if derived else "",
        *leeway(option, named),
        "" if option.verdict is None else _VERDICTS[option.verdict],
        _PURPOSES.get(option.purpose, ""),
        *not_reviewed(option),
    ]
    return " ".join(filter(None, parts))


def _nearest(option: Option, why: str) -> str:
    """A sentence that advises nothing and names the nearest change."""
    changes = _largest([change for change in option.ordered if change.follows in ("", "relation")])
    wait = f", after {ENGLISH.duration(option.months)}" if option.waits else ""
    said = f"For {option.request}, we found nothing to suggest. What comes nearest would be {changes}{wait}."
    return " ".join([said, why, *not_reviewed(option)])


def _few(changes: list[Change]) -> tuple[list[Change], int]:
    """The largest changes, which a sentence names, in their order, and the number of the others."""
    kept = sorted(changes, key=lambda change: -(change.shift or 0))[:_NAMED]
    return [change for change in changes if change in kept], len(changes) - len(kept)


def _largest(changes: list[Change]) -> str:
    """The largest changes in words, and the number of the others."""
    named, others = _few(changes)
    return joined([*map(_change, named), *([_more(others).lower()] if others else [])])


def _more(count: int) -> str:
    return "One more change" if count == 1 else f"{count} more changes"


def _names(changes: Sequence[Change]) -> list[str]:
    """The titles of the features that a sentence names, and the number of the others."""
    names = [plain(change.feature.title) for change in changes]
    return names if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]


def _going(changes: list[Change], chosen: int) -> str:
    """`; with it goes area from 5 to 4`: what follows by a relation; empty where nothing does."""
    goes = "goes" if len(changes) == 1 else "go"
    return f"; with {'it' if chosen == 1 else 'these'} {goes} {_largest(changes)}" if changes else ""


def option_facts(option: Option) -> list[str]:
    """Facts about an option besides its changes, as short phrases for headings."""
    purpose = {"smallest": "the smallest change", "typical": "more typical"}.get(option.purpose)
    shift = None if option.total_shift is None else f"total shift {points(option.total_shift)} points"
    return [*filter(None, (purpose, option.verdict, shift)), *how_long(option)]


def for_typical(option: Option, changes: Iterable[Change]) -> list[str]:
    """Which of some changes only keep the record typical, and how long that takes, where `importance` was asked for."""
    changes, unsaid = _few([change for change in changes if change.only_typical])
    if not changes:
        return []
    aim = "stay typical" if option.verdict is Verdict.TYPICAL else "be less unusual"
    longer = f", which takes about {ENGLISH.duration(option.months)}" if option.months > option.months_needed else ""
    more = f", with {_more(unsaid).lower()}" if unsaid else ""
    return [f"To {aim}, also {joined(actions(changes), ', and ')}{more}{longer}."]


def not_reviewed(option: Option) -> list[str]:
    """Which of the changed features nobody has reviewed; nothing where somebody has reviewed all of them."""
    names = _names([change for change in option.changes if not change.reviewed])
    return [f"Not reviewed: {joined(names)}."] if names else []


def how_long(option: Option) -> list[str]:
    """`wait 6 months`, or `takes 6 months` where that is what the changes need; nothing where there is no time."""
    if option.months > option.months_needed:
        parts = ("takes", option.months_needed), ("to stay typical", option.months)
        return [f"{name} {ENGLISH.duration(months)}" for name, months in parts if months]
    return [f"{'wait' if option.waits else 'takes'} {ENGLISH.duration(option.months)}"] if option.months else []


def leeway(option: Option, changes: Iterable[Change]) -> list[str]:
    """Which other values of changed features do as well, the others as suggested, where `ranges` were asked for.

    Leaves out columns that follow, and those for which the person's own value would do.
    """
    ranged = [change for change in changes if change.checked is not None and change.follows in ("", "relation")]
    free = [
        f"any {plain(change.feature.title)}{interval(change)}"
        for change in ranged
        if has_room(change)
        and not _cell(change, change.low) <= _cell(change, change.current) <= _cell(change, change.high)
    ]
    alone = (
        f",{' each' if len(free) > 1 else ''} with the other changes as suggested" if len(option.changes) > 1 else ""
    )
    return [
        *(
            [f"By the values checked, {joined(free, ' or ')} will do{alone}; other values may do with other changes."]
            if free
            else []
        ),
        *(
            f"For {plain(change.feature.title)}, {joined([*map(_quoted, change.others)], ' or ')} will do as well."
            for change in ranged
            if change.others
        ),
    ]


def has_room(change: Change) -> bool:
    """Whether there is a range with more than one value."""
    return change.low is not None and _cell(change, change.low) < _cell(change, change.high)


def _cell(change: Change, value: Any) -> float:
    """A number, or the position of a level; NaN where it has none."""
    levels = change.feature.levels
    if not levels:
        return math.nan if value is None else float(value)
    return float(levels.index(value)) if value in levels else math.nan


def interval(change: Change) -> str:
    """` up to 33 months`, ` from 4 to 33 months`: an end is left out where the feature cannot go beyond it."""
    feature, unit = change.feature, plain(change.feature.unit or "")
    (least, most), low, high = feature.suggested, _cell(change, change.low), _cell(change, change.high)
    if feature.levels:
        lower, upper = _quoted(change.low), _quoted(change.high)
    else:
        lower, upper = (ENGLISH.inward(*ends, feature.step, unit) for ends in ((low, high), (high, low)))
    if low <= least:
        return "" if high >= most else f" up to {ENGLISH.with_unit(upper, unit)}"
    if high >= most:
        return f" from {ENGLISH.with_unit(lower, unit)} upwards"
    return f" from {ENGLISH.first(lower, unit)} to {ENGLISH.with_unit(upper, unit)}"


def actions(changes: Iterable[Change]) -> list[str]:
    """`reduce duration from 48 to 24 months and amount from 5951 to 5075 DM`: one text for each verb."""
    found: dict[str, list[str]] = {}
    for change in changes:
        if change.current is None:
            verb, text = "fill in", f"{plain(change.feature.title)} with {now_and_then(change, _quoted)[1]}"
        else:
            numbers = _ordinary(change.current, change.feature) and _ordinary(change.suggested, change.feature)
            verb = "change" if not numbers else "increase" if change.suggested > change.current else "reduce"
            text = _change(change)
        found.setdefault(verb, []).append(text)
    return [f"{verb} {joined(parts)}" for verb, parts in found.items()]


def _change(change: Change) -> str:
    before, after = now_and_then(change, _quoted)
    return f"{plain(change.feature.title)} from {before} to {after}"


def worded(value: Any) -> str:
    """A level or a special code for reading: `yes` for True."""
    return plain("yes" if value is True else "no" if value is False else value)


def _quoted(value: Any) -> str:
    return f"“{plain(value)}”" if isinstance(value, str) else worded(value)


def now_and_then(change: Change, quoted: Callable[[Any], str] = worded) -> tuple[str, str]:
    """Both values of a change for reading, `48` and `24 months`: the unit of two numbers stands once.

    Levels and the meanings of special codes are written by `quoted`.
    """
    feature, before, after = change.feature, change.current, change.suggested
    if not (_ordinary(before, feature) and _ordinary(after, feature)):
        return _alone(before, feature, quoted), _alone(after, feature, quoted)
    return ENGLISH.pair(before, after, feature.step, plain(feature.unit or ""))


def _alone(value: Any, feature: Feature, quoted: Callable[[Any], str]) -> str:
    if value is None:
        return "missing"
    if not _ordinary(value, feature):
        return quoted(described(value, feature) if feature.numeric else value)
    return ENGLISH.pair(value, value, feature.step, plain(feature.unit or ""))[1]


def _ordinary(value: Any, feature: Feature) -> bool:
    """Whether this is a number on a scale: no special code, no missing cell, and levels only if they are numbers."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and feature.ordered and float(value) not in feature.special


def arrow(change: Change) -> str:
    """A change on one line: `duration: 48 → 24 months`."""
    return f"{plain(change.feature.title)}: {' → '.join(now_and_then(change))}"
