"""True labels of the training people."""

from __future__ import annotations

from typing import Any

import numpy as np

from attain.errors import DataError
from attain.table import is_missing


def read_labels(y: Any, rows: int) -> np.ndarray:
    """The labels as an array of Python objects, one a row; None where one is missing."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else y.to_pylist() if hasattr(y, "to_pylist") else y
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError("y has rows of different lengths; it takes one label a row") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"y has {array.ndim} dimensions; it takes one label a row")
    if len(array) != rows:
        raise DataError(f"y has {len(array)} labels, but X has {rows} rows")
    items = array.tolist()
    result = np.empty(len(items), dtype=object)
    result[:] = [None if is_missing(item) else item for item in items]
    if all(item is None for item in result):
        raise DataError("y has no label at all; leave it out where labels are not known")
    return result


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
