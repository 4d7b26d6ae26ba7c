"""What is computed by NumPy and by kernels must be equal to the byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np

from attain.core import compiled

Found = TypeVar("Found")


def by(kernels: bool, call: Callable[[], Found]) -> Found:
    """What a call gives with kernels or without them."""
    with patch.object(compiled, "_in_use", kernels):
        return call()


def same_bytes(call: Callable[[], Any]) -> Any:
    """What a call gives, an array or several of them, after checking that both paths give the same bytes."""
    plain, fast = by(False, call), by(True, call)
    parts = zip(plain, fast, strict=True) if isinstance(plain, tuple | list) else [(plain, fast)]
    for one, other in parts:
        one, other = np.asarray(one), np.asarray(other)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()
    return fast
