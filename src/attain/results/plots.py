"""`result.plot`: what a result shows, as Matplotlib axes.

Changes of one person are dumbbells: each feature from where the person stands to where the option puts them, in
percentiles. What the best answers of many people change are lanes of points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from attain.core.drawing import (
    COLOURS,
    FAINT,
    LOOKS,
    TRACK,
    finished,
    headline,
    label,
    legend_below,
    mark,
    shown,
    style,
)
from attain.core.errors import AttainError, DataError
from attain.core.text import ENGLISH
from attain.results.levers import ChangesByGroup, FeatureMoves, changes_by_group
from attain.results.options import WAITING, Change, Option
from attain.results.sentences import now_and_then, option_facts, worded

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_GAP: Final = 24.0
"""Between the tracks of two options, in percentile points."""
_APART: Final = 3.0
"""Between two texts, in percentile points."""
_ABOVE: Final = 0.17
"""How far above its track a text stands, in rows."""
_NARROWEST: Final = 0.5
"""The width of a range that is drawn, in percentile points."""
_NAME, _LANE_NAME, _VALUE = 24, 26, 40
"""Characters on a line: of a feature's name beside dumbbells and lanes, and of a value."""
_ROW: Final = 0.5
"""The height of a row in inches."""
_BAND: Final = {"color": COLOURS["sky"], "alpha": 0.55, "solid_capstyle": "butt"}
_WAIT: Final = ""
"""The key of the row for waiting, which is no feature."""
_LANE: Final = 0.19
"""The height of one group's lane in inches."""
_FEW: Final = 4
"""Fewer shifts than this have no quartiles."""


@dataclass(frozen=True)
class Plots:
    """Plots of a result. Each takes Matplotlib axes to draw in, or makes a figure, and returns the axes.

    They need Matplotlib: `pip install 'attain[report]'`.
    """

    result: Counterfactuals
    new_axes: Callable[[float, float], Any] = shown
    """Makes axes of a width and a height, in inches."""

    def changes(self, person: Any, option: int = 1, *, ax: Any = None) -> Any:
        """One option of one person: each changed feature from its value now to the suggested one, by percentile.

        With `explain(..., ranges=True)` a band shows the range in which the suggestion still holds. A feature without
        percentiles, such as a categorical one, is shown as text.

        Parameters
        ----------
        person
            The label of the row, as in `describe`.
        option
            Which option, from 1.
        ax
            Axes to draw in.
        """
        position = self._position(person)
        options = self.result.options_of(position)
        if options and not 1 <= option <= len(options):
            raise AttainError(f"option must be an integer from 1 to {len(options)}, got {option!r}")
        number = f", option {option}" if len(options) > 1 else ""
        return self._options(position, number, [one for one in options if one.number == option], ax)

    def options(self, person: Any, *, ax: Any = None) -> Any:
        """All options of one person side by side, drawn as in `changes`."""
        return self.at(self._position(person), ax=ax)

    def at(self, position: int, *, ax: Any = None) -> Any:
        """`options` of the person at a position."""
        return self._options(position, "", self.result.options_of(position), ax)

    def overview(self, by: Any = None, *, ax: Any = None) -> Any:
        """Which features the best answers change, how far and which way, and for which share of people.

        Each point is an answer; the bar has the middle half, the tick is the median.

        Parameters
        ----------
        by
            Groups to be shown side by side: the name of a column, or an array with one entry for each person.
            Numbers are cut into bands.
        ax
            Axes to draw in.
        """
        people = changes_by_group(self.result, by)
        ax = self._axes(ax, *_lanes_size(people))
        _shift_lanes(ax, "What answers change, and how far", people)
        return finished(ax)

    def _axes(self, ax: Any, width: float, height: float) -> Any:
        return self.new_axes(width, height) if ax is None else ax

    def _position(self, person: Any) -> int:
        """The position of the only row with this label."""
        positions = self.result.positions(person)
        if len(positions) > 1:
            raise DataError(f"{len(positions)} rows have the label {person!r}; plots of one person need unique labels")
        return positions[0]

    def _options(self, position: int, number: str, options: Sequence[Option], ax: Any) -> Any:
        title = f"Person {label(self.result.table.labels[position], 40)}{number}"
        if not options:
            ax = self._axes(ax, 6.6, 1.4)
            _message(ax, f"{title}: no answer", self.result.reason(position))
            return finished(ax)
        names = _titles(options)
        ways = "what leads to" if len(options) == 1 else "ways to"
        ax = self._axes(ax, *_dumbbells_size(len(names), len(options)))
        _dumbbells(ax, f"{title}: {ways} {self.result.request}", names, options)
        return finished(ax)


