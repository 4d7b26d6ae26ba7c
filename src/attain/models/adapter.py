"""What `Model` needs to know about a library: the whole contract of an adapter.

An adapter is a module, class or object with two functions: `recognises(model)`, which looks at names only and imports
nothing, and `adapt(model, options)`, which returns an `Adapter`. `attain.models.register` makes it known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from attain.core.arrays import as_python
from attain.core.errors import ModelError

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
    """How a model is asked, and what it says about itself.

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
