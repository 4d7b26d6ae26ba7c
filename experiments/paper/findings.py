"""What became of a claim: a verdict, and the figures it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """How a claim of the paper fared."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    OPEN = "cannot be checked"


@dataclass(frozen=True)
class Finding:
    """A verdict and a sentence with the figures behind it."""

    verdict: Verdict
    reason: str


def finding(holds: bool, reason: str) -> Finding:
    """Reproduced where the claim holds, else not."""
    return Finding(Verdict.REPRODUCED if holds else Verdict.NOT_REPRODUCED, reason)
