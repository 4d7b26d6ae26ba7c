"""A result in a terminal and in a notebook: a table of people, the options of one person, a summary."""

from __future__ import annotations

import base64
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

import numpy as np

from attain.core.drawing import detached, written
from attain.core.errors import MissingExtraError
from attain.core.text import NONE, folded, number, plain, points, table, wrapped
from attain.results.levers import lever_counts, lever_lines
from attain.results.options import Change
from attain.results.plots import Plots
from attain.results.sentences import arrow, for_typical, how_long, leeway, not_reviewed, option_facts
from attain.results.status import Status, Verdict
from attain.schema.text import described

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_CHANGE_HEADER: Final = ("feature", "now", "suggested", "percentile", "shift")
_SHOWN: Final = 10
"""How many people `str(result)` lists."""
MEANS: Final = {
    "features_changed": ("features changed, on average", 1, ""),
    "total_shift": ("total shift, on average", 100, " percentile points"),
    "max_shift": ("largest shift, on average", 100, " percentile points"),
    "months": ("months, on average", 1, ""),
}
"""The figures whose means a summary has: what each is called, the factor and the unit it is shown with."""

SHIFT: Final = (
    "shift: difference between now and then in percentile points of the training data, summed over features; "
    "another level of an unordered feature counts as 100."
)
"""What the heading `shift` in `people_table` means."""
LEGEND: Final = (
    "percentile: share of the training data at or below the value, now → then. shift: difference of the two in "
    "percentile points; another level of an unordered feature counts as 100. verdict: what the new record is like "
    "among real people with the desired decision."
)
"""What the words in `description` mean."""


def overview(result: Counterfactuals, width: int | None = None) -> str:
    """The first people as a table, then the summary, within the window."""
    texts = [*further_options(result, "`result.options`"), *summary(result).splitlines()]
    lines = [wrapped(line.lstrip(), width, line[: -len(line.lstrip())]) for line in texts]
    if not len(result):
        return "\n".join(lines)
    more = [f"… and {len(result) - _SHOWN} more people"] if len(result) > _SHOWN else []
    return "\n".join([people_table(result, range(min(len(result), _SHOWN)), width), *more, "", *lines])


def further_options(result: Counterfactuals, place: str) -> list[str]:
    """A line on the options that a table of people omits; none where it shows all."""
    count = len(result.owners) - int(result.found.sum())
    return [f"The first option of each person is shown; {count} more in {place}."] if count else []


def summary(result: Counterfactuals) -> str:
    """How many have an answer, why the others have none, and the means of the figures, in a few lines."""
    counts = Counter(str(kind) for kind in result.best_verdicts if kind)
    changed, unreviewed = lever_counts(result), result.unreviewed
    lines = summary_lines(result, Counter(result.statuses), counts, changed, unreviewed, _means(result))
    return "\n".join([*lines, *result.notes])


def summary_lines(
    request: Counterfactuals,
    statuses: Mapping[Status, int],
    verdicts: Mapping[str, int],
    changed: Mapping[str, int],
    unreviewed: Mapping[str, int],
    means: Mapping[str, float],
) -> list[str]:
    """The lines of a summary, from a result that has the request, and from counts and means over all people."""
    name = "" if request.target_name is None else f" “{plain(request.target_name)}”"
    wanted = f"{request.method}, target {plain(repr(request.target))}{name}"
    if request.probability is not None:
        wanted += f" with probability at least {number(request.probability)}"
    people = sum(statuses.values())
    found = f"{statuses.get(Status.FOUND, 0)} of {people} people have an answer"
    if statuses.get(Status.ALREADY_DESIRED, 0) == people:
        found = "Nobody needed an answer" if people else "There are no people to answer"
    others = {status: count for status, count in statuses.items() if status is not Status.FOUND}
    lines = [f"{found} ({wanted})."]
    lines += [f"{count} × {status}: {status.reason} {status.remedy}".rstrip() for status, count in others.items()]
    if verdicts:
        shown = ", ".join(f"{verdicts[kind]} {kind}" for kind in Verdict if kind in verdicts)
        lines.append(f"  among real people with that decision: {shown}")
    if unreviewed:
        shown = ", ".join(f"{plain(name)} ({count})" for name, count in unreviewed.items())
        lines.append(f"  not reviewed, with how many answers change it: {shown}; `attain review` asks about each")
    for key, (label, factor, unit) in MEANS.items():
        if not np.isnan(means.get(key, np.nan)):
            lines.append(f"  {label}: {number(round(factor * means[key], 1))}{unit}")
    return [*lines, *lever_lines(request.table.schema, changed, statuses.get(Status.FOUND, 0))]


def _means(result: Counterfactuals) -> dict[str, float]:
    """The means of figures over the best options; NaN where there is none."""
    values = {name: result.best_figure(name) for name in MEANS}
    return {name: float(np.nanmean(x)) if not np.isnan(x).all() else np.nan for name, x in values.items()}


def people_table(result: Counterfactuals, positions: Sequence[int], width: int | None = None) -> str:
    """A row for each person at some positions: the best option, or why there is no answer.

    Clocks are left out: how long an option takes says the same.
    """
    rows = []
    for i in positions:
        row = [plain(result.table.labels[i]), plain(result.reason(i)), "", ""]
        for best in result.options_of(i)[:1]:
            changes = [arrow(change) for change in best.ordered if change.follows != "time"]
            row[1:] = ["; ".join([*changes, *how_long(best)]), points(best.total_shift), best.verdict or ""]
        rows.append(row)
    header = ("person", "suggested change", "shift", "verdict")[: 4 if any(row[3] for row in rows) else 3]
    return table(header, [row[: len(header)] for row in rows], width=width, right=(2,))


