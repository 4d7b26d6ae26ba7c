"""What a density model of a table is: a few functions from rows to arrays.

`attain.testing.check_density` tests any class with these members. `rows` are frames, or rows (n, d) of the float64
matrix in the order of the schema: numbers in original units, levels by their position, NaN for a missing cell. Derived
columns follow from the others: they are not modelled, and samples have them computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from attain.density.autoencoder import State
from attain.schema import Schema


class Density(Protocol):
    """A density of some columns of a table given others.

    `given` names the columns that are held fixed; None are the schema's immutable ones, and `()` none at all. A row's
    results must not depend on the other rows of the call, to the last bit; equal rows have equal draws.
    """

    schema_: Schema
    """The schema it was fitted with; not there before."""
    exact: ClassVar[bool]
    """Whether `log_density` is the log-density that `sample` draws from, rather than a bound of it."""

    @property
    def any_given(self) -> bool:
        """Whether `given` may be any set of columns, or only the immutable ones."""
        ...

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learns from rows; `y` is not used."""
        ...

    def log_density(self, X: Any, *, given: Iterable[str] | None = None) -> np.ndarray:
        """log p(other columns | given columns) of each row, (n,), with respect to the model's base measure."""
        ...

    def sample(self, X: Any, n: int = 1, *, given: Iterable[str] | None = None, random_state: Any = None) -> np.ndarray:
        """`n` draws for each row, one after the other, as rows (n · rows, d) of the matrix.

        The cells of the given columns are those of the row, bit for bit; the others are drawn.
        """
        ...

    def state(self) -> State:
        """What was learned, for a file."""
        ...

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Takes back what `state` gave, on an unfitted model with the same parameters; `schema` is its schema."""
        ...
