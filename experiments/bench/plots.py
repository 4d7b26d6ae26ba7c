"""The bench in pictures: how like real people answers are against how much they ask for, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.bench.cells import OK
from experiments.bench.methods import METHODS, OUTSIDE
from experiments.drawing import COLOURS, panels, save

_MARKERS: Final = "osD^vP*Xp<>h"
_HUES: Final = [COLOURS[name] for name in ("vermilion", "blue", "green", "purple", "orange", "sky", "black", "grey")]
_ACROSS: Final = 3
SPEED: Final = "speed"
"""The name of the picture of what methods cost."""


def draw(summary: pd.DataFrame, folder: Path) -> list[tuple[str, str]]:
    """Writes every picture into the folder; gives the name of each and what it shows in words."""
    folder.mkdir(parents=True, exist_ok=True)
    measured = summary[summary["status"] == OK]
    drawn = []
    for dataset, part in measured.groupby("dataset", sort=False, observed=True):
        name = trade_off(str(dataset))
        save(_trade_off(part), folder, name)
        drawn.append(
            (
                name,
                f"{dataset}: how many answers look like real people (inliers with 20 neighbours) against the total "
                "shift they ask for; up and to the left is better. Both are charged: people without a valid answer "
                "count. Bars are 95 % intervals over people.",
            )
        )
    if len(measured):
        save(_speed(measured), folder, SPEED)
        drawn.append(
            (
                SPEED,
                "CPU time per person, on a logarithmic scale: the bar is the median over classifiers, the line reaches "
                "from the fastest to the slowest. Fitting and training are not counted.",
            )
        )
    return drawn


def trade_off(dataset: str) -> str:
    """The name of a data set's picture."""
    return f"{''.join(letter if letter.isalnum() else '-' for letter in dataset.lower())}-trade-off"


def _trade_off(part: pd.DataFrame) -> Any:
    classifiers = list(dict.fromkeys(part["classifier"]))
    looks = _looks(list(dict.fromkeys(part["method"])))
    cells = len(classifiers) + 1  # one for the legend
    down = -(-cells // _ACROSS)
    across = min(cells, _ACROSS)
    figure, axes = panels(down, across, width=3.3 * across, height=2.9 * down)
    places = axes.ravel()
    for axis, classifier in zip(places, classifiers, strict=False):
        for cell in part[part["classifier"] == classifier].to_dict("records"):
            (x, x_bars), (y, y_bars) = _point(cell, "total_shift_charged"), _point(cell, "inlier_20_charged")
            colour, marker = looks[cell["method"]]
            axis.errorbar(x, y, xerr=x_bars, yerr=y_bars, color=colour, linewidth=0.8, alpha=0.5)
            axis.plot(x, y, color=colour, marker=marker, markersize=6)
        axis.set_title(classifier, fontsize=10)
        axis.set_xlabel("total shift, charged")
        axis.set_ylabel("inliers, charged")
        axis.set_ylim(-0.03, 1.03)
        axis.set_xlim(left=0)
    for axis in places[len(classifiers) :]:
        axis.axis("off")
    for method, (colour, marker) in looks.items():
        places[len(classifiers)].plot([], [], color=colour, marker=marker, linestyle="none", label=method)
    places[len(classifiers)].legend(loc="center left", frameon=False, fontsize=8)
    return figure


def _speed(measured: pd.DataFrame) -> Any:
    datasets, methods = (list(dict.fromkeys(measured[name])) for name in ("dataset", "method"))
    milliseconds = 1000 * measured["cpu_seconds"]
    decades = np.arange(math.floor(math.log10(milliseconds.min())), math.ceil(math.log10(milliseconds.max())) + 1)
    across = min(len(datasets), _ACROSS)
    down = -(-len(datasets) // across)
    figure, axes = panels(down, across, width=1.8 + 2.4 * across, height=(0.8 + 0.2 * len(methods)) * down)
    for position, (axis, dataset) in enumerate(zip(axes.ravel(), datasets, strict=False)):
        for place, method in enumerate(methods):
            times = milliseconds[(measured["dataset"] == dataset) & (measured["method"] == method)].to_numpy()
            if len(times):
                axis.barh(place, np.median(times), color=COLOURS["sky"], height=0.7)
                axis.plot([times.min(), times.max()], [place, place], color=COLOURS["black"], linewidth=1.0)
        axis.set_xscale("log")
        axis.set_xlim(10.0 ** decades[0], 10.0 ** decades[-1])
        axis.set_xticks(10.0**decades, [f"{10.0**decade:g}" for decade in decades])
        axis.set_yticks(range(len(methods)), methods if position % across == 0 else [""] * len(methods))
        axis.set_ylim(len(methods) - 0.4, -0.6)
        axis.grid(visible=False, axis="y")
        axis.set_title(dataset, fontsize=10)
        axis.set_xlabel("CPU ms per person")
    for axis in axes.ravel()[len(datasets) :]:
        axis.axis("off")
    return figure


def _looks(methods: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each method, the same in every picture."""
    order = list(dict.fromkeys((*METHODS, *OUTSIDE, *methods)))
    return {
        name: (_HUES[order.index(name) % len(_HUES)], _MARKERS[order.index(name) % len(_MARKERS)]) for name in methods
    }


def _point(cell: dict[Any, Any], name: str) -> tuple[float, list[list[float]] | None]:
    value, low, high = (float(cell[column]) for column in (name, f"{name}_low", f"{name}_high"))
    return value, None if np.isnan(low) else [[max(value - low, 0.0)], [max(high - value, 0.0)]]
