"""Calls to a model that may take only so long."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from typing import Final, TypeVar

import sklearn

from attain.core.errors import ModelError

T = TypeVar("T")

PATIENCE: Final = 4.0
"""A call that takes this many times as long as usual is slow; less may be chance."""

SUSPECTED: Final = 1 / 16
"""The share of the timeout for part of the rows of a call that was too slow, until they are those of one owner."""


class SlowModelError(ModelError):
    """The model took longer than it may."""


class Watch:
    """Runs calls to one model in threads of their own, and stops waiting for those that take too long.

    A call about n rows may take `allowed` + 4 c · max(1, n / m) seconds, where c seconds is what the model took about m
    rows of the probe. So a row that takes `allowed` longer than others is noticed among any number of them, and a model
    that is slow about all rows may be asked about many at once. A call about the rows of a single owner may take
    `allowed` seconds. Python cannot stop a thread: one that is not waited for any more goes on until the model returns,
    but does not keep the process alive.

    Parameters
    ----------
    timeout
        Seconds, above 0.
    title
        What the model is called in messages.
    """

    def __init__(self, timeout: float, title: str) -> None:
        self.timeout = timeout
        self.title = title
        self.allowed = timeout
        """The seconds that the owner of rows has left; a search lowers them."""
        self.learning = False
        """Whether calls are about the probe, so that they show how long the model usually takes."""
        self._seconds, self._rows = 0.0, 1

    def usual(self, rows: int) -> float:
        """How many seconds a call about so many rows usually takes."""
        return self._seconds * max(1.0, rows / self._rows)

    def run(self, call: Callable[[], T], rows: int, share: float = 1.0, *, alone: bool = False) -> T:
        """What `call` returns or raises; a `SlowModelError` if it takes longer than this share of what is allowed.

        `alone` says that all rows are those of one owner.
        """
        limit = share * self.allowed + (0.0 if alone else PATIENCE * self.usual(rows))
        context, settings = copy_context(), sklearn.get_config()
        returned: list[T] = []
        raised: list[BaseException] = []

        def work() -> None:
            try:
                with sklearn.config_context(**settings):  # which scikit-learn keeps for each thread
                    returned.append(context.run(call))
            except BaseException as error:
                raised.append(error)

        thread = Thread(target=work, name="attain-model", daemon=True)
        started = time.perf_counter()
        thread.start()
        thread.join(limit)
        if raised:
            raise raised[0]
        if not returned:
            about = "1 row" if rows == 1 else f"{rows} rows"
            raise SlowModelError(
                f"{self.title} took longer than {limit:.3g} s when asked about {about}; raise `timeout` to wait longer"
            )
        if self.learning:
            self._seconds, self._rows = time.perf_counter() - started, rows
        return returned[0]
