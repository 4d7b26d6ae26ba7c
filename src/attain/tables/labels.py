"""True labels of the training people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attain.core.errors import DataError
from attain.core.frames import is_missing


def read_labels(y: Any, people: Sequence[Any]) -> np.ndarray:
    """The labels as an array of Python objects, one for each of the people; None where one is missing.

    Labels with an index of the same people in another order are put into the people's order.
    """
    y = _in_order(y, people)
    values = y.to_numpy() if hasattr(y, "to_numpy") else y.to_pylist() if hasattr(y, "to_pylist") else y
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError("y has rows of different lengths; it takes one label a row") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"y has {array.ndim} dimensions; it takes one label a row")
    if len(array) != len(people):
        raise DataError(f"y has {len(array)} labels, but X has {len(people)} rows")
    items = array.tolist()
    result = np.empty(len(items), dtype=object)
    result[:] = [None if is_missing(item) else item for item in items]
    if all(item is None for item in result):
        raise DataError("y has no label at all; leave it out where labels are not known")
    return result


def _in_order(y: Any, people: Sequence[Any]) -> Any:
    """A pandas series in the order of the people, where its index names the same ones, each once."""
    index = getattr(y, "index", None)
    if index is None or callable(index) or not hasattr(y, "reindex"):
        return y
    own, wanted = list(index), list(people)
    same_people = len(own) == len(wanted) == len(set(wanted)) and set(own) == set(wanted)
    return y.reindex(wanted) if own != wanted and same_people else y


def desired_labels(labels: np.ndarray, target: Any) -> np.ndarray:
    """Who is labelled with the target."""
    desired = np.array([label is not None and label == target for label in labels], dtype=bool)
    if not desired.any():
        seen = list(dict.fromkeys(label for label in labels if label is not None))[:8]
        raise DataError(
            f"no label in y equals the target {target!r}; y holds {', '.join(map(repr, seen))}: pass labels as the "
            "model names its classes"
        )
    return desired
