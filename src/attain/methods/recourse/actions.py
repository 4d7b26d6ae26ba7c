"""The actions of a row: for each free feature, or group of features tied by a rule, what each costs and gains.

An action a of feature j writes the cell v. For a linear score w and the percentile Q_j of the training rows,

    gain[a] = w_j(v) − w_j(x_j)        cost[a] = weight_j · |Q_j(v) − Q_j(x_j)| + 1e-9,

with weight_j the feature's cost, and 1 in place of the difference where v or x_j has no percentile. The first action of
a group is to stay: it costs and gains 0.

Features that a rule or a derived column ties together are one group, whose joint actions are written out and checked
one by one: so any rule, and any derived column, is kept exactly. Where they would be too many, the features stay apart.
The program without their rules is solved first, by the best actions of each feature: a choice that keeps the rules is
the cheapest of those that do. Where it breaks one, `Program.full` has all actions that rules can tell apart, and linear
rules as rows for the solver; everything else is left to rejection.

Clocks tie all features whose changes take time. An action of the leading clock is a number of months T, with the cost
and gain of all clocks; that the changes need no more months is a row for the solver, for each feature with a pace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np

from attain.core.compiled import kernels
from attain.methods.recourse.knapsack import rises
from attain.methods.recourse.program import Choices, Program, Row
from attain.methods.recourse.ties import Tie, ties_of
from attain.methods.search.signatures import Signatures
from attain.models.structure.linear import LinearScore
from attain.population.percentiles import Percentiles
from attain.schema import Schema
from attain.tables import NOT_A_RULE, Region, on_grid, ordinary, snapped, unchanged

RecourseCost: TypeAlias = Literal["total", "max", "local"]

_MOST_JOINT: Final = 60_000
"""The most joint actions of one group that are written out."""
_MOST_CELLS: Final = 2_000_000
"""The most cells and rules that are checked for the joint actions of one group: a few tenths of a second."""
_MOST_ACTIONS: Final = 20_000
"""The most actions of a program with rules; where there are more, it has some of the best of each feature."""
_ROUGH_ACTIONS: Final = 4_000
"""About how many it then has: HiGHS solves such a program in some tenths of a second."""
_MOST_KEPT: Final = 10_000_000
"""The most cells of actions that are kept for a row's next score."""
_LONGEST: Final = 1200
"""The most months that are written out."""
_PER_CHANGE: Final = 1e-9
"""Between choices of equal cost, the one with fewer changes wins."""


class ActionGrid:
    """The values that numbers may take, column by column, from the training data.

    `observed`: the training values. `exact`: also the last value before each of them, up to which the distribution
    function is flat. A number: that many equal steps over the range of the training data.
    """

    def __init__(self, schema: Schema, values: np.ndarray, grid: str | int) -> None:
        self.n_rows = len(values)
        self.points = [
            _points(values[ordinary(feature, values[:, j]), j], feature.step, grid) if feature.numeric else np.empty(0)
            for j, feature in enumerate(schema)
        ]


def _points(known: np.ndarray, step: float | None, grid: str | int) -> np.ndarray:
    distinct = np.unique(known)
    if not len(distinct):
        return distinct
    if isinstance(grid, int):
        return np.unique(on_grid(np.linspace(distinct[0], distinct[-1], grid + 1), step))
    if grid == "observed":
        return np.unique(on_grid(distinct, step))
    far = np.full(len(distinct), math.inf)
    first = snapped(distinct, step, distinct, far)
    last = snapped(distinct, step, -far, np.nextafter(distinct, -math.inf))
    both = np.concatenate((first, last))
    return np.unique(both[np.isfinite(both)])


