"""Which changes matter, and which inputs the decision rests on, as a result stores and shows them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from attain.results.record import Record

WAITING: Final = "waiting"
"""What plots and reports call the time that an option takes beyond what its changes need."""
_WEIGHTY: Final = 0.1
"""What counts against a person has at least this share of the weight of the first."""


@dataclass(frozen=True, eq=False)
class Importances:
    """One entry for each changed cell of each option, but for clocks.

    Attributes
    ----------
    option, column
        The position of the option among all, and of the feature, (r,).
    gain
        The share of the score gained that is due to this change, (r,): its Shapley value. NaN for a cell that follows
        others, whose part is in their gain, and where the model fails on a record on the way.
    for_decision
        Whether the decision does not flip without this change, all others carried out, (r,): 0 or 1.
    to_stay_typical
        Whether it does, but to a record of a lower level of typicality, (r,): 0 or 1; NaN without a guard.
    only_typical
        Whether that holds, and the decision flips without all such changes of the option together, (r,): 0 or 1.
    """

    option: np.ndarray
    column: np.ndarray
    gain: np.ndarray
    for_decision: np.ndarray
    to_stay_typical: np.ndarray
    only_typical: np.ndarray

    def state(self) -> dict[str, Any]:
        """For JSON."""
        return {name: [_plain(cell) for cell in value.tolist()] for name, value in vars(self).items()}


@dataclass(frozen=True, eq=False)
class Attributions:
    """For each of p people, what each of c scored inputs contributes to their score.

    Those are missing whose record cannot be read, or with whom the model fails on a record composed of two.

    Attributes
    ----------
    scale
        What the score is, in words: "lead in probability", "log-odds", …
    people
        How many real people with the desired decision the person is compared with.
    person, column
        The positions of the people, (p,), and of the inputs, (c,).
    contribution
        The Shapley value of the input, (p, c): negative where it speaks against the desired decision.
    error
        The half-width of its 95 % interval over other people to compare with, (p, c).
    free
        Whether the input may change, (p, c).
    """

    scale: str
    people: int
    person: np.ndarray
    column: np.ndarray
    contribution: np.ndarray
    error: np.ndarray
    free: np.ndarray

    def state(self) -> dict[str, Any]:
        """For JSON."""
        listed = {name: getattr(self, name).tolist() for name in ("person", "column", "contribution", "free")}
        error = [[_plain(cell) for cell in row] for row in self.error.tolist()]
        return {"scale": self.scale, "people": self.people, **listed, "error": error}

    def against(self, p: int) -> list[int]:
        """The inputs, as places in `column`, that count most against the person at place p, the weightiest first.

        Those with less than a tenth of the weight of the first are left out.
        """
        weights = self.contribution[p]
        order = np.argsort(weights, kind="stable")
        return [int(c) for c in order if weights[c] < 0 and weights[c] <= _WEIGHTY * weights.min()]

    def entries(self, record: Record) -> list[dict[str, Any]]:
        """One dictionary for each person and input, with the columns of `contributions`; most against first."""
        order = np.argsort(self.contribution, axis=1, kind="stable")
        return [
            self._entry(record, p, int(c), rank + 1) for p, ranked in enumerate(order) for rank, c in enumerate(ranked)
        ]

    def _entry(self, record: Record, p: int, c: int, rank: int) -> dict[str, Any]:
        position, feature = int(self.person[p]), record.table.schema.features[self.column[c]]
        return {
            "person": record.table.labels[position],
            "feature": feature.name,
            "label": feature.title,
            "value": record.table.layout.value(feature.name, float(record.table.values[position, self.column[c]])),
            "contribution": float(self.contribution[p, c]),
            "error": _plain(float(self.error[p, c])),
            "rank": rank,
            "free": bool(self.free[p, c]),
        }


def _plain(cell: float) -> float | None:
    return None if math.isnan(cell) else cell
