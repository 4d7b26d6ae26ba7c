"""True labels of rows, and groups of people by a column of their table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from attain.core.arrays import is_missing
from attain.core.errors import DataError, listed
from attain.core.intervals import bands
from attain.core.text import plain
from attain.schema.feature import ordinary
from attain.schema.text import described
from attain.tables.table import Table

_MOST: Final = 8
"""A column with more distinct numbers than this is cut into bands."""


def read_labels(y: Any, rows: Sequence[Any], part: str = "") -> np.ndarray:
    """The labels as an array of Python objects, one for each row; None where one is missing.

    `rows` are the row labels of X. A pandas series whose index holds the same row labels in another order is reordered.
    With `part="_test"` messages are about `y_test` and `X_test`.
    """
    y = _in_order(y, rows)
    values = y.to_numpy() if hasattr(y, "to_numpy") else y.to_pylist() if hasattr(y, "to_pylist") else y
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"y{part} must hold one label for each row, got rows of different lengths") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"y{part} must hold one label for each row, got {array.ndim} dimensions")
    if len(array) != len(rows):
        raise DataError(f"y{part} has {len(array)} labels, but X{part} has {len(rows)} rows")
    items = array.tolist()
    result = np.empty(len(items), dtype=object)
    result[:] = [None if is_missing(item) else item for item in items]
    if all(item is None for item in result):
        raise DataError(f"y{part} has no labels, only missing values; omit it if the labels are unknown")
    return result


def _in_order(y: Any, rows: Sequence[Any]) -> Any:
    """A pandas series in the order of the rows, if its index holds the same labels, each once."""
    index = getattr(y, "index", None)
    if index is None or callable(index) or not hasattr(y, "reindex"):
        return y
    own, wanted = list(index), list(rows)
    same_labels = len(own) == len(wanted) == len(set(wanted)) and set(own) == set(wanted)
    return y.reindex(wanted) if own != wanted and same_labels else y


def desired_labels(labels: np.ndarray, target: Any) -> np.ndarray:
    """Which labels equal the target."""
    desired = np.array([label is not None and label == target for label in labels], dtype=bool)
    if not desired.any():
        seen = dict.fromkeys(label for label in labels if label is not None)
        raise DataError(
            f"the target is {target!r}, but the labels are {listed(seen)}; call the model's "
            "classes by the same names. To change only what texts say, use class_names (--class-names)"
        )
    return desired


def column_groups(table: Table, column: str) -> list[str]:
    """The group of each row: a level, or a band of numbers; special codes and missing cells are groups of their own."""
    feature, cells = table.schema[column], table.values[:, table.schema.position(column)]
    shown = [plain(described(table.layout.value(column, float(cell)), feature)) for cell in cells]
    names = np.array(shown, dtype=object)
    known = ordinary(feature, cells)
    if feature.numeric and len(np.unique(cells[known])) > _MOST:
        names[known] = bands(cells[known])
    return names.tolist()
