"""Everything a bench leaves in its folder: two Parquet files, pictures and a page."""

from __future__ import annotations

import io
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd

from attain.core.errors import MissingExtraError
from attain.core.files import write_atomically
from experiments import page
from experiments.bench.cells import NOT_APPLICABLE, OK
from experiments.bench.plots import SPEED, draw, trade_off
from experiments.bench.report import FULL_HEADER, FULL_NOTE, full_figures, markdown, sections
from experiments.bench.run import failures
from experiments.bench.summary import summarised

PEOPLE, SUMMARY, PAGE, PICTURES = "people.parquet", "summary.parquet", "index.html", "pictures"
_TITLE: Final = "Benchmark: methods for counterfactuals on the same people"


@dataclass(frozen=True)
class Circumstances:
    """When, where and how a bench was run: told on the page, and nowhere in the tables."""

    command: str
    date: str
    machine: str


def this_machine() -> str:
    """This machine in words: processor, cores, system, Python."""
    processor = platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def check_arrow() -> None:
    """Refuses, before any work is done, where Parquet cannot be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "the bench is written as Parquet, which needs pyarrow: pip install 'attain[experiments]'"
        ) from None


def write_results(folder: Path, people: pd.DataFrame, circumstances: Circumstances) -> None:
    """Writes the tables, pictures and page of what `run` gave."""
    summary = summarised(people)
    for name, frame in ((PEOPLE, people), (SUMMARY, summary)):
        content = io.BytesIO()
        frame.to_parquet(content, engine="pyarrow", index=False)
        write_atomically(folder / name, content.getvalue())
    pictures = dict(draw(summary, folder / PICTURES))
    blocks: list[page.Block] = [page.Paragraph(text) for text in _introduction(people, circumstances)]
    for dataset, part in summary.groupby("dataset", sort=False, observed=True):
        blocks.append(page.Heading(str(dataset)))
        blocks += _picture(folder, trade_off(str(dataset)), pictures)
        for title, cells in sections(part):
            blocks += _section(title, cells)
    if SPEED in pictures:
        blocks += [page.Heading("Speed"), *_picture(folder, SPEED, pictures)]
    bad = failures(people)
    if bad:
        blocks += [page.Heading("What failed or was stopped"), *(page.Paragraph(text) for text in bad)]
    page.write(folder / PAGE, _TITLE, [*blocks, page.Heading("What the columns mean"), page.Paragraph(FULL_NOTE)])


def write_markdown(path: Path, people: pd.DataFrame, circumstances: Circumstances) -> None:
    """Writes the averages with their intervals as Markdown, under the circumstances in a paragraph."""
    introduction = "\n\n".join(_introduction(people, circumstances))
    write_atomically(path, f"# Benchmark\n\n{introduction}\n\n{markdown(summarised(people))}".encode())


def _introduction(people: pd.DataFrame, circumstances: Circumstances) -> list[str]:
    seeds = sorted(set(people["seed"]))
    names = {"dataset": "data set", "classifier": "classifier", "method": "method"}
    counted = [_counted(people[column].nunique(), name) for column, name in names.items()]
    return [
        f"{', '.join(counted)}, "
        f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}. Each data set is split 70/30; the people "
        "are the first held-out ones whom the classifier refuses, the same for every method, and people of all seeds "
        "are averaged together. Support vector machines are trained on at most 10,000 rows. Answers are checked and "
        "measured outside of the methods, each process on one thread.",
        f"Command: {circumstances.command}. Date: {circumstances.date}. Machine: {circumstances.machine}.",
    ]


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _picture(folder: Path, name: str, captions: Mapping[str, str]) -> list[page.Block]:
    return [page.Picture(folder / PICTURES / f"{name}.png", captions[name])] if name in captions else []


def _section(title: str, part: pd.DataFrame) -> list[page.Block]:
    """The table of one data set and classifier, and why some methods have no figures in it."""
    cells = part.to_dict("records")
    rows = [_toned(full_figures(cell), cell["status"]) for cell in cells]
    blocks: list[page.Block] = [page.Heading(title, 3), page.Grid(FULL_HEADER, rows, range(1, len(FULL_HEADER)))]
    told = [
        f"{cell['method']} is not applicable: {cell['reason']}" for cell in cells if cell["status"] == NOT_APPLICABLE
    ]
    return blocks + [page.Paragraph(text) for text in told]


def _toned(row: list[str], status: str) -> list[str | page.Cell]:
    return list(row) if status == OK else [page.Cell(text, "muted") for text in row]
