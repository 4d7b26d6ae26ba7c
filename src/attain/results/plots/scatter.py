"""Answers as points: total against largest shift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attain.core.drawing import COLOURS, headline, legend_below, mark, style


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
