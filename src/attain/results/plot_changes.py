"""Changes as dumbbells: each feature from where the person stands to where the option puts them, in percentiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from attain.core.drawing import COLOURS, FAINT, TRACK, finished, headline, label, legend_below, mark, style

_GAP: Final = 24.0
"""Between the tracks of two options, in percentile points."""
_APART: Final = 3.0
"""Between two texts, in percentile points."""
_ABOVE: Final = 0.17
"""How far above its track a text stands, in rows."""
_NARROWEST: Final = 0.5
"""The width of a range that is drawn, in percentile points."""
_NAME, _VALUE = 24, 40
"""Characters of a feature's name on a line, and of a value."""
_ROW: Final = 0.5
"""The height of a row in inches."""
_BAND: Final = {"color": COLOURS["sky"], "alpha": 0.55, "solid_capstyle": "butt"}


@dataclass(frozen=True)
class Change:
    """A feature's change by one option: both values as texts, and their percentiles from 0 to 100, or NaN."""

    before: str
    after: str
    start: float
    end: float
    low: float = math.nan
    high: float = math.nan
    """The ends of the range in which the option holds, as percentiles."""
    others: str = ""
    """The other levels for which it holds."""

    @property
    def on_scale(self) -> bool:
        """Whether both values have a percentile."""
        return not math.isnan(self.start) and not math.isnan(self.end)

    @property
    def off_scale(self) -> bool:
        """Whether neither has."""
        return math.isnan(self.start) and math.isnan(self.end)

    @property
    def banded(self) -> bool:
        """Whether there is a range that can be seen."""
        return self.high - self.low >= _NARROWEST


@dataclass(frozen=True)
class Column:
    """An option: its heading, what is to be known about it, and its changes by feature."""

    heading: str
    about: str
    changes: Mapping[str, Change]


def size(features: int, columns: int) -> tuple[float, float]:
    """The width and height that suit a figure with so many features and options, in inches."""
    return (6.6 if columns == 1 else 1.9 + 2.5 * columns), (1.25 if columns == 1 else 1.55) + _ROW * max(features, 1)


def dumbbells(ax: Any, title: str, about: str, names: Mapping[str, str], columns: Sequence[Column]) -> None:
    """Draws a row for each feature, by its name, and a column for each option, with a track from 0 to 100."""
    cells = [
        (change, (100 + _GAP) * place, row)
        for place, column in enumerate(columns)
        for row, feature in enumerate(names)
        if (change := column.changes.get(feature)) is not None
    ]
    with style():
        _frame(ax, names, len(columns))
        if len(columns) > 1:
            ax.set_ylim(top=_headings(ax, names, columns))
        for cell in cells:
            _marks(ax, *cell)
        headline(ax, title, about)
        _key(ax, [change for change, *_ in cells])
        finished(ax)  # so that the widths of texts are known
        for cell in cells:
            _texts(ax, *cell)


def message(ax: Any, title: str, text: str) -> None:
    """Draws a sentence instead, where there is nothing to show."""
    with style():
        headline(ax, title)
        ax.set(xticks=[], yticks=[])
        ax.set_axis_off()
        ax.text(0, 0.9, label(text, 88, 6), transform=ax.transAxes, va="top", color=FAINT, linespacing=1.4)


