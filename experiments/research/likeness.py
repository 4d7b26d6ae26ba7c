"""Figures of all answers together: as spread out as real rows, and related to their factuals?

Unlike other measures, these give one number per feature, in schema order. Answers that all sit at the same typical
place have little spread; answers that ignore their factuals do not correlate with them. A column has a figure if it is
free and ordered and three answers or more have a value on its scale; special codes and missing cells are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import FloatArray
from attain.population.measuring import answered, as_matrix, own_rows
from attain.population.population import Reference
from attain.schema import Schema
from attain.tables import ordinary

FEWEST = 3
"""The fewest answers for which a column has a figure."""


def spread(answers: ArrayLike, reference: Reference, found: ArrayLike | None = None) -> FloatArray:
    """For each feature the standard deviation of the answers over that of the reference.

    1: spread like real rows; 0: all answers alike. NaN if a feature has no figure, or the reference does not vary.
    """
    schema = reference.schema
    matrix = as_matrix(answers, len(schema))
    rows = matrix[answered(matrix, found)]
    result = np.full(len(schema), np.nan)
    for column in _columns(schema):
        feature = schema.features[column]
        cells = rows[ordinary(feature, rows[:, column]), column]
        real = reference.values[ordinary(feature, reference.values[:, column]), column]
        if len(cells) >= FEWEST and _varies(real):
            result[column] = cells.std() / real.std()
    return result


def correlation(answers: ArrayLike, factuals: ArrayLike, schema: Schema, found: ArrayLike | None = None) -> FloatArray:
    """For each feature the correlation of the answers with their factuals.

    1 if nothing changes, or all rows move alike; 0 if answers ignore their factuals. NaN if a feature has no figure,
    or either side does not vary.
    """
    matrix = as_matrix(answers, len(schema))
    present = answered(matrix, found)
    rows, own = matrix[present], own_rows(factuals, len(schema), present)
    result = np.full(len(schema), np.nan)
    for column in _columns(schema):
        feature = schema.features[column]
        both = ordinary(feature, rows[:, column]) & ordinary(feature, own[:, column])
        after, before = rows[both, column], own[both, column]
        if len(after) >= FEWEST and _varies(after) and _varies(before):
            result[column] = np.corrcoef(after, before)[0, 1]
    return result


def _columns(schema: Schema) -> list[int]:
    return [int(column) for column in schema.free_columns if schema.features[column].ordered]


def _varies(cells: FloatArray) -> bool:
    # Rounding gives equal cells a deviation that is not quite 0.
    return len(cells) > 0 and bool(cells.min() < cells.max())
