"""An autoencoder as a density of the free columns given the immutable ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from attain.core.checks import check_integer
from attain.core.errors import DataError, listed
from attain.core.frames import Frame
from attain.density.autoencoder import State
from attain.density.rows import ReadsRows, given_columns, modelled_columns, on_steps, with_derived
from attain.schema import Schema


@dataclass(eq=False, repr=False)
class AutoencoderDensity(ReadsRows):
    """An autoencoder under the contract of densities.

    `log_density` is a lower bound of the log-density that `sample` draws from. The only columns that may be given are
    the immutable ones, unless the autoencoder, such as `attain.density.VAEAC`, takes any. With binned likelihoods the
    base measure is that of the other densities; with the paper's, all numbers but counts have densities with respect to
    length. Missing cells are left out.

    Parameters
    ----------
    schema
        What the columns are; the autoencoder gets it.
    autoencoder
        One that has `sample`, such as `attain.density.CHVAE`; None is a `CHVAE` with its defaults.
    samples
        Draws of z per row for the bound.
    random_state
        The seed of samples, and of training where `autoencoder` is None.
    """

    schema: Schema
    _: KW_ONLY
    autoencoder: Any = None
    samples: int = 100
    random_state: Any = 0

    exact: ClassVar[bool] = False

    @property
    def any_given(self) -> bool:
        """Whether any columns can be given: as the autoencoder says."""
        return bool(getattr(self.autoencoder, "any_given", False))

    @classmethod
    def of(cls, autoencoder: Any, *, samples: int = 100, random_state: Any = 0) -> Self:
        """The density of a fitted autoencoder, used as it is."""
        found = cls(autoencoder.schema_, autoencoder=autoencoder, samples=samples, random_state=random_state)
        found.autoencoder_, found.schema_ = autoencoder, autoencoder.schema_
        return found

    def fit(self, X: Frame, y: object = None) -> Self:
        """Trains a copy of the autoencoder; `y` is not used."""
        self._check_schema()
        check_integer("samples", self.samples, 1)
        self.autoencoder_ = self._fresh(self.schema).fit(X)
        self.schema_ = self.autoencoder_.schema_
        return self

    def log_density(self, X: Frame, *, given: Iterable[str] | None = None) -> np.ndarray:
        """A lower bound of log p(free | immutable) of each row (n,)."""
        values = self._values(X)
        return np.asarray(self.autoencoder_.log_density(values, samples=self.samples, **self._given(given)))

    def sample(
        self, X: Frame, n: int = 1, *, given: Iterable[str] | None = None, random_state: Any = None
    ) -> np.ndarray:
        """`n` draws for each row, one after the other, as rows of the matrix; immutable columns are copied.

        Values of columns with a step are put on it: they stand for an interval of one step.
        """
        values = self._values(X)
        check_integer("n", n, 1)
        named = self._given(given)
        seed = self.random_state if random_state is None else random_state
        rows = np.array(self.autoencoder_.sample(values, n, random_state=seed, **named), dtype=np.float64)
        held = given_columns(self.schema_, given)
        drawn = [j for j in modelled_columns(self.schema_) if j not in held]
        return with_derived(on_steps(rows, self.schema_, drawn), self.schema_)

    def state(self) -> State:
        """What the autoencoder has learned."""
        self._check_fitted()
        facts, arrays = self.autoencoder_.state()
        return facts, arrays

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Takes back what `state` gave."""
        self.autoencoder_ = self._fresh(self.schema).restore(facts, arrays)
        self.schema_ = self.schema
        return self

    def _fresh(self, schema: Schema) -> Any:
        if self.autoencoder is not None:
            return clone(self.autoencoder).set_params(schema=schema)
        from attain.density import CHVAE  # needs JAX

        return CHVAE(schema, random_state=self.random_state)

    def _given(self, given: Iterable[str] | None) -> dict[str, list[str]]:
        """The argument that tells the autoencoder what is given, where that is not the immutable columns."""
        held, immutable = given_columns(self.schema_, given), given_columns(self.schema_, None)
        if held == immutable:
            return {}
        if self.any_given:
            return {"given": [self.schema_.names[j] for j in sorted(held)]}
        names = listed([self.schema_.names[j] for j in sorted(immutable)]) or "none"
        raise DataError(
            f"this autoencoder is given the immutable columns ({names}) and no others; "
            "use a VAEAC or a TreeDensity for any others, or change the schema and fit again"
        )
