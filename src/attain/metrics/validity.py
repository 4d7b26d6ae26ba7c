"""Whether answers do what was asked for: flip the decision, as records that may exist, without needless changes.

And whether they still do if the model is retrained, if they are carried out inexactly, or if a feature is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import AttainError, ConstraintError, DataError, check_integer, listed
from attain.core.frames import library_of
from attain.methods.base import Explainer
from attain.population.measuring import Percentiles, answered, as_matrix, measured, own_rows
from attain.results.counterfactuals import Counterfactuals
from attain.results.levers import changed_by_choice, lever_columns
from attain.schema import Constraints
from attain.search.moves import streams, uniform_draws
from attain.tables import Region, read_labels, unchanged

if TYPE_CHECKING:
    from attain.core.frames import Frame
    from attain.models import Goal
    from attain.tables import Table


def valid(answers: ArrayLike, goal: Goal, found: ArrayLike | None = None) -> FloatArray:
    """1 for each answer that meets the goal by the model's own decision, else 0."""

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        return np.asarray(goal.confirm_rows(rows).met, dtype=np.float64)

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
        met = np.asarray(goal.confirm_rows(rows).met, dtype=np.bool_)
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
        needless = np.asarray(goal.confirm_rows(resets).met, dtype=np.bool_) & ~newly.any(axis=1)
        return np.bincount(at[needless], minlength=len(rows)).astype(np.float64)

    return measured(answers, found, len(region.schema), measure)


def violations(answers: ArrayLike, region: Region, found: ArrayLike | None = None) -> pd.DataFrame:
    """One column for each kind of rule: 1 for each answer that breaks it, 0 for those that keep it, NaN without one.

    `immutable`: an immutable cell changed. `bounds`: a number outside what this row may reach. `level`: an unknown
    level, or a cell emptied. `transition`: a level or special code that cannot be reached from the factual's. `grid`: a
    number off its step or with more than six digits. `derived`: a derived column that does not follow from the others.
    `max_changes`: too many changes. `months`: clocks that are not in step, or too many months. Then every rule between
    features, by its text.
    """
    matrix = as_matrix(answers, len(region.schema))
    present = answered(matrix, found)
    owners = _owners(region, present)
    broken = region.violations(matrix[present], owners)
    rules = {text: broken.pop(text) for text in region.schema.rules}
    frame = pd.DataFrame({**broken, **rules}, index=owners, dtype=np.float64)
    return frame.reindex(pd.RangeIndex(len(matrix)))


def unmargined_goal(model: Any, train: Table, target: Any, probability: float | None) -> Goal:
    """The model and what it is asked for, judged by its own decision alone; rows that it fails on do not meet it."""
    from attain.models import Goal, probe_rows

    probe = probe_rows(train.values)
    return Goal(model, train.layout, target=target, probability=probability, margin=0.0, probe=probe, tolerant=True)


def retrained(
    refit: Callable[[Any, Any, int], Any],
    X: Frame,
    y: Any,
    *,
    number: int = 10,
    resample: bool = True,
    random_state: int = 0,
) -> Iterator[Any]:
    """Retrained models, one at a time: `refit(X, y, seed)` on resamples of the rows, or with other seeds only.

    Parameters
    ----------
    refit
        Trains a model like the one explained: `lambda X, y, seed: RandomForestClassifier(random_state=seed).fit(X, y)`.
    X, y
        The training data: a frame or an array, and its labels.
    resample
        Whether each model gets rows drawn with replacement; a draw that misses a class is repeated. If False, all
        models get the same data, and only the seed differs.
    """
    check_integer("number", number, 1)
    library = None if isinstance(X, np.ndarray) else library_of(X)
    index = range(len(X)) if library is None else library.labels(X)
    labels = np.array(read_labels(y, index).tolist())
    generator = np.random.default_rng(random_state)
    classes = len(set(labels.tolist()))
    for repetition in range(number):
        drawn = np.arange(len(labels))
        while resample:
            drawn = generator.integers(0, len(labels), len(labels))
            if len(set(labels[drawn].tolist())) == classes:
                break
        yield refit(X[drawn] if library is None else library.take(X, drawn), labels[drawn], random_state + repetition)


def valid_after_retraining(
    answers: ArrayLike,
    models: Iterable[Any],
    train: Table,
    target: Any,
    *,
    probability: float | None = None,
    found: ArrayLike | None = None,
) -> FloatArray:
    """The share of models that give each answer what was asked for: future validity.

    Parameters
    ----------
    models
        Retrained models, such as `retrained(...)` yields; only one is held at a time.
    train
        The training data: rows reach the models in its form.
    """

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        met, number = np.zeros(len(rows)), 0
        for model in models:
            met += unmargined_goal(model, train, target, probability).confirm_rows(rows).met
            number += 1
        if not number:
            raise AttainError("models is empty; pass at least one retrained model")
        return met / number

    return measured(answers, found, len(train.schema), measure)


