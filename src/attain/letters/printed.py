"""Options as letters print them: values rounded for reading, and checked again as they are printed.

Each option is tried in several roundings. What a letter shows is put into final form, held against rules, laws and
constraints, and the model decides on it; the coarsest version that holds, and is no less typical than the answer, is
printed, and an option of which none does is left out. What else a letter says about an option, that a change is not
needed or that other values would do, is checked in the same way, in all combinations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from attain.letters.languages import printable
from attain.letters.rounding import candidates
from attain.methods.recheck import Recheck
from attain.schema import Feature
from attain.tables import on_grid, ordinary, snapped, unchanged

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_MOST: Final = 500
"""The most combinations of other values of an option that the model is asked about."""


@dataclass(frozen=True, eq=False)
class Printed:
    """An option as it is printed.

    Attributes
    ----------
    option, owner
        Its position among the options of the result, and that of the person.
    row, typicality
        What is printed, (d,), and how typical it is.
    chosen
        The columns that the person changes; others follow.
    unneeded
        Those whose changes can be left out without losing the decision.
    ranges
        By column, between which cells the option holds, too.
    levels
        By column, the other levels with which it does.
    """

    option: int
    owner: int
    row: np.ndarray
    typicality: float
    chosen: tuple[int, ...]
    unneeded: set[int] = field(default_factory=set)
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict)
    levels: dict[int, list[int]] = field(default_factory=dict)


class _Axis(NamedTuple):
    """A column of an option, and the cells that it may have, the printed one among them."""

    column: int
    cells: np.ndarray


@dataclass(frozen=True, eq=False)
class Printer:
    """Finds what can be printed of the options of a result."""

    result: Counterfactuals
    recheck: Recheck

    def options(self, positions: Sequence[int], most: int) -> list[Printed]:
        """At most `most` options of each person at some positions, in order."""
        options = list(self._rounded(positions, most))
        self._mark_unneeded(options)
        self._mark_others(options)
        return options

    def follows(self, feature: Feature) -> bool:
        """Whether nobody changes the feature by itself: it is computed from others, or advances with time."""
        return feature.derived is not None or feature.clock is not None or feature.name in self.result.following

    def _rounded(self, positions: Sequence[int], most: int) -> Iterator[Printed]:
        """The options in their coarsest rounding that holds; those that are equal then once."""
        which = np.flatnonzero(np.isin(self.result.owners, positions))
        rows, holds, typicality = self._coarsest(which)
        seen: dict[int, list[bytes]] = {}
        for k in np.flatnonzero(holds).tolist():
            owner = int(self.result.owners[which[k]])
            mine, chosen = seen.setdefault(owner, []), self._chosen(rows[k], owner)
            shown = all(printable(rows[k, j]) for j in chosen)
            if shown and len(mine) < most and rows[k].tobytes() not in mine:
                mine.append(rows[k].tobytes())
                yield Printed(int(which[k]), owner, rows[k], float(typicality[k]), chosen)

    def _chosen(self, row: np.ndarray, owner: int) -> tuple[int, ...]:
        features, own = self.result.table.schema.features, self.result.table.values[owner]
        return tuple(j for j in np.flatnonzero(~unchanged(own, row)).tolist() if not self.follows(features[j]))

    def _coarsest(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The coarsest rounding of options that holds, (m, d), whether there is any, and how typical it is, (m,)."""
        rows, owners = self.result.rows[which], self.result.owners[which]
        own, schema, settings = self.result.table.values[owners], self.result.table.schema, self.result.settings
        rounds = ~unchanged(own, rows)
        for j, feature in enumerate(schema):
            on_scale = ordinary(feature, rows[:, j]) & ordinary(feature, own[:, j])
            rounds[:, j] &= on_scale & feature.numeric & (not self.follows(feature))
        # besides the decision, answers were asked to allow for slack, or to hold under other models
        exact = settings.get("slack") is not None or bool(settings.get("robust"))
        versions = rows[None] if exact else candidates(rows, own, rounds, schema)
        checked = self.recheck.options(versions.reshape(-1, rows.shape[1]), np.tile(owners, len(versions)))
        holds, typicality = (part.reshape(len(versions), -1) for part in checked[1:])
        good = holds & ~(typicality > typicality[-1])
        first, at = good.argmax(axis=0), np.arange(len(rows))
        return checked.rows.reshape(versions.shape)[first, at], good[first, at], typicality[first, at]

    def _mark_unneeded(self, options: Sequence[Printed]) -> None:
        """Marks changes that can be left out one by one, if they can be left out together, too."""
        own = self.result.table.values
        pairs = [(one, j) for one in options for j in one.chosen]
        holds = self._hold([(one, [_Axis(j, own[one.owner, [j]])]) for one, j in pairs])
        for (one, j), without in zip(pairs, holds, strict=True):
            if without:
                one.unneeded.add(j)
        marked = [one for one in options if one.unneeded]
        jointly = self._hold([(one, [_Axis(j, own[one.owner, [j]]) for j in one.unneeded]) for one in marked])
        for one, without in zip(marked, jointly, strict=True):
            if not without:
                one.unneeded.clear()

    def _hold(self, asked: Sequence[tuple[Printed, Sequence[_Axis]]]) -> list[bool]:
        """Whether options hold with all combinations of the cells of some columns; the model is asked once."""
        parts, rows, owners = [], [], []
        for one, axes in asked:
            points = np.array([*product(*(axis.cells for axis in axes))])
            part = np.repeat(one.row[None], len(points), axis=0)
            part[:, [axis.column for axis in axes]] = points
            rows.append(part)
            owners.append(np.full(len(part), one.owner))
            parts.append(len(part))
        if not rows:
            return []
        checked = self.recheck.options(np.concatenate(rows), np.concatenate(owners))
        holds, finals = (np.split(part, np.cumsum(parts)[:-1]) for part in (checked.holds, checked.rows))
        return [
            bool(good.all()) and all(unchanged(final[:, a.column], part[:, a.column]).all() for a in axes)
            for (_, axes), part, good, final in zip(asked, rows, holds, finals, strict=True)
        ]

    def _mark_others(self, options: Sequence[Printed]) -> None:
        """Notes the other values with which options hold, where ranges were asked for.

        A box that is proven holds. Otherwise those columns vary whose values all hold by themselves, as many as there
        are combinations to ask about, those with the fewest values first; where a combination does not hold, the last
        column is left out.
        """
        single = []
        for one in options:
            one.ranges.update(self._proven(one))
            single += [] if one.ranges else [(one, axis) for axis in self._axes(one)]
        alone = self._hold([(one, [*self._left_out(one), axis]) for one, axis in single])
        varied: dict[int, tuple[Printed, list[_Axis]]] = {}
        for (one, axis), good in zip(single, alone, strict=True):
            if good:
                varied.setdefault(one.option, (one, []))[1].append(axis)
        pending = [(one, self._few(axes, 2 ** len(one.unneeded))) for one, axes in varied.values()]
        while pending := [(one, axes) for one, axes in pending if axes]:
            holds = self._hold([(one, [*self._left_out(one), *axes]) for one, axes in pending])
            for (one, axes), good in zip(pending, holds, strict=True):
                for j, cells in axes if good else ():
                    if self.result.table.schema.features[j].numeric:
                        one.ranges[j] = float(cells.min()), float(cells.max())
                    else:
                        one.levels[j] = [int(level) for level in cells.tolist() if level != one.row[j]]
            pending = [(one, axes[:-1]) for (one, axes), good in zip(pending, holds, strict=True) if not good]

    def _few(self, axes: Sequence[_Axis], times: int) -> list[_Axis]:
        """The axes with the fewest values, as many as there are combinations to ask about."""
        ordered = sorted(axes, key=lambda axis: len(axis.cells))
        sizes = accumulate((len(axis.cells) for axis in ordered), mul, initial=times)
        return ordered[: sum(size <= _MOST for size in sizes) - 1]

    def _left_out(self, one: Printed) -> list[_Axis]:
        """The changes that may be left out, as axes: with and without them."""
        own = self.result.table.values[one.owner]
        return [_Axis(j, np.array([one.row[j], own[j]])) for j in sorted(one.unneeded)]

    def _proven(self, one: Printed) -> dict[int, tuple[float, float]]:
        """By column, the sides of a box that is proven to hold and contains the option; none without one."""
        sides, failing = self._box(one)
        if failing != 0 or not all(low <= one.row[j] <= high for j, (low, high) in sides.items()):
            return {}
        own, exact = self.result.table.values[one.owner], self.result.rows[one.option]
        if any(one.row[j] != exact[j] for j in one.chosen if j not in sides):
            return {}
        if any(j not in sides or not sides[j][0] <= own[j] <= sides[j][1] for j in one.unneeded):
            return {}
        others = {j: ends for j, ends in sides.items() if ends[0] < ends[1] and j not in one.unneeded}
        return {j: ends for j, ends in others.items() if not ends[0] <= own[j] <= ends[1]}

    def _box(self, one: Printed) -> tuple[dict[int, tuple[float, float]], float]:
        """By column, the sides of the box round the answer, and the share of it that may fail."""
        ranges = self.result.intervals
        if ranges is None or not len(at := np.flatnonzero(ranges.option == one.option)):
            return {}, math.nan
        sides = {int(ranges.column[r]): (float(ranges.box_low[r]), float(ranges.box_high[r])) for r in at}
        sides = {j: self._in_time(one, j, ends) for j, ends in sides.items() if not math.isnan(ends[0])}
        return sides, float(ranges.box_failing[at[0]])

    def _in_time(self, one: Printed, j: int, ends: tuple[float, float]) -> tuple[float, float]:
        """The part of a side that takes no longer than what is printed; it may have been rounded to take less."""
        low, high = (float(cells[0, j]) for cells in self.recheck.region.in_time(one.row[None], np.array([one.owner])))
        low, high = max(low, ends[0]), min(high, ends[1])
        feature = self.result.table.schema.features[j]
        step = feature.step if feature.numeric else 1.0
        first, last = snapped(np.array([low, high]), step, np.array([low, low]), np.array([high, high])).tolist()
        return (ends[0] if low == ends[0] else first), (ends[1] if high == ends[1] else last)

    def open_ends(self, one: Printed, j: int) -> tuple[bool, bool]:
        """Whether the option holds to the least, and to the largest, value that was tried or that there can be."""
        ranges, feature = self.result.intervals, self.result.table.schema.features[j]
        assert ranges is not None
        r = np.flatnonzero((ranges.option == one.option) & (ranges.column == j))[0]
        least, most = np.fmax(ranges.least[r], feature.suggested[0]), np.fmin(ranges.most[r], feature.suggested[1])
        return bool(ranges.box_low[r] <= least), bool(ranges.box_high[r] >= most)

    def _axes(self, one: Printed) -> list[_Axis]:
        """The columns of needed changes that may have other values, each with all of them, unless they are many."""
        ranges = self.result.intervals
        if ranges is None:
            return []
        sides, _ = self._box(one)
        other = {int(ranges.column[r]): ranges.levels[r] for r in np.flatnonzero(ranges.option == one.option)}
        axes = []
        for j in sorted({*one.chosen} - one.unneeded):
            feature, own = self.result.table.schema.features[j], self.result.table.values[one.owner, j]
            step = feature.step if feature.numeric else 1.0
            low, high = sides.get(j, (math.nan, math.nan))
            if low <= own <= high:
                continue
            if low <= one.row[j] <= high and step is not None and 0 < round((high - low) / step) < _MOST:
                axes.append(_Axis(j, on_grid(low + step * np.arange(round((high - low) / step) + 1), step)))
            elif other.get(j):
                axes.append(_Axis(j, np.array([one.row[j], *other[j]])))
        return axes
