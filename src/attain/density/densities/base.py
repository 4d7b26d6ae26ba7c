"""What densities over the states of columns share: reading rows, the columns that are given, and saving."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from attain.core.arrays import FloatArray
from attain.core.checks import check_integer
from attain.core.errors import FileError
from attain.core.frames import Frame
from attain.density.autoencoder import State
from attain.density.histograms.states import Coded, States
from attain.density.rows import ReadsRows, check_enough, given_columns, modelled_columns, with_derived
from attain.density.uniforms import Keys, row_keys
from attain.schema import Schema

BLOCK = 1 << 15
"""Rows that are worked on at once."""


@dataclass(eq=False, repr=False)
class StateDensity(ReadsRows, abc.ABC):
    """A density of the columns' states, with the densities within states of `States`."""

    schema: Schema
    _: KW_ONLY
    random_state: Any = 0

    exact: ClassVar[bool] = True
    any_given: ClassVar[bool] = True

    def fit(self, X: Frame, y: object = None) -> Self:
        """Learns from rows; `y` is not used."""
        self._check_schema()
        self._check()
        schema, values = self._read(X)
        modelled = modelled_columns(schema)
        check_enough(values, modelled)
        self._columns = {j: States.fit(schema.features[j], values[:, j]) for j in modelled}
        self._learn(schema, values, self._encode(values))
        self.schema_, self.n_features_in_ = schema, values.shape[1]
        return self

    def log_density(self, X: Frame, *, given: Iterable[str] | None = None) -> FloatArray:
        """log p(other columns | given columns) of each row (n,); `given` are the immutable columns by default.

        A missing cell in a column that had none in training is left out.
        """
        values = self._values(X)
        held = given_columns(self.schema_, given)
        result = np.zeros(len(values))
        for start in range(0, len(values), BLOCK):
            part = slice(start, start + BLOCK)
            states = self._encode(values[part])
            result[part] = self._log_mass(values[part], states, held)
            for j, column in self._columns.items():
                if j not in held:
                    result[part] += column.log_within(values[part, j], states[:, j])
        return result

    def sample(
        self, X: Frame, n: int = 1, *, given: Iterable[str] | None = None, random_state: Any = None
    ) -> FloatArray:
        """`n` draws for each row, one after the other, as rows of the matrix; given columns are copied from the row.

        Draws depend on the row and the seed alone, `random_state` or else that of the model; equal rows have equal
        draws. Rules between columns are not enforced.
        """
        values = self._values(X)
        check_integer("n", n, 1)
        held = given_columns(self.schema_, given)
        seed = seed_of(self.random_state if random_state is None else random_state)
        rows = np.repeat(values, n, axis=0)
        block = max(1, BLOCK // n)
        for start in range(0, len(values), block):
            part = values[start : start + block]
            drawn = rows[start * n : (start + block) * n]
            self._draw(drawn, part, held, row_keys(part, seed), n)
        return with_derived(rows, self.schema_)

    def state(self) -> State:
        """What was learned: facts for JSON, and arrays by name."""
        self._check_fitted()
        facts, arrays = self._given_up()
        for j, states in self._columns.items():
            arrays |= {f"states.{j:04d}.{name}": array for name, array in states.arrays().items()}
        return facts, arrays

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Takes back what `state` gave; arrays that do not fit the schema are refused."""
        try:
            self._columns = {
                j: States.restored(self.schema.features[j], under(f"states.{j:04d}", arrays))
                for j in modelled_columns(self.schema)
            }
            self._take(facts, arrays)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise FileError(f"the file does not hold a {type(self).__name__} of this schema: {error!r}") from error
        self.schema_, self.n_features_in_ = self.schema, len(self.schema)
        return self

    def _encode(self, values: FloatArray) -> Coded:
        """The states of all columns; 0 for derived ones."""
        states = np.zeros(values.shape, dtype=np.int16, order="F")
        for j, column in self._columns.items():
            states[:, j] = column.encode(values[:, j])
        return states

    def _check(self) -> None:
        """Refuses parameters that the model does not take."""

    @abc.abstractmethod
    def _learn(self, schema: Schema, values: FloatArray, states: Coded) -> None:
        """Learns from training rows."""

    @abc.abstractmethod
    def _log_mass(self, values: FloatArray, states: Coded, held: frozenset[int]) -> FloatArray:
        """log-probability (n,) of the states of the other columns given those held."""

    @abc.abstractmethod
    def _draw(self, rows: FloatArray, values: FloatArray, held: frozenset[int], keys: Keys, n: int) -> None:
        """Writes `n` draws for each row into `rows`, in the columns that are not held."""

    @abc.abstractmethod
    def _given_up(self) -> State:
        """What was learned besides the states of columns."""

    @abc.abstractmethod
    def _take(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Takes back what `_given_up` gave."""


def seed_of(random_state: Any) -> int:
    """A seed from whatever scikit-learn takes as `random_state`."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix and a dot, by the rest of their names."""
    return {name[len(prefix) + 1 :]: array for name, array in arrays.items() if name.startswith(f"{prefix}.")}
