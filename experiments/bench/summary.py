"""The averages of a benchmark: one line for each data set, classifier and method, over the rows of all seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.metrics.comparison import OK, flattened
from attain.metrics.evaluation import summarised as averaged
from attain.metrics.measures import MEASURES as CATALOGUE
from experiments.bench.cases import MEASURES
from experiments.bench.runs import BROKEN

_RUN: Final = ["dataset", "classifier", "method"]
_MEASURES: Final = {**MEASURES, "rows_scored": CATALOGUE["rows_scored"]}


def summarised(rows: pd.DataFrame) -> pd.DataFrame:
    """The averages of what `run` gave, with 95 % intervals over rows: Wilson's for shares, else by bootstrap.

    Columns: `dataset`, `classifier`, `method`; `status` (`ok` if at least one seed is) and `reason`; `seeds` and `n`,
    the number of rows, that are ok; `accuracy` of the classifier; `broken`, the number of answers that break a rule;
    each measure over the rows with a valid answer, and `_charged` over all rows, where one
    without a valid answer enters with the worst case; each with `_low` and `_high`; `_real`, the same measure of real
    people; `cpu_seconds` per row, and `fit_seconds` per seed. `found_charged` is the share of rows with a valid answer.
    """
    lines = [
        dict(zip(_RUN, names, strict=True)) | _averages(part)
        for names, part in rows.groupby(_RUN, sort=False, observed=True)
    ]
    return pd.DataFrame(lines)


def _averages(part: pd.DataFrame) -> dict[str, Any]:
    fine = part[part["status"] == OK]
    others = part[part["status"] != OK].drop_duplicates("seed")
    ended = others[["seed", "status", "reason"]].to_dict("records")
    reasons = [str(run["reason"]) if fine.empty else f"seed {run['seed']}: {run['status']}" for run in ended]
    line: dict[str, Any] = {
        "status": OK if len(fine) else others["status"].iloc[0],
        "reason": "; ".join(dict.fromkeys(reason for reason in reasons if reason)),
        "seeds": fine["seed"].nunique(),
        "n": len(fine) if len(fine) else int(part["row"].notna().sum()),
    }
    if not len(fine):
        return line
    # where no law was found, missing answers are not charged either
    measures = {
        name: replace(measure, worst=None) if measure.optional and fine[f"{name}_real"].isna().all() else measure
        for name, measure in _MEASURES.items()
    }
    columns = {name: fine[name].to_numpy(dtype=np.float64) for name in measures}
    summary = averaged(
        columns,
        measures,
        fine["found"].to_numpy(dtype=np.bool_),
        int(fine["free_features"].iloc[0]),
    )
    first = fine.drop_duplicates("seed")
    return (
        line
        | flattened(summary)
        | {f"{name}_real": first[f"{name}_real"].mean() for name, measure in MEASURES.items() if measure.real}
        | {
            "accuracy": first["accuracy"].mean(),
            "broken": int((fine["verdict"] == BROKEN).sum()),
            "cpu_seconds": fine["cpu_seconds"].mean(),
            "fit_seconds": first["fit_seconds"].mean(),
        }
    )
