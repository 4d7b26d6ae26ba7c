"""What a benchmark leaves in its folder: two Parquet files, figures and a page."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pandas as pd

from attain.core import page
from attain.core.errors import MissingExtraError
from attain.core.files import write_atomically
from attain.metrics.comparison import blocks, note
from experiments.bench.plots import SPEED, draw, trade_off_name
from experiments.bench.report import markdown, sections
from experiments.bench.run import failures
from experiments.bench.summary import summarised

ROWS, SUMMARY, PAGE, FIGURES = "rows.parquet", "summary.parquet", "index.html", "figures"
_TITLE: Final = "Benchmark: methods for counterfactuals on the same rows"


def check_arrow() -> None:
    """Raises, before any work is done, if Parquet cannot be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "the benchmark is written as Parquet, which needs pyarrow: pip install 'attain[experiments]'"
        ) from None


def write_results(folder: Path, rows: pd.DataFrame, made: str) -> None:
    """Writes the tables, figures and page of what `run` gave; `made` says where they come from."""
    summary = summarised(rows)
    for name, frame in ((ROWS, rows), (SUMMARY, summary)):
        content = io.BytesIO()
        frame.to_parquet(content, engine="pyarrow", index=False)
        write_atomically(folder / name, content.getvalue())
    captions = draw(summary, folder / FIGURES)
    content_blocks: list[page.Block] = [page.Paragraph(text) for text in _introduction(rows, made)]
    for dataset, part in summary.groupby("dataset", sort=False, observed=True):
        content_blocks.append(page.Heading(str(dataset)))
        content_blocks += _figure(folder, trade_off_name(str(dataset)), captions)
        for title, lines in sections(part):
            content_blocks += [page.Heading(title, 3), *blocks(lines)]
    if SPEED in captions:
        content_blocks += [page.Heading("Speed"), *_figure(folder, SPEED, captions)]
    bad = failures(rows)
    if bad:
        content_blocks += [page.Heading("What failed or was stopped"), *(page.Paragraph(text) for text in bad)]
    end: list[page.Block] = [page.Heading("What the columns mean"), page.Paragraph(note(full=True))]
    page.write(folder / PAGE, _TITLE, [*content_blocks, *end])


def write_markdown(path: Path, rows: pd.DataFrame, made: str) -> None:
    """Writes the averages with their intervals as Markdown."""
    introduction = "\n\n".join(_introduction(rows, made))
    write_atomically(path, f"# Benchmark\n\n{introduction}\n\n{markdown(summarised(rows))}".encode())


def _introduction(rows: pd.DataFrame, made: str) -> list[str]:
    seeds = sorted(set(rows["seed"]))
    names = {"dataset": "data set", "classifier": "classifier", "method": "method"}
    counted = [_counted(rows[column].nunique(), name) for column, name in names.items()]
    return [
        f"{', '.join(counted)}, "
        f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}. Each data set is split 70/30; the first "
        "held-out rows that the classifier refuses are explained, the same for every method, and rows of all seeds are "
        "averaged together. Support vector machines are trained on at most 10,000 rows. Answers are checked and "
        "measured outside of the methods, each process on one thread.",
        made,
    ]


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _figure(folder: Path, name: str, captions: Mapping[str, str]) -> list[page.Block]:
    return [page.Picture(folder / FIGURES / f"{name}.png", captions[name])] if name in captions else []
