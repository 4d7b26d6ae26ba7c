"""How different the options are that a person is offered: one number per person, over all of their options.

Options are rows of the matrix, and `owners` says whose each is: `Counterfactuals.rows` and `.owners`. A person with
fewer than two options has NaN, unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist, squareform

from attain.core.errors import DataError
from attain.population.measuring import FloatArray
from attain.population.percentiles import as_matrix
from attain.population.space import MeasuringSpace
from attain.schema import Schema
from attain.tables import unchanged


def mean_pairwise_distance(rows: ArrayLike, owners: ArrayLike, people: int, space: MeasuringSpace) -> FloatArray:
    """The mean distance between the options of each person, in the measuring space."""
    matrix = as_matrix(rows, len(space.schema))
    return _each(matrix, owners, people, lambda options: float(pdist(space.transform(options)).mean()))


def determinant_diversity(rows: ArrayLike, owners: ArrayLike, people: int, space: MeasuringSpace) -> FloatArray:
    """The determinant of the options' similarities 1 / (1 + distance), from 0 (two alike) to 1 (all far apart)."""
    matrix = as_matrix(rows, len(space.schema))

    def determinant(options: FloatArray) -> float:
        # Rounding may put it a last bit below 0.
        return max(float(np.linalg.det(1 / (1 + squareform(pdist(space.transform(options)))))), 0.0)

    return _each(matrix, owners, people, determinant)


def count_diversity(rows: ArrayLike, owners: ArrayLike, people: int, schema: Schema) -> FloatArray:
    """The share of free features in which two options of a person differ, on average over the pairs."""
    matrix = as_matrix(rows, len(schema))

    def share(options: FloatArray) -> float:
        cells = options[:, schema.free_columns]
        first, second = np.triu_indices(len(cells), 1)
        return float((~unchanged(cells[first], cells[second])).mean())

    return _each(matrix, owners, people, share)


def distinct_changes(rows: ArrayLike, owners: ArrayLike, factuals: ArrayLike, schema: Schema) -> FloatArray:
    """How many different sets of free features a person's options change; NaN for a person without an option."""
    matrix, own = as_matrix(rows, len(schema)), as_matrix(factuals, len(schema))
    free = schema.free_columns
    whose = _whose(owners, len(matrix), len(own))
    sets = ~unchanged(matrix[:, free], own[whose][:, free])
    return _each(sets.astype(np.float64), whose, len(own), lambda options: float(len(np.unique(options, axis=0))), 1)


def _each(
    matrix: FloatArray, owners: ArrayLike, people: int, measure: Callable[[FloatArray], float], least: int = 2
) -> FloatArray:
    """The measure of each person's options, NaN for people with fewer than `least`."""
    whose = _whose(owners, len(matrix), people)
    order = np.argsort(whose, kind="stable")
    counts = np.bincount(whose, minlength=people)
    ends = np.cumsum(counts)
    result = np.full(people, np.nan)
    for person in np.flatnonzero(counts >= least):
        result[person] = measure(matrix[order[ends[person] - counts[person] : ends[person]]])
    return result


def _whose(owners: ArrayLike, options: int, people: int) -> np.ndarray:
    whose = np.asarray(owners)
    if whose.shape != (options,) or (options and whose.dtype.kind not in "iu"):
        raise DataError(
            f"owners has the shape {whose.shape} and holds {whose.dtype}; it takes a person's position for each of the "
            f"{options} options"
        )
    if options and not (whose.min() >= 0 and whose.max() < people):
        raise DataError(f"owners runs from {whose.min()} to {whose.max()}; positions of {people} people start at 0")
    return whose.astype(np.intp)
