"""What every method of the benchmark is asked about: a data set, a split, a classifier, the rows it refuses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from attain.datasets import Dataset, load_german
from attain.metrics import AnswerMatrix, Measure, RealPeople, measures
from attain.metrics.measures import MEASURES as CATALOGUE
from attain.schema import Schema
from attain.tables import Table
from experiments.data import load_adult, load_compas, load_gmsc, load_heloc
from experiments.research.largest_component import largest_component

LOADERS: Final[Mapping[str, Callable[[], Dataset]]] = MappingProxyType(
    {
        "german": load_german,
        "heloc": partial(load_heloc, version="paper"),
        "gmsc": partial(load_gmsc, version="paper"),
        "adult": load_adult,
        "compas": load_compas,
    }
)
"""HELOC and GMSC in the paper's version, which has no missing values, so that every classifier takes them."""
_NAMES: Final = (
    *("found", "total_shift", "max_shift", "changed", "inlier", "connected_90", "connected_95"),
    *("held_out_inlier", "nearest_distance"),
)
MEASURES: Final[dict[str, Measure]] = {
    measure.name: measure
    for measure in (
        *(CATALOGUE[name] for name in _NAMES),
        *(measures.inlier(k) for k in (5, 10, 40)),
        measures.held_out_inlier(10),
        *(largest_component(0.9, "largest_component"), largest_component(0.95)),
        replace(CATALOGUE["possible"], optional=True),
    )
}
"""The measures of an answer by column; `possible` only where laws were found in held-out data."""


@dataclass(frozen=True, eq=False)
class Split:
    """A data set in two parts, stratified by label; 70 % are for training."""

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
class Case:
    """A classifier, trained on one part of a split, and the rows of the other part that it refuses."""

    split: Split
    model: Any
    refused: pd.DataFrame
    accuracy: float
    real_people: RealPeople

    @classmethod
    def of(cls, split: Split, make: Callable[[Schema, int], Any], seed: int, number: int) -> Case:
        """The classifier fitted, the first `number` rows it refuses, and what their answers are measured against."""
        data = split.data
        model = make(data.schema, seed).fit(split.train, split.y_train)
        decided = np.asarray(model.predict(split.test))
        against = RealPeople(
            data.schema,
            model,
            split.train,
            split.y_train,
            target=data.desired,
            X_test=split.test,
            y_test=split.y_test,
        )
        refused = split.test[decided != data.desired].iloc[:number]
        if len(refused):
            # Measures one row, so that other processes get densities and clusters ready, without the neighbours.
            table = Table.read(refused.iloc[:1], data.schema)
            against.evaluate(
                AnswerMatrix(table, table.values, np.ones(1, bool), data.desired), measures=MEASURES.values()
            )
            against.reference.neighbours.clear()
        return cls(split, model, refused, float(np.mean(decided == split.y_test.to_numpy())), against)


def content(data: Dataset) -> str:
    """A digest of the records, labels and schema."""
    digest = hashlib.blake2b(data.schema.to_toml().encode(), digest_size=8)
    digest.update(Table.read(data.X, data.schema).values.tobytes())
    digest.update("\x1f".join(map(str, data.y)).encode())
    return digest.hexdigest()
