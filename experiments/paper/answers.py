"""Answers as they are stored: which rows were explained, and the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from experiments.store import Artifact


@dataclass(frozen=True, eq=False)
class Answers:
    """One method's answers for some rows.

    Attributes
    ----------
    people
        The position of each row in the held-out data.
    rows
        The answers as rows of the matrix; NaN without one.
    found
        Which rows have one.
    moved
        How far in latent space, if the method searches there.
    """

    people: np.ndarray
    rows: np.ndarray
    found: np.ndarray
    moved: np.ndarray | None = None

    @classmethod
    def of(cls, artifact: Artifact) -> Answers:
        """The answers in an artifact."""
        arrays = artifact.arrays
        return cls(arrays["people"], arrays["rows"], arrays["found"], arrays.get("moved"))

    def among(self, people: np.ndarray) -> Answers:
        """The answers for these rows only."""
        kept = np.isin(self.people, people)
        moved = None if self.moved is None else self.moved[kept]
        return Answers(self.people[kept], self.rows[kept], self.found[kept], moved)


def kept(result: Counterfactuals, people: np.ndarray, **arrays: np.ndarray) -> Artifact:
    """A result as an artifact; raises if the search was interrupted."""
    if Status.INTERRUPTED in result.statuses:
        raise KeyboardInterrupt
    facts: dict[str, Any] = {"method": result.method}
    return Artifact(facts, {"people": np.asarray(people), "rows": result.answers, "found": result.found, **arrays})
