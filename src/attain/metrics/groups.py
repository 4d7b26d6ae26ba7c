"""Whether recourse is harder for some groups than for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import DataError, listed
from attain.core.frames import is_missing
from attain.core.groups import MISSING, in_reading_order
from attain.core.intervals import (
    CONFIDENCE,
    NOTHING,
    RESAMPLES,
    Interval,
    checked_confidence,
    mean_interval,
    quantile_interval,
    resampled,
    share_interval,
)

if TYPE_CHECKING:
    from attain.metrics.evaluation import Evaluation

GAP_MEASURES: Final = ("found", "total_shift", "max_shift")


@dataclass(frozen=True, eq=False)
class RecourseGap:
    """How recourse differs between groups.

    Attributes
    ----------
    groups
        One line per measure and group: its number of rows `n`, their `mean` and its interval `low` to `high`.
    gaps
        One line per measure: the groups with the `highest` and the `lowest` mean, the `gap` between them, its bootstrap
        interval `low` to `high`, and `p_value`, that of a permutation test. Of more than two groups the two that differ
        most are picked, which the p-value accounts for and the interval does not.
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
        An evaluation, whose charged values are compared: a row without an answer enters with the worst case. Or by
        name one number per row; rows with NaN are left out.
    groups
        The group of each row, in the same order; missing ones are a group of their own. Cut numbers into bands first:
        `bands(ages)`.
    measures
        Columns of the evaluation.
    """
    columns = _columns(values, measures)
    checked_confidence(confidence)
    number = len(next(iter(columns.values()), []))
    every = group_members(groups, number)
    means: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    for name, column in columns.items():
        known = ~np.isnan(column)
        names = [group for group, inside in every.items() if inside[known].any()]
        members = np.array([every[group][known] for group in names], dtype=np.bool_)
        own = column[known]
        for group, inside in zip(names, members, strict=True):
            interval = (
                share_interval(own[inside], confidence=confidence)
                if _is_share(values, name, own)
                else mean_interval(own[inside], confidence=confidence, resamples=resamples, random_state=random_state)
            )
            means.append(_row(name, {"group": group, "n": int(inside.sum()), "mean": own[inside].mean()}, interval))
        gaps.append(_gap(name, own, names, members, confidence, resamples, random_state))
    return RecourseGap(
        pd.DataFrame(means, columns=["measure", "group", "n", "mean", "low", "high"]),
        pd.DataFrame(gaps, columns=["measure", "highest", "lowest", "gap", "low", "high", "p_value"]).set_index(
            "measure"
        ),
    )


def group_members(groups: ArrayLike, number: int) -> dict[Any, BoolArray]:
    """Which of the rows are in each group, (n,), in reading order of the groups; missing ones are one of their own."""
    labels = np.asarray(groups, dtype=object)
    if labels.shape != (number,):
        raise DataError(f"groups must hold one group for each of the {number} rows, got shape {labels.shape}")
    plain = [MISSING if is_missing(label) else label for label in labels.tolist()]
    names = sorted(set(plain), key=in_reading_order)
    return {group: np.array([label == group for label in plain], dtype=np.bool_) for group in names}


def _columns(values: Evaluation | Mapping[str, ArrayLike], measures: Sequence[str]) -> dict[str, FloatArray]:
    if isinstance(values, Mapping):
        return {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
    unknown = [name for name in measures if name not in values.charged]
    if unknown:
        raise DataError(f"measures names {listed(unknown)}; the evaluation has {listed(values.charged, 60)}")
    return {name: values.charged[name].to_numpy(dtype=np.float64) for name in measures}


def _is_share(values: Evaluation | Mapping[str, ArrayLike], name: str, column: FloatArray) -> bool:
    """Whether a column holds zeros and ones: as its measure says, or else by looking at it."""
    return bool(np.isin(column, (0.0, 1.0)).all()) if isinstance(values, Mapping) else values.measures[name].share


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
                values[members[group]][rows].mean(axis=1)
                for rows in resampled(int(members[group].sum()), resamples, seed + place)
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
    """The share of random assignments of rows to groups with a gap at least as large, the actual one included."""
    generator = np.random.default_rng(seed)
    sizes = members.sum(axis=1)
    # Sums in another order differ in their last bits.
    least = np.ptp(members @ values / sizes) - 1e-9 * max(float(np.abs(values).max()), 1.0)
    as_large = sum(bool(np.ptp(members @ generator.permutation(values) / sizes) >= least) for _ in range(permutations))
    return (1 + as_large) / (1 + permutations)
