"""`Dataset`: a frame, its labels, its schema, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from attain.core.errors import DataError, listed
from attain.schema import Level, Schema


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Records, labels and schema of one data set.

    Parameters
    ----------
    name
        A short name: `"german"`.
    X
        The features, in original units. Its columns are those of the schema, in the same order.
    y
        The label of each row.
    schema
        What each column is and what may happen to it.
    desired
        The label that applicants want.
    description
        What the records are, in a few sentences.
    source
        Where the data come from.
    licence
        Under which terms they may be used.
    extras
        Columns that belong to the rows but are not input to a model, such as a train and test split.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    schema: Schema
    desired: Level
    description: str
    source: str
    licence: str
    extras: Mapping[str, pd.Series] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if tuple(self.X.columns) != self.schema.names:
            raise DataError(
                f"X must have the columns of the schema of {self.name!r}, in the same order: "
                f"{listed(self.schema.names)}, got {listed(self.X.columns)}"
            )
        for title, column in {"y": self.y, **self.extras}.items():
            if not column.index.equals(self.X.index):
                raise DataError(f"{title!r} of {self.name!r} must have the index of X, one value per row")
        if self.desired not in set(self.y):
            raise DataError(f"desired must be a label of {self.name!r}, got {self.desired!r}")

    def __repr__(self) -> str:
        labels = ", ".join(f"{label!r} {share:.1%}" for label, share in self.y.value_counts(normalize=True).items())
        return f"Dataset({self.name!r}, {len(self.X)} rows × {self.X.shape[1]} features, labels: {labels})"
