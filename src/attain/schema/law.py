"""One law, and what it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Law:
    """A rule that was found in data, and the evidence for it. Two laws are equal if their texts are.

    Attributes
    ----------
    text
        The law in the language of rules: ``a <= b``, ``if owner = no then mortgage = 0``.
    sentence
        What it says, for people.
    applies
        The number of rows that it says something about: rows in which its condition holds and its numbers are known.
    broken
        The number of those that break it.
    expected
        The number that would break it if its columns were independent.
    rate
        An upper bound (95 %) of the share of new rows, among those it applies to, that break it.

    The evidence is None for a law that was read from a file or written by a person.
    """

    text: str
    sentence: str = field(default="", compare=False)
    applies: int | None = field(default=None, compare=False)
    broken: int | None = field(default=None, compare=False)
    expected: float | None = field(default=None, compare=False)
    rate: float | None = field(default=None, compare=False)

    @classmethod
    def restored(cls, entry: Any) -> Law:
        """The law whose fields these are, or a `TypeError` or `ValueError` where they are of other types."""
        law = cls(**entry)
        texts, numbers = (law.text, law.sentence), (law.applies, law.broken, law.expected, law.rate)
        if not all(isinstance(one, str) for one in texts) or not all(_is_evidence(one) for one in numbers):
            raise ValueError("a law has the wrong type")
        return law

    def __str__(self) -> str:
        return f"{self.text} ({self.evidence})" if self.evidence else self.text

    @property
    def evidence(self) -> str:
        """What it rests on, in words; empty where that is unknown."""
        if self.applies is None or self.broken is None or self.expected is None or self.rate is None:
            return ""
        holds = f"all but {self.broken:,} of {self.applies:,}" if self.broken else f"{self.applies:,}"
        return (
            f"holds for {holds} people; by chance {self.expected:,.0f} would break it; "
            f"at most {100 * self.rate:.2g} % of new people do"
        )


def _is_evidence(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))
