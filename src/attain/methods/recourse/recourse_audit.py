"""Recourse of a population: who has it, and what it costs, by group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from attain.core.errors import DataError
from attain.core.frames import Frame
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status

_QUANTILES = {"least": 0.0, "quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "largest": 1.0}


def audit_frame(result: Counterfactuals, groups: str | Sequence[Any] | None) -> Frame:
    """One row for everybody, then one for each group in the order of their labels."""
    labels = None if groups is None else _labels(result, groups)
    parts: list[tuple[Any, np.ndarray]] = [(None, np.ones(len(result), dtype=bool))]
    if labels is not None:
        for label in sorted(set(labels), key=lambda label: (label is None, str(label))):
            parts.append((label, np.array([other == label for other in labels], dtype=bool)))
    cost = np.full(len(result), math.nan)
    given = result.option_figures.get("cost", np.empty(0))
    for i, value in zip(result.owners[::-1], given[::-1], strict=True):  # the best option comes last
        cost[i] = value
    rows = [{"group": label, **_summary(result, cost, mine)} for label, mine in parts]
    return result.table.layout.library.make({name: [row[name] for row in rows] for name in rows[0]})


def _labels(result: Counterfactuals, groups: str | Sequence[Any]) -> list[Any]:
    table = result.table
    if isinstance(groups, str):
        cells = table.values[:, table.schema.position(groups)]
        return [table.layout.value(groups, float(cell)) for cell in cells]
    labels = list(groups)
    if len(labels) != len(table):
        raise DataError(f"groups has {len(labels)} labels, but population has {len(table)} rows; give one a person")
    return labels


def _summary(result: Counterfactuals, cost: np.ndarray, mine: np.ndarray) -> dict[str, Any]:
    outcome = [status for status, inside in zip(result.statuses, mine, strict=True) if inside]
    denied = sum(status is not Status.ALREADY_DESIRED for status in outcome)
    found = sum(status is Status.FOUND for status in outcome)
    without = sum(status in (Status.NO_RECOURSE, Status.NOTHING_FREE) for status in outcome)
    costs = cost[mine & result.found]
    known = len(costs) > 0
    return {
        "people": int(mine.sum()),
        "denied": denied,
        "with_recourse": found,
        "certainly_without": without,
        "share_with_recourse": found / denied if denied else math.nan,
        "share_certainly_without": without / denied if denied else math.nan,
        "mean_cost": float(costs.mean()) if known else math.nan,
        **{f"{name}_cost": float(np.quantile(costs, q)) if known else math.nan for name, q in _QUANTILES.items()},
    }