def _frame(ax: Any, names: Mapping[str, str], columns: int) -> None:
    ax.grid(visible=False)
    for side in ("top", "right", "left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.set_yticks(range(len(names)), [label(name, _NAME, 2) for name in names.values()], color=COLOURS["black"])
    ax.set_ylim(len(names) - 0.62, -0.55)
    starts, marks = [(100 + _GAP) * place for place in range(columns)], range(0, 101, 25 if columns == 1 else 50)
    ax.set_xlim(-2.5, starts[-1] + 102.5)
    ax.set_xticks([start + m for start in starts for m in marks], [str(m) for _ in starts for m in marks])
    ax.tick_params(length=0, labelsize=8.5)
    ax.tick_params(axis="x", colors=FAINT, labelsize=8)
    ax.set_xlabel("percentile of the training data", color=FAINT, fontsize=8, loc="left")


def _headings(ax: Any, names: Mapping[str, str], columns: Sequence[Column]) -> float:
    """The headings of options, and where the axes end above them."""
    abouts = [label(column.about, 36, 2) for column in columns]
    top = -0.95 - 0.27 * max(about.count("\n") for about in abouts)
    for place, (column, about) in enumerate(zip(columns, abouts, strict=True)):
        start = (100 + _GAP) * place
        ax.text(start, top, column.heading, va="bottom", fontsize=8.5, fontweight="bold")
        ax.text(start, top + 0.03, about, va="top", fontsize=8, color=FAINT, linespacing=1.2)
        for row, feature in enumerate(names):
            if feature not in column.changes:
                ax.text(start, row, "unchanged", va="center", fontsize=8, color=COLOURS["grey"])
    return top - 0.3


def _marks(ax: Any, change: Change, start: float, row: int) -> None:
    """The track, the range and both ends."""
    if change.off_scale:
        return
    ax.plot([start, start + 100], [row, row], color=TRACK, lw=2, solid_capstyle="round", zorder=1)
    if change.banded:
        ax.plot([start + change.low, start + change.high], [row, row], **_BAND, lw=9, zorder=2)
    ax.plot([start + change.start, start + change.end], [row, row], color=COLOURS["blue"], lw=1.8, zorder=3)
    ax.plot(start + change.start, row, "o", ms=7, mfc="white", mec=COLOURS["black"], mew=1.4, zorder=4)
    pointer = _pointer(change)
    ax.plot(start + change.end, row, pointer, ms=4 if pointer == "D" else 8, color=COLOURS["blue"], mew=0, zorder=5)


def _pointer(change: Change) -> str:
    """A triangle in the direction of the change; a diamond, small enough for the ring, where it has none."""
    return ">" if change.end > change.start else "<" if change.end < change.start else "D"


def _texts(ax: Any, change: Change, start: float, row: int) -> None:
    """Both values, each above its end of the track, or side by side where there are not two ends."""
    level, alignment = (row, "center") if change.off_scale else (row - _ABOVE, "bottom")

    def text(content: str, **look: Any) -> Any:
        return ax.text(0, level, label(content, _VALUE), ha="center", va=alignment, fontsize=8, **look)

    after = change.after if change.on_scale or not change.before else f"→ {change.after}"
    texts = [text(change.before, color=FAINT), text(after, color=COLOURS["blue"], fontweight="bold")]
    if change.end < change.start:
        texts.reverse()
    left, right = _fitted(ax, texts, 100 - _APART)
    places = (left / 2, left + _APART * bool(change.before) + right / 2)
    if change.on_scale:
        places = _beside(min(change.start, change.end), max(change.start, change.end), left, right)
    for part, place in zip(texts, places, strict=True):
        part.set_x(start + place)
    room = 100 - places[1] - right / 2 - _APART
    if change.others and room > 10:
        more = text(f"or {change.others}", color=FAINT)
        more.set_x(start + 100 - room + _fitted(ax, [more], room)[0] / 2)


def _fitted(ax: Any, texts: Sequence[Any], room: float) -> list[float]:
    """The widths of the texts in percentile points; they are cut, the longest first, until they fit into the room."""
    while True:
        widths = [_width(ax, text) for text in texts]
        longest = max(texts, key=lambda text: len(text.get_text()))
        if sum(widths) <= room or len(longest.get_text()) <= 4:
            return widths
        longest.set_text(f"{longest.get_text()[:-2].rstrip()}…")


def _width(ax: Any, text: Any) -> float:
    text.set_parse_math(False)
    return float(text.get_window_extent().transformed(ax.transData.inverted()).width)


def _beside(first: float, second: float, left: float, right: float) -> tuple[float, float]:
    """The centres of two texts of these widths, near their places, which do not touch and stay within 0 and 100."""
    apart = (left + right) / 2 + _APART
    if second - first < apart:
        middle = (first + second) / 2
        first, second = middle - apart / 2, middle + apart / 2
    if first < left / 2:
        first, second = left / 2, max(second, left / 2 + apart)
    if second > 100 - right / 2:
        second, first = 100 - right / 2, min(first, 100 - right / 2 - apart)
    return first, second


def _key(ax: Any, changes: Sequence[Change]) -> None:
    """What the marks mean, below the axes."""
    if all(change.off_scale for change in changes):
        ax.set_xlabel("")
        ax.set_xticks([])
        return
    entries = [
        mark("now", marker="o", ms=6.5, mfc="white", mec=COLOURS["black"], mew=1.4),
        mark("suggested", marker=">", ms=7, color=COLOURS["blue"]),
    ]
    if any(change.banded for change in changes):
        entries.append(mark("range that still holds", ls="-", lw=7, **_BAND))
    legend_below(ax, entries, "upper left", 3, 34)
