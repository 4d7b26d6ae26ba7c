"""Following the model's score: where the decision flips, and hill climbing over single cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from attain.core.arrays import rank_among, rank_within
from attain.models import probe_rows
from attain.search.moves import Costs, streams, switches
from attain.search.pool import Pool, diverse
from attain.search.problem import Answers, Problem
from attain.tables import Region, ordinary

_ROWS = 2_000
"""Training rows from which the boundary is read."""


class Probe(NamedTuple):
    """Training rows (m, d), spread over all of them, which meet the goal, and the model's own score, (m,) each."""

    rows: np.ndarray
    met: np.ndarray
    score: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, judged: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> Probe:
        """At most 2,000 of the training rows; `judged` gives which rows at some positions meet the goal, and scores."""
        at = probe_rows(np.arange(len(values)), _ROWS)
        return cls(values[at], *judged(at))


def boundary(score: np.ndarray, met: np.ndarray) -> float:
    """The score at which the decision flips, as seen on these rows; 0 where that agrees with all of them."""
    if not met.any():
        return max(float(score.max()), 0.0)
    if met.all():
        return min(float(score.min()), 0.0)
    inside, outside = float(score[met].min()), float(score[~met].max())
    return 0.0 if outside <= 0 <= inside else (inside + outside) / 2


_CELLS = 8_000_000
"""About how many cells of neighbours are held in memory at a time."""
_SHARES = np.array([2.0**-k for k in range(1, 6)])
_LEFT = (0.5, 0.75, 0.9)
"""How much of a change is left when it is taken back in part."""
_STARTS, _RESTARTS, _TURNS = 20, 5, 30
"""Random starts at a time; how often rows without an answer get new ones; the most moves of a climb."""

