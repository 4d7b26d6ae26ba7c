"""The rows of a reference in all coordinates of its measuring space, as other libraries take them."""

from __future__ import annotations

from attain.core.arrays import FloatArray
from attain.population.reference import Reference


def coordinates(reference: Reference) -> FloatArray:
    """(n, dimension)."""
    return reference.space.transform(reference.values)
