"""The benchmark as tables: for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from attain.core.text import wrapped
from attain.metrics.comparison import cells, note, text_table
from benchmarks.report import table
from experiments.bench.summary import summarised


def bench_tables(rows: pd.DataFrame, width: int | None = None) -> str:
    """One table for each data set and classifier of what `run` gave, and what the columns mean."""
    parts = [f"{wrapped(title, width)}\n{text_table(lines, width)}" for title, lines in sections(summarised(rows))]
    return "\n\n".join([*parts, wrapped(note(), width)])


def markdown(summary: pd.DataFrame, level: int = 2) -> str:
    """The averages with their intervals as Markdown: a heading and a table for each data set and classifier."""
    parts = [
        f"{'#' * level} {title[0].upper()}{title[1:]}\n\n{table(*cells(lines))}" for title, lines in sections(summary)
    ]
    return "\n\n".join([*parts, note(full=True)]) + "\n"


def sections(summary: pd.DataFrame) -> Iterator[tuple[str, list[dict[Any, Any]]]]:
    """For each data set and classifier a title and its lines."""
    for (dataset, classifier), part in summary.groupby(["dataset", "classifier"], sort=False, observed=True):
        number, seeds = int(part["n"].max()), int(part["seeds"].max())
        spread = f" over {seeds} seeds" if seeds > 1 else ""
        yield f"{dataset}, {classifier}: {number} refused rows{spread}", part.to_dict("records")
