"""Groups of people by a column of their table."""

from __future__ import annotations

from typing import Final

import numpy as np

from attain.core.groups import bands
from attain.core.text import plain
from attain.schema.text import described
from attain.tables.cells import ordinary
from attain.tables.table import Table

_MOST: Final = 8
"""A column with more distinct numbers than this is cut into bands."""


def column_groups(table: Table, column: str) -> list[str]:
    """The group of each row: a level, or a band of numbers; special codes and missing cells are groups of their own."""
    feature, cells = table.schema[column], table.values[:, table.schema.position(column)]
    shown = [plain(described(table.layout.value(column, float(cell)), feature)) for cell in cells]
    names = np.array(shown, dtype=object)
    known = ordinary(feature, cells)
    if feature.numeric and len(np.unique(cells[known])) > _MOST:
        names[known] = bands(cells[known])
    return names.tolist()
