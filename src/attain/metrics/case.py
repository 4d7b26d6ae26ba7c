"""The answers of a result beside all that they are measured with, and the measures that cost little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attain.core.errors import AttainError, DataError, listed
from attain.metrics.catalogue import CONNECTED, NEIGHBOURS
from attain.metrics.distances import distance, gower_distance, mad_distance
from attain.metrics.neighbourhood import held_out_outlier, held_out_reference, y_nearest
from attain.metrics.privacy import closest_training_distance, copies
from attain.metrics.validity import redundant, type_valid, valid, violations
from attain.population.connectedness import connected_over, in_largest_component
from attain.population.difficulty import changed, max_shift, total_shift
from attain.population.faithfulness import local_outlier_factor, nearest_distance, outlier, proximity
from attain.population.measuring import BoolArray, FloatArray
from attain.population.percentiles import Percentiles
from attain.population.reference import Neighbours, Reference
from attain.schema import Constraints
from attain.tables import Region, read_labels

if TYPE_CHECKING:
    from attain.core.frames import Frame
    from attain.models import Goal
    from attain.schema import Schema
    from attain.tables import Table

IndexArray: TypeAlias = NDArray[np.intp]

OUTLIER_NEIGHBOURS: Final = 20
SHORT: Final = 15
"""Up to so many dimensions a tree finds neighbours at once, in an order that depends on their number where some tie."""
LARGEST_AT: Final = 0.9
"""The quantile of real people's nearest distance at which the largest cluster is sought."""


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
class Case:
    """The answers, and all that they are measured with."""

    answers: FloatArray
    factuals: FloatArray
    found: BoolArray
    goal: Goal
    region: Region
    train: Table
    met: BoolArray
    reference: Reference
    held_out: Reference | None
    real: FloatArray
    """Real people of the desired class, repeated rows included: held-out ones where there are some."""
    percentiles: Percentiles

    @property
    def schema(self) -> Schema:
        return self.percentiles.schema

    @classmethod
    def of(
        cls,
        result: Answers,
        model: Any,
        X_train: Frame,
        y_train: ArrayLike | None,
        X_test: Frame | None,
        y_test: ArrayLike | None,
        constraints: Constraints | Mapping[str, Any] | None,
        reference: Reference | None,
    ) -> Case:
        from attain.tables import Table

        schema = result.table.schema
        train = Table.read(X_train, schema, "X_train")
        goal = _goal(result, model, train)
        labels = _desired("y_train", y_train, goal.target, train.labels)
        met = _met(goal, train.values)
        if reference is None:
            reference = Reference.build(schema, train.values, desired_labels=labels, met=met)
        elif reference.schema != schema:
            raise DataError("reference is of another schema than the result; leave it out, and it is built anew")
        real = train.values[met if labels is None else met & labels]
        held_out = None
        if X_test is not None:
            test = Table.read(X_test, schema, "X_test")
            held_out_labels = _desired("y_test", y_test, goal.target, test.labels)
            held_out_met = _met(goal, test.values)
            held_out = held_out_reference(schema, test.values, held_out_labels, held_out_met, reference.space)
            real = test.values[held_out_met if held_out_labels is None else held_out_met & held_out_labels]
            reference = reference.with_held_out(real)
        elif y_test is not None:
            raise AttainError("y_test is given without X_test; give both, or neither")
        return cls(
            answers=result.answers,
            factuals=result.table.values,
            found=np.asarray(result.found, dtype=np.bool_),
            goal=goal,
            region=Region.of(result.table, Constraints.of(constraints)),
            train=train,
            met=met,
            reference=reference,
            held_out=held_out,
            real=real,
            percentiles=Percentiles.fit(schema, train.values),
        )


class _OneSearch(Neighbours):
    """An index that has searched for the 40 nearest of some points once, and answers for them out of that."""

    def __init__(self, index: Neighbours, asked: FloatArray) -> None:
        self.points = index.points
        self._index, self._asked = index, asked
        self._known = index.query(asked, min(max(NEIGHBOURS), len(index.points)))

    def query(self, points: FloatArray, k: int) -> tuple[FloatArray, IndexArray]:
        distances, indices = self._known
        if k <= distances.shape[1] and np.array_equal(points, self._asked):
            return distances[:, :k], indices[:, :k]
        return self._index.query(points, k)


