"""Work counted instead of timed, which is the same on every machine, and how long tests wait for other processes."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any

PATIENCE = 1800.0
"""Seconds until a process that tests wait for is given up: nothing but hanging for ever takes as long."""
LOOKS = 60_000
"""How often tests look for what they wait for; no clock is read, and on a slow machine they wait longer."""


class Calls:
    """Calls of functions, in Python and in C, within a `counted` block."""

    number, last = 0, math.inf

    def perf_counter(self) -> float:
        """A clock on which every call takes two microseconds."""
        return self.number * 2e-6

    def _count(self, _: Any, event: str, __: Any) -> None:
        self.number += event in ("call", "c_call")
        if self.number >= self.last:
            raise KeyboardInterrupt  # and Python counts no further


@contextmanager
def counted() -> Iterator[Calls]:
    """Counts calls in this thread until the block ends."""
    with interrupted_at(math.inf) as found:
        yield found


@contextmanager
def interrupted_at(number: float) -> Iterator[Calls]:
    """Counts calls, and interrupts the one of that number as Ctrl-C does."""
    found, before = Calls(), sys.getprofile()
    found.last = number
    sys.setprofile(found._count)
    try:
        yield found
    finally:
        sys.setprofile(before)


def calls_of(work: Callable[[], Any]) -> int:
    """The number of calls that some work makes."""
    with counted() as found:
        work()
    return found.number


class Name(str):
    """A text that counts how often any of its kind is compared with another text."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def wait_for(condition: Callable[[], Any]) -> Any:
    """Waits until a condition holds, and returns what it gave."""
    for _ in range(LOOKS):
        if found := condition():
            return found
        sleep(0.01)
    raise AssertionError("it does not come")
