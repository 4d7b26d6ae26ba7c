"""How the search for one person ended, and how usual the answer is."""

from __future__ import annotations

from enum import Enum, IntEnum


class Status(Enum):
    """How the search for one person ended; the value is the sentence a person reads."""

    FOUND = "A change that brings what was asked for was found."
    ALREADY_DESIRED = "What was asked for is already so; nothing needs to change."
    NOTHING_FREE = "Nothing in this record may change under the rules given, so no other decision can be reached."
    RULES_CONFLICT = (
        "Values of this record that may not change already break a rule between features, so no answer can keep it; "
        "look at the record, or at the rule."
    )
    OUT_OF_REACH = (
        "The search went as far as the method, the data and the rules allow, and found no change that brings what was "
        "asked for; looser constraints or another method may still find one."
    )
    NO_CHANGE_FOUND = (
        "No attainable change was found: near real people, in the latent space, and by climbing the model's score, "
        "nothing that may change brings what was asked for."
    )
    SHELLS_SPENT = (
        "The largest number of shells was searched without a change that brings what was asked for; raise `max_shells` "
        "to search farther."
    )
    NO_RECOURSE = "It is certain that no allowed change turns the decision."
    BUDGET_SPENT = (
        "The budget of rows scored was spent before a change that brings what was asked for was found; raise `budget` "
        "to search longer."
    )
    TIME_LIMIT = "The time limit was reached before a change that brings what was asked for was found."
    INTERRUPTED = "The search was interrupted before it came to this person."

    def __str__(self) -> str:
        return self.value


class Level(IntEnum):
    """How usual an answer is among real people of the desired class."""

    TYPICAL = 0
    UNUSUAL = 1
    OUTSIDE = 2

    def __str__(self) -> str:
        return ("typical", "unusual", "outside what we have seen")[self.value]