def _searched(reference: Reference, rows: FloatArray) -> Reference:
    """The reference with its people near some rows found already, where a search takes long."""
    if reference.points.shape[1] <= SHORT or not len(reference):
        return reference
    searched = replace(reference)
    vars(searched)["index"] = _OneSearch(reference.index, reference.space.transform(rows))
    return searched


def measures(case: Case) -> dict[str, FloatArray]:
    """One column per measure that needs no more than the case."""
    return {**_validity(case), **_difficulty(case), **_faithfulness(case), **_neighbourhood(case)}


def _validity(case: Case) -> dict[str, FloatArray]:
    broken = violations(case.answers, case.region, case.found)
    # A move against its direction or beyond its range breaks the bounds as well, and is to count once.
    kinds = broken.drop(columns=["direction", "range"]).to_numpy()
    return {
        "found": case.found.astype(np.float64),
        "valid": valid(case.answers, case.goal, case.found),
        "type_valid": type_valid(case.answers, case.region, case.goal, case.found),
        "violations": kinds.sum(axis=1),
        "redundant": redundant(case.answers, case.factuals, case.goal, case.region, case.found),
    }


def _difficulty(case: Case) -> dict[str, FloatArray]:
    answers, factuals, found, train = case.answers, case.factuals, case.found, case.train.values
    space = case.reference.space
    return {
        "total_shift": total_shift(answers, factuals, case.percentiles, found),
        "max_shift": max_shift(answers, factuals, case.percentiles, found),
        "changed": changed(answers, factuals, case.schema, found),
        "l1": distance(answers, factuals, space, "l1", found),
        "l2": distance(answers, factuals, space, "l2", found),
        "linf": distance(answers, factuals, space, "linf", found),
        "mad_distance": mad_distance(answers, factuals, case.schema, train, found),
        "gower_distance": gower_distance(answers, factuals, case.schema, train, found),
    }


def _faithfulness(case: Case) -> dict[str, FloatArray]:
    answers, found = case.answers, case.found
    reference = _searched(case.reference, answers[found])
    grid = connected_over(answers, reference, [reference.epsilon[q] for q in CONNECTED.values()], found=found)
    inliers = {f"inlier_{k}": 1.0 - outlier(answers, reference, k, found) for k in NEIGHBOURS}
    return {
        "proximity": proximity(answers, reference, found),
        "local_outlier_factor": local_outlier_factor(answers, reference, OUTLIER_NEIGHBOURS, found),
        "inlier": inliers[f"inlier_{OUTLIER_NEIGHBOURS}"],
        **inliers,
        "nearest_distance": nearest_distance(answers, reference, found),
        **dict(zip(CONNECTED, grid.T, strict=True)),
        "largest_component": in_largest_component(answers, case.reference, reference.epsilon[LARGEST_AT], found=found),
    }


def _neighbourhood(case: Case) -> dict[str, FloatArray]:
    answers, found, train, space = case.answers, case.found, case.train.values, case.reference.space
    copied = copies(answers, train, case.schema, found)
    columns = {
        "y_nearest": y_nearest(answers, train, case.met, space, found=found),
        "training_distance": closest_training_distance(answers, train, space, found),
        "copied": copied.whole,
        "copied_free": copied.free,
    }
    if case.held_out is not None:
        columns["held_out_inlier"] = 1.0 - held_out_outlier(answers, case.held_out, OUTLIER_NEIGHBOURS, found)
    return columns


def _goal(result: Answers, model: Any, train: Table) -> Goal:
    from attain.models import Goal, probe_rows

    return Goal(
        model,
        train.layout,
        target=result.target,
        probability=result.probability,
        margin=0.0,
        probe=probe_rows(train.values),
    )


def _met(goal: Goal, rows: FloatArray) -> BoolArray:
    return np.asarray(goal.decide(rows).met, dtype=np.bool_)


def _desired(name: str, labels: ArrayLike | None, target: object, people: Any) -> BoolArray | None:
    """Which people are labelled as the target; None without labels."""
    if labels is None:
        return None
    shape, number = np.shape(labels), len(people)
    if shape[:1] != (number,):
        raise DataError(f"{name} has the shape {shape}; it takes one label for each of the {number} rows")
    array = read_labels(labels, people)
    desired = np.array([label == target for label in array], dtype=np.bool_)
    if number and not desired.any():
        raise DataError(
            f"nobody in {name} has the label {target!r}; it holds {listed(dict.fromkeys(array.tolist()))}: give labels "
            "as the model names its classes, or None to go by the model alone"
        )
    return desired
