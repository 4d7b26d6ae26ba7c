"""Answers of the guarded search: starts that an explainer adds, models that answers shall hold under, figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from attain.methods.guarded.run import GuardedAnswers, GuardedSearch, LatentOf
from attain.methods.search.pool import rank_within
from attain.methods.search.problem import Answers, Problem
from attain.models import JointGoal
from attain.results.status import Status

_WORSE: Final = 1e3
"""What a level down the ladder costs: more than any change."""


def guarded_answers(
    problem: Problem,
    search: GuardedSearch,
    latent_of: LatentOf,
    easiest: Answers | None,
) -> Answers:
    """The answers of a batch of people, with their level, their p-value, and the least shift that any answer has.

    Where there are other models, answers that hold under all of them come first; who has none is searched again with
    the model alone.
    """

    if problem.others:
        found, holds = _robust(problem, search, latent_of, easiest)
    else:
        found, holds = search.search(problem, latent_of, easiest), None
    cost = found.cost + _WORSE * found.level
    chosen = _different_ways(found, cost, problem)
    owners = found.owners[chosen]
    figures = {
        "typicality": found.level[chosen].astype(np.float64),
        "typicality_p": np.round(found.p_value[chosen], 6),
        "easiest_shift": _easiest_shift(easiest, owners, len(problem)),
    }
    if holds is not None:
        figures["holds_under"] = holds[chosen]
    return Answers(found.rows[chosen], owners, cost[chosen], statuses(problem, owners), figures)


def _different_ways(found: GuardedAnswers, cost: np.ndarray, problem: Problem) -> np.ndarray:
    """The positions of each person's options: the cheapest, then those that do not change all that one before does.

    What changes the same features a little otherwise, or more of them, is no option of its own.
    """
    left = np.lexsort((cost, found.owners))
    changed = problem.region.changed(found.rows, found.owners)
    chosen = []
    for _ in range(problem.options):
        first = left[rank_within(found.owners[left]) == 0]
        chosen.append(first)
        taken = first[np.searchsorted(found.owners[first], found.owners[left])]
        left = left[~(changed[left] | ~changed[taken]).all(axis=1)]
    every = np.concatenate(chosen)
    return every[np.lexsort((cost[every], found.owners[every]))]


def _robust(
    problem: Problem,
    search: GuardedSearch,
    latent_of: LatentOf,
    easiest: Answers | None,
) -> tuple[GuardedAnswers, np.ndarray]:
    """Answers valid under all models, or else under the first; and the share of the others each is valid under."""
    joint = JointGoal(problem.goal, problem.others)
    # half the budget is kept for rows without an answer that is valid under all models
    half = problem.ledger.subset(np.arange(len(problem)), problem.ledger.budget // 2)
    found = search.search(replace(problem, goal=joint, ledger=half), latent_of, easiest)
    rest = np.setdiff1d(np.arange(len(problem)), found.owners)
    if rest.size:
        part = problem.subset(rest)
        more = search.search(part, latent_of, None if easiest is None else easiest.subset(rest))
        more = more._replace(owners=rest[more.owners])
        found = GuardedAnswers(*(np.concatenate(pair) for pair in zip(found, more, strict=True)))
    return found, joint.share(found.rows) if len(found.rows) else np.empty(0)


def statuses(problem: Problem, answered: np.ndarray) -> list[Status]:
    """How each person's search ended."""
    return problem.statuses(answered, problem.spent(2 * problem.options), Status.NO_CHANGE_FOUND)


def _easiest_shift(easiest: Answers | None, owners: np.ndarray, people: int) -> np.ndarray:
    """The least total shift of any answer of each owner, in percentiles; NaN where it is not known."""
    shift = np.full(people, np.nan)
    if easiest is not None:
        shift[easiest.owners] = np.where(easiest.figures["proven"], np.round(easiest.figures["cost"], 6), np.nan)
    return shift[owners]