def paragraphs(result: Counterfactuals, width: int | None = None) -> str:
    """A paragraph for each person: all options as sentences, or why there is no answer."""
    texts = []
    for i, label in enumerate(result.table.labels):
        first, *others = [option.sentence for option in result.options_of(i)] or [result.reason(i)]
        lines = [f"{plain(label)}: {first}", *(f"Or: {sentence}" for sentence in others)]
        texts.append("\n".join(folded(line, width) for line in lines))
    return "\n\n".join(texts)


def description(result: Counterfactuals, position: int, width: int | None = None) -> str:
    """All options of one person, each with its figures and a table of its changes; or why there is no answer."""
    name = f"Person {plain(result.table.labels[position])}"
    options = result.options_of(position)
    if not options:
        return folded(f"{name}: {result.reason(position)}", width)
    blocks = [folded(f"{name}, for {result.request}", width)]
    for option in options:
        head = f"Option {option.number}: {', '.join(option_facts(option))}"
        body = table(_CHANGE_HEADER, [_cells(change) for change in option.ordered], width=width, right=(3, 4))
        more = [
            folded(text, width)
            for text in (*leeway(option, option.changes), *for_typical(option, option.ordered), *not_reviewed(option))
        ]
        blocks.append("\n".join([folded(head, width), body, *more]))
    return "\n\n".join(blocks)


def _cells(change: Change) -> Sequence[str]:
    """The cells under `_CHANGE_HEADER`."""
    before, after = change.current_percentile, change.suggested_percentile
    return (
        plain(change.feature.title),
        plain(described(change.current, change.feature)),
        plain(described(change.suggested, change.feature)),
        NONE if before is None and after is None else f"{points(before)} → {points(after)}",
        points(change.shift),
    )


_MOST: Final = 20
"""How many people a notebook shows."""
_DRAWN: Final = 3
"""How many of them have a plot."""
_STYLE: Final = (
    "<style>.attain{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".attain th,.attain td{padding:.2em .7em;text-align:left;vertical-align:top}"
    ".attain th{border-bottom:1px solid currentColor}"
    ".attain tr.first td{border-top:1px solid rgba(128,128,128,.4)}"
    ".attain td:first-child{white-space:nowrap}"
    ".attain img{max-width:100%;height:auto}"
    ".attain .muted{opacity:.65}</style>"
)
_HEADER: Final = ("person", *_CHANGE_HEADER, "reviewed", "total shift", "verdict")


def notebook(result: Counterfactuals) -> str:
    """The changes of the first people as HTML, with a plot of the first few, and the reason for no answer.

    Every value is escaped.
    """
    shown = range(min(len(result), _MOST))
    drawn = [i for i in shown if result.found[i]][:_DRAWN]
    rows = "".join(_person(result, i) + (_picture(result, i) if i in drawn else "") for i in shown)
    head = "".join(f"<th>{name}</th>" for name in _HEADER)
    more = f"<p class='muted'>… and {len(result) - _MOST} more people</p>" if len(result) > _MOST else ""
    title = escape(f"{result.found.sum()} of {len(result)} people have an answer ({result.method})")
    notes = "".join(f"<p class='muted'>{escape(note)}</p>" for note in result.notes)
    body = f"<table class='attain'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"{_STYLE}<p>{title}</p>{body}{more}{notes}"


def _person(result: Counterfactuals, i: int) -> str:
    name = plain(result.table.labels[i])
    if not result.found[i]:
        reason = f"<td colspan='{len(_HEADER) - 1}' class='muted'>{escape(result.reason(i))}</td>"
        return f"<tr class='first'><td>{escape(name)}</td>{reason}</tr>"
    rows = []
    for option in result.options_of(i):
        first = name if option.number == 1 else f"{name}, option {option.number}"
        last: Sequence[str] = (points(option.total_shift), option.verdict or NONE)
        kind = " class='first'"
        for change in option.ordered:
            texts = "".join(
                f"<td>{escape(text)}</td>"
                for text in (first, *_cells(change), "yes" if change.reviewed else "no", *last)
            )
            rows.append(f"<tr{kind}>{texts}</tr>")
            first, last, kind = "", [""] * len(last), ""
    return "".join(rows)


def _picture(result: Counterfactuals, i: int) -> str:
    """A row with the options of the person at position `i` as a plot; nothing where Matplotlib is not installed."""
    try:
        with warnings.catch_warnings():
            # the table has every text; a font without a glyph is no reason for a warning below it
            warnings.simplefilter("ignore")
            figure = Plots(result, detached).at(i).figure
            image = written(figure)
    except MissingExtraError:
        return ""
    source = f"data:image/png;base64,{base64.b64encode(image).decode()}"
    text = escape(f"The options of person {plain(result.table.labels[i])}, drawn by percentile", quote=True)
    picture = f"<img src='{source}' alt='{text}' style='width:{82 * figure.get_figwidth():.0f}px'>"
    return f"<tr><td></td><td colspan='{len(_HEADER) - 1}'>{picture}</td></tr>"
