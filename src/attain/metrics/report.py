"""Methods side by side as text, HTML and a trade-off plot.

A line is a mapping with `method`, `status`, `reason`, `n`, `broken`, `cpu_seconds` and the averages of its measures, as
`flattened` names them. Lines whose status is not `ok` have no averages. `report.toml` holds the columns and the notes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from attain.core.drawing import COLOURS, panels
from attain.core.files import as_kind, parse_toml
from attain.core.page import Block, Cell, Paragraph, TableBlock
from attain.core.text import table

Line: TypeAlias = Mapping[Any, Any]

OK, NOT_APPLICABLE, FAILED = "ok", "not applicable", "failed"
"""How a method's run on one model ended."""
REAL: Final = "real people"
"""The line with the figures of real people, below those of methods."""
_FORMATS: Final[dict[str, Callable[[float], str]]] = {
    "number": lambda value: f"{value:.2f}" if value < 10 else f"{value:.1f}",
    "share": "{:.0%}".format,
    "finer share": "{:.1%}".format,
    "percent": lambda value: f"{100 * value:.0f}",
    "milliseconds": lambda value: f"{1000 * value:.1f}" if value < 1 else f"{1000 * value:.0f}",
    "count": "{:.0f}".format,
}


@dataclass(frozen=True)
class _Column:
    title: str
    key: str
    format: str
    interval: bool = False
    known: bool = False

    def cell(self, line: Line) -> str:
        """The figure with its interval: `81% [70, 90]`."""
        written = _FORMATS[self.format]
        value, low, high = (_figure(line, f"{self.key}{end}") for end in ("", "_low", "_high"))
        if math.isnan(value):
            return "–"
        if not self.interval or math.isnan(low):
            return written(value)
        return f"{written(value)} [{written(low).rstrip('%')}, {written(high).rstrip('%')}]"


@dataclass(frozen=True)
class _Part:
    text: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Content:
    full: tuple[_Column, ...]
    short: tuple[_Column, ...]
    full_note: tuple[_Part, ...]
    short_note: tuple[_Part, ...]
    real_note: tuple[_Part, ...]


_CONTENT: Final = as_kind(parse_toml((resources.files("attain.metrics") / "report.toml").read_text("utf-8")), _Content)
SHOWN: Final = frozenset(column.key.removesuffix("_charged") for column in _CONTENT.full)
"""The measures in the tables, and other figures."""


def flattened(summary: pd.DataFrame) -> dict[str, float]:
    """`Evaluation.summary` as one line: `NAME`, `NAME_low`, `NAME_high`, the same of `NAME_charged`, `NAME_real`."""
    figures = summary.drop(columns=["answered", "n"])
    return {
        str(name) if column == "mean" else f"{name}_{column}": float(value)
        for name, row in figures.iterrows()
        for column, value in row.items()
    }


