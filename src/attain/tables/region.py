"""What each person may reach, and the final form of a candidate.

A `Region` is schema and constraints resolved for a batch of people into arrays: which cells are frozen, between which
values a cell may move, which levels and special codes it may take. `final_form` puts any candidate into a record that
could exist; `violations` checks a record anew, rule by rule, and is what the last check trusts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from attain.schema.constraints import Constraints
from attain.schema.schema import VALUE, Feature, Schema
from attain.tables.cells import ordinary, unchanged
from attain.tables.grid import is_on_grid, on_grid, snapped
from attain.tables.rules import RuleBook
from attain.tables.table import Table

NOT_A_RULE = ("immutable", "bounds", "level", "transition", "grid", "derived", "max_changes")
"""The kinds of violation besides the schema's rules between features."""


@dataclass(frozen=True)
class Region:
    """What each of n people may reach, over d features.

    Attributes
    ----------
    factuals
        The people's own rows, (n, d).
    frozen
        Cells that may not change, (n, d). Derived cells count as frozen: they are computed, not searched.
    low, high
        The least and the largest value a number or the position of an ordered level may take, (n, d).
    states
        Per column of levels, or of numbers with special codes: which states each person may be in, (n, K). For
        numbers the states are the special codes in the schema's order, and last an ordinary value.
    cost
        The weight of a change, (n, d).
    max_changes
        The largest number of features that may change, (n,).
    """

    schema: Schema
    factuals: np.ndarray
    frozen: np.ndarray
    low: np.ndarray
    high: np.ndarray
    states: dict[int, np.ndarray]
    cost: np.ndarray
    max_changes: np.ndarray

    @classmethod
    def of(
        cls, table: Table, constraints: Constraints, observed: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Region:
        """The region of the people in a table; `observed` is the range of the training data, which answers stay in."""
        schema, factuals = table.schema, table.values
        n, d = factuals.shape
        frozen = np.zeros((n, d), dtype=bool)
        low, high = np.full((n, d), -math.inf), np.full((n, d), math.inf)
        cost = np.array([[feature.cost for feature in schema]] * n).reshape(n, d)
        max_changes = np.full(n, d)
        states: dict[int, np.ndarray] = {}
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
        for people, own_constraints in constraints.per_person(schema, table.labels):
            for name in own_constraints.immutable:
                frozen[people, schema.position(name)] = True
            for name, weight in own_constraints.cost.items():
                cost[people, schema.position(name)] = weight
            if own_constraints.max_changes is not None:
                max_changes[people] = np.minimum(max_changes[people], own_constraints.max_changes)
            _tighten_people(schema, factuals, low, high, people, own_constraints)
        region = cls(schema, factuals, frozen, low, high, states, cost, max_changes)
        return replace(region, frozen=frozen | region._stuck())

    def __len__(self) -> int:
        return len(self.factuals)

    @property
    def book(self) -> RuleBook:
        return RuleBook(self.schema)

    def _stuck(self) -> np.ndarray:
        """Cells with nowhere to go, though nothing freezes them."""
        stuck = np.zeros_like(self.frozen)
        for j, feature in enumerate(self.schema):
            if not feature.searched:
                continue
            own, allowed = self.factuals[:, j], self.states.get(j)
            if not feature.numeric:
                stuck[:, j] = self._levels(j, np.arange(len(self))).sum(axis=1) <= ~np.isnan(own)
                continue
            fixed = (self.low[:, j] >= self.high[:, j]) & ((self.low[:, j] == own) | (self.low[:, j] > self.high[:, j]))
            if allowed is not None:
                elsewhere = allowed[:, :-1] & (own[:, None] != np.array(list(feature.special)))
                fixed = (fixed | ~allowed[:, -1]) & ~elsewhere.any(axis=1)
            stuck[:, j] = fixed
        return stuck

    def _levels(self, j: int, people: np.ndarray) -> np.ndarray:
        """Which levels of column j each person may take: by transitions, and for ordered levels by low and high."""
        allowed = self.states[j][people]
        if self.schema.features[j].ordered:
            positions = np.arange(allowed.shape[1])
            within = (positions >= self.low[people, j, None]) & (positions <= self.high[people, j, None])
            allowed = allowed & (within | (positions == self.factuals[people, j, None]))
        return allowed

    def levels(self, j: int) -> np.ndarray:
        """Which levels of column j each person may take, (n, K), the person's own included."""
        return self._levels(j, np.arange(len(self)))

    def subset(self, people: np.ndarray) -> Region:
        """The region of some of the people."""
        return Region(
            self.schema,
            self.factuals[people],
            self.frozen[people],
            self.low[people],
            self.high[people],
            {j: allowed[people] for j, allowed in self.states.items()},
            self.cost[people],
            self.max_changes[people],
        )

    def changed(self, rows: np.ndarray, people: np.ndarray) -> np.ndarray:
        """Which searched cells differ from the person's own."""
        own = self.factuals[people]
        differs = rows != own
        if self._gaps:
            differs &= ~(np.isnan(rows) & np.isnan(own))
        differs[:, [j for j, _ in self.schema.derivations]] = False
        return differs

    @cached_property
    def _gaps(self) -> bool:
        """Whether anybody misses a cell."""
        return bool(np.isnan(self.factuals).any())

    def final_form(self, rows: np.ndarray, people: np.ndarray) -> np.ndarray:
        """Each candidate as a record that could exist: on its grid, in its levels, frozen cells copied bit for bit.

        `people[i]` says whose candidate row i is. A cell that cannot be kept goes back to the person's own; broken
        rules between features are mended where that is easy. Putting a row into final form twice changes nothing more.
        """
        factuals = self.factuals[people]
        rows = self.derived(self._cells(rows, people, factuals), factuals)
        if self.schema.rules:
            mended = self._cells(self.book.mended(rows, factuals, self.frozen[people]), people, factuals)
            mended = self.derived(mended, factuals)
            # half a mending would go on at the next call: a row that cannot be mended stays as it is, and is refused
            whole = np.asarray(self.book.kept(mended).all(axis=1))
            rows = np.where(whole[:, None], mended, rows)
        return rows

    def derived(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The rows with derived columns computed anew, on their grid."""
        rows = self.book.derive(rows, factuals)
        for j, feature in enumerate(self.schema):
            if feature.derived is not None:
                touched = rows[:, j] != factuals[:, j]
                rows[touched, j] = on_grid(rows[touched, j], feature.step)
        return rows

    def _cells(self, rows: np.ndarray, people: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        result = factuals.copy()
        for step, columns in self._plain_blocks:
            cells, own = rows[:, columns], factuals[:, columns]
            low, high = self._limits(columns, people)
            self._put(result, columns, _placed(cells, own, step, low, high), people)
        for j in self._other_columns:
            feature, cells = self.schema.features[j], rows[:, j]
            placed = self._number(j, feature, cells, people) if feature.numeric else self._level(j, cells, people)
            self._put(result, np.array([j]), placed[:, None], people)
        return result

    def _put(self, result: np.ndarray, columns: np.ndarray, cells: np.ndarray, people: np.ndarray) -> None:
        """Writes the cells that could be kept, and that nothing freezes."""
        keep = ~np.isnan(cells)
        if self.frozen[:, columns].any():
            keep &= ~self.frozen[np.ix_(people, columns)]
        result[:, columns] = np.where(keep, cells, result[:, columns])

    @cached_property
    def _plain_blocks(self) -> tuple[tuple[float | None, np.ndarray], ...]:
        """The searched columns of plain numbers by their step: those of one step are put on the grid together."""
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
        """The columns whose limits are the same for everybody."""
        if not len(self):
            return np.ones(len(self.schema), dtype=bool)
        return np.asarray(((self.low == self.low[0]) & (self.high == self.high[0])).all(axis=0))

    def _limits(self, columns: np.ndarray, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if len(self) and self._shared[columns].all():
            return self.low[:1, columns], self.high[:1, columns]
        chosen = np.ix_(people, columns)
        return self.low[chosen], self.high[chosen]

    def _number(self, j: int, feature: Feature, cells: np.ndarray, people: np.ndarray) -> np.ndarray:
        """Numbers on their grid and within limits, allowed special codes, the person's own, or NaN for `not kept`."""
        result = _placed(cells, self.factuals[people, j], feature.step, self.low[people, j], self.high[people, j])
        allowed = self.states[j][people]
        result[~allowed[:, -1] | np.isin(result, list(feature.special))] = math.nan
        for k, code in enumerate(feature.special):
            result[cells == code] = math.nan
            result[(cells == code) & allowed[:, k]] = code
        return result

    def _level(self, j: int, cells: np.ndarray, people: np.ndarray) -> np.ndarray:
        allowed = self._levels(j, people)
        codes = np.clip(np.rint(np.where(np.isnan(cells), -1, cells)), -1, allowed.shape[1] - 1).astype(np.intp)
        possible = (codes >= 0) & allowed[np.arange(len(codes)), codes]
        return np.where(possible, codes, math.nan)

    def admits(self, rows: np.ndarray, people: np.ndarray) -> np.ndarray:
        """Which rows in final form keep what final form does not see to: rules between features, limits of derived
        columns, the number of changes; rows that change nothing are left out too. For searches; `allows` checks all.
        """
        number = self.changed(rows, people).sum(axis=1)
        admitted = (number > 0) & (number <= self.max_changes[people])
        if self.schema.rules:
            admitted &= self.book.kept(rows).all(axis=1)
        if self.schema.derivations:
            admitted &= ~self.violations(rows, people)["derived"]
        return admitted

    def allows(self, rows: np.ndarray, people: np.ndarray) -> np.ndarray:
        """Which rows keep every rule."""
        broken = self.violations(rows, people)
        return ~np.logical_or.reduce(list(broken.values())) if len(rows) else np.zeros(0, dtype=bool)

    def violations(self, rows: np.ndarray, people: np.ndarray) -> dict[str, np.ndarray]:
        """For each kind of rule, and each rule between features by its text, which rows break it."""
        own = self.factuals[people]
        differs = ~unchanged(own, rows)
        broken = {kind: np.zeros(len(rows), dtype=bool) for kind in NOT_A_RULE}
        expected = self.book.derive(rows, own)
        for j, feature in enumerate(self.schema):
            cells, moved = rows[:, j], differs[:, j]
            if feature.derived is not None:
                broken["derived"] |= self._derived_broken(j, feature, cells, expected[:, j], moved, people)
                continue
            broken["immutable"] |= moved & self.frozen[people, j]
            broken["level"] |= moved & np.isnan(cells)
            if feature.numeric:
                self._number_broken(broken, j, feature, cells, moved, people)
            else:
                self._level_broken(broken, j, feature, cells, moved, people)
        broken["max_changes"] = self.changed(rows, people).sum(axis=1) > self.max_changes[people]
        kept = self.book.kept(rows)
        return broken | {text: ~kept[:, k] for k, text in enumerate(self.schema.rules)}

    def _number_broken(
        self,
        broken: dict[str, np.ndarray],
        j: int,
        feature: Feature,
        cells: np.ndarray,
        moved: np.ndarray,
        people: np.ndarray,
    ) -> None:
        on_scale = moved & ordinary(feature, cells)
        with np.errstate(invalid="ignore"):
            outside = (cells < self.low[people, j]) | (cells > self.high[people, j]) | np.isinf(cells)
        broken["bounds"] |= on_scale & outside
        broken["grid"] |= on_scale & ~is_on_grid(cells, feature.step)
        if feature.special:
            allowed = self.states[j][people]
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
        people: np.ndarray,
    ) -> None:
        known = np.isin(cells, np.arange(len(feature.levels)))
        broken["level"] |= moved & ~known
        codes = np.where(known, cells, 0).astype(np.intp)
        broken["transition"] |= moved & known & ~self._levels(j, people)[np.arange(len(codes)), codes]

    def _derived_broken(
        self, j: int, feature: Feature, cells: np.ndarray, expected: np.ndarray, moved: np.ndarray, people: np.ndarray
    ) -> np.ndarray:
        recomputed = expected != self.factuals[people, j]
        wanted = np.where(recomputed, on_grid(expected, feature.step), expected)
        with np.errstate(invalid="ignore"):
            outside = (cells < self.low[people, j]) | (cells > self.high[people, j])
        wrong = ~((cells == wanted) | (np.isnan(cells) & np.isnan(wanted)))
        return wrong | (moved & (outside | ~np.isfinite(cells)))


def _placed(cells: np.ndarray, own: np.ndarray, step: float | None, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Numbers on their grid and within limits; the person's own where a move is smaller than the grid."""
    result = snapped(cells, step, low, high)
    place = on_grid(own, step)
    if (place == own).all():
        return result
    # the person's own value lies off the grid, and perhaps so near a limit that no grid value is between
    nearest = on_grid(np.clip(cells, low, high), step)
    return np.where((result == place) | (nearest == place) | (cells == own), own, result)


def _absolute(feature: Feature, own: np.ndarray, observed: tuple[float, float] | None) -> tuple[np.ndarray, np.ndarray]:
    """The limits that hold for everybody; a person who already lies outside them may stay, and come back."""
    if not feature.numeric:
        return np.zeros(len(own)), np.full(len(own), len(feature.levels) - 1.0)
    low = -math.inf if feature.bounds[0] is None else feature.bounds[0]
    high = math.inf if feature.bounds[1] is None else feature.bounds[1]
    if observed is not None and not math.isnan(observed[0]) and feature.derived is None:
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
    reach: tuple[float | None, float | None],
    people: np.ndarray | slice = slice(None),
) -> None:
    """Directions and ranges are relative to the person's own value; without one they do not apply."""
    down = 0.0 if direction == "increase" else -math.inf if reach[0] is None else reach[0]
    up = 0.0 if direction == "decrease" else math.inf if reach[1] is None else reach[1]
    if direction == "decrease" and reach[0] is not None:
        down = reach[0]
    if direction == "increase" and reach[1] is not None:
        up = reach[1]
    # 0.7 + 0.1 falls a bit short of 0.8, which a range of 0.1 is meant to reach
    slack = np.where(np.isfinite(own), 1e-12 * np.abs(own), 0.0)
    least = own + down - (slack if down else 0.0)
    most = own + up + (slack if up else 0.0)
    low[people, j] = np.where(on_scale, np.maximum(low[people, j], least), low[people, j])
    high[people, j] = np.where(on_scale, np.minimum(high[people, j], most), high[people, j])


def _tighten_people(
    schema: Schema, factuals: np.ndarray, low: np.ndarray, high: np.ndarray, people: np.ndarray, own: Constraints
) -> None:
    for name in dict.fromkeys((*own.direction, *own.range, *own.bounds)):
        j = schema.position(name)
        cells = factuals[people, j]
        on_scale = ordinary(schema.features[j], cells)
        reach = own.range.get(name, (None, None))
        _tighten(low, high, j, cells, on_scale, own.direction.get(name, "any"), reach, people)
        floor, ceiling = own.positions(name, own.bounds.get(name, (None, None)), schema)
        # a person outside the bounds may stay where they are, but not move about there
        if floor is not None:
            low[people, j] = np.maximum(low[people, j], floor)
        if ceiling is not None:
            high[people, j] = np.minimum(high[people, j], ceiling)


def _states(feature: Feature, own: np.ndarray) -> np.ndarray | None:
    """Which levels, or special codes and then ordinary values, each person may be in."""
    if feature.numeric and not feature.special:
        return None
    names: list[object] = list(feature.levels) if not feature.numeric else [*feature.special, VALUE]
    n, k = len(own), len(names)
    allowed = np.ones((n, k), dtype=bool) if not feature.numeric else np.zeros((n, k), dtype=bool)
    current = _current_state(feature, own)
    for position, name in enumerate(names):
        people = current == position
        goals = feature.transitions.get(name)  # type: ignore[call-overload]
        if goals is not None:
            allowed[people] = [other in goals for other in names]
        allowed[people, position] = True
    if feature.numeric:
        allowed[current == -1, -1] = True  # a missing number may be filled with an ordinary one, if it is fillable
    return allowed


def _current_state(feature: Feature, own: np.ndarray) -> np.ndarray:
    """The position of each person's state among levels, or among special codes and ordinary; −1 where missing."""
    missing = np.isnan(own)
    if not feature.numeric:
        return np.where(missing, -1, np.where(missing, 0, own)).astype(np.intp)
    state = np.full(len(own), len(feature.special), dtype=np.intp)
    for k, code in enumerate(feature.special):
        state[own == code] = k
    state[missing] = -1
    return state
