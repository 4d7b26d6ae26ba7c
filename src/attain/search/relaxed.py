"""Gradient methods over relaxed rows, shared by `BudgetedInverseClassification`, `Wachter` and `REVISE`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from attain.models.scores import Smooth
from attain.search.moves import Costs, switches
from attain.search.pool import Pool, diverse
from attain.search.problem import Answers, Problem, sparse
from attain.tables import Region

_NEGLIGIBLE = 1e-9
_DIFFERENCE = 1e-5
"""The step, in units, of the differences by which derived columns are differentiated."""
_CELLS = 2_000_000
"""The most cells of rows that are moved at once."""


class Limits(NamedTuple):
    """How far moves may go down and up, and what a unit of each costs, (m, d) each."""

    lower: np.ndarray
    upper: np.ndarray
    fall: np.ndarray
    rise: np.ndarray


class Step(NamedTuple):
    """A step Δ of m rows: f before and after it, (m,); where it starts, Δ and ∇f, (m, d); and L, (m,)."""

    before: np.ndarray
    after: np.ndarray
    moves: np.ndarray
    step: np.ndarray
    gradient: np.ndarray
    inverse_step: np.ndarray


class RelaxedSearch(ABC):
    """The search of one batch. Levels (n,), starts and what may move, (n, d), are indexed by owner.

    Parameters
    ----------
    problem, smooth, costs
        The rows, the model's score with its slope, and what moves cost.
    pools
        The sorted ordinary cells of each training column.
    iterations
        The most steps for one level.
    sparsity
        Whether changes that are not needed are taken back.
    most_cost
        The most an answer may cost; answers are then ordered by score instead of cost. None for no limit.
    """

    figure: ClassVar[str]
    """The name of the cost among an answer's figures."""
    shrink: ClassVar[float]
    """The factor on L after a step that is taken; it doubles after one that is refused."""
    counts_refused: ClassVar[bool]
    """Whether steps that are refused count as iterations."""
    keeps_best: ClassVar[bool]
    """Whether the result is the move of the least loss on the way, rather than the last one."""
    warm: ClassVar[bool]
    """Whether a level starts where the last one that did not flip the decision ended."""

    def __init__(
        self,
        problem: Problem,
        smooth: Smooth,
        costs: Costs,
        pools: list[np.ndarray],
        *,
        iterations: int,
        sparsity: bool,
        most_cost: float | None = None,
    ) -> None:
        self.problem, self.smooth, self.costs = problem, smooth, costs
        self.iterations, self.sparsity, self.most_cost = iterations, sparsity, most_cost
        self.movable = costs.slides.copy()
        self.switches = switches(problem.region, pools)
        self.start = np.zeros(problem.region.factuals.shape)
        self._move_from(problem.region.start)

    def answers(self) -> Answers:
        """One answer per row and round; in each round the main change of the last answer is ruled out."""
        problem, region = self.problem, self.problem.region
        pools: list[Pool] = []
        owners = np.arange(len(problem))
        for _ in range(1 if problem.options == 1 else problem.options + 1):
            pool = Pool(len(problem), len(region.schema), 1)
            self._round(owners, pool)
            pools.append(pool)
            owners = pool.owners
            self.movable[owners, self.costs.cells(pool.rows, owners).argmax(axis=1)] = False
        rows, owners = np.concatenate([p.rows for p in pools]), np.concatenate([p.owners for p in pools])
        if self.sparsity:
            rows = sparse(rows, owners, self.costs.cells(rows, owners), problem)
        ranking = self.costs.of(rows, owners)
        if self.most_cost is not None:
            ranking = np.concatenate([pool.distances for pool in pools])
        status = problem.statuses(owners)
        rows, owners, ranking = diverse(rows, owners, ranking, region, problem.options)
        return Answers(rows, owners, ranking, status, {self.figure: self.costs.of(rows, owners)})

    def _round(self, owners: np.ndarray, pool: Pool) -> None:
        """Moves numbers and ordered levels; where that is not enough, it switches states first and moves again."""
        region = self.problem.region
        missed = self._from_other_starts(self._search(owners, region.start, pool), pool)
        limit = np.inf if self.most_cost is None else self.most_cost
        base = switched(missed, self.smooth, region, self.costs, self.switches, limit)
        differ = region.changed(base[missed], missed).any(axis=1)
        self._search(missed[differ], base, pool)

    def _from_other_starts(self, missed: np.ndarray, pool: Pool) -> np.ndarray:
        """Tries other starts; returns the owners that still have no answer."""
        return missed

    @abstractmethod
    def _search(self, owners: np.ndarray, base: np.ndarray, pool: Pool) -> np.ndarray:
        """Fills the pool with answers that move from the base rows (n, d); returns the owners without one."""

    @abstractmethod
    def _loss(self, score: np.ndarray, gradient: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f and its gradient, from the score (m,) and its gradient (m, d)."""

    @abstractmethod
    def _prox(self, point: np.ndarray, limits: Limits, level: np.ndarray, inverse_step: np.ndarray) -> np.ndarray:
        """The proximal step at each point, (m, d), within the limits."""

    @abstractmethod
    def _first_inverse_step(self, value: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """L at the start, (m,)."""

    @abstractmethod
    def _taken_and_done(self, step: Step) -> tuple[np.ndarray, np.ndarray]:
        """Which steps are taken, and which are so small that the descent ends, (m,) each."""

    def _importance(self, moves: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """How important each move is, (m, d): the largest are kept where only some may be."""
        return np.abs(moves)

    def _move_from(self, base: np.ndarray) -> None:
        """Measures all further moves from these rows, (n, d)."""
        self.relaxation = Relaxation(self.smooth, self.problem.region, base, self.costs.unit)

    def _bisect(self, owners: np.ndarray, low: np.ndarray, high: np.ndarray, rounds: int, pool: Pool) -> None:
        """Narrows the level between one that does not flip the decision and one that does.

        It is halved by ratio: what is enough may be a small share of what is possible.
        """
        for _ in range(rounds):
            middle = np.sqrt(low * high)
            hit, moves = self._try(owners, middle, pool)
            flipped, short = owners[hit], owners[~hit]
            high[flipped], low[short] = middle[flipped], middle[short]
            if self.warm:
                self.start[short] = moves[~hit]

    def _try(self, owners: np.ndarray, level: np.ndarray, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        """Solves for these levels and asks about the moves on the grid; which owners have a hit, and the moves.

        A row with more changes than allowed is solved again with its most important moves only.
        """
        region, relaxation = self.problem.region, self.relaxation
        if self.problem.ledger.deadline.passed:
            return np.zeros(len(owners), dtype=bool), self.start[owners]
        moves = self._solve(owners, level, self.movable, self.start[owners])
        reached = relaxation.rows(moves, owners)
        changed = region.changed(reached, owners)
        crowded = changed.sum(axis=1) > region.max_changes[owners]
        if crowded.any():
            theirs = owners[crowded]
            importance = self._importance(moves[crowded], theirs)
            spare = region.max_changes[theirs] - (changed[crowded] & (importance == 0)).sum(axis=1)
            rank = np.argsort(np.argsort(-importance, axis=1, kind="stable"), axis=1)
            movable = self.movable.copy()
            movable[theirs] &= rank < spare[:, None]
            start = moves[crowded] if self.warm else self.start[theirs]
            reached[crowded] = relaxation.rows(self._solve(theirs, level, movable, start), theirs)
        rows, whose = roundings(reached, owners, region)
        most = np.inf if self.most_cost is None else self.most_cost + _NEGLIGIBLE
        cheap = self.costs.of(rows, whose) <= most
        tried = self.problem.ask(rows, whose, where=lambda _: cheap, distinct=whose)
        rows, whose = tried.rows[tried.hits], whose[tried.hits]
        pool.add(rows, whose, self.costs.of(rows, whose) if self.most_cost is None else -tried.score[tried.met])
        return np.isin(owners, whose), moves

    def _limits(self, owners: np.ndarray, movable: np.ndarray) -> Limits:
        costs, may = self.costs, movable[owners]
        lower, upper = np.where(may, costs.lower[owners], 0.0), np.where(may, costs.upper[owners], 0.0)
        return Limits(lower, upper, costs.fall[owners], costs.rise[owners])

    def _solve(self, owners: np.ndarray, level: np.ndarray, movable: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The moves (m, d) of these owners for their levels, from `start` (m, d)."""
        limits, level = self._limits(owners, movable), level[owners]

        def prox(point: np.ndarray, at: np.ndarray, inverse_step: np.ndarray) -> np.ndarray:
            return self._prox(point, Limits(*(part[at] for part in limits)), level[at], inverse_step)

        def loss(moves: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self._loss(*self.relaxation.slope(moves, owners[at]), level[at])

        active = np.arange(len(owners))
        moves = prox(start, active, np.full(len(owners), np.inf))
        best = moves.copy()
        value, gradient = loss(moves, active)
        least, inverse_step = value.copy(), self._first_inverse_step(value, gradient)
        left = np.full(len(owners), self.iterations)
        while active.size and not self.problem.ledger.deadline.passed:
            scale = inverse_step[active]
            trial = prox(moves[active] - gradient[active] / scale[:, None], active, scale)
            after, slope = loss(trial, active)
            step = trial - moves[active]
            taken, done = self._taken_and_done(Step(value[active], after, moves[active], step, gradient[active], scale))
            inverse_step[active] *= np.where(taken, self.shrink, 2.0)
            left[active] -= taken | self.counts_refused
            at = active[taken]
            moves[at], value[at], gradient[at] = trial[taken], after[taken], slope[taken]
            better = at[value[at] < least[at]]
            best[better], least[better] = moves[better], value[better]
            active = active[(left[active] > 0) & ~(taken & done)]
        return best if self.keeps_best else moves


class Relaxation:
    """The score of moves t (m, d) from the rows of `base` (n, d): s(x + u t), and its gradient in t.

    `unit` is u, (d,). Ordered cells take any value in between. Derived columns follow by their expressions, and the
    gradient goes through them.
    """

    def __init__(self, smooth: Smooth, region: Region, base: np.ndarray, unit: np.ndarray) -> None:
        self._smooth, self._region, self._base, self._unit = smooth, region, base, unit
        self._derived = [one.column for one in region.book.derivations]
        self._sources, self._moves, self._batch = region.book.sources

    def rows(self, moves: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The rows after the moves, derived columns included; not yet in final form."""
        return self._region.book.derive(self._base[owners] + moves * self._unit, self._region.factuals[owners])

    def slope(self, moves: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The score of each move, (m,), and its gradient in the moves, (m, d)."""
        rows = self.rows(moves, owners)
        score, gradient = self._smooth.slope(rows)
        return score, (gradient + self._through_derived(rows, gradient, owners)) * self._unit

    def _through_derived(self, rows: np.ndarray, gradient: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Σ_k ∂s/∂x_k · ∂x_k/∂x_j over derived columns k, (m, d), by central differences of their expressions."""
        extra = np.zeros(rows.shape)
        if not self._sources.size:
            return extra
        change = self._changes(rows, owners) * gradient[:, self._derived]
        change = np.where(np.isfinite(change), change, 0.0)
        at_once = max(_CELLS // max(change[0].size, 1), 1)
        for start in range(0, len(self._sources), at_once):
            part = slice(start, start + at_once)
            columns = self._sources[part]
            own = np.where(self._moves[part, None], change[self._batch[part]], 0.0).sum(axis=2)
            extra[:, columns] = (own / (2 * _DIFFERENCE * self._unit[columns, None])).T
        return extra

    def _changes(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """x_k with a step up of the sources of each batch, less x_k with a step down, (b, m, k)."""
        batches = np.arange(self._batch.max() + 1)
        step = np.zeros((len(batches), rows.shape[1]))
        step[self._batch, self._sources] = _DIFFERENCE * self._unit[self._sources]
        found = []
        at_once = max(_CELLS // max(2 * rows.size, 1), 1)
        for start in range(0, len(batches), at_once):
            part = step[start : start + at_once, None]
            moved = np.concatenate((rows + part, rows - part))
            whose = np.tile(owners, len(moved))
            moved = self._region.book.derive(moved.reshape(-1, rows.shape[1]), self._region.factuals[whose])
            above, below = moved[:, self._derived].reshape(2, len(part), len(rows), len(self._derived))
            found.append(above - below)
        return np.concatenate(found)


def roundings(rows: np.ndarray, owners: np.ndarray, region: Region) -> tuple[np.ndarray, np.ndarray]:
    """Each relaxed row put on the grid in three ways, in final form: to the nearest value, outward and inward.

    Outward goes beyond what the relaxation asked for, so that the decision stays flipped; inward stays within its cost.
    """
    own = region.factuals[owners]
    outward, inward = rows.copy(), rows.copy()
    for j in region.schema.free_columns:
        feature = region.schema.features[j]
        step = feature.step if feature.numeric else (1.0 if feature.ordered else None)
        if step is None:
            continue
        places = rows[:, j] / step
        moved = np.abs(rows[:, j] - own[:, j]) > 1e-3 * step
        near = np.rint(places)
        exact = np.abs(places - near) < 1e-6
        up, down = np.where(exact, near, np.ceil(places)) * step, np.where(exact, near, np.floor(places)) * step
        rises = rows[:, j] > own[:, j]
        outward[:, j] = np.where(moved, np.where(rises, up, down), own[:, j])
        inward[:, j] = np.where(moved, np.where(rises, down, up), own[:, j])
    owners = np.tile(owners, 3)
    return region.final_form(np.concatenate((rows, outward, inward)), owners), owners


def switched(
    owners: np.ndarray,
    smooth: Smooth,
    region: Region,
    costs: Costs,
    switches: tuple[np.ndarray, np.ndarray, np.ndarray],
    limit: float,
) -> np.ndarray:
    """All rows (n, d), those of `owners` with the switches of state that raise the score, within `limit` and the rules.

    The most gain per cost first; at most one switch per cell.
    """
    base = region.start.copy()
    whose, columns, values = (part[np.isin(switches[0], owners)] for part in switches)
    if not len(whose):
        return base
    rows = region.start[whose]
    rows[np.arange(len(rows)), columns] = values
    rows = region.final_form(rows, whose)
    gain = smooth.score(rows) - smooth.score(region.start)[whose]
    cost = costs.of(rows, whose)
    order = np.lexsort((-gain / np.maximum(cost, 1e-9), whose))
    left, room = np.full(len(region), limit), region.max_changes.copy()
    done: set[tuple[int, int]] = set()
    for i in order[gain[order] > 0]:
        cell = int(whose[i]), int(columns[i])
        if cell not in done and cost[i] <= left[whose[i]] and room[whose[i]] > 0:
            base[cell] = values[i]
            left[whose[i]] -= cost[i]
            room[whose[i]] -= 1
            done.add(cell)
    return base
