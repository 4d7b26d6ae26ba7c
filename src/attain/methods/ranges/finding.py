"""The ranges of all answers of a call, within what is left of each row's budget."""

from __future__ import annotations

from typing import Final

import numpy as np

from attain.methods.ranges.axes import MOST_ASKED, axis
from attain.methods.ranges.box import CHECKED, GROWING, TRIED, Box, failing, largest
from attain.methods.ranges.deciding import Deciding
from attain.methods.ranges.intervals import HALVINGS, intervals, levels
from attain.methods.search.problem import Problem
from attain.models.structure.products import ProductScore
from attain.population.percentiles import Percentiles
from attain.results.ranges import Ranges
from attain.tables import Region, ordinary, snapped

_AT_ONCE: Final = 64
"""Answers looked at together, which bounds memory."""


def find_ranges(
    problem: Problem, rows: np.ndarray, owners: np.ndarray, percentiles: Percentiles, score: ProductScore | None
) -> Ranges:
    """The ranges round answers (m, d) of the rows `owners`, (m,), sorted; none where the budget or the time is spent.

    `score` is that of a linear model or a tree ensemble; without one, the model is asked about every value tried.
    """
    changed = problem.region.changed(rows, owners)
    able = np.flatnonzero(_affordable(problem, changed, owners, score))
    deciding = Deciding(problem, score)
    parts = []
    for batch in np.split(able, range(_AT_ONCE, len(able), _AT_ONCE)):
        some = batch[~problem.ledger.late[owners[batch]]]
        parts.append(_ranges(deciding, percentiles, rows[some], owners[some], changed[some], some))
    return Ranges.joined(parts)


def _affordable(problem: Problem, changed: np.ndarray, owners: np.ndarray, score: ProductScore | None) -> np.ndarray:
    """Which answers can be looked at with what is left of their owners' budgets; earlier ones come first."""
    price = np.full(len(changed), CHECKED)
    if score is None:
        values = [MOST_ASKED + 2 * HALVINGS if f.ordered else len(f.levels) for f in problem.region.schema]
        price += changed @ np.array(values) + TRIED * GROWING
    total = np.concatenate(([0], np.cumsum(price)))
    own = total[1:] - total[np.searchsorted(owners, owners)]
    return np.asarray(own * problem.goal.most_questions <= problem.ledger.left[owners])


def _ranges(
    deciding: Deciding,
    percentiles: Percentiles,
    rows: np.ndarray,
    owners: np.ndarray,
    changed: np.ndarray,
    options: np.ndarray,
) -> Ranges:
    region = deciding.problem.region
    slides = changed & np.column_stack(
        [ordinary(feature, rows[:, j]) & feature.ordered for j, feature in enumerate(region.schema)]
    )
    whose, column = np.nonzero(slides)
    axes = [
        axis(rows[i], int(owners[i]), int(j), region, percentiles, deciding.score)
        for i, j in zip(whose, column, strict=True)
    ]
    low, high = np.full(rows.shape, np.nan), np.full(rows.shape, np.nan)
    low[slides], high[slides] = intervals(axes, rows[whose], owners[whose], deciding)
    first, last = _in_time(region, rows, owners, low, high)
    boxes = []
    for i, row in enumerate(rows):
        mine = [
            axes[e].part(*(float(ends[i, column[e]]) for ends in (low, high, first, last)))
            for e in np.flatnonzero(whose == i)
        ]
        boxes.append(Box(row, int(owners[i]), mine, deciding, percentiles, deciding.problem.seed))
    whole = largest(boxes)
    sides = [
        box.within(some, first[i, box.columns], last[i, box.columns])
        for i, (box, some) in enumerate(zip(boxes, whole, strict=True))
    ]
    box_low, box_high, least, most = (np.full(rows.shape, np.nan) for _ in range(4))
    for i, (box, some) in enumerate(zip(boxes, sides, strict=True)):
        box_low[i, box.columns], box_high[i, box.columns] = box.ends(some)
        # beyond what can be done in time, an answer holds if it does to the very end
        sure = box.provable or len(box.axes) == 1
        tried = [(axes[e].values[0], axes[e].values[-1]) for e in np.flatnonzero(whose == i)]
        for j, ends, (start, end) in zip(box.columns, zip(*box.ends(whole[i]), strict=True), tried, strict=True):
            least[i, j] = start if first[i, j] == low[i, j] else first[i, j] if sure and ends[0] == start else np.nan
            most[i, j] = end if last[i, j] == high[i, j] else last[i, j] if sure and ends[1] == end else np.nan
    low, high, share = first, last, failing(boxes, sides)
    at, which = np.nonzero(changed)
    return Ranges(
        option=options[at],
        column=which,
        low=low[at, which],
        high=high[at, which],
        low_percentile=percentiles.of(low)[at, which],
        high_percentile=percentiles.of(high)[at, which],
        levels=levels(rows, owners, at, which, deciding),
        box_low=box_low[at, which],
        box_high=box_high[at, which],
        box_failing=share[at],
        least=least[at, which],
        most=most[at, which],
    )


def _in_time(
    region: Region, rows: np.ndarray, owners: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of ranges (m, d), moved in to the grid values that take no longer than the answers."""
    soonest, farthest = region.in_time(rows, owners)
    soonest, farthest = np.fmax(soonest, low), np.fmin(farthest, high)
    for j, feature in enumerate(region.schema):
        step = feature.step if feature.numeric else 1.0
        first, last = (snapped(ends[:, j], step, soonest[:, j], farthest[:, j]) for ends in (soonest, farthest))
        soonest[:, j] = np.where(soonest[:, j] > low[:, j], first, low[:, j])
        farthest[:, j] = np.where(farthest[:, j] < high[:, j], last, high[:, j])
    return soonest, farthest
