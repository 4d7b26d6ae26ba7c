"""A result as text: a summary, the changes of some people, methods side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np

from attain.core.text import number, plain, table, wrapped
from attain.results.record import Record
from attain.results.status import Status, Typicality
from attain.schema.text import described

_CHANGE_HEADER = ("feature", "current", "pct", "counterfactual", "pct", "shift")
_MEANS = {
    "features_changed": ("features changed, on average", 1, ""),
    "total_shift": ("total shift, on average", 100, " percentile points"),
    "max_shift": ("largest shift, on average", 100, " percentile points"),
    "outlier": ("local outliers", 100, " %"),
    "connected": ("connected to real people of the desired class", 100, " %"),
}


LEGEND: Final = (
    "pct: share of the training data at or below the value. shift: difference of the two, in percentile points; a "
    "different level counts as 100. outlier, connected: whether the new record is unlike, and within the usual "
    "distance of, real records of the desired class."
)
"""What the headings of `changes_table` mean."""


def summary(result: Record) -> str:
    """How many have an answer, why the others have none, and the means of the figures, in a few lines."""
    asked = f"{result.method}, target {plain(repr(result.target))}"
    if result.probability is not None:
        asked += f" with probability at least {number(result.probability)}"
    lines = [f"{result.found.sum()} of {len(result)} people have an answer ({asked})."]
    for status, count in Counter(result.statuses).items():
        if status is not Status.FOUND:
            lines.append(f"{count} × {status}: {status.reason}")
    known = result.of_best("typicality")
    counts = [(int((known == kind).sum()), kind) for kind in Typicality]
    if any(count for count, _ in counts):
        shown = ", ".join(f"{count} {kind}" for count, kind in counts if count)
        lines.append(f"  among real people of the desired class: {shown}")
    for name, (label, factor, unit) in _MEANS.items():
        mean = _mean(result, name)
        if not np.isnan(mean):
            lines.append(f"  {label}: {number(round(factor * mean, 1))}{unit}")
    return "\n".join([*lines, *result.notes])


def comparison(results: Mapping[str, Record], width: int | None = None) -> str:
    """A column for each method: how many have an answer, how far the answers are, how realistic they look."""
    rows: dict[str, list[str]] = {}
    for result in results.values():
        changes, total, largest, outliers, connected = (_mean(result, name) for name in _MEANS)
        for label, cell in {
            "answered": f"{result.found.sum()} of {len(result)}",
            "features changed": number(round(changes, 1)),
            "total shift": points(100 * total),
            "largest shift": points(100 * largest),
            "outliers": f"{outliers:.0%}",
            "connected": f"{connected:.0%}",
            "rows scored": f"{result.person_figures['rows_scored'].mean():.0f}",
        }.items():
            rows.setdefault(label, [label]).append(cell)
    return table(("", *results), list(rows.values()), width=width, right=range(1, len(results) + 1))


def _mean(result: Record, name: str) -> float:
    """The mean of a figure over the best options; NaN where there is none."""
    values = result.of_best(name)
    return float(np.nanmean(values)) if not np.isnan(values).all() else np.nan


def changes_table(result: Record, positions: Collection[int], width: int | None = None) -> str:
    """The paper's Table 1 for the people at some positions: a table for each option, under a line with its figures."""
    blocks = []
    for cells in changed_options(result, positions):
        body = table(_CHANGE_HEADER, [shown_change(result, cell) for cell in cells], width=width, right=(2, 4, 5))
        blocks.append(f"{wrapped(_option_line(cells[0]), width)}\n{body}")
    return "\n\n".join(blocks)


def changed_options(result: Record, positions: Collection[int]) -> list[list[dict[str, Any]]]:
    """The changed cells of the people at some positions, grouped by option."""
    cells = result.changed_cells(positions)
    return [list(group) for _, group in groupby(cells, key=lambda cell: (cell["position"], cell["option"]))]


def _option_line(cell: Mapping[str, Any]) -> str:
    parts = [f"total shift {points(cell['total_shift'])}"]
    parts += [f"{name}: {yes_no(cell[name])}" for name in ("outlier", "connected")]
    parts += [] if cell["typicality"] is None else [cell["typicality"]]
    option = "" if cell["option"] == 1 else f" (option {cell['option']})"
    return f"Person {plain(cell['person'])}{option}: {', '.join(parts)}"


def shown_change(result: Record, cell: Mapping[str, Any]) -> Sequence[str]:
    """The cells under `_CHANGE_HEADER`."""
    feature = result.table.schema[cell["feature"]]
    return (
        plain(feature.title),
        plain(described(cell["current"], feature)),
        points(cell["current_percentile"]),
        plain(described(cell["counterfactual"], feature)),
        points(cell["counterfactual_percentile"]),
        points(cell["shift"]),
    )


def points(value: float | None) -> str:
    """Percentile points, rounded to integers; below one, to a tenth."""
    if value is None or value != value:
        return "–"
    return f"{value:.0f}" if value >= 1 or value == 0 else f"{value:.1f}"


def yes_no(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"
