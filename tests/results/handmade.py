"""Results made by hand, so that what they say is known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attain import Counterfactuals, Feature, Schema, Status
from attain.tables import Table


def reviewed(features: Iterable[Feature], **more: Any) -> Schema:
    """A schema of features that somebody has reviewed."""
    return Schema(tuple(replace(feature, reviewed="Ada, 2026-11-19") for feature in features), **more)


def result_of(
    schema: Schema,
    people: pd.DataFrame,
    options: Mapping[int, Sequence[Mapping[str, Any]]],
    *,
    statuses: Mapping[int, Status] | None = None,
    target: Any = "good",
    probability: float | None = None,
    **figures: Sequence[float],
) -> Counterfactuals:
    """A result with these options: for each person's position, what changes in each of them."""
    table = Table.read(people, schema)
    changed = [(i, option) for i, listed in options.items() for option in listed]
    owners = np.array([i for i, _ in changed], dtype=np.intp)
    rows = table.values[owners]
    for row, (_, option) in zip(rows, changed, strict=True):
        for name, value in option.items():
            feature = schema[name]
            row[schema.position(name)] = value if feature.numeric else feature.levels.index(value)
    others = {i: Status.FOUND for i in options} | dict(statuses or {})
    shift = np.where(rows == table.values[owners], 0.0, 0.25)
    return Counterfactuals(
        table=table,
        method="Guarded",
        target=target,
        probability=probability,
        statuses=tuple(others.get(i, Status.OUT_OF_REACH) for i in range(len(people))),
        rows=rows,
        owners=owners,
        percentiles=(np.full(rows.shape, 0.5), np.full(rows.shape, 0.75), shift),
        option_figures={name: np.array(values, dtype=np.float64) for name, values in figures.items()},
    )
