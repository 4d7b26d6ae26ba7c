"""How the search for one person ended, and how typical the answer is."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Literal


class Status(Enum):
    """How the search for one person ended; the value is the `reason`, a sentence written for that person."""

    FOUND = "A change that leads to the requested decision was found."
    ALREADY_DESIRED = "The decision is already the requested one; nothing needs to change."
    NOTHING_FREE = "Nothing in this record may change."
    RULES_CONFLICT = (
        "Values that may not change break a rule that every suggestion must keep; check the record and the rule."
    )
    OUT_OF_REACH = "No change that leads to the requested decision was found within what may change."
    NO_CHANGE_FOUND = (
        "No change that leads to the requested decision was found within what may change, neither among the records of "
        "similar people nor step by step from this one."
    )
    SHELLS_SPENT = "No change that leads to the requested decision was found within the distance that was searched."
    NO_RECOURSE = "No allowed change leads to the requested decision; this is certain."
    BUDGET_SPENT = "The search reached its limit before it found a change that leads to the requested decision."
    TIME_SPENT = "The search ran out of time before it found a change that leads to the requested decision."
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
    Status.UNREADABLE: "The sentence of each says what is wrong with the record.",
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
    """How typical an answer is of real people of the desired class."""

    TYPICAL = 0
    UNUSUAL = 1
    OUTSIDE = 2

    def __str__(self) -> str:
        return ("typical", "unusual", "outside what we have seen")[self.value]

    @property
    def tone(self) -> Literal["good", "fair", "bad"]:
        """The tone of the level in pages and plots."""
        tones: tuple[Literal["good"], Literal["fair"], Literal["bad"]] = ("good", "fair", "bad")
        return tones[self.value]
