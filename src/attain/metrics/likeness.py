"""Whether answers, taken together, look like people: spread out as real ones are, and each like its own person.

These are figures of a population, unlike the other measures: one number per feature, in schema order, or one in all.
Answers that all sit at the same typical place have little spread; answers that forget whom they are for correlate with
nobody. A column has a figure if it is free and ordered, and three people or more have an answer with a value on its
scale; special codes and missing cells are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attain.population.measuring import FloatArray, answered, mean_of_answered, own_rows
from attain.population.percentiles import as_matrix
from attain.population.reference import Reference
from attain.schema import Schema
from attain.tables import ordinary

FEWEST = 3
"""A column needs so many answers for a figure."""


def spread(answers: ArrayLike, reference: Reference, found: ArrayLike | None = None) -> FloatArray:
    """For each feature the standard deviation of the answers over that of real people of the desired class.

    1 is as real people are spread, 0 all answers alike. NaN where a feature has no figure, or real people do not vary.
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


def median_spread(answers: ArrayLike, reference: Reference, found: ArrayLike | None = None) -> float:
    """The median `spread` over the features that have one; NaN where none has."""
    figures = spread(answers, reference, found)
    known = figures[~np.isnan(figures)]
    return float(np.median(known)) if len(known) else float("nan")


def correlation(answers: ArrayLike, factuals: ArrayLike, schema: Schema, found: ArrayLike | None = None) -> FloatArray:
    """For each feature the correlation of the answers with the people's own values, over people with both.

    1 where nothing changes, or everybody moves alike; 0 where answers have nothing to do with whom they are for. NaN
    where a feature has no figure, or either side does not vary.
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


def mean_correlation(answers: ArrayLike, factuals: ArrayLike, schema: Schema, found: ArrayLike | None = None) -> float:
    """The mean `correlation` over the features that have one; NaN where none has."""
    return mean_of_answered(correlation(answers, factuals, schema, found))


def _columns(schema: Schema) -> list[int]:
    return [int(column) for column in schema.free_columns if schema.features[column].ordered]


def _varies(cells: FloatArray) -> bool:
    # Rounding gives equal cells a deviation that is not quite 0.
    return len(cells) > 0 and bool(cells.min() < cells.max())
