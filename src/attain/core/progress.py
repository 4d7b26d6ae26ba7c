"""A progress bar on standard error for work that takes longer than two seconds; none without a terminal."""

from __future__ import annotations

import sys
import time
from functools import cache

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

DELAY = 2.0


class Tracker:
    """A bar over `total` steps, drawn from the first update after two seconds on."""

    def __init__(self, total: int, label: str, unit: str) -> None:
        self._total, self._label, self._unit = total, label, unit
        self._started, self._done, self._found = time.monotonic(), 0, 0
        self._bar: Progress | None = None

    def update(self, steps: int = 1, found: int | None = None) -> None:
        """Counts steps; with `found`, how many of them had an answer, and the bar shows the share over all."""
        self._done += steps
        self._found += found or 0
        if self._bar is None:
            if time.monotonic() - self._started < DELAY or not sys.stderr.isatty():
                return
            self._bar = _bar()
            self._bar.add_task(self._label, total=self._total, unit=self._unit, speed="", share="")
            self._bar.start()
        self._bar.update(
            self._bar.task_ids[0],
            completed=self._done,
            speed=f"{self._done / (time.monotonic() - self._started):.3g} {self._unit}/s",
            share="" if found is None else f"{self._found / max(self._done, 1):.0%} found",
        )

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.stop()


def track(total: int, label: str, unit: str = "people") -> Tracker:
    """Tracks work of `total` steps; call `update` for the steps done, and `close` at the end."""
    return Tracker(total, label, unit)


@cache
def _console() -> Console:
    """One console for all bars, so that a bar within another one is drawn below it."""
    return Console(stderr=True, force_jupyter=False)


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[share]}"),
        console=_console(),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
