"""What a model returned, checked and brought into one form; errors say what was wrong, and for how many rows.

Labels become positions in the classes. Probabilities become a matrix with one column per class. Scores are such a
matrix too, or one number per row whose sign decides between two classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attain.core.errors import ModelError, listed
from attain.models.adapter import AnswerKind, Label

UNKNOWN = -1
"""The position of a label that is not among the known classes, where a model may have others."""
FEW = 16
"""Up to this many classes, comparing all labels with each class is faster than looking up each label."""


def as_array(raw: Any, length: int, title: str) -> np.ndarray:
    """An answer as an array with one entry per row, or a `ModelError`."""
    try:
        array = np.asarray(raw)
    except Exception as error:
        raise ModelError(
            f"{title} returned a {type(raw).__name__} that is not an array: {type(error).__name__}: {error}"
        ) from error
    if array.ndim == 0:
        raise ModelError(
            f"{title} returned a single {type(raw).__name__} for {length} rows; it must return one answer for each row"
        )
    if len(array) != length:
        raise ModelError(f"{title} returned {len(array)} answers for {length} rows; it must return one for each row")
    if array.ndim > 2:
        raise ModelError(
            f"{title} returned an array of shape {array.shape} for {length} rows; it must have one or two dimensions"
        )
    return array


def checked(
    kind: AnswerKind, array: np.ndarray, classes: tuple[Label, ...], title: str, *, closed: bool = True
) -> np.ndarray:
    """An answer of a known kind in its one form."""
    if kind == "labels":
        return _positions(array, classes, title, closed)
    values = _numbers(kind, array, title)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    columns = 2 if values.ndim == 1 else values.shape[1]
    if columns != len(classes):
        raise ModelError(
            f"{title} returned {kind} of shape {array.shape} for {len(array)} rows, but has {len(classes)} classes: "
            f"{listed(classes)}"
        )
    if kind == "scores":
        return values
    low, high = values.min(), values.max()
    if low < -1e-6 or high > 1 + 1e-6:
        raise ModelError(
            f"{title} returned probabilities from {low:g} to {high:g} for {len(array)} rows; they must be between 0 "
            "and 1 (if they are scores, pass Model(model, returns='scores'))"
        )
    return np.column_stack([1.0 - values, values]) if values.ndim == 1 else values


def _numbers(kind: AnswerKind, array: np.ndarray, title: str) -> np.ndarray:
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            f"{title} returned {kind} that are not numbers for {len(array)} rows, such as {array.ravel()[0]!r}"
        ) from None
    finite = np.isfinite(values)
    if not finite.all():
        wrong = np.flatnonzero(~finite.reshape(len(values), -1).all(axis=1))
        raise ModelError(
            f"{title} returned NaN or infinite {kind} for {wrong.size} of {len(array)} rows, the first at position "
            f"{wrong[0]}; if the model cannot handle missing values, put an imputer before it"
        )
    return values


def _positions(array: np.ndarray, classes: tuple[Label, ...], title: str, closed: bool) -> np.ndarray:
    if array.ndim == 2:
        if array.shape[1] != 1:
            raise ModelError(
                f"{title} returned labels of shape {array.shape} for {len(array)} rows; it must return one per row"
            )
        array = array[:, 0]
    kinds = "U" if all(isinstance(label, str) for label in classes) else "iufb"
    if array.dtype.kind in kinds and len(classes) <= FEW:
        positions = np.full(len(array), UNKNOWN, dtype=np.intp)
        for position, label in enumerate(classes):
            positions[array == label] = position
    else:
        known = {label: position for position, label in enumerate(classes)}
        found = (known.get(label, UNKNOWN) for label in array.tolist())
        positions = np.fromiter(found, dtype=np.intp, count=len(array))
    new = positions == UNKNOWN
    if new.any():
        _refuse_labels(array[new].tolist(), len(array), classes, title, closed)
    return positions


def _refuse_labels(new: list[Any], length: int, classes: tuple[Label, ...], title: str, closed: bool) -> None:
    missing = sum(label is None or label != label for label in new)
    if missing:
        raise ModelError(f"{title} returned a missing label (NaN or None) for {missing} of {length} rows")
    if closed:
        raise ModelError(
            f"{title} returned labels that are not among its classes for {len(new)} of {length} rows: "
            f"{listed(dict.fromkeys(new))}; its classes are {listed(classes)}"
        )
    fractions = [label for label in new if isinstance(label, float) and not label.is_integer()]
    if fractions:
        raise ModelError(
            f"{title} first returned integers, which were taken for labels, and now {fractions[0]!r}; if it "
            "returns probabilities or scores, pass Model(model, returns='probabilities')"
        )


def seen_classes(array: np.ndarray, title: str) -> tuple[Label, ...]:
    """The labels in an answer, sorted: all that is known about the classes of a model that does not list them."""
    found = set(array.ravel().tolist())
    if any(label is None or label != label for label in found):
        raise ModelError(f"{title} returned a missing label (NaN or None) among {len(array)} rows")
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=str))


def decision(values: np.ndarray) -> np.ndarray:
    """The class that probabilities or scores decide for: the largest column, or the sign; ties go to the first."""
    return np.argmax(values, axis=1) if values.ndim == 2 else (values > 0).astype(np.intp)


def lead(values: np.ndarray, position: int) -> np.ndarray:
    """By how much one class leads the best other one; negative where it is behind."""
    if values.ndim == 1:
        return values if position == 1 else -values
    if values.shape[1] == 2:
        return np.asarray(values[:, position] - values[:, 1 - position])
    return np.asarray(values[:, position] - np.delete(values, position, axis=1).max(axis=1))


def winning_lead(values: np.ndarray) -> np.ndarray:
    """By how much the class decided for leads the next one."""
    if values.ndim == 1:
        return np.asarray(np.abs(values))
    top = np.partition(values, -2, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])
