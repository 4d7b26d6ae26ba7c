"""What became of a claim: a verdict, on which seeds each part of it holds, and the figures behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

_FEW: Final = 5
"""A part holds if it fails on at most one seed in this many, and does not if it holds on at most one."""


class Verdict(Enum):
    """How a claim of the paper fared."""

    REPRODUCED = "reproduced"
    PARTLY = "partly reproduced"
    NOT_REPRODUCED = "not reproduced"
    ERRS = "the paper errs here"
    OPEN = "cannot be checked"


@dataclass(frozen=True)
class Part:
    """One test of a claim.

    Attributes
    ----------
    where
        The data set, or the reading of it.
    what
        What is tested.
    holds
        Whether it holds, by seed.
    other
        The method that it is tested against, if there is one.
    """

    where: str
    what: str
    holds: tuple[bool, ...]
    other: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether it holds on most seeds, on few, or on some."""
        seeds, holding = len(self.holds), sum(self.holds)
        if _FEW * (seeds - holding) <= seeds:
            return Verdict.REPRODUCED
        return Verdict.NOT_REPRODUCED if _FEW * holding <= seeds else Verdict.PARTLY


@dataclass(frozen=True)
class Finding:
    """A verdict, its parts, and a sentence with the figures behind them."""

    verdict: Verdict
    figures: str
    parts: tuple[Part, ...] = ()

    @property
    def seeds(self) -> str:
        """What holds and what does not, with the number of seeds on which it does."""
        told = {
            Verdict.REPRODUCED: "Holds",
            Verdict.PARTLY: "Holds on some seeds",
            Verdict.NOT_REPRODUCED: "Does not hold",
        }
        return " ".join(f"{word}: {_listed(self.parts, verdict)}." for verdict, word in told.items()
                        if any(part.verdict is verdict for part in self.parts))  # fmt: skip


def _listed(parts: Sequence[Part], verdict: Verdict) -> str:
    """The parts with this verdict: those of one place together, and in it those that test the same."""
    places: dict[str, dict[str, list[str]]] = {}
    for part in parts:
        if part.verdict is verdict:
            seeds = f"({sum(part.holds)}/{len(part.holds)})"
            places.setdefault(part.where, {}).setdefault(part.what, []).append(f"{part.other} {seeds}".strip())
    return "; ".join(
        (f"{place}: " if place else "") + "; ".join(f"{what} {', '.join(others)}" for what, others in tests.items())
        for place, tests in places.items()
    )


def judged(parts: Iterable[Part], figures: str) -> Finding:
    """Reproduced if every part holds, not reproduced if none does, else partly."""
    known = tuple(parts)
    verdicts = {part.verdict for part in known}
    return Finding(verdicts.pop() if len(verdicts) == 1 else Verdict.PARTLY, figures, known)


def errs(holds: bool, counterexample: str) -> Finding:
    """The paper errs, unless the statement holds after all."""
    return Finding(Verdict.REPRODUCED if holds else Verdict.ERRS, counterexample)