class Actions:
    """Writes the program of each row of a region, for one score after the other.

    With `again`, for several of each row: what does not depend on the score is kept, up to a limit of cells.
    """

    def __init__(
        self,
        region: Region,
        grid: ActionGrid,
        percentiles: Percentiles,
        cost: RecourseCost,
        again: bool = False,
    ) -> None:
        self._region = region
        self._grid = grid
        self._percentiles = percentiles
        self._kind = cost
        self._standing = percentiles.of(region.factuals)
        self._ends = {j: self._ends_of(j) for j in region.schema.free_columns if region.schema.features[j].numeric}
        self._places = {j: on_grid(region.factuals[:, j], region.schema.features[j].step) for j in self._ends}
        self._known: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = {}
        self._kept: dict[Hashable, tuple[np.ndarray, ...]] = {}
        self._room = _MOST_KEPT if again else 0
        self._scored_by: LinearScore | None = None
        self._pruned_already: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def _ends_of(self, j: int) -> np.ndarray:
        """The first and the last value of column j that each row may reach, (2, n)."""
        low, high, step = self._region.low[:, j], self._region.high[:, j], self._region.schema.features[j].step
        return np.stack((snapped(low, step, low, high), snapped(high, step, low, high)))

    def program(self, i: int, score: LinearScore, need: float) -> Program:
        """The program of row i, which lacks `need` in score."""
        region = self._region
        self._take(score)
        able = [int(j) for j in region.schema.free_columns if not region.frozen[i, j]]
        single = {j: self._single(i, j, score) for j in able if j not in self._pruned_already}
        choices: list[Choices] = []
        reach: list[Choices] | None = []
        apart: list[Tie] = []
        tied: set[int] = set()
        for tie in self._ties:
            members = [j for j in tie.columns if j in single]
            tied.update(members)
            if not members:
                continue
            joint = not tie.only_timed and math.prod(len(single[j].cost) for j in members) <= self._most_joint
            group = self._joint(i, tie, [single[j] for j in members], score) if joint else None
            bends = any(score.slopes[j] for j in tie.derived)
            if group is not None and all(self._exhaustive(i, j, single[j]) for j in members):
                reach = None if reach is None else [*reach, group]
            elif bends:
                reach = None
            else:
                reach = None if reach is None else [*reach, *(single[j] for j in members)]
            if group is not None:
                choices.append(group)
            else:
                apart.append(tie)
                choices += [self._with_derived(i, tie, single[j], score) for j in members]
        untied = [
            self._known_best(i, j) if j in self._pruned_already
            else single[j] if self._tells_time(single[j])
            else _pruned(single[j])
            for j in able if j not in tied
        ]  # fmt: skip
        whole = not apart and not self._laws
        every = list(choices)
        # a longer time may be worth nothing but the changes that it allows
        choices = [some if self._tells_time(some) else _pruned(some) for some in choices] + untied
        reach = None if reach is None else [*reach, *untied]
        rows = list(self._time_rows(i, choices))
        program = Program(choices, rows, need, int(region.max_changes[i]), reach, whole)
        if whole:
            return program

        def full() -> Program:
            return self._full(i, program, [*every, *(self._single(i, j, score) for j in able if j not in tied)], apart)

        return replace(program, full=full)

    def _full(self, i: int, program: Program, every: list[Choices], apart: list[Tie]) -> Program:
        """The program with linear rules as rows, and all actions that rules tell apart, if these are not too many."""
        kinds = [
            None if len(some.columns) > 1 else self._signatures.of(int(some.columns[0]), some.cells[:, 0])
            for some in every
        ]
        choices = [
            some if self._tells_time(some) else _pruned(some, kind) for some, kind in zip(every, kinds, strict=True)
        ]
        exact = sum(len(some.cost) for some in choices) <= _MOST_ACTIONS
        choices = choices if exact else program.thinned(_ROUGH_ACTIONS).choices
        rows = [row for tie in apart for row in self._rule_rows(i, tie, choices)]
        rows += self._time_rows(i, choices)
        return replace(program, choices=choices, rows=rows, exact=exact, full=None)

    @cached_property
    def _signatures(self) -> Signatures:
        return Signatures(self._region)

    def prepare(self, score: LinearScore) -> None:
        """Finds the best actions of all rows for a score at once, where kernels are in use.

        That is for columns that no rule ties to others; `program` finds the others', row by row.
        """
        self._take(score)
        compiled = kernels("attain.methods.recourse.action_kernels")
        if compiled is None or self._kind == "local":
            return
        tied = {j for tie in self._ties for j in tie.columns}
        for j in (int(j) for j in self._region.schema.free_columns):
            if j not in tied and self._region.schema.features[j].clock is None:
                self._pruned_already[j] = compiled.frontiers(*self._column(j, score), _PER_CHANGE)

    def _take(self, score: LinearScore) -> None:
        """Forgets what was found for another score."""
        if self._scored_by is not score:
            self._pruned_already, self._scored_by = {}, score

    def _found(self, key: Hashable, find: Callable[[], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        """What `find` finds, which no score changes; kept where there is room."""
        if key not in self._kept:
            found = find()
            size = 1 + sum(part.size for part in found)
            if size > self._room:
                return found
            self._room -= size
            self._kept[key] = found
        return self._kept[key]

    def _column(self, j: int, score: LinearScore) -> tuple[np.ndarray, ...]:
        """What the kernel needs to know about column j."""
        region, feature, n = self._region, self._region.schema.features[j], len(self._region)

        def placed(cells: np.ndarray) -> np.ndarray:
            places = (*self._placed(j, cells.ravel()), score.weight(j, cells.ravel()))
            return np.stack(places, axis=-1).reshape(*cells.shape, 3)

        own = np.column_stack((placed(region.factuals[:, j]), region.cost[:, j]))
        own[:, 1] = self._standing[:, j]
        if not feature.numeric:
            none, never = np.empty(0), np.zeros(n, dtype=bool)
            levels = placed(np.arange(float(len(feature.levels))))
            return own, np.zeros(n), placed(none), np.zeros((n, 2), np.int64), placed(np.zeros((n, 2))), levels, \
                np.ascontiguousarray(region.levels(j)), never  # fmt: skip
        points, states = self._grid.points[j], np.array(list(feature.special), dtype=np.float64)
        limits = np.searchsorted(points, region.low[:, j], "left"), np.searchsorted(points, region.high[:, j], "right")
        allowed = np.ascontiguousarray(region.states[j][:, : len(states)]) if len(states) else np.zeros((n, 0), bool)
        numeric = np.ascontiguousarray(region.states[j][:, -1]) if len(states) else np.ones(n, dtype=bool)
        ends = placed(np.sort(self._ends[j], axis=0).T)
        return own, self._places[j], placed(points), np.column_stack(limits), ends, placed(states), allowed, numeric

    def _known_best(self, i: int, j: int) -> Choices:
        """The actions of row i and column j that `prepare` found."""
        start, found = self._pruned_already[j]
        cells, cost, gain = found[:, start[i] : start[i + 1]]
        return Choices(np.array([j]), cells[:, None], np.arange(len(cells))[:, None] > 0, cost, gain)

    @cached_property
    def _most_joint(self) -> int:
        return min(_MOST_JOINT, _MOST_CELLS // (len(self._region.schema) + len(self._region.book.rules)))

    @cached_property
    def _ties(self) -> list[Tie]:
        return ties_of(self._region)

    @cached_property
    def _inputs(self) -> frozenset[int]:
        """The columns that others are computed from."""
        return frozenset(j for one in self._region.book.derivations for j in one.inputs)

    @cached_property
    def _laws(self) -> bool:
        return bool(self._region.book.is_law.any())

    def _single(self, i: int, j: int, score: LinearScore) -> Choices:
        """Staying, and every other cell that column j of row i may hold."""
        cells, cost, moved = self._found((i, j), lambda: self._priced(i, j))
        gain = score.weight(j, cells[:, 0]) - score.weight(j, cells[0])
        gain[0] = 0.0
        some = Choices(np.array([j]), cells, moved, cost, gain)
        known = ~np.isnan(gain)
        return some if known.all() else some.where(known)

    def _priced(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The own cell of column j of row i and every other that it may hold, (A, 1), their costs, and which move."""
        region, own = self._region, self._region.factuals[i, j]
        if region.schema.features[j].numeric:
            cells, standing = self._numbers(i, j)
        else:
            cells = np.flatnonzero(region.levels(j)[i]).astype(np.float64)
            cells, standing = self._placed(j, cells[cells != own])
        moved = np.arange(len(cells) + 1)[:, None] > 0
        return np.append(own, cells)[:, None], np.append(0.0, self._cost(i, j, standing)), moved

    def _placed(self, j: int, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cells of column j, and their percentiles."""
        return cells, self._percentiles.of(cells[:, None], [j])[:, 0]

    def _numbers(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """The numbers and codes that column j of row i may hold; see `_placed`."""
        region, feature = self._region, self._region.schema.features[j]
        own, codes = region.factuals[i, j], list(feature.special)
        allowed = region.states[j][i] if codes else None
        parts = []
        if feature.clock is not None:
            parts.append(self._placed(j, self._times(i, j)))
        elif allowed is None or allowed[-1]:
            known, standing = self._within(i, j)
            others = (known != self._places[j][i]) & (known != own)
            if codes:
                others &= ~np.isin(known, codes)
            parts.append((known[others], standing[others]))
        if allowed is not None:
            cells = [code for code, may in zip(codes, allowed, strict=False) if may and code != own]
            parts.append(self._placed(j, np.array(cells, dtype=np.float64)))
        if len(parts) == 1:
            return parts[0]
        every = [np.concatenate(same) for same in zip(*parts, strict=True)]
        return (every[0], every[1]) if every else (np.empty(0), np.empty(0))

    def _times(self, i: int, j: int) -> np.ndarray:
        """Where the clock of column j of row i may stand, month after month."""
        timing = self._region.book.timing
        assert timing is not None
        months = np.arange(1.0, min(self._region.max_months[i], _LONGEST) + 1)
        cells = timing.advanced(np.repeat(self._region.factuals[[i]], len(months), axis=0), months)
        values = np.unique(cells[:, timing.clocks.index(j)])
        return values[values != self._region.factuals[i, j]]

    def _within(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """The grid within the limits of row i, and their ends; see `_placed`. Shared by rows with equal limits."""
        region = self._region
        key = (j, np.array([region.low[i, j], region.high[i, j], *self._ends[j][:, i]]).tobytes())
        if key not in self._known:
            points = self._grid.points[j]
            first = np.searchsorted(points, region.low[i, j], side="left")
            last = np.searchsorted(points, region.high[i, j], side="right")
            ends = self._ends[j][:, i]
            values = np.unique(np.concatenate((points[first:last], ends[np.isfinite(ends)])))
            self._known[key] = self._placed(j, values)
        return self._known[key]

    def _cost(self, i: int, j: int, standing: np.ndarray) -> np.ndarray:
        """What each change of column j of row i costs."""
        way = self._way(self._standing[i, j], standing)
        return np.asarray(way * self._region.cost[i, j] + _PER_CHANGE)

    def _way(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """|after − before|, or the difference of log(1 − Q) for the local cost; 1 where one is not known."""
        if self._kind == "local":
            least = 0.5 / self._grid.n_rows
            way = np.abs(np.log(np.maximum(1 - before, least)) - np.log(np.maximum(1 - after, least)))
        else:
            way = np.abs(after - before)
        return np.asarray(np.where(np.isnan(way), 1.0, way))

    def costs(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each cell of each row costs, (m, d); 0 where it stays."""
        way = self._way(self._standing[owners], self._percentiles.of(rows)) * self._region.cost[owners]
        return np.where(self._region.differs(rows, owners), way, 0.0)

    def cost(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each row costs, (m,): the largest of its cells' costs, or their sum."""
        costs = self.costs(rows, owners)
        return np.asarray(costs.max(axis=1, initial=0.0) if self._kind == "max" else costs.sum(axis=1))

    def _joint(self, i: int, tie: Tie, members: list[Choices], score: LinearScore) -> Choices:
        """All joint actions of tied features that keep the rules between them; the derived columns' gain included."""
        columns = np.concatenate([some.columns for some in members])
        key = (i, *(some.cells.tobytes() for some in members))
        picks, cells, moved, cost, derived = self._found(key, lambda: self._allowed(i, tie, members, columns))
        gain = np.sum([some.gain[pick] for some, pick in zip(members, picks, strict=True)], axis=0)
        for k, j in enumerate(j for j in tie.derived if j not in columns):
            gain = gain + score.weight(j, derived[:, k]) - score.weight(j, self._region.factuals[[i], j])
        return Choices(columns, cells, moved, cost, gain).where(~np.isnan(gain))

    def _allowed(
        self, i: int, tie: Tie, members: list[Choices], columns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The A joint actions that keep the rules: the action of each member, (m, A), cells and which change, (A, m).

        Then their costs, (A,), and the cells of the tie's other derived columns.
        """
        region = self._region
        picks = np.indices([len(some.cost) for some in members]).reshape(len(members), -1)
        cells = np.column_stack([some.cells[pick, 0] for some, pick in zip(members, picks, strict=True)])
        owners = np.full(len(cells), i)
        rows = region.factuals[owners]
        rows[:, columns] = cells
        final, admitted = region.settled(rows, owners)
        whole = np.asarray(unchanged(final[:, columns], cells).all(axis=1))
        doubtful = np.flatnonzero(whole & ~admitted)  # staying is, and what breaks a rule of another tie
        broken = region.violations(final[doubtful], owners[doubtful])
        for kind in (*NOT_A_RULE, *tie.rules):
            whole[doubtful] &= ~broken[kind]
        picks, cells, final, owners = picks[:, whole], cells[whole], final[whole], owners[whole]
        cost = np.column_stack([some.cost[pick] for some, pick in zip(members, picks, strict=True)])
        followers = [j for j in tie.followers if j not in columns]
        if followers:
            cost = np.column_stack((cost, self.costs(final, owners)[:, followers]))
        total = cost.max(axis=1) if self._kind == "max" else cost.sum(axis=1)
        derived = final[:, [j for j in tie.derived if j not in columns]]
        return picks, cells, region.changed(final, owners)[:, columns], total, derived

    def _with_derived(self, i: int, tie: Tie, single: Choices, score: LinearScore) -> Choices:
        """A tied feature by itself: the gain includes what derived columns do when nothing else moves.

        Gain and cost of the leading clock include those of all other clocks.
        """
        if self._region.book.timing is None and int(single.columns[0]) not in self._inputs:
            return single
        key = (i, "derived", single.cells.tobytes(), *single.columns)
        columns, cells = self._found(key, lambda: self._moved_along(i, tie, single))
        gain, cost, clocks = single.gain.copy(), single.cost, self._region.schema.clocks
        for k, j in enumerate(columns.tolist()):
            gain += score.weight(j, cells[:, k]) - score.weight(j, self._region.factuals[[i], j])
        if self._tells_time(single):
            rows = self._region.book.derive(*self._written(i, single))
            others = self.costs(rows, np.full(len(rows), i))[:, [j for j in clocks if j not in single.columns]]
            every = np.column_stack((cost, others))
            cost = every.max(axis=1) if self._kind == "max" else every.sum(axis=1)
        return Choices(single.columns, single.cells, single.moved, cost, gain).where(~np.isnan(gain))

    def _moved_along(self, i: int, tie: Tie, single: Choices) -> tuple[np.ndarray, np.ndarray]:
        """The derived columns of a tie that an action of one of its features moves, and their cells, (A, k)."""
        rows, own = self._written(i, single)
        rows = self._region.book.derive(rows, own)
        clocks = () if self._tells_time(single) else self._region.schema.clocks
        others = np.array([j for j in tie.derived if j not in (*single.columns, *clocks)], dtype=np.intp)
        columns = others[~unchanged(rows[:, others], own[:, others]).all(axis=0)]
        return columns, rows[:, columns]

    def _exhaustive(self, i: int, j: int, single: Choices) -> bool:
        """Whether the actions are all that the rules allow, not only those on the grid."""
        feature = self._region.schema.features[j]
        if not feature.numeric:
            return True
        if feature.step is None:
            return False
        low, high = self._region.low[i, j], self._region.high[i, j]
        number = np.floor(high / feature.step) - np.ceil(low / feature.step) + 1
        return bool(ordinary(feature, single.cells[:, 0]).sum() >= number)

    def _tells_time(self, choices: Choices) -> bool:
        return len(choices.columns) == 1 and int(choices.columns[0]) in self._region.schema.clocks

    def _time_rows(self, i: int, choices: list[Choices]) -> Iterator[Row]:
        """For each feature with a pace, that its change takes no longer than the leading clock shows."""
        timing, schema = self._region.book.timing, self._region.schema
        clock = next((g for g, some in enumerate(choices) if self._tells_time(some)), None)
        if timing is None or clock is None:
            return
        most = np.minimum(timing.latest(*self._written(i, choices[clock])), _LONGEST)
        for g, some in enumerate(choices):
            if len(some.columns) == 1 and int(some.columns[0]) in schema.paced:
                coefficients = [np.zeros(len(other.cost)) for other in choices]
                coefficients[g] = timing.needed(*self._written(i, some))
                coefficients[clock] = -most
                yield Row(tuple(coefficients), -math.inf, 0.0)

    def _written(self, i: int, choices: Choices) -> tuple[np.ndarray, np.ndarray]:
        """The row with the cells of each action, and as it was, (A, d) both."""
        own = np.repeat(self._region.factuals[[i]], len(choices.cost), axis=0)
        rows = own.copy()
        rows[:, choices.columns] = choices.cells
        return rows, own

    def _rule_rows(self, i: int, tie: Tie, choices: list[Choices]) -> list[Row]:
        """The linear rules of a tie as conditions on the choice of actions; a missing or special cell lifts them."""
        schema = self._region.schema
        rows = []
        for weights, low, high in tie.linear:
            fixed = 0.0
            lifted = False
            most = 1.0 + sum(abs(side) for side in (low, high) if math.isfinite(side))
            coefficients = [np.zeros(len(some.cost)) for some in choices]
            plain = [np.ones(len(some.cost), dtype=bool) for some in choices]
            for j, weight in weights.items():
                place = next((g for g, some in enumerate(choices) if j in some.columns), None)
                cells = self._region.factuals[[i], j] if place is None else choices[place].cells[:, 0]
                known = ordinary(schema.features[j], cells)
                terms = np.where(known, weight * np.where(known, cells, 0.0), 0.0)
                most += float(np.abs(terms).max(initial=0.0))
                if place is None:
                    fixed += float(terms[0])
                    lifted |= not known[0]
                else:
                    coefficients[place] += terms
                    plain[place] &= known
            for side, sign in ((high, 1.0), (low, -1.0)):
                if math.isfinite(side) and not lifted:
                    lifting = [sign * some - 2 * most * ~known for some, known in zip(coefficients, plain, strict=True)]
                    rows.append(Row(tuple(lifting), -math.inf, sign * (side - fixed)))
        return rows


def _pruned(choices: Choices, kind: np.ndarray | None = None) -> Choices:
    """Only actions that no other of the same kind, (A,), with the same features changed beats in cost and gain."""
    sets = choices.moved @ (1 << np.arange(choices.moved.shape[1]))
    if kind is not None:
        sets = sets * (len(kind) + 1) + kind
    order = np.lexsort((-choices.gain, choices.cost, sets))
    groups = np.split(order, np.flatnonzero(np.diff(sets[order])) + 1)
    return choices.where(np.sort(np.concatenate([group[rises(choices.gain[group])] for group in groups])))
