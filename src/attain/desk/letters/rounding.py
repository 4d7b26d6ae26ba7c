"""Options as letters print them: values rounded for reading, and checked again as they are printed.

Each option is tried in several roundings. What a letter shows is put into final form, held against rules, laws and
constraints, and the model decides on it; the coarsest version that holds, and is no less typical than the answer, is
printed, and an option of which none does is left out. What else a letter says about an option, that a change is not
needed or that other values would do, is checked in the same way; the ends of a range that is printed are among the
values that are checked.

A new value v that differs from the person's own by Δ is rounded to a multiple of

    10^k,    k = min(⌊log₁₀|v|⌋ − 1, ⌊log₁₀(|Δ| / 5)⌋),

so that it has two significant digits and the change grows by a fifth at most; then, if that does not hold, with one
digit more, and so on. At each step it is rounded away from the person's own value first, and then to the nearest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from attain.answers.ranges import spread
from attain.answers.recheck import Recheck
from attain.core.text import own_number, printable
from attain.results.status import NOT_ADVISED
from attain.schema import Feature, Schema
from attain.tables import is_on_grid, on_grid, ordinary, spacing, unchanged

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_MOST: Final = 97
"""The most values of a range that the model is asked about again, evenly spaced."""
_STEPS: Final = 4
"""How many numbers of digits are tried; answers without a step have six."""
_SHARE: Final = 5
"""Rounding enlarges a change by at most 1/5."""


@dataclass(frozen=True, eq=False)
class PrintedOption:
    """An option as it is printed.

    Attributes
    ----------
    option, owner
        Its position among the options of the result, and that of the person.
    row
        What is printed, (d,).
    chosen
        The columns that the person changes; others follow.
    unneeded
        Those whose changes can be left out without losing the decision.
    ranges
        By column, between which numbers the option holds, too, the others as printed.
    levels
        By column, the other levels with which it does.
    """

    option: int
    owner: int
    row: np.ndarray
    chosen: tuple[int, ...]
    unneeded: set[int] = field(default_factory=set)
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict)
    levels: dict[int, list[int]] = field(default_factory=dict)


class _Version(NamedTuple):
    """An option with other cells (n, k) in the columns (k,); all n versions are asked about."""

    option: PrintedOption
    columns: Sequence[int]
    cells: np.ndarray


@dataclass(frozen=True, eq=False)
class Printer:
    """Rounds the options of a result for printing, and checks them again."""

    result: Counterfactuals
    recheck: Recheck

    def options(self, positions: Sequence[int], most: int) -> list[PrintedOption]:
        """At most `most` options of each person at some positions, in order; none that is no advice."""
        options = list(self._rounded(positions, most))
        self._mark_unneeded(options)
        self._mark_others(options)
        return options

    def follows(self, feature: Feature) -> bool:
        """Whether nobody changes the feature by itself: it is computed from others, or advances with time."""
        return feature.computed is not None or feature.clock is not None or feature.name in self.result.following

    def _rounded(self, positions: Sequence[int], most: int) -> Iterator[PrintedOption]:
        """The options in their coarsest rounding that holds; equal ones once.

        Of the options after a person's first, those that change what nobody has reviewed are left out.
        """
        result, allowed = self.result, bool(self.result.settings.get("allow_unreviewed"))
        which = [
            k
            for k in np.flatnonzero(np.isin(result.owners, positions)).tolist()
            if result.verdicts[k] not in NOT_ADVISED
            and (allowed or result.ranks[k] == 1 or not result.option(k).unreviewed)
        ]
        rows, holds = self._coarsest(np.array(which, dtype=np.intp))
        seen: dict[int, list[bytes]] = {}
        for k in np.flatnonzero(holds).tolist():
            owner = int(self.result.owners[which[k]])
            mine, chosen = seen.setdefault(owner, []), self._chosen(rows[k], owner)
            shown = all(printable(rows[k, j]) for j in chosen)
            if shown and len(mine) < most and rows[k].tobytes() not in mine:
                mine.append(rows[k].tobytes())
                yield PrintedOption(int(which[k]), owner, rows[k], chosen)

    def _chosen(self, row: np.ndarray, owner: int) -> tuple[int, ...]:
        features, own = self.result.table.schema.features, self.result.table.values[owner]
        return tuple(j for j in np.flatnonzero(~unchanged(own, row)).tolist() if not self.follows(features[j]))

    def _coarsest(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The coarsest rounding of options that holds and is no less typical, (m, d); whether there is any, (m,)."""
        rows, owners = self.result.rows[which], self.result.owners[which]
        own, schema, settings = self.result.table.values[owners], self.result.table.schema, self.result.settings
        rounds = ~unchanged(own, rows)
        for j, feature in enumerate(schema):
            on_scale = ordinary(feature, rows[:, j]) & ordinary(feature, own[:, j])
            rounds[:, j] &= on_scale & feature.numeric & (not self.follows(feature))
        exact = settings.get("robust")  # answers were asked to hold under other models, too
        versions = rows[None] if exact else candidates(rows, own, rounds, schema)
        checked = self.recheck.options(versions.reshape(-1, rows.shape[1]), np.tile(owners, len(versions)))
        holds, typicality = (part.reshape(len(versions), -1) for part in checked[1:])
        good = holds & ~(typicality > typicality[-1])
        first, at = good.argmax(axis=0), np.arange(len(rows))
        return checked.rows.reshape(versions.shape)[first, at], good[first, at]

    def _mark_unneeded(self, options: Sequence[PrintedOption]) -> None:
        """Marks changes that can be left out one by one, if they can be left out together, too."""
        own = self.result.table.values
        pairs = [(one, j) for one in options for j in one.chosen]
        holds = self._hold([_Version(one, [j], own[one.owner, [[j]]]) for one, j in pairs])
        for (one, j), without in zip(pairs, holds, strict=True):
            if without:
                one.unneeded.add(j)
        marked = [one for one in options if one.unneeded]
        jointly = self._hold([_Version(one, [*one.unneeded], own[one.owner, [[*one.unneeded]]]) for one in marked])
        for one, without in zip(marked, jointly, strict=True):
            if not without:
                one.unneeded.clear()

    def _hold(self, versions: Sequence[_Version]) -> list[bool]:
        """Whether options hold in all versions; the model is asked once."""
        if not versions:
            return []
        sizes = [len(version.cells) for version in versions]
        rows = np.repeat([version.option.row for version in versions], sizes, axis=0)
        owners = np.repeat([version.option.owner for version in versions], sizes)
        parts = np.split(rows, np.cumsum(sizes)[:-1])
        for part, version in zip(parts, versions, strict=True):
            part[:, version.columns] = version.cells
        checked = self.recheck.options(rows, owners)
        holds, finals = (np.split(part, np.cumsum(sizes)[:-1]) for part in (checked.holds, checked.rows))
        return [
            bool(good.all()) and bool(unchanged(final[:, version.columns], version.cells).all())
            for version, good, final in zip(versions, holds, finals, strict=True)
        ]

    def _mark_others(self, options: Sequence[PrintedOption]) -> None:
        """Adds the other values that do as well, one column at a time, where ranges were asked for."""
        versions = [version for one in options for version in self._others(one)]
        for (one, (j,), cells), good in zip(versions, self._hold(versions), strict=True):
            if good and self.result.table.schema.features[j].numeric:
                one.ranges[j] = float(cells.min()), float(cells.max())
            elif good:
                one.levels[j] = [int(level) for level in cells[:, 0] if level != one.row[j]]

    def _others(self, one: PrintedOption) -> Iterator[_Version]:
        """Other values of each needed change: levels, or numbers between round ends, that take no longer."""
        ranges, schema, own = self.result.intervals, self.result.table.schema, self.result.table.values[one.owner]
        if ranges is None:
            return
        region = self.recheck.region.after(one.row[None], np.array([one.owner]))
        for r in np.flatnonzero(ranges.option == one.option):
            j = int(ranges.column[r])
            if j not in one.chosen or j in one.unneeded:
                continue
            feature = schema.features[j]
            low, high = max(ranges.low[r], region.low[0, j]), min(ranges.high[r], region.high[0, j])
            cells = np.array([one.row[j], *(() if own[j] in ranges.levels[r] else ranges.levels[r])])
            if low <= one.row[j] <= high and not low <= own[j] <= high:
                cells = spread(low, high, feature.step if feature.numeric else 1.0, _MOST)
                if feature.numeric and len(cells) > 1:
                    first, last = inward(cells[0], cells[-1], feature.step)
                    cells = spread(first, last, feature.step, _MOST) if first <= one.row[j] <= last else cells
            if len(cells) > 1:
                yield _Version(one, [j], cells[:, None])


