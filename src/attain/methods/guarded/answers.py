"""Answers of the guarded search: starts that an explainer adds, models that answers shall hold under, figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from attain.methods.guarded.run import GuardedAnswers, GuardedSearch
from attain.methods.search.latent_space import Latent
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.sphere import directions
from attain.methods.search.streams import normals, streams, uniforms
from attain.models import GoalLike, JointGoal
from attain.results.status import Status

_CODES: Final = 16
_FARTHEST: Final = 2.5
"""Codes tried round each person's own, and how far from it, in latent units."""
_STREAM: Final = 0x57A2755
"""Keeps their random numbers apart from those of the shells."""
_WORSE: Final = 1e3
"""What a level down the ladder costs: more than any change."""


def guarded_answers(
    problem: Problem,
    search: GuardedSearch,
    latent_of: Callable[[Problem], Latent],
    easiest: Answers | None,
    others: Sequence[GoalLike],
) -> Answers:
    """The answers of a batch of people, with their level, their p-value, and the least shift that any answer has.

    Where there are other models, answers that hold under all of them come first; who has none is searched again with
    the model alone.
    """

    def started(part: Problem) -> tuple[np.ndarray, np.ndarray]:
        return latent_starts(part, latent_of(part))

    further = (started,) if easiest is None else (started, lambda part: (easiest.rows, easiest.owners))
    search = replace(search, further=further)
    if others:
        found, holds = _robust(problem, search, latent_of, JointGoal(problem.goal, others))
    else:
        found, holds = search.search(problem, latent_of(problem)), None
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
    changed = problem.region.changed(found.rows, found.owners)
    order = np.lexsort((cost, found.owners))
    chosen: list[int] = []
    for person in np.unique(found.owners):
        mine: list[int] = []
        for i in order[found.owners[order] == person]:
            if len(mine) < problem.options and not any((changed[i] | ~changed[j]).all() for j in mine):
                mine.append(int(i))
        chosen += mine
    return np.array(chosen, dtype=np.intp)


def _robust(
    problem: Problem, search: GuardedSearch, latent_of: Callable[[Problem], Latent], joint: JointGoal
) -> tuple[GuardedAnswers, np.ndarray]:
    """Answers that hold under all models, or else under the first; and the share of the others each holds under."""
    # half the budget is kept for those whom it finds nothing for
    half = problem.ledger.subset(np.arange(len(problem)), problem.ledger.budget // 2)
    found = search.search(replace(problem, goal=joint, ledger=half), latent_of(problem))
    rest = np.setdiff1d(np.arange(len(problem)), found.owners)
    if rest.size:
        part = problem.subset(rest)
        more = replace(search, further=()).search(part, latent_of(part))
        more = more._replace(owners=rest[more.owners])
        found = GuardedAnswers(*(np.concatenate(pair) for pair in zip(found, more, strict=True)))
    return found, joint.share(found.rows) if len(found.rows) else np.empty(0)


def latent_starts(problem: Problem, latent: Latent) -> tuple[np.ndarray, np.ndarray]:
    """Records decoded from codes round each person's own, evenly far up to a few latent units, in final form."""
    region = problem.region
    generators = streams(region.factuals, problem.seed ^ _STREAM)
    units = int(latent.active.sum())
    far = np.sort(uniforms(generators, (_CODES,)), axis=1) * _FARTHEST
    moves = directions(normals(generators, (_CODES, units))) * far[:, :, None]
    codes = np.repeat(latent.codes[:, None, :], _CODES, axis=1)
    codes[:, :, latent.active] += moves
    codes = np.clip(codes, latent.low, latent.high)
    owners = np.repeat(np.arange(len(region)), _CODES)
    rows = latent.decode(codes.reshape(len(owners), -1), owners)
    return region.final_form(rows, owners), owners


def statuses(problem: Problem, answered: np.ndarray) -> list[Status]:
    """How each person's search ended."""
    return problem.statuses(answered, problem.spent(2 * problem.options), Status.NO_CHANGE_FOUND)


def _easiest_shift(easiest: Answers | None, owners: np.ndarray, people: int) -> np.ndarray:
    """The least total shift of any answer of each owner, in percentiles; NaN where it is not known."""
    shift = np.full(people, np.nan)
    if easiest is not None:
        shift[easiest.owners] = np.round(easiest.figures["cost"], 6)
    return shift[owners]
