"""How much each change of an answer adds to its score, and what each is needed for.

The players are the changes that an answer chooses. The worth of some of them, v(S), is the score of the person's record
with these carried out, after the months that the answer takes: columns that are computed from others are computed
again, so that what follows from a change belongs to it. Time passes anyway, and is no player. Rules and laws take no
part: a record half on its way may break one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from attain.methods.importance.shapley import added, along, coalitions, drawn_orders, exact_values
from attain.methods.search.problem import Problem
from attain.methods.search.streams import streams
from attain.results.importance import Importances
from attain.tables import unchanged

MOST_EXACT: Final = 12
"""Up to so many changes, all of their subsets are asked about."""
_PAIRS: Final = 128
"""Pairs of orders that are drawn for more changes."""
_AT_ONCE: Final = 32_768
"""Rows made at once, which bounds memory."""
_STREAM: Final = 0x5AA9
"""Separates the draws from those of searches."""


@dataclass(frozen=True, eq=False)
class _Game:
    """The changes of one answer as players, and the coalitions of them that are asked about.

    Attributes
    ----------
    coalitions
        All changes but one, for each; then all subsets, or those along the `orders`, (k, m).
    """

    coalitions: np.ndarray
    orders: np.ndarray | None

    @classmethod
    def of(cls, changes: int, answer: np.ndarray, seed: int) -> _Game:
        but_one = ~np.eye(changes, dtype=bool)
        if changes <= MOST_EXACT:
            return cls(np.concatenate((but_one, coalitions(changes))), None)
        orders = drawn_orders(streams(answer[None], seed ^ _STREAM)[0], _PAIRS, changes)
        return cls(np.concatenate((but_one, along(orders).reshape(-1, changes))), orders)

    def values(self, worth: np.ndarray) -> np.ndarray:
        """The Shapley values, (m,), from the worth of the coalitions, (k,)."""
        worth = worth[self.coalitions.shape[1] :]
        if self.orders is None:
            return exact_values(worth)
        return np.asarray(added(self.orders, worth.reshape(len(self.orders), -1)).mean(axis=0))


def find_importances(
    problem: Problem, rows: np.ndarray, owners: np.ndarray, typicality: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Importances:
    """The importance of the changes of answers (n, d) of the rows `owners`, (n,).

    For m changes the model is asked about 2^m + m + 1 rows, or 256 (m + 1) + m + 1 where there are more than 12. They
    are not charged to budgets, which are for searching. `typicality` gives the level of rows of people whose own are
    given, (n,); NaN without a guard. Answers that are not done by the deadline have no entries.
    """
    chosen = problem.region.changed(rows, owners)
    chosen[:, [one.column for one in problem.region.book.derivations]] = False
    gain, needed = np.full(rows.shape, math.nan), np.zeros(rows.shape)
    own = problem.region.factuals[owners]
    level = typicality(rows, own)
    falls = np.where(np.isnan(level)[:, None], math.nan, np.zeros(rows.shape))
    spare, done = np.zeros(rows.shape), np.zeros(len(rows), dtype=bool)
    for some in _batches(chosen.sum(axis=1)):
        gains, flips, undone = _played(problem, rows[some], owners[some], chosen[some])
        at, column = np.nonzero(chosen[some])
        at = some[at]
        gain[at, column], needed[at, column] = np.round(gains, 6) + 0.0, ~flips
        known = flips & ~np.isnan(level[at])
        falls[at[known], column[known]] = typicality(undone[known], own[at[known]]) > level[at[known]]
        spare[some] = _together(problem, rows[some], owners[some], chosen[some], falls[some] == 1)
        if problem.ledger.deadline.passed:
            break
        done[some] = True
    listed = ~unchanged(problem.region.factuals[owners], rows) & done[:, None]
    listed[:, list(problem.region.schema.clocks)] = False
    cells = option, column = np.nonzero(listed)
    return Importances(option, column, gain[cells], needed[cells], falls[cells], spare[cells])


def _together(
    problem: Problem, rows: np.ndarray, owners: np.ndarray, chosen: np.ndarray, spare: np.ndarray
) -> np.ndarray:
    """Which changes (n, d) of those that are spare one by one, can be left out all at once."""
    some = np.flatnonzero(spare.any(axis=1))
    region = problem.region.after(rows[some], owners[some])
    without = region.derived(np.where(chosen[some] & ~spare[some], rows[some], region.start), region.factuals)
    met = problem.judge(without, owners[some], charged=False).met
    left = np.zeros_like(spare)
    left[some[met]] = spare[some[met]]
    return left


def _batches(changes: np.ndarray) -> Iterator[np.ndarray]:
    """The positions of answers with so many changes, (n,), in batches of bounded size."""
    number = np.where(changes > MOST_EXACT, 2 * _PAIRS * (changes + 1), 2.0 ** np.minimum(changes, MOST_EXACT))
    batch = np.cumsum(number) // _AT_ONCE
    yield from np.split(np.arange(len(changes)), np.flatnonzero(np.diff(batch)) + 1) if len(changes) else ()


def _played(
    problem: Problem, rows: np.ndarray, owners: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each chosen cell of some answers: its Shapley value, whether the decision flips without it, and that row."""
    region = problem.region.after(rows, owners)
    games = [_Game.of(int(cells.sum()), row, problem.seed) for row, cells in zip(rows, chosen, strict=True)]
    sizes = np.array([len(game.coalitions) for game in games])
    whose = np.repeat(owners, sizes)
    versions = np.repeat(region.start, sizes, axis=0)
    starts = np.cumsum(sizes) - sizes
    for row, cells, game, start in zip(rows, chosen, games, starts, strict=True):
        part = versions[start : start + len(game.coalitions)]
        part[:, cells] = np.where(game.coalitions, row[cells], part[:, cells])
    versions = region.derived(versions, np.repeat(region.factuals, sizes, axis=0))
    met, score = problem.judge(versions, whose, charged=False)[:2]
    gains = [game.values(worth) for game, worth in zip(games, np.split(score, starts[1:]), strict=True)]
    without = np.concatenate([start + np.arange(cells.sum()) for start, cells in zip(starts, chosen, strict=True)])
    return np.concatenate(gains), met[without], versions[without]
