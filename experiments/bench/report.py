"""The bench as tables: for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from attain.core.text import table, window, wrapped
from experiments.bench.cells import OK
from experiments.bench.summary import summarised

_WIDEST = 100
_HEADER = ("method", "valid", "broken", "TS chg.", "MS chg.", "inlier chg.", "conn. chg.", "CPU ms", "rows")
_NOTE = (
    "valid: share of people with an answer that the classifier decides for and that breaks no rule. broken: answers "
    "that break a rule. TS, MS: total and largest shift in percentiles; another level counts 1. inlier: by the local "
    "outlier factor with 20 neighbours among real people of the desired class. conn.: one of them is as near as nine "
    "in ten of them have one. The first figure is the mean over people with a valid answer; the second (chg., charged) "
    "is over all, where who has none must change everything. CPU ms, rows: CPU time and rows scored, per person."
)

FULL_HEADER: Final = (
    "method", "valid", "broken", "TS", "TS charged", "MS", "changed", "inlier", "inlier, held-out", "inlier charged",
    "connected ε.9", "ε.95", "largest component ε.9", "CPU ms", "rows",
)  # fmt: skip
"""The columns of the tables in Markdown and on the page."""
FULL_NOTE: Final = (
    "valid: share of people with an answer that the classifier decides for and that breaks no rule. broken: answers "
    "that break a rule; they count as no answer. TS, MS: total and largest shift in percentiles of the training "
    "columns; another level counts 1. changed: free features. inlier: by the local outlier factor with 20 neighbours "
    "among real desired people of the training part; held-out: of the test part, whom no method has seen. connected: "
    "the nearest real desired person is within ε, the .9 or .95 quantile of held-out real people's own distance; "
    "largest component: and is linked in steps of ε with most of them. charged: over all people, where one without a "
    "valid answer must change everything and is like nobody; all others are over the people with one. Brackets: 95 % "
    "intervals over people, Wilson's for shares, else by bootstrap. CPU ms, rows: CPU time and rows scored, per person."
)


def bench_tables(people: pd.DataFrame, width: int | None = None) -> str:
    """One table for each data set and classifier of what `run` gave, and what the columns mean."""
    limit = min(width or window(), _WIDEST)
    parts = []
    for title, part in sections(summarised(people)):
        rows = [
            (cell["method"], *_figures(cell))
            if cell["status"] == OK
            else (f"{cell['method']}: {cell['status']}", *[""] * (len(_HEADER) - 1))
            for cell in part.to_dict("records")
        ]
        parts.append(f"{wrapped(title, limit)}\n{table(_HEADER, rows, width=limit, right=range(1, len(_HEADER)))}")
    return "\n\n".join([*parts, wrapped(_NOTE, limit)])


def markdown(summary: pd.DataFrame, level: int = 2) -> str:
    """The averages with their intervals as Markdown: a heading and a table for each data set and classifier."""
    parts = []
    for title, part in sections(summary):
        lines = [f"{'#' * level} {title[0].upper()}{title[1:]}", "", _row(FULL_HEADER)]
        lines.append(_row(["---", *["--:"] * (len(FULL_HEADER) - 1)]))
        lines += [_row(full_figures(cell)) for cell in part.to_dict("records")]
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, FULL_NOTE]) + "\n"


def sections(summary: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """For each data set and classifier a title and its rows."""
    for (dataset, classifier), part in summary.groupby(["dataset", "classifier"], sort=False, observed=True):
        people = int(part["people"].max())
        seeds = int(part["seeds"].max())
        spread = f" over {seeds} seeds" if seeds > 1 else ""
        yield f"{dataset}, {classifier}: {people} refused people{spread}", part


def full_figures(cell: Mapping[Any, Any]) -> list[str]:
    """A row of the full table; a cell that was not measured tells its status instead."""
    if cell["status"] != OK:
        return [str(cell["method"]), f"{cell['status']}", *[""] * (len(FULL_HEADER) - 2)]
    rows = cell["rows_scored"]
    return [
        str(cell["method"]),
        _bracketed(cell, "success", share),
        f"{cell['rules_broken']:.0f}",
        _bracketed(cell, "total_shift", number),
        _bracketed(cell, "total_shift_charged", number),
        _bracketed(cell, "max_shift", number),
        number(cell["changed"]),
        _bracketed(cell, "inlier_20", share),
        _bracketed(cell, "inlier_held_out_20", share),
        _bracketed(cell, "inlier_20_charged", share),
        _bracketed(cell, "connected_90", share),
        share(cell["connected_95"]),
        share(cell["largest_component_90"]),
        milliseconds(cell["cpu_seconds"]),
        "–" if pd.isna(rows) else f"{rows:.0f}",
    ]


def number(value: float) -> str:
    """Three digits or so."""
    return "–" if pd.isna(value) else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def share(value: float) -> str:
    """Whole per cent."""
    return "–" if pd.isna(value) else f"{value:.0%}"


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds."""
    return "–" if pd.isna(seconds) else f"{1000 * seconds:.1f}" if seconds < 1 else f"{1000 * seconds:.0f}"


def _bracketed(cell: Mapping[Any, Any], name: str, written: Any) -> str:
    """A figure with its interval: 81 % [70, 90]."""
    low, high = cell[f"{name}_low"], cell[f"{name}_high"]
    if pd.isna(cell[name]) or pd.isna(low):
        return str(written(cell[name]))
    return f"{written(cell[name])} [{written(low).rstrip('%')}, {written(high).rstrip('%')}]"


def _row(cells: Any) -> str:
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


def _figures(cell: Mapping[Any, Any]) -> tuple[str, ...]:
    return (
        share(cell["success"]),
        f"{cell['rules_broken']:.0f}",
        *(f"{number(cell[name])} {number(cell[f'{name}_charged'])}" for name in ("total_shift", "max_shift")),
        *(f"{share(cell[name])} {share(cell[f'{name}_charged']):>4}" for name in ("inlier_20", "connected_90")),
        milliseconds(cell["cpu_seconds"]),
        "–" if pd.isna(cell["rows_scored"]) else f"{cell['rows_scored']:.0f}",
    )
