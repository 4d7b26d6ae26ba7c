"""By when a search ends."""

from __future__ import annotations

import math
import time


class Deadline:
    """So many seconds from now for each of some people; None for no end, and then no clock is looked at."""

    def __init__(self, timeout: float | None = None, people: int = 1) -> None:
        self._end = None if timeout is None else time.perf_counter() + timeout * people

    @property
    def seconds_left(self) -> float:
        """The seconds until then: 0 or less where it has passed, infinite without an end."""
        return math.inf if self._end is None else self._end - time.perf_counter()

    @property
    def passed(self) -> bool:
        return self.seconds_left <= 0

    def share(self, people: int) -> Deadline:
        """When the first of so many people has used an even share of the time that is left."""
        share = Deadline()
        share._end = None if self._end is None else time.perf_counter() + self.seconds_left / people
        return share
