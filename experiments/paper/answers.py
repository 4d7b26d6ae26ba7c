"""Answers as they are kept between runs: who was asked, what came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from experiments.store import Artifact


@dataclass(frozen=True, eq=False)
class Answers:
    """One method's answers for some people.

    Attributes
    ----------
    people
        The position of each among the held-out people.
    rows
        The answers as rows of the matrix; NaN where there is none.
    found
        Who has one.
    moved
        How far in latent space, where the method searches there.
    """

    people: np.ndarray
    rows: np.ndarray
    found: np.ndarray
    moved: np.ndarray | None = None

    @classmethod
    def of(cls, part: Artifact) -> Answers:
        """The answers that a part holds."""
        return cls(part.arrays["people"], part.arrays["rows"], part.arrays["found"], part.arrays.get("moved"))

    def among(self, people: np.ndarray) -> Answers:
        """The answers of those who are among these people."""
        kept = np.isin(self.people, people)
        moved = None if self.moved is None else self.moved[kept]
        return Answers(self.people[kept], self.rows[kept], self.found[kept], moved)


def kept(result: Counterfactuals, people: np.ndarray, **arrays: np.ndarray) -> Artifact:
    """A result as a part; a search that was stopped is none."""
    if Status.INTERRUPTED in result.statuses:
        raise KeyboardInterrupt
    facts: dict[str, Any] = {"method": result.method}
    return Artifact(facts, {"people": np.asarray(people), "rows": result.answers, "found": result.found, **arrays})
