"""One text for each JSON value: sorted keys, no spaces, ASCII, and numbers as Python writes them."""

from __future__ import annotations

import json
from typing import Any


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
