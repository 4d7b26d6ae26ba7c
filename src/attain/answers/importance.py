"""Shapley values: which changes of an answer matter, and which inputs a decision rests on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from attain.models.goal import StructureError
from attain.models.scores import AdditiveScore
from attain.results.details import Attributions, Importances
from attain.search.moves import streams
from attain.search.problem import Problem
from attain.search.statuses import fixed_cells
from attain.tables import unchanged

if TYPE_CHECKING:
    from attain.answers.session import Session


def coalitions(players: int) -> np.ndarray:
    """All subsets of the players, (2^m, m); the one at position p has the players whose bit of p is set."""
    return (np.arange(2**players)[:, None] >> np.arange(players)) % 2 == 1


def exact_values(worth: np.ndarray) -> np.ndarray:
    """The Shapley values, (m,), from the worth of all `coalitions`, (2^m,)."""
    players = len(worth).bit_length() - 1
    every = np.arange(len(worth))
    size = coalitions(players).sum(axis=1)
    weight = np.array([1 / (players * math.comb(players - 1, k)) for k in range(players)])
    values = np.empty(players)
    for j in range(players):
        without = every[every >> j & 1 == 0]
        values[j] = weight[size[without]] @ (worth[without | 1 << j] - worth[without])
    return values


def drawn_orders(generator: np.random.Generator, pairs: int, players: int) -> np.ndarray:
    """Random orders of the players, (2 · pairs, m): those of the second half reverse those of the first."""
    orders = generator.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1)
    return np.concatenate((orders, orders[:, ::-1]))


def along(orders: np.ndarray) -> np.ndarray:
    """The coalitions of the first 0 to m players of each order, (orders, m + 1, m)."""
    place = np.argsort(orders, axis=1)
    return np.asarray(place[:, None, :] < np.arange(orders.shape[1] + 1)[:, None])


def added(orders: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """What each player adds in each order, (orders, m), from the worth `along` them, (orders, m + 1)."""
    result = np.empty(orders.shape)
    np.put_along_axis(result, orders, np.diff(worth, axis=1), axis=1)
    return result


MOST_EXACT: Final = 12
"""Up to so many changes, all of their subsets are asked about."""
_PAIRS: Final = 128
"""Pairs of orders that are drawn for more changes."""
_AT_ONCE: Final = 32_768
"""Rows made at once, which bounds memory."""
_STREAM_OF_CHANGES: Final = 0x5AA9
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
        orders = drawn_orders(streams(answer[None], seed ^ _STREAM_OF_CHANGES)[0], _PAIRS, changes)
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
    met = problem.examine(without).met
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
    versions = np.repeat(region.start, sizes, axis=0)
    starts = np.cumsum(sizes) - sizes
    for row, cells, game, start in zip(rows, chosen, games, starts, strict=True):
        part = versions[start : start + len(game.coalitions)]
        part[:, cells] = np.where(game.coalitions, row[cells], part[:, cells])
    versions = region.derived(versions, np.repeat(region.factuals, sizes, axis=0))
    met, score = problem.examine(versions)[:2]
    gains = [game.values(worth) for game, worth in zip(games, np.split(score, starts[1:]), strict=True)]
    without = np.concatenate([start + np.arange(cells.sum()) for start, cells in zip(starts, chosen, strict=True)])
    return np.concatenate(gains), met[without], versions[without]


PEOPLE: Final = 100
"""The most people with the desired decision that everybody is compared with."""
_PEOPLE_AT_ONCE: Final = 512
_QUANTILE: Final = 1.96
_STREAM_OF_INPUTS: Final = 0xC0741
"""Separates the draws from those of searches."""


def find_contributions(session: Session, problem: Problem, scored: np.ndarray) -> Attributions:
    """What the model's inputs contribute to the scores of the rows that are `scored`, (n,), against real rows.

    People who are not done by the deadline have none. Linear models and tree ensembles are not asked; any other model
    is asked about B real rows, and at most 2 B (c − 1) + 1 for each of the people, with c inputs. They are not charged
    to budgets.
    """
    others = compared_with(session.explainer.population_.values, session.decided.met, problem.seed)
    try:
        return _contributions(problem, np.flatnonzero(scored), others, session.additive_score)
    except StructureError:
        return _contributions(problem, np.flatnonzero(scored), others, None)


def compared_with(values: np.ndarray, met: np.ndarray, seed: int) -> np.ndarray:
    """A sample of the training rows (n, d) that have the desired decision, `met` (n,); all where there are few."""
    members = np.flatnonzero(met)
    if len(members) > PEOPLE:
        members = np.sort(np.random.default_rng([seed, _STREAM_OF_INPUTS]).choice(members, PEOPLE, replace=False))
    return np.asarray(values[members])


def _contributions(
    problem: Problem, people: np.ndarray, others: np.ndarray, score: AdditiveScore | None
) -> Attributions:
    goal, region = problem.goal, problem.region
    free = ~(fixed_cells(region) | np.array([feature.immutable for feature in region.schema]))
    columns = np.unique(goal.reader.matrix_columns)
    people = people if len(others) else people[:0]
    contribution, error = np.full((2, len(people), len(columns)), math.nan)
    theirs = goal.score_rows(others).score if score is None and len(people) else np.empty(0)
    for start in range(0, len(people), _PEOPLE_AT_ONCE):
        if problem.ledger.deadline.passed:
            break
        part = np.arange(start, min(start + _PEOPLE_AT_ONCE, len(people)))
        if score is not None:
            values = score.shapley(goal, problem.region.factuals[people[part]], others)[:, :, columns]
        else:
            values = np.array([_drawn(problem, i, others, theirs, columns) for i in people[part].tolist()])
        contribution[part] = values.mean(axis=1)
        error[part] = _QUANTILE * values.std(axis=1, ddof=1) / math.sqrt(len(others)) if len(others) > 1 else math.nan
    known = ~np.isnan(contribution).any(axis=1)
    people, contribution, error = people[known], contribution[known], error[known]
    return Attributions(
        scale=goal.scale if score is None else score.scale,
        people=len(others),
        person=people,
        column=columns,
        contribution=np.round(contribution, 6) + 0.0,
        error=np.round(error, 6),
        free=free[np.ix_(people, columns)],
    )


def _drawn(problem: Problem, i: int, others: np.ndarray, theirs: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The values of row i against others whose scores are `theirs`, each by an order and its reverse, (B, c).

    Where the two have the same cell, a step changes nothing, and the model is not asked. NaN where it fails.
    """
    row = problem.region.factuals[i]
    orders = drawn_orders(streams(row[None], problem.seed ^ _STREAM_OF_INPUTS)[0], len(others), len(columns))
    whose = np.tile(np.arange(len(others)), 2)
    differs = ~unchanged(others[:, columns], row[columns])
    moves = np.take_along_axis(differs[whose], orders, axis=1)
    left = moves[:, ::-1].cumsum(axis=1)[:, ::-1]  # the moves from this one on: the last one arrives at the row itself
    walk, step = np.nonzero(moves & (left > 1))
    rows = others[whose[walk]]
    rows[:, columns] = np.where(along(orders)[walk, step + 1], row[columns], rows[:, columns])
    judged = problem.examine(np.concatenate((row[None], rows)))
    score = judged.score.copy()
    score[list(judged.failures)] = math.nan
    score[judged.asked == 0] = math.nan  # the deadline has passed
    worth = np.empty((len(orders), len(columns) + 1))
    worth[:, 0] = theirs[whose]
    worth[:, 1:][moves & (left == 1)] = score[0]
    worth[walk, step + 1] = score[1:]
    # where nothing moves, the worth stays that of the last step that did
    last = np.maximum.accumulate(np.where(np.insert(moves, 0, True, axis=1), np.arange(len(columns) + 1), 0), axis=1)
    values = added(orders, np.take_along_axis(worth, last, axis=1))
    return np.asarray((values[: len(others)] + values[len(others) :]) / 2)
