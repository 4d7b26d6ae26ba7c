"""The actions of a row: for each free feature what each costs and gains; and the rules, as conditions on them.

An action a of feature j writes the cell v. For a linear score w and the percentile Q_j of the training rows,

    gain[a] = w_j(v) − w_j(x_j)        cost[a] = weight_j · |Q_j(v) − Q_j(x_j)| + 1e-9,

with weight_j the feature's cost, and 1 in place of the difference where v or x_j has no percentile. The first action of
a group is to stay: it costs and gains 0.

Features are groups of one, unless a column that costs or gains something is computed from several: these are one group,
whose joint actions are written out. Where they would be too many, the features stay apart, and a computed column counts
as if nothing else moved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from attain.methods.recourse.program import Choices, Program, RecourseCost, Row, not_all
from attain.models.scores import LinearScore
from attain.population.percentiles import Percentiles
from attain.schema import Schema
from attain.search.programs import LinearRule, linear_rules
from attain.tables import Region, on_grid, ordinary, snapped, unchanged

_MOST_JOINT: Final = 60_000
"""The most joint actions of one group that are written out."""
_PER_CHANGE: Final = 1e-9
"""Between choices of equal cost, the one with fewer changes wins."""
_MOST_TRIED: Final = 20_000
"""The most rows by which a cut is widened to further actions of one group."""
_LIMITS: Final = -1
"""In place of a rule's position: that computed columns stay within their limits."""


class ActionGrid:
    """The values that numbers may take, column by column, from the training data.

    `observed`: the training values. `exact`: also the last value before each of them, up to which the distribution
    function is flat. A number: that many equal steps over the range of the training data.
    """

    def __init__(self, schema: Schema, values: np.ndarray, grid: str | int) -> None:
        self.n_rows = len(values)
        self.points = [
            _points(np.unique(values[ordinary(feature, values[:, j]), j]), feature.step, grid)
            if feature.numeric
            else np.empty(0)
            for j, feature in enumerate(schema)
        ]


def _points(distinct: np.ndarray, step: float | None, grid: str | int) -> np.ndarray:
    if not len(distinct):
        return distinct
    if grid == "exact":
        far = np.full(len(distinct), math.inf)
        last = snapped(distinct, step, -far, np.nextafter(distinct, -math.inf))
        both = np.concatenate((snapped(distinct, step, distinct, far), last))
        return np.unique(both[np.isfinite(both)])
    points = np.linspace(distinct[0], distinct[-1], grid + 1) if isinstance(grid, int) else distinct
    return np.unique(on_grid(points, step))