class Dumbbell(NamedTuple):
    """A feature's change by one option: both values as texts, and their percentiles from 0 to 100, or NaN.

    Attributes
    ----------
    low, high
        The ends of the range in which the option holds, as percentiles.
    others
        The other levels for which it holds.
    left, row
        Where its track begins.
    """

    left: float
    row: int
    before: str
    after: str
    start: float
    end: float
    low: float
    high: float
    others: str

    @property
    def ends(self) -> int:
        """How many of both values have a percentile."""
        return 2 - math.isnan(self.start) - math.isnan(self.end)

    @property
    def banded(self) -> bool:
        """Whether there is a range that can be seen."""
        return self.high - self.low >= _NARROWEST


def _titles(options: Sequence[Option]) -> dict[str, str]:
    """The titles of all changed features: largest shifts first, then what follows, waiting, and clocks last."""
    changes: dict[str, list[Change]] = {}
    for change in (change for option in options for change in option.changes):
        changes.setdefault(change.feature.name, []).append(change)
    places = {"law": (1, " (follows)"), "time": (3, " (with time)")}
    rows = [(2, 0.0, _WAIT, WAITING)] if any(option.waits for option in options) else []
    for name, found in changes.items():
        rank, words = places.get(found[0].follows, (0, ""))
        rows.append((rank, -max(change.shift or 0.0 for change in found), name, f"{found[0].feature.title}{words}"))
    return {name: title for *_, name, title in sorted(rows, key=lambda row: row[:2])}


def _dumbbell(change: Change, left: float, row: int) -> Dumbbell:
    places = (change.current_percentile, change.suggested_percentile, change.low_percentile, change.high_percentile)
    start, end, low, high = (math.nan if place is None else place for place in places)
    others = ", ".join(map(worded, change.others))
    return Dumbbell(left, row, *now_and_then(change), start, end, low, high, others)


def _dumbbells_size(features: int, columns: int) -> tuple[float, float]:
    """The width and height in inches that suit a number of features and options."""
    return (6.6 if columns == 1 else 1.9 + 2.5 * columns), (1.25 if columns == 1 else 1.55) + _ROW * max(features, 1)


def _dumbbells(ax: Any, title: str, names: Mapping[str, str], options: Sequence[Option]) -> None:
    """Draws a row for each feature, by its name, and a column for each option, with a track from 0 to 100."""
    rows, lefts = {name: row for row, name in enumerate(names)}, [(100 + _GAP) * k for k in range(len(options))]
    cells = [
        _dumbbell(change, left, rows[change.feature.name])
        for left, option in zip(lefts, options, strict=True)
        for change in option.changes
    ]
    nowhere = (math.nan,) * 4
    cells += [
        Dumbbell(left, rows[_WAIT], "", ENGLISH.duration(option.months), *nowhere, "")
        for left, option in zip(lefts, options, strict=True)
        if option.waits
    ]
    with style():
        _frame(ax, list(names.values()), lefts)
        if len(options) > 1:
            _headings(ax, options, lefts)
            unchanged = {(left, row) for left in lefts for row in rows.values()} - {cell[:2] for cell in cells}
            for left, row in sorted(unchanged):
                ax.text(left, row, "unchanged", va="center", fontsize=8, color=COLOURS["grey"])
        for cell in cells:
            _marks(ax, cell)
        headline(ax, title, " · ".join(option_facts(options[0])) if len(options) == 1 else "")
        _key(ax, cells)
        finished(ax)  # so that the widths of texts are known
        for cell in cells:
            _texts(ax, cell)


def _message(ax: Any, title: str, text: str) -> None:
    """Draws a sentence instead, where there is nothing to show."""
    with style():
        headline(ax, title)
        ax.set(xticks=[], yticks=[])
        ax.set_axis_off()
        ax.text(0, 0.9, label(text, 88, 6), transform=ax.transAxes, va="top", color=FAINT, linespacing=1.4)


