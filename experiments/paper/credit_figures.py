"""The figures of the credit data sets: faithfulness (Figures 3 and 4) and difficulty (Figures 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.core.drawing import COLOURS, panels
from attain.population.population import QUANTILES
from experiments.paper.credit import BEFORE, Results
from experiments.paper.measures import REAL, Line, averaged
from experiments.paper.settings import (
    AR,
    AR_LOCAL,
    AR_TOTAL,
    CCHVAE,
    CCHVAE_FIRST,
    CCHVAE_FROZEN,
    CCHVAE_HALF,
    GS,
    GS_DENSE,
    GUARDED,
    HCLS,
    HCLS_LEAST,
    HCLS_LEAST_FREE,
    HCLS_LEAST_PRINTED,
    HCLS_PRINTED,
    NEIGHBOURS,
    RELEASED,
)

STYLES: Final = {
    AR: ("blue", "-", "o"),
    AR_TOTAL: ("blue", "--", "o"),
    AR_LOCAL: ("blue", ":", "o"),
    GS: ("orange", "-", "s"),
    GS_DENSE: ("orange", "--", "s"),
    HCLS: ("green", "-", "^"),
    HCLS_PRINTED: ("green", ":", "v"),
    HCLS_LEAST: ("sky", "-", "^"),
    HCLS_LEAST_PRINTED: ("sky", ":", "v"),
    HCLS_LEAST_FREE: ("sky", "--", "<"),
    CCHVAE: ("vermilion", "-", "D"),
    CCHVAE_HALF: ("black", "-.", "D"),
    CCHVAE_FIRST: ("black", ":", "D"),
    CCHVAE_FROZEN: ("vermilion", "--", "D"),
    RELEASED: ("vermilion", ":", "d"),
    GUARDED: ("purple", "-", "P"),
    REAL: ("black", "--", ""),
    BEFORE: ("grey", "--", ""),
}
"""Colour, line and mark of each curve, the same in every figure."""
DRAWN: Final = (AR, GS, HCLS, CCHVAE, GUARDED)
"""The lines of the paper's figures, and the one that it could not draw."""
SCATTERED: Final = (AR, CCHVAE, GS, HCLS)
"""The panels of the paper's scatter plots, in its order."""

_DENSE: Final = 60
_SMALL: Final = 0.15
"""A cloud of answers that is smaller than this share of the axis is enlarged beside it."""


def dense_epsilons(seeds: Sequence[Results]) -> np.ndarray:
    """ε from 0 to the end of the absolute grid, close enough for a curve, with that grid among them."""
    grid = seeds[0].study.epsilons
    return np.unique(np.concatenate((np.linspace(0.0, grid[-1], _DENSE + 1).round(6), grid)))


