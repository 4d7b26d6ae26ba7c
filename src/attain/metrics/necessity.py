"""For how many people a feature is necessary or sufficient: which levers a model has, over a population.

Kommiya Mothilal et al. (2021) call a feature's value necessary for a decision if changing it alone flips the decision,
and sufficient if, with it as it is, no other change does. With one answer for each of N people who want another
decision,

    necessity    = people with an answer that changes this feature alone / N,
    sufficiency  = people with an answer, but none that leaves this feature as it is / people with an answer.

The publication divides the second by N, too: that is sufficiency times the share of people with an answer. Answers keep
the schema, laws and constraints. For single features all values are tried, up to 1,024. With a feature held, an answer
is what the method finds; that it finds none does not prove that there is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain.core.errors import ConstraintError, DataError, listed
from attain.core.frames import Frame
from attain.core.intervals import CONFIDENCE, checked_confidence, share_interval
from attain.methods.base import Explainer
from attain.methods.ranges import spread
from attain.methods.search.outcomes import Decided
from attain.methods.search.problem import Ledger, Problem
from attain.methods.session import Session
from attain.metrics.differences import group_members
from attain.results.status import Status
from attain.schema import Constraints
from attain.tables import Region, Table, unchanged

_MOST_VALUES: Final = 1_024
"""Numbers with at most this many values take each of them, others so many, evenly spaced."""
EVERYBODY: Final = "everybody"
"""The name of all people together among the groups."""


def necessity_and_sufficiency(
    explainer: Explainer,
    model: Any,
    X: Frame,
    *,
    target: Any,
    probability: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    features: Sequence[str] | None = None,
    groups: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """For each feature, for how many people its change alone flips the decision, or nothing does without it.

    Parameters
    ----------
    explainer, model, X, target, probability, constraints
        A fitted method, and what `explain` takes; the constraints are the same for everybody. Everybody is explained
        once, and for each feature those again with it held who have no known answer that leaves it as it is.
    features
        Those to look at; by default all that may change and do not follow others.
    groups
        The group of each row, in the same order; missing ones are a group of their own. Cut numbers into bands first:
        `bands(ages)`.

    Returns
    -------
    Frame
        A frame with one row per feature and group, everybody first, those of largest necessity first: the number `n` of
        people who want another decision, and `answered`, those of them with an answer; `necessity` among the n and
        `sufficiency` among the answered, each with the ends of its Wilson interval, `…_low` and `…_high`.
    """
    checked_confidence(confidence)
    given = _for_all(constraints)
    levers = _levers(explainer, given, features)
    first = explainer.explain(model, X, target=target, probability=probability, constraints=given)
    members = {EVERYBODY: np.ones(len(first), dtype=bool)}
    if groups is not None:
        members |= group_members(groups, len(first))
    asked = np.array([status not in (Status.ALREADY_DESIRED, Status.UNREADABLE) for status in first.statuses], bool)
    session = explainer.session(model, target=target, probability=probability)
    alone = _enough_alone(session, first.table, given)
    answered = first.found | alone.any(axis=1)
    moved = ~unchanged(first.answers, first.table.values)
    necessary, sufficient = {}, {}
    for name in levers:
        j = explainer.schema_.position(name)
        # whoever has an answer that leaves the feature as it is needs no further search
        others = np.delete(alone, j, axis=1).any(axis=1)
        at = np.flatnonzero(answered & ~others & (moved[:, j] | ~first.found))
        held = replace(given, immutable=(*given.immutable, name))
        sufficient[name] = np.zeros(len(first), dtype=bool)
        if at.size:
            people = first.table.layout.library.take(first.table.source, at)
            again = explainer.explain(model, people, target=target, probability=probability, constraints=held)
            sufficient[name][at] = ~again.found
        necessary[name] = alone[:, j]
    lines = [
        {
            "feature": name,
            "label": explainer.schema_[name].title,
            "group": group,
            "n": int((inside & asked).sum()),
            "answered": int((inside & answered).sum()),
            **_share("necessity", necessary[name][inside & asked], confidence),
            **_share("sufficiency", sufficient[name][inside & answered], confidence),
        }
        for group, inside in members.items()
        for name in sorted(levers, key=lambda name: (-necessary[name].sum(), -sufficient[name].sum()))
    ]
    return pd.DataFrame(lines)


def _enough_alone(session: Session, table: Table, constraints: Constraints) -> np.ndarray:
    """For each row, the features that flip the decision alone, (n, d): some value of them does, all others held.

    Columns that are computed from the feature follow, and clocks advance by the months that the change needs.
    """
    explainer, goal = session.explainer, session.goal.anew(table.layout.unseen)
    decided = Decided.of(table, goal.decide(table.values[table.readable]))
    every = Region.of(table, constraints, explainer.observed_, explainer.book_)
    result = np.zeros(table.values.shape, dtype=bool)
    for i in np.flatnonzero(~decided.met & ~np.isnan(decided.score)):
        columns = np.flatnonzero(~every.frozen[i])
        if not columns.size:
            continue
        cells = [_reachable(every, int(i), int(j)) for j in columns]
        moved, each = np.repeat(columns, [len(values) for values in cells]), np.arange(sum(map(len, cells)))
        rows = np.repeat(every.factuals[[i]], len(each), axis=0)
        rows[each, moved] = np.concatenate(cells)
        held = np.arange(rows.shape[1]) != moved[:, None]
        region = every.after(rows, np.full(len(each), i))
        region = replace(region, frozen=region.frozen | held, frozen_without_laws=region.frozen_without_laws | held)
        problem = Problem(goal, region, Ledger(len(each), explainer.budget), 1, explainer._seed)
        result[i, moved[problem.evaluate(rows, each).hits]] = True
    return result


def _reachable(region: Region, i: int, j: int) -> np.ndarray:
    """Cells of column j that row i of a region may take; at most 1,024 numbers."""
    feature, own = region.schema.features[j], region.factuals[i, j]
    if not feature.numeric:
        return np.flatnonzero(region.levels(j)[i]).astype(np.float64)
    states = region.states[j][i] if feature.special else np.ones(1, dtype=bool)
    values = np.array([own, *(code for code, able in zip(feature.special, states, strict=False) if able)])
    if not states[-1]:
        return values
    low, high = (float(own if np.isinf(end) else end) for end in (region.low[i, j], region.high[i, j]))
    return np.append(values, spread(low, high, feature.step, _MOST_VALUES))


def _levers(explainer: Explainer, constraints: Constraints, wanted: Sequence[str] | None) -> list[str]:
    """The features that may change and do not follow others: all of them, or those wanted."""
    explainer._check_fitted()
    schema, follow = explainer.schema_, {one.column for one in explainer.book_.derivations}
    able = [schema.names[j] for j in schema.free_columns if j not in follow and j not in schema.clocks]
    able = [name for name in able if name not in constraints.immutable]
    unable = [name for name in wanted or () if name not in able]
    if unable:
        raise DataError(f"features names {listed(unable)}; those that may change are {listed(able, 60)}")
    return able if wanted is None else list(wanted)


def _for_all(given: Constraints | Mapping[str, Any] | None) -> Constraints:
    constraints = Constraints.of(given)
    if constraints.people:
        raise ConstraintError("constraints['people'] is for single rows; here constraints must be the same for all")
    return constraints


def _share(name: str, values: np.ndarray, confidence: float) -> dict[str, float]:
    interval = share_interval(values, confidence=confidence)
    mean = float(values.mean()) if len(values) else math.nan
    return {name: mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
