"""Answers as points: total against largest shift, and curves over a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attain.core.drawing import COLOURS, FAINT, LOOKS, headline, legend_below, mark, spread, style


class Kind(NamedTuple):
    """Answers of one kind: its name, which they are (m,), and their colour and marker."""

    name: str
    members: np.ndarray
    colour: str
    marker: str


def shift_scatter(ax: Any, title: str, total: np.ndarray, largest: np.ndarray, kinds: Sequence[Kind]) -> None:
    """The total against the largest shift of each answer (m,), in percentile points."""
    with style():
        widest = max(float(total.max(initial=0.0)), 1.0)
        side = min(widest, 100.0)
        entries = []
        for name, own, colour, marker in kinds:
            if own.any():
                look = {"color": colour, "marker": marker, "ms": 5, "mew": 0}
                ax.plot(total[own], largest[own], ls="", alpha=0.75, **look)
                entries.append(mark(f"{name} ({int(own.sum())})", **look))
        about = "no answers"
        if len(total):
            mean = (float(total.mean()), float(largest.mean()))
            ax.plot(*mean, "+", ms=14, mew=2.2, color=COLOURS["black"], zorder=5)
            entries.append(mark("mean", marker="+", ms=9, mew=2, color=COLOURS["black"]))
            about = f"{len(total)} answers; mean total shift {mean[0]:.0f}, largest {mean[1]:.0f} percentile points"
        for share, text, line in ((1.0, "one change", "--"), (0.5, "two equal changes", ":")):
            end, look = min(side / share, widest), {"color": COLOURS["grey"], "lw": 1.1, "ls": line}
            ax.plot([0, end], [0, end * share], zorder=1, **look)
            entries.append(mark(text, **look))
        legend_below(ax, entries, "upper left", 3, 38)
        headline(ax, title, about)
        ax.set(xlabel="total shift, percentile points (TS)", ylabel="largest shift, percentile points (MS)")
        ax.set_xlim(-0.03 * widest, 1.1 * widest)
        ax.set_ylim(-0.03 * side, 1.1 * side)


class Curve(NamedTuple):
    """A share between 0 and 1 at each place (p,), with the ends of its interval where it has one, and a name."""

    name: str
    share: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


def share_curves(
    ax: Any, title: str, about: str, places: np.ndarray, curves: Sequence[Curve], marks: Mapping[str, float], axis: str
) -> None:
    """Curves over places (p,), each with its name at its end; `marks` are places with a vertical line and a name."""
    with style():
        top = max([5.0, *(100 * float(np.nanmax(c.share if c.high is None else c.high, initial=0.0)) for c in curves)])
        apart = 0.09 * top
        for name, place in marks.items():
            ax.axvline(place, color=COLOURS["grey"], lw=0.8, ls=":", zorder=1)
            ax.annotate(
                name, (place, 0), (2, 2), xycoords=("data", "axes fraction"), textcoords="offset points",
                fontsize=7.5, color=FAINT,
            )  # fmt: skip
        for curve, (colour, _, line) in zip(curves, LOOKS, strict=False):
            ax.plot(places, 100 * curve.share, color=colour, ls=line, label=curve.name, zorder=3)
            if curve.low is not None and curve.high is not None:
                ax.fill_between(places, 100 * curve.low, 100 * curve.high, color=colour, alpha=0.13, lw=0, zorder=2)
        ends = spread([100 * float(curve.share[-1]) for curve in curves], apart, 0, top)
        for curve, end, (colour, *_) in zip(curves, ends, LOOKS, strict=False):
            ax.annotate(
                curve.name, (1, end), (5, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                color=colour, fontsize=8, va="center", linespacing=1.2, annotation_clip=False,
            )  # fmt: skip
        headline(ax, title, about)
        ax.set(xlabel=axis, ylabel="%")
        ax.set_xlim(places[0], places[-1])
        ax.set_ylim(-0.03 * top, 1.05 * top)
