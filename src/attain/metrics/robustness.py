"""Whether answers still hold if the model is retrained, or if they are carried out inexactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import AttainError, DataError
from attain.core.frames import library_of
from attain.methods.search.draws import streams, uniforms
from attain.population.measuring import measured, positive_integer
from attain.population.percentiles import Percentiles, as_matrix
from attain.tables import read_labels, unchanged

if TYPE_CHECKING:
    from attain.core.frames import Frame
    from attain.models import Goal
    from attain.tables import Region, Table


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
    positive_integer("number", number)
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
            met += unmargined_goal(model, train, target, probability).decide(rows).met
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
    positive_integer("draws", draws)
    matrix = as_matrix(answers, len(percentiles.schema))
    if len(region) != len(matrix):
        raise DataError(f"region must hold one row for each of the {len(matrix)} answers, got {len(region)}")

    def measure(rows: FloatArray, present: BoolArray) -> FloatArray:
        owners = np.flatnonzero(present)
        own = region.factuals[owners]
        moves = points / 100.0 * (2.0 * uniforms(streams(own, random_state), (draws, rows.shape[1])) - 1.0)
        executed = percentiles.moved(rows, moves, ~unchanged(own, rows))
        repeated = np.repeat(owners, draws)
        final = region.final_form(executed.reshape(-1, rows.shape[1]), repeated, np.repeat(rows, draws, axis=0))
        met = np.asarray(goal.decide(final).met, dtype=np.float64)
        return np.asarray(met.reshape(len(owners), draws).mean(axis=1))

    return measured(matrix, found, len(percentiles.schema), measure)
