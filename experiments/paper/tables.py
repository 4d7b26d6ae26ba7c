"""The tables of the paper, and the table of results."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from attain.schema import Feature
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
    figures: dict[str, float] = {"asked": len(line.people), "answered": int(line.found.sum())}
    figures["inliers k=20"] = _mean(inliers)
    figures["connected ε.9"] = _mean(connected)
    if draws:
        share = averaged(inliers, draws, 0)
        figures |= {"inliers low": float(share.low[0]), "inliers high": float(share.high[0])}
        figures |= {name: _mean(getattr(line, key)[line.found]) for name, key in _SHIFTS.items()}
        figures["TS charged"] = _mean(np.where(line.found, line.total_shift, free))
        figures["inliers charged"] = float(inliers.sum() / len(line.people)) if len(line.people) else np.nan
        figures["connected charged"] = float(connected.sum() / len(line.people)) if len(line.people) else np.nan
    return figures


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
