"""`attain explain … --out FOLDER/`: any number of people, in constant memory, into Parquet files."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attain.cli.exits import INTERRUPTED, NOBODY

if TYPE_CHECKING:
    from attain.scale import ExplainBatch, Summary

_STOPPED = "interrupted; the same command goes on from here"
_ONE_FILE = ("labels", "changes", "importance", "contributions", "audit")
"""Flags for an OUT that is one file."""


def is_folder(out: str) -> bool:
    """Whether answers go into a folder: one that exists, or a name that ends with a slash or has no extension."""
    return out.endswith(("/", os.sep)) or Path(out).is_dir() or not Path(out).suffix


def explain_many(given: argparse.Namespace) -> int:
    """Explains, writes and reports; returns the exit code."""
    from attain.cli.config import write_config
    from attain.cli.constraints import read_constraints
    from attain.cli.inputs import read_model, read_target
    from attain.cli.terminal import note
    from attain.core.errors import AttainError, Interrupted
    from attain.methods.persistence import load
    from attain.scale import ExplainBatch, explain

    unfit = [f"--{name}" for name in _ONE_FILE if getattr(given, name)]
    unfit += ["--ranges FILE"] if isinstance(given.ranges, str) else []
    unfit += ["--errors raise"] if given.errors == "raise" else []
    if unfit:
        raise AttainError(f"{', '.join(unfit)}: not possible where OUT is a folder; name a file such as answers.csv")
    explainer = load(given.explainer)
    if given.figures is not None:
        explainer.set_params(figures=given.figures == "on")
    model = read_model(given)
    batch = ExplainBatch(
        explainer,
        model,
        target=read_target(given, model, explainer),
        probability=given.probability,
        n=given.n,
        constraints=read_constraints(given.constraints, ()),
        ranges=given.ranges is True,
        timeout=given.timeout,
    )
    started, interrupted = time.perf_counter(), False
    try:
        summary = explain(
            given.people,
            given.out,
            batch,
            index=given.index,
            separator=given.separator,
            people_per_file=given.people_per_file,
            workers=given.workers,
            note=note,
        )
    except Interrupted as stop:
        summary, interrupted = stop.result, True  # type: ignore[assignment]
    config = write_config(given.out, given)
    if interrupted:
        print(f"attain: {_STOPPED}; people answered so far: {summary.people:,}", file=sys.stderr)
    if given.json or not interrupted:
        _report(given, batch, summary, time.perf_counter() - started, config)
    if interrupted:
        return INTERRUPTED
    return NOBODY if summary.asked and not summary.found else 0


def _report(given: argparse.Namespace, batch: ExplainBatch, summary: Summary, seconds: float, config: str) -> None:
    from attain.cli.terminal import say, say_json, say_summary
    from attain.results.status import Status
    from attain.results.text import summary_lines

    empty = batch.empty
    if given.json:
        report: dict[str, Any] = {
            "out": given.out,
            "config": config,
            "explainer": empty.method,
            "target": empty.target,
            "people": summary.people,
            "found": summary.found,
            "share_found": summary.found / summary.asked if summary.asked else None,
            "options": summary.options,
            "status": summary.status,
            "notes": list(empty.notes),
            "seconds": round(seconds, 3),
        }
        say_json(report)
        return
    statuses = {Status[name]: count for name, count in summary.status.items()}
    say_summary("\n".join([*summary_lines(empty, statuses, summary.level, summary.means), *empty.notes]))
    say(f"{seconds:.1f} s")
    say(f"Written: {given.out}")
