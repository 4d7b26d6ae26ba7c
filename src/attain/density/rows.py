"""What every autoencoder does with its input: frames and rows of the matrix are read by the schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from attain.core.errors import DataError, listed
from attain.core.frames import Frame
from attain.schema import Schema
from attain.tables import Table


class ReadsRows(BaseEstimator):
    """An estimator with a parameter `schema` that takes frames, or float64 rows of the matrix as they are."""

    schema: Schema

    def _read(self, X: Frame) -> tuple[Schema, np.ndarray]:
        if isinstance(X, np.ndarray) and X.dtype == np.float64 and X.ndim == 2 and X.shape[1] == len(self.schema):
            return self.schema, X
        table = Table.read(X, self.schema)
        return table.schema, table.values

    def _values(self, X: Frame) -> np.ndarray:
        self._check_fitted()
        return self._read(X)[1]

    def _check_schema(self) -> None:
        if not isinstance(self.schema, Schema):
            raise DataError(f"schema must be an attain.Schema, got a {type(self.schema).__name__}")

    def _check_fitted(self) -> None:
        if not hasattr(self, "schema_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")


def modelled_columns(schema: Schema) -> list[int]:
    """The positions of all columns but computed ones."""
    return [j for j, feature in enumerate(schema) if feature.computed is None]


def given_columns(schema: Schema, given: Iterable[str] | None) -> frozenset[int]:
    """The positions of the columns that are given: by default the immutable ones."""
    if given is None:
        return frozenset(int(j) for j in schema.immutable_columns)
    if isinstance(given, str):
        raise DataError(f"given must be a list of column names, got the string {given!r}")
    names = list(given)
    unknown = [name for name in names if name not in schema]
    if unknown:
        raise DataError(f"given names columns that the schema does not have: {listed(unknown)}")
    derived = [name for name in names if schema[name].computed is not None]
    if derived:
        raise DataError(f"given names computed columns: {listed(derived)}; name the columns they are computed from")
    return frozenset(schema.position(name) for name in names)


def with_derived(rows: np.ndarray, schema: Schema) -> np.ndarray:
    """The rows with their computed columns computed, in place."""
    for position, expression in schema.derivations:
        rows[:, position] = expression({name: rows[:, j] for j, name in enumerate(schema.names)})
    return rows


def check_enough(values: np.ndarray, columns: Sequence[int] | np.ndarray) -> None:
    """Refuses tables that there is nothing to learn from."""
    if len(values) < 2:
        raise DataError(f"X has {len(values)} rows; an autoencoder needs at least 2")
    if not len(columns):
        raise DataError("no feature is free, so there is nothing to model; see immutable and derived in the schema")
