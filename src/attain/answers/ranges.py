"""Ranges round answers: for each changed feature the values for which an answer still holds, the others as suggested.

Values are checked one by one: each is put into final form, held against rules and laws, and the model is asked. Of a
feature with an order all values within the person's reach are checked, or 33 of them, evenly spaced on the grid, if
there are more, and then 32 between the last that holds and the first that does not, on either side. Its range is the
widest run of checked values round the suggestion that all hold. Of other features every level is checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from attain.population.measuring import Percentiles
from attain.results.details import Ranges
from attain.search.problem import Problem
from attain.tables import Region, ordinary, snapped, unchanged

_ACROSS: Final = 33
"""The most values checked across the whole reach of a number."""
_BETWEEN: Final = 32
"""The most values checked between the last one that holds and the first one that does not."""
_AT_ONCE: Final = 64
"""Answers looked at together, which bounds memory."""


def find_ranges(problem: Problem, rows: np.ndarray, owners: np.ndarray, percentiles: Percentiles) -> Ranges:
    """The ranges round answers (m, d) of the rows `owners`, (m,), sorted; none where budget or time is spent."""
    changed = problem.region.changed(rows, owners)
    able = np.flatnonzero(_affordable(problem, changed, owners))

    def of(some: np.ndarray) -> Ranges:
        at, columns = np.nonzero(changed[some])
        region = problem.region.after(rows[some[at]], owners[some[at]])
        ledger = problem.ledger.subset(owners[some[at]])
        # nothing is kept for a last check, which the answers have passed
        entries = _Entries(replace(problem, region=region, ledger=ledger, options=0), rows[some[at]], columns)
        return entries.ranges(some[at], percentiles)

    parts = [of(able[:0])]
    for some in np.split(able, range(_AT_ONCE, len(able), _AT_ONCE)):
        part = of(some)
        if problem.ledger.deadline.passed:  # it may lack values that the model was not asked about any more
            break
        parts.append(part)
    return Ranges.joined(parts)


def _affordable(problem: Problem, changed: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Which answers can be looked at with what is left of their owners' budgets; earlier ones come first."""
    most = [_ACROSS + 2 * _BETWEEN if feature.numeric else len(feature.levels) for feature in problem.region.schema]
    total = np.concatenate(([0], np.cumsum(changed @ np.array(most))))
    own = total[1:] - total[np.searchsorted(owners, owners)]
    return np.asarray(own * problem.goal.most_questions <= problem.ledger.left[owners])


def spread(low: float, high: float, step: float | None, most: int) -> np.ndarray:
    """The grid values from `low` to `high`, increasing: all of them, or `most`, evenly spaced, with both ends."""
    first, last = snapped(np.array([low, high]), step, np.full(2, low), np.full(2, high)).tolist()
    if math.isnan(first) or math.isnan(last):
        return np.empty(0)
    number = most if step is None else min(most, round((last - first) / step) + 1)
    return np.unique(snapped(np.linspace(first, last, number), step, np.full(number, first), np.full(number, last)))


@dataclass(frozen=True, eq=False)
class _Entries:
    """Changed features of answers: column `columns[e]` of the answer `answers[e]`.

    Row e of the problem is the person of that answer, at the months that it takes.
    """

    problem: Problem
    answers: np.ndarray
    columns: np.ndarray

    @property
    def region(self) -> Region:
        return self.problem.region

    def ranges(self, options: np.ndarray, percentiles: Percentiles) -> Ranges:
        features = [self.region.schema.features[j] for j in self.columns]
        own = self.answers[np.arange(len(self.columns)), self.columns]
        slides = np.array([f.ordered and bool(ordinary(f, own[[e]])[0]) for e, f in enumerate(features)], dtype=bool)
        values = self._across(slides)
        holds = self._hold(values)
        inner = [
            _inner(*some, features[e].step) if slides[e] and features[e].numeric else np.empty(0)
            for e, some in enumerate(zip(values, holds, own, strict=True))
        ]
        values = [np.concatenate(both) for both in zip(values, inner, strict=True)]
        holds = [np.concatenate(both) for both in zip(holds, self._hold(inner), strict=True)]
        low, high = np.full((2, len(own)), np.nan)
        levels, checked = [], np.ones(len(own))
        for e, (tried, good) in enumerate(zip(values, holds, strict=True)):
            if slides[e]:
                bad = tried[~good]
                low[e] = tried[good & (tried > bad[bad < own[e]].max(initial=-np.inf))].min(initial=own[e])
                high[e] = tried[good & (tried < bad[bad > own[e]].min(initial=np.inf))].max(initial=own[e])
                good = good & (tried >= low[e]) & (tried <= high[e])
            levels.append(() if slides[e] else tuple(tried[good].astype(int).tolist()))
            checked[e] += good.sum()
        return Ranges(
            option=options,
            column=self.columns,
            low=low,
            high=high,
            low_percentile=self._percentiles(percentiles, low),
            high_percentile=self._percentiles(percentiles, high),
            levels=tuple(levels),
            checked=checked,
        )

    def _across(self, slides: np.ndarray) -> list[np.ndarray]:
        """The values of each entry that are checked first: all that take no longer than the answer, or some of them."""
        region, found = self.region, []
        levels = {j: region.levels(j) for j in np.unique(self.columns) if region.schema.features[j].levels}
        for e, j in enumerate(self.columns):
            feature, own = region.schema.features[j], self.answers[e, j]
            if feature.numeric and not slides[e]:
                found.append(np.empty(0))
                continue
            if not feature.numeric:
                values = np.flatnonzero(slides[e] | levels[j][e]).astype(np.float64)
            else:
                low, high = (own if np.isinf(end) else float(end) for end in (region.low[e, j], region.high[e, j]))
                values = spread(low, high, feature.step, _ACROSS)
                values = values[ordinary(feature, values)]
            found.append(values[values != own])
        return found

    def _hold(self, cells: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Which values of each entry keep all rules and laws and flip the decision; the model is asked in one call."""
        region = self.region
        sizes = [len(values) for values in cells]
        which = np.repeat(np.arange(len(cells)), sizes)
        rows, answers = self.answers[which], self.answers[which]
        rows[np.arange(len(which)), self.columns[which]] = np.concatenate([np.empty(0), *cells])
        final = region.final_form(rows, which, answers)
        given = np.setdiff1d(region.schema.free_columns, [one.column for one in region.book.derivations])
        holds = np.asarray(unchanged(final, rows)[:, given].all(axis=1))
        holds[holds] = self.problem.accepts(final[holds], which[holds])
        return np.split(holds, np.cumsum(sizes)[:-1]) if sizes else []

    def _percentiles(self, percentiles: Percentiles, ends: np.ndarray) -> np.ndarray:
        """Of one end of each entry, (e,)."""
        at, rows = np.arange(len(ends)), self.answers.copy()
        rows[at, self.columns] = ends
        return np.asarray(percentiles.of(rows)[at, self.columns])


def _inner(values: np.ndarray, holds: np.ndarray, own: float, step: float | None) -> np.ndarray:
    """Values between the last one on either side of a suggestion that holds and the first one that does not."""
    found = [np.empty(0)]
    for side in (values < own, values > own):
        bad = values[side & ~holds]
        if bad.size:
            end = float(bad[np.abs(bad - own).argmin()])
            good = values[side & holds & (np.abs(values - own) < abs(end - own))]
            last = float(good[np.abs(good - own).argmax()]) if good.size else own
            between = spread(min(last, end), max(last, end), step, _BETWEEN + 2)
            found.append(between[(between != last) & (between != end)])
    return np.concatenate(found)
