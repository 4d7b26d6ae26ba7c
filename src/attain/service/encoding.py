"""JSON without what JSON lacks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """A value of dictionaries, lists, texts, numbers and None; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    value = value.item() if hasattr(value, "dtype") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def json_bytes(value: Any) -> bytes:
    """Compact JSON, in ASCII, so that any text can be sent."""
    return json.dumps(plain(value), separators=(",", ":")).encode("ascii")


def key_of(*parts: Any) -> str:
    """The same text for the same question, however it was written."""
    return json.dumps(plain(parts), separators=(",", ":"), sort_keys=True)