class Actions:
    """The actions of each row of a region, and its program for a score."""

    def __init__(self, region: Region, grid: ActionGrid, percentiles: Percentiles, cost: RecourseCost) -> None:
        self.kind, self._region, self._grid, self._percentiles = cost, region, grid, percentiles
        self._standing = percentiles.of(region.factuals)
        self._points: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._ends: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        """The first and the last value of a column that each row may reach, and their percentiles, (n, 2) each."""
        for j in region.schema.free_columns.tolist():
            if region.schema.features[j].numeric:
                low, high, step = region.low[:, j], region.high[:, j], region.schema.features[j].step
                ends = np.column_stack((snapped(low, step, low, high), snapped(high, step, low, high)))
                self._ends[j] = ends, self._percentile(j, ends.ravel()).reshape(ends.shape)
                self._points[j] = grid.points[j], self._percentile(j, grid.points[j])

    def _percentile(self, j: int, cells: np.ndarray) -> np.ndarray:
        return self._percentiles.of(cells[:, None], [j])[:, 0]

    def program(self, i: int, score: LinearScore, need: float) -> Program:
        """The program of row i, which lacks `need` in score."""
        region = self._region
        single = {j: self._single(i, j, score) for j in region.schema.free_columns.tolist() if not region.frozen[i, j]}
        choices, exact = [], True
        for columns, computed in self._ties(score):
            members = [single.pop(j) for j in columns if j in single]
            if math.prod(map(len, members)) <= _MOST_JOINT:
                choices += [self._joint(i, members, computed, score)] if members else []
            else:
                choices += [self._joint(i, [member], computed, score) for member in members]
                exact = False
        return Program([*choices, *single.values()], need, int(region.max_changes[i]), exact=exact)

    def _ties(self, score: LinearScore) -> list[tuple[list[int], list[int]]]:
        """Columns that others are computed from, and these others, where they cost or gain something."""
        region, inputs = self._region, dict[int, set[int]]()
        ties: list[tuple[set[int], list[int]]] = []
        for one in region.book.derivations:
            j = one.column
            inputs[j] = set().union(*(inputs.get(k, {k}) for k in one.inputs))
            if one.follows or score.slopes[j] or not region.schema.features[j].numeric:
                touching = [tie for tie in ties if tie[0] & inputs[j]]
                ties = [tie for tie in ties if not tie[0] & inputs[j]]
                computed = [k for tie in touching for k in tie[1]]
                ties.append((inputs[j].union(*(tie[0] for tie in touching)), [*computed, j]))
        return [(sorted(columns), computed) for columns, computed in ties]

    def _single(self, i: int, j: int, score: LinearScore) -> Choices:
        """Staying, and every other cell that column j of row i may hold."""
        before = self._region.factuals[i, j]
        cells, standing = self._cells(i, j)
        other = cells != before
        cells, standing = np.append(before, cells[other]), standing[other]
        cost = np.append(0.0, self._shift(self._standing[i, j], standing) * self._region.cost[i, j] + _PER_CHANGE)
        weight = score.weight(j, cells)
        gain = np.append(0.0, np.nan_to_num(weight[1:] - weight[0], nan=-np.inf))
        moved = np.arange(len(cells))[:, None] > 0
        return Choices(np.array([j]), cells[:, None], moved, cost, gain, self._exhaustive(i, j, cells))

    def _cells(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """The cells that column j of row i may hold, and their percentiles; its own may be among them."""
        region, feature = self._region, self._region.schema.features[j]
        if not feature.numeric:
            levels = np.flatnonzero(region.levels(j)[i]).astype(np.float64)
            return levels, self._percentile(j, levels)
        codes = np.array(list(feature.special), dtype=np.float64)
        allowed = region.states[j][i] if len(codes) else np.ones(1, dtype=bool)
        values, standing = np.empty(0), np.empty(0)
        if allowed[-1]:
            (points, places), (ends, ends_places) = self._points[j], self._ends[j]
            first, last = np.searchsorted(points, region.low[i, j]), np.searchsorted(points, region.high[i, j], "right")
            values, at = np.unique(np.append(points[first:last], ends[i]), return_index=True)
            standing = np.append(places[first:last], ends_places[i])[at]
            kept = np.isfinite(values) & (values != on_grid(region.factuals[[i], j], feature.step)[0])
            kept &= ~np.isin(values, codes)
            values, standing = values[kept], standing[kept]
        codes = codes[allowed[:-1]]
        return np.append(values, codes), np.append(standing, self._percentile(j, codes))

    def _exhaustive(self, i: int, j: int, cells: np.ndarray) -> bool:
        """Whether these cells are all that column j of row i may hold, not only those on the grid."""
        feature = self._region.schema.features[j]
        if not feature.numeric or feature.step is None:
            return not feature.numeric
        low, high = self._region.low[i, j], self._region.high[i, j]
        number = np.floor(high / feature.step) - np.ceil(low / feature.step) + 1
        return bool(ordinary(feature, cells).sum() >= number)

    def _joint(self, i: int, members: list[Choices], computed: list[int], score: LinearScore) -> Choices:
        """All joint actions of features, with the cost and gain of the columns that are computed from them."""
        region, columns = self._region, np.concatenate([member.columns for member in members])
        picks = np.indices([len(member) for member in members]).reshape(len(members), -1)
        joint = [member.where(pick) for member, pick in zip(members, picks, strict=True)]
        cells = np.column_stack([part.cells for part in joint])
        owners = np.full(len(cells), i)
        rows = region.start[owners]
        rows[:, columns] = cells
        rows = region.derived(rows, region.factuals[owners])
        cost = np.column_stack((*(part.cost for part in joint), self.costs(rows, owners)[:, computed]))
        gain = np.sum([part.gain for part in joint], axis=0)
        for j in computed:
            gain += np.nan_to_num(score.weight(j, rows[:, j]) - score.weight(j, region.start[[i], j]), nan=-np.inf)
        exhaustive = all(member.exhaustive for member in members)
        return Choices(
            columns, cells, np.column_stack([part.moved for part in joint]), self._total(cost), gain, exhaustive
        )

    def _shift(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """|after − before|, or the difference of log(1 − Q) for the local cost; 1 where one is not known."""
        if self.kind == "local":
            least = 0.5 / self._grid.n_rows
            before, after = (np.log(np.maximum(1 - place, least)) for place in (before, after))
        shift = np.abs(after - before)
        return np.asarray(np.where(np.isnan(shift), 1.0, shift))

    def costs(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each cell of each row costs, (m, d); 0 where it stays."""
        shift = self._shift(self._standing[owners], self._percentiles.of(rows)) * self._region.cost[owners]
        return np.where(self._region.changed(rows, owners), shift, 0.0)

    def cost(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each row costs, (m,): the largest of its cells' costs, or their sum."""
        return self._total(self.costs(rows, owners))

    def _total(self, costs: np.ndarray) -> np.ndarray:
        return np.asarray(costs.max(axis=1, initial=0.0) if self.kind == "max" else costs.sum(axis=1))


class RuleCuts:
    """What rules out choices of row i: conditions by the rules that they break.

    A linear rule is stated as it is. Any other, and a linear one that the solver's tolerance lets a choice break, gives
    cuts: sets of actions of the features that it is about, of which not all may be chosen from at once. With a `score`,
    choices that do not meet the goal by it are ruled out too, without asking the model.
    """

    def __init__(self, region: Region, i: int, program: Program, score: LinearScore | None = None) -> None:
        self._region, self._i, self._choices, self._score = region, i, program.choices, score
        self._group = {int(j): g for g, group in enumerate(program.choices) for j in group.columns}
        self._stated: set[int] = set()

    def row(self, actions: list[int]) -> np.ndarray:
        """The choice as a row with its computed columns, (1, d)."""
        return self._rows(actions, {})

    def __call__(self, actions: list[int]) -> list[Row]:
        """Conditions by the rules that the choice breaks; none where it is allowed."""
        region, row, owner = self._region, self.row(actions), np.array([self._i])
        broken = np.flatnonzero(~region.kept(row, owner)[0]).tolist()
        if not broken:
            final, admitted = region.form_and_admit(row, owner)
            if admitted[0] and unchanged(final, row).all():
                # a score that is not known (a missing cell that no training row has) is left to the model
                short = self._score is not None and self._score.score(row)[0] < self._score.threshold
                return [self._only(actions)] if short else []
            if not region.violations(row, owner)["derived"][0]:
                return [self._only(actions)]
            broken = [_LIMITS]
        return [condition for k in broken for condition in self._linear(k) or self._cuts(actions, k)]

    def _linear(self, k: int) -> list[Row]:
        """Rule k as conditions, if it is linear, holds for the row, and was not among them before."""
        region = self._region
        if k in self._stated or k == _LIMITS or region.book.rules[k] not in region.binding(self._i):
            return []
        self._stated.add(k)
        parts = linear_rules(region.book.rules[k], region.schema)
        if any(not region.book.following.isdisjoint(part.weights) for part in parts):
            return []
        return [condition for part in parts for condition in self._linear_rows(part)]

    def _linear_rows(self, rule: LinearRule) -> Iterator[Row]:
        """A linear rule as conditions, one for each side; a missing or special cell lifts it."""
        sums, lifted, fixed, scale = dict[int, np.ndarray](), dict[int, np.ndarray](), 0.0, 1.0
        for j, weight in rule.weights.items():
            g = self._group.get(j)
            group = None if g is None else self._choices[g]
            cells = self._region.start[[self._i], j] if group is None else group.cells[:, group.columns == j][:, 0]
            known = ordinary(self._region.schema.features[j], cells)
            terms = weight * np.where(known, cells, 0.0)
            scale += float(np.abs(terms).max())
            if g is not None:
                sums[g] = sums.get(g, 0.0) + terms
                lifted[g] = lifted.get(g, False) | ~known
            elif known[0]:
                fixed += float(terms[0])
            else:
                return
        for side, sign in ((rule.high, 1.0), (rule.low, -1.0)):
            if math.isfinite(side):
                room = scale + abs(side)
                yield Row({g: sign * sums[g] / room - 2.0 * lifted[g] for g in sums}, sign * (side - fixed) / room)

    def _only(self, actions: list[int]) -> Row:
        """A cut that rules out this choice alone."""
        pairs = enumerate(zip(self._choices, actions, strict=True))
        return not_all({g: np.arange(len(group)) == a for g, (group, a) in pairs})

    def _cuts(self, actions: list[int], k: int) -> list[Row]:
        """Sets of actions that break rule k together, the chosen ones among them, begun at either end of its groups."""
        region = self._region
        names = () if k == _LIMITS else region.book.rules[k].names
        columns = {region.schema.position(name) for name in names} or {one.column for one in region.book.derivations}
        for one in reversed(region.book.derivations):
            columns |= set(one.inputs) if one.column in columns else set()
        groups = sorted({self._group[j] for j in columns if j in self._group})
        orders = (groups, groups[::-1]) if len(groups) > 1 else (groups,)
        return [self._widened(actions, k, order) for order in orders]

    def _widened(self, actions: list[int], k: int, groups: list[int]) -> Row:
        """Actions of these groups of which any that are chosen together break rule k, the chosen ones among them.

        Group after group takes in all actions that break it with whatever the groups before have taken in.
        """
        taken = {g: np.array([actions[g]]) for g in groups}
        for g in groups:
            alone = self._breaking(actions, k, {g: np.arange(len(self._choices[g]))})
            others = {h: widened for h, widened in taken.items() if h != g and len(widened) > 1}
            if math.prod(map(len, others.values())) * len(alone) <= _MOST_TRIED:
                taken[g] = self._breaking(actions, k, {g: alone, **others}) if others else alone
        return not_all({g: np.isin(np.arange(len(self._choices[g])), widened) for g, widened in taken.items()})

    def _breaking(self, actions: list[int], k: int, varied: dict[int, np.ndarray]) -> np.ndarray:
        """The actions of the first group that break rule k with all of the other groups', the rest as chosen."""
        first, *_ = varied.values()
        rows = self._rows(actions, varied)
        owners = np.full(len(rows), self._i)
        region = self._region
        broken = region.violations(rows, owners)["derived"] if k == _LIMITS else ~region.kept(rows, owners)[:, k]
        return np.asarray(first[broken.reshape(len(first), -1).all(axis=1)])

    def _rows(self, actions: list[int], varied: dict[int, np.ndarray]) -> np.ndarray:
        """The rows with the chosen cells, in some groups every combination of these actions, and computed columns."""
        sizes = [len(taken) for taken in varied.values()]
        picks = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
        owners = np.full(math.prod(sizes), self._i)
        rows = self._region.start[owners]
        for group, a in zip(self._choices, actions, strict=True):
            rows[:, group.columns] = group.cells[a]
        for (g, taken), pick in zip(varied.items(), picks, strict=True):
            rows[:, self._choices[g].columns] = self._choices[g].cells[taken[pick]]
        return self._region.derived(rows, self._region.factuals[owners])
