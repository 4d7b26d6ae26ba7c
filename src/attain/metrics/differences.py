"""Whether differences are more than chance: between methods, row by row, and between groups of people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray, is_missing
from attain.core.errors import AttainError, DataError, listed
from attain.core.intervals import (
    CONFIDENCE,
    MISSING,
    RESAMPLES,
    checked_confidence,
    in_reading_order,
    mean_interval,
    quantile_interval,
    resampled,
    share_interval,
)
from attain.core.text import NONE, plain, table, wrapped
from attain.metrics.measures import MEASURES, Measure

if TYPE_CHECKING:
    from attain.metrics.evaluation import Evaluation

COMPARED: Final = ("found", "total_shift", "max_shift", "inlier", "connected_90", "possible")
"""What methods are compared by, as far as every evaluation has it."""
GAP_MEASURES: Final = ("found", "total_shift", "max_shift")
"""What groups are compared by."""
_CLEAR: Final = 0.05
"""A difference counts as better or worse if its corrected p-value is below this."""
PAIRED: Final = ("measure", "first", "second", "difference", "wins", "losses", "p", "verdict")
PAIRED_NOTE: Final = (
    "wins, losses: share of people for whom the first method is better or worse. p: p-value of the paired test, "
    f"corrected for all rows (Holm). verdict: on the first method; unclear if p ≥ {_CLEAR}."
)
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
    for name, evaluation in evaluations.items():
        if unknown := [measure for measure in names if measure not in evaluation.charged]:
            raise AttainError(
                f"measures names {unknown[0]!r}, which the evaluation of {name!r} does not have; it has "
                f"{listed(evaluation.charged, 60)}"
            )
    rows = []
    for measure in names:
        for first, second in combinations(evaluations, 2):
            one, other = (evaluations[name].charged[measure].to_numpy(np.float64) for name in (first, second))
            there = ~np.isnan(one) & ~np.isnan(other)
            known = evaluations[first].measures[measure]
            interval = {"confidence": confidence, "resamples": resamples, "random_state": random_state}
            difference = _difference(known, one[there], other[there], **interval)
            rows.append({"measure": measure, "first": first, "second": second, **difference})
    frame = pd.DataFrame(rows)
    return frame.assign(p_holm=holm(frame["p_value"].to_numpy()))


def paired_rows(pair: pd.DataFrame) -> list[tuple[str, ...]]:
    """The cells of a table of one pair of methods, one row for each measure; the header is `PAIRED`."""
    rows = []
    for row in pair.to_dict("records"):
        measure = MEASURES[row["measure"]]
        means = [measure.written(row[name]) for name in ("first_mean", "second_mean")]
        difference = measure.estimate(row["difference"], row["low"], row["high"])
        shares = [f"{100 * row[name]:.0f} %" for name in ("better", "worse")]
        verdict = _verdict(row["difference"], row["p_holm"], measure.better)
        rows.append((measure.title, *means, difference, *shares, p_value(row["p_holm"]), verdict))
    return rows


def paired_text(comparison: pd.DataFrame, width: int | None = None) -> str:
    """A table for each pair of methods, for a terminal, and what its columns mean."""
    parts = []
    for (first, second), pair in comparison.groupby(["first", "second"], sort=False):
        shown = table(PAIRED, paired_rows(pair), width=width, right=range(1, len(PAIRED) - 1))
        parts.append(f"{wrapped(f'{plain(first)} − {plain(second)}', width)}\n{shown}")
    return "\n\n".join([*parts, wrapped(PAIRED_NOTE, width)])


def _verdict(difference: float, corrected: float, good: str) -> str:
    if math.isnan(difference) or difference == 0:
        return "–" if math.isnan(difference) else "equal"
    if not corrected < _CLEAR:
        return "unclear"
    return "better" if (good == "higher") == (difference > 0) else "worse"


def p_value(value: float) -> str:
    """A p-value for reading."""
    return NONE if math.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def holm(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Holm's corrected p-values, which bound the chance of any false rejection; NaN stays NaN."""
    values = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    corrected = np.full(len(values), np.nan)
    scaled = values[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0) if len(order) else scaled
    return corrected


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

    def text(self, width: int | None = None) -> str:
        """A table for a terminal of the two groups between which each measure differs most."""
        rows = []
        for name, row in self.gaps.to_dict("index").items():
            measure = MEASURES[str(name)]
            ends = [row[end] if row["gap"] > 0 else NONE for end in ("highest", "lowest")]
            gap = measure.estimate(row["gap"], row["low"], row["high"])
            rows.append((measure.title, *ends, gap, p_value(row["p_value"])))
        return table(("measure", "highest", "lowest", "gap", "p"), rows, width=width, right=(3, 4))


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
    everybody = group_members(groups, len(next(iter(columns.values()), [])))
    drawing = {"resamples": resamples, "random_state": random_state}
    means, gaps = [], []
    for name, column in columns.items():
        known = ~np.isnan(column)
        inside = {group: member[known] for group, member in everybody.items() if member[known].any()}
        cells = column[known]
        share = np.isin(cells, (0.0, 1.0)).all() if isinstance(values, Mapping) else values.measures[name].share
        for group, member in inside.items():
            ends = (
                share_interval(cells[member], confidence=confidence)
                if share
                else mean_interval(cells[member], confidence=confidence, **drawing)
            )
            means.append((name, group, int(member.sum()), cells[member].mean(), *ends))
        gaps.append((name, *_gap(cells, inside, confidence, **drawing)))
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


