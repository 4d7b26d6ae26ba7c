"""A result as text: a table of people, the options of one person, a summary, methods side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from attain.core.text import ENGLISH, folded, number, plain, points, table, wrapped
from attain.results.options import Change, Option
from attain.results.record import Record
from attain.results.sentences import arrow, leeway, only_typical
from attain.results.status import Status, Typicality
from attain.schema.text import described

CHANGE_HEADER: Final = ("feature", "now", "suggested", "percentile", "shift")
_SHOWN = 10
"""How many people `str(result)` lists."""
MEANS = {
    "features_changed": ("features changed, on average", 1, ""),
    "total_shift": ("total shift, on average", 100, " percentile points"),
    "max_shift": ("largest shift, on average", 100, " percentile points"),
    "months": ("months, on average", 1, ""),
    "outlier": ("local outliers", 100, " %"),
    "connected": ("connected to real people of the desired class", 100, " %"),
}
"""The figures whose means a summary has: what each is called, the factor and the unit it is shown with."""

SHIFT: Final = (
    "shift: difference between now and then in percentile points of the training data, summed over features; "
    "another level of an unordered feature counts as 100."
)
"""What the heading `shift` in `people_table` means."""
LEGEND: Final = (
    "percentile: share of the training data at or below the value, now → then. shift: difference of the two in "
    "percentile points; another level of an unordered feature counts as 100. outlier, connected: whether the new "
    "record is unlike, and within the usual distance of, real records of the desired class."
)
"""What the words in `description` mean."""


def overview(result: Record, width: int | None = None) -> str:
    """The first people as a table, then the summary, within the window."""
    said = [*further_options(result, "`result.options`"), *summary(result).splitlines()]
    lines = [wrapped(line.lstrip(), width, line[: -len(line.lstrip())]) for line in said]
    if not len(result):
        return "\n".join(lines)
    more = [f"… and {len(result) - _SHOWN} more people"] if len(result) > _SHOWN else []
    return "\n".join([people_table(result, range(min(len(result), _SHOWN)), width), *more, "", *lines])


def further_options(result: Record, place: str) -> list[str]:
    """A line on the options that a table of people does not show, and where they are; none where it shows all."""
    count = len(result.owners) - int(result.found.sum())
    return [f"The first option of each person is shown; {count} more in {place}."] if count else []


def summary(result: Record) -> str:
    """How many have an answer, why the others have none, and the means of the figures, in a few lines."""
    known = result.of_best("typicality")
    levels = {str(kind): int((known == kind).sum()) for kind in Typicality}
    means = {name: _mean(result, name) for name in MEANS}
    return "\n".join([*summary_lines(result, Counter(result.statuses), levels, means), *result.notes])


def summary_lines(
    request: Record, statuses: Mapping[Status, int], levels: Mapping[str, int], means: Mapping[str, float]
) -> list[str]:
    """The lines of a summary, from a result that has the request, and from counts and means over all people."""
    name = "" if request.target_name is None else f" “{plain(request.target_name)}”"
    asked = f"{request.method}, target {plain(repr(request.target))}{name}"
    if request.probability is not None:
        asked += f" with probability at least {number(request.probability)}"
    people = sum(statuses.values())
    found = f"{statuses.get(Status.FOUND, 0)} of {people} people have an answer"
    if statuses.get(Status.ALREADY_DESIRED, 0) == people:
        found = "Nobody needed an answer" if people else "There are no people to answer"
    lines = [f"{found} ({asked})."]
    for status, count in statuses.items():
        if status is not Status.FOUND:
            lines.append(
                " ".join([f"{count} × {status}: {status.reason}", *([status.remedy] if status.remedy else [])])
            )
    if any(levels.values()):
        shown = ", ".join(f"{count} {level}" for level, count in levels.items() if count)
        lines.append(f"  among real people of the desired class: {shown}")
    for name, (label, factor, unit) in MEANS.items():
        if not np.isnan(means.get(name, np.nan)):
            lines.append(f"  {label}: {number(round(factor * means[name], 1))}{unit}")
    return lines


def comparison(results: Mapping[str, Record], width: int | None = None) -> str:
    """A column for each method: how many have an answer, how far the answers are, how realistic they look."""
    rows: dict[str, list[str]] = {}
    for result in results.values():
        means = {name: _mean(result, name) for name in MEANS}
        for label, cell in {
            "answered": f"{result.found.sum()} of {len(result)}",
            "features changed": number(round(means["features_changed"], 1)),
            "total shift": points(100 * means["total_shift"]),
            "largest shift": points(100 * means["max_shift"]),
            "outliers": f"{means['outlier']:.0%}",
            "connected": f"{means['connected']:.0%}",
            "rows scored": f"{result.person_figures['rows_scored'].mean():.0f}",
        }.items():
            rows.setdefault(label, [label]).append(cell)
    return table(("", *results), list(rows.values()), width=width, right=range(1, len(results) + 1))


def _mean(result: Record, name: str) -> float:
    """The mean of a figure over the best options; NaN where there is none."""
    values = result.of_best(name)
    return float(np.nanmean(values)) if not np.isnan(values).all() else np.nan


def people_table(result: Record, positions: Sequence[int], width: int | None = None) -> str:
    """A row for each person at some positions: the best option, or why there is no answer."""
    rows = []
    for i in positions:
        row = [plain(result.table.labels[i]), plain(result.reason(i)), "", ""]
        if result.found[i]:
            best = result.options_of(i)[0]
            row[1:] = ["; ".join(_changes(best)), points(best.total_shift), best.level or ""]
        rows.append(row)
    known = any(row[3] for row in rows)
    header = ("person", "suggested change", "shift", *(("level",) if known else ()))
    return table(header, [row[: len(header)] for row in rows], width=width, right=(2,))


def _changes(option: Option) -> list[str]:
    """What changes, and how long that takes; clocks show the same, and are left out."""
    return [*(arrow(change) for change in option.ordered if change.follows != "time"), *how_long(option)]


def how_long(option: Option) -> list[str]:
    """`wait 6 months`, or `takes 6 months` where that is what the changes need; nothing where there is no time."""
    return [f"{'wait' if option.waits else 'takes'} {ENGLISH.duration(option.months)}"] if option.months else []


def paragraphs(result: Record, width: int | None = None) -> str:
    """A paragraph for each person: all options as sentences, or why there is no answer."""
    texts = []
    for i, label in enumerate(result.table.labels):
        own = [option.sentence for option in result.options_of(i)] or [result.reason(i)]
        texts.append(
            "\n".join(folded(text, width) for text in (f"{plain(label)}: {own[0]}", *(f"Or: {o}" for o in own[1:])))
        )
    return "\n\n".join(texts)


def description(result: Record, position: int, width: int | None = None) -> str:
    """All options of one person, each with its figures and a table of its changes; or why there is no answer."""
    name = f"Person {plain(result.table.labels[position])}"
    options = result.options_of(position)
    if not options:
        return folded(f"{name}: {result.reason(position)}", width)
    blocks = [folded(f"{name}, for {result.request}", width)]
    for option in options:
        body = table(CHANGE_HEADER, [shown_change(change) for change in option.ordered], width=width, right=(3, 4))
        more = [folded(text, width) for text in (*leeway(option), *only_typical(option))]
        blocks.append("\n".join([folded(_option_line(option), width), body, *more]))
    return "\n\n".join(blocks)


def _option_line(option: Option) -> str:
    verdicts = {"not an outlier": option.outlier is False, "outlier": option.outlier}
    verdicts |= {"not connected": option.connected is False, "connected": option.connected}
    level = [] if option.level is None else [option.level]
    shift = f"total shift {points(option.total_shift)}"
    said = [*level, *(words for words, holds in verdicts.items() if holds), shift, *how_long(option)]
    return f"Option {option.number}: {', '.join(said)}"


def shown_change(change: Change) -> Sequence[str]:
    """The cells under `CHANGE_HEADER`."""
    before, after = change.current_percentile, change.suggested_percentile
    return (
        plain(change.feature.title),
        plain(described(change.current, change.feature)),
        plain(described(change.suggested, change.feature)),
        "–" if before is None and after is None else f"{points(before)} → {points(after)}",
        points(change.shift),
    )


def yes_no(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"
