"""The box round an answer in which every point holds.

A box has an interval of values for each changed number or ordered level, and the answer's own cells elsewhere. It grows
from the answer: first all sides move out together, by the same number of percentiles of their columns, as far as the
box holds; then one side after the other moves out as far as it can, those towards the person's own values first. What
is within a box that holds, holds too: so afterwards no side can move out any further. Sides are at values of the axes.

Whether a box holds is proven for linear models and tree ensembles, by the least score of all its points, and by
interval arithmetic for rules and laws. Where that cannot be done, points of it are drawn and asked about. From the last
box others are drawn, which bound the share of it that fails: with f of n failing, by the 95 % bound of Clopper and
Pearson, the p with P(Binomial(n, p) ≤ f) = 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product
from typing import Final, TypeAlias

import numpy as np
from scipy.special import betaincinv

from attain.methods.ranges.axes import Axis
from attain.methods.ranges.deciding import Deciding, others_follow
from attain.methods.ranges.rules import can_break
from attain.methods.search.streams import streams, uniforms
from attain.models.structure.products import Product
from attain.population.percentiles import Percentiles
from attain.schema.formulas import Formula, View
from attain.tables import on_grid

Sides: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The positions of the first and of the last value of each axis."""

GROWING: Final = 32
"""Points drawn from each box that is tried, half of them corners."""
TRIED: Final = 64
"""The most boxes tried where points are drawn."""
CHECKED: Final = 299
"""Points drawn from the last box: if all hold then, with 95 % confidence, at most 1 % of it does not."""
SPOT: Final = 16
"""Points of a box that is proven to hold which the model is asked about all the same."""
_CONFIDENCE: Final = 0.95
_STREAM: Final = 0xB0C5
"""Separates the draws from those of searches."""


