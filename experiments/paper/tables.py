"""The tables of the paper, and the table of results, as frames and as drawings."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.schema import Feature
from experiments.drawing import COLOURS, panels
from experiments.paper.credit import BEFORE, COMMON, LINEAR, MACHINE, OWN, REAL, Results
from experiments.paper.measures import Line, averaged
from experiments.paper.person import changes
from experiments.paper.settings import CCHVAE, CORRECTED

_SHOWN: Final = 5
_ARROWS: Final = {"increase": "↑", "decrease": "↓"}
_LIKELIHOODS: Final = {
    "count": "Poisson",
    "positive": "log Normal",
    "real": "Normal",
    "interval": "interval",
    "ordinal": "ordinal",
    "categorical": "categorical",
}


def real_people(results: Results, position: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Table 1 from real answers: the largest changes that are shown, and all of them."""
    every = changes(results, position, (CCHVAE, "GS", "AR"))
    some = every.groupby("method", sort=False).head(_SHOWN).reset_index(drop=True)
    # what holds for a whole answer stands in its first line only, as in the paper
    again = some["method"].duplicated()
    once = ["method", "id", "total shift", "local outlier", "connected"]
    return some.assign(**{name: some[name].astype(str).mask(again, "") for name in once}), every


def related_work() -> pd.DataFrame:
    """Table 2 as the paper prints it, with what the methods of this package take beside it."""
    rows = (
        ("AR", "no", "no", "linear models", "no", "any; exact for linear ones", "yes"),
        ("HCLS", "no", "no", "SVM", "no", "scores with a slope; HillClimbingLocalSearch: any", "yes"),
        ("GS", "no", "yes", "all", "no", "any", "yes"),
        ("FT", "no", "no", "trees", "no", "trees and ensembles of them", "yes"),
        (CCHVAE, "yes", "yes", "all", "yes", "any", "yes"),
    )
    names = ("method", "train", "classifier agnostic", "classifier", "tabular data", "classifier here", "tabular here")
    return pd.DataFrame(rows, columns=list(names))


def features(results: Results) -> pd.DataFrame:
    """Tables 3 and 4: which features are free, their likelihoods, and the directions of HCLS."""
    study, schema = results.study, results.credit.data.schema
    directions = {CORRECTED: study.hcls[CORRECTED], **{name: study.hcls[name] for name in study.hcls}}
    rows = []
    for feature in schema:
        row = {
            "feature": feature.name,
            "free": "N" if feature.immutable else "Y",
            "model": _LIKELIHOODS[feature.kind],
        }
        for name, given in directions.items():
            title = "direction (HCLS)" if name == CORRECTED else "direction as printed"
            row[title] = _direction(feature, given, study.indirect)
        rows.append(row)
    return pd.DataFrame(rows)


def _direction(feature: Feature, given: Any, indirect: tuple[str, ...]) -> str:
    if feature.immutable:
        return ""
    if feature.name in indirect:
        return "indirect"
    return _ARROWS.get(given.get(feature.name, feature.direction), "any")


def summary(results: Results) -> pd.DataFrame:
    """Every line in one table, for both choices of people, with the two averages."""
    rows = []
    for cohort in (OWN, COMMON):
        for method, judge in results.credit.judges.items():
            line = results.line(method, cohort)
            spread, correlation = results.likeness(method, cohort)
            rows.append(
                {
                    "people": cohort,
                    "method": method,
                    "judged by": "SVM" if judge == MACHINE else "LR",
                    **_figures(line, len(results.credit.data.schema.free_columns), results.credit.settings.draws),
                    "spread": spread,
                    "correlation": correlation,
                }
            )
        for name in (REAL, BEFORE):
            line = results.beside(name, LINEAR, cohort)
            rows.append({"people": cohort, "method": name, "judged by": "LR", **_figures(line, 0, 0)})
    return pd.DataFrame(rows)


def _figures(line: Line, free: int, draws: int) -> dict[str, float]:
    """The figures of one line; those who have no answer are charged where there are methods to charge."""
    outliers, connected = line.outliers(20), line.connected((line.epsilon[0.9],))
    inliers = 1 - outliers
    told: dict[str, float] = {"asked": len(line.people), "answered": int(line.found.sum())}
    told["inliers k=20"] = _mean(inliers)
    told["connected ε.9"] = _mean(connected)
    if draws:
        share = averaged(inliers, draws, 0)
        told |= {"inliers low": float(share.low[0]), "inliers high": float(share.high[0])}
        told |= {name: _mean(getattr(line, key)[line.found]) for name, key in _SHIFTS.items()}
        told["TS charged"] = _mean(np.where(line.found, line.total_shift, free))
        told["inliers charged"] = float(inliers.sum() / len(line.people)) if len(line.people) else np.nan
        told["connected charged"] = float(connected.sum() / len(line.people)) if len(line.people) else np.nan
    return told


_SHIFTS: Final = {"TS": "total_shift", "MS": "max_shift", "changed": "changed"}


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else float("nan")


def as_text(frame: pd.DataFrame) -> list[list[str]]:
    """The cells of a frame as they are shown: shares and figures to two decimals, nothing where there is none."""
    return [[_cell(value) for value in row] for row in frame.itertuples(index=False)]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        if np.isnan(value):
            return ""
        return f"{value:.0f}" if value.is_integer() and abs(value) >= 2 else f"{value:.2f}"
    return str(value)


def drawn(frame: pd.DataFrame, *, title: str, widths: Sequence[int] | None = None) -> Any:
    """A table as a figure; `widths` are the most letters in a line of each column, by default 24."""
    limits = list(widths or [24] * frame.shape[1])
    cells = [
        [textwrap.fill(text, width) or "" for text, width in zip(row, limits, strict=True)] for row in as_text(frame)
    ]
    header = [textwrap.fill(str(name), width) for name, width in zip(frame.columns, limits, strict=True)]
    every = [header, *cells]
    across = [max(max(map(len, row[j].splitlines() or [""])) for row in every) + 2 for j in range(len(header))]
    down = [max(text.count("\n") + 1 for text in row) for row in every]
    width, height = 0.072 * sum(across) + 0.2, 0.19 * (sum(down) + 0.55 * len(down)) + 0.5
    figure, axes = panels(1, 1, width=max(width, 4.0), height=height)
    axis = axes[0, 0]
    axis.set_axis_off()
    axis.set_title(title, loc="left", fontsize=9.5)
    axis.set_xlim(0, sum(across))
    total = sum(down) + 0.55 * len(down)
    axis.set_ylim(total, 0)
    top = 0.0
    for number, (row, lines) in enumerate(zip(every, down, strict=True)):
        deep = lines + 0.55
        left = 0
        for text, column in zip(row, across, strict=True):
            axis.text(
                left + 0.5, top + deep / 2, text, va="center", fontsize=7.6, weight="bold" if not number else None
            )
            left += column
        top += deep
        axis.axhline(top, color=COLOURS["black"] if not number else "#dddddd", lw=0.9 if not number else 0.5)
    return figure