def shown(feature: Feature, cell: float) -> float:
    """A person's own number for reading, rounded as in sentences; integers are not rounded."""
    if not feature.numeric or math.isnan(cell) or float(cell).is_integer():
        return cell
    return float(own_number(cell, feature.step))


def candidates(rows: np.ndarray, own: np.ndarray, chosen: np.ndarray, schema: Schema) -> np.ndarray:
    """Versions of answers (m, d), coarsest first and the answers themselves last, (versions, m, d).

    `own` are the people's rows, `chosen` says which cells are numbers that may be rounded, (m, d) each.
    """
    steps = np.column_stack([spacing(rows[:, j], feature.step) for j, feature in enumerate(schema)])
    with np.errstate(divide="ignore", invalid="ignore"):
        coarsest = np.minimum(_exponent(np.abs(rows)) - 1, _exponent(np.abs(rows - own) / _SHARE))
    versions = []
    for step in range(_STEPS):
        place = 10.0 ** (coarsest - step)
        rounds = chosen & (place > steps * (1 + 1e-9))
        place = np.where(rounds, place, 1.0)
        counts = _whole(rows / place)
        away = np.where(rows > own, np.ceil(counts), np.floor(counts))
        versions += [np.where(rounds, number * place, rows) for number in (away, np.rint(counts))]
    return np.stack([*versions, rows])


def inward(low: float, high: float, step: float | None) -> tuple[float, float]:
    """A range with round ends within it: multiples of a power of ten that is a tenth of its width at most."""
    ends, place = np.array([low, high]), 10.0 ** _exponent(np.array([(high - low) / 10]))
    if (place <= spacing(np.abs(ends).max(keepdims=True), step)).any() or not is_on_grid(place, step).all():
        return low, high
    counts = _whole(ends / place)
    least, most = on_grid(np.array([np.ceil(counts[0]), np.floor(counts[1])]) * place, step).tolist()
    return least, most


def _exponent(sizes: np.ndarray) -> np.ndarray:
    """⌊log₁₀ x⌋, tolerating rounding errors."""
    return np.floor(np.log10(sizes) + 1e-9)


def _whole(counts: np.ndarray) -> np.ndarray:
    """The numbers, rounded to integers where they are integers up to rounding errors."""
    near = np.rint(counts)
    return np.where(np.abs(counts - near) <= 1e-9 * np.maximum(1.0, np.abs(near)), near, counts)
