"""A progress bar for what takes longer than two seconds; silent where nobody watches."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

DELAY = 2.0


def track(total: int, label: str, unit: str = "people") -> Any:
    """A bar on standard error that shows after two seconds, in a terminal only; call its `update` and `close`."""
    return tqdm(total=total, desc=label, unit=f" {unit}", delay=DELAY, disable=None, file=sys.stderr, leave=False)
