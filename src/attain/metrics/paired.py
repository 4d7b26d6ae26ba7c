"""Methods compared pairwise, row by row, on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from attain.core.arrays import FloatArray
from attain.core.errors import AttainError, DataError, listed
from attain.core.intervals import CONFIDENCE, RESAMPLES, mean_interval
from attain.metrics.measures import Measure

if TYPE_CHECKING:
    from attain.metrics.evaluation import Evaluation

COMPARED: Final = ("found", "total_shift", "max_shift", "inlier", "connected_90", "possible")
"""What is compared by default, as far as every evaluation has it."""
SIGN_TEST: Final = "sign test"
SIGNED_RANKS: Final = "signed ranks"


def paired_comparison(
    evaluations: Mapping[str, Evaluation],
    measures: str | Sequence[str] | None = None,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    random_state: int = 0,
) -> pd.DataFrame:
    """Every pair of methods on every measure, by the differences on the same rows.

    Rows without an answer enter with what they are charged. If a measure has no worst case (`proximity`, `changed`,
    …), only rows that both methods answered are compared; `n` is their number.

    Columns: `measure`, `first` and `second` method, `n`; `first_mean` and `second_mean` over these rows; the mean
    `difference` first − second, with its bootstrap interval `low` to `high`; `better`, `worse` and `tied`, the shares
    of rows on which the first method is so; the `test` and its two-sided `p_value`; and `p_holm`, corrected for all
    lines of this table (Holm 1979). Measures of 0 or 1 are tested by the exact sign test of the rows that differ, which
    is McNemar's; others by Wilcoxon's signed ranks, with ties ranked and then left out (Pratt 1959).

    Parameters
    ----------
    evaluations
        By the name of the method, evaluations of the same rows for the same request, against the same training data.
    measures
        Columns of `Evaluation.frame`. By default `found`, `total_shift`, `max_shift`, `inlier`, `connected_90` and
        `possible`, those that every evaluation has.
    """
    if measures is None:
        measures = [name for name in COMPARED if all(name in known.frame for known in evaluations.values())]
    names = [measures] if isinstance(measures, str) else list(measures)
    _check_same_rows(evaluations)
    rows = []
    for measure in names:
        _check_measured(measure, evaluations)
        for first, second in combinations(evaluations, 2):
            one, other = (evaluations[name].charged[measure].to_numpy(np.float64) for name in (first, second))
            row = {"measure": measure, "first": first, "second": second}
            known = evaluations[first].measures[measure]
            rows.append(row | _pair(known, one, other, confidence, resamples, random_state))
    frame = pd.DataFrame(rows)
    return frame.assign(p_holm=holm(frame["p_value"].to_numpy()))


def holm(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Holm's corrected p-values, which bound the chance of any false rejection; NaN stays NaN."""
    values = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    corrected = np.full(len(values), np.nan)
    scaled = values[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0) if len(order) else scaled
    return corrected


def _pair(
    measure: Measure, first: FloatArray, second: FloatArray, confidence: float, resamples: int, seed: int
) -> dict[str, Any]:
    both = ~np.isnan(first) & ~np.isnan(second)
    one, other = first[both], second[both]
    with np.errstate(invalid="ignore"):  # infinite on both sides is a tie
        difference = np.where(one == other, 0.0, one - other)
    interval = mean_interval(difference, confidence=confidence, resamples=resamples, random_state=seed)
    gain = difference if measure.better == "higher" else -difference
    test = SIGN_TEST if measure.share else SIGNED_RANKS
    shares = {"better": gain > 0, "worse": gain < 0, "tied": gain == 0}
    return {
        "n": len(one),
        "first_mean": _mean(one),
        "second_mean": _mean(other),
        "difference": _mean(difference),
        "low": interval.low,
        "high": interval.high,
        **{name: _mean(chosen) for name, chosen in shares.items()},
        "test": test,
        "p_value": _p_value(difference, test),
    }


def _mean(values: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.mean(values)) if len(values) else float("nan")


def _p_value(difference: FloatArray, test: str) -> float:
    from scipy import stats

    differ = int((difference != 0).sum())
    if not len(difference):
        return float("nan")
    if not differ:
        return 1.0
    if test == SIGN_TEST:
        return float(stats.binomtest(int((difference > 0).sum()), differ).pvalue)
    # Infinite differences are ranked as the largest ones.
    largest = np.abs(difference[np.isfinite(difference)]).max(initial=0.0) * 2 + 1
    return float(stats.wilcoxon(np.clip(difference, -largest, largest), zero_method="pratt").pvalue)


def _check_measured(measure: str, evaluations: Mapping[str, Evaluation]) -> None:
    for name, evaluation in evaluations.items():
        if measure not in evaluation.charged:
            raise AttainError(
                f"measures names {measure!r}, which the evaluation of {name!r} does not have; it has "
                f"{listed(evaluation.charged, 60)}"
            )


def _check_same_rows(evaluations: Mapping[str, Evaluation]) -> None:
    if len(evaluations) < 2:
        raise AttainError(f"evaluations must hold at least two methods, got {listed(evaluations)}")
    (first, one), *others = evaluations.items()
    for name, other in others:
        if not one.frame.index.equals(other.frame.index) or not np.array_equal(
            one.context.factuals, other.context.factuals, equal_nan=True
        ):
            raise DataError(
                f"evaluations of {first!r} and {name!r} are of different rows, or of the same in another order "
                f"({len(one.frame)} and {len(other.frame)}); explain the same frame with both methods"
            )
        if (one.target, one.probability) != (other.target, other.probability):
            raise DataError(
                f"evaluations of {first!r} and {name!r} are of different requests: target {one.target!r} with "
                f"probability {one.probability} and {other.target!r} with {other.probability}; ask both for the same"
            )
        if not np.array_equal(one.reference.points, other.reference.points):
            raise DataError(
                f"evaluations of {first!r} and {name!r} have different references; evaluate both with the same model "
                "and training data"
            )
