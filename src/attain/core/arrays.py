"""Array types, and Python scalars for NumPy's."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IndexArray: TypeAlias = NDArray[np.intp]


def flat(array: FloatArray) -> FloatArray:
    """The array with its leading dimensions as one."""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def positions(mask: BoolArray) -> IndexArray:
    """Where a mask (n,) is true: `np.flatnonzero` without its overhead, which is most of its time on small masks."""
    return mask.nonzero()[0]


def as_python(value: Any) -> Any:
    """The Python scalar for a NumPy scalar; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
