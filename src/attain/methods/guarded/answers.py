"""From the guarded search of a batch to its answers: other models, different options, figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attain.methods.guarded.search import GuardedAnswers, GuardedSearch
from attain.methods.search.options import different_changes
from attain.methods.search.problem import Answers, Problem
from attain.models import JointGoal
from attain.results.status import Status

_LESS_TYPICAL = 1e3
"""Added to the cost for each level below typical: more than any change costs."""


def guarded_answers(problem: Problem, search: GuardedSearch, easiest: Answers | None) -> Answers:
    """The answers of a batch of rows, with their typicality, p-value, and the least total shift of any answer.

    With other models, answers that are valid under all of them come first.
    """
    holds_under = None
    if problem.others:
        found, holds_under = _robust(problem, search, easiest)
    else:
        found = search.search(problem, easiest)
    sort_key = found.cost + _LESS_TYPICAL * found.typicality
    changed = problem.region.changed(found.rows, found.owners)
    chosen = different_changes(sort_key, found.owners, changed, problem.options)
    chosen = chosen[np.lexsort((sort_key[chosen], found.owners[chosen]))]
    owners = found.owners[chosen]
    figures = {
        "typicality": found.typicality[chosen].astype(np.float64),
        "typicality_p": np.round(found.p_value[chosen], 6),
    }
    if easiest is not None:
        shift = np.full(len(problem), np.nan)
        shift[easiest.owners] = np.where(easiest.figures["proven"], np.round(easiest.figures["cost"], 6), np.nan)
        figures["easiest_shift"] = shift[owners]
    if holds_under is not None:
        figures["holds_under"] = holds_under[chosen]
    status = problem.statuses(owners, problem.spent(2 * problem.options), Status.NO_CHANGE_FOUND)
    return Answers(found.rows[chosen], owners, sort_key[chosen], status, figures)


def _robust(problem: Problem, search: GuardedSearch, easiest: Answers | None) -> tuple[GuardedAnswers, np.ndarray]:
    """Answers valid under all models, or else under the first; and the share of the others each is valid under."""
    joint = JointGoal(problem.goal, problem.others)
    # half the budget is kept for rows without an answer that is valid under all models
    half = problem.ledger.subset(np.arange(len(problem)), problem.ledger.budget // 2)
    found = search.search(replace(problem, goal=joint, ledger=half), easiest)
    rest = np.setdiff1d(np.arange(len(problem)), found.owners)
    if rest.size:
        more = search.search(problem.subset(rest), None if easiest is None else easiest.subset(rest))
        more = more._replace(owners=rest[more.owners])
        found = GuardedAnswers(*(np.concatenate(pair) for pair in zip(found, more, strict=True)))
    return found, joint.share(found.rows) if len(found.rows) else np.empty(0)
