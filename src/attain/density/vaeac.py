"""The autoencoder with arbitrary conditioning: any columns are given, and one fit serves them all."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from attain.core.errors import DataError
from attain.core.frames import Frame
from attain.density.columns import Columns
from attain.density.estimator import MixtureEstimator, completed
from attain.density.rows import given_columns, modelled_columns
from attain.schema import Schema

if TYPE_CHECKING:
    from attain.density.objective import Objective


class VAEAC(MixtureEstimator):
    """The autoencoder with arbitrary conditioning (Ivanov et al. 2019): p(other columns | given columns) for any.

    It is trained with columns given at random, half of the time the schema's immutable ones. Encoder and decoder see
    the given cells and which they are; the prior of z is N(0, I), since a decoder that sees the given cells can be that
    of any conditional prior. `log_density` and `sample` take `given`, the names of the columns that are held fixed, and
    `for_schema` is the same model for other immutable columns. Parameters as for `CHVAE`.
    """

    any_given: ClassVar[bool] = True

    def for_schema(self, schema: Schema) -> Self:
        """This fitted model for a schema that differs in what is immutable; nothing is trained."""
        self._check_fitted()
        for own, its in zip(self.schema_, schema, strict=True):
            if replace(own, immutable=its.immutable) != its:
                raise DataError(f"column {its.name!r} differs in more than what is immutable; fit the model again")
        other = copy(self)
        other.schema = other.schema_ = schema
        return other

    def log_density(self, X: Frame, samples: int = 100, *, given: Iterable[str] | None = None) -> np.ndarray:
        """A lower bound of log p(other columns | given columns) of each row (n,); the immutable ones by default."""
        values = self._values(X)
        held = sorted(given_columns(self.schema_, given))
        rows = self._given(self.network_.columns, values, held)
        values = values.copy()
        values[:, held] = np.nan
        return self._bounded(rows, self.network_.columns.log_base(values), samples)[0]

    def sample(
        self, conditions: Frame, n: int = 1, *, given: Iterable[str] | None = None, random_state: Any = None
    ) -> np.ndarray:
        """`n` draws for each row, one after the other, as rows of the matrix; given columns are copied."""
        values = self._values(conditions)
        held = given_columns(self.schema_, given)
        drawn = self._drawn(values, self._given(self.network_.columns, values, sorted(held)), n, random_state)
        modelled = modelled_columns(self.schema_)
        free = [place for place, j in enumerate(modelled) if j not in held]
        rows = np.repeat(values, n, axis=0)
        return completed(drawn[:, free], rows, self.schema_, [modelled[place] for place in free])

    def _columns(self, schema: Schema, values: np.ndarray) -> Columns:
        modelled = modelled_columns(schema)
        found = Columns.fit(schema, values, free=modelled, given=modelled, likelihoods=self.likelihoods)
        # a cell may be left out of either half: the network is told
        return Columns(found.free, found.conditions, tuple(range(2 * found.width)), found.names)

    def _compact(self, columns: Columns, values: np.ndarray, schema: Schema) -> np.ndarray:
        return self._given(columns, values, schema.immutable_columns)

    def _given(self, columns: Columns, values: np.ndarray, held: Iterable[int]) -> np.ndarray:
        """Compact rows with the held columns among the conditions and all others among the modelled ones."""
        rows = columns.prepare(values)
        given = np.isin(_positions(columns), list(held))
        rows[:, : columns.width][:, given] = np.nan
        rows[:, columns.width :][:, ~given] = np.nan
        return rows

    def _objective(self, columns: Columns) -> Objective:
        from attain.density.objective import AnyGiven  # needs JAX

        immutable = tuple(int(j) for j in self.schema.immutable_columns)
        return AnyGiven(weight=self.beta, positions=_positions(columns), immutable=immutable)

    def _free(self, cells: np.ndarray) -> np.ndarray:
        return cells[:, self._places]

    def _of_modelled(self, gradient: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(gradient), len(modelled_columns(self.schema_))), gradient.dtype)
        whole[:, self._places] = gradient
        return whole

    @property
    def _places(self) -> np.ndarray:
        """Where the free columns are among those that are modelled."""
        return np.flatnonzero(np.isin(modelled_columns(self.schema_), self.schema_.free_columns))


def _positions(columns: Columns) -> tuple[int, ...]:
    return tuple(j for block in columns.free for j in block.positions)
