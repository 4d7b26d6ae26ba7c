"""What the guard of a model and target is fitted on: calibration rows, held-out rows, real rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from attain.core.errors import AttainError, DataError, FileError
from attain.core.frames import Frame
from attain.methods.guarded.settings import GuardedSettings
from attain.methods.guarded.surrogate import Surrogate
from attain.methods.search.pool import rank_within
from attain.methods.search.streams import row_keys
from attain.models import GoalLike
from attain.models.structure.linear import LinearScore
from attain.models.structure.sweeps import Sweep
from attain.population.guard import Density, Guard, Setting
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.schema import Schema
from attain.tables import Table, desired_labels, read_labels

OWN_ROWS = (
    "Typicality was calibrated on the model's own training rows, which it may know better than new rows; rows "
    "that it never saw can be given as `calibration` when fitting."
)
DENSITY_SAW = (
    "The density was fitted before, perhaps on rows that typicality was calibrated on, so that it is only "
    "approximate; pass a density that is not fitted, or calibration= with rows that it never saw."
)
TOO_FEW_HELD_OUT = (
    "Fewer than {} real rows of the desired class could be held out, so typicality was calibrated on the rows that "
    "answers are compared with: it is only approximate."
)
NO_GUARD = (
    "Fewer than {} different real rows of the desired class are known, so answers were compared with all training "
    "rows, whatever their class: none counts as typical or unusual."
)


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

    def desired(self, goal: GoalLike, labelled: bool) -> np.ndarray:
        """The rows of the desired class: by the model and, where the guard's rows are `labelled`, by their labels."""
        met = goal.judge(self.values).met
        if labelled and self.labels is not None:
            met = met & desired_labels(self.labels, goal.target)
        return self.values[met]

    def _labelled(self, label: Any) -> np.ndarray:
        """The rows with a label; all of them without labels."""
        return self.values if self.labels is None else self.values[[one == label for one in self.labels]]

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The rows and labels as JSON and arrays."""
        labels = None if self.labels is None else self.labels.tolist()
        return {"calibration_labels": labels}, {"calibration": self.values}

    @classmethod
    def restore(
        cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray], schema: Schema, labelled: bool
    ) -> Calibration:
        """The rows and labels that `state` gave; `labelled` says whether the training rows have labels."""
        values, labels = arrays["calibration"], facts["calibration_labels"]
        if values.ndim != 2 or values.shape[1] != len(schema) or values.dtype != np.float64:
            raise FileError("the file's calibration rows do not fit its schema")
        if labels is None and not labelled:
            return cls(values, None)
        plain = isinstance(labels, list) and not any(isinstance(label, list | dict) for label in labels)
        if not plain or len(labels) != len(values):
            raise FileError("the file does not have one label for each calibration row")
        read = np.empty(len(labels), dtype=object)
        read[:] = labels
        return cls(values, read)


@dataclass(frozen=True)
class CalibrationScores:
    """Scores of real calibration rows, without the rows: for guards that are made of stand-ins for real rows.

    The scores of rows of a label were taken among all stand-ins of that label, because the model is not known when an
    explainer is saved.

    Attributes
    ----------
    setting
        The guard's setting that they are scores of.
    labels
        The labels of which there were enough rows; a single None where rows have no labels.
    scores
        Of each label, sorted.
    """

    setting: Setting
    labels: tuple[Any, ...]
    scores: tuple[np.ndarray, ...]

    @classmethod
    def fit(
        cls,
        setting: Setting,
        rows: Calibration,
        stand_ins: Calibration,
        space: MeasuringSpace,
        density: Density | None,
        settings: GuardedSettings,
    ) -> CalibrationScores:
        """The scores of real rows among stand-ins for others."""
        labels = (None,) if rows.labels is None else tuple(dict.fromkeys(rows.labels.tolist()))
        kept: list[Any] = []
        scores: list[np.ndarray] = []
        for label in labels:
            known, real = stand_ins._labelled(label), rows._labelled(label)
            if min(len(known), len(real)) < settings.guard.min_rows:
                continue
            reference = Reference.build(space.schema, known, met=np.ones(len(known), dtype=bool), space=space)
            kept.append(label)
            scores.append(Guard.fit(setting, reference, real, density, settings.guard).calibration)
        return cls(setting, tuple(kept), tuple(scores))

    def of(self, target: Any, setting: Setting) -> np.ndarray:
        """The scores of rows of the desired class; none where too few were known."""
        if setting != self.setting:
            raise AttainError(
                f"this explainer was saved with stand-ins and guard={self.setting!r}, which its scores are for; set "
                f"guard={self.setting!r}, or save it again"
            )
        found = [one for label, one in zip(self.labels, self.scores, strict=True) if label is None or label == target]
        return found[0] if found else np.empty(0)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The scores as JSON and arrays."""
        facts = {"calibrated": {"setting": self.setting, "labels": list(self.labels)}}
        return facts, {f"scores.{i:04d}": scores for i, scores in enumerate(self.scores)}

    @classmethod
    def restore(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> CalibrationScores:
        """The scores that `state` gave."""
        setting, labels = facts["calibrated"]["setting"], facts["calibrated"]["labels"]
        scores = tuple(arrays[f"scores.{i:04d}"] for i in range(len(labels)))
        for one in scores:
            usual = one.ndim == 1 and one.dtype == np.float64 and ((one >= 0) & (one <= 1)).all()
            if not usual or not (np.diff(one) >= 0).all():
                raise FileError("the file's calibration scores are not sorted numbers between 0 and 1")
        if setting not in get_args(Setting):
            raise FileError(f"the file was calibrated for the guard {setting!r}, which does not exist")
        return cls(setting, tuple(labels), scores)


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
    seed ^= settings.held_out_stream
    limit, chosen = settings.held_out * 2**128, np.empty(len(values), dtype=bool)
    first = copy == 0
    chosen[first] = [key < limit for key in row_keys(values[first], seed)]
    others = np.column_stack((values, copy))[~first]
    chosen[~first] = [key < limit for key in row_keys(others, seed)]
    return chosen


@dataclass(frozen=True)
class GuardContext:
    """The guard, the surrogate and the score for one model and target.

    Attributes
    ----------
    linear
        The score of a linear model, where the easiest answer is wanted.
    sweep
        Which values of single features flip the decision, where the model is compiled.
    accepted
        All training rows that the model decides for, whatever their labels, (n, d): starts where there are no others.
    known
        Whether enough real rows of the desired class are known; if not, the guard is that of all training rows.
    notes
        What a reader of the answers must know about the guard.
    """

    guard: Guard
    surrogate: Surrogate
    accepted: np.ndarray
    known: bool
    notes: tuple[str, ...]
    linear: LinearScore | None = None
    sweep: Sweep | None = None

    @classmethod
    def of(
        cls,
        goal: GoalLike,
        setting: Setting,
        values: np.ndarray,
        judged: tuple[np.ndarray, np.ndarray],
        labels: np.ndarray | None,
        calibration: Calibration | CalibrationScores | None,
        aside: np.ndarray,
        space: MeasuringSpace,
        density: Density | None,
        settings: GuardedSettings,
    ) -> GuardContext:
        """The guard of the training rows (n, d), `judged` to meet the goal and scored, (n,) each.

        Without calibration rows, it is calibrated on the training rows that are `aside`, (n,).
        """
        met, _ = judged
        desired = met if labels is None else met & desired_labels(labels, goal.target)
        reference = Reference.build(
            space.schema,
            values[~aside],
            desired_labels=None if labels is None else desired[~aside],
            met=met[~aside],
            space=space,
        )
        surrogate = Surrogate.fit(goal, values, judged, space, settings)
        accepted = np.unique(values[met], axis=0)  # in the order of their content, whatever that of the training rows
        least = settings.guard.min_rows
        if len(reference) < least:
            reference = Reference.build(space.schema, values, met=np.ones(len(values), dtype=bool), space=space)
            guard = Guard.fit(setting, reference, values[:0], density, settings.guard)
            return cls(guard, surrogate, accepted, False, (NO_GUARD.format(least),))
        guard = cls._calibrated(
            goal, setting, reference, values[aside & desired], labels, calibration, density, settings
        )
        notes = (OWN_ROWS,) if calibration is None else ()
        return cls(guard, surrogate, accepted, True, notes if guard.held_out else (TOO_FEW_HELD_OUT.format(least),))

    @staticmethod
    def _calibrated(
        goal: GoalLike,
        setting: Setting,
        reference: Reference,
        aside: np.ndarray,
        labels: np.ndarray | None,
        calibration: Calibration | CalibrationScores | None,
        density: Density | None,
        settings: GuardedSettings,
    ) -> Guard:
        """The guard of a reference, calibrated on rows that are aside or given, or by scores of rows."""
        if isinstance(calibration, CalibrationScores):
            scores = calibration.of(goal.target, setting)
            guard = Guard.fit(setting, reference, aside[:0], density, settings.guard)
            return replace(guard, calibration=scores, held_out=True) if len(scores) else guard
        rows = aside if calibration is None else calibration.desired(goal, labels is not None)
        return Guard.fit(setting, reference, rows, density, settings.guard)
