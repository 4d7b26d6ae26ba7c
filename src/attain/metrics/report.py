"""Methods side by side as text, Markdown, HTML and a trade-off plot.

A line is a mapping with `method`, `status`, `reason`, `n`, `broken`, `cpu_seconds` and the averages of its measures, as
`flattened` names them. Lines whose status is not `ok` have no averages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pandas as pd

from attain.core.drawing import COLOURS, panels
from attain.core.page import Block, Cell, Paragraph, TableBlock
from attain.core.text import table

Line: TypeAlias = Mapping[Any, Any]

OK, NOT_APPLICABLE, FAILED = "ok", "not applicable", "failed"
"""How a method's run on one model ended."""

MEASURED: Final = (
    "found",
    "total_shift",
    "max_shift",
    "changed",
    "inlier",
    "connected_90",
    "connected_95",
    "largest_component",
)
"""The measures in the tables."""
IF_KNOWN: Final = ("held_out_inlier", "possible", "relations_broken", "relations_broken_by_far", "rows_scored")
"""Further measures in the tables, which are there only if the data are."""
REAL: Final = "real people"
"""The line with the figures of real people, below those of methods."""


def flattened(summary: pd.DataFrame) -> dict[str, float]:
    """`Evaluation.summary` as one line: `NAME`, `NAME_low`, `NAME_high`, the same of `NAME_charged`, `NAME_real`."""
    ends = {"mean": "", "low": "_low", "high": "_high"}
    ends |= {"charged": "_charged", "charged_low": "_charged_low", "charged_high": "_charged_high", "real": "_real"}
    return {
        f"{name}{end}": float(row[column])
        for name, row in summary.iterrows()
        for column, end in ends.items()
        if column in row
    }


def _with_real(lines: Sequence[Line]) -> list[Line]:
    """The lines, and one of real people if any of their figures are known."""
    fine = next((line for line in lines if line["status"] == OK), {})
    known = {key.removesuffix("_real"): value for key, value in fine.items() if str(key).endswith("_real")}
    known = {key: value for key, value in known.items() if not math.isnan(value)}
    if not known:
        return list(lines)
    return [*lines, {"method": REAL, "status": OK, **known, **{f"{key}_charged": known[key] for key in known}}]


@dataclass(frozen=True)
class _Column:
    title: str
    key: str
    written: Callable[[float], str]
    interval: bool = False
    if_known: bool = False
    """Whether the column is left out of a table in which no line has the figure."""

    def shown(self, lines: Sequence[Line]) -> bool:
        return not self.if_known or any(not math.isnan(float(line.get(self.key, math.nan))) for line in lines)

    def cell(self, line: Line) -> str:
        """The figure with its interval: `81% [70, 90]`."""
        value = float(line.get(self.key, math.nan))
        low, high = (float(line.get(f"{self.key}_{end}", math.nan)) for end in ("low", "high"))
        if math.isnan(value):
            return "–"
        if not self.interval or math.isnan(low):
            return self.written(value)
        return f"{self.written(value)} [{self.written(low).rstrip('%')}, {self.written(high).rstrip('%')}]"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _share(value: float) -> str:
    return f"{value:.0%}"


def _finer_share(value: float) -> str:
    return f"{value:.1%}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f}"


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f}" if seconds < 1 else f"{1000 * seconds:.0f}"


def _count(value: float) -> str:
    return f"{value:.0f}"


_FULL: Final = (
    _Column("valid", "found_charged", _share, interval=True),
    _Column("broken", "broken", _count),
    _Column("TS", "total_shift", _number, interval=True),
    _Column("TS charged", "total_shift_charged", _number, interval=True),
    _Column("MS", "max_shift", _number, interval=True),
    _Column("changed", "changed", _number),
    _Column("inlier", "inlier", _share, interval=True),
    _Column("inlier, held-out", "held_out_inlier", _share, interval=True, if_known=True),
    _Column("inlier charged", "inlier_charged", _share, interval=True),
    _Column("connected ε.9", "connected_90", _share, interval=True),
    _Column("ε.95", "connected_95", _share),
    _Column("largest component ε.9", "largest_component", _share),
    _Column("possible", "possible", _finer_share, interval=True, if_known=True),
    _Column("breaks relation", "relations_broken", _share, interval=True, if_known=True),
    _Column("by far", "relations_broken_by_far", _finer_share, if_known=True),
    _Column("CPU ms", "cpu_seconds", _milliseconds),
    _Column("rows", "rows_scored_charged", _count),
)
_SHORT: Final = (
    _Column("valid, %", "found_charged", _percent, interval=True),
    _Column("TS", "total_shift_charged", _number, interval=True),
    _Column("inlier, %", "inlier_charged", _percent, interval=True),
    _Column("connected, %", "connected_90_charged", _percent, interval=True),
    _Column("possible, %", "possible", _percent, if_known=True),
    _Column("breaks relation, %", "relations_broken", _percent, if_known=True),
    _Column("CPU ms", "cpu_seconds", _milliseconds),
)

