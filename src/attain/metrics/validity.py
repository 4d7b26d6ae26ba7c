"""Whether answers do what was asked for: flip the decision, as records that may exist, without needless changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import DataError
from attain.population.measuring import answered, measured, own_rows
from attain.population.percentiles import as_matrix
from attain.tables import Region, ordinary, unchanged

if TYPE_CHECKING:
    from attain.models import Goal


def valid(answers: ArrayLike, goal: Goal, found: ArrayLike | None = None) -> FloatArray:
    """1 for each answer that meets the goal by the model's own decision, else 0."""

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        return np.asarray(goal.decide(rows).met, dtype=np.float64)

    return measured(answers, found, len(goal.layout.schema), measure)


def type_valid(answers: ArrayLike, region: Region, goal: Goal, found: ArrayLike | None = None) -> FloatArray:
    """1 for each answer that meets the goal as a record that may exist, else 0.

    It is in final form (every number on its grid, every cell a level or value that the row may reach), it keeps every
    rule, and the model decides for it.
    """

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        owners = _owners(region, present)
        final = region.after(rows, owners).final_form(rows, np.arange(len(rows)))
        finished = unchanged(final, rows).all(axis=1)
        met = np.asarray(goal.decide(rows).met, dtype=np.bool_)
        return np.asarray(finished & region.allows(rows, owners) & met, dtype=np.float64)

    return measured(answers, found, len(region.schema), measure)


def redundant(
    answers: ArrayLike, factuals: ArrayLike, goal: Goal, region: Region, found: ArrayLike | None = None
) -> FloatArray:
    """The number of changed free features that could have stayed as they were: reset alone, the goal is still met.

    Derived columns follow a reset. A reset that breaks a rule which the answer keeps does not count. The
    model is asked about all resets of all rows in one call.
    """

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        owners, own = _owners(region, present), own_rows(factuals, len(region.schema), present)
        free = region.schema.free_columns
        at, places = np.nonzero(region.changed(rows, owners)[:, free])
        resets = rows[at]
        resets[np.arange(len(at)), free[places]] = own[at, free[places]]
        resets = region.derived(resets, own[at])
        broken = np.column_stack(list(region.violations(rows, owners).values()))
        newly = np.column_stack(list(region.violations(resets, owners[at]).values())) & ~broken[at]
        needless = np.asarray(goal.decide(resets).met, dtype=np.bool_) & ~newly.any(axis=1)
        return np.bincount(at[needless], minlength=len(rows)).astype(np.float64)

    return measured(answers, found, len(region.schema), measure)


def violations(answers: ArrayLike, region: Region, found: ArrayLike | None = None) -> pd.DataFrame:
    """One column for each kind of rule: 1 for each answer that breaks it, 0 for those that keep it, NaN without one.

    `immutable`: an immutable cell changed. `bounds`: a number outside what this row may reach. `level`: an unknown
    level, or a cell emptied. `transition`: a level or special code that cannot be reached from the factual's. `grid`: a
    number off its step or with more than six digits. `derived`: a derived column that does not follow from the others.
    `max_changes`: too many changes. `months`: clocks that are not in step, or too many months. `direction`, `range`: a
    move against the schema's direction, or further than its range; such a move breaks `bounds` or, for ordered levels,
    `transition` as well. Then every rule between features, by its text.
    """
    matrix = as_matrix(answers, len(region.schema))
    present = answered(matrix, found)
    owners = _owners(region, present)
    broken = region.violations(matrix[present], owners)
    rules = {text: broken.pop(text) for text in region.schema.rules}
    moves = _moves(matrix[present], region.factuals[owners], region)
    columns = {**broken, **moves, **rules}
    frame = pd.DataFrame(np.nan, index=pd.RangeIndex(len(matrix)), columns=pd.Index(list(columns)))
    for name, rows in columns.items():
        frame.loc[present, name] = rows.astype(np.float64)
    return frame


def _owners(region: Region, present: BoolArray) -> np.ndarray:
    if len(region) != len(present):
        raise DataError(f"region must hold one row for each of the {len(present)} answers, got {len(region)}")
    return np.flatnonzero(present)


def _moves(rows: FloatArray, own: FloatArray, region: Region) -> dict[str, BoolArray]:
    """Which rows move a cell against its direction, or further than its range."""
    against, beyond = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
    for column, feature in enumerate(region.schema):
        if not feature.ordered or feature.derived is not None:
            continue
        on_scale = ordinary(feature, own[:, column]) & ordinary(feature, rows[:, column])
        move = np.where(on_scale, rows[:, column] - own[:, column], 0.0)
        if feature.direction != "any":
            against |= (move < 0) if feature.direction == "increase" else (move > 0)
        # In floating point 0.8 − 0.7 exceeds 0.1, and a range of 0.1 is meant to include it.
        slack = np.where(on_scale, 1e-12 * np.abs(own[:, column]), 0.0)
        down, up = feature.range
        beyond |= (move < -np.inf if down is None else move < down - slack) | (
            move > np.inf if up is None else move > up + slack
        )
    return {"direction": against, "range": beyond}
