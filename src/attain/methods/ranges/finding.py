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
from attain.tables import ordinary

_AT_ONCE: Final = 64
"""Answers looked at together, which bounds memory."""


def find_ranges(
    problem: Problem, rows: np.ndarray, owners: np.ndarray, percentiles: Percentiles, score: ProductScore | None
) -> Ranges:
    """The ranges round answers (m, d) of the rows `owners`, (m,), sorted; none where the budget does not allow it.

    `score` is that of a linear model or a tree ensemble; without one, the model is asked about every value tried.
    """
    changed = problem.region.changed(rows, owners)
    able = np.flatnonzero(_affordable(problem, changed, owners, score))
    deciding = Deciding(problem, score)
    parts = [
        _ranges(deciding, percentiles, rows[some], owners[some], changed[some], some)
        for some in np.split(able, range(_AT_ONCE, len(able), _AT_ONCE))
    ]
    return Ranges.joined(parts)


def _affordable(problem: Problem, changed: np.ndarray, owners: np.ndarray, score: ProductScore | None) -> np.ndarray:
    """Which answers can be looked at with what is left of their owners' budgets; earlier ones come first."""
    price = np.full(len(changed), CHECKED)
    if score is None:
        values = [MOST_ASKED + 2 * HALVINGS if f.ordered else len(f.levels) for f in problem.region.schema]
        price += changed @ np.array(values) + TRIED * GROWING
    total = np.concatenate(([0], np.cumsum(price)))
    own = total[1:] - total[np.searchsorted(owners, owners)]
    return np.asarray(own <= problem.ledger.left[owners])


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
    boxes = []
    for i, row in enumerate(rows):
        mine = [axes[e].part(low[i, column[e]], high[i, column[e]]) for e in np.flatnonzero(whose == i)]
        boxes.append(Box(row, int(owners[i]), mine, deciding, percentiles, deciding.problem.seed))
    sides = largest(boxes)
    box_low, box_high = np.full(rows.shape, np.nan), np.full(rows.shape, np.nan)
    for i, (box, some) in enumerate(zip(boxes, sides, strict=True)):
        box_low[i, box.columns], box_high[i, box.columns] = box.ends(some)
    share = failing(boxes, sides)
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
    )
