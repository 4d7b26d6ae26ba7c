"""Progress bars, and Ctrl-C kept while processes start.

A bar is drawn on standard error for work that takes longer than two seconds; none without a terminal.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

DELAY = 2.0
"""Seconds until a bar is drawn."""
_FIGURES = 70
"""The most characters that a label and figures take; what a terminal has beyond them is for the bar."""


class ProgressBar:
    """A bar over `total` steps, drawn from the first update after two seconds on."""

    def __init__(self, total: int, label: str, unit: str = "people") -> None:
        self._total, self._label, self._unit = total, label, unit
        self._started, self._done, self._found, self._asked = time.monotonic(), 0, 0, 0
        self._bar: Progress | None = None

    def update(self, steps: int = 1, found: int | None = None, asked: int | None = None) -> None:
        """Counts steps; with `found`, how many of them, or of `asked`, had an answer, and the bar shows their share."""
        self._done, self._found = self._done + steps, self._found + (found or 0)
        self._asked += steps if asked is None else asked
        if self._bar is None:
            if time.monotonic() - self._started < DELAY or not sys.stderr.isatty():
                return
            self._bar = _bar()
            self._bar.add_task(self._label, total=self._total, unit=self._unit, figures="")
            self._bar.start()
        speed = self._done / (time.monotonic() - self._started)
        left = max(self._total - self._done, 0) / speed if speed else None
        figures = (
            f"{speed:,.0f} {self._unit}/s" if speed >= 10 else f"{speed:.2g} {self._unit}/s",
            "" if left is None else f"{timedelta(seconds=round(left))} left",
            "" if found is None else _share(self._found, self._asked),
        )
        self._bar.update(
            self._bar.task_ids[0],
            completed=self._done,
            figures=" ".join(filter(None, figures)),
        )

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.stop()


@cache
def _console() -> Console:
    """One console for all bars, so that a bar within another one is drawn below it."""
    return Console(stderr=True, force_jupyter=False)


def _share(found: int, asked: int) -> str:
    """A share that says 100 % only if it is all of them."""
    return f"{math.floor(1000 * found / asked) / 10:g}% found" if asked else ""


def _bar() -> Progress:
    room = min(_console().width - _FIGURES, 40)
    wide = (TextColumn("{task.description}"), BarColumn(room)) if room > 0 else ()
    return Progress(
        *wide,
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        console=_console(),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Keeps Ctrl-C until the block ends, and from processes started in it, which this one ends.

    A blocked signal stays pending, and processes inherit that it is blocked. A thread of a library may take it all the
    same: then the handler remembers it.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    remembered: list[bool] = []
    before = signal.signal(signal.SIGINT, lambda *_: remembered.append(True))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, before)
    if remembered and callable(before):
        before(signal.SIGINT, None)
