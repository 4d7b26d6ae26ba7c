"""All benchmarks, one after the other: `python -m benchmarks`."""

from __future__ import annotations

import subprocess
import sys

MODULES = (
    "training",
    "training_bounds",
    "density",
    "densities",
    "family",
    "capacity",
    "recovery",
    "scaling",
    "growth",
    "scale",
    "first_answers",
    "laws",
    "faithfulness",
    "search",
    "latent_rules",
    "methods",
    "limits",
    "knapsack",
    "months",
    "advice",
    "person",
    "locking",
    "classifiers",
    "kernels",
    "fixed_costs",
    "slack",
    "importance",
    "reports",
    "service",
    "recorded_answers",
    "privacy",
    "promises",
)


def main() -> None:
    """Runs each in a process of its own."""
    for name in MODULES:
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()
