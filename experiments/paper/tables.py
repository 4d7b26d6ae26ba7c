"""The tables of the paper, and the table of results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.schema import Feature
from experiments.paper.credit import BEFORE, COMMON, OWN, Results
from experiments.paper.measures import REAL, Line, averaged
from experiments.paper.person import changes
from experiments.paper.settings import AR, CCHVAE, GS, HCLS, HCLS_PRINTED, LINEAR

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
    every = changes(results, position, (CCHVAE, GS, AR))
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
    methods = results.study.methods
    titles = {HCLS: "direction (HCLS)", HCLS_PRINTED: "direction as printed"}
    rows = []
    for feature in results.credit.schema:
        row = {
            "feature": feature.name,
            "free": "N" if feature.immutable else "Y",
            "model": _LIKELIHOODS[feature.kind],
        }
        for name in (name for name in titles if name in methods):
            row[titles[name]] = _direction(feature, methods[name].directions)
        rows.append(row)
    return pd.DataFrame(rows)


def _direction(feature: Feature, given: Any) -> str:
    if feature.immutable:
        return ""
    return _ARROWS.get(given.get(feature.name, feature.direction), "any")


_FIGURES: Final[dict[str, tuple[bool, Callable[[Line], np.ndarray]]]] = {
    "outliers k=20": (False, lambda line: line.outliers(20)),
    "connected ε.9": (False, lambda line: line.connected_relative((0.9,))),
    "TS": (False, lambda line: line.shifts("total_shift")),
    "MS": (False, lambda line: line.shifts("max_shift")),
    "changed": (False, lambda line: line.shifts("changed")),
    "outliers k=20, raw": (True, lambda line: line.outliers(20)),
    "connected ε.9, raw": (True, lambda line: line.connected_relative((0.9,))),
}
"""Each figure of a line: whether distances are raw, and its values (n, 1) over the people answered."""
_OF_ANSWERS: Final = ("TS", "MS", "changed")
"""Figures that people who are no answers do not have."""


def summary(seeds: Sequence[Results]) -> pd.DataFrame:
    """Every line in one table, for both choices of people: means over seeds and people, with 95 % intervals."""
    rows = []
    for cohort in (OWN, COMMON):
        for method, given in seeds[0].study.methods.items():
            lines = {raw: [results.line(method, cohort, raw=raw) for results in seeds] for raw in (False, True)}
            row = {"people": cohort, "method": method, "judged by": given.judge, **_counts(lines[False])}
            for name, (raw, values) in _FIGURES.items():
                row |= _with_interval(name, [values(line) for line in lines[raw]])
            row["reconstructions"] = _reconstructions(seeds, method) if cohort == OWN else np.nan
            spread, correlation = _likeness(lines[False]) if cohort == OWN else (np.nan, np.nan)
            rows.append({**row, "spread": spread, "correlation": correlation})
    for name in (REAL, BEFORE):
        beside = [results.beside(name) for results in seeds]
        row = {"people": OWN, "method": name, "judged by": LINEAR, **_counts(beside)}
        for figure, (raw, values) in _FIGURES.items():
            if not raw and figure not in _OF_ANSWERS:
                row |= _with_interval(figure, [values(line) for line in beside])
        rows.append(row)
    return pd.DataFrame(rows)


def _counts(lines: Sequence[Line]) -> dict[str, Any]:
    return {"asked": sum(len(line.people) for line in lines), "answered": sum(int(line.found.sum()) for line in lines)}


def _with_interval(name: str, values: Sequence[np.ndarray]) -> dict[str, float]:
    share = averaged(values)
    return {name: share.mean[0], f"{name} low": share.low[0], f"{name} high": share.high[0]}


def _reconstructions(seeds: Sequence[Results], method: str) -> float:
    """The share of the answers that are the plain reconstruction, r = 0; NaN for methods without one."""
    moved = np.concatenate([results.moved(method) for results in seeds])
    moved = moved[~np.isnan(moved)]
    return float((moved == 0).mean()) if len(moved) else np.nan


def _likeness(lines: Sequence[Line]) -> tuple[float, float]:
    figures = np.array([line.likeness for line in lines])
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # NaN where nobody has an answer
        spread, correlation = np.nanmean(figures, axis=0)
    return float(spread), float(correlation)


def shown(summary: pd.DataFrame) -> pd.DataFrame:
    """The same as text for reading: shares in percent, each with its interval."""
    columns: dict[str, Any] = {name: summary[name] for name in ("people", "method", "judged by", "asked", "answered")}
    for name in _FIGURES:
        percent = 1 if name in _OF_ANSWERS else 100
        ends = (percent * summary[[name, f"{name} low", f"{name} high"]]).to_numpy()
        columns[name] = [_interval(row, percent == 100) for row in ends]
    columns["reconstructions"] = ["" if np.isnan(value) else f"{value:.0%}" for value in summary["reconstructions"]]
    return pd.DataFrame({**columns, **{name: summary[name] for name in ("spread", "correlation")}})


def _interval(ends: np.ndarray, percent: bool) -> str:
    middle, low, high = ends
    if np.isnan(middle):
        return ""
    places = ".0f" if percent else ".2f"
    between = "" if np.isnan(low) else f" ({low:{places}}–{high:{places}})"
    return f"{middle:{places}}{' %' if percent else ''}{between}"


def as_text(frame: pd.DataFrame) -> list[list[str]]:
    """The cells of a frame as they are shown: shares and figures to two decimals, nothing where there is none."""
    return [[_cell(value) for value in row] for row in frame.itertuples(index=False)]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        if np.isnan(value):
            return ""
        return f"{value:.0f}" if value.is_integer() and abs(value) >= 2 else f"{value:.2f}"
    return str(value)
