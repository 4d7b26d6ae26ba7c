"""What results and files follow from, as JSON: values, hashes of data, and versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np

from attain.core.arrays import as_python

_VERSIONED: Final = ("numpy", "scipy", "scikit-learn", "pandas", "jax", "equinox")


def as_json(value: Any) -> Any:
    """A value as JSON holds it: tuples and arrays as lists, what JSON lacks as text."""
    value = value.tolist() if isinstance(value, np.ndarray) else as_python(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((as_json(item) for item in value), key=str)
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def data_digest(facts: Any, arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of JSON and arrays."""
    digest = hashlib.blake2b(digest_size=32)
    digest.update(json.dumps(facts, sort_keys=True, default=str).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@cache
def versions() -> dict[str, str]:
    """The versions of this package and of those that its numbers depend on, as far as they are installed."""
    installed = {}
    for name in ("attain", *_VERSIONED):
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed
