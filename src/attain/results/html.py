"""A result in a notebook: what changes, how typical it is, and a plot for each person. Every value is escaped."""

from __future__ import annotations

import base64
import warnings
from html import escape
from typing import Final

from attain.core.drawing import detached, written
from attain.core.errors import MissingExtraError
from attain.core.text import plain, points
from attain.results.plots import Plots
from attain.results.record import Record
from attain.results.text import CHANGE_HEADER, shown_change, yes_no

_MOST: Final = 20
"""How many people are shown."""
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
_HEADER: Final = ("person", *CHANGE_HEADER, "total shift", "level", "outlier", "connected")


def notebook(result: Record) -> str:
    """The changes of the first people as a table, with a plot of the first few, and the reason for no answer."""
    shown = range(min(len(result), _MOST))
    drawn = [i for i in shown if result.found[i]][:_DRAWN]
    rows = "".join(_person(result, i) + (_picture(result, i) if i in drawn else "") for i in shown)
    head = "".join(f"<th>{name}</th>" for name in _HEADER)
    more = f"<p class='muted'>… and {len(result) - _MOST} more people</p>" if len(result) > _MOST else ""
    title = f"{result.found.sum()} of {len(result)} people have an answer ({result.method})"
    notes = "".join(f"<p class='muted'>{escape(note)}</p>" for note in result.notes)
    table = f"<table class='attain'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"{_STYLE}<p>{escape(title)}</p>{table}{more}{notes}"


def _person(result: Record, i: int) -> str:
    name = plain(result.table.labels[i])
    if not result.found[i]:
        reason = f"<td colspan='{len(_HEADER) - 1}' class='muted'>{escape(result.reason(i))}</td>"
        return f"<tr class='first'><td>{escape(name)}</td>{reason}</tr>"
    rows = []
    for option in result.options_of(i):
        lead = [name if option.number == 1 else f"{name}, option {option.number}"]
        verdicts = [option.level or "–", yes_no(option.outlier), yes_no(option.connected)]
        last = [points(option.total_shift), *verdicts]
        for k, change in enumerate(option.ordered):
            texts = [*(lead if k == 0 else [""]), *shown_change(change), *(last if k == 0 else [""] * len(last))]
            kind = " class='first'" if k == 0 else ""
            rows.append(f"<tr{kind}>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>")
    return "".join(rows)


def _picture(result: Record, i: int) -> str:
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
