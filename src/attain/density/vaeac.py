"""The autoencoder with arbitrary conditioning: any columns are given, and one fit serves them all."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from attain.core.errors import DataError, listed
from attain.core.frames import Frame
from attain.density.columns import Columns
from attain.density.estimator import MixtureEstimator
from attain.schema import Schema

if TYPE_CHECKING:
    from attain.density.objectives import Objective


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
        return self._bounded(self._values(X), self._places(given), samples)

    def sample(
        self, conditions: Frame, n: int = 1, *, given: Iterable[str] | None = None, random_state: Any = None
    ) -> np.ndarray:
        """`n` draws for each row, one after the other, as rows of the matrix; given columns are copied."""
        return self._sampled(self._values(conditions), self._places(given), n, random_state)

    def _places(self, given: Iterable[str] | None) -> list[int]:
        """The positions of the columns that are given: by default the immutable ones."""
        schema = self.schema_
        if given is None:
            return [int(j) for j in schema.immutable_columns]
        if isinstance(given, str):
            raise DataError(f"given must be a list of column names, got the string {given!r}")
        names = list(given)
        unknown = [name for name in names if name not in schema]
        if unknown:
            raise DataError(f"given names columns that the schema does not have: {listed(unknown)}")
        derived = [name for name in names if schema[name].computed is not None]
        if derived:
            raise DataError(f"given names computed columns: {listed(derived)}; name the columns they are computed from")
        return sorted({schema.position(name) for name in names})

    def _columns(self, schema: Schema, values: np.ndarray) -> Columns:
        modelled = [j for j, feature in enumerate(schema) if feature.computed is None]
        found = Columns.fit(schema, values, free=modelled, given=modelled, likelihoods=self.likelihoods)
        # a cell may be left out of either half: the network has an input for that
        return Columns(found.free, found.conditions, tuple(range(2 * found.width)), found.names)

    def _compact(self, columns: Columns, values: np.ndarray, given: Iterable[int]) -> np.ndarray:
        """Compact rows with the given columns among the conditions and all others among the modelled ones."""
        rows = columns.prepare(values)
        held = np.isin(_positions(columns), list(given))
        rows[:, : columns.width][:, held] = np.nan
        rows[:, columns.width :][:, ~held] = np.nan
        return rows

    def _objective(self, columns: Columns) -> Objective:
        from attain.density.objectives import AnyGiven  # needs JAX

        immutable = tuple(int(j) for j in self.schema.immutable_columns)
        return AnyGiven(weight=self.beta, positions=_positions(columns), immutable=immutable)


def _positions(columns: Columns) -> tuple[int, ...]:
    return tuple(j for block in columns.free for j in block.positions)
