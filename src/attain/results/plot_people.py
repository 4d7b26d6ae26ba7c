"""Plots over a population: what the best answers change, for which groups of people, and a map of real people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from attain.core.drawing import COLOURS, FAINT, LOOKS, TRACK, headline, label, legend_below, mark, style
from attain.results.details import Plane
from attain.results.levers import Moves, Population

_NAME: Final = 26
"""Characters of a feature's name on a line."""
_LANE: Final = 0.19
"""The height of one group's lane in inches."""
_FEW: Final = 4
"""Fewer shifts than this have no quartiles."""
_SHADES: Final = ("#f9d9c6", "#fdefe6", "#e6f1f8", "#c9e1f0")
"""From no decision for the target to all, in steps of a quarter."""
_CLOSE: Final = 0.03
"""Options nearer than this share of both sides would hide each other."""


def size(people: Population, lanes: int) -> tuple[float, float]:
    """The width and height that suit a figure with so many lanes for each feature, in inches."""
    height = 1.2 + max(len(people.levers), 1) * max(0.37, _LANE * lanes + 0.16)
    return 7.0 if len(people.groups) == 1 else 8.6, height


def shift_lanes(ax: Any, title: str, people: Population) -> None:
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


def _lanes(row: int, people: Population, height: float) -> list[float]:
    """Where the lanes of the groups lie in a row."""
    count = len(people.groups)
    return [row + (place - (count - 1) / 2) * height for place in range(count)]


def _frame(ax: Any, people: Population) -> None:
    """The rows, and beside the axes which marker is which group."""
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


def _lane(ax: Any, y: float, height: float, part: Moves, look: dict[str, Any]) -> None:
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


def people_map(ax: Any, title: str, plane: Plane, target: str, starts: Sequence[int], ranks: Sequence[int]) -> None:
    """Draws a plane, and an arrow to each option (m,) from the factual at its start.

    The options' ranks are shown where all arrows begin at one place.
    """
    single, black = len(plane.factuals) == 1, COLOURS["black"]
    person = {"marker": "*", "color": COLOURS["yellow"], "mec": black}
    arrow = {"arrowstyle": "-|>", "color": black, "shrinkA": 0, "lw": 1.3 if single else 0.7}
    with style():
        ax.grid(visible=False)
        ax.contourf(*plane.grid, plane.share, levels=[-0.01, 0.25, 0.5, 0.75, 1.01], colors=_SHADES, zorder=0)
        if np.nanmin(plane.share) < 0.5 < np.nanmax(plane.share):
            ax.contour(*plane.grid, plane.share, levels=[0.5], colors=FAINT, linewidths=1.0, zorder=1)
        for members, colour, marker, edge in (
            (~plane.accepted, "vermilion", "x", 0.8),
            (plane.accepted, "blue", "o", 0),
        ):
            look = {"ms": 3.2, "mew": edge, "alpha": 0.45, "color": COLOURS[colour]}
            ax.plot(*plane.people[members].T, marker, **look, zorder=2)
        if single:
            ax.plot(*plane.factuals[0], **person, ls="", ms=16, mew=1.1, zorder=6)
        for start, option in zip(plane.factuals[starts], plane.options, strict=True):
            properties = {**arrow, "shrinkB": 6.5 if single else 0}
            ax.annotate("", tuple(option), tuple(start), arrowprops=properties, zorder=5)
        if single:
            _number_options(ax, plane, ranks)
        for axis, name, side in zip((ax.xaxis, ax.yaxis), plane.axes, plane.grid, strict=True):
            axis.set_label_text(name, color=FAINT)
            ax.set(**{f"{axis.axis_name}lim": (side[0], side[-1])})
        ax.tick_params(colors=FAINT, labelsize=8)
        name, nearby = label(target, 24), "decoded: " if plane.decoded else "nearby: mostly "
        entries = [
            mark(f"real person: {name}", marker="o", ms=5, color=COLOURS["blue"]),
            mark("real person: not", marker="x", ms=5, mew=1, color=COLOURS["vermilion"]),
            mark(f"{nearby}{name}", marker="s", ms=9, color=_SHADES[-1], mec=FAINT, mew=0.6),
            mark(f"{nearby}not", marker="s", ms=9, color=_SHADES[0], mec=FAINT, mew=0.6),
        ]
        if single:
            entries += [
                mark("the person now", **person, ms=10, mew=0.9),
                mark("options", marker="o", ms=8, color=black),
            ]
        legend_below(ax, entries, "upper left", 3, 38)
        about = "the decisions about real people nearby in this projection"
        if plane.decoded:
            about = "the decisions about decoded records with this person’s immutable features"
        headline(ax, title, f"regions: {about}")


def _number_options(ax: Any, plane: Plane, ranks: Sequence[int]) -> None:
    """The ranks of options at their places; those of options that are close together share one label."""
    span = plane.grid[:, -1] - plane.grid[:, 0]
    labels: list[tuple[np.ndarray, list[str]]] = []
    for place, rank in zip(plane.options, ranks, strict=True):
        near = [names for other, names in labels if (np.abs(other - place) / span).max() < _CLOSE]
        near[0].append(str(rank)) if near else labels.append((place, [str(rank)]))
    look = {"color": "white", "fontsize": 7.5, "fontweight": "bold", "ha": "center", "va": "center", "zorder": 8}
    box = {"boxstyle": "round,pad=0.35,rounding_size=0.9", "facecolor": COLOURS["black"], "edgecolor": "white"}
    for place, names in labels:
        ax.annotate(", ".join(names), tuple(place), **look, bbox=box)
