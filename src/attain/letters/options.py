"""Options in words: labels, units and names of levels, as the person reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from attain.letters.printed import Printed, Printer
from attain.letters.rounding import shown
from attain.letters.texts import Texts
from attain.results.status import Typicality
from attain.schema import Feature
from attain.tables import unchanged

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_LEVELS: Final = {Typicality.TYPICAL: "typical", Typicality.UNUSUAL: "unusual", Typicality.OUTSIDE: "outside"}
_DIGITS: Final = 3
"""Significant digits of what is computed from other details."""


@dataclass(frozen=True)
class Change:
    """One detail of an option: its name, its value today and the new one.

    Attributes
    ----------
    low, high, levels
        From `low` to `high`, or with one of the other `levels`, the option holds too, all else as printed; empty where
        that is not known. Where only one of `low` and `high` is empty, the detail cannot go beyond it.
    needed
        Whether the decision needs this change. Otherwise it only keeps the record like those of other people.
    """

    label: str
    before: str
    after: str
    low: str = ""
    high: str = ""
    levels: tuple[str, ...] = ()
    needed: bool = True

    @property
    def other(self) -> bool:
        """Whether other values would do."""
        return bool(self.low or self.high or self.levels)


@dataclass(frozen=True)
class Option:
    """A way to another decision.

    Attributes
    ----------
    changes
        What to change; first what the decision needs.
    follows
        What changes along with it.
    wait, takes
        How long to wait, or how long the changes take, such as `6 months`; empty where no time is known.
    grows
        The names of details that advance with time, and are counted as they will be then.
    level
        "typical", "unusual", "outside", or empty where the method does not say.
    """

    changes: tuple[Change, ...]
    follows: tuple[Change, ...]
    wait: str
    takes: str
    grows: tuple[str, ...]
    level: str


@dataclass(frozen=True, eq=False)
class OptionWriter:
    """Writes options in the words of a table of texts."""

    printer: Printer
    texts: Texts

    @property
    def _result(self) -> Counterfactuals:
        return self.printer.result

    def options(self, positions: Sequence[int], most: int) -> dict[int, list[Option]]:
        """At most `most` options of each person at some positions, by position."""
        written: dict[int, list[Option]] = {}
        for one in self.printer.options(positions, most):
            written.setdefault(one.owner, []).append(self._option(one))
        return written

    def _option(self, one: Printed) -> Option:
        region, own, owner = self.printer.recheck.region, self._result.table.values[one.owner], np.array([one.owner])
        features = self._result.table.schema.features
        follows = [j for j in np.flatnonzero(~unchanged(own, one.row)).tolist() if j not in one.chosen]
        months, waits = float(region.months(one.row[None], owner)[0]), bool(region.waits(one.row[None], owner)[0])
        duration = self.texts.language.duration(months) if months else ""
        changes = sorted((self._change(one, j) for j in one.chosen), key=lambda change: not change.needed)
        return Option(
            changes=tuple(changes),
            follows=tuple(self._following(one, j) for j in follows if features[j].clock is None),
            wait=duration if waits else "",
            takes="" if waits else duration,
            grows=tuple(self.texts.label(features[j]) for j in follows if features[j].clock is not None),
            level="" if np.isnan(one.typicality) else _LEVELS[Typicality(int(one.typicality))],
        )

    def _change(self, one: Printed, j: int) -> Change:
        feature, own = self._result.table.schema.features[j], self._result.table.values[one.owner, j]
        label, after = self.texts.label(feature), self._shown(feature, one.row[j])
        before = self._shown(feature, shown(feature, own))
        low, high = self._ends(feature, *one.ranges[j]) if j in one.ranges else ("", "")
        return Change(
            label[:1].upper() + label[1:],  # it begins a line
            self._shown(feature, own) if before == after else before,
            after,
            low,
            high,
            tuple(self._shown(feature, level) for level in one.levels.get(j, [])),
            j not in one.unneeded,
        )

    def _ends(self, feature: Feature, low: float, high: float) -> tuple[str, str]:
        """Both ends of a range, of which the unit stands once; an end beyond which nothing is suggested is empty."""
        below, above = low <= feature.suggested[0], high >= feature.suggested[1]
        if below or above:
            return "" if below else self._shown(feature, low), "" if above else self._shown(feature, high)
        return self.texts.start(feature, low), self._shown(feature, high)

    def _following(self, one: Printed, j: int) -> Change:
        feature = self._result.table.schema.features[j]
        cells = [float(self._result.table.values[one.owner, j]), float(one.row[j])]
        if feature.numeric:
            short = [cell if cell.is_integer() else float(f"{cell:.{_DIGITS}g}") for cell in cells]
            cells = cells if short[0] == short[1] else short
        before, after = (self._shown(feature, cell) for cell in cells)
        return Change(self.texts.label(feature), before, after)

    def _shown(self, feature: Feature, cell: float) -> str:
        return self.texts.value(feature, self._result.table.layout.value(feature.name, float(cell)))
