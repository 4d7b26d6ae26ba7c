"""How the search for one person ended, and what an answer is like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum, IntEnum, StrEnum
from typing import Final, Literal


class Status(Enum):
    """How the search for one person ended.

    Attributes
    ----------
    short
        The ending in few words.
    reason
        A sentence written for the person.
    remedy
        What whoever runs the search can do about it; empty where there is nothing.
    """

    short: str
    reason: str
    remedy: str

    FOUND = "answered", "A change that leads to the requested decision was found."
    ALREADY_DESIRED = (
        "decided as asked already",
        "The decision is already the requested one; nothing needs to change.",
    )
    NOTHING_FREE = "nothing may change", "Nothing in this record may change."
    RULES_CONFLICT = (
        "rules conflict",
        "Values that may not change break a rule that every suggestion must keep; check the record and the rule.",
    )
    OUT_OF_REACH = (
        "no answer within reach",
        "We found nothing that leads to the requested decision within what may change.",
        "Looser constraints or another method may find one.",
    )
    NO_CHANGE_FOUND = (
        "no answer found",
        "We found nothing that leads to the requested decision.",
        "Looser constraints may allow one.",
    )
    SHELLS_SPENT = (
        "no answer nearby",
        "We found nothing that leads to the requested decision near this record.",
        "Raise `max_shells` to search further.",
    )
    NO_RECOURSE = "no answer exists", "Nothing that you may change is enough for the requested decision."
    BUDGET_SPENT = (
        "search limit reached",
        "We found nothing that leads to the requested decision before the search reached its limit.",
        "Raise `budget` to search longer.",
    )
    TIME_SPENT = (
        "time limit reached",
        "We found nothing that leads to the requested decision before the time was up.",
        "Raise `timeout` to wait longer.",
    )
    UNREADABLE = (
        "unreadable record",
        "This record cannot be read and must be corrected first.",
        "`result.problems` says what is wrong with each record.",
    )
    FAILED = (
        "technical error",
        "A technical error ended the search for this record.",
        '`result.problems` has the error of each; `errors="raise"` raises it.',
    )
    INTERRUPTED = "interrupted", "The search was interrupted before it reached this record."

    def __init__(self, short: str, reason: str, remedy: str = "") -> None:
        self.short, self.reason, self.remedy = short, reason, remedy

    def __str__(self) -> str:
        return self.name


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
    """How typical a record is among real people with the desired decision.

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


NOT_ADVISED: Final = (Verdict.UNLIKE, Verdict.CONTRADICTORY)
"""What answers are like that flip the decision, and yet are no advice."""


_TONES: Final[Mapping[Verdict, Literal["good", "fair"]]] = {Verdict.TYPICAL: "good", Verdict.UNUSUAL: "fair"}