def _frame(ax: Any, names: Sequence[str], lefts: Sequence[float]) -> None:
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.set_yticks(range(len(names)), [label(name, _NAME, 2) for name in names], color=COLOURS["black"])
    ax.set_ylim(len(names) - 0.62, -0.55)
    marks = range(0, 101, 25 if len(lefts) == 1 else 50)
    ax.set_xlim(-2.5, lefts[-1] + 102.5)
    ax.set_xticks([left + m for left in lefts for m in marks], [str(m) for _ in lefts for m in marks])
    ax.tick_params(length=0, labelsize=8.5)
    ax.tick_params(axis="x", colors=FAINT, labelsize=8)
    ax.set_xlabel("percentile of the training data", color=FAINT, fontsize=8, loc="left")


def _headings(ax: Any, options: Sequence[Option], lefts: Sequence[float]) -> None:
    """The headings of options above the tracks."""
    facts = [label(" · ".join(option_facts(option)), 36, 2) for option in options]
    top = -0.95 - 0.27 * max(text.count("\n") for text in facts)
    for left, option, text in zip(lefts, options, facts, strict=True):
        ax.text(left, top, f"Option {option.number}", va="bottom", fontsize=8.5, fontweight="bold")
        ax.text(left, top + 0.03, text, va="top", fontsize=8, color=FAINT, linespacing=1.2)
    ax.set_ylim(top=top - 0.3)


def _marks(ax: Any, cell: Dumbbell) -> None:
    """The track, the range and both ends: a triangle in the direction of the change, or else a small diamond."""
    if not cell.ends:
        return
    (left, row), rows = cell[:2], [cell.row] * 2
    ax.plot([left, left + 100], rows, color=TRACK, lw=2, solid_capstyle="round", zorder=1)
    if cell.banded:
        ax.plot([left + cell.low, left + cell.high], rows, **_BAND, lw=9, zorder=2)
    ax.plot([left + cell.start, left + cell.end], rows, color=COLOURS["blue"], lw=1.8, zorder=3)
    ax.plot(left + cell.start, row, "o", ms=7, mfc="white", mec=COLOURS["black"], mew=1.4, zorder=4)
    pointer, size = (">", 8) if cell.end > cell.start else ("<", 8) if cell.end < cell.start else ("D", 4)
    ax.plot(left + cell.end, row, pointer, ms=size, color=COLOURS["blue"], mew=0, zorder=5)


def _texts(ax: Any, cell: Dumbbell) -> None:
    """Both values, each above its end of the track, or side by side where there are not two ends."""
    level, alignment = (cell.row - _ABOVE, "bottom") if cell.ends else (cell.row, "center")

    def text(content: str, **look: Any) -> Any:
        return ax.text(0, level, label(content, _VALUE), ha="center", va=alignment, fontsize=8, **look)

    after = cell.after if cell.ends == 2 or not cell.before else f"→ {cell.after}"
    texts = [text(cell.before, color=FAINT), text(after, color=COLOURS["blue"], fontweight="bold")]
    if cell.end < cell.start:
        texts.reverse()
    left, right = _fitted(ax, texts, 100 - _APART)
    places = (left / 2, left + _APART * bool(cell.before) + right / 2)
    if cell.ends == 2:
        places = _beside(min(cell.start, cell.end), max(cell.start, cell.end), left, right)
    for part, place in zip(texts, places, strict=True):
        part.set_x(cell.left + place)
    room = 100 - places[1] - right / 2 - _APART
    if cell.others and room > 10:
        more = text(f"or {cell.others}", color=FAINT)
        more.set_x(cell.left + 100 - room + _fitted(ax, [more], room)[0] / 2)


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
    """The centres of two texts near their places, so that they do not touch and stay within 0 and 100."""
    apart = (left + right) / 2 + _APART
    if second - first < apart:
        middle = (first + second) / 2
        first, second = middle - apart / 2, middle + apart / 2
    if first < left / 2:
        first, second = left / 2, max(second, left / 2 + apart)
    if second > 100 - right / 2:
        second, first = 100 - right / 2, min(first, 100 - right / 2 - apart)
    return first, second


