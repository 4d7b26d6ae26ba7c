"""What each row may reach, and the final form of a candidate.

A `Region` is the schema and the constraints resolved into arrays for a batch of rows: which cells are frozen, between
which values a cell may move, which levels and special codes it may take. `final_form` turns any candidate into a record
that could exist; `violations` checks a record independently, rule by rule, and is what the last check relies on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from attain.core.compiled import kernels
from attain.schema.constraints import Constraints
from attain.schema.feature import VALUE, Feature
from attain.schema.formulas import View
from attain.schema.schema import Rule, Schema
from attain.tables.cells import ordinary, unchanged
from attain.tables.grid import is_on_grid, on_grid, snapped
from attain.tables.program import Limits
from attain.tables.rules import RuleBook
from attain.tables.table import Table
from attain.tables.timing import Timing

NOT_A_RULE = ("immutable", "bounds", "level", "transition", "grid", "derived", "max_changes", "months")
"""The kinds of violation besides the schema's rules between features."""


@dataclass(frozen=True)
class Region:
    """What each of n rows may reach, over d features.

    Methods take candidates and their `owners`: `owners[i]` is the position among the n rows that candidate i is for.

    Attributes
    ----------
    factuals
        The rows themselves, (n, d).
    frozen
        Cells that may not change, (n, d). Computed cells count as frozen: they are not searched.
    frozen_without_laws
        The same, if there were no laws.
    low, high
        The smallest and largest value of a number, or position of an ordered level, (n, d).
    states
        For each column of levels, or of numbers with special codes: the states each row may be in, (n, K). For numbers
        the states are the special codes in the schema's order, followed by an ordinary value.
    cost
        The weight of a change, (n, d).
    max_changes
        The largest number of features that may change, (n,).
    max_months
        The longest that a change may take, (n,).
    book
        The rules, the laws, and the columns that are computed from others.
    """

    schema: Schema
    factuals: np.ndarray
    frozen: np.ndarray
    frozen_without_laws: np.ndarray
    low: np.ndarray
    high: np.ndarray
    states: dict[int, np.ndarray]
    cost: np.ndarray
    max_changes: np.ndarray
    max_months: np.ndarray
    book: RuleBook

    @classmethod
    def of(
        cls,
        table: Table,
        constraints: Constraints,
        observed: tuple[np.ndarray, np.ndarray] | None = None,
        book: RuleBook | None = None,
    ) -> Region:
        """The region of the rows of a table.

        `observed` is the range of the training data, which answers stay in; `book` has the laws that they keep, besides
        the schema's rules.
        """
        schema, factuals = table.schema, table.values
        book = RuleBook(schema) if book is None else book
        n, d = factuals.shape
        frozen = np.zeros((n, d), dtype=bool)
        low, high = np.full((n, d), -math.inf), np.full((n, d), math.inf)
        cost = np.array([[feature.cost for feature in schema]] * n).reshape(n, d)
        max_changes = np.full(n, d)
        max_months = np.full(n, math.inf if schema.max_months is None else float(schema.max_months))
        states: dict[int, np.ndarray] = {}
        pinned = _pinned(schema, factuals)
        for j, feature in enumerate(schema):
            own = factuals[:, j]
            limits = None if observed is None else (observed[0][j], observed[1][j])
            low[:, j], high[:, j] = _absolute(feature, own, limits)
            _tighten(low, high, j, own, ordinary(feature, own), feature.direction, feature.range)
            frozen[:, j] = not feature.searched
            frozen[:, j] |= np.isnan(own) & (not feature.fillable)
            allowed = _states(feature, own)
            if allowed is not None:
                states[j] = allowed
        for owners, given in constraints.resolved(schema, table.labels):
            for name in given.immutable:
                # an immutable clock is nobody's choice already, and must not stop time
                pinned[owners, schema.position(name)] = not schema[name].immutable
            for name, weight in given.cost.items():
                cost[owners, schema.position(name)] = weight
            if given.max_changes is not None:
                max_changes[owners] = np.minimum(max_changes[owners], given.max_changes)
            if given.max_months is not None:
                max_months[owners] = np.minimum(max_months[owners], given.max_months)
            _tighten_owners(schema, factuals, low, high, owners, given)
        held = pinned.copy()
        for one in reversed([one for one in book.derivations if one.follows]):
            # a column that may not change holds those it would follow
            held[:, one.inputs] |= held[:, [one.column]]
        region = cls(schema, factuals, frozen, frozen, low, high, states, cost, max_changes, max_months, book)
        if book.timing is not None:
            region._limit_time(book.timing, held)
        stuck = region._stuck() | frozen | pinned
        frozen[:, [one.column for one in book.derivations if one.follows]] = True
        return replace(region, frozen=stuck | frozen | held, frozen_without_laws=stuck)

    def _limit_time(self, timing: Timing, held: np.ndarray) -> None:
        """Puts the limits of clocks, and of changes that take time, into `max_months`, `low`, `high` and `states`."""
        own, clocks = self.factuals, list(timing.clocks)
        runs, leads = timing.runs(own), timing.leads(own)
        self.low[:, clocks] = np.where(runs, own[:, clocks], self.low[:, clocks])
        limits = np.where(held, own, self.high)
        self.max_months[:] = np.minimum(self.max_months, timing.longest(own, limits))
        self.high[:, clocks] = np.where(runs, timing.advanced(own, self.max_months), self.high[:, clocks])
        self.frozen[:, clocks] |= ~leads
        for j, pace in timing.paces:
            feature, cells, farthest = self.schema.features[j], own[:, j], pace * self.max_months
            if feature.ordered:
                _tighten(self.low, self.high, j, cells, ordinary(feature, cells), "any", (-farthest, farthest))
            else:
                at = np.flatnonzero(~np.isnan(cells) & (farthest < 1))
                self.states[j][at] = np.arange(len(feature.levels)) == cells[at, None]

    def in_months(self, months: float) -> Region:
        """What the rows may reach in so many months, or in fewer where they have less time."""
        region = replace(
            self,
            frozen=self.frozen.copy(),
            low=self.low.copy(),
            high=self.high.copy(),
            states={j: allowed.copy() for j, allowed in self.states.items()},
            max_months=np.minimum(self.max_months, months),
        )
        if self.book.timing is not None:
            region._limit_time(self.book.timing, np.zeros_like(self.frozen))
        stuck = region._stuck()
        return replace(region, frozen=region.frozen | stuck, frozen_without_laws=self.frozen_without_laws | stuck)

    def in_time(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Between which cells changes take no longer than the rows do, (n, d) each; infinite without a pace."""
        low, high = np.full(rows.shape, -math.inf), np.full(rows.shape, math.inf)
        timing, own, months = self.book.timing, self.factuals[owners], self.months(rows, owners)
        for j, pace in () if timing is None else timing.paces:
            feature, farthest = self.schema.features[j], pace * months
            if feature.ordered:
                on_scale = ordinary(feature, own[:, j])
                _tighten(low, high, j, own[:, j], on_scale, "any", (-farthest, farthest))
        return np.fmin(low, rows), np.fmax(high, rows)

    def without_laws(self) -> Region:
        """What the rows may reach if only the schema and the constraints are kept."""
        return replace(self, frozen=self.frozen_without_laws, book=self.book.without_laws)

    def __len__(self) -> int:
        return len(self.factuals)

    def _stuck(self) -> np.ndarray:
        """Cells that nothing freezes but that have no other value to take."""
        stuck = np.zeros_like(self.frozen)
        for j, feature in enumerate(self.schema):
            if not feature.searched:
                continue
            own, allowed = self.factuals[:, j], self.states.get(j)
            if not feature.numeric:
                stuck[:, j] = self._levels(j, np.arange(len(self))).sum(axis=1) <= ~np.isnan(own)
                continue
            low, high = self.low[:, j], self.high[:, j]
            least, most = (snapped(end, feature.step, low, high) for end in (low, high))
            # a move that is smaller than the grid is none
            fixed = np.isnan(least) | ((least == most) & (least == on_grid(own, feature.step)))
            if allowed is not None:
                elsewhere = allowed[:, :-1] & (own[:, None] != np.array(list(feature.special)))
                fixed = (fixed | ~allowed[:, -1]) & ~elsewhere.any(axis=1)
            stuck[:, j] = fixed
        return stuck

    def _levels(self, j: int, owners: np.ndarray) -> np.ndarray:
        """The levels of column j each owner may take: by transitions, and for ordered levels by low and high."""
        allowed = self.states[j][owners]
        if self.schema.features[j].ordered:
            positions = np.arange(allowed.shape[1])
            within = (positions >= self.low[owners, j, None]) & (positions <= self.high[owners, j, None])
            allowed = allowed & (within | (positions == self.factuals[owners, j, None]))
        return allowed

    def _may_take(self, j: int, codes: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Whether each owner may take a level of column j, (m,): `_levels` at these positions."""
        allowed = self.states[j][owners, codes]
        if self.schema.features[j].ordered:
            within = (codes >= self.low[owners, j]) & (codes <= self.high[owners, j])
            allowed &= within | (codes == self.factuals[owners, j])
        return np.asarray(allowed)

    def levels(self, j: int) -> np.ndarray:
        """The levels of column j each row may take, its own included, (n, K)."""
        return self._levels(j, np.arange(len(self)))

    def subset(self, owners: np.ndarray) -> Region:
        """The region of some of the rows."""
        return Region(
            self.schema,
            self.factuals[owners],
            self.frozen[owners],
            self.frozen_without_laws[owners],
            self.low[owners],
            self.high[owners],
            {j: allowed[owners] for j, allowed in self.states.items()},
            self.cost[owners],
            self.max_changes[owners],
            self.max_months[owners],
            self.book,
        )

    def changed(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which searched cells differ from the factual; of clocks only the leading one, and only if the row waits."""
        differs = self.differs(rows, owners)
        timing = self.book.timing
        if timing is not None and timing.clocks:
            differs[:, list(timing.clocks)] = timing.waiting(rows, self.factuals[owners])
        return differs

    def differs(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which searched cells differ from the factual, clocks that advance included."""
        own = self.factuals[owners]
        differs = np.asarray(rows != own)
        if self._gaps:
            differs &= ~(np.isnan(rows) & np.isnan(own))
        differs[:, [j for j, _ in self.schema.derivations]] = False
        return differs

    def clocks_reset(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The rows with their clocks as they were, unless they wait.

        A row that takes as long as its changes need: with fewer changes, its final form takes less.
        """
        timing = self.book.timing
        if timing is None or not timing.clocks:
            return rows
        own, clocks = self.factuals[owners], list(timing.clocks)
        waits = np.asarray(timing.waiting(rows, own).any(axis=1))
        rows = rows.copy()
        rows[:, clocks] = np.where(waits[:, None], rows[:, clocks], own[:, clocks])
        return rows

    def months(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """How long it takes to become each row, in whole months, (n,)."""
        timing = self.book.timing
        return np.zeros(len(rows)) if timing is None else timing.months(rows, self.factuals[owners])

    @cached_property
    def _gaps(self) -> bool:
        """Whether any factual has a missing cell."""
        return bool(np.isnan(self.factuals).any())

    def final_form(self, rows: np.ndarray, owners: np.ndarray, guides: np.ndarray | None = None) -> np.ndarray:
        """Each candidate as a record that could exist: on its grid, in its levels, frozen cells copied bit for bit.

        A cell that cannot be kept takes the factual's value, and violated rules between features are repaired where
        that is easy: first, if there are `guides`, by taking all features of the rule from the candidate's guide, a
        record that it was made from. The final form of a final form is itself.
        """
        if self._kernel is not None:
            return self._settled(rows, owners, guides, forms=True, judges=False)[0]
        factuals = self.factuals[owners]
        rows = self.derived(self._cells(rows, owners, factuals), factuals)
        if not self.book.rules:
            return rows
        broken = np.flatnonzero(~self.keeps(rows, owners))
        repairs: list[Callable[[np.ndarray], np.ndarray]] = [
            lambda at: self._repaired(rows[at], owners[at], pull=True),
            lambda at: self._repaired(rows[at], owners[at], pull=False),
        ]
        if guides is not None:
            repairs.insert(0, lambda at: self._guided(rows[at], owners[at], guides[at]))
        for repair in repairs:
            if broken.size:
                repaired = repair(broken)
                # a partial repair would continue at the next call: such a row stays as it is, and is rejected
                whole = self.keeps(repaired, owners[broken])
                rows[broken[whole]] = repaired[whole]
                broken = broken[~whole]
        return rows

    @property
    def _kernel(self) -> Any:
        """The kernel `settle`; None while kernels are not in use, or where the rule book has no program for them."""
        compiled = kernels("attain.tables.region_kernels")
        return None if compiled is None or self.book.program is None else compiled.settle

    def _settled(
        self, rows: np.ndarray, owners: np.ndarray, guides: np.ndarray | None, *, forms: bool, judges: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows, in final form with `forms`, and which are admitted, with `judges`."""
        rows = np.array(rows, dtype=np.float64, order="C", copy=forms or None)
        guides = rows[:0] if guides is None else np.ascontiguousarray(guides, dtype=np.float64)
        admitted = np.empty(len(rows), dtype=bool)
        owners = np.ascontiguousarray(owners, dtype=np.int64)
        self._kernel(rows, owners, guides, forms, judges, self.book.program, self.arrays, admitted)
        return rows, admitted

    @cached_property
    def arrays(self) -> Limits:
        """What kernels read."""
        states = [self.states[j] for j in sorted(self.states)]
        most = np.column_stack((self.max_changes, self.max_months))
        places = self.factuals.copy()
        for j in self.schema.free_columns:
            if self.schema.features[j].numeric:
                places[:, j] = on_grid(places[:, j], self.schema.features[j].step)
        return Limits(
            np.concatenate((self.factuals, self.low, self.high, most, places), axis=1),
            np.concatenate((self.frozen, *states, self._excused), axis=1),
        )

    def settled(
        self, rows: np.ndarray, owners: np.ndarray, guides: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """`final_form` of candidates, and which of them `admits`."""
        if self._kernel is not None:
            return self._settled(rows, owners, guides, forms=True, judges=True)
        rows = self.final_form(rows, owners, guides)
        return rows, self.admits(rows, owners)

    def _guided(self, rows: np.ndarray, owners: np.ndarray, guides: np.ndarray) -> np.ndarray:
        """The rows with the features of rules that they break taken from their guides."""
        at = np.flatnonzero(~unchanged(guides, rows).all(axis=1))
        for _ in range(2):  # what is taken over for one rule may break another
            if at.size:
                taken = ~self.kept(rows[at], owners[at]) @ self.book.uses
                factuals = self.factuals[owners[at]]
                cells = self._cells(np.where(taken, guides[at], rows[at]), owners[at], factuals)
                rows[at] = self.derived(cells, factuals)
                at = at[~self.keeps(rows[at], owners[at])]
        return rows

    def _repaired(self, rows: np.ndarray, owners: np.ndarray, pull: bool) -> np.ndarray:
        factuals = self.factuals[owners]
        excused = self._excused[owners] if self._excused.any() else None
        repaired = self.book.repaired(rows, factuals, self.frozen[owners], excused, pull)
        return self.derived(self._cells(repaired, owners, factuals), factuals)

    @cached_property
    def _excused(self) -> np.ndarray:
        """The laws that each row breaks itself, and so may go on breaking, (n, rules)."""
        return np.asarray(~self.book.kept(self.factuals) & self.book.is_law)

    def keeps(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The rows that keep every rule and every law, or break a law only as their owners do, and not by more."""
        good = self.book.all_kept(rows)
        if self._excused.any():
            at = np.flatnonzero(~good & np.asarray(self._excused.any(axis=1))[owners])
            good[at] = self.kept(rows[at], owners[at]).all(axis=1)
        return good

    def breaks_law(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Of rows that are admitted, those that break a law: as their owners do."""
        broken = np.zeros(len(rows), dtype=bool)
        if self._excused.any():
            at = np.flatnonzero(np.asarray(self._excused.any(axis=1))[owners])
            broken[at] = (~self.book.kept(rows[at]) & self._excused[owners[at]]).any(axis=1)
        return broken

    def binding(self, i: int) -> list[Rule]:
        """The rules and laws that hold for row i: all but laws that it breaks itself."""
        return [rule for rule, excused in zip(self.book.rules, self._excused[i], strict=True) if not excused]

    def kept(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rule or law (column) holds in which row, or is broken as its owner does, and not by more."""
        kept = self.book.kept(rows) | self.book.followed
        excused = ~kept & self._excused[owners]
        for k in np.flatnonzero(excused.any(axis=0)).tolist():
            at = np.flatnonzero(excused[:, k])
            kept[at, k] = self.book.no_worse(k, rows[at], self.factuals[owners[at]])
        return kept

    def derived(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The rows with computed columns computed again, on their grid."""
        rows = self.book.derive(rows, factuals)
        for one in self.book.derivations:
            j = one.column
            if self.schema.features[j].numeric:
                touched = rows[:, j] != factuals[:, j]
                rows[touched, j] = on_grid(rows[touched, j], self.schema.features[j].step)
        return rows

    def _cells(self, rows: np.ndarray, owners: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        result = factuals.copy()
        for step, columns in self._plain_blocks:
            cells, own = rows[:, columns], factuals[:, columns]
            low, high = self._limits(columns, owners)
            self._put(result, columns, _placed(cells, own, step, low, high), owners)
        for j in self._other_columns:
            feature, cells = self.schema.features[j], rows[:, j]
            placed = self._number(j, feature, cells, owners) if feature.numeric else self._level(j, cells, owners)
            self._put(result, np.array([j]), placed[:, None], owners)
        return result

    def _put(self, result: np.ndarray, columns: np.ndarray, cells: np.ndarray, owners: np.ndarray) -> None:
        """Writes the cells that could be kept and that are not frozen."""
        own = result[:, columns]
        keep = ~np.isnan(cells) & (cells != own)
        if self.frozen[:, columns].any():
            keep &= ~self.frozen[np.ix_(owners, columns)]
        result[:, columns] = np.where(keep, cells, own)

    @cached_property
    def _plain_blocks(self) -> tuple[tuple[float | None, np.ndarray], ...]:
        """The searched columns of plain numbers by their step: those with the same step are rounded together."""
        blocks: dict[float | None, list[int]] = {}
        for j in self.schema.free_columns:
            feature = self.schema.features[j]
            if feature.numeric and not feature.special:
                blocks.setdefault(feature.step, []).append(int(j))
        return tuple((step, np.array(columns)) for step, columns in blocks.items())

    @cached_property
    def _other_columns(self) -> tuple[int, ...]:
        """The searched columns of levels, and of numbers with special codes."""
        features = self.schema.features
        return tuple(int(j) for j in self.schema.free_columns if not features[j].numeric or features[j].special)

    @cached_property
    def _shared(self) -> np.ndarray:
        """The columns whose limits are the same for all rows."""
        if not len(self):
            return np.ones(len(self.schema), dtype=bool)
        return np.asarray(((self.low == self.low[0]) & (self.high == self.high[0])).all(axis=0))

    def _limits(self, columns: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if len(self) and self._shared[columns].all():
            return self.low[:1, columns], self.high[:1, columns]
        chosen = np.ix_(owners, columns)
        return self.low[chosen], self.high[chosen]

    def _number(self, j: int, feature: Feature, cells: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Numbers on their grid and within limits, allowed special codes, the factual's value, or NaN: not kept."""
        result = _placed(cells, self.factuals[owners, j], feature.step, self.low[owners, j], self.high[owners, j])
        allowed = self.states[j][owners]
        result[~allowed[:, -1] | np.isin(result, list(feature.special))] = math.nan
        for k, code in enumerate(feature.special):
            result[cells == code] = math.nan
            result[(cells == code) & allowed[:, k]] = code
        return result

    def _level(self, j: int, cells: np.ndarray, owners: np.ndarray) -> np.ndarray:
        most = self.states[j].shape[1] - 1
        codes = np.clip(np.rint(np.where(np.isnan(cells), -1, cells)), -1, most).astype(np.intp)
        return np.where((codes >= 0) & self._may_take(j, codes, owners), codes, math.nan)

    def admits(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows in final form change something and satisfy what final form does not ensure.

        That is rules between features, limits of derived columns, the number of changes and of months. For searches;
        `allows` checks everything.
        """
        if self._kernel is not None:
            return self._settled(rows, owners, None, forms=False, judges=True)[1]
        number = self.changed(rows, owners).sum(axis=1)
        admitted = (number > 0) & (number <= self.max_changes[owners])
        if self.book.rules:
            admitted &= self.keeps(rows, owners)
        if self.book.derivations:
            admitted &= ~self._derived_broken(rows, owners)
        if self.book.timing is not None:
            admitted &= ~self._months_broken(self.book.timing, rows, owners)
        return admitted

    def allows(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows satisfy every rule."""
        broken = self.violations(rows, owners)
        return ~np.logical_or.reduce(list(broken.values())) if len(rows) else np.zeros(0, dtype=bool)

    def violations(self, rows: np.ndarray, owners: np.ndarray) -> dict[str, np.ndarray]:
        """For each kind of rule, and each rule between features by its text, the rows that violate it."""
        own = self.factuals[owners]
        differs = ~unchanged(own, rows)
        broken = {kind: np.zeros(len(rows), dtype=bool) for kind in NOT_A_RULE}
        broken["derived"] = self._derived_broken(rows, owners)
        for j in np.flatnonzero(differs.any(axis=0)).tolist():
            feature = self.schema.features[j]
            if feature.derived is not None:
                continue
            cells, moved = rows[:, j], differs[:, j]
            if j not in self.following:
                broken["immutable"] |= moved & self.frozen[owners, j]
            broken["level"] |= moved & np.isnan(cells)
            if feature.numeric:
                self._number_broken(broken, j, feature, cells, moved, owners)
            else:
                self._level_broken(broken, j, feature, cells, moved, owners)
        if self.book.timing is not None:
            broken["months"] = self._months_broken(self.book.timing, rows, owners)
        broken["max_changes"] = self.changed(rows, owners).sum(axis=1) > self.max_changes[owners]
        kept = self.kept(rows, owners)
        return broken | {rule.text: ~kept[:, k] for k, rule in enumerate(self.book.rules)}

    def _number_broken(
        self,
        broken: dict[str, np.ndarray],
        j: int,
        feature: Feature,
        cells: np.ndarray,
        moved: np.ndarray,
        owners: np.ndarray,
    ) -> None:
        on_scale = moved & ordinary(feature, cells)
        with np.errstate(invalid="ignore"):
            outside = (cells < self.low[owners, j]) | (cells > self.high[owners, j]) | np.isinf(cells)
        broken["bounds"] |= on_scale & outside
        broken["grid"] |= on_scale & ~is_on_grid(cells, feature.step)
        if feature.special:
            allowed = self.states[j][owners]
            broken["transition"] |= on_scale & ~allowed[:, -1]
            for k, code in enumerate(feature.special):
                broken["transition"] |= moved & (cells == code) & ~allowed[:, k]

    def _level_broken(
        self,
        broken: dict[str, np.ndarray],
        j: int,
        feature: Feature,
        cells: np.ndarray,
        moved: np.ndarray,
        owners: np.ndarray,
    ) -> None:
        known = (cells >= 0) & (cells < len(feature.levels)) & (cells == np.rint(cells))
        broken["level"] |= moved & ~known
        codes = np.where(known, cells, 0).astype(np.intp)
        broken["transition"] |= moved & known & ~self._may_take(j, codes, owners)

    @cached_property
    def following(self) -> frozenset[int]:
        """The columns that follow others by a law, and clocks."""
        return frozenset([*(one.column for one in self.book.derivations if one.follows), *self.schema.clocks])

    def _months_broken(self, timing: Timing, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The rows whose clocks are not where they stand after the months that the row takes, or that take too long."""
        own, clocks = self.factuals[owners], list(timing.clocks)
        months = timing.months(rows, own)
        in_step = unchanged(rows[:, clocks], timing.advanced(own, months)).all(axis=1)
        return np.asarray(~in_step | (months > self.max_months[owners]))

    def _derived_broken(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The rows in which a derived cell differs from its expression, or has moved out of its limits."""
        broken, own = np.zeros(len(rows), dtype=bool), self.factuals[owners]
        expected = self.derived(rows, own)
        for one in self.book.derivations:
            j, cells = one.column, rows[:, one.column]
            moved = ~unchanged(cells, own[:, j])
            broken |= ~unchanged(cells, expected[:, j])
            if self.schema.features[j].numeric:
                with np.errstate(invalid="ignore"):
                    outside = (cells < self.low[owners, j]) | (cells > self.high[owners, j]) | ~np.isfinite(cells)
                broken |= outside & moved
            else:
                at = np.flatnonzero(moved & ~np.isnan(cells))
                broken[at] |= ~self._may_take(j, cells[at].astype(np.intp), owners[at])
        return broken


def _pinned(schema: Schema, factuals: np.ndarray) -> np.ndarray:
    """Which cells are immutable for their row by `immutable_if`, (n, d)."""
    pinned = np.zeros(factuals.shape, dtype=bool)
    if schema.conditions:
        view = View(schema.features, factuals)
        for j, condition in schema.conditions:
            pinned[:, j] = condition.met(view)
    return pinned


def _placed(cells: np.ndarray, own: np.ndarray, step: float | None, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Numbers on their grid and within limits; the factual's value where a move is smaller than the grid."""
    result = snapped(cells, step, low, high)
    place = on_grid(own, step)
    if (place == own).all():
        return result
    # the factual's value is off the grid, and perhaps so close to a limit that no grid value is between
    nearest = on_grid(np.clip(cells, low, high), step)
    close = (result == place) | (nearest == place) | (cells == own)
    return np.where((place != own) & close, own, result)


def _absolute(feature: Feature, own: np.ndarray, observed: tuple[float, float] | None) -> tuple[np.ndarray, np.ndarray]:
    """The limits that hold for all rows; a row that is already outside them may stay, and come back."""
    low, high = feature.suggested
    if observed is not None and not math.isnan(observed[0]) and feature.numeric and feature.derived is None:
        low, high = max(low, observed[0]), min(high, observed[1])
    on_scale = ordinary(feature, own)
    return np.where(on_scale, np.fmin(own, low), low), np.where(on_scale, np.fmax(own, high), high)


def _tighten(
    low: np.ndarray,
    high: np.ndarray,
    j: int,
    own: np.ndarray,
    on_scale: np.ndarray,
    direction: str,
    reach: tuple[float | np.ndarray | None, float | np.ndarray | None],
    owners: np.ndarray | slice = slice(None),
) -> None:
    """Directions and ranges are relative to the factual's value; without one they do not apply."""
    down = 0.0 if direction == "increase" else -math.inf if reach[0] is None else reach[0]
    up = 0.0 if direction == "decrease" else math.inf if reach[1] is None else reach[1]
    # 0.7 + 0.1 is slightly less than 0.8, which a range of 0.1 is meant to reach
    slack = np.where(np.isfinite(own), 1e-12 * np.abs(own), 0.0)
    least = own + down - np.where(np.equal(down, 0), 0.0, slack)
    most = own + up + np.where(np.equal(up, 0), 0.0, slack)
    low[owners, j] = np.where(on_scale, np.maximum(low[owners, j], least), low[owners, j])
    high[owners, j] = np.where(on_scale, np.minimum(high[owners, j], most), high[owners, j])


def _tighten_owners(
    schema: Schema, factuals: np.ndarray, low: np.ndarray, high: np.ndarray, owners: np.ndarray, own: Constraints
) -> None:
    for name in dict.fromkeys((*own.direction, *own.range, *own.bounds)):
        j = schema.position(name)
        cells = factuals[owners, j]
        on_scale = ordinary(schema.features[j], cells)
        reach = own.range.get(name, (None, None))
        _tighten(low, high, j, cells, on_scale, own.direction.get(name, "any"), reach, owners)
        floor, ceiling = own.positions(name, own.bounds.get(name, (None, None)), schema)
        # a row outside the bounds may stay where it is, but not move within the outside
        if floor is not None:
            low[owners, j] = np.maximum(low[owners, j], floor)
        if ceiling is not None:
            high[owners, j] = np.minimum(high[owners, j], ceiling)


def _states(feature: Feature, own: np.ndarray) -> np.ndarray | None:
    """The levels, or special codes followed by an ordinary value, that each row may be in."""
    if feature.numeric and not feature.special:
        return None
    names: list[object] = list(feature.levels) if not feature.numeric else [*feature.special, VALUE]
    n, k = len(own), len(names)
    allowed = np.ones((n, k), dtype=bool) if not feature.numeric else np.zeros((n, k), dtype=bool)
    current = _current_state(feature, own)
    avoided = set(feature.avoid)
    if avoided:
        allowed[:, [name in avoided for name in names]] = False
    for position in (place for place in np.unique(current).tolist() if 0 <= place < k):
        here = current == position
        goals = feature.transitions.get(names[position])
        if goals is not None:
            reachable = set(goals) - avoided
            allowed[here] = [other in reachable for other in names]
        allowed[here, position] = True
    if feature.numeric:
        allowed[current == -1, -1] = True  # a missing number may be filled with an ordinary one, if it is fillable
    return allowed


def _current_state(feature: Feature, own: np.ndarray) -> np.ndarray:
    """The position of each row's state among the levels, or the special codes and ordinary; −1 where missing."""
    missing = np.isnan(own)
    if not feature.numeric:
        return np.where(missing, -1, np.where(missing, 0, own)).astype(np.intp)
    state = np.full(len(own), len(feature.special), dtype=np.intp)
    for k, code in enumerate(feature.special):
        state[own == code] = k
    state[missing] = -1
    return state
