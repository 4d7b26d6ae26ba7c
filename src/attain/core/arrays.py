"""Array types, and Python scalars for NumPy's."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IndexArray: TypeAlias = NDArray[np.intp]


def as_python(value: Any) -> Any:
    """The Python scalar for a NumPy scalar; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
