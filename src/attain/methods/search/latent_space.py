"""The latent space of an autoencoder as a search sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from attain.methods.search.sphere import norm_of

Decode: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Codes (m, k) and the owner of each (m,), to candidate rows (m, d) of the matrix."""
DecodeVjp: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Codes (m, k), their owners and a gradient in the decoded rows (m, d), to the gradient in the codes (m, k)."""
Measure: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Rows (m, d) in final form and the owner of each, to the distance of each from its owner."""


@dataclass(frozen=True)
class Latent:
    """The codes of a batch of rows, the range of the training codes, and the decoder.

    Attributes
    ----------
    codes
        The rows' own codes (n, k).
    low, high
        The box: the range of the training codes (k,).
    active
        Which units (k,) the decoder uses.
    decode
        From codes to candidate rows.
    measure
        What makes one hit better than another; None is the latent distance.
    decode_vjp
        The gradient of `decode`; None where the autoencoder has none.
    """

    codes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    active: np.ndarray
    decode: Decode
    measure: Measure | None = None
    decode_vjp: DecodeVjp | None = None

    @property
    def outside(self) -> np.ndarray:
        """Which of the rows' own codes lie outside the box (n,)."""
        return ~self.inside(self.codes)

    def inside(self, codes: np.ndarray) -> np.ndarray:
        """Which codes (..., k) lie in the box, in every active unit."""
        within: np.ndarray = ((codes >= self.low) & (codes <= self.high) | ~self.active).all(axis=-1)
        return within

    def farthest(self, norm: float) -> np.ndarray:
        """The distance from each of the rows' own codes to the farthest corner of the box (n,)."""
        reach = np.maximum(np.abs(self.codes - self.low), np.abs(self.codes - self.high))
        return norm_of(reach[:, self.active], norm)
