"""Why a decision was made: what each scored input contributes to a person's score, against people it was better for.

For a person x and a real person z with the desired decision, the game takes the inputs S from x and all others from z;
its worth is the score of that record, whether such a person could exist or not. The contribution of an input is the
mean of its Shapley values over a sample of such people: they sum to score(x) − mean score(z). For linear models and
tree ensembles with two classes that is exact, on the scale on which the model adds up. For any other model each z has a
random order of the inputs and its reverse, on the scale of the goal.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from attain.methods.importance.shapley import added, along, drawn_orders
from attain.methods.search.problem import Problem
from attain.methods.search.streams import streams
from attain.models import Goal
from attain.models.structure.additive import AdditiveScore
from attain.results.importance import Attributions
from attain.tables import unchanged

PEOPLE: Final = 100
"""The most people with the desired decision that everybody is compared with."""
_PEOPLE_AT_ONCE: Final = 512
_QUANTILE: Final = 1.96
_STREAM: Final = 0xC0741
"""Separates the draws from those of searches."""


def compared_with(values: np.ndarray, met: np.ndarray, seed: int) -> np.ndarray:
    """A sample of the training rows (n, d) that have the desired decision, `met` (n,); all where there are few."""
    members = np.flatnonzero(met)
    if len(members) > PEOPLE:
        members = np.sort(np.random.default_rng([seed, _STREAM]).choice(members, PEOPLE, replace=False))
    return np.asarray(values[members])


def find_contributions(
    goal: Goal,
    problem: Problem,
    people: np.ndarray,
    others: np.ndarray,
    free: np.ndarray,
    score: AdditiveScore | None,
) -> Attributions:
    """What the model's inputs contribute to the scores of the rows `people`, (p,), against real rows `others`, (B, d).

    People who are not done by the deadline have none.

    `score` is that of a linear model or a tree ensemble. Without it, the model is asked about B rows, and at most
    2 B (c − 1) + 1 for each of the people, with c inputs; they are not charged to budgets.
    """
    columns = np.unique(goal.reader.columns)
    people = people if len(others) else people[:0]
    contribution, error = np.full((2, len(people), len(columns)), math.nan)
    theirs = goal.judge(others).score if score is None and len(people) else np.empty(0)
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
    orders = drawn_orders(streams(row[None], problem.seed ^ _STREAM)[0], len(others), len(columns))
    whose = np.tile(np.arange(len(others)), 2)
    differs = ~unchanged(others[:, columns], row[columns])
    moves = np.take_along_axis(differs[whose], orders, axis=1)
    left = moves[:, ::-1].cumsum(axis=1)[:, ::-1]  # the moves from this one on: the last one arrives at the row itself
    walk, step = np.nonzero(moves & (left > 1))
    rows = others[whose[walk]]
    rows[:, columns] = np.where(along(orders)[walk, step + 1], row[columns], rows[:, columns])
    judged = problem.judge(np.concatenate((row[None], rows)), np.full(1 + len(rows), i), charged=False)
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
