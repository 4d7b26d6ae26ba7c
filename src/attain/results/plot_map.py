"""The map: real people and decision regions in a plane, and the way to each option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from attain.core.drawing import COLOURS, FAINT, headline, label, legend_below, mark, style
from attain.results.details import Plane

_SHADES: Final = ("#f9d9c6", "#fdefe6", "#e6f1f8", "#c9e1f0")
"""From no decision for the target to all, in steps of a quarter."""
_CLOSE: Final = 0.03
"""Options nearer than this share of both sides would hide each other."""


def people_map(
    ax: Any, title: str, about: str, plane: Plane, target: str, routes: Sequence[tuple[int, int, str]]
) -> None:
    """Draws a plane, and for each route, given as (factual, option, name), an arrow.

    The names of options are shown where all routes begin at one place.
    """
    with style():
        ax.grid(visible=False)
        ax.contourf(*plane.grid, plane.share, levels=[-0.01, 0.25, 0.5, 0.75, 1.01], colors=_SHADES, zorder=0)
        if np.nanmin(plane.share) < 0.5 < np.nanmax(plane.share):
            ax.contour(*plane.grid, plane.share, levels=[0.5], colors=FAINT, linewidths=1.0, zorder=1)
        for own, colour, marker in ((~plane.accepted, "vermilion", "x"), (plane.accepted, "blue", "o")):
            edge = 0.8 if marker == "x" else 0.0
            ax.plot(*plane.people[own].T, marker, ms=3.2, mew=edge, alpha=0.45, color=COLOURS[colour], zorder=2)
        single = len(plane.factuals) == 1
        if single:
            ax.plot(*plane.factuals[0], "*", ms=16, color=COLOURS["yellow"], mec=COLOURS["black"], mew=1.1, zorder=6)
        for start, option, _ in routes:
            _arrow(ax, plane.factuals[start], plane.options[option], single)
        if single:
            _names(ax, plane, [(option, name) for _, option, name in routes])
        _axes(ax, plane)
        _key(ax, label(target, 24), plane.decoded, single)
        headline(ax, title, about)


def _arrow(ax: Any, start: np.ndarray, end: np.ndarray, single: bool) -> None:
    """From where somebody is to an option; that of a single person ends at the option's name."""
    arrow = {"arrowstyle": "-|>", "color": COLOURS["black"], "shrinkA": 0, "lw": 1.3 if single else 0.7}
    ax.annotate("", tuple(end), tuple(start), arrowprops={**arrow, "shrinkB": 6.5 if single else 0}, zorder=5)


def _names(ax: Any, plane: Plane, options: Sequence[tuple[int, str]]) -> None:
    """The names of options at their places; those of options that are close together share one label."""
    span = plane.grid[:, -1] - plane.grid[:, 0]
    labels: list[tuple[np.ndarray, list[str]]] = []
    for option, name in options:
        place = plane.options[option]
        near = [names for at, names in labels if (np.abs(at - place) / span).max() < _CLOSE]
        near[0].append(name) if near else labels.append((place, [name]))
    look = {"color": "white", "fontsize": 7.5, "fontweight": "bold", "ha": "center", "va": "center", "zorder": 8}
    box = {"boxstyle": "round,pad=0.35,rounding_size=0.9", "facecolor": COLOURS["black"], "edgecolor": "white"}
    for place, names in labels:
        ax.annotate(", ".join(names), tuple(place), **look, bbox=box)


def _axes(ax: Any, plane: Plane) -> None:
    for axis, name, side in zip((ax.xaxis, ax.yaxis), plane.axes, plane.grid, strict=True):
        axis.set_label_text(name, color=FAINT)
        axis.axes.set(**{f"{axis.axis_name}lim": (side[0], side[-1])})
    ax.tick_params(colors=FAINT, labelsize=8)


def _key(ax: Any, target: str, decoded: bool, single: bool) -> None:
    regions = (f"decoded: {target}", "decoded: not") if decoded else (f"nearby: mostly {target}", "nearby: mostly not")
    entries = [
        mark(f"real person: {target}", marker="o", ms=5, color=COLOURS["blue"]),
        mark("real person: not", marker="x", ms=5, mew=1, color=COLOURS["vermilion"]),
        *(
            mark(name, marker="s", ms=9, color=shade, mec=FAINT, mew=0.6)
            for name, shade in zip(regions, (_SHADES[-1], _SHADES[0]), strict=True)
        ),
    ]
    if single:
        entries += [
            mark("the person now", marker="*", ms=10, color=COLOURS["yellow"], mec=COLOURS["black"], mew=0.9),
            mark("options", marker="o", ms=8, color=COLOURS["black"]),
        ]
    legend_below(ax, entries, "upper left", 3, 38)