def faithfulness(seeds: Sequence[Results], methods: Sequence[str] = DRAWN) -> tuple[Any, pd.DataFrame]:
    """Outliers over k and connectedness over ε, in the mean over seeds, with intervals over seeds and people."""
    figure, axes = panels(1, 2, width=9.6, height=4.6)
    dense, numbers = dense_epsilons(seeds), []
    curves = {method: [results.line(method) for results in seeds] for method in methods}
    curves |= {name: [results.beside(name) for results in seeds] for name in (REAL, BEFORE)}
    for method, lines in curves.items():
        colour, dash, mark = STYLES[method]
        style = {"color": COLOURS[colour], "ls": dash, "lw": 1.2 if mark == "" else 1.6}
        for axis, values, places, marks, panel in (
            (axes[0, 0], [line.outliers() for line in lines], NEIGHBOURS, mark, "outliers over k"),
            (axes[0, 1], [line.connected(dense) for line in lines], dense, "", "connected over epsilon"),
        ):
            share = averaged(values)
            axis.plot(list(places), 100 * share.mean, marker=marks, ms=4, label=method, **style)
            axis.fill_between(list(places), 100 * share.low, 100 * share.high, color=style["color"], alpha=0.12, lw=0)
            numbers.append(_numbers(panel, method, places, share, values))
        relative = [line.connected_relative() for line in lines]
        numbers.append(
            _numbers("connected at quantiles of real people", method, QUANTILES, averaged(relative), relative)
        )
    axes[0, 0].set(
        title="(a) Local outlier factor score", xlabel="k, neighbours", ylabel="% of answers that are outliers"
    )
    axes[0, 1].set(title="(b) Connectedness score", xlabel="ε, standard deviations", ylabel="% of answers connected")
    for quantile in QUANTILES:
        epsilon = float(np.mean([results.beside(REAL).epsilon[quantile] for results in seeds]))
        axes[0, 1].axvline(epsilon, color=COLOURS["grey"], lw=0.7, ls=":")
        if quantile in (QUANTILES[0], QUANTILES[-1]):
            axes[0, 1].text(epsilon, 101.5, f"ε{str(quantile)[1:]}", fontsize=7, ha="center", color=COLOURS["grey"])
    for axis in axes[0]:
        axis.set_ylim(-3, 106)
    figure.suptitle(seeds[0].study.title, fontsize=10)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure, pd.concat(numbers, ignore_index=True)


def _numbers(panel: str, method: str, places: Any, share: Any, values: Sequence[np.ndarray]) -> pd.DataFrame:
    parts = {"panel": panel, "method": method, "at": list(places), "people answered": sum(map(len, values))}
    return pd.DataFrame({**parts, "share": share.mean, "low": share.low, "high": share.high})


def difficulty(seeds: Sequence[Results], methods: Sequence[str] = SCATTERED) -> tuple[Any, pd.DataFrame]:
    """Total against maximum shift of every answer of the first seed, one panel a method, on the same axes."""
    figure, axes = panels(-(-len(methods) // 2), 2, width=7.2, height=3.2 * -(-len(methods) // 2))
    lines: list[Line] = [seeds[0].line(method) for method in methods]
    widest = max((float(np.nanmax(line.total_shift, initial=0.0)) for line in lines), default=1.0) or 1.0
    numbers = []
    for letter, axis, line in zip("abcdefghijklm", axes.ravel(), lines, strict=False):
        total, largest = line.total_shift[line.found], line.max_shift[line.found]
        axis.plot(total, largest, ".", ms=5, alpha=0.45, color=COLOURS[STYLES[line.method][0]])
        if len(total):
            axis.plot(total.mean(), largest.mean(), "+", ms=13, mew=2, color=COLOURS["black"])
            mean = f"mean TS {total.mean():.2f}, MS {largest.mean():.2f} ({len(total)} people)"
        else:
            mean = "no answers"
        axis.set_title(f"({letter}) {line.method}\n{mean}", fontsize=9)
        axis.set(xlabel="total shift TS", ylabel="maximum shift MS")
        axis.set_xlim(-0.03 * widest, 1.05 * widest)
        axis.set_ylim(-0.03, 1.05)
        if len(total) and total.max() < _SMALL * widest:
            _enlarged(axis, line)
        numbers.append(pd.DataFrame({"method": line.method, "total_shift": total, "max_shift": largest}))
    for axis in axes.ravel()[len(lines) :]:
        axis.set_axis_off()
    figure.suptitle(seeds[0].study.title, fontsize=10)
    return figure, pd.concat(numbers, ignore_index=True)


def _enlarged(axis: Any, line: Line) -> None:
    """The same points on axes of their own, in the empty part of the panel."""
    inset = axis.inset_axes((0.36, 0.3, 0.6, 0.62))
    total, largest = line.total_shift[line.found], line.max_shift[line.found]
    inset.plot(total, largest, ".", ms=5, alpha=0.45, color=COLOURS[STYLES[line.method][0]])
    inset.set_title("enlarged", fontsize=8)
    inset.tick_params(labelsize=7)
    inset.locator_params(nbins=4)