@dataclass(frozen=True, eq=False)
class Box:
    """The box of one answer.

    Attributes
    ----------
    answer, owner
        The answer (d,), and the row of the batch that it is for.
    axes
        Its changed numbers and ordered levels, each with the values within its own range.
    """

    answer: np.ndarray
    owner: int
    axes: list[Axis]
    deciding: Deciding
    percentiles: Percentiles
    seed: int

    @cached_property
    def columns(self) -> np.ndarray:
        return np.array([axis.column for axis in self.axes], dtype=np.intp)

    def grown(self) -> Generator[Sides, bool | None, Sides]:
        """Proposes boxes, is told which hold, and returns the last of these."""
        place = tuple(axis.place for axis in self.axes)
        away = [self._away(axis) for axis in self.axes]
        radii = np.unique(np.concatenate([np.zeros(1), *away]))
        held, most = 0, len(radii) - 1
        sides = place, place
        while held < most:
            middle = (held + most + 1) // 2
            tried = _within(away, radii[middle])
            if (yield tried):
                held, sides = middle, tried
            else:
                most = middle - 1
        for axis, outward in self._order:
            held, most = 0, self._room(sides, axis, outward)
            while held < most:
                middle = (held + most + 1) // 2
                if (yield _moved(sides, axis, outward, middle)):
                    held = middle
                else:
                    most = middle - 1
            sides = _moved(sides, axis, outward, held)
        return sides

    def _away(self, axis: Axis) -> np.ndarray:
        """How many percentiles each value of an axis is from the answer's."""
        standing = self.percentiles.interpolated(axis.values[:, None], [axis.column])[:, 0]
        return np.abs(standing - standing[axis.place])

    @property
    def _order(self) -> list[tuple[int, int]]:
        """The sides, as an axis and −1 or 1: those towards the owner's own value first."""
        own = self.deciding.problem.region.factuals[self.owner, self.columns]
        back = np.where(own > self.answer[self.columns], 1, -1).tolist()
        return [*enumerate(back), *((axis, -side) for axis, side in enumerate(back))]

    def _room(self, sides: Sides, axis: int, outward: int) -> int:
        """How many values there are beyond a side."""
        return sides[0][axis] if outward < 0 else len(self.axes[axis].values) - 1 - sides[1][axis]

    def ends(self, sides: Sides) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest value of each axis, (k,) each."""
        low, high = (np.array([axis.values[at] for axis, at in zip(self.axes, side, strict=True)]) for side in sides)
        return low, high

    def within(self, sides: Sides, low: np.ndarray, high: np.ndarray) -> Sides:
        """The sides moved in to these values of the axes, (k,) each, where they lie beyond."""
        first, last = (
            [int(np.searchsorted(axis.values, end)) for axis, end in zip(self.axes, ends, strict=True)]
            for ends in (low, high)
        )
        return tuple(map(max, sides[0], first)), tuple(map(min, sides[1], last))

    @cached_property
    def product(self) -> Product | None:
        """The scores of the axes' product; None where only the model can tell."""
        region, score = self.deciding.problem.region, self.deciding.score
        if score is None or others_follow(region, self.columns.tolist()):
            return None
        cells = {axis.column: axis.values for axis in self.axes}
        return score.axes(self.answer, cells).product([*cells])

    @cached_property
    def _rules(self) -> list[Formula] | None:
        """The rules and laws that name an axis; None where one of them is a law that the owner breaks."""
        region = self.deciding.problem.region
        moved = {region.schema.names[j] for j in self.columns}
        binding = {rule.text for rule in region.binding(self.owner)}
        touched = [rule for rule in region.book.rules if moved & set(rule.names)]
        return [rule.formula for rule in touched] if all(rule.text in binding for rule in touched) else None

    @cached_property
    def provable(self) -> bool:
        """Whether it can be proven that the answer itself holds, and so perhaps that a box does."""
        place = tuple(axis.place for axis in self.axes)
        return self.product is not None and self._rules is not None and self.proven((place, place))

    def proven(self, sides: Sides) -> bool:
        """Whether all points flip the decision, by their least score, and keep the rules."""
        if self.product is None or self._rules is None or self.product.least(*sides) < 0:
            return False
        schema = self.deciding.problem.region.schema
        low, high = self.ends(sides)
        names = [schema.names[j] for j in self.columns]
        moved = dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True))
        view = View(schema.features, self.answer[None])
        return not any(can_break(formula, view, moved) for formula in self._rules)

    def all_points(self, sides: Sides, most: int) -> np.ndarray | None:
        """All points of the grid in the box, (m, d); None where they are more than `most`."""
        parts = [axis.values[a : b + 1] for axis, a, b in zip(self.axes, *sides, strict=True)]
        if not all(axis.whole for axis in self.axes) or math.prod(len(part) for part in parts) > most:
            return None
        return self.rows(np.array([*product(*parts)]))

    def drawn(self, sides: Sides, shares: np.ndarray) -> np.ndarray:
        """The points (m, d) at these shares (m, k) of the way along each axis, on the grid."""
        low, high = self.ends(sides)
        cells = low + shares * (high - low)
        for k, axis in enumerate(self.axes):
            feature = self.deciding.problem.region.schema.features[axis.column]
            cells[:, k] = np.clip(on_grid(cells[:, k], feature.step if feature.numeric else 1.0), low[k], high[k])
        return self.rows(cells)

    def rows(self, cells: np.ndarray) -> np.ndarray:
        """The answer with these cells (m, k) on its axes, (m, d)."""
        rows = np.repeat(self.answer[None], len(cells), axis=0)
        rows[:, self.columns] = cells
        return rows

    @cached_property
    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Random shares for boxes that are tried, (GROWING, k), and for the last one, (CHECKED, k)."""
        (found,) = uniforms(streams(self.answer[None], self.seed ^ _STREAM), (GROWING + CHECKED, len(self.axes)))
        growing = found[:GROWING]
        growing[: GROWING // 2] = np.rint(growing[: GROWING // 2])
        return growing, found[GROWING:]


def largest(boxes: Sequence[Box]) -> list[Sides]:
    """The sides of each box when it can grow no further; all grow at once, so that the model is asked in few calls."""
    running = [box.grown() for box in boxes]
    sides: dict[int, Sides] = {}
    tried: dict[int, Sides] = {}

    def advance(b: int, holds: bool | None) -> None:
        try:
            tried[b] = running[b].send(holds)
        except StopIteration as end:
            sides[b] = end.value
            tried.pop(b, None)

    for b in range(len(boxes)):
        advance(b, None)
    for step in count():
        if not tried:
            break
        pairs = [(boxes[b], proposed) for b, proposed in tried.items()]
        for b, holds in zip([*tried], _hold(pairs, step < TRIED), strict=True):
            advance(b, holds)
    return [sides[b] for b in range(len(boxes))]


def _hold(pairs: list[tuple[Box, Sides]], draw: bool) -> list[bool]:
    """Which boxes hold: as proven, or where nothing can be proven and `draw` is set, at all points that are drawn."""
    holds = [box.provable and box.proven(sides) for box, sides in pairs]
    drawn = [p for p, (box, _) in enumerate(pairs) if draw and not box.provable]
    boxes = [pairs[p][0] for p in drawn]
    points = [pairs[p][0].drawn(pairs[p][1], pairs[p][0].shares[0]) for p in drawn]
    for p, good in zip(drawn, _holding(boxes, points, ask=False), strict=True):
        holds[p] = bool(good.all())
    return holds


def failing(boxes: Sequence[Box], sides: Sequence[Sides]) -> np.ndarray:
    """The share of each box that may fail, (b,): 0 where that is proven, else by points that the model is asked about.

    Also where it is proven the model is asked about a few, in case it is not what it was read as.
    """
    proven = [box.provable for box in boxes]
    whole = [box.all_points(some, CHECKED) for box, some in zip(boxes, sides, strict=True)]
    points = [
        box.drawn(some, box.shares[1][:SPOT]) if sure else box.drawn(some, box.shares[1]) if every is None else every
        for box, some, sure, every in zip(boxes, sides, proven, whole, strict=True)
    ]
    failed = [int((~holds).sum()) for holds in _holding(boxes, points, ask=True)]
    return np.array([
        0.0 if not wrong and (sure or every is not None)
        else wrong / len(rows) if every is not None and not sure
        else upper_bound(wrong, len(rows))
        for wrong, rows, sure, every in zip(failed, points, proven, whole, strict=True)
    ])  # fmt: skip


def upper_bound(failed: int, drawn: int) -> float:
    """The 95 % bound of Clopper and Pearson on a share of which `failed` of `drawn` were seen."""
    return 1.0 if failed == drawn else float(betaincinv(failed + 1, drawn - failed, _CONFIDENCE))


def _holding(boxes: Sequence[Box], points: Sequence[np.ndarray], ask: bool) -> list[np.ndarray]:
    """Which points of each box hold; the model is asked about all in one call."""
    if not boxes:
        return []
    sizes = [len(rows) for rows in points]
    answers = np.repeat([box.answer for box in boxes], sizes, axis=0)
    owners = np.repeat([box.owner for box in boxes], sizes)
    holds = boxes[0].deciding.hold(np.concatenate(points), answers, owners, ask)
    return np.split(holds, np.cumsum(sizes)[:-1])


def _within(away: list[np.ndarray], radius: float) -> Sides:
    """The values of each axis that are at most this many percentiles away: a run round the answer's."""
    near = [np.flatnonzero(some <= radius) for some in away]
    return tuple(int(some[0]) for some in near), tuple(int(some[-1]) for some in near)


def _moved(sides: Sides, axis: int, outward: int, by: int) -> Sides:
    first, last = list(sides[0]), list(sides[1])
    if outward < 0:
        first[axis] -= by
    else:
        last[axis] += by
    return tuple(first), tuple(last)