Near: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Records (k, d), and of which row each is a neighbour, (k,)."""


class Neighbourhood:
    """The neighbours of rows (m, d) with owners (m,), within limits and on the grid, but not in final form."""

    def __init__(self, region: Region, costs: Costs, pools: list[np.ndarray]) -> None:
        self._region = region
        self._costs = costs
        self._switches = switches(region, pools)
        self._first = np.searchsorted(self._switches[0], np.arange(len(region) + 1))
        steps = [feature.step if feature.numeric else 1.0 for feature in region.schema]
        self._steps = np.array([np.nan if step is None else step for step in steps])

    def around(self, rows: np.ndarray, owners: np.ndarray) -> Near:
        """One cell moved up or down by a half to a 32nd of a unit, or switched into another state."""
        at, columns = np.nonzero(self._on_scale(rows, owners))
        moves = np.concatenate((-_SHARES, _SHARES[::-1])) * self._costs.unit[columns, None]
        here = rows[at, columns][:, None]
        values = self._limited(here + moves, owners[at], columns)
        fresh = (values != here) & np.diff(values, axis=1, prepend=np.nan).astype(bool)
        pair, which = np.nonzero(fresh)
        moved = _with_cell(rows, at[pair], columns[pair], values[pair, which])
        switched, parents = self._switched(rows, owners)
        return np.concatenate((moved, switched)), np.concatenate((at[pair], parents))

    def back(self, rows: np.ndarray, owners: np.ndarray) -> Near:
        """One change taken back: wholly, or in part where it is a move along a scale."""
        own = self._region.factuals[owners]
        changed = self._region.changed(rows, owners)
        at, columns = np.nonzero(changed)
        parts, parents = [_with_cell(rows, at, columns, own[at, columns])], [at]
        at, columns = np.nonzero(changed & self._on_scale(rows, owners))
        move = rows[at, columns] - own[at, columns]
        trials = [own[at, columns] + left * move for left in _LEFT]
        # one grid step back is the smallest move there is
        trials.append(rows[at, columns] - np.sign(move) * np.nan_to_num(self._steps[columns]))
        for values in trials:
            moved, some = self._moved(rows, at, columns, values, owners)
            parts.append(moved)
            parents.append(at[some])
        return np.concatenate(parts), np.concatenate(parents)

    def cells(self, owners: np.ndarray, moves: int) -> np.ndarray:
        """An upper bound on the cells of all neighbours of one row of each owner, with `moves` moves of each cell."""
        d = len(self._region.schema)
        return np.asarray(d * (moves * d + self._first[owners + 1] - self._first[owners]))

    def exchanges(self, rows: np.ndarray, owners: np.ndarray, shares: Sequence[float]) -> Iterator[Near]:
        """One change taken back, wholly or by half, and shares of what that frees spent on another cell instead.

        The other cell moves up or down, or into another state. They come in blocks of bounded size, and which block one
        is in does not depend on other owners.
        """
        lighter, old, parents = self._lightened(rows, owners)
        block = rank_among(owners[parents]) // np.maximum(_CELLS // self.cells(owners[parents], 2 * len(shares)), 1)
        for number in range(int(block.max(initial=-1)) + 1):
            at = np.flatnonzero(block == number)
            yield self._exchanged(rows, owners, lighter[at], old[at], parents[at], shares)

    def _exchanged(
        self,
        rows: np.ndarray,
        owners: np.ndarray,
        lighter: np.ndarray,
        old: np.ndarray,
        parents: np.ndarray,
        shares: Sequence[float],
    ) -> Near:
        """The exchanges of some `lighter` rows, whose change in column `old` was taken back."""
        owners_of = owners[parents]
        freed = self._costs.of(rows, owners)[parents] - self._costs.of(lighter, owners_of)
        at, new = np.nonzero(self._on_scale(lighter, owners_of) & (freed > 0)[:, None])
        apart = old[at] != new
        at, new = at[apart], new[apart]
        switched, switched_at = self._switched(lighter, owners_of)
        parts, origins = [switched], [switched_at]
        here = lighter[at, new]
        for sign, price in ((1.0, self._costs.rise), (-1.0, self._costs.fall)):
            paid = np.maximum(price[owners_of[at], new], 1e-9)
            for share in shares:
                values = here + sign * share * freed[at] / paid * self._costs.unit[new]
                moved, some = self._moved(lighter, at, new, values, owners_of)
                parts.append(moved)
                origins.append(at[some])
        return np.concatenate(parts), parents[np.concatenate(origins)]

    def _lightened(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows with one change taken back, wholly or by half; in which column, and of which row."""
        own, changed = self._region.factuals[owners], self._region.changed(rows, owners)
        at, columns = np.nonzero(changed)
        whole = _with_cell(rows, at, columns, own[at, columns])
        half_at, half_columns = np.nonzero(changed & self._on_scale(rows, owners))
        here, there = own[half_at, half_columns], rows[half_at, half_columns]
        middle = self._limited((here + there)[:, None] / 2, owners[half_at], half_columns)[:, 0]
        some = np.flatnonzero((middle != there) & (middle != here))
        half_at, half_columns = half_at[some], half_columns[some]
        half = _with_cell(rows, half_at, half_columns, middle[some])
        return np.concatenate((whole, half)), np.concatenate((columns, half_columns)), np.concatenate((at, half_at))

    def _on_scale(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        on_scale = self._costs.slides[owners]
        for j, feature in enumerate(self._region.schema):
            if feature.special:
                on_scale[:, j] &= ordinary(feature, rows[:, j])
        return np.asarray(on_scale)

    def _moved(
        self, rows: np.ndarray, at: np.ndarray, columns: np.ndarray, values: np.ndarray, owners: np.ndarray
    ) -> Near:
        """The rows `at` with these values in these columns, where that is a change; and which entries those are."""
        values = self._limited(values[:, None], owners[at], columns)[:, 0]
        some = np.flatnonzero(values != rows[at, columns])
        return _with_cell(rows, at[some], columns[some], values[some]), some

    def _limited(self, values: np.ndarray, owners: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Values (k, t) within their owners' limits and on the grid of their column; each row is one cell's trials."""
        low, high = self._region.low[owners, columns, None], self._region.high[owners, columns, None]
        step = self._steps[columns, None]
        values = np.clip(values, low, high)
        return np.where(np.isnan(step), values, np.clip(np.rint(values / step) * step, low, high))

    def _switched(self, rows: np.ndarray, owners: np.ndarray) -> Near:
        _, columns, values = self._switches
        number = self._first[owners + 1] - self._first[owners]
        parents = np.repeat(np.arange(len(rows)), number)
        which = self._first[owners[parents]] + rank_within(parents)
        new = np.flatnonzero(rows[parents, columns[which]] != values[which])
        which, parents = which[new], parents[new]
        return _with_cell(rows, parents, columns[which], values[which]), parents


def _with_cell(rows: np.ndarray, at: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    trial = rows[at]
    trial[np.arange(len(at)), columns] = values
    return np.asarray(trial)


_SPARE_OPTIONS = 3
_NEGLIGIBLE = 1e-9
_EXCHANGED = (0.4, 0.7, 0.95)
"""Shares of a cost spent elsewhere, when a cheaper answer is looked for."""


class Climb:
    """The search of one batch. Climbers are rows, each with its owner; an owner may have several.

    Parameters
    ----------
    problem
        The batch, and how to ask the model.
    costs
        What changes cost.
    pools
        The sorted ordinary cells of each training column.
    training
        The training rows, whose free cells are the random starts.
    limit
        The most a change may cost, within which the best score is looked for. None looks for the least cost instead.
    aim
        The score to come near to, in squares; None climbs the score itself.
    """

    def __init__(
        self,
        problem: Problem,
        costs: Costs,
        pools: list[np.ndarray],
        training: np.ndarray,
        *,
        limit: float | None = None,
        aim: float | None = None,
    ) -> None:
        self.problem, self.costs, self.training = problem, costs, training
        self.aim = aim
        region = problem.region
        self.neighbourhood = Neighbourhood(region, costs, pools)
        self.generators = streams(region.factuals, problem.seed)
        keep = 1 if problem.options == 1 else _SPARE_OPTIONS * problem.options
        self.pool = Pool(len(problem), len(region.schema), keep)
        self.fixed = limit is not None
        self.limit = np.inf if limit is None else float(limit) + _NEGLIGIBLE

    def answers(self, figure: str) -> Answers:
        """Climbs, restarts and local search; `figure` names the cost of an answer among its figures."""
        problem, region, pool = self.problem, self.problem.region, self.pool
        owners = np.arange(len(problem))
        owners = owners[problem.affordable(owners)]
        score = np.zeros(len(problem))
        score[owners] = problem.score(region.start[owners], owners)
        self._climb(region.start[owners], owners, score[owners])
        for turn in range(1 + _RESTARTS):
            waiting = owners if turn == 0 else owners[pool.size[owners] == 0]
            if waiting.size:
                self._restart(waiting, score)
        self._search_locally()
        rows, owners, ranking = diverse(pool.rows, pool.owners, pool.distances, region, problem.options)
        status = problem.statuses(pool.owners)
        return Answers(rows, owners, ranking, status, {figure: self.costs.of(rows, owners)})

    def _ask(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The positions of candidates asked about; their final form, which of them flip the decision, and scores.

        Hits go into the pool.
        """
        cheap = (lambda rows: self.costs.of(rows, owners) <= self.limit) if self.fixed else None
        rows, asked, met, score, _ = tried = self.problem.ask(rows, owners, where=cheap)
        hits = tried.hits
        ranking = -score[met] if self.fixed else self.costs.of(rows[hits], owners[hits])
        self.pool.add(rows[hits], owners[hits], ranking)
        return asked, rows[asked], met, score

    def _climb(self, rows: np.ndarray, owners: np.ndarray, score: np.ndarray) -> None:
        """Each climber takes the best move, turn after turn; without a cost limit it stops at the first hit."""
        rows, score = rows.copy(), score.copy()
        active = np.arange(len(rows))
        for _ in range(_TURNS):
            if not active.size:
                break
            parts = _parts(owners[active], self.neighbourhood.cells(owners[active], 2 * len(_SHARES)))
            active = np.concatenate([self._move(rows, owners, score, active[part]) for part in parts])

    def _move(self, rows: np.ndarray, owners: np.ndarray, score: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Makes the best move of each of these climbers, and returns which of them go on."""
        trials, parents = self.neighbourhood.around(rows[active], owners[active])
        asked, trials, met, gained = self._ask(trials, owners[active][parents])
        parents = active[parents[asked]]
        gain = value = self._gain(score[parents], gained)
        if not self.fixed:
            spent = self.costs.of(trials, owners[parents]) - self.costs.of(rows, owners)[parents]
            value = gain / np.maximum(spent, _NEGLIGIBLE)
            value[np.isin(parents, parents[met])] = -np.inf
        value = np.where(gain > 0, value, -np.inf)
        best = _best(parents, value)
        best = best[np.isfinite(value[best])]
        active = parents[best]
        rows[active], score[active] = trials[best], gained[best]
        return active

    def _gain(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """By how much a score rises, or its squared distance from the aim falls."""
        if self.aim is None:
            return np.asarray(after - before)
        return np.asarray((before - self.aim) ** 2 - (after - self.aim) ** 2)

    def _restart(self, waiting: np.ndarray, score: np.ndarray) -> None:
        """Random training rows' free cells as starts; the best start of an owner without an answer is climbed."""
        picked = [self.generators[i].integers(len(self.training), size=_STARTS) for i in waiting]
        owners = np.repeat(waiting, _STARTS)
        rows = self._within_limit(self.training[np.concatenate(picked)], owners)
        asked, rows, _, gained = self._ask(rows, owners)
        owners = owners[asked]
        best = _best(owners, gained)
        if not self.fixed:
            best = best[(self.pool.size[owners[best]] == 0) & (gained[best] > score[owners[best]])]
        self._climb(rows[best], owners[best], gained[best])

    def _within_limit(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The starts in final form; where one costs too much, drawn back along its scales, and to its own states."""
        region = self.problem.region
        rows = region.final_form(rows, owners)
        cost = self.costs.of(rows, owners)
        over = cost > self.limit
        own, slides = region.factuals[owners], self.costs.slides[owners]
        share = np.divide(self.limit, cost, out=np.ones(len(rows)), where=over)
        drawn = np.where(slides, own + share[:, None] * (rows - own), own)
        return np.where(over[:, None], drawn, rows)

    def _search_locally(self) -> None:
        """Improves the pool's rows: cheaper ones that still flip the decision, or a better score within the limit."""
        rows, owners, rank = self.pool.rows.copy(), self.pool.owners.copy(), self.pool.distances.copy()
        active, exchanging = np.arange(len(rows)), np.zeros(len(rows), dtype=bool)
        for _ in range(_TURNS):
            if not active.size:
                break
            improved = np.zeros(len(rows), dtype=bool)
            for exchange in (False, True):
                some = active[exchanging[active] == exchange]
                for trials, parents in self._varied(rows, owners, some, exchange):
                    if not self.fixed:  # only what is cheaper is worth asking about
                        cheaper = self.costs.of(trials, owners[parents]) < rank[parents] - _NEGLIGIBLE
                        trials, parents = trials[cheaper], parents[cheaper]
                    asked, trials, met, score = self._ask(trials, owners[parents])
                    parents = parents[asked]
                    value = score if self.fixed else -self.costs.of(trials, owners[parents])
                    best = _best(parents, np.where(met, value, -np.inf))
                    best = best[met[best] & (-value[best] < rank[parents[best]] - _NEGLIGIBLE)]
                    rows[parents[best]], rank[parents[best]] = trials[best], -value[best]
                    improved[parents[best]] = True
            # a change that cannot be made smaller is exchanged; what cannot be exchanged either is done
            active = active[improved[active] | ~exchanging[active]]
            exchanging[active] = ~improved[active]

    def _varied(self, rows: np.ndarray, owners: np.ndarray, chosen: np.ndarray, exchange: bool) -> Iterator[Near]:
        """Variants of the chosen rows in blocks of bounded size, and of which row each is one."""
        cells = self.neighbourhood.cells(owners[chosen], 2 * len(_SHARES))
        if exchange:  # most rows have few changes to exchange
            cells *= 1 + self.problem.region.changed(rows[chosen], owners[chosen]).sum(axis=1)
        for part in _parts(owners[chosen], np.minimum(cells, _CELLS)):
            here = chosen[part]
            here = here[~self.problem.out_of_budget()[owners[here]]]
            if exchange:
                shares = (1.0,) if self.fixed else _EXCHANGED
                for trials, parents in self.neighbourhood.exchanges(rows[here], owners[here], shares):
                    yield trials, here[parents]
                    if self.problem.out_of_budget()[owners[here]].all():
                        break
            else:
                vary = self.neighbourhood.around if self.fixed else self.neighbourhood.back
                trials, parents = vary(rows[here], owners[here])
                yield trials, here[parents]


def _parts(owners: np.ndarray, cells: np.ndarray) -> list[np.ndarray]:
    """The positions of sorted owners in parts of about `_CELLS` cells; each owner is in one part."""
    before = (np.cumsum(cells) - cells)[np.searchsorted(owners, owners)]
    return np.split(np.arange(len(owners)), np.flatnonzero(np.diff(before // _CELLS)) + 1)


def _best(parents: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The position of the largest value of each parent, the first of equal ones."""
    order = np.lexsort((-value, parents))
    _, first = np.unique(parents[order], return_index=True)
    return np.asarray(order[first])
