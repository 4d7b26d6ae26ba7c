"""Which changes matter, and which inputs the decision rests on, as a result stores and shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from attain.results.record import Record

IMPORTANCE: Final = (
    *("person", "option", "feature", "label", "gain", "per_point"),
    *("needed_for_decision", "needed_to_stay_typical", "needed_by_law"),
)
"""The columns of `Counterfactuals.importance`."""


@dataclass(frozen=True, eq=False)
class Importances:
    """One entry for each changed cell of each option.

    Attributes
    ----------
    option, column
        The position of the option among all, and of the feature, (r,).
    gain
        The share of the score gained that is due to this change, (r,): its Shapley value. NaN for a cell that follows
        others, whose part is in their gain.
    for_decision
        Whether the decision does not flip without this change, all others carried out, (r,): 0 or 1.
    to_stay_typical
        Whether it does, but to a record of a lower level of typicality, (r,): 0 or 1; NaN without a guard.
    """

    option: np.ndarray
    column: np.ndarray
    gain: np.ndarray
    for_decision: np.ndarray
    to_stay_typical: np.ndarray

    def state(self) -> dict[str, Any]:
        """For JSON; `restore` reads it."""
        return {name: [_plain(cell) for cell in value.tolist()] for name, value in vars(self).items()}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Importances:
        integers = ("option", "column")
        return cls(**{name: np.array(state[name], dtype=np.intp if name in integers else float) for name in state})

    def entries(self, record: Record) -> list[dict[str, Any]]:
        """One dictionary for each entry, with the columns of `importance`."""
        by_law = record.needed_by_law
        return [self._entry(record, r, bool(by_law[self.option[r], self.column[r]])) for r in range(len(self.option))]

    def _entry(self, record: Record, r: int, by_law: bool) -> dict[str, Any]:
        i, j, gain = int(self.option[r]), int(self.column[r]), float(self.gain[r])
        feature, points = record.table.schema.features[j], 100 * float(record.percentiles[2][i, j])
        return {
            "person": record.table.labels[int(record.owners[i])],
            "option": int(record.ranks[i]),
            "feature": feature.name,
            "label": feature.title,
            "gain": _plain(gain),
            "per_point": _plain(round(gain / points, 9)) if points > 0 else None,
            "needed_for_decision": bool(self.for_decision[r]),
            "needed_to_stay_typical": None if math.isnan(self.to_stay_typical[r]) else bool(self.to_stay_typical[r]),
            "needed_by_law": by_law,
        }


def _plain(cell: float) -> float | None:
    return None if math.isnan(cell) else cell
