"""Signals that have arrived and are not answered yet.

Python makes a KeyboardInterrupt of a signal, wherever it is at that moment. In a callback, or in a library that catches
everything, that exception is lost. So whoever catches it on purpose says so (`answered`), and work that is done in
steps raises it again until then (`check`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_answered = threading.Event()
_answered.set()


def arrived() -> None:
    """Says that a signal has arrived."""
    _answered.clear()


def answered() -> None:
    """Says that the KeyboardInterrupt was caught, and that the work is ending."""
    _answered.set()


def wait(seconds: float) -> bool:
    """Whether the signal is answered within so many seconds."""
    return _answered.wait(seconds)


def check() -> None:
    """Raises KeyboardInterrupt if a signal has arrived and is not answered."""
    if not _answered.is_set():
        raise KeyboardInterrupt


@contextmanager
def kept() -> Iterator[None]:
    """Keeps Ctrl-C until the block ends, and from the processes that are started in it for good: this one ends them.

    A signal that is blocked stays pending, and processes inherit that it is blocked. Threads of libraries may take it
    all the same: then its handler remembers it.
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
