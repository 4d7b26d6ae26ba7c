"""Answers made of other rows' values: the note that goes with them, and which repeat a row exactly."""

from __future__ import annotations

import numpy as np

REAL_VALUES = (
    "New values in these answers are those of real people in the training data; `copies_a_person` marks answers that "
    "repeat somebody's free cells exactly. Do not show them to others if the records are confidential."
)
"""Note for results whose answers reuse values of training rows."""


class Copies:
    """Recognises rows that equal a known one, cell by cell."""

    def __init__(self, rows: np.ndarray) -> None:
        self._known = set(_keys(rows))

    def of(self, rows: np.ndarray) -> np.ndarray:
        """1 for each row that is among the known ones, else 0."""
        return np.array([key in self._known for key in _keys(rows)], dtype=np.float64)


def _keys(rows: np.ndarray) -> list[bytes]:
    plain = np.where(np.isnan(rows), np.nan, rows) + 0.0  # one bit pattern for NaN, and no negative zero
    return [row.tobytes() for row in plain]
