"""References of real rows, and their rows in all coordinates of the measuring space, as other libraries take them."""

from __future__ import annotations

import numpy as np

from attain.core.arrays import FloatArray
from attain.population.population import Reference
from attain.population.space import MeasuringSpace
from attain.schema import Feature, Schema


def real_schema(number: int) -> Schema:
    return Schema(tuple(Feature(f"x{j}", "real") for j in range(number)))


def reference_of(values: np.ndarray, schema: Schema | None = None, space: MeasuringSpace | None = None) -> Reference:
    """The reference of rows that all meet the goal."""
    schema = real_schema(values.shape[1]) if schema is None else schema
    return Reference.build(schema, values, met=np.ones(len(values), dtype=bool), space=space)


def coordinates(reference: Reference) -> FloatArray:
    """(n, dimension)."""
    return reference.space.transform(reference.values)
