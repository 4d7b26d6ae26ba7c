"""The bench as tables for a terminal."""

from __future__ import annotations

import shutil
import textwrap
from typing import Any

import pandas as pd

from attain.experiments.bench import NOT_APPLICABLE, OK
from attain.render import table

_WIDE = 90
"""From this width on all figures of a method stand in one line."""
_WIDEST = 100
_TIED = "\N{NO-BREAK SPACE}"
_HEADER = ("method", "valid", "broken", "TS chg.", "MS chg.", "inlier chg.", "conn. chg.", "CPU ms", "rows")
_NOTE = (
    "valid: share of people with an answer that the classifier decides for and that breaks no rule. broken: answers "
    "that break a rule. TS, MS: total and largest shift in percentiles; another level counts 1. inlier: by the local "
    "outlier factor among real people of the desired class. conn.: one of them is as near as nine in ten of them have "
    "one. The first figure is the mean over people with a valid answer; the second (chg., charged) is over all, where "
    "who has none must change everything. CPU ms, rows: CPU time and rows scored, per person."
)


def bench_tables(frame: pd.DataFrame, width: int | None = None) -> str:
    """One table for each data set and classifier, and what the columns mean."""
    limit = min(width or shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    parts = []
    for (dataset, classifier), part in frame.groupby(["dataset", "classifier"], sort=False):
        title = f"{dataset}, {classifier}: {int(part['people'].max())} refused people"
        parts.append(
            "\n".join([textwrap.fill(title, limit), _wide(part, limit) if limit >= _WIDE else _narrow(part, limit)])
        )
    parts.append(textwrap.fill(_NOTE, limit))
    return "\n\n".join(parts)


def _wide(part: pd.DataFrame, limit: int) -> str:
    cells = part.to_dict("records")
    rows = [(cell["method"], *(_figures(cell) if cell["status"] == OK else [""] * 8)) for cell in cells]
    lines = table(_HEADER, rows, width=limit, right=range(1, len(_HEADER))).splitlines()
    names = lines[1].index(" ")
    told = [
        line if cell["status"] == OK else f"{line:{names}}  {NOT_APPLICABLE}"
        for line, cell in zip(lines[2:], cells, strict=True)
    ]
    return "\n".join(lines[:2] + told)


def _narrow(part: pd.DataFrame, limit: int) -> str:
    lines = []
    for cell in part.to_dict("records"):
        lines.append(cell["method"] if cell["status"] == OK else f"{cell['method']}: {NOT_APPLICABLE}")
        if cell["status"] == OK:
            names = [name.removesuffix(" chg.") for name in _HEADER[1:]]
            # a name and its figures stay together
            told = [" ".join(f"{name} {value}".split()) for name, value in zip(names, _figures(cell), strict=True)]
            text = ", ".join(figure.replace(" ", _TIED) for figure in told)
            lines += textwrap.wrap(text, limit, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines).replace(_TIED, " ")


def _figures(cell: dict[Any, Any]) -> tuple[str, ...]:
    return (
        _share(cell["success"]),
        f"{cell['rules_broken']:.0f}",
        *(f"{_number(cell[name])} {_number(cell[f'{name}_charged'])}" for name in ("total_shift", "max_shift")),
        *(f"{_share(cell[name])} {_share(cell[f'{name}_charged']):>4}" for name in ("inlier", "connected")),
        f"{1000 * cell['seconds']:.1f}",
        "–" if pd.isna(cell["rows_scored"]) else f"{cell['rows_scored']:.0f}",
    )


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _share(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.0%}"
