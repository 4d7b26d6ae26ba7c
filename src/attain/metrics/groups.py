"""Whether recourse is harder for some groups of people than for others."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain.core.errors import DataError, listed
from attain.core.frames import is_missing
from attain.metrics.catalogue import is_share
from attain.metrics.intervals import (
    CONFIDENCE,
    NOTHING,
    RESAMPLES,
    Interval,
    bootstrap_interval,
    checked_confidence,
    drawn_people,
    quantile_interval,
    share_interval,
)
from attain.population.measuring import BoolArray, FloatArray

if TYPE_CHECKING:
    from attain.metrics.evaluation import Evaluation

GAP_MEASURES: Final = ("found", "total_shift", "max_shift")
MISSING: Final = "missing"


@dataclass(frozen=True, eq=False)
class RecourseGap:
    """How recourse differs between groups.

    Attributes
    ----------
    groups
        One row per measure and group: its number of people `n`, their `mean` and its interval `low` to `high`.
    gaps
        One row per measure: the groups with the `highest` and the `lowest` mean, the `gap` between them, its bootstrap
        interval `low` to `high`, and `p_value`: the chance of a gap at least as large if who belongs to which group did
        not matter. With more than two groups some two differ most by chance alone, which the interval does not know and
        the p-value does.
    """

    groups: pd.DataFrame
    gaps: pd.DataFrame


def recourse_gap(
    values: Evaluation | Mapping[str, ArrayLike],
    groups: ArrayLike,
    *,
    measures: Sequence[str] = GAP_MEASURES,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    random_state: int = 0,
) -> RecourseGap:
    """The largest difference between groups in each measure.

    Parameters
    ----------
    values
        An evaluation, of which charged values are taken: a person without an answer counts as one who must change
        everything. Or by name one number per person; people with NaN are left out.
    groups
        The group of each person, in the same order; missing ones are a group of their own. Cut numbers into bands
        first: `bands(ages)`.
    measures
        Which ones, where an evaluation is given.
    """
    columns = _columns(values, measures)
    checked_confidence(confidence)
    number = len(next(iter(columns.values()), []))
    labels = np.asarray(groups, dtype=object)
    if labels.shape != (number,):
        raise DataError(f"groups has the shape {labels.shape}; it takes one group for each of the {number} people")
    plain = np.array([MISSING if is_missing(label) else label for label in labels.tolist()], dtype=object)
    means: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    for name, column in columns.items():
        known = ~np.isnan(column)
        names = sorted(set(plain[known].tolist()), key=_in_reading_order)
        members = np.array([[label == group for label in plain[known].tolist()] for group in names], dtype=np.bool_)
        own = column[known]
        for group, inside in zip(names, members, strict=True):
            interval = (
                share_interval(own[inside], confidence=confidence)
                if is_share(name, own)
                else bootstrap_interval(
                    own[inside], confidence=confidence, resamples=resamples, random_state=random_state
                )
            )
            means.append(_row(name, {"group": group, "n": int(inside.sum()), "mean": own[inside].mean()}, interval))
        gaps.append(_gap(name, own, names, members, confidence, resamples, random_state))
    return RecourseGap(
        pd.DataFrame(means, columns=["measure", "group", "n", "mean", "low", "high"]),
        pd.DataFrame(gaps, columns=["measure", "highest", "lowest", "gap", "low", "high", "p_value"]).set_index(
            "measure"
        ),
    )


def bands(values: ArrayLike, number: int = 4) -> list[str | None]:
    """Numbers as bands with about equally many people in each, such as `18 to 29`; None where one is missing."""
    column = np.asarray(values, dtype=np.float64)
    present = column[~np.isnan(column)]
    if not len(present):
        return [None] * len(column)
    edges = np.unique(np.quantile(present, np.linspace(0, 1, number + 1)[1:-1], method="inverted_cdf"))
    place = np.searchsorted(edges, column, side="left")
    names = {}
    for band in set(place[~np.isnan(column)].tolist()):
        inside = column[place == band]
        low, high = np.nanmin(inside), np.nanmax(inside)
        names[band] = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return [None if np.isnan(value) else names[band] for value, band in zip(column, place.tolist(), strict=True)]


def _columns(values: Evaluation | Mapping[str, ArrayLike], measures: Sequence[str]) -> dict[str, FloatArray]:
    if isinstance(values, Mapping):
        return {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
    unknown = [name for name in measures if name not in values.charged]
    if unknown:
        raise DataError(f"measures names {listed(unknown)}; the evaluation has {listed(values.charged, 60)}")
    return {name: values.charged[name].to_numpy(dtype=np.float64) for name in measures}


def _in_reading_order(label: object) -> list[tuple[float, str]]:
    """So that `9 to 17` comes before `18 to 30`."""
    parts = re.split(r"(\d+(?:\.\d+)?)", str(label))
    return [(float(part), "") if place % 2 else (math.inf, part) for place, part in enumerate(parts) if part]


def _row(measure: str, content: dict[str, Any], interval: Interval) -> dict[str, Any]:
    return {"measure": measure, **content, "low": interval.low, "high": interval.high}


def _gap(
    name: str,
    values: FloatArray,
    names: Sequence[Any],
    members: BoolArray,
    confidence: float,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    if len(names) < 2:
        return _row(name, {"highest": None, "lowest": None, "gap": np.nan, "p_value": np.nan}, NOTHING)
    means = members @ values / members.sum(axis=1)
    first, last = int(means.argmax()), int(means.argmin())
    drawn = [
        np.concatenate(
            [
                values[members[group]][people].mean(axis=1)
                for people in drawn_people(int(members[group].sum()), resamples, seed + place)
            ]
        )
        for place, group in enumerate((first, last))
    ]
    tail = (1.0 - confidence) / 2.0
    interval = quantile_interval(drawn[0] - drawn[1], tail, 1.0 - tail)
    content = {
        "highest": names[first],
        "lowest": names[last],
        "gap": means[first] - means[last],
        "p_value": _permuted(values, members, resamples, seed),
    }
    return _row(name, content, interval)


def _permuted(values: FloatArray, members: BoolArray, permutations: int, seed: int) -> float:
    """The share of random assignments of people to groups with a gap at least as large, the real one among them."""
    generator = np.random.default_rng(seed)
    sizes = members.sum(axis=1)
    # Sums in another order differ in their last bits.
    least = np.ptp(members @ values / sizes) - 1e-9 * max(float(np.abs(values).max()), 1.0)
    as_large = sum(bool(np.ptp(members @ generator.permutation(values) / sizes) >= least) for _ in range(permutations))
    return (1 + as_large) / (1 + permutations)
