"""How the search for one person ended, and what an answer is like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum, IntEnum, StrEnum
from typing import Final, Literal


class Status(Enum):
    """How the search for one person ended; the value is the `reason`, a sentence written for that person."""

    FOUND = "A change that leads to the requested decision was found."
    ALREADY_DESIRED = "The decision is already the requested one; nothing needs to change."
    NOTHING_FREE = "Nothing in this record may change."
    RULES_CONFLICT = (
        "Values that may not change break a rule that every suggestion must keep; check the record and the rule."
    )
    OUT_OF_REACH = "We found nothing that leads to the requested decision within what may change."
    NO_CHANGE_FOUND = "We found nothing that leads to the requested decision."
    SHELLS_SPENT = "We found nothing that leads to the requested decision near this record."
    NO_RECOURSE = "Nothing that you may change is enough for the requested decision."
    BUDGET_SPENT = "We found nothing that leads to the requested decision before the search reached its limit."
    TIME_SPENT = "We found nothing that leads to the requested decision before the time was up."
    UNREADABLE = "This record cannot be read and must be corrected first."
    FAILED = "A technical error ended the search for this record."
    INTERRUPTED = "The search was interrupted before it reached this record."

    @property
    def reason(self) -> str:
        return self.value

    @property
    def remedy(self) -> str:
        """What whoever runs the search can do about it; empty where there is nothing."""
        return _REMEDIES.get(self, "")

    def __str__(self) -> str:
        return self.name


_REMEDIES = {
    Status.OUT_OF_REACH: "Looser constraints or another method may find one.",
    Status.NO_CHANGE_FOUND: "Looser constraints may allow one.",
    Status.SHELLS_SPENT: "Raise `max_shells` to search further.",
    Status.BUDGET_SPENT: "Raise `budget` to search longer.",
    Status.TIME_SPENT: "Raise `timeout` to wait longer.",
    Status.UNREADABLE: "`result.problems` says what is wrong with each record.",
    Status.FAILED: '`result.problems` has the error of each; `errors="raise"` raises it.',
}


class Purpose(IntEnum):
    """What an option is for, where the smallest change that flips the decision is another one than the typical."""

    NONE = 0
    TYPICAL = 1
    SMALLEST = 2

    def __str__(self) -> str:
        return ("", "typical", "smallest")[self.value]


class Typicality(IntEnum):
    """The levels of the guard's figure `typicality`."""

    TYPICAL = 0
    UNUSUAL = 1
    OUTSIDE = 2


class Verdict(StrEnum):
    """What a record is like beside real people with the desired decision: the one word that people read about it.

    Where a method has no guard, a record is typical that is connected to real people and no local outlier, unusual if
    one of the two fails, and unlike anybody if both do. A record with columns that contradict each other contradicts
    itself, whatever else is known about it.
    """

    TYPICAL = "typical"
    UNUSUAL = "unusual"
    UNLIKE = "unlike anybody"
    CONTRADICTORY = "contradicts itself"

    @classmethod
    def of(cls, level: float) -> Verdict | None:
        """The verdict on a record of this level of typicality; None for NaN."""
        return None if math.isnan(level) else list(cls)[int(level)]

    @property
    def tone(self) -> Literal["good", "fair", "bad"]:
        """The tone of the verdict in pages and plots."""
        return _TONES.get(self, "bad")


_TONES: Final[Mapping[Verdict, Literal["good", "fair"]]] = {Verdict.TYPICAL: "good", Verdict.UNUSUAL: "fair"}