_POSSIBLE: Final = (
    " possible: of the answers, the share that breaks no law found in held-out data.",
    ", and for possible training ones of every class",
)
"""What a note leaves out where no line has the figure."""
_RELATIONS: Final = (
    " breaks relation: of the answers, the share with a cell that does not go with the others, by what held-out people "
    "tell, though the person's own does."
)
"""The same of relations."""
_REAL_NOTE: Final = (
    f"{REAL}: the same measures of real rows that these do not rest on, which are held-out ones of the desired class, "
    f"for measures of held-out data training ones{_POSSIBLE[1]}."
)
NOTE: Final = (
    "valid: share of rows with an answer that the model decides as asked for and that breaks no rule. TS: total shift "
    "in percentiles of the training columns; another level counts 1. inlier: by the local outlier factor with 20 "
    "neighbours among real rows of the desired class. connected: one of them is within ε, the 0.9 quantile of real "
    f"rows' own nearest distance.{_POSSIBLE[0]}{_RELATIONS} All others are charged: a row without a valid answer "
    "enters with the worst case. In brackets: 95 % intervals over rows. CPU ms: CPU time per row explained. "
    + _REAL_NOTE
)
FULL_NOTE: Final = (
    "valid: share of rows with an answer that the model decides as asked for and that breaks no rule. broken: answers "
    "that break a rule; they count as no answer, like those that do not flip the decision. TS, MS: total and largest "
    "shift in percentiles of the training columns; another level counts 1. changed: free features. inlier: by the "
    "local outlier factor with 20 neighbours among real rows of the desired class in the training data; held-out: in "
    "data that no method has seen. connected: the nearest real desired row is within ε, the .9 or .95 quantile of "
    "real rows' own distance; largest component: and linked in steps of ε with most of them."
    f"{_POSSIBLE[0]}{_RELATIONS} charged: over all rows, where one without a valid answer enters with the worst case; "
    "all others are over the rows with one. Brackets: 95 % intervals over rows, Wilson's for shares, else by "
    "bootstrap. CPU ms, rows: CPU time and rows scored, per row explained. " + _REAL_NOTE
)


def note(lines: Sequence[Line], text: str = NOTE) -> str:
    """What the columns and the last line of a table of these lines mean, where they are there."""
    if len(_with_real(lines)) == len(lines):
        text = text.replace(_REAL_NOTE, "").rstrip()
    if not any(column.key == "possible" and column.shown(lines) for column in _SHORT):
        for part in _POSSIBLE:
            text = text.replace(part, "")
    if not any(column.key == "relations_broken" and column.shown(lines) for column in _SHORT):
        text = text.replace(_RELATIONS, "")
    return text.replace("own nearest distance. All others are", "own nearest distance. All are")


def text_table(lines: Sequence[Line], width: int | None = None) -> str:
    """The main measures, charged, for a terminal."""
    header, rows = _cells(_SHORT, _with_real(lines))
    return table(header, rows, width=width, right=range(1, len(header)))


def markdown_table(lines: Sequence[Line]) -> str:
    """All measures as a Markdown table."""
    header, rows = _cells(_FULL, _with_real(lines))
    every = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in every)


def blocks(lines: Sequence[Line], *, full: bool = True) -> list[Block]:
    """All measures, or the main ones charged, as a table of a page; and why some methods have none."""
    lines = _with_real(lines)
    header, rows = _cells(_FULL if full else _SHORT, lines)
    tones = [
        row if line["status"] == OK else [Cell(text, "muted") for text in row]
        for line, row in zip(lines, rows, strict=True)
    ]
    reasons = [f"{line['method']}: {line['status']} ({line['reason']})" for line in lines if line["status"] != OK]
    return [TableBlock(header, tones, range(1, len(header))), *(Paragraph(text) for text in reasons)]


def _cells(columns: Sequence[_Column], lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    columns = [column for column in columns if column.shown(lines)]
    rows = []
    for line in lines:
        fine = line["status"] == OK
        cells = [column.cell(line) for column in columns] if fine else [line["status"], *[""] * (len(columns) - 1)]
        rows.append([str(line["method"]), *map(str, cells)])
    return ["method", *(column.title for column in columns)], rows


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
    fine = [line for _, lines, _ in parts for line in lines if line["status"] == OK]
    methods = list(dict.fromkeys(str(line["method"]) for line in fine))
    known = list(dict.fromkeys((*order, *methods)))
    looks = {name: (_HUES[i % len(_HUES)], _MARKERS[i % len(_MARKERS)]) for i, name in enumerate(known)}
    number = len(parts) + 1  # one panel for the legend
    down, across = -(-number // _ACROSS), min(number, _ACROSS)
    figure, axes = panels(down, across, width=3.3 * across, height=2.9 * down)
    places = axes.ravel()
    for axis, (title, lines, key) in zip(places, parts, strict=False):
        for line in lines:
            if line["status"] == OK:
                _point(axis, line, key, *looks[str(line["method"])])
        axis.set(xlabel="total shift, charged", ylabel=_AXES[key], ylim=(-0.03, 1.03))
        axis.set_title(title, fontsize=10)
        axis.set_xlim(left=0)
    for axis in places[len(parts) :]:
        axis.axis("off")
    for name in methods:
        colour, marker = looks[name]
        places[len(parts)].plot([], [], color=colour, marker=marker, linestyle="none", label=name)
    places[len(parts)].legend(loc="center left", frameon=False, fontsize=8)
    return figure


def _point(axis: Any, line: Line, key: str, colour: str, marker: str) -> None:
    ends = []
    for name in ("total_shift_charged", key):
        value, low, high = (float(line[f"{name}{end}"]) for end in ("", "_low", "_high"))
        ends.append((value, None if math.isnan(low) else [[max(value - low, 0.0)], [max(high - value, 0.0)]]))
    (x, x_bars), (y, y_bars) = ends
    axis.errorbar(x, y, xerr=x_bars, yerr=y_bars, color=colour, linewidth=0.8, alpha=0.5)
    axis.plot(x, y, color=colour, marker=marker, markersize=6)
