"""What explainers need of an autoencoder: a few functions from arrays to arrays.

Any class with these members can be passed to an explainer as `autoencoder=`, whatever it is built with;
`attain.testing.check_autoencoder` tests them. `values` are rows (n, d) of the float64 matrix in the order of the
schema: numbers in original units, levels by their position, NaN for a missing cell. *Free* columns, `f` of them, are
`schema.free_columns`: neither immutable nor derived.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from attain.schema import Schema

State: TypeAlias = tuple[dict[str, Any], dict[str, np.ndarray]]
"""What a model has learned: facts that JSON can hold, and arrays by name."""


class Codes(NamedTuple):
    """Rows in latent space: what a search moves, and what it leaves alone.

    Attributes
    ----------
    z
        Latent codes (n, k).
    context
        Whatever else `decode` needs to know of each row, (n, c): its immutable cells, a mixture component. A search
        decodes many z with the context of one row; c may be 0.
    """

    z: np.ndarray
    context: np.ndarray


class Autoencoder(Protocol):
    """A density model of the free columns given the immutable ones, with a latent space.

    A fitted autoencoder has `schema_`, the schema it was fitted with. One that is to be fitted by an explainer is a
    scikit-learn estimator with a parameter `schema`: it is cloned, gets the explainer's schema, and is fitted.

    A row's results must not depend on the other rows of the call, to the last bit; `attain.density.row_product` is a
    matrix product of which that is true. An optional method `decode_vjp(codes, gradient)` gives gradient · ∂decode/∂z,
    (n, f) to (n, k): REVISE needs it for exact gradients. An autoencoder with a mixture of L components may have
    another, `log_components(z)`: log p(c | z) but for a constant of each row, (n, k) to (n, L). The first column of
    `Codes.context` is then the number of the component that a code is decoded with.
    """

    schema_: Schema

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learns from rows (n, d)."""
        ...

    def encode(self, X: np.ndarray) -> Codes:
        """The codes of rows (n, d)."""
        ...

    def decode(self, codes: Codes) -> np.ndarray:
        """Typical free cells (n, f) for codes, in original units: deterministic; levels are valid positions.

        Bounds, steps and rules between columns are the explainer's concern.
        """
        ...

    def log_density(self, X: np.ndarray, samples: int = 100) -> np.ndarray:
        """log p(free | immutable) of rows, (n,), or a bound of it.

        `samples` is the number of draws per row where a bound is estimated by sampling; a closed form ignores it.
        """
        ...

    @property
    def active_units(self) -> np.ndarray:
        """For each latent dimension (k,) whether it matters to `decode`; searches leave the others alone."""
        ...

    def state(self) -> State:
        """What was learned, for a file."""
        ...

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Takes back what `state` gave, on an unfitted autoencoder with the same parameters; `schema` is its schema."""
        ...
