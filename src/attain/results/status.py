"""How the search for one person ended, and how typical the answer is."""

from __future__ import annotations

from enum import Enum, IntEnum


class Status(Enum):
    """How the search for one person ended; the value is the `reason`, a sentence written for that person."""

    FOUND = "A change with the requested outcome was found."
    ALREADY_DESIRED = "The outcome is already the requested one; nothing needs to change."
    NOTHING_FREE = "Nothing in this record may change under the given constraints."
    RULES_CONFLICT = (
        "Values that may not change already violate a rule, so no answer can satisfy it; check the record and the rule."
    )
    OUT_OF_REACH = (
        "No change with the requested outcome was found within the limits of the method, the data and the "
        "constraints; looser constraints or another method may find one."
    )
    NO_CHANGE_FOUND = (
        "No allowed change with the requested outcome was found, neither near similar people nor by following the "
        "model's score; looser constraints may allow one."
    )
    SHELLS_SPENT = "The maximum number of shells was searched without success; raise `max_shells` to search further."
    NO_RECOURSE = "No allowed change flips the decision; this is certain."
    BUDGET_SPENT = (
        "The budget of model evaluations was used up before a change was found; raise `budget` to search longer."
    )
    INTERRUPTED = "The search was interrupted before it reached this record."

    @property
    def reason(self) -> str:
        return self.value

    def __str__(self) -> str:
        return self.name


class Typicality(IntEnum):
    """How typical an answer is of real people of the desired class."""

    TYPICAL = 0
    UNUSUAL = 1
    OUTSIDE = 2

    def __str__(self) -> str:
        return ("typical", "unusual", "outside what we have seen")[self.value]