def cells(lines: Sequence[Line], *, full: bool = True) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a table of all measures, or of the main ones charged."""
    lines = _with_real(lines)
    columns = [
        column
        for column in (_CONTENT.full if full else _CONTENT.short)
        if not column.known or any(not math.isnan(_figure(line, column.key)) for line in lines)
    ]
    rows = [
        [str(line["method"]), *(column.cell(line) for column in columns)]
        if line["status"] == OK
        else [str(line["method"]), str(line["status"]), *[""] * (len(columns) - 1)]
        for line in lines
    ]
    return ["method", *(column.title for column in columns)], rows


def note(lines: Sequence[Line] | None = None, *, full: bool = False) -> str:
    """What the columns and the last line of a table mean: those that are there, or without lines all of them."""
    parts = (*(_CONTENT.full_note if full else _CONTENT.short_note), *_CONTENT.real_note)
    if lines is None:
        return "".join(part.text for part in parts)
    there = {key for line in lines for key in ("possible", "relations_broken") if not math.isnan(_figure(line, key))}
    there |= {"real"} if len(_with_real(lines)) > len(lines) else set()
    return "".join(part.text for part in parts if there.issuperset(part.needs))


def text_table(lines: Sequence[Line], width: int | None = None) -> str:
    """The main measures, charged, for a terminal."""
    header, rows = cells(lines, full=False)
    return table(header, rows, width=width, right=range(1, len(header)))


def blocks(lines: Sequence[Line], *, full: bool = True) -> list[Block]:
    """All measures, or the main ones charged, as a table of a page; and why some methods have none."""
    header, rows = cells(lines, full=full)
    ended = {str(line["method"]): line for line in lines if line["status"] != OK}
    toned = [[Cell(text, "muted") for text in row] if row[0] in ended else row for row in rows]
    reasons = [f"{name}: {line['status']} ({line['reason']})" for name, line in ended.items()]
    return [TableBlock(header, toned, range(1, len(header))), *(Paragraph(text) for text in reasons)]


def _figure(line: Line, key: str) -> float:
    return float(line.get(key, math.nan))


def _with_real(lines: Sequence[Line]) -> list[Line]:
    """The lines, and one of real people if any of their figures are known."""
    fine = next((line for line in lines if line["status"] == OK), {})
    known = {str(key).removesuffix("_real"): value for key, value in fine.items() if str(key).endswith("_real")}
    known = {key: value for key, value in known.items() if not math.isnan(value)}
    real = {"method": REAL, "status": OK, **known, **{f"{key}_charged": value for key, value in known.items()}}
    return [*lines, real] if known else list(lines)


TRADE_OFF: Final = (
    "How many answers look like real rows against the total shift they ask for; up and to the left is better. Both are "
    "charged: rows without a valid answer enter with the worst case. Bars are 95 % intervals over rows."
)
INLIERS, CONNECTED = "inlier_charged", "connected_90_charged"
_AXES: Final = {INLIERS: "inliers (20 neighbours), charged", CONNECTED: "connected at ε.9, charged"}
_MARKERS: Final = "osD^vP*Xp<>h"
_HUES: Final = [COLOURS[name] for name in ("vermilion", "blue", "green", "purple", "orange", "sky", "black", "grey")]
_ACROSS: Final = 3


def trade_off(parts: Sequence[tuple[str, Sequence[Line], str]], order: Sequence[str] = ()) -> Any:
    """A figure with one panel for each part: its title, its lines, and the key of what is drawn against total shift.

    `order` fixes which method has which colour and marker.
    """
    methods = list(
        dict.fromkeys(str(line["method"]) for _, lines, _ in parts for line in lines if line["status"] == OK)
    )
    looks = {
        name: {"color": _HUES[i % len(_HUES)], "marker": _MARKERS[i % len(_MARKERS)], "markersize": 6}
        for i, name in enumerate(dict.fromkeys((*order, *methods)))
    }
    number = len(parts) + 1  # one panel for the legend
    down, across = -(-number // _ACROSS), min(number, _ACROSS)
    figure, axes = panels(down, across, width=3.3 * across, height=2.9 * down)
    places = axes.ravel()
    for axis, (title, lines, key) in zip(places, parts, strict=False):
        for line in lines:
            if line["status"] == OK:
                (x, across_bar), (y, up_bar) = (_bar(line, name) for name in ("total_shift_charged", key))
                axis.errorbar(x, y, xerr=across_bar, yerr=up_bar, elinewidth=0.8, **looks[str(line["method"])])
        axis.set(xlabel="total shift, charged", ylabel=_AXES[key], ylim=(-0.03, 1.03))
        axis.set_title(title, fontsize=10)
        axis.set_xlim(left=0)
    for axis in places[len(parts) :]:
        axis.axis("off")
    marks = [places[len(parts)].plot([], [], linestyle="none", label=name, **looks[name])[0] for name in methods]
    places[len(parts)].legend(handles=marks, loc="center left", frameon=False, fontsize=8)
    return figure


def _bar(line: Line, key: str) -> tuple[float, Any]:
    """A figure, and how far its interval reaches to both sides."""
    value, low, high = (_figure(line, f"{key}{end}") for end in ("", "_low", "_high"))
    return value, np.maximum([[value - low], [high - value]], 0.0)
