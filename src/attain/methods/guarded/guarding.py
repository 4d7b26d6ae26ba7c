"""What a guarded explainer keeps: rows held out for calibration, and a guard for each model and target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from attain.core.errors import AttainError, DataError, FileError
from attain.core.frames import Frame
from attain.methods.guarded.surrogate import Surrogate
from attain.methods.search.pool import rank_within
from attain.methods.search.streams import row_key
from attain.models import GoalLike
from attain.population.guard import LEAST, Guard, Setting
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.schema import Schema
from attain.tables import Table, desired_labels, read_labels

HELD_OUT: Final = 0.2
"""The share of the training rows that neither guard nor autoencoder sees, where no calibration rows are given."""
_STREAM: Final = 0xCA11B8A7E
"""Keeps the draw of calibration rows apart from other uses of the seed."""
OWN_ROWS: Final = (
    "The guard was calibrated on the model's own training rows, which it may know better than new people; pass "
    "calibration= to fit for rows it never saw."
)
TOO_FEW_HELD_OUT: Final = (
    f"Fewer than {LEAST} real people of the desired class could be held out, so the guard was calibrated on those it "
    "was fitted on: its stated rate is only approximate."
)
AUTOENCODER_SAW: Final = (
    "The autoencoder was fitted before, perhaps on rows that the guard was calibrated on, so that the guard's stated "
    "rate is only approximate; pass an autoencoder that is not fitted, or calibration= with rows that it never saw."
)
NO_GUARD: Final = (
    f"Fewer than {LEAST} different real rows of the desired class are known, so the guard was fitted on all training "
    "rows, whatever their class: no answer counts as typical or unusual."
)


@dataclass(frozen=True)
class Calibration:
    """Rows that the guard is calibrated on, in original units, and their labels where they are known."""

    values: np.ndarray
    labels: np.ndarray | None

    @classmethod
    def read(cls, given: Any, schema: Schema, fitted_labels: np.ndarray | None) -> Calibration:
        """The calibration rows of `fit(…, calibration=…)`: a frame, or a frame and its labels where `fit` had some."""
        pair = given if isinstance(given, tuple) else (given, None)
        if len(pair) != 2:
            raise AttainError(
                f"calibration is a tuple of {len(pair)}; it takes a frame, or a frame and its labels: (X, y)"
            )
        frame: Frame = pair[0]
        table = Table.read(frame, schema, "calibration")
        if fitted_labels is not None and pair[1] is None:
            raise DataError(
                "calibration has no labels, but fit had y: the guard's people are labelled, so those it is calibrated "
                "on must be; pass calibration=(X, y)"
            )
        return cls(table.values, None if pair[1] is None else read_labels(pair[1], table.labels))


def held_out(values: np.ndarray, labels: np.ndarray | None, seed: int) -> np.ndarray:
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
    drawn = [row_key(row if not k else np.append(row, k), seed ^ _STREAM) for row, k in zip(values, copy, strict=True)]
    return np.array(drawn, dtype=object) < HELD_OUT * 2**128


@dataclass(frozen=True)
class Guarding:
    """A guard for one model and target, and the line through its scores; None where too few real people are known."""

    guard: Guard
    surrogate: Surrogate
    known: bool
    """Whether enough real rows of the desired class are known; if not, the guard is that of all training rows."""
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        goal: GoalLike,
        setting: Setting,
        values: np.ndarray,
        met: np.ndarray,
        labels: np.ndarray | None,
        calibration: Calibration | None,
        seed: int,
        space: MeasuringSpace,
        density: Any,
    ) -> Guarding:
        """The guard of the training rows for a model and target."""
        desired = np.ones(len(values), dtype=bool) if labels is None else desired_labels(labels, goal.target)
        aside = np.zeros(len(values), dtype=bool) if calibration is not None else held_out(values, labels, seed)
        reference = Reference.build(
            space.schema,
            values[~aside],
            desired_labels=None if labels is None else desired[~aside],
            met=met[~aside],
            space=space,
        )
        surrogate = Surrogate.fit(goal, values, space)
        if len(reference) < LEAST:
            everybody = Reference.build(space.schema, values, met=np.ones(len(values), dtype=bool), space=space)
            return cls(Guard.fit(setting, everybody, values[:0], density), surrogate, False, (NO_GUARD,))
        rows = values[aside & met & desired] if calibration is None else _wanted(calibration, goal, labels)
        guard = Guard.fit(setting, reference, rows, density)
        notes = (OWN_ROWS,) if calibration is None else ()
        return cls(guard, surrogate, True, notes if guard.held_out else (TOO_FEW_HELD_OUT,))


def _wanted(calibration: Calibration, goal: GoalLike, labels: np.ndarray | None) -> np.ndarray:
    """The calibration rows that are real people of the desired class, chosen like the guard's own."""
    met = goal.judge(calibration.values).met
    if labels is not None and calibration.labels is not None:
        met = met & desired_labels(calibration.labels, goal.target)
    return calibration.values[met]


def learned(calibration: Calibration | None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The calibration rows as JSON and arrays, for a file."""
    if calibration is None:
        return {}, {}
    labels = None if calibration.labels is None else calibration.labels.tolist()
    return {"calibration_labels": labels}, {"calibration": calibration.values}


def restored(
    facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray], schema: Schema, fitted_labels: np.ndarray | None
) -> Calibration | None:
    """The calibration rows that `learned` wrote."""
    if "calibration" not in arrays:
        return None
    values, labels = arrays["calibration"], facts["calibration_labels"]
    if values.ndim != 2 or values.shape[1] != len(schema) or values.dtype != np.float64:
        raise FileError("the file's calibration rows do not fit its schema")
    if labels is None:
        if fitted_labels is not None:
            raise FileError("the file has labels, but none for its calibration rows")
        return Calibration(values, None)
    if (
        not isinstance(labels, list)
        or len(labels) != len(values)
        or any(isinstance(one, list | dict) for one in labels)
    ):
        raise FileError("the file has not one calibration label for each row")
    read = np.empty(len(labels), dtype=object)
    read[:] = labels
    return Calibration(values, read)
