"""What `Model` needs to know about a library: the whole contract of an adapter.

An adapter is a module, class or object with two functions: `recognises(model)`, which looks at names only and imports
nothing, and `adapt(model, options)`, which returns an `Adapter`. `attain.models.register` makes it known.

What a model returned is checked and brought into one form; errors say what was wrong, and for how many rows. Labels
become positions in the classes. Probabilities become a matrix with one column per class. Scores are such a matrix too,
or one number per row whose sign decides between two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from attain.core.arrays import as_python
from attain.core.errors import ModelError, listed

AnswerKind: TypeAlias = Literal["labels", "probabilities", "scores", "output"]
"""What an answer is; the kind of an `output` is known only once there is one."""
Accepts: TypeAlias = str
"""`numpy`, or the name of a frame library such as `pandas` or `polars`."""
Returns: TypeAlias = Literal["labels", "probabilities", "scores"]
Label: TypeAlias = Any
Answers: TypeAlias = Mapping[AnswerKind, np.ndarray]


SMALLEST_PROBABILITY = 1e-12
"""Log-odds treat probabilities below this as equal to it, so that none is infinite."""


@dataclass(frozen=True)
class Options:
    """What the caller passed to `Model`."""

    accepts: Accepts | None = None
    classes: tuple[Label, ...] | None = None
    returns: Returns | None = None


@dataclass(frozen=True)
class Adapter:
    """How to ask a model, and what it declares.

    Parameters
    ----------
    title
        What messages call the model.
    ask
        The answer of one kind to one batch; it may hold other kinds that came with the same call.
    kinds
        The answers the model can give, the best guide of a search first.
    classes
        The classes, in the order of the columns of probabilities; None where only an answer shows how many there are.
    model_labels
        The labels the model itself returns, where `classes` are other names for them.
    accepts
        What a batch is: an array, a frame of one library, `frame` for the training frame's own library if that is
        pandas or polars and else pandas, or `native` for the training frame's own library.
    names, spell
        The columns the model wants, by name and in order, and how the model's library spells a column's name.
    width
        How many columns the model wants, where it knows no names.
    settle
        From the first answer to an adapter that knows its kinds and classes, where only that answer shows them.
    prepare
        What all kinds of answer about a batch have in common, such as the transforming steps of a pipeline: `ask` gets
        what it returns. None where there is nothing.
    gradient
        For a batch that is an array and the position k of a class: by how much class k leads the best other one in
        log-odds or scores, (n,), and the gradient of that in the cells of the batch, (n, p). None where the library
        cannot differentiate the model.
    """

    title: str
    ask: Callable[[AnswerKind, Any], Mapping[AnswerKind, Any]]
    kinds: tuple[AnswerKind, ...]
    classes: tuple[Label, ...] | None = None
    model_labels: tuple[Label, ...] | None = None
    accepts: Accepts = "native"
    names: tuple[str, ...] | None = None
    spell: Callable[[str], str] = str
    width: int | None = None
    settle: Callable[[Answers], Adapter] | None = None
    prepare: Callable[[Any], Any] | None = None
    gradient: Callable[[np.ndarray, int], tuple[Any, Any]] | None = None


def plain_classes(classes: Sequence[Label] | np.ndarray) -> tuple[Label, ...]:
    """Labels as Python values, so that classes compare and print alike wherever they come from."""
    return tuple(map(as_python, classes))


def named_classes(title: str, labels: tuple[Label, ...], given: tuple[Label, ...] | None) -> tuple[Label, ...]:
    """The model's classes under the names the caller gave; the same names in another order change nothing."""
    if given is None or set(given) == set(labels):
        return labels
    if len(given) != len(labels):
        raise ModelError(f"classes= names {len(given)} classes, but {title} has {len(labels)}: {list(labels)}")
    return given


def library_name(model: object) -> set[str]:
    """The top modules in which the model's class and its bases live."""
    return {base.__module__.partition(".")[0] for base in type(model).__mro__}


def model_title(model: object) -> str:
    return f"the {type(model).__name__} model"


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
        what, duty = f"a single {type(raw).__name__}", "return one answer for each row"
    elif len(array) != length:
        what, duty = f"{len(array)} answers", "return one for each row"
    elif array.ndim > 2:
        what, duty = f"an array of shape {array.shape}", "have one or two dimensions"
    else:
        return array
    raise ModelError(f"{title} returned {what} for {length} rows; it must {duty}")


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


def check_gradient(title: str, array: np.ndarray, lead: np.ndarray, gradient: np.ndarray) -> None:
    if lead.shape != (len(array),) or gradient.shape != array.shape:
        raise ModelError(
            f"{title} returned scores of shape {lead.shape} and a gradient of shape {gradient.shape} for "
            f"{len(array)} rows; they must be {(len(array),)} and {array.shape}"
        )
    wrong = ~np.isfinite(lead) | (~np.isfinite(gradient) & ~np.isnan(array)).any(axis=1)
    if wrong.any():
        raise ModelError(f"{title} returned NaN or infinite gradients for {wrong.sum()} of {len(array)} rows")


def joined_answers(parts: Sequence[Answers], title: str) -> dict[AnswerKind, np.ndarray]:
    """The answers to several batches as one, by kind."""
    for kind in parts[0]:
        shapes = {part[kind].shape[1:] for part in parts}
        if len(shapes) > 1:
            raise ModelError(f"{title} returned answers of different widths in different calls: {sorted(shapes)}")
    return {kind: np.concatenate([part[kind] for part in parts]) for kind in parts[0]}
