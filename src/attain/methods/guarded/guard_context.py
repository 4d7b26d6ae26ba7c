"""What the guard of a model and target is fitted on: calibration rows, held-out rows, real rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.core.arrays import rank_within
from attain.core.errors import AttainError, DataError, FileError
from attain.core.frames import Frame
from attain.methods.guarded.settings import GuardedSettings
from attain.models import Goal
from attain.population.guard import Guard, Setting
from attain.population.population import DecidedPopulation, Population
from attain.schema import Schema
from attain.search.moves import row_hashes
from attain.tables import Table, desired_labels, read_labels

OWN_ROWS = (
    "Typicality was calibrated on the model's own training rows, which it may know better than new rows; rows "
    "that it never saw can be given as `calibration` when fitting."
)
TOO_FEW_HELD_OUT = (
    "Fewer than {} real rows of the desired class could be held out, so typicality was calibrated on the rows that "
    "answers are compared with: it is only approximate."
)
NO_GUARD = (
    "Fewer than {} different real rows of the desired class are known, so answers were compared with all training "
    "rows, whatever their class: none counts as typical or unusual."
)

_STREAM = 0xCA11B8A7E
"""Separates the draw of calibration rows from other uses of the seed."""


@dataclass(frozen=True)
class Calibration:
    """Rows that the guard is calibrated on (n, d), and their labels (n,) where they are known."""

    values: np.ndarray
    labels: np.ndarray | None

    @classmethod
    def read(cls, given: Any, schema: Schema, fitted_labels: np.ndarray | None) -> Calibration:
        """The rows of `fit(…, calibration=…)`: a frame, or a frame and its labels."""
        pair = given if isinstance(given, tuple) else (given, None)
        if len(pair) != 2:
            raise AttainError(
                f"calibration must be a frame, or a frame and its labels (X, y), got a tuple of {len(pair)}"
            )
        frame: Frame = pair[0]
        table = Table.read(frame, schema, "calibration")
        if fitted_labels is not None and pair[1] is None:
            raise DataError("calibration has no labels, but fit had y; pass calibration=(X, y)")
        return cls(table.values, None if pair[1] is None else read_labels(pair[1], table.labels))

    def desired(self, goal: Goal, labelled: bool) -> np.ndarray:
        """The rows of the desired class: by the model and, where the guard's rows are `labelled`, by their labels."""
        met = goal.score_rows(self.values).met
        if labelled and self.labels is not None:
            met = met & desired_labels(self.labels, goal.target)
        return self.values[met]

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The rows and labels as JSON and arrays."""
        labels = None if self.labels is None else self.labels.tolist()
        return {"calibration_labels": labels}, {"calibration": self.values}

    @classmethod
    def restore(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray], training: Population) -> Calibration:
        """The rows and labels that `state` gave."""
        values, labels = arrays["calibration"], facts["calibration_labels"]
        if values.ndim != 2 or values.shape[1] != len(training.schema) or values.dtype != np.float64:
            raise FileError("the file's calibration rows do not fit its schema")
        if labels is None and training.labels is None:
            return cls(values, None)
        plain = isinstance(labels, list) and not any(isinstance(label, list | dict) for label in labels)
        if not plain or len(labels) != len(values):
            raise FileError("the file does not have one label for each calibration row")
        read = np.empty(len(labels), dtype=object)
        read[:] = labels
        return cls(values, read)


def held_out(
    values: np.ndarray,
    labels: np.ndarray | None,
    seed: int,
    settings: GuardedSettings = GuardedSettings(),  # noqa: B008
) -> np.ndarray:
    """Which training rows (n,) are kept for calibration, whatever their order.

    Each is drawn by its content and its number among its copies, ordered by label, so that a calibration row has a
    copy among the others as often as a new row has.
    """
    canonical = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN, and no negative zero
    keys = np.ascontiguousarray(canonical).view(np.dtype((np.void, canonical.shape[1] * canonical.itemsize))).ravel()
    same = np.unique(keys, return_inverse=True)[1]
    label = np.zeros(len(values)) if labels is None else np.unique(labels.astype(str), return_inverse=True)[1]
    order = np.lexsort((label, same))
    copy = np.empty(len(values), dtype=np.intp)
    copy[order] = rank_within(same[order])
    seed ^= _STREAM
    limit, chosen = settings.held_out * 2**128, np.empty(len(values), dtype=bool)
    first = copy == 0
    chosen[first] = [key < limit for key in row_hashes(values[first], seed)]
    others = np.column_stack((values, copy))[~first]
    chosen[~first] = [key < limit for key in row_hashes(others, seed)]
    return chosen


@dataclass(frozen=True)
class GuardContext:
    """The guard for one model and target.

    Attributes
    ----------
    known
        Whether enough real rows of the desired class are known; if not, the guard is that of all training rows.
    notes
        What a reader of the answers must know about the guard.
    """

    guard: Guard
    known: bool
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        decided: DecidedPopulation,
        setting: Setting,
        calibration: Calibration | np.ndarray,
        settings: GuardedSettings,
    ) -> GuardContext:
        """The guard of the training rows of the desired class, but for those that it is calibrated on.

        `calibration` has rows given for that purpose, or says which training rows (n,) are kept for it.
        """
        population, least = decided.population, settings.guard.min_rows
        given = calibration if isinstance(calibration, Calibration) else None
        left_out = np.zeros(len(population.values), dtype=bool) if isinstance(calibration, Calibration) else calibration
        reference = decided.reference_without(left_out)
        if len(reference) < least:
            guard = Guard.fit(setting, population.distinct, population.values[:0], settings.guard)
            return cls(guard, False, (NO_GUARD.format(least),))
        labelled = population.labels is not None
        rows = given.desired(decided.goal, labelled) if given else population.values[left_out & decided.desired]
        guard = Guard.fit(setting, reference, rows, settings.guard)
        notes = () if given else (OWN_ROWS,)
        return cls(guard, True, notes if guard.held_out else (TOO_FEW_HELD_OUT.format(least),))
