"""For one changed feature of an answer, the values for which it still holds, the others as suggested."""

from __future__ import annotations

from typing import Final

import numpy as np

from attain.methods.ranges.axes import Axis
from attain.methods.ranges.deciding import Deciding
from attain.tables import snapped

HALVINGS: Final = 16
"""The most values tried between the last one that holds and the first one that does not."""


def intervals(
    axes: list[Axis], answers: np.ndarray, owners: np.ndarray, deciding: Deciding
) -> tuple[np.ndarray, np.ndarray]:
    """The connected interval round the suggestion of each axis in which all values that were tried hold, (a,) each.

    `answers` (a, d) and `owners` (a,) belong to the axes.
    """
    sizes = np.array([len(axis.values) for axis in axes], dtype=np.intp)
    which = np.repeat(np.arange(len(axes)), sizes)
    columns = np.array([axis.column for axis in axes], dtype=np.intp)
    cells = np.concatenate([np.empty(0), *(axis.values for axis in axes)])
    holds = deciding.hold(*_varied(answers, owners, columns, which, cells))
    sides = []
    for outward in (-1, 1):
        good, bad = np.empty(len(axes)), np.full(len(axes), np.nan)
        for e, (axis, start) in enumerate(zip(axes, np.cumsum(sizes) - sizes, strict=True)):
            end = axis.place
            while 0 <= end + outward < len(axis.values) and holds[start + end + outward]:
                end += outward
            good[e] = axis.values[end]
            if not axis.whole and 0 <= end + outward < len(axis.values):
                bad[e] = axis.values[end + outward]
        sides.append(_refined(good, bad, answers, owners, columns, deciding))
    return sides[0], sides[1]


def levels(
    answers: np.ndarray, owners: np.ndarray, which: np.ndarray, columns: np.ndarray, deciding: Deciding
) -> tuple[tuple[int, ...], ...]:
    """The other levels for which an answer holds, for each changed feature: column `columns[e]` of answer `which[e]`.

    Empty for numbers and ordered levels, which have an interval.
    """
    region = deciding.problem.region
    allowed = [
        np.flatnonzero(
            region.levels(j)[owners[i]] & (np.arange(len(region.schema.features[j].levels)) != answers[i, j])
        )
        if not region.schema.features[j].ordered
        else np.empty(0, dtype=np.intp)
        for i, j in zip(which, columns, strict=True)
    ]
    entry = np.repeat(np.arange(len(which)), [len(some) for some in allowed])
    cells = np.concatenate([np.empty(0), *allowed])
    holds = deciding.hold(*_varied(answers[which], owners[which], columns, entry, cells))
    return tuple(tuple(cells[holds & (entry == e)].astype(int).tolist()) for e in range(len(which)))


def _varied(
    answers: np.ndarray, owners: np.ndarray, columns: np.ndarray, which: np.ndarray, cells: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Answers with one cell each replaced, the answers themselves, and their owners."""
    rows = answers[which]
    rows[np.arange(len(which)), columns[which]] = cells
    return rows, answers[which], owners[which]


def _refined(
    good: np.ndarray,
    bad: np.ndarray,
    answers: np.ndarray,
    owners: np.ndarray,
    columns: np.ndarray,
    deciding: Deciding,
) -> np.ndarray:
    """The last grid value from `good` towards `bad`, (a,) each, up to which the answer holds, by halving."""
    features = deciding.problem.region.schema.features
    active = np.flatnonzero(~np.isnan(bad))
    for _ in range(HALVINGS):
        middle = np.array([_between(good[e], bad[e], features[columns[e]].step) for e in active])
        inner = ~np.isnan(middle)
        active, middle = active[inner], middle[inner]
        if not active.size:
            break
        holds = deciding.hold(*_varied(answers, owners, columns, active, middle))
        good[active[holds]], bad[active[~holds]] = middle[holds], middle[~holds]
    return good


def _between(good: float, bad: float, step: float | None) -> float:
    """The grid value in the middle of two; NaN where there is none between them."""
    low, high = min(good, bad), max(good, bad)
    middle = float(snapped(np.array([(low + high) / 2]), step, np.array([low]), np.array([high]))[0])
    return middle if low < middle < high else np.nan
