"""What each row may become in some months, the final form of candidates, and the check of answers.

A `Region` is the schema and the constraints resolved into arrays for a batch of rows: which cells are frozen, between
which values a cell may move, which levels and special codes it may take. Time is a parameter: `Region.at(months)` has
every clock where it stands after these months, and changes with a pace go as far as there is time for. `final_form`
puts every cell of a candidate where it may be, and repairs broken rules where it can; `admits` says whether the result
is possible. `violations` checks cells, rules, months and the number of changes, and is what the last check relies on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from attain.core.arrays import unchanged
from attain.engine.cells import on_grid, snapped
from attain.engine.settle import Settler
from attain.schema.constraints import Constraints
from attain.schema.feature import VALUE, Feature, ordinary
from attain.schema.schema import Rule, Schema
from attain.tables.rules import RuleBook, Timing
from attain.tables.table import Table, is_on_grid, ordinary_cells

KINDS_OF_VIOLATION = ("immutable", "bounds", "level", "transition", "grid", "derived", "max_changes", "months")
"""The kinds of violation, besides broken rules and laws, which are named by their text."""

_PER_ROW = ("factuals", "start", "frozen", "low", "high", "cost", "max_changes", "max_months")
"""The arrays of a region with an entry for each row."""


@dataclass(frozen=True)
class Region:
    """What each of n rows may become, over d features.

    Methods take candidates and their `owners`: `owners[i]` is the position among the n rows that candidate i is for.
    `at` is this region with some number of months, `after` with those that each candidate takes, and `later` moves
    candidates on by some months. A cell is *pinned* where the call or `immutable_if` makes it immutable, *held* where
    it is pinned or a pinned one is computed from it, *stuck* where its limits leave it no other value.

    Attributes
    ----------
    factuals
        The rows themselves, (n, d).
    start
        The rows after `max_months` if nobody changes anything: clocks advanced, what follows from them computed again,
        (n, d). Frozen cells are copied from it.
    frozen
        Cells that no search moves, (n, d): immutable, computed, clocks, held, stuck, or missing and not fillable.
    low, high
        The smallest and largest value of a number, or position of an ordered level, (n, d).
    states
        For each column of levels, or of numbers with special codes: the states that each row may be in, (n, K). For
        numbers these are the special codes in the schema's order, and then an ordinary value.
    cost
        The weight of a change, (n, d).
    max_changes
        The largest number of features that may change, (n,).
    max_months
        The most months that an answer may take, (n,); the clocks of `start` stand where they do then.
    book
        The rules, the laws, and the columns that are computed from others.
    narrow
        The float type of each column, by position, that has fewer than 64 bits in the frame: limits are numbers of that
        type, so that rounded cells keep them.
    """

    schema: Schema
    factuals: np.ndarray
    start: np.ndarray
    frozen: np.ndarray
    low: np.ndarray
    high: np.ndarray
    states: dict[int, np.ndarray]
    cost: np.ndarray
    max_changes: np.ndarray
    max_months: np.ndarray
    book: RuleBook
    narrow: Mapping[int, type[np.floating[Any]]]

    @classmethod
    def of(
        cls,
        table: Table,
        constraints: Constraints,
        observed: tuple[np.ndarray, np.ndarray] | None = None,
        book: RuleBook | None = None,
    ) -> Region:
        """The region of the rows of a table, with as many months as they may take.

        Answers stay in the range of the training data, `observed`, and keep the rules and laws of the `book`.
        """
        schema, factuals = table.schema, table.values
        book = RuleBook(schema) if book is None else book
        n, d = factuals.shape
        missing, on_scale = np.isnan(factuals), ordinary_cells(schema, factuals)
        frozen = ~schema.searched | (missing & ~schema.fillable)
        # limits of the schema
        low, high = _common_limits(schema, factuals, on_scale, observed)
        _tighten(low, high, slice(None), factuals, on_scale, schema.reaches)
        cost = np.tile(schema.costs, (n, 1))
        max_changes = np.full(n, d)
        max_months = np.full(n, math.inf if schema.max_months is None else float(schema.max_months))
        states = {}
        for j, feature in enumerate(schema.features):
            if feature.special or not feature.numeric:
                states[j] = _states(feature, factuals[:, j])
        # constraints of the call
        pinned = book.pinned(factuals)
        for owners, given in constraints.resolved(schema, table.labels):
            for name in given.immutable:
                pinned[owners, schema.position(name)] = True
            for name, weight in given.cost.items():
                cost[owners, schema.position(name)] = weight
            if given.max_changes is not None:
                max_changes[owners] = np.minimum(max_changes[owners], given.max_changes)
            if given.max_months is not None:
                max_months[owners] = np.minimum(max_months[owners], given.max_months)
            _tighten_by_call(schema, factuals, low, high, owners, given)
        held = book.held(pinned)
        if book.timing is not None:
            clocks, runs = list(book.timing.clocks), book.timing.runs(factuals)
            max_months = np.minimum(max_months, book.timing.longest(factuals, np.where(held, factuals, high)))
            low[:, clocks] = np.where(runs, factuals[:, clocks], low[:, clocks])
            high[:, clocks] = np.where(runs, book.timing.advanced(factuals, max_months), high[:, clocks])
            frozen[:, clocks] = True
        _move_inwards(low, high, table.layout.narrow)
        limits = frozen, low, high, states, cost, max_changes, max_months
        region = cls(schema, factuals, factuals, *limits, book, table.layout.narrow)
        frozen = region._stuck() | frozen | book.without_laws.held(pinned) | held
        frozen[:, list(region.book.following)] = True
        return replace(region, frozen=frozen).at(max_months)

    def at(self, months: float | np.ndarray) -> Region:
        """The region with some number of months, one for all or (n,), but no more than rows may take."""
        timing, own = self.book.timing, self.factuals
        if timing is None:
            return self
        limit = np.minimum(self.max_months, months)
        start = self.derived(timing.in_step(own, limit), own)
        low, high, states = self.low.copy(), self.high.copy(), dict(self.states)
        for j, pace in timing.paces:
            feature, cells, farthest = self.schema.features[j], own[:, j], timing.reach(pace, limit)
            if feature.ordered:
                _tighten(low, high, j, cells, ordinary(feature, cells), (-farthest, farthest))
            else:
                too_soon = (~np.isnan(cells) & (farthest < 1))[:, None]  # for any change of level
                states[j] = states[j] & (~too_soon | (np.arange(len(feature.levels)) == cells[:, None]))
        _move_inwards(low, high, self.narrow)
        region = replace(self, start=start, low=low, high=high, states=states, max_months=limit)
        stuck = region._stuck()
        return replace(region, frozen=self.frozen | stuck)

    def after(self, rows: np.ndarray, owners: np.ndarray) -> Region:
        """A region with a row for each candidate: that of its owner, with the months that the candidate takes."""
        return self.subset(owners).at(self.months(rows, owners))

    def __len__(self) -> int:
        return len(self.factuals)

    def _stuck(self) -> np.ndarray:
        """Cells of searched features that have no other value to take."""
        stuck = np.zeros_like(self.frozen)
        for step, columns in self.schema.grids:
            low, high = self.low[:, columns], self.high[:, columns]
            least, most = snapped(low, step, low, high), snapped(high, step, low, high)
            # rounding the own value to the grid is no move
            own = on_grid(self.factuals[:, columns], step)
            stuck[:, columns] = np.isnan(least) | ((least == most) & (least == own))
        for j, allowed in self.states.items():
            feature, cells = self.schema.features[j], self.factuals[:, j]
            if feature.numeric:
                elsewhere = allowed[:, :-1] & (cells[:, None] != np.array(list(feature.special)))
                stuck[:, j] = (stuck[:, j] | ~allowed[:, -1]) & ~elsewhere.any(axis=1)
            else:
                stuck[:, j] = self.levels(j).sum(axis=1) <= (~np.isnan(cells)).astype(int)  # its own level, or none
        return stuck & self.schema.searched

    def _may_take(self, j: int, levels: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Whether each owner may take a level of column j: by transitions, and for ordered levels by low and high."""
        allowed = self.states[j][owners, levels]
        if self.schema.features[j].ordered:
            within = (levels >= self.low[owners, j]) & (levels <= self.high[owners, j])
            allowed &= within | (levels == self.factuals[owners, j])
        return np.asarray(allowed)

    def levels(self, j: int) -> np.ndarray:
        """Which levels of column j each row may take, its own included, (n, K)."""
        return self._may_take(j, np.arange(self.states[j].shape[1]), np.arange(len(self))[:, None])

    def subset(self, owners: np.ndarray) -> Region:
        """The region of the rows at some positions, which may repeat."""
        states = {j: allowed[owners] for j, allowed in self.states.items()}
        return replace(self, states=states, **{name: getattr(self, name)[owners] for name in _PER_ROW})

    def changed(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which cells differ from the factual, immutable ones too; computed ones and clocks do not count."""
        own = self.factuals[owners]
        differs = np.asarray(rows != own)
        if self._gaps:
            differs &= ~(np.isnan(rows) & np.isnan(own))
        return differs & self.schema.counted

    def waits(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows take longer than their changes, (m,): see `Timing.waits`."""
        timing = self.book.timing
        return np.zeros(len(rows), dtype=bool) if timing is None else timing.waits(rows, self.factuals[owners])

    def months(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The whole months that each row takes, (m,): the least that its clocks and its changes with a pace need."""
        timing = self.book.timing
        return np.zeros(len(rows)) if timing is None else timing.months(rows, self.factuals[owners])

    @cached_property
    def _gaps(self) -> bool:
        """Whether any factual has a missing cell."""
        return bool(np.isnan(self.factuals).any())

    def final_form(self, rows: np.ndarray, owners: np.ndarray, guides: np.ndarray | None = None) -> np.ndarray:
        """Each candidate with its cells on their grid, within limits and in allowed levels; frozen ones as in `start`.

        Any other cell takes the factual's value. Broken rules and laws are repaired where that is easy: first, if there
        are `guides`, by taking all features of the rule from the candidate's guide, the record that it was made from.
        Some may stay broken: `form_and_admit` says whether the result is possible. It is its own final form.
        """
        return self.form_and_admit(rows, owners, guides)[0]

    def form_and_admit(
        self, rows: np.ndarray, owners: np.ndarray, guides: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """`final_form` of candidates, and which of the results are possible: see `admits`."""
        return self.settler.settled(rows, owners, guides)

    def admits(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows are in final form and possible, so that a search may propose them.

        A possible row changes something, no more than `max_changes`, and keeps rules, laws and computed cells' limits.
        """
        formed, admitted = self.form_and_admit(rows, owners)
        return admitted & np.asarray(unchanged(formed, rows).all(axis=1))

    def later(self, rows: np.ndarray, owners: np.ndarray, months: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What rows become in some months, (m,), in final form, and which are possible then with the same changes."""
        region, each = self.subset(owners).at(months), np.arange(len(rows))
        moved_on, changed = region.final_form(rows, each), self.changed(rows, owners)
        same_cells = (region.changed(moved_on, each) == changed).all(axis=1)
        same_values = (unchanged(moved_on, rows) | ~changed).all(axis=1)
        changes_or_waits = changed.any(axis=1) | region.waits(moved_on, each)
        return moved_on, np.asarray(same_cells & same_values & changes_or_waits & region.allows(moved_on, each))

    def breaks_law(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which of the rows, all admitted, break a law, as then their owners do."""
        return np.asarray((~self.book.kept(rows) & self._excused[owners]).any(axis=1))

    def tolerates(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Whether each row keeps each rule and law (column), or breaks a law by rounding, or no more than its owner."""
        return self.settler.kept(rows, owners)

    def derived(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The rows with their computed columns computed again, on their grid."""
        return self.book.engine.computed(rows, factuals, rounds=True)

    @cached_property
    def settler(self) -> Settler:
        """What puts candidates into final form, in the engine."""
        states = [np.zeros((len(self), 0), dtype=bool), *self.states.values()]
        cells, allowed = (self.factuals, self.start, self.low, self.high, self.frozen), np.concatenate(states, axis=1)
        return Settler(self.book.engine, cells, allowed, self._excused, self.schema.counted, self.max_changes)

    @cached_property
    def _excused(self) -> np.ndarray:
        """Which laws each row breaks itself, and so may go on breaking, (n, rules)."""
        return np.asarray(~self.book.kept(self.factuals) & self.book.is_law)

    def binding(self, i: int) -> list[Rule]:
        """The rules and laws that row i must keep: all but the laws that it breaks itself."""
        return [rule for rule, excused in zip(self.book.rules, self._excused[i], strict=True) if not excused]

    def allows(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows have no violation; unlike `admits`, it does not ask that something changes."""
        broken = self.violations(rows, owners)
        return ~np.logical_or.reduce(list(broken.values())) if len(rows) else np.zeros(0, dtype=bool)

    def violations(self, rows: np.ndarray, owners: np.ndarray) -> dict[str, np.ndarray]:
        """For each kind of violation, and for each rule and law by its text, which rows have it, (m,).

        All clocks of a row must stand where they do after the months that it takes.
        """
        own = self.factuals[owners]
        differs = ~unchanged(own, rows)
        broken = {kind: np.zeros(len(rows), dtype=bool) for kind in KINDS_OF_VIOLATION}
        broken["derived"] = self._derived_broken(rows, owners)
        for j in np.flatnonzero(differs.any(axis=0) & self.schema.counted).tolist():
            moved = differs[:, j]
            if j not in self.book.following:  # what follows by a law is frozen, but moves; `derived` checks it
                broken["immutable"] |= moved & self.frozen[owners, j]
            broken["level"] |= moved & np.isnan(rows[:, j])
            for kind, violates in self._cell_violations(j, rows[:, j], owners):
                broken[kind] |= moved & violates
        if self.book.timing is not None:
            broken["months"] = self._months_broken(self.book.timing, rows, owners)
        broken["max_changes"] = self.changed(rows, owners).sum(axis=1) > self.max_changes[owners]
        return broken | self._rules_broken(rows, owners)

    def _rules_broken(self, rows: np.ndarray, owners: np.ndarray) -> dict[str, np.ndarray]:
        """For each rule and law by its text, which rows break it where that is not tolerated."""
        broken: dict[str, np.ndarray] = {}
        # a law that the person breaks by no less, or that holds up to the rounding of the column that follows it
        tolerated = (self._excused[owners] | self.book.followed) & self.tolerates(rows, owners)
        breaks = ~self.book.kept(rows) & ~tolerated
        for k, rule in enumerate(self.book.rules):  # a rule and a law of equal text share an entry
            broken[rule.text] = broken.get(rule.text, False) | breaks[:, k]
        return broken

    def _cell_violations(self, j: int, cells: np.ndarray, owners: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Kinds of violation, each with the cells of column j that have it if they differ from their owners'."""
        feature = self.schema.features[j]
        if not feature.numeric:
            known = (cells >= 0) & (cells < len(feature.levels)) & (cells == np.rint(cells))
            yield "level", ~known
            yield "transition", known & ~self._may_take(j, np.where(known, cells, 0).astype(np.intp), owners)
            return
        on_scale = ordinary(feature, cells)
        yield "bounds", on_scale & self._outside(j, cells, owners)
        yield "grid", on_scale & ~is_on_grid(cells, feature.step)
        if feature.special:
            allowed = self.states[j][owners]
            yield "transition", on_scale & ~allowed[:, -1]
            for k, code in enumerate(feature.special):
                yield "transition", (cells == code) & ~allowed[:, k]

    def _outside(self, j: int, cells: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which numbers of column j are outside the limits of their owners, or not finite."""
        with np.errstate(invalid="ignore"):
            return (cells < self.low[owners, j]) | (cells > self.high[owners, j]) | ~np.isfinite(cells)

    def _months_broken(self, timing: Timing, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows have clocks that do not stand where they do after the months that it takes, or take too long."""
        own, clocks = self.factuals[owners], list(timing.clocks)
        months = timing.months(rows, own)
        in_step = unchanged(rows[:, clocks], timing.advanced(own, months)).all(axis=1)
        return np.asarray(~in_step | (months > self.max_months[owners]))

    def _derived_broken(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows have a computed cell that differs from its expression, or has moved out of its limits."""
        broken, own = np.zeros(len(rows), dtype=bool), self.factuals[owners]
        expected = self.derived(rows, own)
        for one in self.book.derivations:
            j, cells = one.column, rows[:, one.column]
            moved = ~unchanged(cells, own[:, j])
            broken |= ~unchanged(cells, expected[:, j])
            if self.schema.features[j].numeric:
                broken |= moved & self._outside(j, cells, owners)
            else:
                at = np.flatnonzero(moved & ~np.isnan(cells))
                broken[at] |= ~self._may_take(j, cells[at].astype(np.intp), owners[at])
        return broken


def _common_limits(
    schema: Schema, own: np.ndarray, on_scale: np.ndarray, observed: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    """The limits that hold for everybody, (n, d) each; for a row outside them they are widened to its own value."""
    low, high = schema.suggested
    if observed is not None:
        given = [feature.numeric and feature.computed is None for feature in schema]
        known = given & ~np.isnan(observed[0])
        low, high = np.where(known, np.fmax(low, observed[0]), low), np.where(known, np.fmin(high, observed[1]), high)
    return np.where(on_scale, np.fmin(own, low), low), np.where(on_scale, np.fmax(own, high), high)


def _tighten(
    low: np.ndarray,
    high: np.ndarray,
    j: int | slice,
    own: np.ndarray,
    on_scale: np.ndarray,
    distances: tuple[float, float] | tuple[np.ndarray, np.ndarray] | np.ndarray,
    owners: np.ndarray | slice = slice(None),
) -> None:
    """Narrows limits in place to `distances`: how far down (≤ 0) and up cells may go from the own value."""
    down, up = distances
    # 0.7 + 0.1 is slightly less than 0.8, which a range of 0.1 is meant to reach
    slack = np.where(np.isfinite(own), 1e-12 * np.abs(own), 0.0)
    least = own + down - np.where(np.equal(down, 0), 0.0, slack)
    most = own + up + np.where(np.equal(up, 0), 0.0, slack)
    low[owners, j] = np.where(on_scale, np.maximum(low[owners, j], least), low[owners, j])
    high[owners, j] = np.where(on_scale, np.minimum(high[owners, j], most), high[owners, j])


def _move_inwards(low: np.ndarray, high: np.ndarray, narrow: Mapping[int, type[np.floating[Any]]]) -> None:
    """Moves limits in place to the nearest numbers within them that narrow floats have."""
    for j, kind in narrow.items():
        with np.errstate(over="ignore"):
            least, most = low[:, j].astype(kind), high[:, j].astype(kind)
        low[:, j] = np.where(least < low[:, j], np.nextafter(least, kind(np.inf)), least)
        high[:, j] = np.where(most > high[:, j], np.nextafter(most, kind(-np.inf)), most)


def _tighten_by_call(
    schema: Schema, factuals: np.ndarray, low: np.ndarray, high: np.ndarray, owners: np.ndarray, given: Constraints
) -> None:
    """Narrows the limits of some rows in place to the directions, ranges and bounds that the call gives for them."""
    for name in dict.fromkeys((*given.direction, *given.range, *given.bounds)):
        j, limits = schema.position(name), given.limits(schema[name])
        cells = factuals[owners, j]
        on_scale = ordinary(schema.features[j], cells)
        _tighten(low, high, j, cells, on_scale, limits.reaches, owners)
        # a cell outside these limits may keep its value; a new value must be inside
        floor, ceiling = limits.suggested
        low[owners, j] = np.maximum(low[owners, j], floor)
        high[owners, j] = np.minimum(high[owners, j], ceiling)


def _states(feature: Feature, own: np.ndarray) -> np.ndarray:
    """Which levels, or special codes and then an ordinary value, each row may be in, (n, K)."""
    if not (feature.numeric or feature.avoid or feature.transitions):
        return np.ones((len(own), len(feature.levels)), dtype=bool)
    names: list[object] = [*feature.special, VALUE] if feature.numeric else list(feature.levels)
    # without transitions a level may become any other; a special code, or an ordinary number, stays one
    allowed = np.full((len(own), len(names)), not feature.numeric)
    avoided = set(feature.avoid)
    allowed[:, list(map(names.index, avoided))] = False
    for k, name in enumerate(names):
        here = ordinary(feature, own) if feature.numeric and name == VALUE else own == (name if feature.numeric else k)
        targets = feature.transitions.get(name)  # type: ignore[call-overload]
        if targets is not None and here.any():
            reachable = list(map(names.index, set(targets) - avoided))
            allowed[here] = np.isin(np.arange(len(names)), reachable)
        allowed[here, k] = True
    if feature.numeric:
        allowed[np.isnan(own), -1] = True  # a missing number may be filled with an ordinary one, if it is fillable
    return allowed