def _difference(measure: Measure, first: FloatArray, second: FloatArray, **drawing: Any) -> dict[str, Any]:
    """The line of a pair of methods but for their names, from values of the same rows."""
    with np.errstate(invalid="ignore"):  # infinite on both sides is a tie
        difference = np.where(first == second, 0.0, first - second)
        gain = difference if measure.better == "higher" else -difference
        sides = {"first_mean": first, "second_mean": second, "difference": difference}
        sides |= {"better": gain > 0, "worse": gain < 0, "tied": gain == 0}
        means = {name: float(np.mean(side)) if len(side) else np.nan for name, side in sides.items()}
    low, high = mean_interval(difference, **drawing)
    test = SIGN_TEST if measure.share else SIGNED_RANKS
    return {"n": len(first), **means, "low": low, "high": high, "test": test, "p_value": _p_value(difference, test)}


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


def _columns(values: Evaluation | Mapping[str, ArrayLike], measures: Sequence[str]) -> dict[str, FloatArray]:
    if isinstance(values, Mapping):
        return {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
    unknown = [name for name in measures if name not in values.charged]
    if unknown:
        raise DataError(f"measures names {listed(unknown)}; the evaluation has {listed(values.charged, 60)}")
    return {name: values.charged[name].to_numpy(dtype=np.float64) for name in measures}


def _gap(
    values: FloatArray, groups: Mapping[Any, BoolArray], confidence: float, *, resamples: int, random_state: int
) -> tuple[Any, ...]:
    """The groups with the highest and the lowest mean, their gap, the ends of its interval, and its p-value."""
    if len(groups) < 2:
        return None, None, np.nan, np.nan, np.nan, np.nan
    names, members = list(groups), np.array(list(groups.values()))
    sizes = members.sum(axis=1)
    means = members @ values / sizes
    first, last = int(means.argmax()), int(means.argmin())
    drawn = [
        np.concatenate([values[members[k]][rows].mean(axis=1) for rows in resampled(sizes[k], resamples, seed)])
        for k, seed in ((first, random_state), (last, random_state + 1))
    ]
    tail = (1.0 - confidence) / 2.0
    interval = quantile_interval(drawn[0] - drawn[1], tail, 1.0 - tail)
    # The share of random assignments of rows to groups with a gap at least as large, the actual one included. Sums in
    # another order differ in their last bits.
    least = np.ptp(means) - 1e-9 * max(float(np.abs(values).max()), 1.0)
    generator = np.random.default_rng(random_state)
    as_large = sum(bool(np.ptp(members @ generator.permutation(values) / sizes) >= least) for _ in range(resamples))
    return names[first], names[last], means[first] - means[last], *interval, (1 + as_large) / (1 + resamples)
