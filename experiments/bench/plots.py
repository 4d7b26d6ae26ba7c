"""The benchmark in figures: how like real rows answers are against how much they ask for, and CPU time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.core.drawing import COLOURS, panels, save
from attain.metrics.comparison import INLIERS, OK, TRADE_OFF, trade_off
from experiments.bench.methods import METHODS, OUTSIDE

_ACROSS: Final = 3
SPEED: Final = "speed"
"""The name of the figure of CPU times."""


def draw(summary: pd.DataFrame, folder: Path) -> dict[str, str]:
    """Writes every figure into the folder; returns the caption of each by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    measured = summary[summary["status"] == OK]
    drawn = {}
    for dataset, part in measured.groupby("dataset", sort=False, observed=True):
        by_classifier = part.groupby("classifier", sort=False, observed=True)
        parts = [(str(name), lines.to_dict("records"), INLIERS) for name, lines in by_classifier]
        save(trade_off(parts, (*METHODS, *OUTSIDE)), folder, trade_off_name(str(dataset)))
        drawn[trade_off_name(str(dataset))] = f"{dataset}. {TRADE_OFF}"
    if len(measured):
        save(_speed(measured), folder, SPEED)
        drawn[SPEED] = (
            "CPU time per row, on a logarithmic scale: the bar is the median over classifiers, the line reaches from "
            "the fastest to the slowest. Fitting and training are not counted."
        )
    return drawn


def trade_off_name(dataset: str) -> str:
    """The name of a data set's figure."""
    return f"{''.join(letter if letter.isalnum() else '-' for letter in dataset.lower())}-trade-off"


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
        axis.set_xlabel("CPU ms per row")
    for axis in axes.ravel()[len(datasets) :]:
        axis.axis("off")
    return figure
