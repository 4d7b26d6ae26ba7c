"""What every method of the bench is asked about: a data set, a split, a classifier, the people it refuses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from attain.datasets import Dataset
from attain.metrics.neighbourhood import held_out_outlier, held_out_reference
from attain.models import Goal, probe_rows
from attain.population.connectedness import LINKS, components, connected
from attain.population.difficulty import changed, max_shift, total_shift
from attain.population.faithfulness import nearest_distance, outlier
from attain.population.measuring import BoolArray, FloatArray, measured
from attain.population.percentiles import Percentiles
from attain.population.reference import Neighbours, Reference
from attain.schema import Schema
from attain.tables import Table

NEIGHBOURS: Final = (5, 10, 20, 40)
HELD_OUT_NEIGHBOURS: Final = (10, 20)
QUANTILES: Final = (0.9, 0.95)


@dataclass(frozen=True, eq=False)
class Split:
    """One data set in two parts, stratified by label; 70 % are for training."""

    data: Dataset
    train: pd.DataFrame
    test: pd.DataFrame
    y_train: pd.Series
    y_test: pd.Series

    @classmethod
    def of(cls, data: Dataset, seed: int) -> Split:
        """The split of this seed."""
        return cls(data, *train_test_split(data.X, data.y, test_size=0.3, random_state=seed, stratify=data.y))


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What the answers to one classifier are measured against.

    Attributes
    ----------
    reference
        Real desired people of the training part; its ε grid is that of `held_out`.
    held_out
        Real desired people of the test part, whom no method has seen, in the same measuring space.
    largest
        For each ε of `QUANTILES`, an index of those of the reference who are in its largest component.
    percentiles
        The training part's distribution functions.
    """

    reference: Reference
    held_out: Reference
    largest: dict[float, Neighbours]
    percentiles: Percentiles

    @classmethod
    def of(cls, split: Split, model: Any) -> Yardstick:
        """The yardstick of a fitted classifier; whatever is costly is computed now."""
        data = split.data
        train, test = Table.read(split.train, data.schema), Table.read(split.test, data.schema)
        goal = Goal(model, train.layout, target=data.desired, margin=0.0, probe=probe_rows(train.values))

        def real(table: Table, y: pd.Series) -> tuple[BoolArray, BoolArray]:
            labelled = np.array([label == data.desired for label in y], dtype=np.bool_)
            return np.asarray(goal.decide(table.values).met, dtype=np.bool_), labelled

        met, labelled = real(train, split.y_train)
        reference = Reference.build(data.schema, train.values, met=met, desired_labels=labelled)
        met, labelled = real(test, split.y_test)
        held_out = held_out_reference(data.schema, test.values, labelled, met, reference.space)
        reference = reference.with_held_out(test.values[met & labelled])
        for people, ks in ((reference, NEIGHBOURS), (held_out, HELD_OUT_NEIGHBOURS)):
            for k in ks:
                people.local_density(k)
        largest = {quantile: largest_component(reference, reference.epsilon[quantile]) for quantile in QUANTILES}
        # the neighbours of everybody have served their purpose, and are most of what other processes would be sent
        reference, held_out = replace(reference, _neighbours={}), replace(held_out, _neighbours={})
        return cls(reference, held_out, largest, Percentiles.fit(data.schema, train.values))

    def measures(self, factuals: FloatArray, answers: FloatArray, found: BoolArray) -> dict[str, FloatArray]:
        """By name, one number for each person; NaN for a person without an answer."""
        result = {
            "total_shift": total_shift(answers, factuals, self.percentiles, found),
            "max_shift": max_shift(answers, factuals, self.percentiles, found),
            "changed": changed(answers, factuals, self.percentiles.schema, found),
        }
        for k in NEIGHBOURS:
            result[f"inlier_{k}"] = 1.0 - outlier(answers, self.reference, k, found)
        for k in HELD_OUT_NEIGHBOURS:
            result[f"inlier_held_out_{k}"] = 1.0 - held_out_outlier(answers, self.held_out, k, found)
        for quantile in QUANTILES:
            epsilon, name = self.reference.epsilon[quantile], f"{100 * quantile:.0f}"
            result[f"connected_{name}"] = connected(answers, self.reference, epsilon, found=found)
            result[f"largest_component_{name}"] = self._in_largest(answers, quantile, found)
        return {**result, "nearest_distance": nearest_distance(answers, self.reference, found)}

    def _in_largest(self, answers: FloatArray, quantile: float, found: BoolArray) -> FloatArray:
        """`attain.metrics.in_largest_component`, whose component is known already."""
        people, epsilon = self.largest[quantile], self.reference.epsilon[quantile]

        def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
            if not len(self.reference) or np.isnan(epsilon):
                return np.full(len(rows), np.nan)
            if not len(people.points):
                return np.zeros(len(rows))
            return np.asarray(people.query(self.reference.space.transform(rows), 1)[0][:, 0] <= epsilon, np.float64)

        return measured(answers, found, len(self.reference.schema), measure)


def largest_component(reference: Reference, epsilon: float) -> Neighbours:
    """The people of the reference who are in its largest component: most of them, linked in steps of at most ε."""
    if not len(reference) or np.isnan(epsilon):
        return Neighbours(reference.points[:0])
    distances, indices = reference.own_neighbours(LINKS)
    linked = np.asarray((distances <= epsilon).any(axis=1))
    labels = components(reference.points, distances, indices, epsilon, linked)
    return Neighbours(reference.points[linked & (labels == np.bincount(labels[linked], minlength=1).argmax())])


SHARES: Final = (
    *(f"inlier_{k}" for k in NEIGHBOURS),
    *(f"inlier_held_out_{k}" for k in HELD_OUT_NEIGHBOURS),
    *(f"{name}_{100 * quantile:.0f}" for quantile in QUANTILES for name in ("connected", "largest_component")),
)
"""Measures that are 1 or 0: a person without an answer is charged 0."""
MEASURES: Final = ("total_shift", "max_shift", "changed", *SHARES, "nearest_distance")
"""Every measure of an answer, in the order of the columns."""


@dataclass(frozen=True, eq=False)
class Case:
    """A classifier, trained on one part of a split, and the people of the other part whom it refuses."""

    split: Split
    model: Any
    people: pd.DataFrame
    accuracy: float
    yardstick: Yardstick

    @classmethod
    def of(cls, split: Split, make: Callable[[Schema, int], Any], seed: int, number: int) -> Case:
        """The classifier fitted, and the first `number` people it refuses."""
        model = make(split.data.schema, seed).fit(split.train, split.y_train)
        decided = np.asarray(model.predict(split.test))
        refused = split.test[decided != split.data.desired].iloc[:number]
        accuracy = float(np.mean(decided == split.y_test.to_numpy()))
        return cls(split, model, refused, accuracy, Yardstick.of(split, model))


def content(data: Dataset) -> str:
    """A text that is the same for equal records, labels and schema."""
    digest = hashlib.blake2b(data.schema.to_toml().encode(), digest_size=8)
    digest.update(Table.read(data.X, data.schema).values.tobytes())
    digest.update("\x1f".join(map(str, data.y)).encode())
    return digest.hexdigest()
