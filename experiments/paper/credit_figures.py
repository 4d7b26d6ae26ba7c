"""The figures of the credit data sets: faithfulness (Figures 3 and 4) and difficulty (Figures 5 and 6)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from attain.core.drawing import COLOURS, panels
from attain.population.reference import QUANTILES
from experiments.paper.credit import BEFORE, COMMON, LINEAR, OWN, REAL, Results
from experiments.paper.measures import Line, averaged
from experiments.paper.settings import CCHVAE, CORRECTED, NEIGHBOURS, PRINTED, RELEASED, TITLES

STYLES: Final = {
    "AR": ("blue", "-", "o"),
    "GS": ("orange", "-", "s"),
    CORRECTED: ("green", "-", "^"),
    PRINTED: ("green", ":", "v"),
    CCHVAE: ("vermilion", "-", "D"),
    RELEASED: ("vermilion", ":", "d"),
    REAL: ("black", "--", ""),
    BEFORE: ("grey", "--", ""),
}
"""Colour, line and mark of each curve, the same in every figure."""

_DENSE: Final = 60
PEOPLE: Final = {OWN: "rows that the method's own classifier refuses", COMMON: "rows that both classifiers refuse"}


def _curves(results: Results, cohort: str) -> list[Line]:
    beside = [results.beside(name, LINEAR, cohort) for name in (REAL, BEFORE)]
    return [results.line(method, cohort) for method in results.credit.judges] + beside


def dense_epsilons(results: Results) -> np.ndarray:
    """ε from 0 to the end of the absolute grid, close enough for a curve, with that grid among them."""
    grid = results.study.epsilons
    return np.unique(np.concatenate((np.linspace(0.0, grid[-1], _DENSE + 1).round(6), grid)))


def faithfulness(results: Results, cohort: str) -> tuple[Any, pd.DataFrame]:
    """Outliers over k, and connectedness over ε, absolute and at the quantiles of real people; with intervals."""
    figure, axes = panels(1, 3, width=11.0, height=4.3)
    settings, numbers = results.credit.settings, []
    dense = dense_epsilons(results)
    for line in _curves(results, cohort):
        for axis, values, places, panel in (
            (axes[0, 0], line.outliers(), NEIGHBOURS, "outliers over k"),
            (axes[0, 1], line.connected(dense), dense, "connected over epsilon"),
            (axes[0, 2], line.connected_relative(), range(len(QUANTILES)), "connected at quantiles of real people"),
        ):
            share = averaged(values, settings.draws, settings.seed)
            colour, dash, mark = STYLES[line.method]
            style = {"color": COLOURS[colour], "ls": dash, "lw": 1.2 if mark == "" else 1.6}
            marks = mark if axis is not axes[0, 1] else ""
            axis.plot(list(places), 100 * share.mean, marker=marks, ms=4, label=line.method, **style)
            axis.fill_between(list(places), 100 * share.low, 100 * share.high, color=style["color"], alpha=0.12, lw=0)
            at = QUANTILES if panel.endswith("people") else places
            parts = {"panel": panel, "method": line.method, "at": list(at), "people answered": len(values)}
            numbers.append(pd.DataFrame({**parts, "share": share.mean, "low": share.low, "high": share.high}))
    axes[0, 0].set(title="Local outliers", xlabel="k, neighbours of the local outlier factor", ylabel="% of answers")
    axes[0, 1].set(title="Connected, absolute ε", xlabel="ε, standard deviations", ylabel="% of answers")
    axes[0, 2].set(title="Connected, ε of real people", ylabel="% of answers")
    axes[0, 2].set_xticks(range(len(QUANTILES)), [f"ε{str(quantile)[1:]}" for quantile in QUANTILES])
    for quantile in QUANTILES:
        axes[0, 1].axvline(results.epsilon(quantile), color=COLOURS["grey"], lw=0.7, ls=":")
    for axis in axes[0]:
        axis.set_ylim(-3, 103)
    figure.suptitle(f"{TITLES[results.study.name]}: {PEOPLE[cohort]}", fontsize=10)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure, pd.concat(numbers, ignore_index=True)


def difficulty(results: Results, cohort: str) -> tuple[Any, pd.DataFrame]:
    """Total against maximum shift of every answer, one panel a method, on the same axes."""
    methods = list(results.credit.judges)
    columns = 3 if len(methods) > 4 else 2
    figure, axes = panels(-(-len(methods) // columns), columns, width=3.4 * columns, height=6.6)
    lines = [results.line(method, cohort) for method in methods]
    widest = max((float(np.nanmax(line.total_shift, initial=0.0)) for line in lines), default=1.0)
    numbers = []
    for axis, line in zip(axes.ravel(), lines, strict=False):
        total, largest = line.total_shift[line.found], line.max_shift[line.found]
        axis.plot(total, largest, ".", ms=4, alpha=0.45, color=COLOURS[STYLES[line.method][0]])
        if len(total):
            axis.plot(total.mean(), largest.mean(), "+", ms=13, mew=2, color=COLOURS["black"])
            mean = f"\nmean TS {total.mean():.2f}, MS {largest.mean():.2f} ({len(total)} people)"
        else:
            mean = "\nno answers"
        axis.set_title(line.method + mean, fontsize=9)
        axis.set(xlabel="total shift TS", ylabel="maximum shift MS")
        axis.set_xlim(-0.03 * widest, 1.05 * widest)
        axis.set_ylim(-0.03, 1.05)
        numbers.append(pd.DataFrame({"method": line.method, "total_shift": total, "max_shift": largest}))
    for axis in axes.ravel()[len(lines) :]:
        axis.set_axis_off()
    figure.suptitle(f"{TITLES[results.study.name]}: {PEOPLE[cohort]}", fontsize=10)
    return figure, pd.concat(numbers, ignore_index=True)
