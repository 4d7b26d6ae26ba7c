"""Signals that have arrived and are not answered yet.

Python makes a KeyboardInterrupt of a signal, wherever it is at that moment. In a callback, or in a library that catches
everything, that exception is lost. So whoever catches it on purpose says so (`answered`), and work that is done in
steps raises it again until then (`check`).
"""

from __future__ import annotations

import threading

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
