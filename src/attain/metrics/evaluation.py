"""Every measure of a result at once: one row per person, and the two averages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from attain.errors import AttainError, DataError, listed
from attain.metrics.answers import BoolArray, FloatArray
from attain.metrics.connectedness import connected
from attain.metrics.difficulty import changed, max_shift, total_shift
from attain.metrics.faithfulness import local_outlier_factor, nearest_distance, outlier, proximity
from attain.percentiles import Percentiles
from attain.reference import QUANTILES, Reference

if TYPE_CHECKING:
    from attain.models import Goal
    from attain.table import Frame, Table

OUTLIER_NEIGHBOURS: Final = 20
PROBE: Final = 256
"""How many training rows the model is tried out on before it is asked about all."""


class Answers(Protocol):
    """What is measured: a `Counterfactuals`, or anything that knows as much."""

    @property
    def table(self) -> Table: ...
    @property
    def answers(self) -> FloatArray: ...
    @property
    def found(self) -> BoolArray: ...
    @property
    def target(self) -> Any: ...
    @property
    def probability(self) -> float | None: ...


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The measures of a result.

    Attributes
    ----------
    frame
        One row per person, indexed like the factuals; NaN for a person without an answer.
    summary
        One row per measure: `mean` over the people `answered`, with their number; and `charged`, the mean over all `n`
        people, where a person without an answer counts as one who must change everything: TS the number of free
        features, MS 1, not valid, not an inlier, not connected. Measures without such a worst case are not charged.
    reference
        The real people that faithfulness was measured against, with the ε grid.
    percentiles
        The training distribution that shifts were measured in; its `method` says how.
    """

    frame: pd.DataFrame
    summary: pd.DataFrame
    reference: Reference
    percentiles: Percentiles

    def __str__(self) -> str:
        return self.summary.to_string(float_format="{:.3f}".format)


def evaluate(
    result: Answers,
    model: Any,
    X_train: Frame,
    y_train: ArrayLike | None,
    *,
    X_test: Frame | None = None,
    y_test: ArrayLike | None = None,
) -> Evaluation:
    """Faithfulness, difficulty and validity of the answers, against the real people of the training data.

    Parameters
    ----------
    result
        What an explainer returned; each person's best option is measured.
    model
        The classifier that was explained. It is asked once more about the answers and the training rows.
    X_train, y_train
        The training data. Without labels (None) the model's verdict alone says who is a real desired person.
    X_test, y_test
        Held-out data for the ε grid; without them each reference person's distance to the nearest other one is used.
    """
    from attain.models import Goal
    from attain.table import Table

    schema = result.table.schema
    train = Table.read(X_train, schema, "X_train")
    probe = train.values[:PROBE]
    goal = Goal(model, train.layout, target=result.target, probability=result.probability, margin=0.0, probe=probe)
    labels = _desired("y_train", y_train, goal.target, len(train))
    reference = Reference.build(schema, train.values, desired_labels=labels, met=_met(goal, train.values))
    if X_test is not None:
        test = Table.read(X_test, schema, "X_test")
        held_out = _desired("y_test", y_test, goal.target, len(test))
        real = _met(goal, test.values) if held_out is None else _met(goal, test.values) & held_out
        reference = reference.with_held_out(test.values[real])
    elif y_test is not None:
        raise AttainError("y_test is given without X_test; give both, or neither")
    percentiles = Percentiles.fit(schema, train.values)
    found = np.asarray(result.found, dtype=np.bool_)
    valid = np.full(len(found), np.nan)
    if found.any():
        valid[found] = _met(goal, result.answers[found])
    columns = {"valid": valid, **_measures(result, found, reference, percentiles)}
    frame = pd.DataFrame({"found": found, **columns}, index=pd.Index(result.table.labels))
    worst = _worst(len(schema.free))
    summary = pd.DataFrame([_averages(name, column, found, worst.get(name)) for name, column in columns.items()])
    return Evaluation(frame, summary.set_index("measure"), reference, percentiles)


def _measures(
    result: Answers, found: BoolArray, reference: Reference, percentiles: Percentiles
) -> dict[str, FloatArray]:
    answers, factuals = result.answers, result.table.values
    return {
        "total_shift": total_shift(answers, factuals, percentiles, found),
        "max_shift": max_shift(answers, factuals, percentiles, found),
        "changed": changed(answers, factuals, percentiles.schema, found),
        "proximity": proximity(answers, reference, found),
        "local_outlier_factor": local_outlier_factor(answers, reference, OUTLIER_NEIGHBOURS, found),
        "inlier": 1.0 - outlier(answers, reference, OUTLIER_NEIGHBOURS, found),
        "nearest_distance": nearest_distance(answers, reference, found),
        **{
            _connected_name(quantile): connected(answers, reference, reference.epsilon[quantile], found=found)
            for quantile in QUANTILES
        },
    }


def _connected_name(quantile: float) -> str:
    return f"connected_{100 * quantile:.0f}"


def _worst(free: int) -> dict[str, float]:
    """What a person without an answer is charged with."""
    refused = ("valid", "inlier", *map(_connected_name, QUANTILES))
    return {"total_shift": float(free), "max_shift": 1.0, **dict.fromkeys(refused, 0.0)}


def _averages(name: str, column: FloatArray, found: BoolArray, worst: float | None) -> dict[str, object]:
    charged = np.nan if worst is None or not len(column) else float(np.where(found, column, worst).mean())
    mean = float(column[found].mean()) if found.any() else np.nan
    return {"measure": name, "mean": mean, "answered": int(found.sum()), "charged": charged, "n": len(column)}


def _met(goal: Goal, rows: FloatArray) -> BoolArray:
    return np.asarray(goal.decide(rows).met, dtype=np.bool_)


def _desired(name: str, labels: ArrayLike | None, target: object, number: int) -> BoolArray | None:
    """Which people are labelled as the target; None without labels."""
    if labels is None:
        return None
    array: NDArray[np.object_] = np.asarray(labels, dtype=object)
    if array.shape != (number,):
        raise DataError(f"{name} has the shape {array.shape}; it takes one label for each of the {number} rows")
    desired = np.array([label == target for label in array], dtype=np.bool_)
    if number and not desired.any():
        raise DataError(
            f"nobody in {name} has the label {target!r}; it holds {listed(dict.fromkeys(array.tolist()))}: give labels "
            "as the model names its classes, or None to go by the model alone"
        )
    return desired
