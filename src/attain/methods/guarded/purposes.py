"""What each option is for: the typical ones hold no needless change, and the smallest that flips the decision is there.

A typical option changes what the decision needs, and what makes the record like those of accepted people. Walked back
without the guard's distances it is a smaller one, which keeps rules, laws and relations. That of the first option comes
second, where it is another one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attain.core.arrays import first_of_each, positions, rank_within
from attain.methods.guarded.search import GuardedSearch
from attain.models import JointGoal
from attain.results.status import Purpose
from attain.search.horizons import Figures, sooner
from attain.search.pool import different_changes
from attain.search.problem import Answers, Problem, sparse
from attain.tables import unchanged


def with_purposes(search: GuardedSearch, problem: Problem, found: Answers) -> Answers:
    """The options of each row, the first as it is, with the smallest after it, and what each is for."""
    if problem.others:
        problem = replace(problem, goal=JointGoal(problem.goal, problem.others), others=())
    rows, owners = found.rows.copy(), found.owners
    smaller, rank = rows.copy(), rank_within(owners)
    for k in range(int(rank.max(initial=-1)) + 1):  # each row has one option of each rank
        at = positions(rank == k)
        part = replace(problem.subset(owners[at]), region=problem.region.after(rows[at], owners[at]))
        if k:
            rows[at] = _without_needless(search, part, rows[at])
        smaller[at] = search.walked_back(part, rows[at])
    needless = ~np.asarray(unchanged(rows, smaller).all(axis=1))
    typical = _with_figures(replace(found, rows=rows), search, problem, needless * float(Purpose.TYPICAL))
    smallest = replace(found, rows=smaller).at(positions((rank == 0) & needless))
    if problem.region.book.timing is not None:
        smallest = sooner(problem, smallest, lambda rows, own: {})
    smallest = _with_figures(smallest, search, problem, np.full(len(smallest.rows), float(Purpose.SMALLEST)))
    return _joined(problem, typical, smallest)


def _figures(rows: np.ndarray, owners: np.ndarray, search: GuardedSearch, problem: Problem) -> Figures:
    figures = search.figures_of(rows, problem.region.factuals[owners])
    # a record that breaks a law, because its row does, is not typical
    return figures | {"typicality": np.maximum(figures["typicality"], problem.region.breaks_law(rows, owners))}


def _with_figures(answers: Answers, search: GuardedSearch, problem: Problem, purpose: np.ndarray) -> Answers:
    figures = _figures(answers.rows, answers.owners, search, problem)
    return replace(answers, figures={**answers.figures, **figures, "purpose": purpose})


def _without_needless(search: GuardedSearch, part: Problem, rows: np.ndarray) -> np.ndarray:
    """The options of different rows without changes that neither the decision needs nor what they are like."""
    owners, region = np.arange(len(rows)), part.region
    level = _figures(rows, owners, search, part)["typicality"]

    def as_typical(which: np.ndarray, versions: np.ndarray) -> np.ndarray:
        return np.asarray(_figures(versions, which, search, part)["typicality"] <= level[which])

    shifts = search.costs.shifts(region.factuals, rows) * region.cost
    return sparse(rows, owners, np.where(region.changed(rows, owners), shifts, 0.0), part, as_typical)


def _joined(problem: Problem, typical: Answers, smallest: Answers) -> Answers:
    """The first option, the smallest, and then typical ones that change other features; none of them twice."""
    place = rank_within(typical.owners)
    key = np.where(place == 0, 0.0, place + 1.0)
    changed = problem.region.changed(typical.rows, typical.owners)
    typical = replace(typical, sort_key=key).at(different_changes(key, typical.owners, changed, problem.options))
    smallest = replace(smallest, sort_key=np.ones(len(smallest.rows)))
    joined = typical.with_answers_to(smallest, np.arange(len(problem)))
    joined = joined.at(np.lexsort((joined.sort_key, joined.owners)))
    joined = joined.at(first_of_each(joined.rows, joined.owners))
    return joined.at(positions(rank_within(joined.owners) < problem.options))