def valid_after_inexact_execution(
    answers: ArrayLike,
    region: Region,
    goal: Goal,
    percentiles: Percentiles,
    *,
    points: float = 5.0,
    draws: int = 20,
    found: ArrayLike | None = None,
    random_state: int = 0,
) -> FloatArray:
    """The share of inexact executions of each answer that still bring what was asked for.

    Every changed number or ordered level misses the answer by up to `points` percentile points in either direction,
    drawn uniformly and independently, among the ranks of its training column (`Percentiles.moved`). So it moves further
    where the data are sparse, and hardly away from a value that many rows share. The record is put on its grid
    and within what its person may reach. The rules are kept: where a deviation breaks one, the changes that it ties
    together are carried out exactly. So are changed levels without an order, special codes and unchanged cells; derived
    columns follow.

    A row's draws are the same for every method's answer.

    Parameters
    ----------
    region
        What the rows may reach, in the order of the answers; it holds the factuals.
    goal
        The model and what it is asked for.
    percentiles
        The distribution functions of the training columns.
    points
        The largest deviation, from 0 to 100.
    draws
        The number of executions per answer.
    """
    if isinstance(points, bool) or not isinstance(points, int | float) or not 0 <= points <= 100:
        raise AttainError(f"points must be a number from 0 to 100, got {points!r}")
    check_integer("draws", draws, 1)

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        owners = _owners(region, present)
        own = region.factuals[owners]
        moves = points / 100.0 * (2.0 * uniform_draws(streams(own, random_state), (draws, rows.shape[1])) - 1.0)
        executed = percentiles.moved(rows, moves, ~unchanged(own, rows))
        repeated = np.repeat(owners, draws)
        final = region.final_form(executed.reshape(-1, rows.shape[1]), repeated, np.repeat(rows, draws, axis=0))
        met = np.asarray(goal.confirm_rows(final).met, dtype=np.float64)
        return np.asarray(met.reshape(len(owners), draws).mean(axis=1))

    return measured(answers, found, len(percentiles.schema), measure)


def _owners(region: Region, present: BoolArray) -> np.ndarray:
    if len(region) != len(present):
        raise DataError(f"region must hold one row for each of the {len(present)} answers, got {len(region)}")
    return np.flatnonzero(present)


def levers(
    explainer: Explainer,
    model: Any,
    result: Counterfactuals,
    *,
    features: Sequence[str] | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """`result.levers()` with what it would cost to hold each feature as it is, found by searching again.

    Kommiya Mothilal et al. (2021) call a feature sufficient for the decision about a person who would lose their
    answer: as long as it stays as it is, nothing else flips the decision. That the method finds no other answer does
    not prove that there is none.

    Parameters
    ----------
    explainer, model
        Those that the result was made with. Everybody whose answer changes a feature is searched for again, with that
        feature held; all others keep their answer.
    features
        Those to look at; by default all that the answers change.
    constraints
        Those of the call that gave the result, which must be the same for everybody.

    Returns
    -------
    Frame
        The columns of `result.levers()`, then `lost`: how many people lose their answer, and `further`: how many
        percentile points further the answers of those who get another one are, on average (total shift); NaN where
        nobody does. The features without which most people lose their answer come first.
    """
    given = Constraints.of(constraints)
    if given.people:
        raise ConstraintError("constraints['people'] is for single rows; here constraints must be the same for all")
    frame = pd.DataFrame(lever_columns(result))
    wanted = frame["feature"].tolist() if features is None else list(features)
    unknown = [name for name in wanted if name not in set(frame["feature"])]
    if unknown:
        raise DataError(f"features names {listed(unknown)}; the answers change {listed(frame['feature'], 60)}")
    library, changed = result.table.layout.library, changed_by_choice(result)
    owners, before = result.owners[result.best], _total_shifts(result)
    lost: dict[str, int] = {}
    further: dict[str, float] = {}
    for name in wanted:
        using = owners[changed[:, result.table.schema.position(name)]]
        people = library.take(result.table.source, using)
        held = replace(given, immutable=(*given.immutable, name))
        again = explainer.explain(model, people, target=result.target, probability=result.probability, constraints=held)
        more = (_total_shifts(again) - before[using])[again.found]
        lost[name] = int((~again.found).sum())
        further[name] = float(100 * more.mean()) if len(more) else np.nan
    frame = frame[frame["feature"].isin(wanted)]
    frame = frame.assign(lost=frame["feature"].map(lost), further=frame["feature"].map(further))
    return frame.sort_values("lost", ascending=False, kind="stable", ignore_index=True)


def _total_shifts(result: Counterfactuals) -> np.ndarray:
    """The total shift of each person's best option, (n,); NaN without one."""
    shifts = np.full(len(result), np.nan)
    shifts[result.owners[result.best]] = np.nansum(result.percentiles[2][result.best], axis=1)
    return shifts
