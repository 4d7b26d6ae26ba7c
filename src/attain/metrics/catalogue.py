"""What is known of every measure that `evaluate` reports: which way is better, and what a missing answer is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from attain.population.measuring import FloatArray
from attain.population.reference import QUANTILES

Better: TypeAlias = Literal["lower", "higher"]

NEIGHBOURS: Final = (5, 10, 20, 40)
"""For which numbers of neighbours the outlier verdict is reported."""
CONNECTED: Final = {f"connected_{100 * quantile:.0f}": quantile for quantile in QUANTILES}
"""The columns of connectedness, and the quantile of real people's nearest distance that each takes as ε."""


@dataclass(frozen=True)
class Measure:
    """What is known of a measure.

    Attributes
    ----------
    title
        What people read.
    better
        Which way is better.
    worst
        What a person without an answer is charged; None where there is no worst case. `free` stands for the number of
        free features.
    share
        Whether each person has 0 or 1, so that the mean is a share of people.
    known
        Whether people without an answer have a value of their own: what their search cost.
    """

    title: str
    better: Better
    worst: float | Literal["free"] | None = None
    share: bool = False
    known: bool = False

    def charge(self, free: int) -> float | None:
        """What a person without an answer is charged where so many features are free."""
        return float(free) if self.worst == "free" else self.worst


def _verdict(title: str) -> Measure:
    return Measure(title, "higher", 0.0, share=True)


MEASURES: Final[dict[str, Measure]] = {
    "found": _verdict("has an answer"),
    "valid": _verdict("decided as asked for"),
    "type_valid": _verdict("valid and may exist"),
    "violations": Measure("rules broken", "lower"),
    "total_shift": Measure("total shift (TS)", "lower", "free"),
    "max_shift": Measure("largest shift (MS)", "lower", 1.0),
    "changed": Measure("features changed (L0)", "lower"),
    "l1": Measure("L1 distance", "lower"),
    "l2": Measure("L2 distance", "lower"),
    "linf": Measure("L∞ distance", "lower"),
    "mad_distance": Measure("MAD distance", "lower"),
    "gower_distance": Measure("Gower distance", "lower", 1.0),
    "latent_distance": Measure("latent distance", "lower"),
    "redundant": Measure("changes not needed", "lower"),
    "proximity": Measure("proximity (P)", "lower"),
    "local_outlier_factor": Measure("local outlier factor", "lower"),
    "inlier": _verdict("inlier"),
    **{f"inlier_{k}": _verdict(f"inlier, {k} neighbours") for k in NEIGHBOURS},
    "held_out_inlier": _verdict("inlier, held-out"),
    "nearest_distance": Measure("nearest real person", "lower"),
    **{name: _verdict(f"connected at ε{100 * quantile:.0f}") for name, quantile in CONNECTED.items()},
    "largest_component": _verdict("in the largest cluster"),
    "justified": _verdict("justified"),
    "y_nearest": Measure("alike neighbours (yNN)", "higher", 0.0),
    "log_density": Measure("log density", "higher"),
    "training_distance": Measure("nearest training row", "higher"),
    "copied": Measure("copies a training row", "lower", share=True),
    "copied_free": Measure("copies free cells", "lower", share=True),
    "diversity": Measure("distance of options", "higher"),
    "valid_after_retraining": Measure("valid after retraining", "higher", 0.0),
    "valid_after_inexact_execution": Measure("valid, done inexactly", "higher", 0.0),
    "rows_scored": Measure("rows scored", "lower", known=True),
    "seconds": Measure("seconds", "lower", known=True),
}
"""Every measure by its column, in the order in which they are reported."""


def is_share(name: str, values: FloatArray) -> bool:
    """Whether a column holds 0 or 1 for each person: by the catalogue, or else by its values."""
    if name in MEASURES:
        return MEASURES[name].share
    return bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
