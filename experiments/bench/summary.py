"""The averages of a bench: one row for each data set, classifier and method, people of all seeds together."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from attain.metrics.intervals import answered_mean, mean_intervals, share_interval
from experiments.bench.cases import MEASURES, SHARES
from experiments.bench.cells import BROKEN, OK

CHARGED: Final = ("total_shift", "max_shift", *SHARES)
"""Measures with a worst case: a person without an answer must change everything, and is like nobody."""
_CELL: Final = ["dataset", "classifier", "method"]


def summarised(people: pd.DataFrame) -> pd.DataFrame:
    """The averages of what `run` gave, with 95 % intervals over people: Wilson's for shares, else by bootstrap.

    Columns: `dataset`, `classifier`, `method`; `status` (`ok` where at least one seed is) and `reason`; `seeds` and
    `people` that are ok; `accuracy` of the classifier; `success`, the share of people with an answer that counts;
    `rules_broken`, how many answers break one; each measure over the people with an answer that
    counts, and `_charged` over all, where a person without one counts as one who must change everything; each with
    `_low` and `_high`; `cpu_seconds` and `rows_scored` per person, `fit_seconds` per seed.
    """
    rows = [
        dict(zip(_CELL, names, strict=True)) | _averages(part)
        for names, part in people.groupby(_CELL, sort=False, observed=True)
    ]
    return pd.DataFrame(rows)


def _averages(part: pd.DataFrame) -> dict[str, Any]:
    fine = part[part["status"] == OK]
    others = part[part["status"] != OK].drop_duplicates("seed")
    cells = others[["seed", "status", "reason"]].to_dict("records")
    reasons = [str(cell["reason"]) if fine.empty else f"seed {cell['seed']}: {cell['status']}" for cell in cells]
    row: dict[str, Any] = {
        "status": OK if len(fine) else others["status"].iloc[0],
        "reason": "; ".join(dict.fromkeys(reason for reason in reasons if reason)),
        "seeds": fine["seed"].nunique(),
        "people": len(fine) if len(fine) else int(part["person"].notna().sum()),
    }
    if not len(fine):
        return row
    found = fine["found"].to_numpy()
    row["accuracy"] = fine.drop_duplicates("seed")["accuracy"].mean()
    row["success"] = float(found.mean())
    row["success_low"], row["success_high"] = share_interval(found)
    row["rules_broken"] = int((fine["verdict"] == BROKEN).sum())
    columns = {name: fine[name].to_numpy(dtype=np.float64) for name in MEASURES}
    for name in CHARGED:
        columns[f"{name}_charged"] = np.where(found, columns[name], _worst(name, fine))
    intervals = mean_intervals(np.column_stack(list(columns.values())))
    for (name, values), drawn in zip(columns.items(), intervals, strict=True):
        interval = share_interval(values) if name.removesuffix("_charged") in SHARES else drawn
        row |= {name: float(answered_mean(values)), f"{name}_low": interval.low, f"{name}_high": interval.high}
    row["cpu_seconds"] = fine["cpu_seconds"].mean()
    row["rows_scored"] = fine["rows_scored"].mean()
    row["fit_seconds"] = fine.drop_duplicates("seed")["fit_seconds"].mean()
    return row


def _worst(name: str, fine: pd.DataFrame) -> np.ndarray:
    """What a person without an answer is charged with."""
    if name == "total_shift":
        return fine["free_features"].to_numpy(dtype=np.float64)
    return np.full(len(fine), 1.0 if name == "max_shift" else 0.0)
