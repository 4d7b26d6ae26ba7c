"""The values of a changed feature that are tried, in order."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from attain.models.structure.products import ProductScore
from attain.population.percentiles import Percentiles
from attain.tables import Region, on_grid, ordinary, snapped, spacing

_MOST: Final = 65
"""The most values tried of a number, besides those where the score may jump."""
MOST_ASKED: Final = 33
"""The same, where the model itself is asked about each."""


class Axis(NamedTuple):
    """A changed number or ordered level of an answer.

    Attributes
    ----------
    column
        The feature.
    values
        What is tried, increasing; the answer's own value is among them.
    place
        The position of the answer's own value.
    whole
        Whether the values are all that the grid has within the person's reach.
    """

    column: int
    values: np.ndarray
    place: int
    whole: bool

    def part(self, low: float, high: float, *more: float) -> Axis:
        """The values within limits, which are values too, and `more` of them."""
        values = np.unique(np.append(self.values[(self.values >= low) & (self.values <= high)], (low, high, *more)))
        return Axis(self.column, values, int(np.searchsorted(values, self.values[self.place])), self.whole)


def axis(
    answer: np.ndarray,
    owner: int,
    j: int,
    region: Region,
    percentiles: Percentiles,
    score: ProductScore | None,
    most: int | None = None,
) -> Axis:
    """The values of column j of an answer (d,) that are tried: of a number `most`, and where the score may jump."""
    feature, own = region.schema.features[j], answer[j]
    if not feature.numeric:
        values, whole = np.arange(len(feature.levels), dtype=np.float64), True
    else:
        most = (MOST_ASKED if score is None else _MOST) if most is None else most
        values, whole = _numbers(j, own, region, owner, percentiles, score, most)
        values = values[ordinary(feature, values)]
    values = np.unique(np.append(values, own))
    return Axis(j, values, int(np.searchsorted(values, own)), whole)


def _numbers(
    j: int, own: float, region: Region, owner: int, percentiles: Percentiles, score: ProductScore | None, most: int
) -> tuple[np.ndarray, bool]:
    step, low, high = region.schema.features[j].step, region.low[owner, j], region.high[owner, j]
    low, high = (own if np.isinf(end) else float(end) for end in (low, high))
    ends = _within(np.array([low, high]), step, low, high)
    if step is not None and len(ends) == 2 and (ends[1] - ends[0]) / step < most:
        return on_grid(ends[0] + step * np.arange(np.rint((ends[1] - ends[0]) / step) + 1), step), True
    points = percentiles.points[j]
    points = points[(points >= low) & (points <= high)]
    if len(points) > most:
        points = points[np.linspace(0, len(points) - 1, most).astype(np.intp)]
    breaks = np.empty(0) if score is None else score.breaks(j)
    breaks = breaks[(breaks >= low) & (breaks <= high)]
    beside = on_grid(breaks, step) + spacing(breaks, step) * np.array([[-1.0], [0.0], [1.0]])
    tried = [ends, points, beside.ravel()]
    return _within(np.concatenate(tried), step, low, high), False


def _within(values: np.ndarray, step: float | None, low: float, high: float) -> np.ndarray:
    placed = snapped(values, step, np.full(len(values), low), np.full(len(values), high))
    return np.unique(placed[~np.isnan(placed)])