def _key(ax: Any, cells: Sequence[Dumbbell]) -> None:
    """Draws the legend of the marks below the axes."""
    if not any(cell.ends for cell in cells):
        ax.set(xlabel="", xticks=[])
        return
    entries = [
        mark("now", marker="o", ms=6.5, mfc="white", mec=COLOURS["black"], mew=1.4),
        mark("suggested", marker=">", ms=7, color=COLOURS["blue"]),
    ]
    if any(cell.banded for cell in cells):
        entries.append(mark("range that still holds", ls="-", lw=7, **_BAND))
    legend_below(ax, entries, "upper left", 3, 34)


def _lanes_size(people: ChangesByGroup) -> tuple[float, float]:
    """The width and height in inches that suit a lane for each group of each feature."""
    height = 1.2 + max(len(people.levers), 1) * max(0.37, _LANE * len(people.groups) + 0.16)
    return 7.0 if len(people.groups) == 1 else 8.6, height


def _shift_lanes(ax: Any, title: str, people: ChangesByGroup) -> None:
    """A row for each feature, with a lane for each group: each shift as a point, their quartiles and median."""
    with style():
        height = 0.8 / len(people.groups)
        _lanes_frame(ax, people)
        ax.axvline(0, color=COLOURS["black"], lw=0.9, zorder=1)
        for row, (_, moves) in enumerate(people.levers):
            for lane, (part, (colour, marker, _)) in enumerate(zip(moves, LOOKS, strict=False)):
                y = row + (lane - (len(moves) - 1) / 2) * height
                _lane(ax, y, height, part, {"marker": marker, "color": colour, "ls": "", "mew": 0})
                shade = COLOURS["black"] if part.share else COLOURS["grey"]
                ax.text(104, y, f"{100 * part.share:.0f} %", va="center", fontsize=8, color=shade)
        ax.text(104, -0.56, "changed by", fontsize=7.5, color=FAINT, va="bottom")
        ax.set_xlim(-102, 102)
        ax.set_xticks(range(-100, 101, 50), ["100\ndown", "50", "0", "50", "100\nup"])
        ax.set_xlabel("shift, percentile points", color=FAINT)
        headline(ax, title, people.about)


def _lanes_frame(ax: Any, people: ChangesByGroup) -> None:
    """Draws the rows, and a legend of the groups next to the axes."""
    ax.grid(visible=False, axis="y")
    ax.spines[["top", "right", "left"]].set_visible(False)
    count = len(people.levers)
    ax.set_yticks(range(count), [label(name, _LANE_NAME, 2) for name, _ in people.levers])
    ax.set_ylim(max(count, 1) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.tick_params(axis="x", colors=FAINT, labelsize=8)
    ax.tick_params(axis="y", labelsize=8.5)
    for row in range(1, count):
        ax.axhline(row - 0.5, color=TRACK, lw=0.7, zorder=0)
    if len(people.groups) == 1:
        return
    handles = [
        mark(f"{label(name, 24)} ({count})", marker=marker, color=colour, ms=6)
        for (name, count), (colour, marker, _) in zip(people.groups.items(), LOOKS, strict=False)
    ]
    place = {"loc": "upper left", "bbox_to_anchor": (1.16, 1), "borderaxespad": 0}
    ax.legend(handles=handles, **place, fontsize=8, labelcolor=FAINT, handletextpad=0.3)


def _lane(ax: Any, y: float, height: float, part: FeatureMoves, look: dict[str, Any]) -> None:
    shifts = part.shifts
    if len(shifts):
        ax.plot([-100, 100], [y, y], color=TRACK, lw=0.8, zorder=1)
    if 0 < len(shifts) < _FEW:
        ax.plot(shifts, np.full(len(shifts), y), **look, ms=5, alpha=0.8, zorder=2)
    elif len(shifts):
        # a fixed scatter, so that equal shifts are seen as many
        scatter = ((np.arange(len(shifts)) * 0.618034) % 1 - 0.5) * 0.5 * height
        ax.plot(shifts, y + scatter, **look, ms=3, alpha=0.5, zorder=2)
        low, middle, high = np.quantile(shifts, (0.25, 0.5, 0.75))
        ax.plot([low, high], [y, y], color=look["color"], lw=4, alpha=0.5, solid_capstyle="butt", zorder=3)
        ax.plot(middle, y, "|", ms=9, mew=2, color=look["color"], zorder=4)
    if part.levels:
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(-100, y, part.levels, va="center", fontsize=7.5, color=FAINT, bbox=behind, zorder=5)
