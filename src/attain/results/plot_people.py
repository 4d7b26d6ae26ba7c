"""Plots over a population: what the best answers change, and for which groups of people."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from attain.core.drawing import COLOURS, FAINT, LOOKS, TRACK, headline, label, mark, style
from attain.results.levers import ChangesByGroup, FeatureMoves

_NAME: Final = 26
"""Characters of a feature's name on a line."""
_LANE: Final = 0.19
"""The height of one group's lane in inches."""
_FEW: Final = 4
"""Fewer shifts than this have no quartiles."""


def size(people: ChangesByGroup, lanes: int) -> tuple[float, float]:
    """The width and height in inches that suit a number of lanes for each feature."""
    height = 1.2 + max(len(people.levers), 1) * max(0.37, _LANE * lanes + 0.16)
    return 7.0 if len(people.groups) == 1 else 8.6, height


def shift_lanes(ax: Any, title: str, people: ChangesByGroup) -> None:
    """A row for each feature, with a lane for each group: each shift as a point, their quartiles and median."""
    with style():
        height = 0.8 / len(people.groups)
        _frame(ax, people)
        ax.axvline(0, color=COLOURS["black"], lw=0.9, zorder=1)
        for row, (_, moves) in enumerate(people.levers):
            for y, part, (colour, marker, _) in zip(_lanes(row, people, height), moves, LOOKS, strict=False):
                _lane(ax, y, height, part, {"marker": marker, "color": colour, "ls": "", "mew": 0})
                shade = COLOURS["black"] if part.share else COLOURS["grey"]
                ax.text(104, y, f"{100 * part.share:.0f} %", va="center", fontsize=8, color=shade)
        ax.text(104, -0.56, "changed by", fontsize=7.5, color=FAINT, va="bottom")
        ax.set_xlim(-102, 102)
        ax.set_xticks(range(-100, 101, 50), ["100\ndown", "50", "0", "50", "100\nup"])
        ax.set_xlabel("shift, percentile points", color=FAINT)
        headline(ax, title, people.about)


def _lanes(row: int, people: ChangesByGroup, height: float) -> list[float]:
    """Where the lanes of the groups lie in a row."""
    count = len(people.groups)
    return [row + (place - (count - 1) / 2) * height for place in range(count)]


def _frame(ax: Any, people: ChangesByGroup) -> None:
    """Draws the rows, and a legend of the groups next to the axes."""
    ax.grid(visible=False, axis="y")
    ax.spines[["top", "right", "left"]].set_visible(False)
    count = len(people.levers)
    ax.set_yticks(range(count), [label(name, _NAME, 2) for name, _ in people.levers])
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
