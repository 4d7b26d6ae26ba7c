"""The benchmarks that take less than an hour, one after the other: `python -m benchmarks`.

`guarded`, `guarded_peers` and `possible` take longer, `quality` and `ablation` too, and they compare versions.
"""

from __future__ import annotations

import subprocess
import sys

MODULES = (
    "person",
    "scale",
    "limits",
    "service",
    "laws",
    "latent_rules",
    "family",
    "capacity",
    "privacy",
    "review",
    "reading",
    "promises",
    "recorded_answers",
)


def main() -> None:
    """Runs each in a process of its own."""
    for name in MODULES:
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()
